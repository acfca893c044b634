"""Where each profile stands on each backend, for `quadgen profiles`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace

import typer

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
    """One profile on one backend, with one model where measurements name one."""

    profile: str
    setting: str
    backend: str
    model: str | None
    """The `id` that was measured; None for a floor, and where nothing was."""
    verdict: str
    """`floor`, `wins`, `loses` or `unmeasured`."""
    workload: str | None
    against: str | None
    ratio: float | None
    rows: tuple[str, ...]
    """Ids of the rows that decide."""
    notes: tuple[str, ...]
    """The measurements in words: what decides, what it costs elsewhere, or what speaks against it."""


def _request(spec: ProfileSpec, backend: str, model: str, *, head: bool, against: Setting, policy: Policy) -> Request:
    return Request(
        engine="llama.cpp", build=None, backend=backend, devices=(), model=model, header=None,
        setting=spec.setting(spec.draft_model), against=against, default=Setting.of(("draft-mtp",) if head else ()),
        workload=spec.workload or "", policy=policy,
    )  # fmt: skip


def _comparator(spec: ProfileSpec, profiles: Mapping[str, ProfileSpec], *, head: bool) -> Setting:
    other = profiles[spec.against]
    return Setting.of(("draft-mtp",) if head else ()) if other.name == "default" else other.setting(other.draft_model)


def _floor(spec: ProfileSpec, backend: str, ledger: Ledger) -> Standing:
    rows = [row for row in ledger.of_setting("llama.cpp", backend, spec.setting()) if row.against == NO_SPECULATION]
    return Standing(
        profile=spec.name, setting=spec.setting().describe(), backend=backend, model=None, verdict="floor",
        workload=None, against=None, ratio=None, rows=tuple(row.id for row in rows),
        notes=tuple(f"{row.model}: {quoted(row)}" for row in rows),
    )  # fmt: skip


def _measured(
    spec: ProfileSpec, backend: str, ledger: Ledger, profiles: Mapping[str, ProfileSpec], policy: Policy
) -> Iterator[Standing]:
    """What is measured of a profile on a backend: one a model and comparator."""
    rows = ledger.of_setting("llama.cpp", backend, spec.setting(spec.draft_model))
    for model in dict.fromkeys(row.model for row in rows if row.workload == spec.workload):
        for head in (True,) if spec.needs_mtp or spec.against != "default" else (True, False):
            against = _comparator(spec, profiles, head=head)
            request = _request(spec, backend, model, head=head, against=against, policy=policy)
            found = verdict(request, ledger)
            if found.row is not None:
                yield Standing(
                    profile=spec.name, setting=request.setting.describe(), backend=backend, model=model,
                    verdict=found.kind.value, workload=spec.workload, against=against.describe(), ratio=found.ratio,
                    rows=tuple(row.id for row in found.rows),
                    notes=(
                        *(f"{model}: {quoted(row)}" for row in found.rows),
                        *(cost(row) for row in costs(request, ledger)),
                    ),
                )  # fmt: skip


def _on(
    spec: ProfileSpec, backend: str, ledger: Ledger, profiles: Mapping[str, ProfileSpec], policy: Policy
) -> Iterator[Standing]:
    if spec.floor:
        yield _floor(spec, backend, ledger)
        return
    found = list(_measured(spec, backend, ledger, profiles, policy))
    yield from found
    if not found:
        against = _comparator(spec, profiles, head=True)
        anyone = replace(policy, evidence="backend")
        request = _request(spec, backend, "", head=True, against=against, policy=anyone)
        yield Standing(
            profile=spec.name, setting=request.setting.describe(), backend=backend, model=None, verdict="unmeasured",
            workload=spec.workload, against=against.describe(), ratio=None, rows=(),
            notes=refusal_notes(request, ledger, verdict(request, ledger)),
        )  # fmt: skip


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
        for spec in profiles.values()
        for standing in _on(spec, each, ledger, profiles, policy)
    ]


def as_json(found: list[Standing]) -> str:
    """A list of objects, one a profile, backend and model."""
    return json.dumps([asdict(standing) for standing in found], indent=2, ensure_ascii=False)


def as_text(found: list[Standing]) -> str:
    """A table for people, one block a backend."""
    lines: list[str] = []
    for backend in dict.fromkeys(standing.backend for standing in found):
        lines.append(backend)
        for standing in (each for each in found if each.backend == backend):
            lines.append(f"  {standing.profile:<12} {standing.verdict:<11} {standing.setting}")
            lines += [f"  {'':<12} {note}" for note in standing.notes]
    return "\n".join(lines) + "\n"
