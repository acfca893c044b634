"""What one way of saying something is: how it is recognised, what it means, where it was found."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Severity(StrEnum):
    """What an event means for the service."""

    FATAL = "fatal"
    """The server ends, or does not come up."""
    NOT_SPECULATING = "not speculating"
    """It comes up and answers, and drafts nothing: no exit status and no health check tells."""
    WARNING = "warning"
    INFO = "info"


class Depth(IntEnum):
    """How near an event is to the reason: of several in one run, the nearest one is the cause."""

    REASON = 0
    """It says why."""
    FAILURE = 1
    """It says what failed, which mostly follows a line that says why."""
    END = 2
    """It says only that something ended or is missing."""


class Marks(StrEnum):
    """What an event says of those before it."""

    NOTHING = "nothing"
    RUN = "run"
    """A server begins here: what came before was another run."""
    RECOVERY = "recovery"
    """What failed before did not end the server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """One way in which builds say something."""

    kind: str
    """A slug; several wordings may say the same."""
    severity: Severity
    pattern: str
    """A regular expression for the words of a line from their beginning, or from behind the name of a function. Only
    named groups capture: `message` and `hint` are made of them. It begins with a literal wherever it can."""
    message: str
    """A sentence for people in lower case without a full stop, as of `quadgen.problems`."""
    source: str
    """Where the words stand, parts divided by "; ": build, file and line of llama.cpp
    (https://github.com/ggml-org/llama.cpp), or an address."""
    hint: str = ""
    """What to do about it; empty where nothing is to be done."""
    depth: Depth = Depth.REASON
    marks: Marks = Marks.NOTHING
    located: bool = False
    """Whether the words stand behind file and line of a source, which `message` may name as {file} and {at}."""


def fatal(
    kind: str,
    pattern: str,
    message: str,
    source: str,
    hint: str,
    *,
    depth: Depth = Depth.REASON,
    located: bool = False,
) -> Wording:
    """A wording of a server that ends."""
    return Wording(
        kind=kind, severity=Severity.FATAL, pattern=pattern, message=message, source=source, hint=hint, depth=depth,
        located=located,
    )  # fmt: skip


def refused(kind: str, pattern: str, message: str, source: str, hint: str) -> Wording:
    """A wording of a server that ends before it has begun, so that nothing before it is of the same run."""
    return Wording(
        kind=kind, severity=Severity.FATAL, pattern=pattern, message=message, source=source, hint=hint, marks=Marks.RUN
    )


def silent(kind: str, pattern: str, message: str, source: str, hint: str, *, depth: Depth = Depth.REASON) -> Wording:
    """A wording of a server that comes up without speculation, or without a part of it."""
    return Wording(
        kind=kind, severity=Severity.NOT_SPECULATING, pattern=pattern, message=message, source=source, hint=hint,
        depth=depth,
    )  # fmt: skip


def warns(kind: str, pattern: str, message: str, source: str, hint: str, *, marks: Marks = Marks.NOTHING) -> Wording:
    """A wording that a person should see."""
    return Wording(
        kind=kind, severity=Severity.WARNING, pattern=pattern, message=message, source=source, hint=hint, marks=marks
    )


def tells(kind: str, pattern: str, message: str, source: str, *, marks: Marks = Marks.NOTHING) -> Wording:
    """A wording of something that goes as it should."""
    return Wording(kind=kind, severity=Severity.INFO, pattern=pattern, message=message, source=source, marks=marks)
