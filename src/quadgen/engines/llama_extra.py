"""`extra_args`: the fleet's arguments as they are, each one checked against the build's flag table."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from quadgen.engines.base import Ask
from quadgen.engines.flags import Option
from quadgen.engines.llama_flags import canonical, elsewhere, side_door, stated, taken
from quadgen.engines.llama_load_mode import LOAD_MODE, is_old, said_by
from quadgen.engines.llama_options import ALWAYS, KEYS, OWNED
from quadgen.engines.llama_values import allowed, check, truth
from quadgen.resolution import Argument
from quadgen.unitfile import Word


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """What is decided beside the arguments that are read."""

    ask: Ask
    items: Sequence[str]
    have: dict[str, Argument]
    """What the server is told already, by the option's own name."""
    said: AbstractSet[tuple[Word, ...]]
    """All of that, its values included, for options that add up."""
    mode: str | None
    """The value of `--load-mode`, wherever it is said."""


def extra_arguments(ask: Ask, before: Iterable[Argument]) -> list[Argument]:
    """`extra_args` as they are; one that says again what `before` says is dropped where it says the same, else refused.

    What a rule decided is no exception: `flags` replace it, where a lower layer can be seen and taken out.
    """
    items: Sequence[str] = ask.report.get("extra_args") or ()
    if not items:
        return []
    told = tuple(before)
    have = {canonical(ask, argument.words[0]): argument for argument in told}
    said = {(canonical(ask, argument.words[0]), *argument.words[1:]) for argument in told}
    given = _Given(ask=ask, items=items, have=have, said=said, mode=_mode(ask, have))
    found: list[Argument] = []
    position = 0
    while position < len(items):
        argument, position = _read(given, position)
        if argument is not None:
            found.append(argument)
    return found


def _mode(ask: Ask, have: Mapping[str, Argument]) -> str | None:
    if LOAD_MODE in have:
        return str(have[LOAD_MODE].words[1])
    said = stated(ask, LOAD_MODE)
    return None if said is None or said[1] is None else str(said[1])


def _read(given: _Given, position: int) -> tuple[Argument | None, int]:
    """What the item at `position` adds, with its values; and the position of the next flag."""
    ask, name, keys = given.ask, given.items[position], ("extra_args", position)
    position += 1
    option = _option(given, name, *keys)
    if option is None:
        return None, position + _arity(ask, name, given.items[position : position + 1])
    values = _values(ask, given.items[position : position + option.arity])
    position += len(values)
    if len(values) < option.arity:
        takes = allowed(option)
        hint = f"{takes}; the engine would take the next flag for it" if takes else "write it, or leave the flag out"
        ask.report.add("bad-flag-value", f"{name} lacks its value", *keys, hint=hint)
        return None, position
    first = position - len(values)
    fine = [check(ask, option, name, value, keys[0], first + at) for at, value in enumerate(values)]
    if not all(fine):
        return None, position
    argument = Argument((name, *values), "extra_args")
    if not _is_new(given, option, argument, *keys):
        return None, position
    given.have[option.canonical] = argument
    return argument, position


def _option(given: _Given, name: str, *keys: str | int) -> Option | None:
    """The option that an item names; None after a refusal, and where nothing is to be added."""
    ask = given.ask
    plain, equals, _ = name.partition("=")
    first, space, rest = name.partition(" ")
    if not name.startswith("-"):
        _no_flag(given, name, *keys)
    elif side_door(ask, plain, *keys):
        pass
    elif space and ask.engine.table.find(first) is not None:
        field = KEYS.get(canonical(ask, first))
        code = "unknown-flag" if field is None else "literal-secret"
        hint = f"write two items: {first!r}, then {rest!r}" if field is None else f"keep the key out of git: {field}"
        ask.report.add(code, f"{first} and what follows it are one item here, and so one argument", *keys, hint=hint)
    elif equals and name.startswith("--"):
        field = KEYS.get(canonical(ask, plain))
        code = "unknown-flag" if field is None else "literal-secret"
        hint = f"write two items: {plain}, then the value" if field is None else f"keep the key out of git: {field}"
        ask.report.add(code, f"llama-server takes no {plain}=VALUE", *keys, hint=hint)
    elif given.mode is None or not is_old(name) or ask.engine.table.find(name) is None:
        return taken(ask, name, *keys)
    elif said_by(given.items) != given.mode:
        message = f"{name} is given already: {LOAD_MODE} {given.mode}"
        before = given.have.get(LOAD_MODE)
        kept = LOAD_MODE if before is None or before.why == "extra_args" else f"`{before.why}`"
        ask.report.add("duplicate-flag", message, *keys, hint=f"keep {kept}")
    return None


def _no_flag(given: _Given, name: str, *keys: str | int) -> None:
    """Report an item that is neither a flag nor the value of one."""
    before = given.items[int(keys[1]) - 1] if keys[1] else ""
    option = given.ask.engine.table.find(before) if before.startswith("-") else None
    message = f"{name!r} is no flag, and llama-server takes nothing else"
    hint = "one item, one argument: a flag, then its value"
    if option is not None and option.arity == 0:
        message, hint = f"{before} takes no value, and {name!r} is no flag", f"leave {name!r} out"
    given.ask.report.add("unknown-flag", message, *keys, hint=hint)


def _arity(ask: Ask, name: str, after: Sequence[str]) -> int:
    """How many values a refused flag takes with it, so that they are not reported as well; `after` is the next item."""
    option = ask.engine.table.find(name) or elsewhere(name)
    if option is not None:
        return option.arity
    return sum(name.startswith("-") and "=" not in name and not item.startswith("-") for item in after)


def _values(ask: Ask, items: Sequence[str]) -> Sequence[str]:
    """The items up to the first that is a flag itself, which the engine would take for a value all the same."""
    table = ask.engine.table
    ends = (at for at, item in enumerate(items) if item.startswith("-") and table.find(item) is not None)
    return items[: next(ends, len(items))]


def _is_new(given: _Given, option: Option, argument: Argument, *keys: str | int) -> bool:
    """Whether nothing else says the option; reports it where something says otherwise."""
    ask, own = given.ask, option.canonical
    name, *values = argument.words
    field = OWNED.get(own)
    before = given.have.get(own)
    if before is None and field is not None:
        ask.report.add("duplicate-flag", f"{name} is decided by `{field}`", *keys, hint=f"use `{field}`")
        return False
    if before is None:
        return not _is_off(ask, option, str(name), *keys)
    if field is None and option.repeats:
        return (own, *values) not in given.said
    negates = ask.engine.table.negates
    if list(before.words[1:]) != values or negates(str(name)) is not negates(str(before.words[0])):
        message = f"{name} is given already: {' '.join(map(str, before.words))}"
        hint = f"use `{field}`" if field else "keep one"
        if field is None and before.why.startswith("rule") and own not in ALWAYS:
            hint = "write it under `flags`, where it takes the place of what a rule decides"
        ask.report.add("duplicate-flag", message, *keys, hint=hint)
    return False


def _is_off(ask: Ask, option: Option, name: str, *keys: str | int) -> bool:
    """Whether `flags` turn off a switch that has no negation, so that no argument says so."""
    said = stated(ask, option.canonical)
    if option.arity or said is None or said[0][0] != "flags" or truth(said[1]) is not False:
        return False
    message = f"{name} is turned off by `flags.{said[0][1]}`"
    ask.report.add("duplicate-flag", message, *keys, hint="keep one")
    return True
