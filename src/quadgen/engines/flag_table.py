"""What one build of an engine accepts on its command line, as a table to look names up in."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

_TELLING: Final = 4
"""Letters of a name that others can be near to; shorter ones resemble everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option. Names carry their dashes; `negations` turn off what `names` turn on."""

    canonical: str
    """The long name that quadgen writes, such as `--ctx-size`."""
    names: tuple[str, ...]
    section: str
    """Of the help text: common, sampling, speculative or example-specific."""
    arity: int
    """How many arguments follow the name: 0, 1, or 2 as in `--control-vector-layer-range START END`."""
    negations: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """The only words that it takes, by its help; empty where that does not say."""
    words: tuple[str, ...] = ()
    """Words that it takes in place of a number."""
    number: str | None = None
    """`int` or `float` where it reads a number; None where it reads text, or nobody knows."""
    commas: bool = False
    """Whether one argument may hold several values, separated by commas."""
    repeats: bool = False
    """Whether each further use adds to the ones before, instead of replacing them."""
    env: str | None = None
    default: str | None = None
    """As the help says it: a value, or a few words such as `same as --threads`."""
    removed: str | None = None
    """What to do instead, where the build only knows the name to refuse it."""
    deprecated: str | None = None
    """What to do instead, where the build warns of it."""

    @property
    def negation(self) -> str | None:
        """The name that turns it off, `--no-` and its canonical name where it has that; None if it has none."""
        spelled = f"--no-{self.canonical.removeprefix('--')}"
        return spelled if spelled in self.negations else self.negations[-1] if self.negations else None


@dataclass(frozen=True, slots=True)
class Match:
    """An option, and the name of it that was asked for."""

    option: Option
    spelling: str
    """As the engine spells it, dashes included."""
    negated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlagTable:
    """The options of one build. Two tables with the same options are equal, whatever their builds."""

    build: str = field(compare=False)
    options: tuple[Option, ...]
    _index: dict[str, Match] = field(init=False, repr=False, compare=False)
    _variables: dict[str, Option] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        index: dict[str, Match] = {}
        for option in self.options:
            for spelled, negated in ((option.names, False), (option.negations, True)):
                for name in spelled:
                    index[name] = match = Match(option, name, negated)
                    if name.startswith("--"):
                        index[name[2:]] = match
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "_variables", {one.env: one for one in self.options if one.env is not None})

    def match(self, name: str) -> Match | None:
        """Look up `--ctx-size`, `ctx-size`, `--ctx_size`, `-c`, or a negation such as `no-mmap`.

        As in the engine, a short name needs its dash, only long names take `_` for `-`, and `--name=value` is
        no name (https://github.com/ggml-org/llama.cpp/blob/master/common/arg.cpp, common_params_parse_ex).
        """
        found = self._index.get(name)
        if found is None and "_" in name and (name.startswith("--") or not name.startswith("-")):
            return self._index.get(name.replace("_", "-"))
        return found

    def find(self, name: str) -> Option | None:
        """Look up an option by any of its names, negations included; see `match`."""
        found = self._index.get(name) or self.match(name)
        return None if found is None else found.option

    def negates(self, name: str) -> bool:
        """Whether `name` is a negation: `--no-mmap` is, `--no-host`, which has no positive form, is not."""
        found = self.match(name)
        return found is not None and found.negated

    def by_env(self, name: str) -> Option | None:
        """Look up an option by its environment variable.

        An option that can be negated also obeys its variable with NO_ in it: LLAMA_ARG_NO_MMAP, set to whatever
        value, is `--no-mmap` (common/arg.cpp, common_arg::get_value_from_env).
        """
        found = self._variables.get(name)
        if found is None and name.startswith("LLAMA_ARG_NO_"):
            found = self._variables.get(name.replace("LLAMA_ARG_NO_", "LLAMA_ARG_", 1))
            return found if found is not None and found.negations else None
        return found

    def nearest(self, name: str, without: Container[str] = ()) -> str | None:
        """Find the name that was probably meant: a canonical one, or a negation; None if none is near.

        Options that the build refuses or warns of are never proposed, nor those whose canonical name is in `without`.
        """
        from difflib import get_close_matches  # noqa: PLC0415 - only a refusal needs it

        asked = name.partition("=")[0].strip().lstrip("-").replace("_", "-").lower()
        offers = {
            match.spelling.lstrip("-"): match.spelling if match.negated else match.option.canonical
            for match in self._index.values()
            if match.option.removed is None
            and match.option.deprecated is None
            and match.option.canonical not in without
        }
        if asked in offers:
            return offers[asked]
        near = get_close_matches(asked, [offer for offer in offers if len(offer) >= _TELLING], n=1, cutoff=0.7)
        return offers[near[0]] if near else None
