"""What the gate says once rows are recorded: the fleet is compiled again, and asked."""

import shlex

from quadgen.cli import work
from quadgen.cli.measuring_values import Next, Prepared
from quadgen.evidence import Kind, floor_losses, loss, quoted, verdict
from quadgen.locating import owner
from quadgen.measuring.arms import arms
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Rejected, Severity, Unavailable
from quadgen.resolve import EVIDENCE


def asked_again(ready: Prepared) -> Next | None:
    """What the next render does with the service; None where no fleet was asked about."""
    if ready.compiled is None:
        return None
    name, host = ready.compiled.name, ready.host
    try:
        compiled = work.compiled(name, [host], about=host)
        granted, said = _said(ready, compiled)
    except (Rejected, Unavailable) as error:
        return Next(granted=False, said=f"nothing: {name} can no longer be compiled: {error}")
    if any(each.severity is Severity.ERROR and _is_else(each, ready) for each in compiled.reported):
        said += f"; {host} is refused for something else, which `{shlex.join(['quadgen', 'check', name])}` shows"
    return Next(granted=granted, said=said)


def _is_else(problem: Problem, ready: Prepared) -> bool:
    """Whether it is of the host, and not what the ledgers say of the service itself, which was said already."""
    host, service = owner(problem)
    itself = problem.code in EVIDENCE and ready.place in {host, f"{host}/{service}"}
    return host in {None, ready.host} and not itself


def _said(ready: Prepared, compiled: Compiled) -> tuple[bool, str]:
    """Ask as a render does, by what fleet and lock say of the checkpoint: the file itself may have said more."""
    subject, ledger = ready.subject, compiled.resolved.gate.ledger
    request = arms(compiled, ready.host, ready.place.partition("/")[2] or None, subject.profile).request
    if subject.floor:
        losses = floor_losses(request, ledger)
        lost = "".join(f"; it warns: {loss(row)}" for row in losses)
        return True, f"goes on with {subject.profile} on {ready.place}{lost}"
    found = verdict(request, ledger)
    would, then = ("", "") if ready.asks else ("would ", f", if it had `profile: {subject.profile}`")
    if found.kind is Kind.WINS and found.row is not None:
        does = "grant" if would else "grants"
        return True, f"{would}{does} {subject.profile} to {ready.place}{then}: {quoted(found.row)}"
    does = "refuse" if would else "refuses"
    because = "; ".join(quoted(row) for row in found.rows) or "no row is evidence of it"
    return False, f"{would}{does} {subject.profile} for {ready.place}{then}: {because}"
