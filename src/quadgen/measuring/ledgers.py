"""Which ledger a fleet would read its rows from, also before there is such a file."""

import posixpath
from fnmatch import fnmatchcase
from typing import Final

from quadgen.fleet.load import Fleet
from quadgen.pipeline import ledger_patterns

_ENDING: Final = ".yml"
_SIGNS: Final = "*?["


def reads(fleet: Fleet, name: str) -> bool:
    """Whether a render of the fleet reads a ledger of this name, relative to the fleet file or absolute."""
    parts = _parts(name)
    return any(_matches(_parts(pattern), parts) for pattern in ledger_patterns(fleet))


def ledger(fleet: Fleet, host: str) -> str | None:
    """The ledger for what is measured on a host: one that the fleet reads, called like the host where that can be.

    Relative to the fleet file. None where the fleet reads no ledger that may be written to.
    """
    patterns = ledger_patterns(fleet)
    called = [posixpath.join(posixpath.dirname(each), f"{host}{_ENDING}") for each in patterns if _last_is_open(each)]
    named = [each for each in patterns if not _is_open(each)]
    return next((name for name in (*called, *named) if reads(fleet, name)), None)


def _is_open(pattern: str) -> bool:
    """Whether it matches more than one name."""
    return any(sign in pattern for sign in _SIGNS)


def _last_is_open(pattern: str) -> bool:
    """Whether only its last part matches more than one name."""
    return _is_open(posixpath.basename(pattern)) and not _is_open(posixpath.dirname(pattern))


def _parts(path: str) -> list[str]:
    return posixpath.normpath(path).split("/")


def _matches(pattern: list[str], name: list[str]) -> bool:
    """Whether a path matches as the file system is searched: a `*` takes neither a slash nor a leading dot."""
    if not pattern or not name:
        return pattern in (name, ["**"])
    if pattern[0] == "**":
        further = not name[0].startswith(".") and _matches(pattern, name[1:])
        return _matches(pattern[1:], name) or further
    hidden = name[0].startswith(".") and not pattern[0].startswith(".")
    return not hidden and fnmatchcase(name[0], pattern[0]) and _matches(pattern[1:], name[1:])
