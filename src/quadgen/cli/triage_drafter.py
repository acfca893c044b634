"""Which drafter `quadgen triage` weighs: what --drafter says, or what the other options mean without it."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from quadgen.cli import triage_values as values
from quadgen.facts.kinds import COSTS
from quadgen.triage.drafter import names

_HALOGENS: Final = MappingProxyType({
    "head": "mtp", "draft-mtp": "mtp", "block": "dflash2", "draft-dflash": "dflash2", "draft-dspark": "dspark",
})  # fmt: skip
"""What halogen calls the drafters of its own (docs/FLAGS.md, https://github.com/peonist-ai/halogen-flash-server)."""
_TYPES: Final = MappingProxyType({called: name for name, called in _HALOGENS.items() if name in COSTS})
"""What llama-server calls the same."""
_NONE: Final = "serial"
"""What halogen calls a request without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A drafter."""

    name: str
    """A class, or a --spec-type."""
    probed: str
    """What a halogen is asked for."""


def chosen(
    drafter: str | None,
    *,
    draft_step: float | None,
    draft_log: str | None,
    draft_model: str | None,
    probe: str | None,
) -> Chosen:
    """Decide on one. Without --drafter, a pass or a file of a draft model is that of a plain one.

    Raises `typer.BadParameter` where nothing says which, and for a name of halogen's without --probe.
    """
    if drafter is None:
        if draft_step is None and draft_log is None and draft_model is None:
            raise values.bad("--drafter", f"say which it is: one of {', '.join(names())}")
        drafter = "plain"
    if drafter == _NONE:
        raise values.bad("--drafter", "serial is what halogen calls a request without drafts: there is none to weigh")
    if drafter in _TYPES and probe is None:
        ours = " or ".join(name for name, called in _HALOGENS.items() if called == drafter)
        raise values.bad("--drafter", f"{drafter} is what halogen calls its own, for --probe: elsewhere it is {ours}")
    if drafter in _TYPES:
        return Chosen(name=_TYPES[drafter], probed=drafter)
    return Chosen(name=values.named("--drafter", drafter).name, probed=_HALOGENS.get(drafter, drafter))
