"""Flag tables as JSON, one option a line, so that two builds can be compared with diff."""

import json
import re
from typing import Any, Final

from quadgen.engines.flag_table import FlagTable, Option
from quadgen.problems import Problem, Rejected

_FORMAT: Final = 1
_TEXTS: Final = frozenset({"canonical", "section", "number", "env", "default", "removed", "deprecated"})
_LISTS: Final = frozenset({"names", "negations", "values", "words"})
_SWITCHES: Final = frozenset({"commas", "repeats"})
_NAME: Final = re.compile(r"-[^\s,]+")
_ALWAYS: Final = frozenset({"canonical", "names", "section", "arity"})


def dump_table(table: FlagTable) -> str:
    """Write a table as JSON text, sorted by canonical name; fields that are at their default are left out."""
    options = sorted(table.options, key=lambda option: (option.canonical, option.names))
    lines = ",\n".join(json.dumps(_row(option), ensure_ascii=False) for option in options)
    head = f'{{"format": {_FORMAT}, "build": {json.dumps(table.build, ensure_ascii=False)}, "options": ['
    return f"{head}\n{lines}\n]}}\n"


def _row(option: Option) -> dict[str, Any]:
    fields = ((name, getattr(option, name)) for name in Option.__dataclass_fields__)
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in fields
        if name in _ALWAYS or (value is not None and value is not False and value != ())
    }


def load_table(json_text: str, *, file: str = "flag table") -> FlagTable:
    """Read what `dump_table` wrote. Raises `Rejected` with `unexpected-value` where it is anything else.

    `file` is the name that a problem gives the text.
    """
    try:
        return _table(json.loads(json_text))
    except (ValueError, RecursionError) as error:
        message = f"{file} is no flag table: {error}"
        hint = "make one with quadgen flags learn"
        problem = Problem(code="unexpected-value", message=message, file=file, path=(), hint=hint)
        raise Rejected([problem]) from error


def _table(data: object) -> FlagTable:
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise ValueError(f"it is not JSON of the format {_FORMAT}")
    build, rows = data.get("build"), data.get("options")
    if not isinstance(build, str) or not isinstance(rows, list):
        raise ValueError("it lacks its build or its options")  # noqa: TRY004 - whatever is wrong with a text is one kind
    return FlagTable(build=build, options=tuple(map(_option, rows)))


def _option(row: object) -> Option:
    if not isinstance(row, dict) or not row.keys() >= _ALWAYS:
        raise ValueError(f"an option lacks one of {', '.join(sorted(_ALWAYS))}: {row!r}")
    for name, value in row.items():
        if not _is_right(name, value):
            raise ValueError(f"{name} of {row['canonical']} is {value!r}")
    names = (*row["names"], *row.get("negations", ()))
    if row["canonical"] not in row["names"] or not all(map(_NAME.fullmatch, names)):
        raise ValueError(f"the names of {row['canonical']} are {', '.join(names)}")
    fields: dict[str, Any] = {name: tuple(value) if name in _LISTS else value for name, value in row.items()}
    return Option(**fields)


def _is_right(name: str, value: object) -> bool:
    if name in _TEXTS:
        return type(value) is str
    if name in _LISTS:
        return type(value) is list and all(type(item) is str for item in value)
    if name in _SWITCHES:
        return type(value) is bool
    return name == "arity" and type(value) is int and value >= 0
