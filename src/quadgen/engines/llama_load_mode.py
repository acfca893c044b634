"""How a model is read from its file: one setting, whichever options a build has for it.

Builds up to 9702 have three switches, `--mmap`, `--mlock` and `--direct-io`. From b10434 on there is `--load-mode`,
each old switch puts one mode in its place, and the last one counts; b11434 has the old ones no more. So
`--mlock --no-mmap` was both things once and is `none` since b10434 (common/arg.cpp and llama_model_loader of 9310,
9702, 10435, 10705 and 11434, https://github.com/ggml-org/llama.cpp).
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from quadgen.engines.base import Ask
from quadgen.engines.llama_layers import report_twice
from quadgen.engines.llama_values import truth
from quadgen.resolution import Argument

LOAD_MODE: Final = "--load-mode"

_SPELLINGS: Final[Mapping[str, tuple[str, bool]]] = {
    "mmap": ("mmap", True), "no-mmap": ("mmap", False), "mlock": ("mlock", True),
    "direct-io": ("direct-io", True), "dio": ("direct-io", True),
    "no-direct-io": ("direct-io", False), "ndio": ("direct-io", False),
}  # fmt: skip
"""The part of the setting that a name says something of, and what."""

_OLD: Final[Mapping[str, tuple[str, ...]]] = {
    "auto": (), "none": ("--no-mmap",), "mmap": ("--mmap",), "mlock": ("--no-mmap", "--mlock"),
    "mmap+mlock": ("--mmap", "--mlock"), "dio": ("--direct-io",),
}  # fmt: skip
"""Each mode by the switches of a build that has nothing else."""

_MADE: Final[Mapping[tuple[str, bool], str]] = {
    ("mmap", True): "mmap", ("mmap", False): "none", ("mlock", True): "mlock",
    ("direct-io", True): "dio", ("direct-io", False): "none",
}  # fmt: skip
"""What an old switch alone does in a build that has both."""


def mode(parts: Mapping[str, bool]) -> str | None:
    """The mode that says what `parts` say of mmap, mlock and direct-io; None where no mode says all of it."""
    mmap, mlock = parts.get("mmap"), parts.get("mlock", False)
    if parts.get("direct-io", False):
        return None if mmap or mlock else "dio"
    if mlock:
        return "mmap+mlock" if mmap else "mlock"
    return "auto" if mmap is None else "mmap" if mmap else "none"


def _bare(key: str) -> str:
    return key.replace("_", "-") if "_" in key else key


def keys_in(flags: Iterable[str]) -> AbstractSet[str]:
    """Those of the keys that say something of the setting by an old name."""
    return {key for key in flags if _bare(key) in _SPELLINGS}


def in_order(ask: Ask, flags: Mapping[str, Any]) -> Mapping[str, Any]:
    """The flags with the switches last that decide where only the last one counts: what is off, mmap, then the rest.

    A build before b10434 may be one or the other, and for one that takes each switch by itself the order is nothing;
    where there is `--load-mode`, the switches are not written at all.
    """
    if ask.engine.table.find(LOAD_MODE) is not None:
        return flags

    def rank(key: str) -> int:
        part, positive = _SPELLINGS[_bare(key)]
        return 0 if truth(flags[key]) is not positive else 1 if part == "mmap" else 2

    switches = keys_in(flags)
    ranked = iter(sorted((key for key in flags if key in switches), key=rank))
    return {key: flags[key] for key in (next(ranked) if key in switches else key for key in flags)}


def from_flags(ask: Ask, flags: Mapping[str, Any], keys: AbstractSet[str]) -> list[Argument]:
    """The one argument that the `keys` of `flags` come to, where the build has it for them; refusals are reported."""
    parts: dict[str, bool] = {}
    said: dict[str, str] = {}
    for key in sorted(keys):
        part, positive = _SPELLINGS[_bare(key)]
        on = truth(flags[key])
        if on is None:
            hint = "write true or false"
            ask.report.add("bad-flag-value", f"{key} is a switch and takes no value", "flags", key, hint=hint)
        elif part in said:
            report_twice(ask, key, said[part])
        else:
            parts[part], said[part] = on is positive, key
    if len(said) < len(keys):
        return []
    chosen = mode(parts)
    if chosen is None:
        others = [said[part] for part in ("mlock", "mmap") if parts.get(part)]
        message = f"{said['direct-io']} does not go with {' and '.join(others)}: a model is loaded in one way"
        ask.report.add("does-not-compose", message, "flags", said["direct-io"], hint="keep one", at_key=True)
        return []
    return [Argument((LOAD_MODE, chosen), ", ".join(f"flags.{key}" for key in sorted(keys)))]


def old_words(ask: Ask, value: object) -> tuple[str, ...] | None:
    """The switches for a mode in a build that has no `--load-mode`; None where it lacks one, or there is no such mode.

    No words are an answer too: what `auto` stands for is what such a build does by itself.
    """
    found = _OLD.get(value) if isinstance(value, str) else None
    return found if found is not None and all(ask.engine.table.find(name) is not None for name in found) else None


def advice(ask: Ask, items: Sequence[str], name: str) -> tuple[str, tuple[str, ...]] | None:
    """What to say of an old switch among `items` of arguments: a hint, and what the build makes of them as they are.

    None where `name` is no such switch, or where the build has no `--load-mode`.
    """
    if not is_old(name) or ask.engine.table.find(LOAD_MODE) is None:
        return None
    made = _MADE[_parts(items)[-1]]
    chosen = said_by(items) or made
    if ask.engine.table.find(name) is None or made == chosen:
        return f"use {LOAD_MODE} {chosen}", ()
    return f"use {LOAD_MODE} {chosen}", (f"as it stands, {ask.engine.table.build} loads with {LOAD_MODE} {made}",)


def said_by(items: Sequence[str]) -> str | None:
    """The mode that the old switches among `items` come to; None without any, and where they contradict each other."""
    parts = _parts(items)
    return mode(dict(parts)) if parts else None


def is_old(name: str) -> bool:
    """Whether an argument is a switch that `--load-mode` took the place of: `--mlock`, `--no_mmap`, `-dio`, `-ndio`."""
    return bool(_parts((name,)))


def _parts(items: Sequence[str]) -> list[tuple[str, bool]]:
    """What arguments say of the setting."""
    bare = (item[1:] if item in ("-dio", "-ndio") else _long(item) for item in items)
    return [_SPELLINGS[name] for name in bare if name in _SPELLINGS]


def _long(item: str) -> str:
    name = _bare(item[2:]) if item.startswith("--") else ""
    return "" if name in ("dio", "ndio") else name
