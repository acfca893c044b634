"""What one service says otherwise, in words."""

from collections import Counter
from collections.abc import Iterator, Sequence

from quadgen.review.apart import apart
from quadgen.review.change import Detail, Difference, Kind, ServiceChange


class Value(str):
    """Text that a fleet, a ledger or a repository says, and that nothing may take for anything else."""

    __slots__ = ()


Line = tuple[str, ...]
"""Words, one behind the other without blanks between; each `Value` among them is to be shown as it is."""


def lines(change: ServiceChange) -> Iterator[Line]:
    """What differs, first what a reviewer asks for first: what runs, with which arguments, and why it may."""
    found = tuple(_lines(change))
    yield from found
    if not found and change.kind is Kind.CHANGED:
        again = "the digest of what it was started with" if change.restart else "how it is written"
        yield (f"what it says is the same, but for {again}",)


def _lines(change: ServiceChange) -> Iterator[Line]:
    detail = change.detail
    if change.moved is not None:
        yield ("~ file ", Value(change.moved), " -> ", Value(change.path))
    if change.kind is Kind.CREATED and change.about:
        yield (Value(change.about),)
    if detail.unread:
        yield ("its words are not compared, since one of the texts cannot be read as a unit",)
    yield from _values(detail.about, "what runs")
    yield from _values(detail.program, "program" if change.path.endswith(".service") else "image")
    for each in detail.arguments:
        yield from _values(each, Value(each.name))
    yield from _values(detail.evidence, "evidence")
    for each in detail.environment:
        yield from _values(each, "environment ", Value(each.name))
    yield from _values(detail.mounts, "mount")
    for each in _keys(detail):
        yield from _values(each, Value(each.name))
    yield from _values(detail.notes, "comment")


def _keys(detail: Detail) -> Iterator[Difference]:
    """The other keys, without those that say once more what was told: of the startup probe, and what runs."""
    every = {each.name: each for each in detail.keys}
    for each in detail.keys:
        probe = every.get(each.name.replace("HealthStartup", "Health")) if "HealthStartup" in each.name else None
        again = probe is not None and (probe.old, probe.new) == (each.old, each.new)
        if not again and not (each.name == "[Unit] Description" and _about(each, detail.about)):
            yield each


def _about(description: Difference, about: Difference | None) -> bool:
    """Whether descriptions, `SERVICE: MODEL on BACKEND`, name what runs and nothing else."""
    if about is None or not len(about.old) == len(about.new) == len(description.old) == len(description.new) == 1:
        return False
    (was, old), (now, new) = (each.split(": ", 1) if ": " in each else ("", each) for each in _both(description))
    return was == now and about.old[0].startswith(f"{old}, ") and about.new[0].startswith(f"{new}, ")


def _both(difference: Difference) -> Sequence[str]:
    return (*difference.old, *difference.new)


def _values(difference: Difference | None, *name: str) -> Iterator[Line]:
    """One line where one value takes another's place, else one for each that goes or comes."""
    if difference is None:
        return
    _, old, new = difference
    if len(old) == len(new) == 1:
        (was,), (now,) = apart(old, new)
        yield ("~ ", *name, " ", *_said(was), " -> ", *_said(now))
        return
    before, after = Counter(old), Counter(new)
    gone, come = list((before - after).elements()), list((after - before).elements())
    if not gone and not come:
        first, second = apart(old, new)
        yield ("~ order of ", *name, ": ", *_listed(first), " -> ", *_listed(second))
    for sign, values in zip("-+", apart(gone, come), strict=True):
        for value in values:
            yield (f"{sign} ", *name, *((" ", Value(value)) if value else ()))


def _said(value: str) -> Line:
    return (Value(value),) if value else ("(no value)",)


def _listed(values: Sequence[str]) -> Iterator[str]:
    for position, value in enumerate(values):
        yield from ((", ",) if position else ())
        yield from _said(value)
