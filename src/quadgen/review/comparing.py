"""Two states of one host to what changes there."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final

from quadgen.ownership import MANIFEST
from quadgen.review import listed, unit
from quadgen.review.change import Detail, Difference, HostChange, Kind, ServiceChange
from quadgen.review.listed import NOTHING, Listed, Service
from quadgen.review.unit import Said, UnitSaid

_REACHED: Final = frozenset({"[Container] PublishPort", "[Container] Network"})
"""Who can reach a container: `--host` is 0.0.0.0 in it whatever is published."""
Contents = Mapping[str, bytes]
"""By the path below the host's directory: the manifest, and every file that is not the same on both sides."""


def compare(host: str, old: Contents | None, new: Contents | None, *, held: AbstractSet[str]) -> HostChange | None:
    """What changes on a host; None where that cannot be seen, since a manifest of the old side is not quadgen's.

    A side is None where the host is not there. `held` names the services of which the new state is not known, since
    they are refused: nothing is said of them.
    """
    before, after = _manifest(old, host), _manifest(new, host)
    if before is None or after is None:
        return None
    changes = list(_services(before, after, old or {}, new or {}, held))
    kind = Kind.CREATED if old is None else Kind.REMOVED if new is None else Kind.CHANGED
    return HostChange(
        host=host,
        kind=kind,
        services=tuple(changes),
        needs=tuple(sorted(after.requires - before.requires)),
        spares=() if held else tuple(sorted(before.requires - after.requires)),
    )


def _manifest(contents: Contents | None, host: str) -> Listed | None:
    return NOTHING if contents is None else listed.read(contents.get(MANIFEST, b""), host)


def _services(
    before: Listed, after: Listed, old: Contents, new: Contents, held: AbstractSet[str]
) -> Iterator[ServiceChange]:
    for name in sorted((before.services.keys() | after.services.keys()) - held):
        was, now = before.services.get(name), after.services.get(name)
        if now is None:
            if was is not None:
                yield _one(Kind.REMOVED, was, old.get(was.path, b""))
        elif was is None or (was.path not in old and now.path in new):  # listed, but its file is not there
            yield _one(Kind.CREATED, now, new.get(now.path, b""))
        elif was.path in old or was.restart != now.restart:  # else both sides have the same bytes
            yield _changed(was, now, old.get(was.path, b""), new.get(now.path, b""))


def _one(kind: Kind, service: Service, text: bytes) -> ServiceChange:
    said = unit.read(text)
    return ServiceChange(
        kind=kind,
        service=service.name,
        unit=service.unit,
        restart=False,
        autostart=service.autostart,
        path=service.path,
        moved=None,
        about="" if said is None else said.about,
        detail=_alone(said, kind),
    )


def _alone(said: UnitSaid | None, kind: Kind) -> Detail:
    if said is None:
        return Detail(unread=True)
    nothing = UnitSaid(
        program="", words=(), arguments={}, environment={}, mounts=(), keys={}, about="", evidence=(), notes=()
    )
    return _detail(nothing, said, keys=True) if kind is Kind.CREATED else _detail(said, nothing, keys=True)


def _changed(was: Service, now: Service, was_text: bytes, now_text: bytes) -> ServiceChange:
    same_kind = was.path.rpartition(".")[2] == now.path.rpartition(".")[2]
    about, detail = _texts(was_text, now_text, keys=same_kind)
    return ServiceChange(
        kind=Kind.CHANGED,
        service=now.name,
        unit=now.unit,
        restart=was.restart != now.restart or was.path != now.path,
        autostart=now.autostart,
        path=now.path,
        moved=None if was.path == now.path else was.path,
        about=about,
        detail=detail,
    )


def _texts(was: bytes, now: bytes, *, keys: bool) -> tuple[str, Detail]:
    before, after = unit.read(was), unit.read(now)
    if before is None or after is None:
        return ("" if after is None else after.about), Detail(unread=True)
    return after.about, _detail(before, after, keys=keys)


def _detail(old: UnitSaid, new: UnitSaid, *, keys: bool) -> Detail:
    """What two units say otherwise. Without `keys` they are of two kinds: of the other keys only `_REACHED` is told."""
    arguments = _differences(old.arguments, new.arguments)
    if not arguments and old.words != new.words:
        what = "order" if sorted(old.words) == sorted(new.words) else "words"  # `--x "a b"` is not `--x a b`
        arguments = (Difference(f"{what} of the arguments", (shlex.join(old.words),), (shlex.join(new.words),)),)
    both = bool(old.about and new.about)
    notes = (old.notes, new.notes) if both else ((old.about, *old.notes), (new.about, *new.notes))
    return Detail(
        about=_of("about", (old.about,), (new.about,)) if both else None,
        program=_of("program", _stated(old.program), _stated(new.program)),
        arguments=arguments,
        environment=_differences(old.environment, new.environment),
        mounts=_of("mounts", *_apart(old.mounts, new.mounts)),
        keys=tuple(each for each in _differences(old.keys, new.keys) if keys or each.name in _REACHED),
        evidence=_of("evidence", *_apart(old.evidence, new.evidence)),
        notes=_of("notes", *_apart(*(tuple(filter(None, each)) for each in notes))),
    )


def _stated(text: str) -> tuple[str, ...]:
    return (text,) if text else ()


def _differences(old: Said, new: Said) -> tuple[Difference, ...]:
    """In the order of the new side; what is gone comes last."""
    names = [*new, *(name for name in old if name not in new)]
    return tuple(
        _shared(Difference(name, old.get(name, ()), new.get(name, ())))
        for name in names
        if old.get(name, ()) != new.get(name, ())
    )


@lru_cache(maxsize=1024)
def _shared(difference: Difference) -> Difference:
    """One value for all that are equal: a thousand hosts that change alike are compared by it."""
    return difference


def _of(name: str, old: tuple[str, ...], new: tuple[str, ...]) -> Difference | None:
    return None if old == new else Difference(name, old, new)


def _apart(old: Iterable[str], new: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is on one side only, each in its order; equal texts count one by one."""
    was, now = Counter(old), Counter(new)
    return tuple((was - now).elements()), tuple((now - was).elements())
