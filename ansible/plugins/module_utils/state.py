"""What quadgen owns on this host, and how far the last pull came: state.json, which outlives every killed run.

Whoever changes the host first writes what may then be there, so that the next run knows what it may replace and
remove. One run at a time: `locked` waits for the other.

Anybody may read state.json, which says no more than what is installed does: a user's `quadgen verify` needs it. Why a
tree was rolled back quotes the journal, and so is for the owner alone, in a file beside it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pwd
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final

from . import tree
from .managers import Trouble

FILE: Final = "state.json"
GOOD: Final = "good"
"""A link to the copy of the last tree whose services were all healthy, below `TREES`."""
TREES: Final = "trees"
AS_ROOT: Final = "/var/lib/quadgen"
_WHY: Final = "refused.json"
"""Why a tree was rolled back, with its digest."""
_MODES: Final = {FILE: 0o644, _WHY: 0o600}
_MODE: Final = 0o711
"""Of the directory: whoever can open it can hold its lock, and so stop every pull; who reads state.json need not."""


@dataclass(frozen=True)
class Owned:
    """A service that quadgen installed: in whose manager (None: the system's), and the digest of its words."""

    user: str | None
    restart: str
    after: tuple[str, ...] = ()
    stop_timeout: int | None = None
    """Seconds; None in what an earlier version wrote."""


def remembered(services: Iterable[tree.Service]) -> dict[str, Owned]:
    """What is remembered of the services of a tree, by unit."""
    return {each.unit: Owned(each.user, each.restart, each.after, each.stop_timeout) for each in services}


@dataclass(frozen=True)
class State:
    """state.json. Paths are relative to the root; the digest of a file is that of its bytes."""

    host: str | None = None
    """Whose tree is installed here; None before the first."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Each file that was installed, with its digest."""
    pending: Mapping[str, str] = field(default_factory=dict)
    """While files are being replaced, or after a run that was killed there: what they may have become instead."""
    made: tuple[str, ...] = ()
    """Directories that quadgen made, and so may remove once they are empty."""
    services: Mapping[str, Owned] = field(default_factory=dict)
    """By unit; those that went stay until they were stopped."""
    running: Mapping[str, str] = field(default_factory=dict)
    """By unit, the `restart` digest of what was last started, or is what the next start will start."""
    images: tuple[tuple[str, str | None], ...] = ()
    """Images that were pulled for it, each with the user whose they are."""
    stale: tuple[str | None, ...] = ()
    """Whose managers (None: the system's) have not read their units since files changed, also where a service left."""
    refused: str | None = None
    """The digest of a manifest whose tree was rolled back."""
    reason: str | None = None
    """Why, as one sentence, `LOST` where the owner's file does not say; it is in that file, not in state.json."""

    @property
    def owned(self) -> frozenset[str]:
        """Every path that quadgen may replace and remove."""
        return frozenset(self.files) | frozenset(self.pending)


LOST: Final = "nobody kept why"

NEW: Final = State()
"""The state of a host on which quadgen has done nothing."""


def directory(option: str | None, root: str) -> str:
    """Where the state of a host lies: below `root`, which is / but for a test or an image that is being made."""
    if option is None:
        home = pwd.getpwuid(os.geteuid()).pw_dir if os.geteuid() else ""
        option = os.path.join(home, ".local/state/quadgen") if os.geteuid() else AS_ROOT
    return option if root == "/" else os.path.join(root, option.lstrip("/"))


def read(place: str) -> State:
    """Read the state in its directory; `NEW` where there is none. Raises Trouble where it is not quadgen's."""
    path = os.path.join(place, FILE)
    if not os.path.lexists(path):
        return NEW
    try:
        found = _state(json.loads(tree.bytes_of(path)))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        hint = "restore it, or remove it: then what is there and as rendered becomes quadgen's again"
        raise Trouble(f"{path} is no state that this collection wrote: {hint}") from None
    return replace(found, reason=_why(place, found.refused) or (LOST if found.refused else None))


def write(place: str, state: State) -> None:
    """Replace state.json in one step; its directory is there while it is `locked`.

    It reaches the disk before its name does: a machine that loses power must not come up with an empty state.
    Raises Trouble where it cannot be written; then the one before stays.
    """
    said = {"version": 1, **asdict(state)}
    reason = said.pop("reason")
    if reason is not None and reason != _why(place, state.refused):
        _put(place, _WHY, {"refused": state.refused, "reason": reason})
    _put(place, FILE, said)
    if reason is None:
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(place, _WHY))


def _put(place: str, name: str, said: Mapping[str, Any]) -> None:
    path = os.path.join(place, name)
    aside = os.path.join(place, _aside(name))
    data = json.dumps(said, indent=1, sort_keys=True).encode() + b"\n"
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _MODES[name])
        try:
            os.fchmod(handle, _MODES[name])  # whatever the umask
            written = os.write(handle, data)
            while written < len(data):
                written += os.write(handle, data[written:])
            os.fsync(handle)
        finally:
            os.close(handle)
        os.rename(aside, path)
    except OSError as error:
        raise Trouble(f"cannot write {path}: {error.strerror}") from error


def _aside(name: str) -> str:
    """What becomes a file of the state by a rename."""
    return f".{name}.new"


def _why(place: str, refused: str | None) -> str | None:
    """Why the tree of this digest was rolled back; None where that is not kept."""
    try:
        found = json.loads(tree.bytes_of(os.path.join(place, _WHY)))
    except (Trouble, ValueError, RecursionError):
        return None
    reason = found.get("reason") if isinstance(found, dict) and found.get("refused") == refused else None
    return reason if isinstance(reason, str) else None


@contextlib.contextmanager
def locked(place: str, *, reading: bool = False) -> Iterator[None]:
    """Hold the state's directory, made where it is missing; waits while another run holds it.

    `reading`: nothing is made, and others may read as well. The lock goes with the process that holds it.
    Raises Trouble where the directory cannot be had.
    """
    try:
        handle = _lock(place, reading=reading)
    except FileNotFoundError:
        if not reading:
            raise Trouble(f"cannot make {place}: what is above it went") from None
        yield
        return
    except OSError as error:
        raise Trouble(f"cannot use {place}: {error.strerror}") from error
    try:
        if not reading:
            for name in _MODES:
                with contextlib.suppress(OSError):  # of a run that was killed; what stays is said by `write`
                    os.unlink(os.path.join(place, _aside(name)))
        yield
    finally:
        os.close(handle)


def _lock(place: str, *, reading: bool) -> int:
    while True:
        if not reading:
            _make(place)
        handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH if reading else fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(handle), os.stat(place)):
                return handle
        except FileNotFoundError:  # removed while this one waited
            pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _make(place: str) -> None:
    umask = os.umask(0o022)
    try:
        os.makedirs(place, _MODE, exist_ok=True)
    finally:
        os.umask(umask)


def good(place: str) -> str | None:
    """The directory of the last tree that was healthy; None where none ever was."""
    path = os.path.join(place, GOOD)
    return path if os.path.isdir(path) else None


def remove(place: str) -> None:
    """Forget everything, state.json last: nothing of quadgen's is on this host any more."""
    shutil.rmtree(os.path.join(place, TREES), ignore_errors=True)
    for name in (GOOD, _WHY, FILE):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(place, name))
    with contextlib.suppress(OSError):
        os.rmdir(place)


def _state(found: dict[str, Any]) -> State:
    if found["version"] != 1:
        raise ValueError(found["version"])
    known = {each.name for each in fields(State)}
    given: dict[str, Any] = {key: value for key, value in found.items() if key in known}
    _check("stale", (("" if user is None else user, "") for user in given.get("stale", ())), paths=False)
    for key in ("files", "pending", "running"):
        _check(key, given.get(key, {}).items(), paths=key != "running")
    _check("made", ((path, "") for path in given.get("made", ())), paths=True)
    _check("images", ((image, "" if user is None else user) for image, user in given.get("images", ())), paths=False)
    if "services" in given:
        given["services"] = {
            unit: Owned(each["user"], each["restart"], tuple(each.get("after", ())), _seconds(each.get("stop_timeout")))
            for unit, each in given["services"].items()
        }
        for owned in given["services"].values():
            whose = "" if owned.user is None else owned.user
            _check("services", ((name, owned.restart) for name in (whose, *owned.after)), paths=False)
    given["stale"] = tuple(given.get("stale", ()))
    given["made"] = tuple(given.get("made", ()))
    given["images"] = tuple((image, user) for image, user in given.get("images", ()))
    return State(**given)


def _seconds(value: object) -> int | None:
    if value is not None and not isinstance(value, int):
        raise ValueError(value)
    return value


def several(users: Iterable[str | None]) -> tuple[str | None, ...]:
    """Whose managers, each once, in an order that does not depend on how they came."""
    return tuple(sorted(set(users), key=lambda user: user or ""))


def _check(key: str, pairs: Iterable[tuple[Any, Any]], *, paths: bool) -> None:
    """Refuse pairs of anything but texts, the first of which are paths."""
    for first, second in pairs:
        if not isinstance(first, str) or not isinstance(second, str) or (paths and not tree.is_path(first)):
            raise ValueError(key)
