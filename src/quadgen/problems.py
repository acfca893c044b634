"""What can be wrong with an input, as a value: a code, a sentence, a place and a way out.

The core reports logical paths such as `("hosts", "claw", "profile")`; `pipeline` turns each into a place
once, at the end, since only it holds the documents. Nothing here prints or exits.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

Path = tuple[str | int, ...]
"""Keys and list positions from the top of a document down to a value."""


class Severity(StrEnum):
    """How a problem ends: an error refuses the fleet, a warning and a note only say so."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A span of one line of a file. Line and column count from 1, in characters."""

    file: str
    line: int
    column: int
    length: int = 1
    text: str = ""
    """The whole source line, without its line end, for the caret display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding. `code` is a kebab-case slug and a heading of docs/errors.md."""

    code: str
    message: str
    severity: Severity = Severity.ERROR
    file: str | None = None
    """The document that `path` is a path of, as the user wrote its name; None is the fleet file."""
    path: Path | None = None
    at: Literal["key", "value"] = "value"
    """Whether the caret belongs under the last key of `path` or under its value."""
    label: str = ""
    """A few words beside the caret."""
    host: str | None = None
    service: str | None = None
    notes: tuple[str, ...] = ()
    hint: str | None = None
    place: Place | None = None


class Rejected(Exception):  # noqa: N818 - it is a verdict on the input, not a fault of the program
    """The input is refused; carries every problem that was found, warnings included."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{p.code}: {p.message}" for p in self.problems))


class Unavailable(Exception):  # noqa: N818 - as above
    """Something outside cannot be had (open, write, connect, a needed program): exit code 4."""


@dataclass(slots=True)
class Collector:
    """Gathers problems so that one run reports all of them; a stage raises once, at its end."""

    problems: list[Problem] = field(default_factory=list)

    def add(self, problem: Problem) -> None:
        """Note one problem and go on."""
        self.problems.append(problem)

    def extend(self, problems: Iterable[Problem]) -> None:
        """Note several problems and go on."""
        self.problems.extend(problems)

    @property
    def refused(self) -> bool:
        """Whether any error was noted."""
        return any(p.severity is Severity.ERROR for p in self.problems)

    def check(self) -> None:
        """Raise `Rejected` with everything noted, if any of it is an error."""
        if self.refused:
            raise Rejected(self.problems)
