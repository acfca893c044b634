"""What speaks against a drafter, before it has a place in a fleet."""

from dataclasses import dataclass

from quadgen.problems import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Objection:
    """One reason; whoever knows where the drafter is named makes a `quadgen.problems.Problem` of it."""

    code: str
    """Of the problem."""
    sentence: str
    """Without its end."""
    note: str | None = None
    """What the server would do."""
    hint: str | None = None
    severity: Severity = Severity.ERROR
    """An error where the server ends, fails, or never uses a draft; a warning where it drafts poorly."""
    build: int | None = None
    """The newest build whose source says so, where a later one may have learned it; None where that is no matter."""
