"""What the new state is refused for, and what of that is news."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from quadgen.locating import placed
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Severity
from quadgen.review.change import Refusal, Target


def errors(compiled: Compiled, hosts: frozenset[str] | None) -> list[Problem]:
    """What refuses a fleet, or these hosts of it: each with its place and its service."""
    found = (problem for problem in compiled.reported if problem.severity is Severity.ERROR)
    placed_ones = placed(found, compiled.documents, compiled.name)
    return [problem for problem in placed_ones if hosts is None or problem.host is None or problem.host in hosts]


def refusals(now: Iterable[Problem], before: Iterable[Problem] | None) -> tuple[Refusal, ...]:
    """One for all that say the same of the same place, in the order of the fleet file; news first.

    `before` is what the old state was refused for; None where that has no fleet file to ask. A service that was refused
    under the same code is not news, whatever the sentence says; of a mistake of the whole file the sentence counts.
    """
    known = set(map(_key, before or ()))
    groups: defaultdict[tuple[object, ...], list[Problem]] = defaultdict(list)
    for problem in now:
        groups[problem.code, problem.message, problem.place, problem.notes, problem.hint].append(problem)
    found = [_together(same, known) for same in groups.values()]
    return tuple(sorted(found, key=_rank))


def _key(problem: Problem) -> tuple[str | None, ...]:
    if problem.host is None:
        return problem.code, problem.message
    return problem.code, problem.host, problem.service


def _together(same: list[Problem], known: Collection[tuple[str | None, ...]]) -> Refusal:
    fresh = [problem for problem in same if _key(problem) not in known]
    return Refusal(problem=same[0], targets=_targets(same), fresh=_targets(fresh), new=bool(fresh))


def _targets(problems: Iterable[Problem]) -> tuple[Target, ...]:
    return tuple(dict.fromkeys(Target(each.host, each.service) for each in problems if each.host is not None))


def _rank(refusal: Refusal) -> tuple[object, ...]:
    place = refusal.problem.place
    where = (place.file, place.line, place.column) if place is not None else ("", 0, 0)
    return (not refusal.new, *where, refusal.problem.code, refusal.problem.message)


def held(compiled: Compiled, found: Sequence[Problem]) -> Mapping[str, frozenset[str] | None]:
    """By host, the services of which a refused fleet does not say what becomes of them; None is all of the host.

    A host of which everything is decided is not in it. `found` is what `errors` finds.
    """
    named: defaultdict[str, set[str]] = defaultdict(set)
    whole = {problem.host for problem in found if problem.service is None}
    for problem in found:
        if problem.host is not None and problem.service is not None:
            named[problem.host].add(problem.service)
    hosts = compiled.fleet.data["hosts"]
    if None in whole:  # a mistake of the file may be anybody's
        whole |= hosts.keys()
    for host in named:
        decided = {resolution.name for resolution in compiled.resolved.hosts.get(host, ())}
        named[host] |= ((hosts.get(host) or {}).get("services") or {}).keys() - decided
    return {host: frozenset(services) for host, services in named.items()} | {host: None for host in whole if host}
