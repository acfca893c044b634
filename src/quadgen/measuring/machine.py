"""What a server program and its machine say of themselves, read from what they print.

Wordings of llama.cpp: common/arg.cpp (`--version`, `--list-devices`) and cmake/build-info.cmake of b10434 to b11434,
https://github.com/ggml-org/llama.cpp.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from quadgen.engines.flag_table import Option

_version: Final = re.compile(r"^version: (\S.*?)[ \t\r]*$", re.MULTILINE).search
_built: Final = re.compile(r"\(build (\d+), commit ([^()\s]+)\)$").search
_older: Final = re.compile(r"^(\d+) \(([^()\s]+)\)$").search
"""Until b10000 or so: `version: 9859 (4fc4ec554)`."""
_commit: Final = re.compile("[0-9a-f]{7,64}").fullmatch
"""What packagers write in its place is none: `unknown`, `Debian`."""
_device: Final = re.compile(r"^ {2}(\w[\w.:\[\]-]*): (.*) \((\d+) MiB, (\d+) MiB free\)$").match
UNCOUNTED: Final = 1
"""The highest number that a build cannot have: a source without history counts 0, one of a single commit 1."""
_DIGITS: Final = 16
"""Of SHA-256 in hex that a fingerprint keeps; it tells settings apart, and proves nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The program that is measured and the machine that it runs on."""

    version: str | None
    """As `--version` has it: `0.6.0-dev (build 11434, commit abcdef123)`; None where it says none."""
    build: str | None
    """`b11434`; None where the number is one that no build has."""
    commit: str | None
    """None where it is unknown to the program itself."""
    fingerprint: str
    """Of the flags that the program takes; see `flags_fingerprint`."""
    devices: tuple[str, ...]
    """What the engine computes on beside the processor, in its own words: `NVIDIA GeForce RTX 3090`."""
    names: tuple[str, ...] = ()
    """What it calls them, in the same order: `CUDA0`."""
    processor: str
    """`AMD Ryzen 9 5950X 16-Core Processor`; the architecture where nobody knows more."""
    options: tuple[Option, ...] = ()
    """What its help says that it takes."""
    image: str | None = None
    """The id of its image; None natively."""

    def device(self, name: str) -> str | None:
        """The words for what the engine calls by this name, or None."""
        return dict(zip(self.names, self.devices, strict=True)).get(name)


def version(text: str) -> tuple[str | None, str | None, str | None]:
    """Version, build and commit from what `--version` prints; see `Machine`."""
    said = _version(text)
    if said is None:
        return None, None, None
    found = _built(said[1]) or _older(said[1])
    if found is None:
        return said[1], None, None
    number = int(found[1])
    return said[1], f"b{number}" if number > UNCOUNTED else None, found[2] if _commit(found[2]) else None


def devices(text: str) -> tuple[tuple[str, str], ...]:
    """Names and words of the devices from what `--list-devices` prints; empty where there is none."""
    return tuple((found[1], found[2].strip()) for line in text.splitlines() if (found := _device(line)))


def flags_fingerprint(options: Iterable[Option]) -> str:
    """Tell builds apart that call themselves alike: a digest of the sorted names of all options, negations included."""
    return _digest(sorted({name for option in options for name in (*option.names, *option.negations)}))


def arguments_fingerprint(*arms: Sequence[str]) -> str:
    """Tell measurements apart by all that their servers were given, whatever the profile says of it.

    A digest of the arguments of each arm in their order. Of a path its last part counts: where a model lies makes no
    difference, and which one it is is told by its header.
    """
    return _digest(word.rpartition("/")[2] for arm in arms for word in (*arm, ""))


def _digest(words: Iterable[str]) -> str:
    return hashlib.sha256("".join(f"{word}\0" for word in words).encode(errors="surrogateescape")).hexdigest()[:_DIGITS]
