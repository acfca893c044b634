"""A service's speculation beside its other settings: what `quadgen.engines.drafting` finds, at the service's fields."""

from quadgen.engines.base import Ask
from quadgen.engines.drafting import beside
from quadgen.engines.llama_flags import stated


def check_drafting(ask: Ask) -> None:
    """Report what of the decided speculation would end the server, or be without effect."""
    decision = ask.decision
    for found in beside(
        decision.types,
        dict(decision.flags),
        head_in_file=decision.head_file is None,
        draft_device=ask.report.get("draft_device") is not None,
        mmproj=ask.paths.mmproj is not None,
        flash_attn=_said(ask, "--flash-attn"),
        split_mode=_said(ask, "--split-mode"),
    ):
        ask.report.add(
            found.code, found.message, *found.keys,
            severity=found.severity, notes=found.notes, hint=found.hint, at_key=found.at_key,
        )  # fmt: skip


def _said(ask: Ask, option: str) -> object:
    """What the service's flags say of an option; None where they do not."""
    said = stated(ask, option)
    return None if said is None else said[1]
