"""The gate: a profile becomes a setting only where it is a floor or where a measurement says that it wins."""

from dataclasses import dataclass, field, replace
from typing import Any, Final

from quadgen.engines.draft_settings import bounds
from quadgen.engines.drafters import drafts, lookups
from quadgen.evidence import (
    NO_SPECULATION,
    Kind,
    Ledger,
    Request,
    Setting,
    Verdict,
    costs,
    floor_losses,
    loss,
    refusal_notes,
    verdict,
    where,
)
from quadgen.evidence import Policy as EvidencePolicy
from quadgen.facts.heads import head
from quadgen.facts.quantization import said
from quadgen.problems import Severity
from quadgen.resolution import Decision, Model
from quadgen.resolve import bringing, structure
from quadgen.resolve.catalog import Catalog
from quadgen.resolve.recorded import against
from quadgen.resolve.report import Reporter, unknown
from quadgen.resolve.structure import Wish
from quadgen.speculation import BUILTIN, ProfileSpec

EVIDENCE: Final = frozenset({"measured-loss", "unmeasured-combination", "stale-build", "other-device"})
"""Codes of what the ledgers say of a profile."""
_MORE: Final = 3
"""Times the samples that did not decide: intervals shrink with the root of their number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a service asked of the ledgers, and what they said."""

    host: str
    service: str
    spec: ProfileSpec
    wish: Wish
    request: Request
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What every decision is measured against."""

    ledger: Ledger
    policy: EvidencePolicy
    catalog: Catalog
    advisory: bool = False
    """Whether a lack of evidence is only noted: for questions, whose answers no unit can be written from."""
    asked: dict[tuple[str, str], Asked] = field(default_factory=dict, compare=False, repr=False)
    """By host and service, in the order of the fleet: who asked for more than a floor. Who asks for the same as one
    that was granted it without a word is left out."""
    _decided: dict[tuple[Any, ...], Decision] = field(default_factory=dict, compare=False, repr=False)
    """What was decided without a word; a fleet asks for few things, many times."""


def _floor(wish: Wish) -> tuple[tuple[str, ...], str]:
    """What `default` becomes, and why."""
    model = wish.model
    if not structure.has_head(wish):
        known = "has no MTP head" if model.mtp is False else "is not known to have an MTP head"
        if model.facts is not None and (model.mtp is True or head(model.facts).wrong is not None):
            known = structure.lacking(wish)
        return (), f"default: {model.name} {known}, so it runs without speculation"
    if wish.mmproj:
        return (
            (),
            "default: an MTP head is not combined with a projector (ggml-org/llama.cpp#23398), so no speculation",
        )
    spec = BUILTIN["default"]
    for each in against(spec, ("draft-mtp",), wish.engine, model, None):
        if each.severity is Severity.ERROR:
            return (), f"default: {each.sentence}, so no speculation"
    where = f"in {model.mtp}" if isinstance(model.mtp, str) else "in its file"
    return ("draft-mtp",), f"default: {model.name} has an MTP head {where}, used at the engine's own draft width"


def _setting(spec: ProfileSpec, types: tuple[str, ...], draft: Model | None) -> Setting:
    return Setting.of(
        types,
        draft_n_max=spec.draft_n_max,
        flags=dict(spec.flags),
        draft_model=draft.id if draft is not None and drafts(types) else None,
    )


def _comparator(spec: ProfileSpec, wish: Wish, gate: Gate) -> Setting:
    other = gate.catalog.profiles[spec.against]
    if other.name == "default":
        return Setting.of(_floor(wish)[0])
    draft = gate.catalog.models.get(other.draft_model) if other.draft_model else wish.draft_model
    return _setting(other, other.spec_types, draft)


def _way(ask: Reporter, spec: ProfileSpec, wish: Wish, *, samples: int | None = None) -> str:
    """How a number is brought for this service; of so many samples, or as many as usual."""
    command = bringing.of_service(ask.fleet, ask.host, ask.service, spec)
    return bringing.way(wish.engine.kind, command if samples is None else f"{command} --samples {samples}")


def _refuse(ask: Reporter, spec: ProfileSpec, wish: Wish, gate: Gate, request: Request, found: Verdict) -> None:
    label = request.setting.describe()
    notes = refusal_notes(request, gate.ledger, found)
    severity = Severity.NOTE if gate.advisory else Severity.ERROR
    hint = f"use `profile: default`, or bring a number: {_way(ask, spec, wish)}"
    if found.blocked_by:
        code = "stale-build" if "build" in found.blocked_by else "other-device"
        where = " and ".join(f"another {'card' if what == 'device' else what}" for what in found.blocked_by)
        message = f"{spec.name} was measured on {wish.backend} for {wish.model.name} only on {where}"
        ask.add(code, message, "profile", severity=severity, label=label, notes=notes, hint=hint)
    elif found.kind is Kind.LOSES:
        message = f"{spec.name} does not win on {wish.backend} for {wish.model.name}"
        if found.row is not None and found.row.undecided(request.policy.min_gain):
            message = f"{spec.name} is not shown to win on {wish.backend} for {wish.model.name}"
            again = _way(ask, spec, wish, samples=_MORE * found.row.samples)
            hint = f"use `profile: default`, or measure again with more samples: {again}"
        ask.add("measured-loss", message, "profile", severity=severity, label=label, notes=notes, hint=hint)
    else:
        message = f"no measurement says that {spec.name} wins on {wish.backend} for {wish.model.name}"
        ask.add("unmeasured-combination", message, "profile", severity=severity, label=label, notes=notes, hint=hint)


def unspeculating(gate: Gate) -> Decision:
    """What a refused service goes on with, so that the rest of it is checked too."""
    return Decision(
        profile=gate.catalog.profiles["none"],
        setting=NO_SPECULATION,
        against=None,
        types=(),
        draft_n_max=None,
        flags=(),
        draft_model=None,
        head_file=None,
        rows=(),
        costs=(),
        notes=(),
    )


def decide(ask: Reporter, wish: Wish, gate: Gate) -> Decision | None:
    """The speculation of one service, or None after a refusal."""
    name = ask.get("profile", "default")
    drafter = wish.draft_model.name if wish.draft_model is not None else None
    key = (name, wish.engine.name, wish.backend, wish.model.name, wish.cards, drafter, wish.mmproj)
    found = gate._decided.get(key)  # noqa: SLF001 - the gate keeps what was decided by it
    if found is None:
        said = len(ask.collector.problems)
        found = _decide(ask, name, wish, gate)
        if found is not None and len(ask.collector.problems) == said:
            gate._decided[key] = found  # noqa: SLF001 - as above
    return found


def _decide(ask: Reporter, name: str, wish: Wish, gate: Gate) -> Decision | None:
    spec = gate.catalog.profiles.get(name)
    if spec is None:
        own = ask.fleet.data.get("profiles") or {}
        if name not in own:
            message, hint = unknown("profile", name, gate.catalog.profiles)
            known = f"profiles: {', '.join(sorted(gate.catalog.profiles))}"
            ask.add(
                "unknown-profile", message, "profile", hint=hint, notes=() if hint.endswith(known[10:]) else (known,)
            )
        return None
    draft = gate.catalog.models.get(spec.draft_model) if spec.draft_model else wish.draft_model
    if not spec.floor:
        if not structure.holds(ask, spec, wish, draft):
            return None
        return _measured(ask, spec, wish, gate, draft)
    if wish.draft_model is not None:
        ask.add(
            "unexpected-value",
            f"the profile {name} drafts without a draft model",
            "draft_model",
            hint="leave `draft_model` out",
        )
        return None
    types, why = _floor(wish) if name == "default" else ((), "none: asked for no speculation")
    setting = Setting.of(types)
    request = _request(spec, wish, gate, setting, NO_SPECULATION)
    rows = floor_losses(request, gate.ledger)
    for row in rows:
        ask.warn(
            "measured-loss",
            f"{name} on {wish.backend} for {wish.model.name}: {loss(row)}",
            "profile",
            hint="use `profile: none`",
        )
    head = wish.model.mtp if types and isinstance(wish.model.mtp, str) else None
    return Decision(
        profile=spec,
        setting=setting,
        against=None,
        types=types,
        draft_n_max=None,
        flags=(),
        draft_model=None,
        head_file=head,
        rows=rows,
        costs=(),
        notes=(why,),
        request=request,
    )


def _request(spec: ProfileSpec, wish: Wish, gate: Gate, setting: Setting, against: Setting) -> Request:
    return Request(
        engine=wish.engine.kind,
        build=wish.engine.build,
        backend=wish.backend,
        devices=wish.cards,
        model=wish.model.id,
        header=wish.model.facts.header if wish.model.facts is not None else None,
        quantization=said(wish.model.facts, wish.model.file or wish.model.hf or wish.model.url),
        setting=setting,
        against=against,
        default=Setting.of(_floor(wish)[0]),
        workload=spec.workload or "",
        policy=gate.policy,
    )


def _measured(ask: Reporter, spec: ProfileSpec, wish: Wish, gate: Gate, draft: Model | None) -> Decision | None:
    setting = _setting(spec, spec.spec_types, draft)
    against = _comparator(spec, wish, gate)
    request = _request(spec, wish, gate, setting, against)
    if setting == NO_SPECULATION:
        notes = (f"{spec.name}: no speculation",)
        return replace(unspeculating(gate), profile=spec, against=against, notes=notes)
    found = verdict(request, gate.ledger)
    if ask.service is not None:
        gate.asked[ask.host, ask.service] = Asked(
            host=ask.host, service=ask.service, spec=spec, wish=wish, request=request, verdict=found
        )
    if found.kind is Kind.WINS and found.row is not None:
        _differs(ask, spec, wish, found)
        why = f"measured to win on {found.row.workload}{where(found.row, request)}"
    else:
        _refuse(ask, spec, wish, gate, request, found)
        if not gate.advisory:
            return None
        why = "which no measurement allows"
    return Decision(
        profile=spec,
        setting=setting,
        against=against,
        types=spec.spec_types,
        draft_n_max=spec.draft_n_max,
        flags=spec.flags,
        draft_model=draft if any(kind != "draft-mtp" for kind in drafts(spec.spec_types)) else None,
        head_file=wish.model.mtp if "draft-mtp" in spec.spec_types and isinstance(wish.model.mtp, str) else None,
        rows=found.rows if found.kind is Kind.WINS else (),
        costs=costs(request, gate.ledger),
        notes=(
            f"{spec.name}: {setting.describe()}, {why}",
            # of a draft-* type the width is in the sentence before
            *bounds(lookups(spec.spec_types), spec.draft_n_max, dict(spec.flags)),
        ),
        request=request,
        again=_way(ask, spec, wish) if found.build_differs or found.device_differs else None,
    )


def _differs(ask: Reporter, spec: ProfileSpec, wish: Wish, found: Verdict) -> None:
    """Warn of evidence from another build or card."""
    row = found.row
    if row is None:
        return
    if found.build_differs:
        on = wish.engine.build or "a build that the fleet does not state"
        ask.warn(
            "stale-build",
            f"{spec.name} was measured on {row.build}, and this service runs {on}",
            "profile",
            notes=(f"row {row.id}",),
            hint=f"measure again: {_way(ask, spec, wish)}",
        )
    if found.device_differs:
        ask.warn(
            "other-device",
            f"{spec.name} was measured on {row.device}, and this service runs on {', '.join(wish.cards)}",
            "profile",
            notes=(f"row {row.id}",),
            hint=f"measure again: {_way(ask, spec, wish)}",
        )
