"""What tests of the gate share: how a fleet that tries a way past it is refused."""

from collections.abc import Mapping

from fleets import NONE, compile_text, refusals

DOOR = "speculation-outside-profile"
UNSAFE = "unsafe-value"


def codes(text: str, files: Mapping[str, str | bytes] = NONE) -> set[str]:
    """The codes of the refusals of a fleet that must have some; none of its units may be written."""
    found = refusals(text, files)
    assert compile_text(text, files).refused
    assert all(problem.place is not None and problem.place.file in ("fleet.yml", *files) for problem in found)
    return {problem.code for problem in found}
