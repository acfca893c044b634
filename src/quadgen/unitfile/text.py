"""What stands in a unit file, as types: encoded text, words that systemd expands, and two refusals.

The template guard prints a `UnitText` and nothing else, so that escaping cannot be forgotten.
"""

import re
from dataclasses import dataclass
from typing import TypeAlias

SPECIFIERS = "CEGHIJLNPSTUVdfghijlnpstu"
"""Letters that `Spec` and `specifier` take: of systemd.unit(5)'s table those that mean the same in systemd
247 to 262 and do not depend on the image or the boot of the machine."""

DIRECTORIES = "CELSTVdht"
"""The specifiers among them that become an absolute directory."""

_spec = re.compile(rf"(?:[^%]|%%|%[{SPECIFIERS}])+").fullmatch


class UnitText(str):
    """Text that an encoder of this package made: after `Key=` it means what the encoder was given."""

    __slots__ = ()


class Unsafe(ValueError):  # noqa: N818 - it is a verdict on the value, not a fault of the program
    """A value that its key cannot carry; `reason` is a clause that says why, without the value."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class Malformed(ValueError):  # noqa: N818 - as above
    """Unit text that Podman or systemd would drop, warn about or read in two ways.

    `line` counts from 1, or is None where only one value was read.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason if line is None else f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class Spec:
    """A word with a specifier that systemd expands, such as `%d/api-key` (`%d`: the credentials directory).

    `text` is what is written: `%d` stays as it is and a literal percent sign is `%%`; a `$` is literal. It is
    never equal to a `str`: the literal word `%d/api-key` is another thing. Raises `Unsafe` where `text` holds
    no specifier, or one that is not in `SPECIFIERS`.
    """

    text: str

    def __post_init__(self) -> None:
        if not _spec(self.text) or "%" not in self.text.replace("%%", ""):
            raise Unsafe(f"a specifier is a % and one of {SPECIFIERS}")

    def __str__(self) -> str:
        return self.text


Word: TypeAlias = str | Spec
"""One word as it is meant: literal text, or text with a specifier of quadgen's own."""
