"""What is recorded of the checkpoints' headers, held against what the fleet says of them and asks of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from quadgen.engines.draft_settings import draft_setting
from quadgen.engines.drafters import drafts
from quadgen.facts import kv
from quadgen.facts.heads import head
from quadgen.facts.kinds import trait
from quadgen.facts.pairing import Objection, objections, own_head
from quadgen.facts.record import Facts
from quadgen.problems import Collector, Path, Problem, Severity
from quadgen.resolution import EngineEntry, Known, Model
from quadgen.resolve.report import Reporter
from quadgen.speculation import ProfileSpec

_BUILD: Final = re.compile("b([0-9]{1,9})").fullmatch


def name_of(model: Model) -> str:
    """The name of a model's checkpoint in the lock."""
    return model.file or (f"hf:{model.hf}" if model.hf is not None else model.url or "")


def with_facts(model: Model, files: Mapping[str, Facts], sink: Collector) -> Model:
    """The model with what is recorded of it; its head is then the file's, and a contradiction an error."""
    facts = files.get(name_of(model))
    of_head = files.get(model.mtp) if isinstance(model.mtp, str) else None
    if facts is None:
        return model if of_head is None else replace(model, head_facts=of_head)
    found = head(facts)
    if isinstance(model.mtp, bool) and model.mtp is not found.drafts:
        what = found.wrong or ("has one" if found.drafts else "has none")
        says = "has an MTP head" if model.mtp else "has no MTP head"
        path: Path = ("models", model.name, "mtp")
        message = f"the fleet says that {model.name} {says}, and by the lock its file {what}"
        hint = (
            "leave `mtp` out: the lock says it" if model.mtp else "leave `mtp` out, and use `profile: none` if unwanted"
        )
        sink.add(Problem(code="head-conflict", message=message, path=path, hint=hint))
    mtp = model.mtp if isinstance(model.mtp, str) else found.drafts
    return replace(model, mtp=mtp, facts=facts, head_facts=of_head)


def known(model: Model, draft: Model | None, mmproj: str | None, files: Mapping[str, Facts]) -> Known:
    """What is recorded of the files of a service."""
    return Known(
        model=model.facts,
        draft=draft.facts if draft is not None else None,
        head=model.head_facts,
        mmproj=files.get(mmproj) if mmproj is not None else None,
    )


def older(engine: EngineEntry, build: int | None) -> bool:
    """Whether the engine is of an older build than `build`; not known is no."""
    found = _BUILD(engine.build or "")
    return found is not None and build is not None and int(found[1]) < build


def _newer(engine: EngineEntry, build: int) -> bool:
    found = _BUILD(engine.build or "")
    return found is not None and int(found[1]) > build


def check_loads(ask: Reporter, model: Model) -> bool:
    """Whether llama-server can serve the checkpoint at all; reports why not."""
    facts = model.facts
    if facts is None:
        return True
    path: Path = ("models", model.name)
    found, what = head(facts), trait(facts)
    if not what.serves:
        message = f"{model.name} is {what.what}, and no model to serve"
        hint = "name the checkpoint itself as the model"
        ask.elsewhere(Problem(code="does-not-compose", message=message, path=path, at="key", hint=hint))
        return False
    if not found.loads:
        message = f"{model.name} {found.wrong}"
        hint = "use a file that was made with its head, or without the announcement of one"
        ask.elsewhere(Problem(code="head-missing", message=message, path=path, at="key", hint=hint))
        return False
    return True


def check_context(ask: Reporter, model: Model, context: int) -> None:
    """Warn of a context beyond what the model was trained for, at which the server cuts a slot (server-context.cpp)."""
    trained = None if model.facts is None else kv.trained(model.facts)
    if trained is not None and 0 < trained < context:
        ask.warn(
            "unexpected-value",
            f"`context` is {context} tokens, and {model.name} was trained for {trained}: the server gives no more",
            "context",
            hint=f"at most {trained}",
        )


def against(
    spec: ProfileSpec, types: Iterable[str], engine: EngineEntry, model: Model, draft: Model | None
) -> Iterator[Objection]:
    """What speaks against drafting so, from what is recorded of the model and of its drafter."""
    kinds = drafts(types)
    if not kinds or model.facts is None:
        return
    kind = kinds[0]
    width = spec.draft_n_max
    if kind == "draft-mtp" and not isinstance(model.mtp, str):
        found: Iterable[Objection] = own_head(model.facts, width=width, called=model.name)
    else:
        other = model.head_facts if kind == "draft-mtp" else (draft.facts if draft is not None else None)
        if other is None:
            return
        name = str(model.mtp) if draft is None or kind == "draft-mtp" else draft.name
        p_min = draft_setting((kind,), width, dict(spec.flags)).number("spec-draft-p-min") or 0
        found = (
            *_unloadable(other, name),
            *objections(model.facts, other, kind, width=width, p_min=p_min, called=(model.name, name)),
        )
    for each in found:
        learned = each.build is not None and _newer(engine, each.build) and each.severity is Severity.ERROR
        yield replace(each, severity=Severity.WARNING) if learned else each


def _unloadable(drafter: Facts, name: str) -> Iterator[Objection]:
    """A drafter whose announced head is not there is not loaded either, as a model is not."""
    found = head(drafter)
    if not found.loads:
        yield Objection(code="does-not-compose", sentence=f"{name} {found.wrong}", note="the server ends at load")


def report(ask: Reporter, found: Iterable[Objection], *keys: str) -> bool:
    """Report objections at a field of the service; whether none of them is an error."""
    good = True
    for each in found:
        good = good and each.severity is not Severity.ERROR
        notes = () if each.note is None else (each.note,)
        ask.add(each.code, each.sentence, *keys, severity=each.severity, notes=notes, hint=each.hint)
    return good
