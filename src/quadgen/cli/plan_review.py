"""Both states of a fleet to what changes between them."""

from collections.abc import Iterable, Mapping

import typer

from quadgen.cli import plan_sides
from quadgen.cli.plan_revision import Snapshot
from quadgen.cli.plan_sides import State
from quadgen.ownership import MANIFEST
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.resolve.report import unknown
from quadgen.review.change import HostChange, Refusal, Review
from quadgen.review.comparing import Contents, compare
from quadgen.review.refusals import errors, held, refusals
from quadgen.review.state import differing
from quadgen.revisions import Repository, repository


def reviewed(fleet: str, *, old: str | None, new: str | None, output: str, hosts: frozenset[str] | None) -> Review:
    """Compare the tree of a revision, HEAD where `old` is None, with a fleet: that of `new`, or as it stands.

    `hosts` names those that are asked about. Raises `Unavailable` where there is no git or no repository, `Rejected`
    for a host that neither side has, and a usage error for a revision that there is not.
    """
    place = repository(fleet)
    was = plan_sides.committed(place, old, fleet, output)
    if new is None and place.top is None:
        raise typer.BadParameter("there is no working copy here: name the revision that is new", param_hint="--to")
    now = plan_sides.standing(fleet, like=was.side.commit) if new is None else plan_sides.of_revision(place, new, fleet)
    everybody = was.hosts.keys() | (now.hosts if now.compiled is None else now.compiled.fleet.data["hosts"]).keys()
    _check(hosts, everybody)
    wrong = list(now.unreadable) if now.compiled is None else errors(now.compiled, hosts)
    unsaid = dict.fromkeys(was.hosts) if now.compiled is None else held(now.compiled, wrong)
    changes, notes = _changes(was, now, unsaid, hosts)
    if any(problem.host is None for problem in wrong):
        notes.append("the fleet file as a whole is refused, so nothing else is said of its hosts")
    return Review(
        old=was.side,
        new=now.side,
        hosts=tuple(changes),
        refusals=_refusals(wrong, was, place, fleet),
        total=len(everybody if hosts is None else hosts),
        notes=(*was.notes, *notes),
    )


def _check(asked: frozenset[str] | None, known: Iterable[str]) -> None:
    names = sorted(known)
    problems = []
    for host in sorted((asked or frozenset()) - set(names)):
        _, hint = unknown("host", host, names)
        message = f"neither state of the fleet has a host {host}"
        problems.append(Problem(code="unexpected-value", message=message, hint=hint))
    if problems:
        raise Rejected(problems)


def _changes(
    was: State, now: State, unsaid: Mapping[str, frozenset[str] | None], hosts: frozenset[str] | None
) -> tuple[list[HostChange], list[str]]:
    """What changes on each host, and what cannot be told."""
    wanted = {
        host: paths
        for host, paths in differing(was.hosts, now.hosts).items()
        if (hosts is None or host in hosts) and unsaid.get(host, frozenset()) is not None
    }
    before, after = was.contents(wanted), now.contents(wanted)
    changes, notes = [], []
    for host in wanted:
        old, new = before.get(host), after.get(host)
        found = compare(host, old, new, held=unsaid.get(host) or frozenset())
        if found is None:
            notes.append(f"the committed {host}/{MANIFEST} is not quadgen's, so nothing is said of {host}")
        elif found.services or found.needs or found.spares or (host not in unsaid and _listed(old) != _listed(new)):
            changes.append(found)
    return changes, notes


def _listed(contents: Contents | None) -> bytes | None:
    return None if contents is None else contents.get(MANIFEST)


def _refusals(wrong: list[Problem], was: State, place: Repository, fleet: str) -> tuple[Refusal, ...]:
    """What the new state is refused for, held against what the old one was refused for: only then is that compiled."""
    if not wrong:
        return ()
    return refusals(wrong, _before(was, place, fleet))


def _before(was: State, place: Repository, fleet: str) -> list[Problem] | None:
    path, commit = place.path(fleet), was.side.commit
    if was.compiled is not None:
        return errors(was.compiled, None)
    if commit is None or path is None:
        return None
    snapshot = Snapshot(place, commit, fleet, path)
    try:
        if not snapshot.exists():
            return None
        found = plan_sides.compiled(fleet, snapshot, was.side, like=commit)
    except Unavailable:
        return None
    return list(found.unreadable) if found.compiled is None else errors(found.compiled, None)
