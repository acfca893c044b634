"""Bring what is real that the suite is judged by: Podman's Quadlet generators, a checkpoint and llama.cpp's server.

They lie below `.cache/parts` ($QUADGEN_PARTS moves it), each with a stamp, so that a second run needs neither the
network nor a compiler; see fetch_quadlet.py, fetch_gemma.py and fetch_llama.py.

    python tests/fetch_parts.py [--refresh]

Exit status: 0 everything is there, 4 something is missing, after one line on stderr for each. Only the
standard library is used: it runs before anything is installed.
"""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import fetch_gemma
import fetch_llama
import fetch_quadlet
from fetching import CannotFetch, cache

Part = tuple[str, Callable[[], Path], Callable[[], Path | None]]
"""What a part is called, how it is had, and what an earlier run had already."""


def main(arguments: list[str]) -> int:
    """Make sure that every part is there; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="fetch_parts", description="Bring the real programs and files that tests use."
    )
    parser.add_argument(
        "--refresh",
        action="store_true",
        help="ask Debian again, also for what is there; the checkpoint and the server are of one source, and stay",
    )
    missing = 0
    for what, bring, present in parts(cache(os.environ), refresh=parser.parse_args(arguments).refresh):
        try:
            program = bring()
        except CannotFetch as reason:
            kept = present()
            missing += kept is None
            so = "its tests are skipped" if kept is None else f"keeping {kept.parent.name}"
            say(f"no new {what}: {reason}; {so}")
        else:
            sys.stdout.write(f"{program}\n")
            sys.stdout.flush()
    return 4 if missing else 0


def parts(home: Path, *, refresh: bool) -> Iterator[Part]:
    """Every part, what takes longest last."""
    below = home / "quadlet"
    for suite in fetch_quadlet.SUITES:
        yield (
            f"Quadlet of Debian {suite}",
            partial(fetch_quadlet.quadlet, below, suite, refresh=refresh),
            partial(fetch_quadlet.present, below, suite),
        )
    yield "Gemma 3 270M", partial(fetch_gemma.gemma, home, say), partial(fetch_gemma.present, home)
    yield (
        f"llama-server {fetch_llama.BUILD}",
        partial(fetch_llama.llama_server, home, say),
        partial(fetch_llama.present, home),
    )


def say(line: str) -> None:
    """Tell the user something that is no result."""
    sys.stderr.write(f"fetch_parts: {line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that directories are cleaned up
    sys.exit(main(sys.argv[1:]))
