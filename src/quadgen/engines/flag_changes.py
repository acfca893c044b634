"""What differs between the flags of two builds: what is gone, what is new, and what means something else now."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from quadgen.engines.flag_table import FlagTable, Option
from quadgen.engines.flags import COMPILED_IN

Aspect = Literal[
    "removed", "deprecated", "names", "meaning",
    "arity", "values", "words", "number", "commas", "repeats", "env", "default",
]  # fmt: skip
_AS_THEY_ARE: Final[tuple[Aspect, ...]] = (
    "removed", "deprecated", "arity", "values", "words", "number", "commas", "repeats", "env", "default",
)  # fmt: skip


class Difference(NamedTuple):
    """One respect in which an option is not what it was."""

    aspect: Aspect
    """A field of `Option`; `names` includes negations, and `meaning` is a name that is another option's now."""
    before: Any
    """What the field held; of `names` those that are gone, of `meaning` the name."""
    after: Any
    """What it holds; of `names` those that are new, of `meaning` what the name does now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """An option that both builds know, and not in the same way."""

    before: Option
    after: Option
    differences: tuple[Difference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """All that differs, each list sorted by canonical name."""

    removed: tuple[Option, ...]
    """Options of which the new build knows no name."""
    added: tuple[Option, ...]
    changed: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.removed or self.added or self.changed)


def changes(before: FlagTable, after: FlagTable) -> Changes:
    """Compare two tables. Options are the same where they share a name, or else their environment variable."""
    removed: list[Option] = []
    changed: list[Change] = []
    met: set[str] = set()
    for option in sorted(before.options, key=_by_name):
        other = _same(option, after)
        if other is None:
            removed.append(option)
            continue
        met.add(other.canonical)
        differences = tuple(_differences(option, other, after))
        if differences:
            changed.append(Change(before=option, after=other, differences=differences))
    added = (option for option in after.options if option.canonical not in met)
    return Changes(removed=tuple(removed), added=tuple(sorted(added, key=_by_name)), changed=tuple(changed))


def is_compiled_in(option: Option) -> bool:
    """Whether a server has the option by what was compiled into it, whatever its build."""
    return option.canonical in COMPILED_IN


def _by_name(option: Option) -> tuple[str, tuple[str, ...]]:
    return option.canonical, option.names


def _same(option: Option, table: FlagTable) -> Option | None:
    for name in (option.canonical, *option.names, *option.negations):
        found = table.find(name)
        if found is not None:
            return found
    return None if option.env is None else table.by_env(option.env)


def _differences(before: Option, after: Option, table: FlagTable) -> Iterator[Difference]:
    lost, gained = _missing(before, after), _missing(after, before)
    if lost or gained:
        yield Difference("names", lost, gained)
    for name in lost:
        other = table.match(name)
        if other is not None:
            yield Difference("meaning", name, other.option.canonical)
    for name in (*before.names, *before.negations):
        if name in (after.names if name in before.negations else after.negations):
            yield Difference("meaning", name, f"turns it {'on' if name in after.names else 'off'}")
    for aspect in _AS_THEY_ARE:
        was, now = getattr(before, aspect), getattr(after, aspect)
        if was != now:
            yield Difference(aspect, was, now)


def _missing(option: Option, other: Option) -> tuple[str, ...]:
    """The names of an option that another one lacks."""
    theirs = {*other.names, *other.negations}
    return tuple(name for name in (*option.names, *option.negations) if name not in theirs)
