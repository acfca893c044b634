"""A review in words: paragraphs whose parts are known to be quadgen's own, or values of somebody's fleet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from quadgen.review.change import Kind, Refusal, Review, ServiceChange, Side, Target
from quadgen.review.differing import Line, Value, lines
from quadgen.review.grouping import Needs, Together, Told, some, told


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """One thing that happens."""

    sign: str
    """`!` refused, `-` gone, `~` changed, `+` new, blank else."""
    head: Line
    lines: tuple[Line, ...] = ()


_NEEDS = {
    "cdi": "CDI device",
    "checkpoints": "checkpoint",
    "credentials": "credential",
    "devices": "device",
    "files": "file",
    "groups": "group",
    "linger": "lingering user",
    "memlock": "unlimited locked memory for user",
    "networks": "Podman network",
    "podman": "Podman of at least",
    "programs": "program",
    "secrets": "Podman secret",
    "users": "user",
}
"""What each kind of need in a manifest is, in words."""
_RETIRE = "as retired in the inventory (`quadgen_retired: true`): until then a pull fails and stops nothing"


def count(number: int, what: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def heading(review: Review) -> Line:
    """From where to where."""
    return (*_side(review.old), " -> ", *_side(review.new))


def _side(side: Side) -> Line:
    if side.revision is None:
        return ("the working copy",)
    named = side.commit is not None and not side.commit.startswith(side.revision)
    commit = f" ({side.commit[:12]})" if named and side.commit is not None else ""
    source = {"rendered": ", as it was rendered", "fleet": ", compiled"}.get(side.source, "")
    return (Value(side.revision), f"{commit}{source}")


def summary(review: Review) -> str:
    """How much of everything, in one line."""
    found = review.summary
    restarts = found["restarted"]
    more = f" ({restarts} restart{'s' if restarts == 1 else ''})" if restarts else " (none restarts)"
    parts = [
        f"{found[kind]} {kind}{more if kind == 'changed' else ''}"
        for kind in ("created", "changed", "removed", "refused")
        if found[kind]
    ]
    hosts = count(found["hosts"], "host")
    if parts:
        return f"{', '.join(parts)} on {found['touched']} of {hosts}"
    if found["touched"]:
        return f"no service changes, but {found['touched']} of {hosts} {'does' if found['touched'] == 1 else 'do'}"
    return f"nothing changes on {hosts}" if not review.refused else f"nothing else changes on {hosts}"


def paragraphs(review: Review) -> Iterator[Paragraph]:
    """Everything that is told, the worst first, but for what a reader must know before."""
    yield from (Paragraph(sign=" ", head=("note: ", Value(note))) for note in review.notes)
    news = [refusal for refusal in review.refusals if refusal.new]
    yield from map(_refused, news)
    found = told(review)
    yield from _hosts(found)
    yield from map(_service, found.services)
    yield from map(_needs, found.needs)
    if found.plain:
        yield Paragraph(sign="~", head=("only the manifest is written anew on ", *_hosts_of(found.plain)))
    old = [refusal for refusal in review.refusals if not refusal.new]
    if old:
        yield Paragraph(sign=" ", head=("refused before, and still",), lines=tuple(map(_briefly, old)))


def _refused(refusal: Refusal) -> Paragraph:
    problem = refusal.problem
    found: list[Line] = []
    if problem.place is not None:
        found.append(("at ", Value(f"{problem.place.file}:{problem.place.line}:{problem.place.column}")))
    if refusal.fresh:
        found.append(("for ", *_targets(refusal.fresh)))
    found += [("note: ", Value(note)) for note in problem.notes]
    found += [("hint: ", Value(problem.hint))] if problem.hint else []
    return Paragraph(sign="!", head=(f"refused, {problem.code}: ", Value(problem.message)), lines=tuple(found))


def _briefly(refusal: Refusal) -> Line:
    whom: Line = (", for ", *_targets(refusal.targets)) if refusal.targets else ()
    return (f"{refusal.problem.code}: ", Value(refusal.problem.message), *whom)


def _hosts(found: Told) -> Iterator[Paragraph]:
    if found.gone:
        names = [host.host for host in found.gone]
        services = sum(len(host.services) for host in found.gone)
        verb, them, each = ("leaves", "it", "it") if len(names) == 1 else ("leave", "them", "each")
        told_of = ((count(services, "service"), f" with {them}"), (f"mark {each} {_RETIRE}",))
        yield Paragraph(sign="-", head=(*_hosts_of(names), f" {verb} the fleet"), lines=told_of)
    if found.come:
        verb = "is" if len(found.come) == 1 else "are"
        yield Paragraph(sign="+", head=(*_hosts_of(found.come), f" {verb} new in the fleet"))


def _service(group: Together) -> Paragraph:
    change = group.change
    sign = {Kind.CREATED: "+", Kind.REMOVED: "-", Kind.CHANGED: "~"}[change.kind]
    words: Line = (Value(change.unit), f" {_what(change)} on ", *_hosts_of([each.host for each in group.targets]))
    return Paragraph(sign=sign, head=words, lines=tuple(lines(change)))


def _what(change: ServiceChange) -> str:
    if change.kind is Kind.CREATED:
        return "is created" if change.autostart else "is created, not to be started by itself,"
    if change.kind is Kind.REMOVED:
        return "is stopped and removed"
    if not change.restart:
        return "has its file replaced, and goes on running,"
    return "restarts" if change.autostart else "restarts where it runs"


def _needs(group: Needs) -> Paragraph:
    found: list[Line] = [("+ ", *_need(*each)) for each in group.needs]
    found += [("- ", *_need(kind, value), " is no longer needed") for kind, value in group.spares if kind != "podman"]
    verb = "must have" if group.needs else "needs no longer" if len(group.hosts) == 1 else "need no longer"
    return Paragraph(sign="~", head=(*_hosts_of(group.hosts), f" {verb}"), lines=tuple(found))


def _need(kind: str, value: str) -> Line:
    return (f"{_NEEDS[kind]} ", Value(value)) if kind in _NEEDS else (Value(kind), " ", Value(value))


def _targets(targets: Sequence[Target]) -> Line:
    names = [host if service is None else f"{host}/{service}" for host, service in targets]
    return _named(names, count(len(dict.fromkeys(names)), "service"))


def _hosts_of(hosts: Sequence[str]) -> Line:
    return _named(hosts, count(len(dict.fromkeys(hosts)), "host"))


def _named(names: Sequence[str], number: str) -> Line:
    """`a`, `a and b`; of many the number and the first few."""
    shown, more = some(names)
    listed: list[str] = []
    for position, name in enumerate(shown):
        last = position == len(shown) - 1 and not more
        listed += [" and " if last else ", "] if position else []
        listed.append(Value(name))
    if len(shown) == 1 and not more:
        return tuple(listed)
    return (f"{number} (", *listed, *((f" and {more} more",) if more else ()), ")")


def plain(line: Iterable[str]) -> str:
    """A line without marks: for text, where nothing can be taken for something else."""
    return "".join(line)
