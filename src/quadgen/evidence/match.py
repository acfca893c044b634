"""What the ledger says of a request: it wins, it loses, or nobody measured it."""

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from quadgen.evidence.ledger import Ledger
from quadgen.evidence.request import Difference, Kind, Request, Verdict
from quadgen.evidence.row import Row
from quadgen.evidence.setting import NO_SPECULATION
from quadgen.facts.quantization import known_apart


@lru_cache(maxsize=1024)
def _folded(device: str) -> str:
    return " ".join(device.split()).casefold()


def _bare(header: str) -> str:
    return header.removeprefix("sha256:").casefold()


def same_model(row: Row, request: Request) -> bool:
    """Whether `row` measured the request's checkpoint.

    By header where both carry one; else by `id`, unless both say a quantisation and it is known to be another.
    """
    if row.header is not None and request.header is not None:
        return _bare(row.header) == _bare(request.header)
    return row.model == request.model and not other_quantization(row, request)


def other_quantization(row: Row, request: Request) -> bool:
    """Whether both say what the checkpoint is quantised to, and that cannot be the same file."""
    said = (row.quantization, request.quantization)
    return said[0] is not None and said[1] is not None and known_apart(said[0], said[1])


def same_comparator(row: Row, request: Request) -> bool:
    """Whether `row` was measured against what the request must beat."""
    return (request.default if row.against is None else row.against) == request.against


def same_device(row: Row, request: Request) -> bool:
    """Whether no card of the request is known to be another than the row's."""
    device = _folded(row.device)
    return all(_folded(each) == device for each in request.devices)


def differences(row: Row, request: Request) -> tuple[Difference, ...]:
    """In what `row` is known to differ from the request, beside the model."""
    build: tuple[Difference, ...] = () if row.build == request.build else ("build",)
    return build if same_device(row, request) else (*build, "device")


def _rank(row: Row, request: Request) -> tuple[bool, bool, bool, bool, str, bool, int]:
    return (
        row.header is not None and request.header is not None and _bare(row.header) == _bare(request.header),
        same_model(row, request),
        row.build == request.build,
        same_device(row, request),
        row.date or "",
        not row.shipped,
        0 if row.interval is None else row.samples,  # more of them are taken where fewer did not decide
    )


def decisive(rows: Iterable[Row], request: Request) -> tuple[Row, ...]:
    """Pick the rows that decide: the first does, a second one disagrees with it; () of none.

    Same header, then model, build, device; then the newer date, a dated row before an undated one; then the
    fleet's ledgers; then one with an interval, and of those the one of more samples. Of equals the later row, but where
    they disagree, a loss before a win.
    """
    ranked = [(_rank(row, request), row) for row in rows]
    if not ranked:
        return ()
    top = max(rank for rank, _ in ranked)
    equals = [row for rank, row in ranked if rank == top]
    losses = [row for row in equals if not row.gains(request.policy.min_gain)]
    wins = [row for row in equals if row.gains(request.policy.min_gain)]
    return (*losses[-1:], *wins[-1:])


def _judge(request: Request, ledger: Ledger) -> Verdict:
    policy = request.policy
    refused = [name for name, degree in (("build", policy.build), ("device", policy.device)) if degree == "refuse"]
    admitted, blocked, dismissed = [], [], []
    for row in ledger.of_setting(request.engine, request.backend, request.setting):
        if row.workload != request.workload or not same_comparator(row, request):
            continue
        if policy.evidence == "model" and not same_model(row, request):
            continue
        if row.no_evidence:
            dismissed.append(row)
        elif refused and any(name in refused for name in differences(row, request)):
            blocked.append(row)
        else:
            admitted.append(row)
    if not admitted:
        rows = decisive(blocked, request)
        why = tuple(name for name in (differences(rows[0], request) if rows else ()) if name in refused)
        return Verdict(kind=Kind.UNMEASURED, rows=rows, blocked_by=why, dismissed=tuple(dismissed))
    rows = decisive(admitted, request)
    differs = differences(rows[0], request)
    return Verdict(
        kind=Kind.WINS if rows[0].gains(policy.min_gain) else Kind.LOSES,
        row=rows[0],
        rows=rows,
        build_differs="build" in differs and policy.build == "warn",
        device_differs="device" in differs and policy.device == "warn",
        dismissed=tuple(dismissed),
    )


def verdict(request: Request, ledger: Ledger) -> Verdict:
    """Judge `request` by `ledger`; equal requests are judged once."""
    found = ledger._verdicts.get(request)  # noqa: SLF001 - the ledger keeps what was worked out from it
    if found is None:
        found = ledger._verdicts[request] = _judge(request, ledger)  # noqa: SLF001 - as above
    return found


def _losing(request: Request, ledger: Ledger, *, floor: bool) -> tuple[Row, ...]:
    """Find the losing rows that decide, one a workload; of a floor those against no speculation."""
    found = ledger._losses.get((request, floor))  # noqa: SLF001 - the ledger keeps what was worked out from it
    if found is None:
        against = NO_SPECULATION if floor else request.against
        asked = replace(request, against=against, policy=replace(request.policy, min_gain=1.0))
        rows = ledger.of_setting(request.engine, request.backend, request.setting)
        workloads = dict.fromkeys(row.workload for row in rows)
        verdicts = [verdict(replace(asked, workload=workload), ledger) for workload in workloads]
        found = tuple(each.row for each in verdicts if each.row and each.row.loses)
        ledger._losses[request, floor] = found  # noqa: SLF001 - as above
    return found


def costs(request: Request, ledger: Ledger) -> tuple[Row, ...]:
    """Find what the request's setting loses on other workloads, one row a workload, in the ledger's order.

    The same backend, comparator and model, judged as `verdict` does; a cost is a ratio below 1, with the
    whole of its interval where that is known.
    """
    return tuple(row for row in _losing(request, ledger, floor=False) if row.workload != request.workload)


def floor_losses(request: Request, ledger: Ledger) -> tuple[Row, ...]:
    """Find the workloads on which a floor's setting loses against no speculation, one row a workload.

    `request.setting` is what the floor became; `against` and `workload` of the request do not matter.
    """
    return _losing(request, ledger, floor=True) if request.setting.spec_types else ()
