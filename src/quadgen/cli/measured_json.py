"""The outcome of a measurement as JSON; the keys are those of docs/measure.md."""

import json
from typing import Any

from quadgen.cli import console
from quadgen.cli.measuring_values import Judged, Measured
from quadgen.evidence import Setting
from quadgen.measuring.result import Rate, Result
from quadgen.measuring.sample import Sample


def as_json(measured: Measured) -> str:
    """One object: what was compared, each workload, each sample, the rows and what the gate says now."""
    told = {
        "compared": _compared(measured),
        "workloads": [_workload(measured, each) for each in measured.judged],
        "samples": [_sample(each) for each in measured.samples],
        "ledger": measured.ledger,
        "ledger_failed": measured.failed,
        "rows": measured.text,
        "next": None if measured.next is None else {"granted": measured.next.granted, "said": measured.next.said},
        "spent": dict(measured.spent),
        "problems": [console.record(problem) for problem in measured.problems],
    }
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _compared(measured: Measured) -> dict[str, Any]:
    subject, request = measured.subject, measured.subject.request
    launches = subject.launches
    return {
        "what": subject.what,
        "profile": subject.profile,
        "setting": _setting(request.setting),
        "against": subject.against,
        "against_setting": _setting(request.against),
        "engine": request.engine,
        "build": subject.build,
        "program": subject.program,
        "commit": subject.commit,
        "fingerprint": subject.fingerprint,
        "backend": request.backend,
        "device": subject.device,
        "model": request.model,
        "header": request.header,
        "quantization": request.quantization,
        "context": subject.context,
        "clock": subject.clock.unit,
        "tokens": measured.tokens,
        "state": measured.state,
        "candidate": None
        if launches is None
        else [launches[0].program, *launches[0].container, *launches[0].arguments],
        "comparator": None
        if launches is None
        else [launches[1].program, *launches[1].container, *launches[1].arguments],
    }


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "spec_types": sorted(setting.spec_types),
        "draft_n_max": setting.draft_n_max,
        "flags": dict(setting.flags),
        "draft_model": setting.draft_model,
    }


def _workload(measured: Measured, each: Judged) -> dict[str, Any]:
    name = each.final.workload
    row = measured.rows.get(name)
    return {
        "name": name,
        "sha256": measured.workloads[name],
        "row": None if row is None else row.id,
        "confirmed": each.confirmed,
        **_result(each.final),
        "first": None if each.confirmation is None else _result(each.first),
    }


def _result(result: Result) -> dict[str, Any]:
    likeness = result.likeness
    first = likeness.first
    return {
        "outcome": result.outcome.value,
        "evidence": not result.objections,
        "samples": result.samples,
        "candidate": _rate(result.candidate),
        "comparator": _rate(result.comparator),
        "ratio": result.ratio,
        "interval": list(result.interval),
        "wall": None if result.wall is None else {"candidate": result.wall[0], "comparator": result.wall[1]},
        "drift": result.drift,
        "drafted": result.drafted,
        "accepted": result.accepted,
        "acceptance": result.acceptance,
        "tokens_per_round": result.tokens_per_round,
        "comparator_drafted": result.comparator_drafted,
        "same": likeness.same,
        "first_difference": None if first is None else {
            "round": first[0], "token": first[1],
            "candidate": likeness.candidate, "comparator": likeness.comparator,
        },
    }  # fmt: skip


def _rate(rate: Rate) -> dict[str, float]:
    return {"median": rate.median, "slowest": rate.slowest, "fastest": rate.fastest}


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "arm": sample.turn.arm.value,
        "workload": sample.turn.workload,
        "round": sample.turn.round,
        "tokens": sample.tokens,
        "seconds": sample.seconds,
        "cpu_seconds": sample.cpu_seconds,
        "prompt": sample.prompt,
        "cached": sample.cached,
        "drafted": sample.drafted,
        "accepted": sample.accepted,
        "rounds": sample.rounds,
        "truncated": sample.truncated,
    }
