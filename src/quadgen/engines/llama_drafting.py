"""A service's speculation beside its other settings: what `quadgen.engines.drafting` finds, at the service's fields."""

from typing import Final

from quadgen.engines.base import Ask
from quadgen.engines.drafting import Finding, beside, fits
from quadgen.engines.llama_flags import stated
from quadgen.engines.llama_options import BOUNDS
from quadgen.engines.llama_values import whole

_LOOKED_AT: Final = frozenset({"flags", "extra_args", "draft_device", "slots"})
_USUAL: Final = 64
"""Tokens of a draft that every build's own batch holds."""


def check_drafting(ask: Ask) -> None:
    """Report what of the decided speculation would end the server, or be without effect."""
    decision = ask.decision
    if not decision.types or _alone(ask):
        return
    for found in beside(
        decision.types,
        dict(decision.flags),
        head_in_file=decision.head_file is None,
        draft_device=ask.report.get("draft_device") is not None,
        mmproj=ask.paths.mmproj is not None,
        flash_attn=_said(ask, "--flash-attn"),
        split_mode=_said(ask, "--split-mode"),
    ):
        _report(ask, found)
    batch = _batch(ask)
    slots = ask.report.get("slots", 1)
    if batch is not None:
        for found in fits(decision.types, decision.draft_n_max, dict(decision.flags), batch=batch, slots=slots):
            _report(ask, found)


def _alone(ask: Ask) -> bool:
    """Whether nothing is said that a rule looks at; most services are done with here."""
    said = ask.report.chain.fields
    width = ask.decision.draft_n_max or 0
    return _LOOKED_AT.isdisjoint(said) and not ask.decision.flags and ask.paths.mmproj is None and width <= _USUAL


def _report(ask: Ask, found: Finding) -> None:
    ask.report.add(
        found.code, found.message, *_keys(ask, found.keys),
        severity=found.severity, notes=found.notes, hint=found.hint, at_key=found.at_key,
    )  # fmt: skip


def _keys(ask: Ask, keys: tuple[str, ...]) -> tuple[str | int, ...]:
    """The keys as this service spells them; what is drafted decides where the service says nothing of a flag."""
    if keys[0] != "flags":
        return keys
    said = stated(ask, f"--{keys[1]}")
    return ("profile",) if said is None else said[0]


def _batch(ask: Ask) -> int | None:
    """Tokens of a batch, by the flags or else by the build; None where it cannot be that many."""
    option = ask.engine.table.find("--batch-size")
    said = _said(ask, "--batch-size") if option is None or stated(ask, option.canonical) else option.default
    batch = whole(said)
    return batch if batch is not None and batch >= BOUNDS["--batch-size"][0] else None


def _said(ask: Ask, option: str) -> object:
    """What the service's flags say of an option; None where they do not."""
    said = stated(ask, option)
    return None if said is None else said[1]
