"""The part of a profile that is measured, in one canonical form, so that equal settings are equal values."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Self

DEFAULT_WIDTH: Final = 3
"""Tokens that a draft-* type proposes where nothing is said: llama-server --help, b10434 to b11434."""

OWN_KEYS: Final = {
    "spec-type": "spec_types",
    "spec-draft-n-max": "draft_n_max",
    "spec-draft-model": "draft_model",
}
"""Flags that a setting says by a key of its own, never among its flags."""

ALIASES: Final[Mapping[str, str]] = MappingProxyType({"spec-draft-ncmoe": "spec-draft-n-cpu-moe"})
"""Other names of options, where both begin with --spec-: llama-server --help, b10434 to b11434."""

_NUMBER: Final = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")


def _canonical(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_canonical(item) for item in value)
    text = str(value)
    return f"{float(text):.12g}" if _NUMBER.fullmatch(text) else text


def _own(name: str) -> str:
    plain = name.lstrip("-").replace("_", "-")
    return ALIASES.get(plain, plain)


def _place(spec_type: str) -> tuple[bool, bool, str]:
    return (not spec_type.startswith("draft-"), not spec_type.startswith("ngram-"), spec_type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One way to speculate. Build it by `Setting.of`, which makes it canonical."""

    spec_types: frozenset[str] = frozenset()
    """Drafter types as --spec-type names them; empty is no speculation at all."""
    draft_n_max: int | None = None
    """Draft width in tokens; None is the engine's own, and always so without a draft-* type."""
    flags: frozenset[tuple[str, str]] = frozenset()
    """Further --spec-* flags, without their dashes, and their values."""
    draft_model: str | None = None
    """The drafter's `id`."""

    @classmethod
    def of(
        cls,
        spec_types: Iterable[str],
        *,
        draft_n_max: int | None = None,
        flags: Mapping[str, object] | None = None,
        draft_model: str | None = None,
    ) -> Self:
        """Make a setting canonical.

        Types are a set, and `none` among them cancels all, as in the engine. The engine's default width is
        the same as none stated; a width without a draft-* type bounds nothing and is dropped. A flag's name
        may have dashes in front and underscores inside, or be another one of its option; its value is text, a
        number, true or false, or a list of these, and numbers are compared as numbers (`0.50` is `0.5`).
        """
        types = frozenset(spec_types)
        if "none" in types:
            types = frozenset()
        bounded = draft_n_max != DEFAULT_WIDTH and any(each.startswith("draft-") for each in types)
        return cls(
            spec_types=types,
            draft_n_max=draft_n_max if bounded else None,
            flags=frozenset((_own(name), _canonical(value)) for name, value in (flags or {}).items()),
            draft_model=draft_model,
        )

    @property
    def types(self) -> tuple[str, ...]:
        """The types in a fixed order: draft-* first, then ngram-*, alphabetical inside."""
        return tuple(sorted(self.spec_types, key=_place))

    def describe(self) -> str:
        """Say it in a sentence: "draft-mtp,ngram-cache at width 7", "ngram-cache", "none"."""
        words = [",".join(self.types) or "none"]
        if self.draft_n_max is not None:
            words.append(f"at width {self.draft_n_max}")
        extras = [f"draft model {self.draft_model}"] if self.draft_model is not None else []
        extras += [f"{name} {value}" for name, value in sorted(self.flags)]
        if extras:
            words.append(f"with {', '.join(extras)}")
        return " ".join(words)


NO_SPECULATION: Final = Setting()
"""Plain decoding."""
