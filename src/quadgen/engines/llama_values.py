"""Values of llama-server's flags: as its words, and whether the build would take them."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

from quadgen.document import text_of
from quadgen.engines.base import Ask
from quadgen.engines.flags import Option

_JSON: Final = frozenset({"--chat-template-kwargs", "--json-schema"})
_ON: Final = frozenset({"on", "yes", "true", "1", "enabled"})
_OFF: Final = frozenset({"off", "no", "false", "0", "disabled"})
_INTEGER: Final = re.compile(r"-?[0-9]{1,10}")
_DECIMAL: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
LARGEST: Final = 2**31 - 1
"""Of a whole number that llama-server reads with std::stoi (common/arg.cpp); beyond it the server ends at once."""
_LARGEST_SEED: Final = 2**32 - 1
"""--seed alone is read with std::stoul into 32 bits."""


def value_text(value: Any) -> str:  # noqa: ANN401 - a flag takes any YAML value
    """A value as the one word that the server gets: a mapping as compact JSON with sorted keys."""
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text_of(value)


def check(ask: Ask, option: Option, name: str, value: str, *keys: str | int) -> bool:
    """Whether the build takes a value, and takes it as it is meant; reports why not."""
    message, hint = _wrong(option, name, value)
    if message is not None:
        ask.report.add("bad-flag-value", message, *keys, hint=hint)
    return message is None


def _wrong(option: Option, name: str, value: str) -> tuple[str | None, str | None]:
    if option.values:
        parts = value.split(",") if option.commas else [value]
        if all(part in option.values for part in parts):
            return None, None
        return f"{name} does not take {value!r}", f"one of {', '.join(option.values)}"
    if option.number == "int" and not option.commas and value not in option.words and not _integer(option, value):
        message = f"{name} takes a whole number of 32 bits, and {value!r} is none"
        return message, "the server would read it only up to the first other character"
    if option.number == "float" and not option.commas and not _DECIMAL.fullmatch(value):
        return f"{name} takes a number, and {value!r} is none", None
    if option.canonical in _JSON:
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            return f"{name} takes JSON, and its value is none", "write a YAML mapping; quadgen writes the JSON"
    return None, None


def _integer(option: Option, value: str) -> bool:
    if not _INTEGER.fullmatch(value):
        return False
    largest = _LARGEST_SEED if option.canonical == "--seed" else LARGEST
    return -LARGEST - 1 <= int(value) <= largest


def switched(option: Option, value: Any) -> bool | None:  # noqa: ANN401 - a flag takes any YAML value
    """Whether a word turns an option on or off; None where it is a value of its own."""
    if isinstance(value, bool):
        return value
    word = value_text(value).casefold() if not isinstance(value, (dict, list)) else ""
    return (True if word in _ON else False if word in _OFF else None) if option.arity == 0 else None


def words(ask: Ask, option: Option, key: str, value: Any) -> Iterable[tuple[str, ...]]:  # noqa: ANN401 - a flag takes any YAML value
    """The words of one flag of the fleet; more than one tuple where it is repeated."""
    name = option.canonical
    switch = switched(option, value)
    if switch is not None:
        return _switch(ask, option, key, switch is not ask.engine.table.negates(f"--{key}"))
    if option.arity == 0:
        message, hint = f"{name} is a switch and takes no value", "write true or false"
        ask.report.add("bad-flag-value", message, "flags", key, hint=hint)
        return []
    items = [value_text(item) for item in (value if isinstance(value, list) else [value])]
    joins = isinstance(value, list) and option.commas and option.arity == 1
    wrong = _count(option, items, joins=joins)
    if wrong is not None:
        ask.report.add("bad-flag-value", f"{name} {wrong[0]}", "flags", key, hint=wrong[1])
        return []
    if option.arity > 1:
        return [(name, *items)]
    if joins:
        items = [",".join(items)]
    return [(name, item) for item in items if check(ask, option, name, item, "flags", key)]


def _switch(ask: Ask, option: Option, key: str, on: bool) -> list[tuple[str, ...]]:  # noqa: FBT001 - the value is the meaning
    name = option.canonical
    if option.arity == 0:
        if on:
            return [(name,)]
        return [(option.negation,)] if option.negation is not None else []
    word = "on" if on else "off"
    if word in option.values:
        return [(name, word)]
    ask.report.add("bad-flag-value", f"{name} takes a value, not {'true' if on else 'false'}", "flags", key)
    return []


def _count(option: Option, items: list[str], *, joins: bool) -> tuple[str, str | None] | None:
    if not items:
        return "has an empty list", "leave it out"
    if option.arity > 1:
        return None if len(items) == option.arity else (f"takes {option.arity} values", "write a list")
    return None if joins or len(items) == 1 or option.repeats else ("takes one value", None)
