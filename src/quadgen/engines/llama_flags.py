"""The fleet's own flags: `flags` and `extra_args` checked against the build's flag table and put into its spelling."""

import json
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from quadgen.document import text_of
from quadgen.engines.base import Ask
from quadgen.engines.flags import COMPILED_IN, Option, known_in, shipped_tables
from quadgen.engines.side_doors import field_for, reaches_speculation_flag
from quadgen.resolution import Argument

_JSON: Final = frozenset({"--chat-template-kwargs", "--json-schema"})
_ON: Final = frozenset({"on", "yes", "true", "1", "enabled"})
_OFF: Final = frozenset({"off", "no", "false", "0", "disabled"})
_ALWAYS: Final = frozenset({"--metrics"})
"""Options of quadgen's own that no flag turns off: without them nothing can be observed."""


def value_text(value: Any) -> str:  # noqa: ANN401 - a flag takes any YAML value
    """A value as the one word that the server gets: a mapping as compact JSON with sorted keys."""
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return text_of(value)


def side_door(ask: Ask, name: str, *keys: str | int) -> bool:
    """Report a flag that reaches speculation by another way than a profile."""
    if not reaches_speculation_flag(name):
        return False
    owner = field_for(name)
    hint = (
        f"use the service's `{owner}`"
        if owner
        else "make it a profile: profiles.NAME with spec_types, then `profile: NAME`"
    )
    ask.report.add(
        "speculation-outside-profile", f"{name} reaches speculation, which only a profile may", *keys, hint=hint
    )
    return True


def _known(ask: Ask, name: str, *keys: str | int) -> Option | None:
    """The option, with what its build says of it reported; None after a refusal."""
    table = ask.engine.table
    option = table.find(name)
    at_key = keys[0] == "flags"
    if option is None:
        others = known_in(shipped_tables(), name)
        if others and others[-1][1].canonical in COMPILED_IN:
            return others[-1][1]
        told = [(build, other.deprecated or other.removed) for build, other in others]
        build, successor = told[-1] if told else (None, None)
        if successor is not None:
            hint = f"{build} said: {successor}"
            ask.report.add(
                "removed-flag", f"llama-server {table.build} has no {name} any more", *keys, hint=hint, at_key=at_key
            )
            return None
        close = table.nearest(name)
        known = close is not None and not reaches_speculation_flag(close)
        hint = f"did you mean {close}?" if known else "see `llama-server --help` of that build"
        ask.report.add("unknown-flag", f"llama-server {table.build} has no {name}", *keys, hint=hint, at_key=at_key)
    elif option.removed is not None:
        message = f"llama-server {table.build} removed {name}"
        ask.report.add("removed-flag", message, *keys, hint=option.removed, at_key=at_key)
        return None
    elif option.deprecated is not None:
        message = f"llama-server {table.build} deprecates {name}"
        ask.report.warn("deprecated-flag", message, *keys, hint=option.deprecated, at_key=at_key)
    return option


def _check(ask: Ask, option: Option, name: str, value: str, *keys: str | int) -> None:
    """Report a value that the build would refuse, or read differently."""
    if (
        option.values
        and value not in option.values
        and not (option.commas and all(v in option.values for v in value.split(",")))
    ):
        ask.report.add(
            "bad-flag-value", f"{name} does not take {value!r}", *keys, hint=f"one of {', '.join(option.values)}"
        )
    elif option.number == "int" and not option.commas and not _integer(value) and not option.words:
        ask.report.add(
            "bad-flag-value",
            f"{name} takes a whole number, and {value!r} is none",
            *keys,
            hint="the server would read it only up to the first other character",
        )
    elif option.canonical in _JSON:
        try:
            json.loads(value)
        except ValueError:
            message = f"{name} takes JSON, and its value is none"
            ask.report.add("bad-flag-value", message, *keys, hint="write a YAML mapping; quadgen writes the JSON")


def _integer(value: str) -> bool:
    digits = value.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _switch(option: Option, value: Any) -> bool | None:  # noqa: ANN401 - a flag takes any YAML value
    """Whether a word turns an option on or off; None where it is a value of its own."""
    if isinstance(value, bool):
        return value
    word = value_text(value).casefold() if not isinstance(value, (dict, list)) else ""
    return (True if word in _ON else False if word in _OFF else None) if option.arity == 0 else None


def _words(ask: Ask, option: Option, key: str, value: Any) -> Iterable[tuple[str, ...]]:  # noqa: ANN401 - a flag takes any YAML value
    """The words of one flag of the fleet; more than one tuple where it is repeated."""
    name = option.canonical
    switch = _switch(option, value)
    negated = ask.engine.table.negates(f"--{key}")
    if switch is not None:
        if negated:
            switch = not switch
        if option.arity == 0:
            if switch:
                return [(name,)]
            return [(option.negation,)] if option.negation is not None else []
        word = "on" if switch else "off"
        if word in option.values:
            return [(name, word)]
        ask.report.add("bad-flag-value", f"{name} takes a value, not {'true' if value else 'false'}", "flags", key)
        return []
    if option.arity == 0:
        ask.report.add(
            "bad-flag-value", f"{name} is a switch and takes no value", "flags", key, hint="write true or false"
        )
        return []
    items = [value_text(item) for item in (value if isinstance(value, list) else [value])]
    if option.arity > 1:
        if len(items) != option.arity:
            ask.report.add("bad-flag-value", f"{name} takes {option.arity} values", "flags", key, hint="write a list")
            return []
        return [(name, *items)]
    if isinstance(value, list) and option.commas:
        items = [",".join(items)]
    elif len(items) > 1 and not option.repeats:
        ask.report.add("bad-flag-value", f"{name} takes one value", "flags", key)
        return []
    for item in items:
        _check(ask, option, name, item, "flags", key)
    return [(name, item) for item in items]


def canonical(ask: Ask, word: object) -> str:
    """The option's own long name, whichever spelling `word` is."""
    option = ask.engine.table.find(word) if isinstance(word, str) else None
    return option.canonical if option is not None else str(word)


def flag_arguments(ask: Ask, decided: AbstractSet[str], owned: Mapping[str, str]) -> list[Argument]:
    """The words of `flags`. An option that a field decides is refused; one that a rule decides is replaced."""
    found: list[Argument] = []
    seen: dict[str, str] = {}
    flags: Mapping[str, Any] = ask.report.get("flags") or {}
    for key, value in flags.items():
        name = f"--{key}"
        if side_door(ask, name, "flags", key):
            continue
        if key == "api-key":
            hint = "keep the key out of git: api_key: {secret: NAME}"
            ask.report.add("literal-secret", "a key in `flags` is a key in git", "flags", key, hint=hint)
            continue
        option = _known(ask, name, "flags", key)
        if option is None:
            continue
        own = option.canonical
        if own in owned or (own in _ALWAYS and _switch(option, value) is not True):
            field = owned.get(own)
            hint = f"use `{field}`" if field else "leave it out"
            ask.report.add(
                "duplicate-flag",
                f"{own} is decided by `{field}`" if field else f"{own} is always on",
                "flags",
                key,
                hint=hint,
                at_key=True,
            )
            continue
        if own in seen:
            ask.report.add(
                "duplicate-flag", f"{key} and {seen[own]} are one option", "flags", key, hint="keep one", at_key=True
            )
            continue
        seen[own] = key
        if own in decided and own in _ALWAYS:
            continue
        found += [Argument(words, f"flags.{key}") for words in _words(ask, option, key, value)]
    return found


def extra_arguments(ask: Ask, before: Iterable[Argument], owned: Mapping[str, str]) -> list[Argument]:
    """`extra_args` as they are, each option checked; one that says again what is decided is dropped or refused."""
    items: Sequence[str] = ask.report.get("extra_args") or ()
    if not items:
        return []
    have = {canonical(ask, argument.words[0]): argument for argument in before}
    found: list[Argument] = []
    position = 0
    while position < len(items):
        name, keys = items[position], ("extra_args", position)
        position += 1
        if not name.startswith("-"):
            ask.report.add(
                "unknown-flag",
                f"{name!r} is no flag, and llama-server takes nothing else",
                *keys,
                hint="one item, one argument: a flag, then its value",
            )
            continue
        plain, equals, _ = name.partition("=")
        if side_door(ask, plain, *keys):
            position += 0 if equals else _arity(ask, plain)
            continue
        if equals and name.startswith("--"):
            ask.report.add(
                "unknown-flag",
                f"llama-server takes no {plain}=VALUE",
                *keys,
                hint=f"write two items: {plain}, then the value",
            )
            continue
        option = _known(ask, name, *keys)
        if option is None:
            position += _arity(ask, name)
            continue
        values = items[position : position + option.arity]
        position += option.arity
        if len(values) < option.arity:
            ask.report.add(
                "bad-flag-value",
                f"{name} lacks its value",
                *keys,
                hint="the engine would take the next flag for it",
            )
            continue
        own = option.canonical
        if own == "--api-key":
            ask.report.add(
                "literal-secret",
                "a key in `extra_args` is a key in git",
                *keys,
                hint="keep the key out of git: api_key: {secret: NAME}",
            )
            continue
        for value in values:
            _check(ask, option, name, value, *keys)
        if own in have and not option.repeats:
            if have[own].words[1:] != tuple(values) or ask.engine.table.negates(name) != ask.engine.table.negates(
                str(have[own].words[0])
            ):
                hint = f"use `{owned[own]}`" if own in owned else "keep one"
                ask.report.add(
                    "duplicate-flag",
                    f"{name} is given already: {' '.join(map(str, have[own].words))}",
                    *keys,
                    hint=hint,
                )
            continue
        argument = Argument((name, *values), "extra_args")
        have[own] = argument
        found.append(argument)
    return found


def _arity(ask: Ask, name: str) -> int:
    """How many values a refused flag takes with it, so that they are not reported as well."""
    option = ask.engine.table.find(name)
    return option.arity if option is not None else 0
