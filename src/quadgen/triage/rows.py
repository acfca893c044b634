"""What the ledger says of a service as it runs today, and of what n-gram drafters have accepted."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from quadgen.breakeven import acceptance_for
from quadgen.engines.drafters import DRAFTERS, lookups
from quadgen.evidence import NO_SPECULATION, Ledger, Policy, Request, Row, Setting
from quadgen.evidence.match import differences, same_model
from quadgen.evidence.setting import DEFAULT_WIDTH
from quadgen.facts.quantization import said
from quadgen.resolution import Resolution
from quadgen.triage.given import Given
from quadgen.triage.question import Band
from quadgen.triage.target import Figures

_WALL: Final = "tok/s"
_WHOLE: Final = frozenset({"draft-simple", "draft-mtp", "draft-eagle3"})
"""Types of llama-server that draft as many tokens as they may in every round, where no option says otherwise."""


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two settings that a row compares."""

    row: Row
    setting: Setting
    rate: float


def figures_of(service: Resolution, ledger: Ledger, workload: str) -> Figures | None:
    """What was measured on `workload` of this model, backend and card; None where nothing was.

    Rates of rows are the engine's own. Rows of another card than the host's are passed over; of several, one of the
    same build, then the newest, then the fleet's own, then the later one counts.
    """
    request = _request(service, workload)
    sides = list(_sides(ledger.rows, request))
    today = _best(sides, request.setting, request)
    plain = _best(sides, NO_SPECULATION, request)
    if today is None and plain is None:
        return None
    return Figures(
        rate=None if today is None else Given(value=today.rate, source=_source(today.row)),
        commit=None if today is None else _commit(today),
        plain_step=None if plain is None else Given(value=1 / plain.rate, source=_source(plain.row)),
        internal=True,
    )


def looked_up(rows: Iterable[Row]) -> Band | None:
    """The acceptances of n-gram drafters that were measured, from the lowest to the highest; None where none was.

    They are all there is between, as the text repeats itself. A row's acceptance is of its drafts: it becomes that of
    a position by the width of the type, which a draft may be narrower than.
    """
    found = [(p, row.id) for row in rows for p in _of_positions(row)]
    if not found:
        return None
    (low, least), (high, most) = min(found), max(found)
    return Band(low=low, high=high, source=f"assumed: of n-gram drafters, from row {least} to {most}")


def _of_positions(row: Row) -> Iterator[float]:
    types = row.setting.types
    if len(types) != 1 or types[0] not in lookups(DRAFTERS) or row.acceptance is None or row.no_evidence is not None:
        return
    if row.setting.flags:
        return  # they may set another width
    width = DRAFTERS[types[0]].width
    p = acceptance_for(1 + row.acceptance * width, width)  # three digits are more than a row has
    if p is not None:
        yield round(p, 3)


def _request(service: Resolution, workload: str) -> Request:
    setting = service.decision.setting
    facts = service.model.facts
    return Request(
        engine=service.engine.kind, build=service.engine.build, backend=service.backend,
        devices=service.devices.measured_as, model=service.model.id, header=None if facts is None else facts.header,
        quantization=said(facts, service.model.file or service.model.hf or service.model.url),
        setting=setting, against=NO_SPECULATION, default=setting, workload=workload, policy=Policy(),
    )  # fmt: skip


def _sides(rows: Iterable[Row], request: Request) -> Iterator[_Side]:
    for row in rows:
        if (row.engine, row.backend, row.workload, row.unit) != (
            request.engine, request.backend, request.workload, _WALL,
        ):  # fmt: skip
            continue
        if not same_model(row, request) or "device" in differences(row, request):
            continue
        if row.rate is not None and row.no_evidence is None:
            yield _Side(row, row.setting, row.rate)
        if row.against_rate is not None and row.against is not None:
            yield _Side(row, row.against, row.against_rate)


def _best(sides: Iterable[_Side], setting: Setting, request: Request) -> _Side | None:
    found = [side for side in sides if side.setting == setting]
    ranks = [(side.row.build == request.build, side.row.date or "", not side.row.shipped) for side in found]
    return max(zip(ranks, range(len(found)), found, strict=True), key=lambda each: each[:2])[2] if found else None


def _commit(side: _Side) -> Given | None:
    """Tokens of a round: 1 without drafts, else as the row says them, or its acceptance at a width that is known."""
    row, setting = side.row, side.setting
    source = _source(row)
    if setting == NO_SPECULATION:
        return Given(value=1.0, source=source)
    if setting != row.setting:
        return None
    if row.tokens_per_round is not None:
        return Given(value=row.tokens_per_round, source=source)
    if row.engine != "llama.cpp" or row.acceptance is None or setting.flags or not setting.spec_types <= _WHOLE:
        return None  # the head of another engine has a width that nobody here knows
    return Given(value=1 + row.acceptance * (setting.draft_n_max or DEFAULT_WIDTH), source=source)


def _source(row: Row) -> str:
    return f"row {row.id} ({row.workload}, {row.build})"
