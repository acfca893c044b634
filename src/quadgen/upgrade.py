"""What another build of llama.cpp would do to a fleet: the fleet is compiled for both builds, and compared."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from quadgen.engines.flags import FlagTable
from quadgen.fleet.load import Fleet
from quadgen.locating import placed
from quadgen.pipeline import Compiled, Files, Tables, compile_fleet
from quadgen.problems import Place, Problem, Severity

_KIND: Final = "llama.cpp"
_FLAGGED: Final = frozenset({"flags", "extra_args", "env"})
"""Fields that name options one by one."""


class Service(NamedTuple):
    """Whom something concerns; `service` None is the host itself."""

    host: str
    service: str | None


class Spot(NamedTuple):
    """Where the fleet says it, and whom that concerns: nobody in particular where `services` is empty."""

    place: Place | None
    services: tuple[Service, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong, wherever the fleet says it."""

    problem: Problem
    """Of its code, severity, sentence, notes and hint; the rest is that of the first spot."""
    flag: str | None
    """The flag, argument or variable as the fleet spells it; None where it is about something else."""
    spots: tuple[Spot, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Respelling:
    """Options of the argument vector that the new build is told in other words; the same meaning is meant."""

    before: tuple[tuple[str, ...], ...]
    after: tuple[tuple[str, ...], ...]
    services: tuple[Service, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The difference that the new build makes to the fleet."""

    broken: tuple[Finding, ...]
    """Refusals and deprecation warnings of the new build alone; the refusals first."""
    mended: tuple[Finding, ...]
    """Those of the old build alone, where the new one at most warns of a deprecation."""
    respelled: tuple[Respelling, ...]
    """Of services that neither build refuses."""
    refused: bool
    """Whether the fleet is refused for the new build."""
    unrelated: int
    """Refusals that are the same for both."""
    engines: tuple[str, ...]
    """Those that were taken for one build and then for the other, as the fleet names them."""
    stated: bool
    """Whether these are on the old build, as the fleet says; else all that have no table of their own."""


@dataclass(slots=True)
class _Touched:
    """The engines of a fleet that an upgrade from a build touches."""

    before: FlagTable
    engines: tuple[str, ...] = ()
    stated: bool = False

    def by(self, table: FlagTable) -> Tables:
        """What has `table` stand in for the tables of those engines."""

        def tables(fleet: Fleet, learned: Mapping[str, FlagTable]) -> Mapping[str, FlagTable]:
            self._find(fleet.data.get("engines") or {}, learned)
            return dict.fromkeys(self.engines, table)

        return tables

    def _find(self, engines: Mapping[str, Any], learned: Mapping[str, FlagTable]) -> None:
        ours = {name: fields for name, fields in engines.items() if fields.get("kind") == _KIND}
        own = {name: learned.get(fields["flags"]) for name, fields in ours.items() if fields.get("flags") is not None}
        on = [
            name
            for name, fields in ours.items()
            if self.before.build in (fields.get("build"), getattr(own.get(name), "build", None))
        ]
        self.stated = bool(on)
        self.engines = tuple(on or (name for name in ours if name not in own))


def upgrade(name: str, files: Files, before: FlagTable, after: FlagTable) -> Upgrade:
    """Compile the fleet file `name` as if its engines that are on the one build were of it, then of the other.

    Where none is on it, all llama.cpp engines that have learned no table are. Raises as `compile_fleet` does where the
    fleet cannot be read.
    """
    touched = _Touched(before)
    old = compile_fleet(name, files, tables=touched.by(before))
    new = compile_fleet(name, files, tables=touched.by(after))
    was, now = _problems(old), _problems(new)
    theirs, ours = _by_place(was), _by_place(now)
    fresh = [one for key, said in ours.items() for one in _fresh(said, theirs.get(key, []), before, after)]
    broken = _worse(fresh, theirs)
    gone = [one for key, said in theirs.items() if key not in ours for one in said]
    return Upgrade(
        broken=_together(broken, new),
        mended=_together(_worse(gone, ours), old),
        respelled=_respelled(old, new),
        refused=new.refused,
        unrelated=sum(map(_is_error, now)) - sum(map(_is_error, broken)),
        engines=touched.engines,
        stated=touched.stated,
    )


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


def _problems(compiled: Compiled) -> list[Problem]:
    """What counts, each with its place and its service: refusals, and warnings that a flag will go."""
    counts = (one for one in compiled.reported if _is_error(one) or one.code == "deprecated-flag")
    return placed(counts, compiled.documents, compiled.name)


def _by_place(problems: Iterable[Problem]) -> dict[tuple[object, ...], list[Problem]]:
    found: defaultdict[tuple[object, ...], list[Problem]] = defaultdict(list)
    for problem in problems:
        found[_key(problem)].append(problem)
    return found


def _key(problem: Problem) -> tuple[object, ...]:
    """The code, then the spot."""
    place = problem.place
    where = (place.file, place.line, place.column) if place is not None else problem.message
    return problem.code, problem.host, problem.service, where


def _fresh(said: list[Problem], before: list[Problem], old: FlagTable, new: FlagTable) -> list[Problem]:
    """Those of `said` that were not said before; a sentence that names another build is no other sentence."""
    known = {_worded(problem, old) for problem in before}
    fresh = [problem for problem in said if _worded(problem, new) not in known]
    return fresh[: len(said) - len(before)] if len(said) > len(before) else []


def _worse(problems: Iterable[Problem], others: Mapping[tuple[object, ...], list[Problem]]) -> list[Problem]:
    """Those that weigh more than what the other build has to say of the same flag, under whatever code."""
    refused: set[tuple[object, ...]] = set()
    warned: set[tuple[object, ...]] = set()
    for key, said in others.items():
        if not _FLAGGED.isdisjoint(said[0].path or ()):
            (refused if any(map(_is_error, said)) else warned).add(key[1:])
    lighter = refused | warned
    return [one for one in problems if _key(one)[1:] not in (refused if _is_error(one) else lighter)]


def _worded(problem: Problem, table: FlagTable) -> str:
    return re.sub(rf"(?<!\w){re.escape(table.build)}(?!\w)", "", problem.message)


def _together(problems: Iterable[Problem], compiled: Compiled) -> tuple[Finding, ...]:
    """One finding for all that say the same, in the order of the fleet file."""
    groups: defaultdict[tuple[object, ...], list[Problem]] = defaultdict(list)
    for problem in problems:
        groups[problem.severity, problem.code, problem.message, problem.notes, problem.hint].append(problem)
    found = [
        Finding(problem=same[0], flag=_flag(same[0], compiled.fleet.data), spots=tuple(_spots(same)))
        for same in groups.values()
    ]
    return tuple(sorted(found, key=_rank))


def _rank(finding: Finding) -> tuple[object, ...]:
    place = finding.spots[0].place
    where = (place.file, place.line, place.column) if place is not None else ("", 0, 0)
    return (not _is_error(finding.problem), *where, finding.problem.message)


def _spots(problems: Iterable[Problem]) -> Iterator[Spot]:
    places: dict[Place | None, list[Service]] = {}
    for problem in problems:
        services = places.setdefault(problem.place, [])
        if problem.host is not None:
            services.append(Service(problem.host, problem.service))
    for place, services in sorted(places.items(), key=_line):
        yield Spot(place, tuple(dict.fromkeys(services)))


def _line(entry: tuple[Place | None, object]) -> tuple[str, int, int]:
    place = entry[0]
    return (place.file, place.line, place.column) if place is not None else ("", 0, 0)


def _flag(problem: Problem, data: Any) -> str | None:  # noqa: ANN401 - a fleet holds any YAML value
    """The flag that a problem's path leads to."""
    path = problem.path or ()
    for position, key in enumerate(path[:-1]):
        last = path[position + 1]
        if key == "flags" and isinstance(last, str):
            return f"--{last}"
        if key == "env" and isinstance(last, str):
            return last
        if isinstance(data, Mapping) and key in data:
            data = data[key]
            if key == "extra_args" and isinstance(last, int) and isinstance(data, list) and last < len(data):
                return str(data[last])
    return None


def _respelled(old: Compiled, new: Compiled) -> tuple[Respelling, ...]:
    found: defaultdict[tuple[Any, Any], list[Service]] = defaultdict(list)
    for host, services in new.resolved.hosts.items():
        known = {service.name: service.arguments for service in old.resolved.hosts.get(host, ())}
        for service in services:
            before = known.get(service.name)
            if before is not None and before != service.arguments:
                was = Counter(tuple(map(str, argument.words)) for argument in before)
                now = Counter(tuple(map(str, argument.words)) for argument in service.arguments)
                if was != now:
                    key = tuple((was - now).elements()), tuple((now - was).elements())
                    found[key].append(Service(host, service.name))
    return tuple(
        Respelling(before=before, after=after, services=tuple(services)) for (before, after), services in found.items()
    )
