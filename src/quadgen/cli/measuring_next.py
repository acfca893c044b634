"""What the gate says once rows are recorded: the fleet is compiled again, and asked."""

from quadgen.cli import work
from quadgen.cli.measuring_values import Next, Prepared
from quadgen.evidence import Kind, floor_losses, loss, quoted, verdict
from quadgen.pipeline import Compiled
from quadgen.problems import Rejected, Severity, Unavailable

_EVIDENCE = frozenset({"unmeasured-combination", "measured-loss", "stale-build", "other-device"})
"""Codes of what a missing or a losing measurement is refused by."""


def asked_again(ready: Prepared) -> Next | None:
    """What the next render does with the service; None where no fleet was asked about."""
    if ready.compiled is None:
        return None
    name, host = ready.compiled.name, ready.host
    try:
        compiled = work.compiled(name, [host], about=host)
    except (Rejected, Unavailable) as error:
        return Next(granted=False, said=f"nothing: {name} can no longer be compiled: {error}")
    granted, said = _said(ready, compiled)
    others = [each for each in compiled.problems if each.severity is Severity.ERROR and each.code not in _EVIDENCE]
    if others:
        said += f"; {name} is refused for something else, which `quadgen check {name}` shows"
    return Next(granted=granted, said=said)


def _said(ready: Prepared, compiled: Compiled) -> tuple[bool, str]:
    subject, ledger = ready.subject, compiled.resolved.gate.ledger
    if subject.floor:
        losses = floor_losses(subject.request, ledger)
        lost = "".join(f"; it warns: {loss(row)}" for row in losses)
        return True, f"goes on with {subject.profile} on {ready.place}{lost}"
    found = verdict(subject.request, ledger)
    would, then = ("", "") if ready.asks else ("would ", f", if it had `profile: {subject.profile}`")
    if found.kind is Kind.WINS and found.row is not None:
        does = "grant" if would else "grants"
        return True, f"{would}{does} {subject.profile} to {ready.place}{then}: {quoted(found.row)}"
    does = "refuse" if would else "refuses"
    because = "; ".join(quoted(row) for row in found.rows) or "no row is evidence of it"
    return False, f"{would}{does} {subject.profile} for {ready.place}{then}: {because}"
