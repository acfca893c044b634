"""The fleet's own flags: `flags` and `extra_args` checked against the build's flag table and put into its spelling."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from quadgen.engines.base import Ask
from quadgen.engines.flags import COMPILED_IN, Option, known_in, shipped_tables
from quadgen.engines.llama_values import check, switched, words
from quadgen.engines.side_doors import field_for, is_speculative, reaches_speculation_flag
from quadgen.fleet.layers import Chain, Layer
from quadgen.resolution import Argument

_ALWAYS: Final = frozenset({"--metrics"})
"""Options of quadgen's own that no flag turns off: without them nothing can be observed."""
_ENDING: Final = frozenset({"--cache-list", "--completion-bash", "--help", "--list-devices", "--usage", "--version"})
"""Options that make a server print something and end."""
_KEYS: Final = {"--api-key": "api_key: {secret: NAME}", "--hf-token": "secrets: {HF_TOKEN: NAME}"}
"""Options whose value is a key, with the field that keeps it out of git."""


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


def _taken(ask: Ask, name: str, *keys: str | int) -> Option | None:
    """The option, where a fleet may give it by itself; None after a refusal."""
    option = known(ask, name, *keys)
    if option is None:
        return None
    at_key = keys[0] == "flags"
    if is_speculative(option):
        message = f"{name} reaches speculation, which only a profile may"
        hint = "make it a profile: profiles.NAME with spec_types, then `profile: NAME`"
        ask.report.add("speculation-outside-profile", message, *keys, hint=hint, at_key=at_key)
    elif option.canonical in _KEYS:
        message = f"a key in `{keys[0]}` is a key in git"
        ask.report.add("literal-secret", message, *keys, hint=f"keep the key out of git: {_KEYS[option.canonical]}")
    elif not _ENDING.isdisjoint(option.names):
        message = f"{name} makes llama-server print and end, so that it never serves"
        ask.report.add("does-not-compose", message, *keys, hint="leave it out", at_key=at_key)
    elif option.arity == 0 and option.canonical.endswith("-default"):
        message = f"{name} brings a model of its own, in the place of `model`"
        ask.report.add("duplicate-flag", message, *keys, hint="use `model`", at_key=at_key)
    else:
        return option
    return None


def known(ask: Ask, name: str, *keys: str | int) -> Option | None:
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
        near = close is not None and not reaches_speculation_flag(close)
        hint = f"did you mean {close}?" if near else "see `llama-server --help` of that build"
        ask.report.add("unknown-flag", f"llama-server {table.build} has no {name}", *keys, hint=hint, at_key=at_key)
    elif option.removed is not None:
        message = f"llama-server {table.build} removed {name}"
        ask.report.add("removed-flag", message, *keys, hint=option.removed, at_key=at_key)
        return None
    elif option.deprecated is not None:
        message = f"llama-server {table.build} deprecates {name}"
        ask.report.warn("deprecated-flag", message, *keys, hint=option.deprecated, at_key=at_key)
    return option


def canonical(ask: Ask, word: object) -> str:
    """The option's own long name, whichever spelling `word` is."""
    option = ask.engine.table.find(word) if isinstance(word, str) else None
    return option.canonical if option is not None else str(word)


def stated(ask: Ask, name: str) -> tuple[tuple[str | int, ...], Any] | None:
    """Where `flags` or `extra_args` say an option, whichever its spelling, and what; None where they do not."""
    flags: Mapping[str, Any] = ask.report.get("flags") or {}
    for key, value in flags.items():
        if canonical(ask, f"--{key}") == name:
            return ("flags", key), value
    items: Sequence[str] = ask.report.get("extra_args") or ()
    for position, item in enumerate(items):
        if canonical(ask, item) == name:
            return ("extra_args", position), items[position + 1] if position + 1 < len(items) else None
    return None


def profile_arguments(ask: Ask) -> list[Argument]:
    """The further flags of the profile, checked like those of a service and reported where the profile says them."""
    decision = ask.decision
    if not decision.flags:
        return []
    said = dict(decision.flags)
    layer = Layer(("profiles", decision.profile.name), {"flags": said})
    asking = replace(ask, report=replace(ask.report, chain=Chain((layer,), layer.fields)))
    found: list[Argument] = []
    for key, value in decision.flags:
        option = known(asking, f"--{key}", "flags", key)
        if option is not None:
            found += [Argument(each, "profile") for each in words(asking, option, key, value)]
    return found


def flag_arguments(ask: Ask, decided: AbstractSet[str], owned: Mapping[str, str]) -> list[Argument]:
    """The words of `flags`. An option that a field decides is refused; one that a rule decides is replaced."""
    found: list[Argument] = []
    seen: dict[str, str] = {}
    flags: Mapping[str, Any] = ask.report.get("flags") or {}
    for key, value in flags.items():
        name = f"--{key}"
        if side_door(ask, name, "flags", key):
            continue
        option = _taken(ask, name, "flags", key)
        if option is None:
            continue
        own = option.canonical
        if own in owned or (own in _ALWAYS and switched(option, value) is not True):
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
        found += [Argument(each, f"flags.{key}") for each in words(ask, option, key, value)]
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
            code = "literal-secret" if canonical(ask, plain) in _KEYS else "unknown-flag"
            hint = f"write two items: {plain}, then the value"
            ask.report.add(code, f"llama-server takes no {plain}=VALUE", *keys, hint=hint)
            continue
        option = _taken(ask, name, *keys)
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
        if own in owned and own not in have:
            message = f"{name} is decided by `{owned[own]}`"
            ask.report.add("duplicate-flag", message, *keys, hint=f"use `{owned[own]}`")
            continue
        if not all(check(ask, option, name, value, *keys) for value in values):
            continue
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
