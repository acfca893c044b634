"""How long work shows that it goes on: a bar on a terminal, a line now and then elsewhere."""

import sys
from typing import Final

_WIDTH = 30
_EVERY = 100
"""Hosts between two plain lines."""
_unfinished: Final[list[str]] = []
"""The bar that stands on a terminal's last line, if any."""


def progress(done: int, total: int, name: str) -> None:
    """Show that `done` of `total` hosts are finished, `name` the last of them; silent for a handful."""
    if total < _EVERY // 10:
        return
    if sys.stderr.isatty():
        _bar(done, total, name)
    elif done % _EVERY == 0:
        sys.stderr.write(f"quadgen: {done} of {total} hosts\n")


def step(done: int, total: int, name: str) -> None:
    """Show on a terminal that `done` of `total` are finished and `name` is next; each may take a while."""
    if total and sys.stderr.isatty():
        _bar(done, total, name)


def stage(done: int, total: int, name: str) -> None:
    """Show the same of what takes a while each time: elsewhere it is a line of its own."""
    if total and not sys.stderr.isatty() and done < total:
        sys.stderr.write(f"quadgen: {done} of {total} done, now {_plain(name)}\n")
        sys.stderr.flush()
    step(done, total, name)


def left(done: int, total: int, name: str, seconds: float | None, *, line: bool) -> None:
    """Show how far work of hours is, and how long it goes on, in seconds; None where nobody knows yet.

    Where there is no terminal it is said only if `line`.
    """
    on = "" if seconds is None else f", {duration(seconds)} left"
    if sys.stderr.isatty():
        _bar(done, total, name, on)
    elif line:
        sys.stderr.write(f"quadgen: {done} of {total} samples, now {_plain(name)}{on}\n")
        sys.stderr.flush()


def duration(seconds: float) -> str:
    """About how long that is: `40 s`, `12 min`, `3 h 20 min`."""
    if seconds < 90:  # noqa: PLR2004 - as people say it
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"  # noqa: PLR2004 - as above


def leave() -> None:
    """Let what is said next begin on a line of its own, where work ended before its bar was full."""
    if _unfinished:
        _unfinished.clear()
        sys.stderr.write("\n")


def _bar(done: int, total: int, name: str, on: str = "") -> None:
    filled = _WIDTH * done // total
    end = "\n" if done == total else ""
    shown = _plain(name) + f"{on:<20}" * bool(on)
    _unfinished[:] = [] if end else [name]
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {shown:<30}{end}")
    sys.stderr.flush()


def _plain(name: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in name[:30])
