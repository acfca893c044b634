"""From a parsed document to a fleet: validated field by field, with everything wrong taken out and reported.

What is wrong is removed and the rest goes on, so that one run finds the mistakes in meaning beside the mistakes
in shape. `broken` keeps the removed paths, so that no later check complains of what is only missing because
of that.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from quadgen.document import Document
from quadgen.fleet.entries import (
    CacheTypes,
    CardFields,
    EngineFields,
    HealthFields,
    LimitFields,
    ModelFields,
    PolicyFields,
    ProfileFields,
    RestartFields,
)
from quadgen.fleet.layers import NOT_INHERITED, Chain, Layer, lay, settle
from quadgen.fleet.schema import ADAPTER, SYNONYMS, FleetFields, HostDefaults, HostFields, ServiceFields  # fmt: skip
from quadgen.problems import Collector, Path, Problem
from quadgen.validation import problems_of

_KINDS = {
    "engines": "an engine",
    "models": "a model",
    "profiles": "a profile",
    "groups": "a group",
    "hosts": "a host",
}
_HOST_ONLY = frozenset(HostFields.__annotations__) - frozenset(ServiceFields.__annotations__)


def _shape(path: Path) -> type | None:  # noqa: PLR0911 - one line a shape
    match path:
        case ():
            return FleetFields
        case ("policy",):
            return PolicyFields
        case ("engines", _):
            return EngineFields
        case ("models", _):
            return ModelFields
        case ("profiles", _):
            return ProfileFields
        case ("defaults",) | ("groups", _):
            return HostDefaults
        case ("hosts", _):
            return HostFields
        case ("hosts", _, "services", _):
            return ServiceFields
        case (*_, "gpus", int()):
            return CardFields
        case (*_, "cache_type" | "health" | "restart" | "limits" as name):
            return {"cache_type": CacheTypes, "health": HealthFields, "restart": RestartFields, "limits": LimitFields}[
                name
            ]
    return None


def known(path: Path) -> tuple[str, ...]:
    """The keys that the mapping at `path` may have; empty where any key goes."""
    shape = _shape(path)
    return tuple(shape.__annotations__) if shape else ()


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet file whose every remaining field is valid by itself."""

    name: str
    """The file, as the user wrote it."""
    data: FleetFields
    broken: frozenset[Path] = frozenset()
    _bases: dict[tuple[str, ...], tuple[tuple[Layer, ...], dict[str, Any]]] = field(default_factory=dict)

    def is_broken(self, path: Path) -> bool:
        """Whether something at or below `path` was wrong and taken out."""
        return any(gone[: len(path)] == path for gone in self.broken)

    def chain(self, host: str, service: str | None) -> Chain:
        """The layers of one service of one host; with `service` None those of the host itself."""
        own = self.data["hosts"].get(host) or {}
        groups = tuple(own.get("groups") or ())
        layers, base = self._base(groups)
        over: dict[str, Any] = {key: value for key, value in own.items() if key not in NOT_INHERITED}
        layers = (*layers, Layer(("hosts", host), over))
        merged = lay(base, over)
        if service is not None:
            fields = (own.get("services") or {}).get(service) or {}
            layers = (*layers, Layer(("hosts", host, "services", service), fields))
            merged = lay(merged, fields)
        return Chain(layers, settle(merged))

    def _base(self, groups: tuple[str, ...]) -> tuple[tuple[Layer, ...], dict[str, Any]]:
        found = self._bases.get(groups)
        if found is None:
            named = [(("groups", group), (self.data.get("groups") or {}).get(group) or {}) for group in groups]
            layers = [Layer(("defaults",), self.data.get("defaults") or {}), *(Layer(*pair) for pair in named)]
            merged: dict[str, Any] = {}
            for layer in layers:
                merged = lay(merged, layer.fields)
            found = self._bases[groups] = (tuple(layers), merged)
        return found


def _without(data: Any, path: Path) -> Any:  # noqa: ANN401 - any YAML value
    if not path:
        return {}
    head, *rest = path
    if isinstance(data, dict):
        copy = dict(data)
        if rest and head in copy:
            copy[head] = _without(copy[head], tuple(rest))
        else:
            copy.pop(head, None)
        return copy
    if isinstance(data, list) and isinstance(head, int) and head < len(data):
        # a list keeps its length, so that the positions of the problems after this one still hold
        items = list(data)
        items[head : head + 1] = [_without(items[head], tuple(rest))] if rest else []
        return items
    return data


def _deepest(data: Any, path: Path) -> Path:  # noqa: ANN401 - any YAML value
    found: list[str | int] = []
    for part in path:
        if isinstance(data, list):
            if not isinstance(part, int) or part >= len(data):
                continue
            data = data[part]
        elif isinstance(data, dict) and part in data:
            data = data[part]
        else:
            continue
        found.append(part)
    return tuple(found)


def _worded(problem: Problem) -> Problem:
    """An unknown key in words of the fleet, which are the same for every host that has it from one place."""
    if problem.code != "unknown-key" or not problem.path:
        return problem
    key = problem.path[-1]
    match problem.path:
        case ("hosts", _, "services", _, _):
            kind = "a service"
        case (str(top), _, _) if top in _KINDS:
            kind = _KINDS[top]
        case _:
            return problem
    hint = problem.hint
    if kind == "a service" and key in _HOST_ONLY:
        hint = f"`{key}` belongs to the host: all of its services share it"
    return replace(problem, message=f"`{key}` is not a key of {kind}", hint=hint)


def load(document: Document, collector: Collector) -> Fleet:
    """Validate `document`; what is wrong goes to `collector` and out of the fleet."""
    data: Any = document.data if document.data is not None else {}
    if not isinstance(data, dict):
        collector.add(Problem(code="unexpected-value", message="a fleet file is a mapping", path=()))
        return Fleet(document.name, {"hosts": {}}, frozenset({()}))
    data = {key: value for key, value in data.items() if not key.startswith("x-")}
    broken: set[Path] = set()
    while True:
        try:
            valid = ADAPTER.validate_python(data)
            break
        except ValidationError as error:
            found = problems_of(error, data=data, known=known, synonyms=SYNONYMS)
            collector.extend(_worded(problem) for problem in found)
            paths = {
                _deepest(data, tuple(part for part in each["loc"] if part != "[key]"))
                for each in error.errors(include_url=False, include_context=False, include_input=False)
            }
            for path in sorted(paths, key=lambda p: (len(p), [str(part).rjust(9) for part in p]), reverse=True):
                data = _without(data, path)
            broken |= paths
    for key in ("version", "hosts"):
        if key not in valid and (key,) not in broken:
            hint = "begin with `version: 1`" if key == "version" else "add `hosts:` with at least one host"
            collector.add(Problem(code="missing-key", message=f"the fleet has no `{key}`", path=(), hint=hint))
    valid.setdefault("hosts", {})
    return Fleet(document.name, valid, frozenset(broken))
