"""A plan of measurements in words, and as JSON."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from quadgen.measuring.needs import Left, Need, Unhelped, Why
from quadgen.measuring.plan import Plan, Run, Unlike

_SHOWN: Final = 6
"""Services that a line names before it counts the rest."""
_HEADINGS: Final = {
    Unhelped.LOSES: "measured, and not winning: nothing to bring",
    Unhelped.UNDECIDED: "measured, and undecided: the same with more --samples may tell",
    Unhelped.REFUSED: "refused for something else too, to be mended first",
    Unhelped.UNDECIDABLE: "never the same as a measurement, to be mended first",
    Unhelped.UNMEASURABLE: "not measured by quadgen: a row of your own in a ledger decides",
}


def as_text(plan: Plan) -> str:
    """The plan for people: per host its runs, each with whom it serves, and then whom none does."""
    blocks = [[_summary(plan)], *([f"{host}:", *_of_host(runs)] for host, runs in plan.hosts.items())]
    for kind, heading in _HEADINGS.items():
        here = [each for each in plan.left if each.kind is kind]
        blocks += [[f"{heading}:", *_of_left(here)]] if here else []
    if plan.elsewhere and plan.every:
        blocks.append([f"not on {_listed(plan.every)}: {_places(plan.elsewhere)}"])
    return "\n".join("\n".join(block) + "\n" for block in blocks)


def _summary(plan: Plan) -> str:
    runs, services = plan.runs, sum(len(run.serves) for run in plan.runs)
    if not runs:
        return f"{plan.fleet}: no run is needed"
    on = f"{_count(len(runs), 'run')} on {_count(len(plan.hosts), 'host')}"
    return f"{plan.fleet}: {on} for {_count(services, 'service')}"


def _of_host(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        request = run.own.asked.request
        build = "a build that the fleet does not state" if request.build is None else request.build
        devices = f" of {', '.join(dict.fromkeys(request.devices))}" if request.devices else ""
        yield f"  {run.command}"
        yield f"    {request.setting.describe()} against {request.against.describe()} on {', '.join(run.workloads)}"
        yield f"    of {request.model} on {request.backend}{devices}, {request.engine} {build}"
        for why in Why:
            served = [each for each in run.serves if each.why is why]
            if served:
                yield f"    for {_places(served)}: {_lacks(why, served)}"
        for unlike in run.unlike:
            yield f"    {_unlike(unlike, run.own)}"
        starts, requests = run.amount
        yield f"    {starts} starts of a server, {requests} timed requests; up to as many again for a win"
        for name in run.files:
            yield f"    FILE: texts of the workload {name}"


def _lacks(why: Why, served: Sequence[Need]) -> str:
    """What they lack, with what there is instead."""
    if why is Why.UNMEASURED:
        return "not measured"
    rows = [row for each in served for row in each.asked.verdict.rows[:1]]
    there = dict.fromkeys(row.build if why is Why.BUILD else row.device for row in rows)
    return f"measured on {_listed(tuple(there))}"


def _unlike(unlike: Unlike, own: Need) -> str:
    has = "has" if len(unlike.services) == 1 else "have"
    return f"with the arguments of {own.place}; {_places(unlike.services)} {has} another {', '.join(unlike.options)}"


def _of_left(left: Iterable[Left]) -> Iterator[str]:
    """One line for each reason, with all services that it is of."""
    same: dict[tuple[str, str], list[Need]] = {}
    for each in left:
        same.setdefault((each.need.asked.spec.name, each.reason), []).append(each.need)
    for (profile, reason), of in same.items():
        yield f"  {profile} of {_places(of)}: {reason}"


def _places(needs: Sequence[Need]) -> str:
    return _listed(tuple(dict.fromkeys(need.place for need in needs)))


def _listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and 7 more`."""
    *most, last = names if len(names) <= _SHOWN else (*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more")
    return f"{', '.join(most)} and {last}" if most else last


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def as_json(plan: Plan) -> str:
    """The plan for programs; `docs/measure.md` says what its keys are."""
    record = {
        "fleet": plan.fleet,
        "hosts": [{"host": host, "runs": [_run_record(run) for run in runs]} for host, runs in plan.hosts.items()],
        "left": [
            {**_place_record(each.need), "why": each.need.why.value, "left": each.kind.value, "reason": each.reason}
            for each in plan.left
        ],
        "elsewhere": [{**_place_record(each), "why": each.why.value} for each in plan.elsewhere],
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


def _run_record(run: Run) -> dict[str, Any]:
    request = run.own.asked.request
    return {
        "command": run.command,
        "argv": list(run.words),
        "files": list(run.files),
        "service": run.own.asked.service,
        "profile": run.own.asked.spec.name,
        "workloads": list(run.workloads),
        "engine": request.engine,
        "build": request.build,
        "backend": request.backend,
        "devices": list(request.devices),
        "model": request.model,
        "setting": request.setting.describe(),
        "against": request.against.describe(),
        "starts": run.amount.starts,
        "requests": run.amount.requests,
        "serves": [{**_place_record(each), "why": each.why.value} for each in run.serves],
        "unlike": [
            {"options": list(each.options), "services": [_place_record(need) for need in each.services]}
            for each in run.unlike
        ],
    }


def _place_record(need: Need) -> dict[str, str]:
    return {"host": need.asked.host, "service": need.asked.service, "profile": need.asked.spec.name}
