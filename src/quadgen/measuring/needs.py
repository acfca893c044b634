"""Which services of a fleet need a number, and which cannot be helped by one."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from quadgen.attachment.target import Target
from quadgen.engines.registry import ENGINES
from quadgen.evidence import Kind, Ledger, Request, Row, Verdict, quoted, verdict
from quadgen.evidence.match import same_model
from quadgen.locating import owner
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Severity
from quadgen.resolve.gate import EVIDENCE, Asked

_LATEST: Final = "9999-12-31"
"""A row that is measured now is newer than all that are there."""
_UNKNOWN: Final = ""
"""Stands for what only the run itself will tell; nothing that a fleet says is equal to it."""


class Why(StrEnum):
    """What a service lacks, in the codes of the gate."""

    UNMEASURED = "unmeasured-combination"
    BUILD = "stale-build"
    DEVICE = "other-device"


class Unhelped(StrEnum):
    """Why no run is planned for a service."""

    LOSES = "loses"
    """It was measured, and does not win: there is nothing to bring."""
    UNDECIDED = "undecided"
    """It was measured, and its samples tell neither: the same run with more of them may."""
    REFUSED = "refused"
    """The fleet is refused for something else as well, which has to be mended first."""
    UNDECIDABLE = "undecidable"
    """No row could be exactly of this service, as the fleet describes it."""
    UNMEASURABLE = "unmeasurable"
    """The engine cannot be asked for a measurement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A service that asks for a profile which no row, or none of its build and card, decides."""

    asked: Asked
    why: Why
    request: Request
    """What it asks, without that which decides nothing by the fleet's policy: equal ones need one row."""
    goal: int
    """The best grade that a row can have for it: of one that is measured with this service itself."""
    contested: bool
    """Whether rows of other builds or cards, which runs of the same plan may bring, could come before its own."""
    named: str | None
    """The service as a command names it; None where the host is its own service."""

    @property
    def place(self) -> str:
        """The service, as HOST or HOST/SERVICE."""
        return self.asked.host if self.named is None else f"{self.asked.host}/{self.named}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A service that asks for a profile, which no run would help to it."""

    need: Need
    kind: Unhelped
    reason: str
    """A sentence without its end."""


def needs(compiled: Compiled) -> Iterator[Need | Left]:
    """Everything that the services of a fleet ask for and are not simply granted, in the order of the fleet."""
    errors, ledger = _Errors(compiled), compiled.resolved.gate.ledger
    contested = _contested([asked.request for asked in compiled.resolved.gate.asked.values()])
    for asked in compiled.resolved.gate.asked.values():
        why = _why(asked.verdict)
        if why is None:
            continue
        services = (compiled.fleet.data["hosts"].get(asked.host) or {}).get("services")
        named = asked.service if services else None
        disputed = kind_of(asked.request) in contested
        request = asked.request if disputed else _plain(asked.request, ledger)
        need = Need(
            asked=asked, why=why, named=named, request=request, contested=disputed,
            goal=after(request, request, ledger),
        )  # fmt: skip
        if (left := _left(need, errors)) is None:
            yield need
        else:
            yield Left(need=need, kind=left[0], reason=left[1])


def _why(found: Verdict) -> Why | None:
    """What is missing; None where the profile wins on exactly this build and card, or near enough for the policy."""
    if found.kind is Kind.WINS and not (found.build_differs or found.device_differs):
        return None
    if found.build_differs or "build" in found.blocked_by:
        return Why.BUILD
    return Why.DEVICE if found.device_differs or found.blocked_by else Why.UNMEASURED


def kind_of(request: Request) -> tuple[object, ...]:
    """What any row must share with a request, and so all of those that compete for it."""
    return request.engine, request.backend, request.setting, request.against


def _contested(requests: Iterable[Request]) -> set[tuple[object, ...]]:
    """Kinds of requests of several cards or builds, where a row of another one may decide, with a warning.

    Of rows, those of the same model come first, then those of the same build, then those of the same card, whatever
    the policy asks for. So where it asks for no model, but for the build or the card, or for no build, but for the
    card, a row that would do is passed over for one of another build or card.
    """
    cards: dict[tuple[object, ...], set[tuple[str, ...]]] = {}
    builds: dict[tuple[object, ...], set[str | None]] = {}
    for request in requests:
        policy, kind = request.policy, kind_of(request)
        if policy.device == "warn" and (policy.build == "ignore" or policy.evidence == "backend"):
            cards.setdefault(kind, set()).add(request.devices)
        if policy.build == "warn" and policy.evidence == "backend":
            builds.setdefault(kind, set()).add(request.build)
    return {kind for found in (cards, builds) for kind, each in found.items() if len(each) > 1}


def _plain(request: Request, ledger: Ledger) -> Request:
    """Leave out what the policy does not compare."""
    policy = request.policy
    if policy.build == "ignore":
        request = replace(request, build=None)
    if policy.device == "ignore":
        request = replace(request, devices=())
    # among rows that are there, those of the same model go first even where the policy asks for none
    if policy.evidence == "backend" and not ledger.of_setting(request.engine, request.backend, request.setting):
        request = replace(request, model=_UNKNOWN, header=None, quantization=None)
    return request


def _left(need: Need, errors: "_Errors") -> tuple[Unhelped, str] | None:
    request, found = need.asked.request, need.asked.verdict
    unmeasurable = ENGINES[request.engine].unmeasurable
    if unmeasurable is not None:
        return Unhelped.UNMEASURABLE, unmeasurable
    if found.row is not None and not (found.build_differs or found.device_differs):
        return _measured(found.row, request.policy.min_gain), quoted(found.row)
    wrong = errors.of(need)
    if wrong:
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return Unhelped.REFUSED, f"{wrong[0].code}: {wrong[0].message}{more}"
    if need.goal <= grade(found):
        return Unhelped.UNDECIDABLE, _undecidable(request)
    return None


def _measured(row: Row, min_gain: float) -> Unhelped:
    """What a row that does not win says."""
    return Unhelped.UNDECIDED if row.undecided(min_gain) else Unhelped.LOSES


def _undecidable(request: Request) -> str:
    if request.build is None and request.policy.build != "ignore":
        return "the engine has no `build`, so that every row counts as measured on another"
    return f"it computes on unlike cards, {' and '.join(dict.fromkeys(request.devices))}, and a row names one"


def grade(found: Verdict) -> int:
    """How well a verdict is founded: 0 where nothing is decided, 3 where it is without a difference."""
    return 0 if found.kind is Kind.UNMEASURED else 3 - found.build_differs - found.device_differs


def after(run: Request, request: Request, ledger: Ledger) -> int:
    """The grade of `request` when `run` was measured on its workload too.

    What the fleet does not say of `run`, such as its card, is taken to be something else than what it says of
    `request`; a grade is promised, not hoped for.
    """
    by_name = request.policy.evidence == "model" and (run.header is None or request.header is None)
    if by_name and run.quantization is None and request.quantization is not None:
        return 0
    known = ledger.of_setting(request.engine, request.backend, request.setting)
    return grade(verdict(request, Ledger((*known, measured(run, request.workload)))))


def decides(run: Request, need: Need, ledger: Ledger) -> bool:
    """Whether a need is met when `run` was measured on its workload too, whatever else is measured."""
    if after(run, need.request, ledger) < need.goal:
        return False
    return not need.contested or _closeness(run, need.request) >= _closeness(need.request, need.request)


def _closeness(run: Request, request: Request) -> tuple[bool, bool, bool]:
    """How early the row of `run` comes among those for `request`: by its header, its model, and its build."""
    row = measured(run, request.workload)
    hashed = run.header is not None and request.header is not None
    same = same_model(row, request)
    return hashed and same, same, row.build == request.build


def measured(run: Request, workload: str, *, name: str = "\0", ratio: float = 2.0) -> Row:
    """The row that a run will bring for a workload, as far as the fleet tells before it."""
    return Row(
        id=name, engine=run.engine, build=run.build or _UNKNOWN, backend=run.backend,
        device=run.devices[0] if run.devices else _UNKNOWN, model=run.model,
        header=_UNKNOWN if run.header is None else run.header, quantization=run.quantization, workload=workload,
        setting=run.setting, against=run.against, ratio=ratio, samples=1, source="", date=_LATEST,
    )  # fmt: skip


def base(request: Request) -> Request:
    """What two requests share that one run can serve, whatever their workloads."""
    return replace(request, workload="")


def _of_evidence(problem: Problem) -> bool:
    return problem.code in EVIDENCE and (problem.path or ())[-1:] == ("profile",)


class _Errors:
    """What else is wrong with services."""

    def __init__(self, compiled: Compiled) -> None:
        self._compiled = compiled
        self._owned: dict[tuple[str, str | None], list[Problem]] = {}
        self._shared: list[Problem] = []
        for problem in compiled.reported:
            if problem.severity is not Severity.ERROR or _of_evidence(problem):
                continue
            host, service = owner(problem)
            if host is None:
                self._shared.append(problem)
            else:
                self._owned.setdefault((host, service), []).append(problem)

    def of(self, need: Need) -> list[Problem]:
        """The errors of a service, of its host, and of what it uses."""
        host, service = need.asked.host, need.asked.service
        target = Target(compiled=self._compiled, host=host, named=need.named, name=service)
        used = [problem for problem in self._shared if target.concerns(problem)]
        return [*used, *self._owned.get((host, None), ()), *self._owned.get((host, service), ())]
