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
        filled = _WIDTH * done // total
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r[{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{total} {name[:30]:<30}{end}")
        sys.stderr.flush()
    elif done % _EVERY == 0:
        sys.stderr.write(f"quadgen: {done} of {total} hosts\n")
