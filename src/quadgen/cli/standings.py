"""Where each profile stands on each backend, for `quadgen profiles`."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from quadgen.evidence import Kind, Ledger, Policy, Request, Row, Setting, costs, quoted, verdict
from quadgen.evidence import cost as costing
from quadgen.fleet.kinds import BACKENDS
from quadgen.pipeline import Compiled
from quadgen.problems import Collector, Problem, Rejected
from quadgen.resolve.report import unknown
from quadgen.speculation import BUILTIN, ProfileSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One profile on one backend with one model."""

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
    costs: tuple[str, ...]
    measured: str | None


def _models(spec: ProfileSpec, backend: str, ledger: Ledger, setting: Setting) -> list[str]:
    rows: Iterable[Row] = ledger.of_setting("llama.cpp", backend, setting)
    return list(dict.fromkeys(row.model for row in rows if row.workload == spec.workload))


def _comparator(spec: ProfileSpec, profiles: Mapping[str, ProfileSpec], head: bool) -> Setting:
    other = profiles[spec.against]
    return Setting.of(("draft-mtp",) if head else ()) if other.name == "default" else other.setting(other.draft_model)


def _on(
    spec: ProfileSpec, backend: str, ledger: Ledger, profiles: Mapping[str, ProfileSpec], policy: Policy
) -> Iterator[Standing]:
    setting = spec.setting(spec.draft_model)
    if spec.floor:
        yield Standing(
            profile=spec.name,
            setting=setting.describe(),
            backend=backend,
            model=None,
            verdict="floor",
            workload=None,
            against=None,
            ratio=None,
            rows=(),
            costs=(),
            measured=None,
        )
        return
    heads = [True] if spec.needs_mtp else [True, False]
    empty = True
    for model in _models(spec, backend, ledger, setting):
        for head in heads:
            against = _comparator(spec, profiles, head)
            request = Request(
                engine="llama.cpp",
                build=None,
                backend=backend,
                devices=(),
                model=model,
                header=None,
                setting=setting,
                against=against,
                default=Setting.of(("draft-mtp",) if head else ()),
                workload=spec.workload or "",
                policy=policy,
            )
            found = verdict(request, ledger)
            if found.kind is Kind.UNMEASURED or found.row is None:
                continue
            empty = False
            yield Standing(
                profile=spec.name,
                setting=setting.describe(),
                backend=backend,
                model=model,
                verdict=found.kind.value,
                workload=spec.workload,
                against=against.describe(),
                ratio=found.ratio,
                rows=tuple(row.id for row in found.rows),
                costs=tuple(costing(row) for row in costs(request, ledger)),
                measured=quoted(found.row),
            )
            if spec.against != "default":
                break
    if empty:
        yield Standing(
            profile=spec.name,
            setting=setting.describe(),
            backend=backend,
            model=None,
            verdict="unmeasured",
            workload=spec.workload,
            against=spec.against,
            ratio=None,
            rows=(),
            costs=(),
            measured=None,
        )


def standings(compiled: Compiled | None, backend: str | None) -> list[Standing]:
    """Every profile on every backend, of the built-in ledgers or a fleet. Raises `Rejected` for an unknown backend."""
    if backend is not None and backend not in BACKENDS:
        message, hint = unknown("backend", backend, BACKENDS)
        raise Rejected([Problem(code="unexpected-value", message=message, hint=hint)])
    if compiled is not None:
        gate = compiled.resolved.gate
        ledger, profiles, policy = gate.ledger, gate.catalog.profiles, gate.policy
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
            lines += [f"  {'':<12} {standing.model}: {standing.measured}"] if standing.measured else []
            lines += [f"  {'':<12} {text}" for text in standing.costs]
    return "\n".join(lines) + "\n"
