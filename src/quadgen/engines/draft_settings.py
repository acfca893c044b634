"""A speculation setting of llama-server by the options' own names, and how many tokens each of its types drafts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from quadgen.engines.drafters import CLAMPED_BY, DEFAULTS, DRAFT_WIDTH, DRAFTERS, drafts
from quadgen.evidence.setting import ALIASES, DEFAULT_WIDTH


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftSetting:
    """A profile's speculation as the engine gets it."""

    types: tuple[str, ...]
    draft_n_max: int | None
    flags: Mapping[str, Any]
    """As the fleet writes them, by the option's own name."""
    written: Mapping[str, str]
    """How the fleet spells each."""
    doubled: Mapping[str, str]
    """What says an option that `written` has under another spelling, by itself; to the one that counts."""
    drafts: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "drafts", drafts(self.types))

    def number(self, option: str | None) -> float | None:
        """The number that an option has, said or by default; None where it is none."""
        try:
            found = float(str(self.flags.get(option or "", DEFAULTS.get(option or ""))))
        except ValueError:
            return None
        return found if isfinite(found) else None

    def at(self, option: str) -> tuple[str, str]:
        """Where the profile says an option."""
        return ("flags", self.written.get(option, option))


def draft_setting(types: Iterable[str], draft_n_max: int | None, flags: Mapping[str, Any]) -> DraftSetting:
    """Read a profile's flags under the options' own names; `flags` are without dashes."""
    written: dict[str, str] = {}
    doubled: dict[str, str] = {}
    for name in flags:
        plain = name.lstrip("-").replace("_", "-")
        first = written.setdefault(ALIASES.get(plain, plain), name)
        if first != name:
            doubled[name] = first
    return DraftSetting(
        types=tuple(types), draft_n_max=draft_n_max, written=written, doubled=doubled,
        flags={option: flags[name] for option, name in written.items()},
    )  # fmt: skip


def width(kind: str, draft_n_max: int | None = None, flags: Mapping[str, Any] | None = None) -> int:
    """How many tokens a type drafts in one round at most; a flag that is no number counts as not said."""
    found = most(kind, draft_setting((kind,), draft_n_max, flags or {}))
    return DRAFTERS[kind].width if found is None else int(found)


def most(kind: str, asked: DraftSetting) -> float | None:
    """Like `width`, and None where its flag is no number."""
    option = DRAFTERS[kind].bounded_by
    if option == DRAFT_WIDTH:
        return asked.draft_n_max or DEFAULT_WIDTH
    return asked.number(option) if option in asked.flags else DRAFTERS[kind].width


def bounds(types: Iterable[str], draft_n_max: int | None, flags: Mapping[str, Any]) -> tuple[str, ...]:
    """Say of each type how many tokens it drafts in a round, for comments in units and `explain`."""
    said: list[str] = []
    for kind in types:
        if kind not in DRAFTERS:
            continue
        option = DRAFTERS[kind].bounded_by
        sentence = f"{kind} drafts up to {width(kind, draft_n_max, flags)} tokens a round"
        if option is None:
            sentence += ", which nothing bounds" if draft_n_max is None else ", which draft_n_max does not bound"
        elif kind in CLAMPED_BY:
            sentence += f", {CLAMPED_BY[kind]}"
        elif option != DRAFT_WIDTH and draft_n_max is not None:
            sentence += f", which {option} bounds and draft_n_max not"
        said.append(sentence)
    return tuple(said)
