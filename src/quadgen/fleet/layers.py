"""Layering: defaults, groups, host and service laid over each other, and which of them said what.

Mappings (`flags`, `env`, `labels`, `unit`) merge key by key; every other value is replaced; `null` removes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.problems import Path

MERGED: Final = ("flags", "env", "labels", "unit")
NOT_INHERITED: Final = frozenset({"address", "groups", "services"})


@dataclass(frozen=True, slots=True)
class Layer:
    """One mapping of the fleet file that says something about a service."""

    path: Path
    fields: Mapping[str, Any]


def _fold(below: Any, above: Any, depth: int) -> Any:  # noqa: ANN401 - a layer holds any YAML value
    if depth == 0 or not isinstance(below, dict) or not isinstance(above, dict):
        return above
    folded = dict(below)
    for key, value in above.items():
        folded[key] = _fold(below.get(key), value, depth - 1)
    return folded


def lay(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; a null stays in the result, so that it can remove what a still higher layer inherits."""
    merged = {**below, **above}
    for key in MERGED:
        if key in above and key in below:
            merged[key] = _fold(below[key], above[key], 2 if key == "unit" else 1)
    return merged


def settle(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Drop what null removed. In `unit` a null key stays: it removes a line that quadgen itself would write."""
    fields = {key: value for key, value in merged.items() if value is not None}
    for key in MERGED:
        if key in fields and key != "unit":
            fields[key] = {name: value for name, value in fields[key].items() if value is not None}
    return fields


@dataclass(frozen=True, slots=True)
class Chain:
    """The layers of one service, lowest first, and what they come to."""

    layers: tuple[Layer, ...]
    fields: Mapping[str, Any]

    def origin(self, *keys: str | int) -> Path:
        """The path of the highest layer's `keys`, or of the topmost mapping where no layer says it."""
        for layer in reversed(self.layers):
            value: Any = layer.fields
            for key in keys:
                if isinstance(value, Mapping):
                    if key not in value:
                        break
                elif not isinstance(value, list) or not isinstance(key, int) or key >= len(value):
                    break
                value = value[key]
            else:
                return (*layer.path, *keys)
        return self.layers[-1].path

    def said(self, *keys: str | int) -> bool:
        """Whether any layer says it."""
        return self.origin(*keys) != self.layers[-1].path
