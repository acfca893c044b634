"""Where each profile stands on each backend, for `quadgen profiles`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import typer

from quadgen.engines.registry import ENGINES
from quadgen.evidence import (
    NO_SPECULATION,
    Ledger,
    Policy,
    Request,
    Setting,
    cost,
    costs,
    quoted,
    refusal_notes,
    verdict,
)  # fmt: skip
from quadgen.fleet.kinds import BACKENDS
from quadgen.pipeline import Compiled
from quadgen.problems import Collector
from quadgen.resolve.report import unknown
from quadgen.speculation import BUILTIN, ProfileSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One profile on one engine and backend, with one model where measurements name one."""

    engine: str
    """The engine's kind."""
    profile: str
    setting: str
    backend: str
    model: str | None
    """The `id` that was measured; None for a floor, and where nothing was."""
    verdict: str
    """`floor`, `wins`, `loses`, `unmeasured`, or `closed` where no checkpoint of the engine can run it."""
    workload: str | None
    against: str | None
    ratio: float | None
    rows: tuple[str, ...]
    """Ids of the rows that decide."""
    notes: tuple[str, ...]
    """The measurements in words: what decides, what it costs elsewhere, or what speaks against it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """One engine on one backend, and what is known of it."""

    kind: str
    backend: str
    ledger: Ledger
    profiles: Mapping[str, ProfileSpec]
    policy: Policy


def _request(spec: ProfileSpec, asked: _Asked, model: str, *, head: bool, against: Setting, policy: Policy) -> Request:
    return Request(
        engine=asked.kind, build=None, backend=asked.backend, devices=(), model=model, header=None,
        setting=spec.setting(spec.draft_model), against=against, default=Setting.of(("draft-mtp",) if head else ()),
        workload=spec.workload or "", policy=policy,
    )  # fmt: skip


def _comparator(spec: ProfileSpec, profiles: Mapping[str, ProfileSpec], *, head: bool) -> Setting:
    other = profiles[spec.against]
    return Setting.of(("draft-mtp",) if head else ()) if other.name == "default" else other.setting(other.draft_model)


def _floor(spec: ProfileSpec, asked: _Asked) -> Standing:
    measured = asked.ledger.of_setting(asked.kind, asked.backend, spec.setting())
    rows = [row for row in measured if row.against == NO_SPECULATION]
    return Standing(
        engine=asked.kind, profile=spec.name, setting=spec.setting().describe(), backend=asked.backend, model=None,
        verdict="floor",
        workload=None, against=None, ratio=None, rows=tuple(row.id for row in rows),
        notes=tuple(f"{row.model}: {quoted(row)}" for row in rows),
    )  # fmt: skip


def _measured(spec: ProfileSpec, asked: _Asked) -> Iterator[Standing]:
    """What is measured of a profile on a backend: one a model and comparator."""
    ledger = asked.ledger
    rows = ledger.of_setting(asked.kind, asked.backend, spec.setting(spec.draft_model))
    for model in dict.fromkeys(row.model for row in rows if row.workload == spec.workload):
        for head in (True,) if spec.needs_mtp or spec.against != "default" else (True, False):
            against = _comparator(spec, asked.profiles, head=head)
            request = _request(spec, asked, model, head=head, against=against, policy=asked.policy)
            found = verdict(request, ledger)
            if found.row is not None:
                yield Standing(
                    engine=asked.kind, profile=spec.name, setting=request.setting.describe(), backend=asked.backend,
                    model=model, verdict=found.kind.value, workload=spec.workload, against=against.describe(),
                    ratio=found.ratio,
                    rows=tuple(row.id for row in found.rows),
                    notes=(
                        *(f"{model}: {quoted(row)}" for row in found.rows),
                        *(cost(row) for row in costs(request, ledger)),
                    ),
                )  # fmt: skip


def _on(spec: ProfileSpec, asked: _Asked) -> Iterator[Standing]:
    if spec.floor:
        yield _floor(spec, asked)
        return
    closed = ENGINES[asked.kind].cannot_draft(spec)
    found = [] if closed else list(_measured(spec, asked))
    yield from found
    if not found:
        against = _comparator(spec, asked.profiles, head=True)
        anyone = replace(asked.policy, evidence="backend")
        request = _request(spec, asked, "", head=True, against=against, policy=anyone)
        yield Standing(
            engine=asked.kind, profile=spec.name, setting=request.setting.describe(), backend=asked.backend, model=None,
            verdict="closed" if closed else "unmeasured", workload=spec.workload, against=against.describe(),
            ratio=None, rows=(),
            notes=(closed,) if closed else refusal_notes(request, asked.ledger, verdict(request, asked.ledger)),
        )  # fmt: skip


def _kinds(compiled: Compiled | None, backend: str) -> list[str]:
    """The engines that can have a backend; of a fleet, those that have it there."""
    able = [kind for kind, engine in ENGINES.items() if backend in engine.backends]
    if compiled is None:
        return able
    entries = compiled.resolved.catalog.engines.values()
    here = {entry.kind for entry in entries if backend in entry.backends}
    return [kind for kind in able if kind in here] or able[:1]


def standings(compiled: Compiled | None, backend: str | None) -> list[Standing]:
    """Every profile on every backend, of the built-in ledgers or a fleet. Raises a usage error for an unknown one."""
    if backend is not None and backend not in BACKENDS:
        message, hint = unknown("backend", backend, BACKENDS)
        raise typer.BadParameter(f"{message}: {hint}", param_hint="--backend")
    if compiled is not None:
        gate = compiled.resolved.gate
        ledger, policy, models = gate.ledger, gate.policy, gate.catalog.models
        # ledgers know a draft model by its id, the fleet by its key
        profiles: Mapping[str, ProfileSpec] = {
            name: replace(spec, draft_model=models[spec.draft_model].id if spec.draft_model else None)
            for name, spec in gate.catalog.profiles.items()
        }
    else:
        from quadgen.evidence import shipped_rows  # noqa: PLC0415 - a fleet brings its own

        ledger, profiles, policy = Ledger.of(shipped_rows(), collector=Collector()), BUILTIN, Policy()
    return [
        standing
        for each in ((backend,) if backend else BACKENDS)
        for kind in _kinds(compiled, each)
        for spec in profiles.values()
        for standing in _on(spec, _Asked(kind=kind, backend=each, ledger=ledger, profiles=profiles, policy=policy))
    ]


def as_json(found: list[Standing]) -> str:
    """A list of objects, one a profile, engine, backend and model."""
    return json.dumps([asdict(standing) for standing in found], indent=2, ensure_ascii=False)


def as_text(found: list[Standing]) -> str:
    """A table for people, one block a backend, and one an engine where several have it."""
    lines: list[str] = []
    blocks = dict.fromkeys((standing.backend, standing.engine) for standing in found)
    shared = {backend for backend, kind in blocks if any(each == backend and other != kind for each, other in blocks)}
    for backend, kind in blocks:
        lines.append(f"{backend}, {kind}" if backend in shared else backend)
        for standing in (each for each in found if (each.backend, each.engine) == (backend, kind)):
            lines.append(f"  {standing.profile:<12} {standing.verdict:<11} {standing.setting}")
            lines += [f"  {'':<12} {note}" for note in standing.notes]
    return "\n".join(lines) + "\n"
