"""The two arms of a measurement: a service with the profile that is measured, and with the one that it must beat.

Both are decided by the rules of a render, for whose next run the row is meant. Only a lack of evidence is no obstacle.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from quadgen.attachment.deciding import Outcome, advisory, decided, key, undecided
from quadgen.attachment.target import Target, target
from quadgen.engines.drafters import CARRYING, drafts
from quadgen.engines.registry import ENGINES
from quadgen.evidence import NO_SPECULATION, Request
from quadgen.locating import located
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Rejected, Severity
from quadgen.resolution import Resolution
from quadgen.resolve import EVIDENCE, Gate
from quadgen.resolve.report import unknown
from quadgen.speculation import ProfileSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Arms:
    """What is compared with what."""

    host: str
    service: str | None
    """Its key below `services`; None where the host is its own service."""
    spec: ProfileSpec
    """What is measured."""
    candidate: Resolution
    comparator: Resolution
    """Neither can become a unit: they were decided without asking for evidence."""
    request: Request
    """What the next render asks the ledgers where the service has the profile."""
    problems: tuple[Problem, ...]
    """Warnings and notes of both, but for what the ledgers say."""
    carries: bool
    """Whether the candidate's drafters keep something of one request for the next."""
    comparator_carries: bool
    """Whether the comparator's do."""


def arms(compiled: Compiled, host: str, service: str | None, profile: str, *, alike: bool = False) -> Arms:
    """Decide a service of a compiled fleet with `profile`, and with what that must beat.

    `service` None is the only one of its host. `alike` lets both be the same, which tests the instrument. A floor can
    be measured as well, against no speculation. Raises `Rejected`, with places, where there is no such host, service or
    profile, where there is nothing to compare, or where a render would refuse the service for anything but evidence.
    """
    to = target(compiled, host, service)
    spec = _spec(to, profile)
    gate = advisory(to, compiled.resolved.catalog)
    before = tuple(undecided(to))
    mine = _arm(to, spec, gate)
    theirs = _arm(to, gate.catalog.profiles[spec.against], gate)
    same = {(each.code, each.path) for each in mine.problems}
    found = _told((*before, *mine.problems, *(each for each in theirs.problems if (each.code, each.path) not in same)))
    if any(each.severity is Severity.ERROR for each in found) or None in (mine.resolution, theirs.resolution):
        _refuse(to, found or compiled.reported)
    both = _arms(to, spec, mine, theirs, tuple(_placed(to, found)))
    if both.candidate.decision.setting == both.comparator.decision.setting and not alike:
        message = f"the profile {spec.name} and {spec.against}, which it must beat, are the same here"
        _refuse(to, [_of(to, "unexpected-value", message, "name another profile, or another `against` in it")])
    return both


def _arms(to: Target, spec: ProfileSpec, mine: Outcome, theirs: Outcome, problems: tuple[Problem, ...]) -> Arms:
    candidate, comparator = mine.resolution, theirs.resolution
    assert candidate is not None and comparator is not None  # noqa: PT018, S101 - one of them was refused else
    closed = ENGINES[candidate.engine.kind].unmeasurable
    if closed is not None:
        hint = "measure it by hand, and write a row of your own"
        _refuse(to, [_of(to, "closed-engine", closed, hint)])
    request = candidate.decision.request
    if candidate.decision.setting == NO_SPECULATION or request is None:
        what = "becomes" if spec.floor else "is"
        message = f"the profile {spec.name} {what} no speculation here, and there is nothing to measure"
        _refuse(to, [_of(to, "unexpected-value", message, "name a profile that drafts")])
    if comparator.decision.setting != request.against:
        message = (
            f"a row must be against {request.against.describe()}, and here {spec.against} is "
            f"{comparator.decision.setting.describe()}"
        )
        hint = f"give the profile {spec.against} a `draft_model` of its own"
        _refuse(to, [_of(to, "unexpected-value", message, hint)])
    return Arms(
        host=to.host, service=to.named, spec=spec, candidate=candidate, comparator=comparator, request=request,
        problems=problems, carries=_carries(candidate), comparator_carries=_carries(comparator),
    )  # fmt: skip


def _spec(to: Target, name: str) -> ProfileSpec:
    """The profile. Raises `Rejected` where there is none, where it is wrong itself, or where it is `none`."""
    catalog = to.compiled.resolved.catalog
    spec = catalog.profiles.get(name)
    if spec is None:
        wrong = [each for each in to.compiled.reported if (each.path or ())[:1] == ("profiles",)]
        wrong = [each for each in wrong if (each.path or ())[1:2] == (name,)] or wrong
        if name in (to.fleet.data.get("profiles") or {}) or to.fleet.is_broken(("profiles", name)):
            _refuse(to, wrong)
        message, hint = unknown("profile", name, (each for each in catalog.profiles if each != "none"))
        _refuse(to, [Problem(code="unknown-profile", message=message, hint=hint)])
    elif spec.floor and not spec.spec_types:
        message = f"the profile {name} is what others must beat, and there is nothing to measure"
        _refuse(to, [Problem(code="unexpected-value", message=message, hint="name a profile that drafts")])
    return spec


def _arm(to: Target, spec: ProfileSpec, gate: Gate) -> Outcome:
    """The service with a profile, and without what only another profile of it can use."""
    found = decided(to, _said(spec, () if spec.floor else spec.spec_types), gate)
    if spec.floor and found.resolution is not None and drafts(found.resolution.decision.types):
        return decided(to, _said(spec, found.resolution.decision.types), gate)
    return found


def _said(spec: ProfileSpec, types: tuple[str, ...]) -> dict[str, Any]:
    """What the topmost layer of the service says, where its drafters are of these types; None takes a field away."""
    said: dict[str, Any] = {"profile": spec.name}
    if spec.draft_model is not None or not any(kind != "draft-mtp" for kind in drafts(types)):
        said["draft_model"] = None
    if not drafts(types):
        said["draft_device"] = None
    return said


def _carries(service: Resolution) -> bool:
    return any(kind in CARRYING for kind in service.decision.types)


def _told(problems: Iterable[Problem]) -> list[Problem]:
    """Each problem once, without what the ledgers say."""
    return list({key(each): each for each in problems if each.code not in EVIDENCE}.values())


def _of(to: Target, code: str, message: str, hint: str) -> Problem:
    return Problem(code=code, message=message, path=to.path, at="key", host=to.host, service=to.name, hint=hint)


def _placed(to: Target, problems: Iterable[Problem]) -> list[Problem]:
    return located(problems, to.compiled.documents, to.compiled.name, to.compiled.fleet)


def _refuse(to: Target, problems: Iterable[Problem]) -> NoReturn:
    raise Rejected(_placed(to, problems))
