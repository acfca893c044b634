"""How long work shows that it goes on: a bar on a terminal, a line now and then elsewhere."""

import sys

_WIDTH = 30
_EVERY = 100
"""Hosts between two plain lines."""


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


def _bar(done: int, total: int, name: str) -> None:
    filled = _WIDTH * done // total
    end = "\n" if done == total else ""
    shown = "".join(char if char.isprintable() else "?" for char in name[:30])
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {shown:<30}{end}")
    sys.stderr.flush()
