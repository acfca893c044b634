"""The fleet's own profiles, each checked once: what an engine could never load is refused before anyone asks for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.engines.drafters import drafts
from quadgen.engines.drafting import compose
from quadgen.engines.registry import ENGINES
from quadgen.engines.side_doors import field_for, reaches_speculation_flag
from quadgen.evidence.setting import OWN_KEYS
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Problem, Severity
from quadgen.resolution import Model
from quadgen.resolve.report import unknown
from quadgen.speculation import BUILTIN, ProfileSpec

_INSTEAD: Final = {
    # common/arg.cpp of b11434
    "spec-default": "write what it stands for: `spec_types: [ngram-mod]`, whose own numbers are the same",
}
"""What to do instead of flags that begin like those of a profile."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A profile under examination."""

    name: str
    fields: Any
    sink: Collector

    def refuse(self, code: str, message: str, *keys: str, hint: str | None = None, at_key: bool = False) -> None:
        """Report at a field of the profile; without keys, at its name."""
        path = ("profiles", self.name, *keys)
        at_key = at_key or not keys
        self.sink.add(Problem(code=code, message=message, path=path, at="key" if at_key else "value", hint=hint))


def _types(draft: _Draft, types: tuple[str, ...]) -> bool:
    """Whether there are such types."""
    known = tuple(dict.fromkeys(name for engine in ENGINES.values() for name in engine.drafters))
    for kind in types:
        if kind not in known:
            message, hint = unknown("drafter type", kind, known)
            draft.refuse("unexpected-value", message, "spec_types", hint=hint)
    if len(set(types)) < len(types):
        draft.refuse("unexpected-value", "`spec_types` names a type twice", "spec_types")
    return set(types) <= set(known)


def _composed(draft: _Draft, types: tuple[str, ...], flags: Mapping[str, Any]) -> None:
    """What the engine would take, and then do something else."""
    for found in compose(types, draft.fields.get("draft_n_max"), flags):
        path = ("profiles", draft.name, *found.keys)
        draft.sink.add(
            Problem(
                code=found.code, message=found.message, severity=found.severity, path=path,
                at="key" if found.at_key else "value", notes=found.notes, hint=found.hint,
            )
        )  # fmt: skip


def _flags(draft: _Draft) -> dict[str, Any]:
    """The further flags that may stand in a profile."""
    kept: dict[str, Any] = {}
    for flag, value in (draft.fields.get("flags") or {}).items():
        plain = flag.lstrip("-").replace("_", "-")
        owner = OWN_KEYS.get(plain) or field_for(plain)
        if value is None:
            draft.refuse("unexpected-value", f"`{flag}` has no value", "flags", flag, hint="leave it out")
        elif flag.startswith("-"):
            message = f"{flag} is written without its dashes here"
            draft.refuse("unexpected-value", message, "flags", flag, hint=f"write {plain}", at_key=True)
        elif plain.startswith("spec-synth-"):
            message = f"`{flag}` makes up which drafts are accepted, and the text that comes out is not the model's"
            draft.refuse("unexpected-value", message, "flags", flag, hint="leave it out", at_key=True)
        elif owner or not plain.startswith("spec-") or not reaches_speculation_flag(plain) or plain == "spec-default":
            message = f"`{flag}` cannot stand in a profile's flags"
            hint = f"use `{owner}`" if owner else _INSTEAD.get(plain, "only --spec-* flags belong to a profile")
            if plain.startswith("no-spec-"):
                hint = f"write `{plain.removeprefix('no-')}: false`"
            draft.refuse("unexpected-value", message, "flags", flag, hint=hint, at_key=True)
        else:
            kept[flag] = value
    return kept


def _drafter(draft: _Draft, fleet: Fleet, models: Mapping[str, Model], drafting: list[str]) -> None:
    model = draft.fields.get("draft_model")
    if model is None:
        return
    if model not in models and model not in (fleet.data.get("models") or {}) and not fleet.is_broken(("models", model)):
        message, hint = unknown("model", model, models)
        draft.refuse("unknown-model", message, "draft_model", hint=hint)
    if not drafting:
        message = "`draft_model` needs a draft-* type, and this profile has none"
        draft.refuse("unexpected-value", message, "draft_model")
    elif drafting == ["draft-mtp"]:
        message = "`draft_model` is not for draft-mtp, which drafts with the checkpoint's own head"
        draft.refuse("unexpected-value", message, "draft_model", hint="say `mtp:` of the model")


def _profile(draft: _Draft, fleet: Fleet, models: Mapping[str, Model]) -> ProfileSpec | None:
    name, fields = draft.name, draft.fields
    before = len(draft.sink.problems)
    if name in BUILTIN:
        message = f"{name} is a built-in profile, whose name stands for its measurements"
        draft.refuse("name-clash", message, hint="choose another name")
    if "spec_types" not in fields:
        if not fleet.is_broken(("profiles", name, "spec_types")):
            hint = "add `spec_types: [ngram-mod]`, or what it drafts with"
            draft.refuse("missing-key", f"the profile {name} has no `spec_types`", hint=hint)
        return None
    types = tuple(fields["spec_types"])
    drafting = list(drafts(types))
    flags = _flags(draft)
    if _types(draft, types):
        _composed(draft, types, flags)
    _drafter(draft, fleet, models, drafting)
    workload = fields.get("workload")
    if workload is None and types and not fleet.is_broken(("profiles", name, "workload")):
        message = f"the profile {name} names no `workload` on which it must win"
        draft.refuse("missing-key", message, hint="add `workload: copy`, prose, code-edit or a name of your own")
    refused = any(problem.severity is Severity.ERROR for problem in draft.sink.problems[before:])
    if refused or fleet.is_broken(("profiles", name)):
        return None
    return ProfileSpec(
        name=name, summary=fields.get("summary", ",".join(types) or "no speculation"), spec_types=types,
        draft_n_max=fields.get("draft_n_max"), flags=tuple((fields.get("flags") or {}).items()),
        draft_model=fields.get("draft_model"), workload=workload, against=fields.get("against", "default"),
        needs_mtp=fields.get("needs_mtp", "draft-mtp" in types), floor=False,
    )  # fmt: skip


def build(fleet: Fleet, models: Mapping[str, Model], sink: Collector) -> dict[str, ProfileSpec]:
    """The built-in profiles and the fleet's own; what is wrong goes to `sink` and is left out."""
    found = dict(BUILTIN)
    own = fleet.data.get("profiles") or {}
    specs = [_profile(_Draft(name, fields, sink), fleet, models) for name, fields in own.items()]
    for spec in specs:
        if spec is None:
            continue
        if spec.against not in BUILTIN and spec.against not in own:
            message, hint = unknown("profile", spec.against, (*BUILTIN, *own))
            path = ("profiles", spec.name, "against")
            sink.add(Problem(code="unknown-profile", message=message, path=path, hint=hint))
        elif spec.against == spec.name:
            message = f"the profile {spec.name} is to beat itself"
            sink.add(Problem(code="unexpected-value", message=message, path=("profiles", spec.name, "against")))
        else:
            found[spec.name] = spec
    while lost := [name for name, spec in found.items() if spec.against not in found]:
        for name in lost:
            del found[name]
    return found
