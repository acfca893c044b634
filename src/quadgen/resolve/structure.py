"""Whether a profile can be loaded at all with this checkpoint and the rest of the service, before any measurement."""

from dataclasses import dataclass

from quadgen.engines.drafters import DRAFTERS, drafts
from quadgen.engines.registry import ENGINES
from quadgen.facts.heads import head
from quadgen.resolution import EngineEntry, Model
from quadgen.resolve.recorded import against, older, report
from quadgen.resolve.report import Reporter
from quadgen.speculation import ProfileSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Who asks for speculation, on what."""

    engine: EngineEntry
    backend: str
    model: Model
    cards: tuple[str, ...]
    draft_model: Model | None
    mmproj: bool


def has_head(wish: Wish) -> bool:
    """Whether the checkpoint is known to have an MTP head, in its file or in one of its own."""
    model = wish.model
    if model.mtp is True and model.facts is not None and older(wish.engine, head(model.facts).since):
        return False
    return model.mtp is True or isinstance(model.mtp, str) or ENGINES[wish.engine.kind].own_head


def lacking(wish: Wish) -> str:
    """Why the checkpoint, whose header is recorded, has no head to draft with, after its name."""
    facts = wish.model.facts
    found = head(facts) if facts is not None else None
    if found is not None and found.drafts and found.since is not None:
        return f"has one that llama.cpp drafts with since b{found.since} at the latest, and not at {wish.engine.build}"
    return (found.wrong if found is not None else None) or "has none by its header"


def holds(ask: Reporter, spec: ProfileSpec, wish: Wish, draft: Model | None) -> bool:
    """Whether the engine, the checkpoint and the other fields leave the profile loadable; reports why not."""
    model = wish.model
    closed = ENGINES[wish.engine.kind].cannot_draft(spec)
    if closed is not None:
        hint = "use `profile: default` or `none`"
        ask.add("closed-engine", f"the profile {spec.name}: {closed}", "profile", hint=hint)
        return False
    if (spec.needs_mtp or "draft-mtp" in spec.spec_types) and not has_head(wish):
        if not ask.fleet.is_broken(("models", model.name, "mtp")):
            known = "has none" if model.mtp is False else "is not known to have one"
            if model.facts is not None:
                known = lacking(wish)
            hint = (
                "use `profile: default`"
                if model.mtp is not None
                else f"declare `mtp: true` in models.{model.name} if its file has one"
            )
            ask.add(
                "head-missing",
                f"the profile {spec.name} needs an MTP head, and {model.name} {known}",
                "profile",
                hint=hint,
            )
        return False
    drafting = list(drafts(spec.spec_types))
    if "draft-mtp" in drafting and wish.mmproj:
        ask.add(
            "does-not-compose",
            f"the profile {spec.name} drafts with an MTP head, and this service has a multimodal projector",
            "profile",
            notes=("it was measured on text alone; the first image aborted the server (ggml-org/llama.cpp#23398)",),
            hint="use `profile: none`, or set `mmproj: false` for this service",
        )
        return False
    if drafting and drafting != ["draft-mtp"] and draft is None:
        ask.add(
            "does-not-compose",
            f"{drafting[0]} needs a draft model, and neither the profile {spec.name} nor the service names one",
            "profile",
            notes=(f"without one {DRAFTERS[drafting[0]].missing}",),
            hint="add `draft_model:`, a key of models",
        )
        return False
    if draft is not None and draft is not wish.draft_model and wish.draft_model is not None:
        ask.add(
            "unexpected-value",
            f"the profile {spec.name} brings its own draft model, {draft.name}",
            "draft_model",
            hint="leave `draft_model` out",
        )
        return False
    if wish.draft_model is not None and (not drafting or drafting == ["draft-mtp"]):
        ask.add(
            "unexpected-value",
            f"the profile {spec.name} drafts without a draft model",
            "draft_model",
            hint="leave `draft_model` out",
        )
        return False
    return report(ask, against(spec, spec.spec_types, wish.engine, model, draft), "profile")
