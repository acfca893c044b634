"""The words of `quadgen explain`."""

import json
from typing import Any, Final

import typer

from quadgen import disk
from quadgen.evidence import Kind, cost, quoted
from quadgen.facts.amounts import amount, gib
from quadgen.fleet.layers import Chain
from quadgen.pipeline import Compiled, find
from quadgen.problems import Path, Problem, Rejected
from quadgen.resolution import UNIFIED, Resolution, Share
from quadgen.resolve import bringing
from quadgen.resolve.gate import Asked
from quadgen.resolve.memory import counted, pools
from quadgen.resolve.report import unknown
from quadgen.units import build

_WIDEST: Final = 64
"""Characters of an argument that has beside it why it is there."""


def of_code(code: str) -> str:
    """What docs/errors.md says of a code. Raises a usage error where there is no such code."""
    text = disk.errors_text()
    heading = f"## {code}"
    lines = text.split("\n")
    codes = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    if code not in codes:
        message, hint = unknown("code", code, codes)
        raise typer.BadParameter(f"{message}: {hint}", param_hint="--code")
    start = lines.index(heading)
    end = next((index for index in range(start + 1, len(lines)) if lines[index].startswith("## ")), len(lines))
    return "\n".join(lines[start:end]).strip()


def check_service(compiled: Compiled, host: str, service: str) -> None:
    """Raise `Rejected` where the fleet has no such service on this host; one that was refused is there."""
    named = list((compiled.fleet.data["hosts"].get(host) or {}).get("services") or {})
    names = named or [resolution.name for resolution in find(compiled, host, None)]
    if names and service not in names:
        message, hint = unknown("service", service, names)
        raise Rejected(
            [Problem(code="unexpected-value", message=f"{message} on the host {host}", host=host, hint=hint)]
        )


def _path(path: Path) -> str:
    return ".".join(str(part) for part in path)


def source(compiled: Compiled, resolution: Resolution, why: str) -> str:
    """The layer of the fleet, or the rule, that put an argument or a variable there."""
    if why.startswith("rule"):
        return why
    named = (compiled.fleet.data["hosts"][resolution.host.name] or {}).get("services") or {}
    chain = compiled.fleet.chain(resolution.host.name, resolution.name if resolution.name in named else None)
    return ", ".join(_of_field(compiled, resolution, chain, field) for field in why.split(", "))


def _of_field(compiled: Compiled, resolution: Resolution, chain: Chain, field: str) -> str:
    """Where the fleet says a field: in a layer, or else at the model."""
    keys = field.split(".", 1)
    if chain.said(*keys):
        return _path(chain.origin(*keys))
    name = resolution.model.name
    said = (compiled.fleet.data["models"] or {}).get(name, {}).get(field)
    return f"default of `{field}`" if said is None else f"models.{name}.{field}"


def _variables(compiled: Compiled, resolution: Resolution) -> list[tuple[str, str, str]]:
    """The service's environment as its unit has it: name, value, and where it came from."""
    why = {variable.name: variable.why for variable in resolution.environment}
    return [
        (name, str(value), source(compiled, resolution, why.get(name, "rule: quadgen's own")))
        for name, value in build(resolution).environment
    ]


def _needs(compiled: Compiled, resolution: Resolution) -> list[tuple[Share, bool]]:
    """What the service takes, each with whether it is held against what the host has."""
    services = find(compiled, resolution.host.name, None)
    return [(share, counted(resolution, share, services)) for share in resolution.memory if share.missing is None]


def _memory(compiled: Compiled, resolution: Resolution) -> dict[str, Any] | None:
    needs = _needs(compiled, resolution)
    if not resolution.memory:
        return None
    return {
        "needs": [
            {"what": share.what, "bytes": share.size, "counted": counts, "card": share.card, "grows": share.grows}
            for share, counts in needs
        ],
        "unknown": [{"what": each.what, "reason": each.missing} for each in resolution.memory if each.missing],
        "total": sum(share.size for share, counts in needs if counts and share.card is None),
        "host": resolution.host.memory,
        "cards": [
            {
                "card": card.position,
                "name": card.name,
                "total": sum(share.size for share, counts in needs if counts and share.card == card.position),
                "vram": "unified" if card.vram == UNIFIED else card.vram,
                "reserve": card.reserve,
            }
            for card in resolution.devices.cards
        ],
    }


def _record(compiled: Compiled, resolution: Resolution) -> dict[str, Any]:
    decision = resolution.decision
    return {
        "name": resolution.name,
        "unit": build(resolution).unit,
        "file": build(resolution).file,
        "engine": resolution.engine.name,
        "build": resolution.engine.build,
        "backend": resolution.backend,
        "model": resolution.model.name,
        "profile": decision.profile.name,
        "argv": [str(word) for argument in resolution.arguments for word in argument.words],
        "arguments": [
            {"words": [str(word) for word in argument.words], "from": source(compiled, resolution, argument.why)}
            for argument in resolution.arguments
        ],
        "env": {name: str(value) for name, value in build(resolution).environment},
        "variables": [
            {"name": name, "value": value, "from": where} for name, value, where in _variables(compiled, resolution)
        ],
        "evidence": [row.id for row in decision.rows],
        "measure": decision.again,
        "notes": [*decision.notes, *(cost(row) for row in decision.costs), *resolution.notes],
        "memory": _memory(compiled, resolution),
    }


def _refused(compiled: Compiled, host: str, service: str | None) -> list[dict[str, str]]:
    """The services of a host that are refused for want of evidence, each with how a number is brought."""
    decided = {resolution.name for resolution in find(compiled, host, None)}
    return [
        {"name": asked.service, "profile": asked.spec.name, "measure": _bring(compiled, asked)}
        for asked in compiled.resolved.gate.asked.values()
        if asked.host == host and asked.verdict.kind is not Kind.WINS
        if asked.service not in decided and service in (None, asked.service)
    ]


def _bring(compiled: Compiled, asked: Asked) -> str:
    command = bringing.of_service(compiled.fleet, asked.host, asked.service, asked.spec)
    return bringing.way(asked.wish.engine.kind, command)


def as_json(compiled: Compiled, host: str, service: str | None) -> str:
    """The services of a host as JSON; `memory` is null where nobody knows what a service takes."""
    records = [_record(compiled, resolution) for resolution in find(compiled, host, service)]
    whole = {"host": host, "services": records, "refused": _refused(compiled, host, service)}
    return json.dumps(whole, indent=2, ensure_ascii=False)


def as_text(compiled: Compiled, host: str, service: str | None) -> str:
    """The services of a host for people: one argument a line, with the layer or rule beside it."""
    decided = ["\n".join(_lines(compiled, resolution)) + "\n" for resolution in find(compiled, host, service)]
    refused = [
        f"{host}/{each['name']}: refused, profile {each['profile']}: bring a number: {each['measure']}\n"
        for each in _refused(compiled, host, service)
    ]
    return "\n".join([*decided, *refused])


def _lines(compiled: Compiled, resolution: Resolution) -> list[str]:
    engine, decision = resolution.engine, resolution.decision
    kind = f"{engine.kind} {engine.build or '(no build stated)'}"
    program = resolution.image or resolution.binary
    lines = [
        f"{resolution.host.name}/{resolution.name}: {resolution.model.name} on {resolution.backend}, {kind}",
        f"  {build(resolution).file}",
        f"  runs {program}",
        *(f"  publishes {port}" for port in resolution.ports),
        f"  profile {decision.profile.name}: {decision.setting.describe()}",
        *(f"    {note}" for note in decision.notes),
        *(f"    {quoted(row)}" for row in decision.rows),
        *(f"    {cost(row)}" for row in decision.costs),
        *(() if decision.again is None else (f"    measure again: {decision.again}",)),
        *(f"  note: {note}" for note in resolution.notes),
        "  arguments",
    ]
    shown = [
        (" ".join(map(str, argument.words)), source(compiled, resolution, argument.why))
        for argument in resolution.arguments
    ]
    lines += _aligned(shown)
    variables = [(f"{name}={value}", where) for name, value, where in _variables(compiled, resolution)]
    lines += ["  environment", *_aligned(variables)] if variables else []
    return [*lines, *_of_memory(compiled, resolution)]


def _of_memory(compiled: Compiled, resolution: Resolution) -> list[str]:
    if not resolution.memory:
        return []
    lines, needs = ["  memory"], _needs(compiled, resolution)
    limits = {pool.position: pool for pool in pools(resolution.host)}
    places = dict.fromkeys((*(card.position for card in resolution.devices.cards), None))
    for position in places:
        here = [(share, counts) for share, counts in needs if share.card == position]
        if not here:
            continue
        name = next((card.name for card in resolution.devices.cards if card.position == position), None)
        place = "of the host" if position is None else f"of card {position}{f', {name}' if name else ''}"
        lines += [f"    {place}", *(f"  {line}" for line in _aligned([_shown(*each) for each in here]))]
        pool, total = limits.get(position), sum(share.size for share, counts in here if counts)
        of = "" if pool is None else f" of {gib(pool.size)}"
        of += f", {gib(pool.kept)} of them kept free" if pool is not None and pool.kept else ""
        lines.append(f"      at least {gib(total)}{of}")
    unknown = [f"    not counted: {each.what}, since {each.missing}" for each in resolution.memory if each.missing]
    return [*lines, *unknown]


def _shown(share: Share, counts: bool) -> tuple[str, str]:
    if share.grows:
        return amount(share.size), f"{share.what}, after a while at most; not counted"
    alone = "; not counted, since no service shares the host's memory with it"
    return amount(share.size), share.what if counts else f"{share.what}{alone}"


def _aligned(pairs: list[tuple[str, str]]) -> list[str]:
    """Two columns; what is too long for the first has the second on a line of its own, below the others'."""
    width = max((len(left) for left, _ in pairs if len(left) <= _WIDEST), default=0)
    lines = []
    for left, right in pairs:
        if len(left) > width:
            lines.append(f"    {left}")
        lines.append(f"    {left if len(left) <= width else '':<{width}}  {right}")
    return lines
