"""Flag tables on the command line: which one is meant, and how it is shown."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import typer

from quadgen import disk
from quadgen.cli import console
from quadgen.engines.flags import Choice, FlagTable, Option, choose, is_numbered, known_in, load_table, shipped_tables
from quadgen.problems import Problem, Rejected


def opened(name: str, parameter: str) -> Choice:
    """The table of a build, or in a file that `flags learn` wrote; a build that is not quite known is said so.

    Raises a usage error where there is neither, `Unavailable` where a file cannot be read, `Rejected` where it is no
    flag table.
    """
    tables = shipped_tables()
    there = os.path.exists(name)  # noqa: PTH110 - a path object raises for some names
    if name not in tables and (there or "/" in name or name.endswith(".json")):
        table = load_table(disk.read_file(name).decode(errors="replace"), file=name)
        return Choice(table=table, exact=True, note=None)
    if name not in tables and not is_numbered(name):
        message = f"no flag table is known for {name}: name {', '.join(tables)}, a build near them, or a file"
        raise typer.BadParameter(message, param_hint=parameter)
    choice = choose(tables, name)
    if choice.note is not None:
        console.say(choice.note)
    return choice


def asked(table: FlagTable, names: Sequence[str]) -> tuple[list[Option], list[Problem]]:
    """The options of these names, dashes or not, or environment variables; all of them for none.

    With them goes a problem for each name that the build does not know.
    """
    if not names:
        return sorted(table.options, key=lambda option: (option.canonical, option.names)), []
    found: dict[str, Option] = {}
    problems = []
    for name in names:
        option = table.find(name) or table.find(f"-{name}") or table.by_env(name)
        if option is None:
            problems.append(_unknown(table, name))
        else:
            found[option.canonical] = option
    return list(found.values()), problems


def _unknown(table: FlagTable, name: str) -> Problem:
    spelled = name if name.startswith("-") or name.isupper() else f"--{name}"
    tables = shipped_tables()
    others = known_in(tables, name) or known_in(tables, f"-{name}") or _having(tables, name)
    if others:
        having = f"{' and '.join(build for build, _ in others)} {'has' if len(others) == 1 else 'have'}"
        message = f"llama-server {table.build} has no {spelled}, which {having}"
        advice = others[-1][1].deprecated or others[-1][1].removed
        hint = f"{others[-1][0]} said: {advice}" if advice else None
        return Problem(code="removed-flag" if advice else "unknown-flag", message=message, hint=hint)
    close = table.nearest(name)
    message = f"llama-server {table.build} has no {spelled}"
    return Problem(code="unknown-flag", message=message, hint=f"did you mean {close}?" if close else None)


def _having(tables: Mapping[str, FlagTable], variable: str) -> tuple[tuple[str, Option], ...]:
    """The builds that read an environment variable, each with its option."""
    return tuple((build, option) for build, table in tables.items() if (option := table.by_env(variable)) is not None)


def check_replaceable(output: str) -> None:
    """Refuse to write a table over what is none: the fleet, say, or the program that was asked.

    Raises `Rejected` with `not-ours`, `Unavailable` where what is there cannot be read.
    """
    if not os.path.isfile(output):  # noqa: PTH113 - as above
        return
    data = disk.read_file(output)
    try:
        if data:
            load_table(data.decode(errors="replace"), file=output)
    except Rejected as rejected:
        message = f"{output} is there already, and is no flag table"
        problem = Problem(code="not-ours", message=message, hint="name another file, or move this one away")
        raise Rejected([problem]) from rejected


def builds_as_json() -> str:
    """The tables that come with quadgen: a list of objects."""
    known = [{"build": build, "options": len(table.options)} for build, table in shipped_tables().items()]
    return json.dumps(known, indent=2)


def builds_as_text() -> str:
    """The tables that come with quadgen, one a line."""
    lines: list[str] = []
    before: FlagTable | None = None
    for build, table in shipped_tables().items():
        same = f", the same as {before.build}" if before == table and before is not None else ""
        lines.append(f"{build}  {console.count(len(table.options), 'option')}{same}\n")
        before = table
    return "".join(lines)


def record(option: Option) -> dict[str, Any]:
    """An option as an object with all of its fields."""
    return asdict(option)


def as_json(choice: Choice, options: Iterable[Option]) -> str:
    """A table, or a part of it: the build, what is not certain about it, and a list of objects, one an option."""
    told = {
        "build": choice.table.build,
        "exact": choice.exact,
        "note": choice.note,
        "options": [record(option) for option in options],
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def as_text(options: Iterable[Option]) -> str:
    """Options for people: the names and what follows them, then the rest below."""
    return console.lines(line for option in options for line in (head(option), *_details(option)))


def head(option: Option) -> str:
    """The names of an option, those that turn it off, and the kind of its value."""
    names = " / ".join(", ".join(some) for some in (option.names, option.negations) if some)
    return f"{names}{f' {_value(option)}' * option.arity}"


def _value(option: Option) -> str:
    words = option.values or (*((option.number,) if option.number else ()), *option.words) or ("text",)
    return f"<{'|'.join(words)}{',...' if option.commas else ''}>"


def _details(option: Option) -> Iterator[str]:
    if option.removed is not None:
        yield f"    removed: {option.removed}"
    if option.deprecated is not None:
        yield f"    deprecated: {option.deprecated}"
    told = [
        *([] if option.default is None else [f"default {option.default or 'empty'}"]),
        *([] if option.env is None else [f"env {option.env}"]),
        *(["each use adds to the ones before"] if option.repeats else []),
    ]
    if told:
        yield f"    {'; '.join(told)}"
