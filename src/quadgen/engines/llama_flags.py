"""The fleet's own flags: `flags` checked against the build's flag table and put into its spelling."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Final

from quadgen.engines import llama_load_mode
from quadgen.engines.base import Ask
from quadgen.engines.flags import COMPILED_IN, Option, known_in, shipped_tables
from quadgen.engines.llama_layers import report_twice
from quadgen.engines.llama_load_mode import LOAD_MODE
from quadgen.engines.llama_options import ALWAYS, ENDING, KEYS, OWNED
from quadgen.engines.llama_values import switched, words
from quadgen.engines.side_doors import A_PROFILE, field_for, is_speculative, reaches_speculation_flag
from quadgen.fleet.layers import Chain, Layer
from quadgen.resolution import Argument

_NOT_MEANT: Final = ENDING | KEYS.keys()
"""What nobody is to be led to."""


def side_door(ask: Ask, name: str, *keys: str | int) -> bool:
    """Report a flag that reaches speculation by another way than a profile, or did so in older builds."""
    if not reaches_speculation_flag(name):
        return False
    table = ask.engine.table
    option = table.find(name) or elsewhere(name)
    if option is not None and option.removed is not None:
        message = f"llama-server {table.build} removed {name}"
        at_key, hint = keys[0] == "flags", in_a_profile(option.removed)
        ask.report.add("removed-flag", message, *keys, hint=hint, at_key=at_key, notes=doubts(ask))
        return True
    owner = field_for(name)
    hint = f"use the service's `{owner}`" if owner else A_PROFILE
    ask.report.add(
        "speculation-outside-profile", f"{name} reaches speculation, which only a profile may", *keys, hint=hint
    )
    return True


def in_a_profile(successor: str) -> str:
    """What to do instead of a flag of speculation that a build has removed, by what the build says of it."""
    field = "`draft_n_max`, or its `flags`" if "--spec-draft-n-max" in successor else "its `flags`"
    return f"{successor}; it belongs in a profile: {field}"


def doubts(ask: Ask) -> tuple[str, ...]:
    """What is not certain about the flags of the service's build, for what is said of them."""
    return (ask.engine.table_note,) if ask.engine.table_note is not None else ()


def lacks(ask: Ask, name: str) -> str:
    """Say that the build has not a flag, or that nobody knows it to have it."""
    build = ask.engine.table.build
    guessed = ask.engine.table_note is not None and build == ask.engine.build
    return f"llama-server {build} {'is not known to have' if guessed else 'has no'} {name}"


def elsewhere(name: str) -> Option | None:
    """The option of that name in the newest shipped table that has it."""
    others = known_in(shipped_tables(), name)
    return others[-1][1] if others else None


def taken(ask: Ask, name: str, *keys: str | int) -> Option | None:
    """The option, where a fleet may give it by itself; None after a refusal."""
    option = known(ask, name, *keys)
    if option is None:
        return None
    at_key = keys[0] == "flags"
    if is_speculative(option):
        message = f"{name} reaches speculation, which only a profile may"
        ask.report.add("speculation-outside-profile", message, *keys, hint=A_PROFILE, at_key=at_key)
    elif option.canonical in KEYS:
        message = f"a key in `{keys[0]}` is a key in git"
        ask.report.add("literal-secret", message, *keys, hint=f"keep the key out of git: {KEYS[option.canonical]}")
    elif not ENDING.isdisjoint(option.names):
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
        _report_unknown(ask, name, others, *keys)
    elif option.removed is not None:
        message = f"llama-server {table.build} removed {name}"
        ask.report.add("removed-flag", message, *keys, hint=option.removed, at_key=at_key, notes=doubts(ask))
        return None
    elif option.deprecated is not None:
        message = f"llama-server {table.build} deprecates {name}"
        hint, notes = llama_load_mode.advice(ask, _among(ask, name, *keys), name) or (option.deprecated, ())
        ask.report.warn("deprecated-flag", message, *keys, hint=hint, notes=(*notes, *doubts(ask)), at_key=at_key)
    return option


def _report_unknown(ask: Ask, name: str, others: Sequence[tuple[str, Option]], *keys: str | int) -> None:
    """Report a flag that the build has not, by what the builds that have it say."""
    at_key = keys[0] == "flags"
    build, other = others[-1] if others else (None, None)
    successor = None if other is None else other.deprecated or other.removed
    if successor is not None:
        told = llama_load_mode.advice(ask, _among(ask, name, *keys), name)
        hint = f"{build} said: {successor}" if told is None else told[0]
        message = f"{lacks(ask, name)} any more"
        ask.report.add("removed-flag", message, *keys, hint=hint, at_key=at_key, notes=doubts(ask))
        return
    if other is None:
        hint = near(ask, name) or "see `llama-server --help` of that build"
    else:
        stale = ask.engine.build not in (None, ask.engine.table.build)
        anew = f": learn the engine's flag table anew, for {ask.engine.build}" if stale else ""
        hint = f"{others[0][0]} has it{anew}"
    ask.report.add("unknown-flag", lacks(ask, name), *keys, hint=hint, at_key=at_key, notes=doubts(ask))


def near(ask: Ask, name: str) -> str | None:
    """A hint with the flag that was probably meant, or with the field that says it; None where none is near."""
    table = ask.engine.table
    close = table.nearest(name, _NOT_MEANT)
    if close is None or (reaches_speculation_flag(close) and not reaches_speculation_flag(name)):
        return None
    field = OWNED.get(canonical(ask, close))
    return f"did you mean {close}?" if field is None else f"did you mean {close}? it is decided by `{field}`"


def _among(ask: Ask, name: str, *keys: str | int) -> Sequence[str]:
    """The arguments that `name` stands among."""
    items: Sequence[str] = ask.report.get("extra_args") or ()
    return items if keys[0] == "extra_args" else (name,)


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
        if item.startswith("-") and canonical(ask, item) == name:
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


def flag_arguments(ask: Ask, decided: AbstractSet[str]) -> list[Argument]:
    """The words of `flags`. An option that a field decides is refused; one that a rule decides is replaced."""
    found: list[Argument] = []
    seen: dict[str, str] = {}
    flags = llama_load_mode.in_order(ask, ask.report.get("flags") or {})
    modal = ask.engine.table.find(LOAD_MODE) is not None
    mode = None if modal else next((key for key in flags if f"--{key}".replace("_", "-") == LOAD_MODE), None)
    loading = llama_load_mode.keys_in(flags) if modal or mode is not None else frozenset()
    for key, value in flags.items():
        name = f"--{key}"
        if key.startswith("-"):
            if not side_door(ask, key, "flags", key):
                _dashed(ask, key)
            continue
        if key in loading or side_door(ask, name, "flags", key):
            continue
        if key == mode:
            switches = llama_load_mode.old_words(ask, value)
            if switches is not None:
                found += [Argument((switch,), f"flags.{key}") for switch in switches]
                continue
        option = taken(ask, name, "flags", key)
        if option is None:
            continue
        own = option.canonical
        if own in OWNED or (own in ALWAYS and switched(option, value) is not True):
            field = OWNED.get(own)
            message = f"{own} is decided by `{field}`" if field else f"{own} is always on"
            hint = f"use `{field}`" if field else "leave it out"
            ask.report.add("duplicate-flag", message, "flags", key, hint=hint, at_key=True)
        elif own in seen:
            report_twice(ask, key, seen[own])
        else:
            seen[own] = key
            if own not in decided or own not in ALWAYS:
                found += [Argument(each, f"flags.{key}") for each in words(ask, option, key, value)]
    if loading:
        found += _loading(ask, flags, loading, seen.get(LOAD_MODE, mode))
    return found


def _dashed(ask: Ask, key: str) -> None:
    """Report a key of `flags` with the dashes of the argument, by what the fleet calls that option."""
    own = canonical(ask, key)
    field = OWNED.get(own)
    found = ask.engine.table.match(key)
    long = own if found is None or not found.negated else found.option.negation or own
    hint = f"use `{field}`" if field else f"write {(key if key.startswith('--') else long).lstrip('-')}"
    if own in KEYS:
        hint = f"keep the key out of git: {KEYS[own]}"
    ask.report.add(
        "unexpected-value", f"{key} is written without its dashes here", "flags", key, hint=hint, at_key=True
    )


def _loading(ask: Ask, flags: Mapping[str, Any], keys: AbstractSet[str], beside: str | None) -> list[Argument]:
    """What the old names of `--load-mode` come to, which must not stand beside it."""
    if beside is None:
        return llama_load_mode.from_flags(ask, flags, keys)
    for key in sorted(keys):
        report_twice(ask, key, beside, keep=f"keep {beside}")
    return []
