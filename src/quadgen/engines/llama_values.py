"""Values of llama-server's flags: as its words, and whether the build would take them."""

import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from quadgen.document import text_of
from quadgen.engines.base import Ask
from quadgen.engines.flags import Option, is_numbered
from quadgen.engines.llama_devices import is_seen
from quadgen.engines.llama_options import (
    BOUNDS,
    JSON,
    LARGEST,
    NAMED,
    NEVER,
    PLACING,
    POSITIVE,
    SHAPES,
    SUPERSEDED,
    Superseded,
)
from quadgen.engines.side_doors import reaches_speculation_flag

_ON: Final = frozenset({"on", "yes", "true", "1", "enabled"})
_OFF: Final = frozenset({"off", "no", "false", "0", "disabled"})
_INTEGER: Final = re.compile(r"-?[0-9]{1,10}")
_READ: Final = re.compile(r"\s*([-+]?[0-9]{1,10})", re.ASCII)
"""What std::stoi reads of a text, whatever comes after it."""
_DECIMAL: Final = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?")
_LEAST: Final = 2.0**-126
_MOST: Final = 2.0**128 - 2.0**104
_WIDE: Final = (-LARGEST - 1, LARGEST)

_Wrong = tuple[str, str | None]
"""What an option says of a value that it does not take, after its name; and a hint."""


def value_text(value: Any) -> str:  # noqa: ANN401 - a flag takes any YAML value
    """A value as the one word that the server gets: a mapping as compact JSON with sorted keys."""
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text_of(value)


def whole(value: object) -> int | None:
    """A value as the whole number that the server reads; None where it is none, which a flag table need not know."""
    return int(str(value)) if _INTEGER.fullmatch(str(value)) else None


def check(ask: Ask, option: Option, name: str, value: str, *keys: str | int) -> bool:
    """Whether the build takes a value, and takes it as it is meant; reports why not.

    Warns of a key of its JSON that the build wants said by an option of its own.
    """
    wrong = _wrong(option, value)
    if wrong is not None:
        ask.report.add("bad-flag-value", f"{name} {wrong[0]}", *keys, hint=wrong[1])
        return False
    if value.startswith("-") and reaches_speculation_flag(value):
        message = f"{name} is given {value}, which reaches speculation in a build that reads it as a flag"
        ask.report.add("speculation-outside-profile", message, *keys, hint="choose another value")
        return False
    if (shape := SHAPES.get(option.canonical)) is not None and not re.fullmatch(shape.pattern, value):
        message = f"{name} takes {shape.what}, and {value!r} is not that"
        ask.report.add("bad-flag-value", message, *keys, hint=shape.hint(value))
        return False
    if (cpu := PLACING.get(option.canonical)) is not None and (device := _unseen(ask, cpu, value)) is not None:
        message = f"{name} names {device}, and this service has {', '.join(ask.devices.names) or 'no device'}"
        ask.report.add("unknown-device", message, *keys, hint=f"name one that it has, or {cpu}")
        return False
    if option.canonical in JSON:
        return _check_json(ask, option, name, value, *keys)
    return True


def _wrong(option: Option, value: str) -> _Wrong | None:
    if option.values:
        parts = value.split(",") if option.commas else [value]
        if all(part in option.values for part in parts):
            return None
        return f"does not take {value!r}", allowed(option)
    if option.number == "int" and not option.commas:
        return None if value in option.words else _integer(option, value)
    if option.number == "float" and not option.commas and not (_DECIMAL.fullmatch(value) and _is_float(value)):
        return f"takes a number, and {value!r} is none", None
    if option.canonical in POSITIVE and float(value) <= 0:
        return f"takes a number above 0, and {value!r} is not", "the server would end at once"
    return _unnamed(option, value) if value and option.canonical in NAMED else None


def _unnamed(option: Option, value: str) -> _Wrong | None:
    between, known = NAMED[option.canonical]
    split: Callable[[str], list[str]] = list if between is None else lambda text: text.lower().split(between)
    own = split(option.default or "")
    lost = [name for name in split(value) if name not in known and name not in own]
    hint = f"the server would go on without it; there are {', '.join(dict.fromkeys((*own, *sorted(known))))}"
    return (f"names {lost[0]!r}, which is no sampler", hint) if lost else None


def _unseen(ask: Ask, cpu: str, value: str) -> str | None:
    """The first device of a value that the service does not see; those of other machines are not known."""
    named = (part.rpartition("=")[2] for part in value.split(","))
    return next((each for each in named if each != cpu and not is_seen(ask, each) and not each.startswith("RPC")), None)


def _is_float(value: str) -> bool:
    """Whether std::stof takes a number, which it does not where a float of 32 bits cannot hold it at its precision."""
    number = abs(float(value))
    return number == 0 or _LEAST <= number <= _MOST


def _integer(option: Option, value: str) -> _Wrong | None:
    low, high = BOUNDS.get(option.canonical, _WIDE)
    never = NEVER.get(option.canonical)
    if _INTEGER.fullmatch(value) and low <= int(value) <= high and (never is None or int(value) != never):
        return None
    bounds = "of 32 bits" if (low, high) == _WIDE else f"of {low} or more" if high == LARGEST else f"of {low} to {high}"
    but = "" if never is None else f" other than {never}"
    words = "".join(f", or {word}" for word in option.words)
    return f"takes a whole number {bounds}{but}{words}, and {value!r} is none", _as_integer(value, low, high)


def _as_integer(value: str, low: int, high: int) -> str | None:
    """What to write for the number that was meant, and what the server would make of it as it stands."""
    meant = _number(value)
    read = _READ.match(value)
    parts = [f"write {meant}"] if meant is not None and str(meant) != value and low <= meant <= high else []
    if read is None or not -LARGEST - 1 <= int(read[1]) <= LARGEST:
        parts.append("the server would end at once")
    elif int(read[1]) != meant:
        parts.append(f"the server would read {int(read[1])}")
    return "; ".join(parts) or None


def _number(value: str) -> int | None:
    """The whole number that a text means to a reader: `1e5`, `8192.0`, `0x10`, ` 8`, `+5`."""
    text = value.strip()
    if not text.isascii():
        return None
    try:
        return int(text, 0)
    except ValueError:
        try:
            number = float(text)
        except ValueError:
            return None
    return int(number) if number.is_integer() else None


def allowed(option: Option) -> str | None:
    """What an option takes, as a hint; None where any text will do."""
    if option.values:
        return f"one of {', '.join(option.values)}"
    if option.number is None:
        return None
    number = "a whole number" if option.number == "int" else "a number"
    return f"{number}, or one of {', '.join(option.words)}" if option.words else number


def _check_json(ask: Ask, option: Option, name: str, value: str, *keys: str | int) -> bool:
    hint = "write a YAML mapping; quadgen writes the JSON"
    try:
        data = json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError):
        ask.report.add("bad-flag-value", f"{name} takes JSON, and its value is none", *keys, hint=hint)
        return False
    if not isinstance(data, dict):
        ask.report.add("bad-flag-value", f"{name} takes a JSON object, and its value is none", *keys, hint=hint)
        return False
    for old in SUPERSEDED:
        if old.option == option.canonical and old.key in data:
            _supersede(ask, old, data[old.key], *keys)
    return True


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON, which Python alone reads")


def _supersede(ask: Ask, old: Superseded, value: object, *keys: str | int) -> None:
    table = ask.engine.table
    warns = not old.since or (is_numbered(table.build) and int(table.build[1:]) >= old.since)
    if table.find(old.successor) is None or not warns:
        return
    message = f"llama-server {table.build} deprecates {old.key} in {old.option}"
    use = old.use.get(value) if isinstance(value, bool) else None
    hint = f"use {use or ' or '.join(old.use.values())}"
    within = (*keys, old.key) if ask.report.chain.said(*keys, old.key) else keys
    ask.report.warn("deprecated-flag", message, *within, hint=hint, at_key=len(within) > len(keys))


def switched(option: Option, value: Any) -> bool | None:  # noqa: ANN401 - a flag takes any YAML value
    """Whether a word turns an option on or off; None where it is a value of its own."""
    if isinstance(value, bool):
        return value
    return truth(value) if option.arity == 0 else None


def truth(value: Any) -> bool | None:  # noqa: ANN401 - a flag takes any YAML value
    """What a word or a truth value says of a switch; None where it says neither on nor off."""
    if isinstance(value, bool):
        return value
    word = value_text(value).casefold() if not isinstance(value, (dict, list)) else ""
    return True if word in _ON else False if word in _OFF else None


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
    if joins:
        items = [",".join(items)]
    fine = [check(ask, option, name, item, "flags", key) for item in items]
    if not all(fine):
        return []
    return [(name, *items)] if option.arity > 1 else [(name, item) for item in items]


def _switch(ask: Ask, option: Option, key: str, on: bool) -> list[tuple[str, ...]]:  # noqa: FBT001 - the value is the meaning
    name = option.canonical
    if option.arity == 0:
        if on:
            return [(name,)]
        return [(option.negation,)] if option.negation is not None else []
    word = "on" if on else "off"
    if word in option.values:
        return [(name, word)]
    message = f"{name} takes a value, not {'true' if on else 'false'}"
    ask.report.add("bad-flag-value", message, "flags", key, hint=allowed(option))
    return []


def _count(option: Option, items: list[str], *, joins: bool) -> _Wrong | None:
    if not items:
        return "has an empty list", "leave it out"
    if option.arity > 1:
        return None if len(items) == option.arity else (f"takes {option.arity} values", "write a list")
    return None if joins or len(items) == 1 or option.repeats else ("takes one value", "write it without the list")
