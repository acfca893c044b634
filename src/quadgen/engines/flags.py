"""The flag tables that come with quadgen, and which of them speaks for a build."""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from quadgen.engines.flag_file import dump_table, load_table
from quadgen.engines.flag_table import FlagTable, Match, Option

__all__ = [
    "COMPILED_IN",
    "SHIPPED",
    "Choice",
    "FlagTable",
    "Match",
    "Option",
    "choose",
    "dump_table",
    "is_numbered",
    "known_in",
    "load_table",
    "shipped_tables",
]

SHIPPED: Final = ("b10434", "b10705", "b10724", "b11434")
"""Builds of llama.cpp whose tables come with quadgen (data/flags), oldest first.

Each was made from what a real server of that build prints for `--help`.
"""

COMPILED_IN: Final = frozenset({"--rpc"})
"""Options of servers that were compiled with some backend: that a table lacks one proves nothing.

Up to b10724 only a server with the RPC backend has `--rpc`, as the one behind b10434's table; that of b11434 knows it
in any case, and takes no value for it without the backend (common/arg.cpp).
"""

_LATE: Final = ("--load-mode",)
"""Options that builds before the oldest table need not have. It still takes, with a warning, what they took the place
of, and so does every build before it: llama.cpp 9310 and 9702 have nothing else (llama_load_mode.py).
"""

_NUMBERED: Final = re.compile(r"b(0|[1-9]\d{0,8})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A table, and what is not certain about it."""

    table: FlagTable
    exact: bool
    """Whether the table is known to be that build's own."""
    note: str | None
    """A sentence for the unit and for `explain`; None where the table is exact."""


def is_numbered(build: str) -> bool:
    """Whether a build is named as llama.cpp names its releases: `b` and a number, so that they have an order."""
    return _NUMBERED.fullmatch(build) is not None


def choose(tables: Mapping[str, FlagTable], build: str | None) -> Choice:
    """Choose the table for `build`, as the fleet wrote it, among `tables`, by build.

    A table by that name is the build's own, a learned one included. A `bNNNN` between two tables that are equal has
    those; between two that differ it has what both say. Anything else has the newest, or the oldest where it is
    older than that. The table has the name of the build that asks for it, where one is stated. `tables` must hold at
    least one `bNNNN`.
    """
    if build is not None and build in tables:
        return Choice(table=tables[build], exact=True, note=None)
    numbered = sorted((int(found[1]), name) for name in tables if (found := _NUMBERED.fullmatch(name)))
    newest = numbered[-1][1]
    if build is None:
        note = f"no build is stated: the flags are those of {newest}, the newest table"
        return Choice(table=tables[newest], exact=False, note=note)
    named = _NUMBERED.fullmatch(build)
    if named is None:
        note = f"no flag table is known for {build}: the flags are those of {newest}, the newest table"
        return Choice(table=replace(tables[newest], build=build), exact=False, note=note)
    older = [name for number, name in numbered if number < int(named[1])]
    newer = [name for number, name in numbered if number > int(named[1])]
    if older and newer:
        return _between(tables[older[-1]], tables[newer[0]], build)
    if older:
        note = f"{build} is newer than the newest flag table: the flags are those of {older[-1]}"
        return Choice(table=replace(tables[older[-1]], build=build), exact=False, note=note)
    note = f"{build} is older than the oldest flag table: the flags are those of {newer[0]}"
    return _before(tables[newer[0]], build, note)


def _before(oldest: FlagTable, build: str, note: str) -> Choice:
    """Choose the oldest table as it must have been before what `_LATE` names was there."""
    late = [name for name in _LATE if oldest.find(name) is not None]
    options = tuple(
        replace(one, deprecated=None) if one.deprecated in {f"use {name}" for name in late} else one
        for one in oldest.options
        if one.canonical not in late
    )
    but = f", without {' and '.join(late)}" if late else ""
    return Choice(table=FlagTable(build=build, options=options), exact=False, note=f"{note}{but}")


def _between(before: FlagTable, after: FlagTable, build: str) -> Choice:
    """Choose what two tables agree on, under the name of the build between them."""
    if before == after:
        return Choice(table=replace(before, build=build), exact=True, note=None)
    others = {option.canonical: option for option in after.options}
    pairs = ((option, others.get(option.canonical)) for option in before.options)
    shared = tuple(_narrow(one, two) for one, two in pairs if two is not None and one.arity == two.arity)
    note = f"no flag table is known for {build}: the flags are those that {before.build} and {after.build} both have"
    return Choice(table=FlagTable(build=build, options=shared), exact=False, note=note)


def _narrow(one: Option, other: Option) -> Option:
    if one == other:
        return one
    return replace(
        one,
        names=_both(one.names, other.names),
        negations=_both(one.negations, other.negations),
        values=_both(one.values, other.values),
        words=_both(one.words, other.words),
        number=one.number if one.number == other.number else None,
        commas=one.commas and other.commas,
        repeats=one.repeats and other.repeats,
        env=one.env if one.env == other.env else None,
        default=one.default if one.default == other.default else None,
        removed=one.removed if one.removed is not None else other.removed,
        deprecated=one.deprecated if one.deprecated is not None else other.deprecated,
    )


def _both(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(item for item in one if item in other)


def known_in(tables: Mapping[str, FlagTable], name: str) -> tuple[tuple[str, Option], ...]:
    """Find the builds that know `name`, in the order of `tables`, each with its option.

    For the refusal of a flag that a build lacks: b10724 was the last to know `--no-mmap`, and said what to use.
    """
    found = ((build, tables[build].find(name)) for build in tables)
    return tuple((build, option) for build, option in found if option is not None)


class _Shipped(Mapping[str, FlagTable]):
    """The tables of `data/flags` by build; one is read when it is first asked for."""

    def __getitem__(self, build: str) -> FlagTable:
        if build not in SHIPPED:
            raise KeyError(build)
        return _read(build)

    def __iter__(self) -> Iterator[str]:
        return iter(SHIPPED)

    def __len__(self) -> int:
        return len(SHIPPED)


@cache
def _read(build: str) -> FlagTable:
    file = f"data/flags/llama.cpp-{build}.json"
    return load_table((pkgutil.get_data("quadgen", file) or b"").decode(), file=f"quadgen/{file}")


def shipped_tables() -> Mapping[str, FlagTable]:
    """Give the tables that come with quadgen, by build, oldest first; each is read on first use."""
    return _Shipped()
