"""A service decided as if it had another drafter, or none; nothing of it can become a unit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from quadgen.attachment.deciding import Outcome, advisory, decided, placed, undecided
from quadgen.attachment.target import Target
from quadgen.engines.drafters import drafts
from quadgen.evidence import Setting
from quadgen.fleet.load import Fleet
from quadgen.problems import Collector, Problem
from quadgen.resolution import Model
from quadgen.resolve import Catalog, profiles
from quadgen.resolve.recorded import name_of, with_facts
from quadgen.speculation import ProfileSpec

_WORKLOAD: Final = "prose"
"""Of a drafter that nobody has measured on anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafter:
    """What is to be attached."""

    spec_types: tuple[str, ...]
    """As --spec-type names them, in this order."""
    draft_model: str | None = None
    """A key of the fleet's models, or a file as the lock names it: below models_dir, absolute, or `hf:org/repo:quant`;
    None where the service's own serves, or none is needed."""
    draft_device: tuple[str, ...] = ()
    """Device names of the engine; empty leaves what the service says."""
    draft_n_max: int | None = None
    """Tokens; None is the engine's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The service with the drafter, and without any."""

    target: Target
    spec: ProfileSpec | None
    """The profile that stands for the drafter; None where no engine could load it."""
    own: bool
    """Whether that is a profile which the fleet has."""
    model: Model | None
    draft: Model | None
    before: tuple[Problem, ...]
    """What is wrong with the service whatever it drafts with."""
    plain: Outcome
    drafting: Outcome
    drafter: Drafter


def tried(to: Target, drafter: Drafter) -> Trial:
    """Decide the service with the drafter, and without any."""
    resolved, fleet = to.compiled.resolved, to.fleet
    models = dict(resolved.catalog.models)
    fields = fleet.chain(to.host, to.named).fields
    named = drafter.draft_model or (fields.get("draft_model") if _takes_a_model(drafter.spec_types) else None)
    if named is not None and named not in models and named not in (fleet.data.get("models") or {}):
        models[named] = _stranger(named, resolved.catalog)
    spec, own, wrong = _profile(to, drafter, named, models)
    known = {**resolved.catalog.profiles, **({} if spec is None else {spec.name: spec})}
    gate = advisory(to, replace(resolved.catalog, models=models, profiles=known))
    said: dict[str, Any] = {"profile": _name(fleet, drafter) if spec is None else spec.name, "draft_model": None}
    if drafter.draft_device:
        said["draft_device"] = list(drafter.draft_device)
    elif not drafts(drafter.spec_types):
        said["draft_device"] = None
    nothing = {"profile": "none", "draft_model": None, "draft_device": None}
    plain, drafting = (decided(to, each, gate) for each in (nothing, said))
    services = () if spec is None else drafting.services  # without a profile it was decided without a drafter
    return Trial(
        target=to, spec=spec, own=own, model=models.get(fields.get("model", "")),
        draft=models.get(named) if named is not None else None, before=(*undecided(to), *plain.problems),
        drafter=drafter, plain=plain, drafting=replace(
            drafting, services=services, problems=(*placed(to, wrong), *drafting.problems)
        ),
    )  # fmt: skip


def _takes_a_model(types: tuple[str, ...]) -> bool:
    return any(kind != "draft-mtp" for kind in drafts(types))


def _stranger(name: str, catalog: Catalog) -> Model:
    """A drafter that the fleet does not have, with what the lock says of a file of this name."""
    hub = name.removeprefix("hf:") if name.startswith("hf:") or f"hf:{name}" in catalog.files else None
    model = Model(
        name=name, id=name, file=None if hub else name, hf=hub, url=None, mtp=None, mmproj=None,
        chat_template_file=None, size=None,
    )  # fmt: skip
    return with_facts(model, catalog.files, Collector()) if name_of(model) in catalog.files else model


def _name(fleet: Fleet, drafter: Drafter) -> str:
    """What sentences call the profile; no profile of the fleet."""
    name = ",".join(drafter.spec_types)
    while name in (fleet.data.get("profiles") or {}):
        name += "+"
    return name


def _profile(
    to: Target, drafter: Drafter, named: str | None, models: Mapping[str, Model]
) -> tuple[ProfileSpec | None, bool, list[Problem]]:
    """The profile of this drafter: one that the fleet has, or one made for it; and what is wrong with that."""
    catalog, ledger = to.compiled.resolved.catalog, to.compiled.resolved.gate.ledger
    draft = models[named].id if named in models and _takes_a_model(drafter.spec_types) else None  # type: ignore[index]  # None is no key
    wanted = Setting.of(drafter.spec_types, draft_n_max=drafter.draft_n_max, draft_model=draft)
    own = to.fleet.chain(to.host, to.named).fields
    for spec in catalog.profiles.values():
        if not spec.floor and spec.setting(draft) == wanted and spec.draft_model in (None, named):
            return replace(spec, draft_model=named if _takes_a_model(spec.spec_types) else None), True, []
    rows = [row for row in ledger.rows if row.setting == wanted]
    rows.sort(key=lambda row: row.backend != own.get("backend"))
    name = _name(to.fleet, drafter)
    fields: dict[str, Any] = {
        "spec_types": list(drafter.spec_types), "workload": rows[0].workload if rows else _WORKLOAD,
        "against": _beaten(catalog, own.get("profile", "default"), wanted),
    }  # fmt: skip
    fields |= {} if drafter.draft_n_max is None else {"draft_n_max": drafter.draft_n_max}
    fields |= {"draft_model": named} if named is not None else {}
    sink = Collector()
    data: Any = {**to.fleet.data, "profiles": {**(to.fleet.data.get("profiles") or {}), name: fields}}
    built = profiles.build(replace(to.fleet, data=data), models, sink)
    wrong = [problem for problem in sink.problems if (problem.path or ())[:2] == ("profiles", name)]
    return built.get(name), False, wrong


def _beaten(catalog: Catalog, present: str, wanted: Setting) -> str:
    """The profile that a drafter must beat: what the service does today, where that is something else."""
    for name in (present, "default"):
        if name in catalog.profiles and catalog.profiles[name].setting() != wanted:
            return name
    return "none"
