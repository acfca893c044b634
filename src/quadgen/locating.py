"""From logical paths to places, once, at the end; one problem for each place, however many hosts inherit it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from quadgen.document import Document
from quadgen.fleet.load import Fleet
from quadgen.problems import Path, Place, Problem, Severity

_SHOWN = 3
_SECRETIVE = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE).search
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def _near_a_secret(problem: Problem) -> bool:
    """Whether an unknown key is probably a misspelt one whose value is a key: `apikey: sk-...`."""
    return problem.code == "unknown-key" and bool(problem.path) and _SECRETIVE(str(problem.path[-1])) is not None  # type: ignore[index]  # not empty


def _hides(problem: Problem) -> bool:
    """Whether the rest of the problem's line may hold a secret."""
    return problem.code == "literal-secret" or _near_a_secret(problem)


def _place(problem: Problem, documents: Mapping[str, Document], fleet: str) -> Place | None:
    if problem.place is not None or problem.path is None:
        return problem.place
    document = documents.get(problem.file or fleet)
    if document is None:
        return Place(file=problem.file or fleet, line=1, column=1)
    place = document.locate(problem.path, at=problem.at)
    if _near_a_secret(problem):
        return replace(place, text=f"{place.text[: place.column - 1 + place.length]} ***")
    if problem.code == "literal-secret":
        # the line holds the key itself, which no message, log or annotation may repeat
        shown = place.text[: place.column - 1].rstrip()
        return replace(place, text=f"{shown} ***" if shown else "***", length=3, column=len(shown) + 2 if shown else 1)
    return place


def _heirs(path: Path | None, fleet: Fleet | None) -> list[str]:
    """The hosts that inherit what stands at `path`, where that is no host's own."""
    if fleet is None or not path or path[0] not in ("defaults", "groups"):
        return []
    hosts = fleet.data["hosts"]
    if path[0] == "defaults":
        return list(hosts)
    return [name for name, fields in hosts.items() if len(path) > 1 and path[1] in ((fields or {}).get("groups") or ())]


def _listed(hosts: list[str], verb: str) -> str:
    more = f" and {len(hosts) - _SHOWN} more" if len(hosts) > _SHOWN else ""
    one = len(hosts) == 1
    return (
        f"{len(hosts)} {'host' if one else 'hosts'} {verb}{'s' if one else ''} this: {', '.join(hosts[:_SHOWN])}{more}"
    )


def owner(problem: Problem) -> tuple[str | None, str | None]:
    """The host and service that a problem is of; its path tells where the reporter did not."""
    path = problem.path or ()
    if problem.host is not None or len(path) < 2 or path[0] != "hosts":  # noqa: PLR2004 - ("hosts", NAME)
        return problem.host, problem.service
    service = str(path[3]) if len(path) > 3 and path[2] == "services" else None  # noqa: PLR2004 - (..., "services", NAME)
    return str(path[1]), service


def _together(same: list[Problem], place: Place | None, fleet: Fleet | None, only: frozenset[str] | None) -> Problem:
    """One problem for all that say the same of the same place; it only warns where it is of no host in `only`."""
    first = same[0]
    owners = list(dict.fromkeys(map(owner, same)))
    hosts = list(dict.fromkeys(host for host, _ in owners if host is not None))
    heirs = hosts or _heirs(first.path, fleet)
    top = (first.path or ("",))[0]
    host, service = owners[0] if len(owners) == 1 else (hosts[0] if len(hosts) == 1 else None, None)
    # whom the problem names already is no news
    inherited = heirs not in ([], [host]) and (len(hosts) > 1 or top in ("defaults", "groups"))
    notes = (
        (*first.notes, _listed(heirs, "inherit" if top in ("defaults", "groups", "hosts") else "use"))
        if inherited
        else first.notes
    )
    asked = {problem.host for problem in same}  # None: the file itself is wrong there, which concerns every host
    elsewhere = only is not None and only.isdisjoint(asked) and None not in asked and first.severity is Severity.ERROR
    severity = Severity.WARNING if elsewhere else first.severity
    return replace(first, severity=severity, place=place, notes=notes, host=host, service=service)


def _rank(problem: Problem) -> tuple[object, ...]:
    place = problem.place
    where = (place.file, place.line, place.column) if place else ("", 0, 0)
    return (_ORDER[problem.severity], *where, problem.code, problem.message)


def placed(problems: Iterable[Problem], documents: Mapping[str, Document], name: str) -> list[Problem]:
    """Give each problem its place, and leave it with its host. `name` is the fleet file."""
    places: dict[tuple[object, ...], Place | None] = {}
    found = []
    for problem in problems:
        spot = (problem.file, problem.path, problem.at, problem.place, _hides(problem))
        if spot not in places:
            places[spot] = _place(problem, documents, name)
        host, service = owner(problem)
        found.append(replace(problem, place=places[spot], host=host, service=service))
    return found


def located(
    problems: Iterable[Problem],
    documents: Mapping[str, Document],
    name: str,
    fleet: Fleet | None,
    only: frozenset[str] | None = None,
) -> list[Problem]:
    """Give each problem its place, and put those together that are one problem at one place.

    Sorted by severity, file, line and column. `name` is the fleet file. `only` names the hosts that matter: what
    refuses none of them only warns.
    """
    places: dict[tuple[object, ...], Place | None] = {}
    groups: dict[tuple[object, ...], tuple[Place | None, list[Problem]]] = {}
    for problem in problems:
        spot = (problem.file, problem.path, problem.at, problem.place, _hides(problem))
        if spot not in places:
            places[spot] = _place(problem, documents, name)
        place = places[spot]
        where = (place.file, place.line, place.column) if place else (problem.host, problem.service)
        groups.setdefault((problem.code, problem.severity, where, problem.message, problem.label), (place, []))[
            1
        ].append(problem)
    found = [_together(same, place, fleet, only) for place, same in groups.values()]
    first: dict[tuple[str, int], int] = {}
    for problem in found:
        if _hides(problem) and problem.place is not None:
            line = (problem.place.file, problem.place.line)
            first[line] = min(problem.place.column, first.get(line, problem.place.column))
    if first:
        found = [_hidden(problem, first) for problem in found]
    return sorted(found, key=_rank)


def _hidden(problem: Problem, first: Mapping[tuple[str, int], int]) -> Problem:
    """A problem on a line that holds a key: its place stays, and only the first key's shows what is before it."""
    place = problem.place
    column = first.get((place.file, place.line)) if place is not None else None
    if place is None or column is None or (_hides(problem) and place.column == column):
        return problem
    return replace(problem, place=replace(place, text=""))
