"""What pydantic found wrong, in the words of someone who writes YAML: a code, a sentence and a path each.

pydantic speaks of inputs, dictionaries and instances, and reports every alternative of a union by itself,
under a path that carries the alternative's name. Here one mistake becomes one problem, at a path of the
document.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Literal, get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from pydantic_core.core_schema import ErrorType

from quadgen.problems import Path, Problem

_OWN: Final = frozenset(get_args(ErrorType))
"""pydantic's own error types; any other comes from a validator of quadgen and is a problem's code."""

_NOUNS: Final = {
    "string": "text", "int": "a whole number", "float": "a number", "bool": "true or false", "list": "a list",
    "tuple": "a list", "set": "a list", "frozen": "a list", "iterable": "a list", "dict": "a mapping",
    "model": "a mapping", "mapping": "a mapping", "dataclass": "a mapping", "arguments": "a mapping",
    "none": "nothing", "bytes": "text", "decimal": "a number", "date": "a date", "datetime": "a time",
    "time": "a time", "url": "an address with its scheme", "uuid": "a UUID",
}  # fmt: skip
"""What a field takes, by the first word of pydantic's error type (pydantic_core.core_schema.ErrorType)."""

_BOUNDS: Final = {
    "greater_than": "a number above {gt}",
    "greater_than_equal": "a number of at least {ge}",
    "less_than": "a number below {lt}",
    "less_than_equal": "a number of at most {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "finite_number": "a finite number",
    "string_too_short": "at least {min_length} character(s)",
    "string_too_long": "at most {max_length} characters",
    "string_pattern_mismatch": "text of the form {pattern}",
    "string_not_ascii": "plain ASCII text",
    "too_short": "a list of at least {min_length} item(s)",
    "too_long": "a list of at most {max_length} items",
}
"""What a field takes, where the kind of value was right and the value was not."""

_UNKNOWN: Final = frozenset({"extra_forbidden", "unexpected_keyword_argument"})
_MISSING: Final = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_PYTHON: Final = {"True": "true", "False": "false", "None": "null"}
"""Constants as pydantic writes them, and as YAML does."""
_SUBJECTLESS: Final = re.compile(r"(takes|holds|must|needs|names|says|lacks|is|has|cannot) ")
"""How a validator's message begins that leaves its subject, the key, to be put in front."""
_SHORT: Final = 40
"""Characters of a value that still fit into a sentence."""
_FEW: Final = 12
"""Keys that still fit into a hint."""
_NUMBER: Final = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class _Fault:
    """One of pydantic's errors, at a path of the document."""

    detail: ErrorDetails
    path: Path
    at: Literal["key", "value"]
    tags: tuple[tuple[Path, str], ...]
    """Names of union alternatives that pydantic put into its path, each with the path that it followed."""
    missing: str | None

    @property
    def options(self) -> tuple[str, ...]:
        """The listed values, where it had to be one of them."""
        if self.detail["type"] not in ("literal_error", "enum"):
            return ()
        words = re.split(r", | or ", self.detail["ctx"]["expected"])
        return tuple(_PYTHON.get(word, word.strip("'")) for word in words)

    @property
    def expected(self) -> tuple[str, ...]:
        """What would have fitted, where the kind of value was wrong or it was none of the listed ones."""
        kind = self.detail["type"]
        if kind == "none_required" or kind.endswith(("_type", "_parsing", "_from_float")):
            noun = _NOUNS.get(kind.partition("_")[0])
            return (noun,) if noun else ()
        return tuple(f"`{option}`" for option in self.options)


def _locate(detail: ErrorDetails, data: Any) -> _Fault:  # noqa: ANN401 - any YAML value
    """Walk pydantic's path through `data`: what leads nowhere is the name of a union's alternative."""
    path: list[str | int] = []
    tags: list[tuple[Path, str]] = []
    at: Literal["key", "value"] = "key" if detail["type"] in _UNKNOWN else "value"
    *parts, last = detail["loc"] or (None,)
    lacks = detail["type"] in _MISSING
    for part in (*parts, *(() if lacks or last is None else (last,))):
        if part == "[key]":
            at = "key"
        elif part in (data if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()):
            data = data[part]
            path.append(part)
        else:
            tags.append((tuple(path), str(part)))
    return _Fault(detail, tuple(path), at, tuple(tags), str(last) if lacks else None)


def _one_each(faults: Iterable[_Fault], depth: int = 0) -> Iterator[tuple[_Fault, ...]]:
    """Sort out unions: of its alternatives, the one that fits the value's shape best; all where none fits."""
    unions: dict[Path, dict[str, list[_Fault]]] = {}
    for fault in faults:
        if len(fault.tags) > depth:
            path, tag = fault.tags[depth]
            unions.setdefault(path, {}).setdefault(tag, []).append(fault)
        else:
            yield (fault,)
    for path, alternatives in unions.items():
        fitting = [found for found in alternatives.values() if not all(f.path == path and f.expected for f in found)]
        if fitting or len(alternatives) == 1:
            fewest = min(fitting or list(alternatives.values()), key=len)
            yield from _one_each(fewest, depth + 1)
        else:
            yield tuple(fault for found in alternatives.values() for fault in found)


def _listed(words: Iterable[str], joint: str) -> str:
    *head, last = dict.fromkeys(words)
    return f"{', '.join(head)} {joint} {last}" if head else last


def named(path: Path) -> str:
    """Name the value at `path`, for a sentence: "`rate`", "item 3 of `volumes`", "this file"."""
    if not path:
        return "this file"
    last = path[-1]
    return f"item {last + 1} of {named(path[:-1])}" if isinstance(last, int) else f"`{last}`"


def _given(value: Any, *, shown: bool) -> str:  # noqa: ANN401 - any YAML value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, (int, float)):
        return f"the number {_written(value)}"
    if not isinstance(value, str):
        return "a list" if isinstance(value, (list, tuple, set)) else "a mapping"
    if not shown:
        return "text"
    return f"`{value}`" if len(value) <= _SHORT and value.isprintable() else "that text"


def _written(value: Any) -> str:  # noqa: ANN401 - any YAML scalar; a number may remember how it was written
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "text", value))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find the one of `known` that `word` was probably meant to be."""
    return next(iter(get_close_matches(word, tuple(known), n=1, cutoff=0.6)), None)


def _value_hint(value: Any, expected: Iterable[str], options: Iterable[str]) -> str | None:  # noqa: ANN401 - any YAML value
    if isinstance(value, str):
        if close := nearest(value, options):
            return f"did you mean `{close}`?"
        if "true or false" in expected:
            return "only true and false are read as such; yes, no, on and off are text"
        if {"a number", "a whole number"} & set(expected) and _NUMBER.fullmatch(value):
            return f"write {value} without quotes"
        return f"write it as a list: [{value}]" if "a list" in expected and value.isprintable() else None
    if "text" in expected and isinstance(value, (int, float)):
        return f'write it in quotes: "{_written(value)}"'
    return None


def _key_hint(key: str, keys: tuple[str, ...], synonyms: Mapping[str, str]) -> str | None:
    if meant := synonyms.get(key):
        if not re.fullmatch(r"[\w-]+", meant):
            return meant
        if meant in keys:
            return f"it is called `{meant}` here"
    if close := nearest(key, keys):
        return f"did you mean `{close}`?"
    return f"the keys here are {', '.join(keys)}" if 0 < len(keys) <= _FEW else None


def _value_problem(faults: tuple[_Fault, ...], path: Path) -> tuple[str, str | None]:
    """Word the sentence and the hint about a value; several faults are alternatives that all do not fit."""
    detail = faults[0].detail
    value = detail["input"]
    if expected := tuple(noun for fault in faults for noun in fault.expected):
        options = tuple(option for fault in faults for option in fault.options)
        given = _given(value, shown=bool(options))
        message = f"{named(path)} takes {_listed(expected, 'or')}, not {given}"
        return message, _value_hint(value, expected, options)
    if bound := _BOUNDS.get(detail["type"]):
        context = {name: f"{x:g}" if isinstance(x, float) else x for name, x in detail.get("ctx", {}).items()}
        if isinstance(value, str) and not value:
            return f"{named(path)} must not be empty", None
        given = f"one of {len(value)}" if isinstance(value, list) else _given(value, shown=True)
        return f"{named(path)} takes {bound.format_map(context)}, not {given}", None
    return f"{named(path)} has a value that does not fit here: {_given(value, shown=True)}", None


def _problem(
    faults: tuple[_Fault, ...],
    file: str | None,
    under: Path,
    known: Callable[[Path], Iterable[str]],
    synonyms: Mapping[str, str],
) -> Problem:
    fault = faults[0]
    kind, context = fault.detail["type"], fault.detail.get("ctx", {})
    path, code = (*under, *fault.path), "unexpected-value"
    hint: str | None = None
    if fault.missing is not None:
        code, message = "missing-key", f"{named(path)} has no `{fault.missing}`"
    elif kind in _UNKNOWN:
        key, keys = str(path[-1]), tuple(known(fault.path[:-1]))
        code, message = "unknown-key", f"`{key}` is not a key of {named(path[:-1])}"
        hint = _key_hint(key, keys, synonyms)
    elif kind in ("value_error", "assertion_error") or kind not in _OWN:
        code = code if kind in _OWN else kind
        message = str(context.get("error") or context.get("message") or fault.detail["msg"])
        hint = context.get("hint")
        if entry := context.get("key"):
            path = (*path, entry)
        if _SUBJECTLESS.match(message):
            message = f"{named(path)} {message}"
    else:
        message, hint = _value_problem(faults, path)
    return Problem(code=code, message=message, file=file, path=path, at=fault.at, hint=hint)


def problems_of(
    error: ValidationError,
    *,
    data: Any,  # noqa: ANN401 - any YAML value
    known: Callable[[Path], Iterable[str]],
    synonyms: Mapping[str, str],
    file: str | None = None,
    under: Path = (),
) -> list[Problem]:
    """Translate `error`, one problem a mistake, in the order of pydantic's report.

    `data` is what was validated; `file` and `under` say which document it is part of, and where.
    `known(path)` lists the keys of the mapping at `path` of `data`, for "did you mean". `synonyms` maps what
    people write for a key to the key that they mean, or to a whole sentence.

    Codes: `unknown-key`, `missing-key` (at the mapping that lacks it), `unexpected-value`, and whatever code
    a validator raises by `PydanticCustomError(code, message, {"hint": ..., "key": ...})`: there `message` is
    used as it is, with the key's name in front where it begins with a verb ("takes a port"), `hint` may be
    None, and `key` names the entry of the mapping that is meant.
    """
    faults = (_locate(detail, data) for detail in error.errors(include_url=False))
    return [_problem(each, file, under, known, synonyms) for each in _one_each(faults)]
