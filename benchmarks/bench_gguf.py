"""Measures how quadgen reads the header of a real checkpoint: `make bench`, or with options of its own.

    python benchmarks/bench_gguf.py --runs 5 --json model.gguf

README.md beside this file says what is measured and how to read it.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.bench_render import QUADGEN, Run, progress, run  # noqa: E402 - as above
from benchmarks.table import show  # noqa: E402 - as above
from gguf import GGUFReader  # noqa: E402 - the line above finds what follows

import fetch_gemma  # noqa: E402 - as above
from fetching import cache  # noqa: E402 - as above
from quadgen.disk import windows  # noqa: E402 - as above
from quadgen.facts.reading import read  # noqa: E402 - as above

STARTS: Final = 15
"""Runs of each command."""
FASTER: Final = 40.0
"""Times that quadgen's reader has to be faster than the upstream package's."""
LONGER: Final = 0.35
"""Seconds that `gguf show` may take on top of `--version`."""
LARGER: Final = 64.0
"""MiB that a process may hold on top of an interpreter that does nothing."""
PEAK: Final = """
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        print("peak", line.split()[1])
"""
"""Lets a program say its peak memory in KiB. What the kernel tells the parent includes the parent's own."""
READING: Final = """
import sys
from quadgen.disk import windows
from quadgen.facts.reading import facts
with windows.opened(sys.argv[1]) as sources:
    facts(sources)
"""
SHOWING: Final = """
import runpy, sys
sys.argv[1:] = ["gguf", "show", sys.argv[1]]
try:
    runpy.run_module("quadgen", run_name="__main__")
except SystemExit as end:
    assert not end.code
"""


def ours(path: str) -> set[str]:
    """Read a header with all that facts need of it, digests of the vocabulary included; return its keys."""
    with windows.opened(path) as sources:
        _, (header,) = read(sources)
    return set(header.metadata)


def theirs(path: str) -> set[str]:
    """Read a header with the upstream package."""
    return {name for name in GGUFReader(path).fields if not name.startswith("GGUF.")}


def timed(reader: Callable[[str], set[str]], path: str) -> tuple[float, set[str]]:
    """Seconds of processor time that a reader takes, and the keys that it found."""
    began = time.process_time()
    found = reader(path)
    return time.process_time() - began, found


def readers(path: str, runs: int) -> dict[str, Any]:
    """Both readers in turn, in this process. SystemExit where they do not find the same keys."""
    timed(ours, path)  # warms up: the page cache and the imports
    pairs = []
    for count in range(runs):
        (our, our_keys), (their, their_keys) = timed(ours, path), timed(theirs, path)
        if our_keys != their_keys:
            sys.exit(f"the readers differ in {sorted(our_keys ^ their_keys)}: nothing was compared")
        pairs.append((our, their))
        progress(f"readers, round {count + 1} of {runs}")
    return {
        "case": "reader, times faster", "runs": runs, "quadgen": round(median(our for our, _ in pairs), 4),
        "other": round(median(their for _, their in pairs), 4),
        "figure": round(median(their / our for our, their in pairs), 1), "bound": FASTER, "most": False,
    }  # fmt: skip


def starts(path: str, runs: int) -> list[dict[str, Any]]:
    """`gguf show` against `--version`, as whole processes."""
    pairs: list[tuple[Run, Run]] = []
    for count in range(runs + 1):
        pairs.append((run([*QUADGEN, "gguf", "show", path]), run([*QUADGEN, "--version"])))
        progress(f"commands, round {count} of {runs}")
    return [
        _apart(
            f"gguf show, {what} s above --version",
            [tuple(getattr(one, field) for one in pair) for pair in pairs[1:]],
            LONGER,
        )
        for what, field in (("wall", "wall"), ("user+sys", "cpu"))
    ]


def peaks(path: str) -> list[dict[str, Any]]:
    """The memory of the reader and of `gguf show`, against an interpreter that does nothing."""
    nothing = _peak("", path)
    return [
        _apart("reader, peak MiB above an interpreter", [(_peak(READING, path), nothing)], LARGER),
        _apart("gguf show, peak MiB above an interpreter", [(_peak(SHOWING, path), nothing)], LARGER),
    ]


def _peak(program: str, path: str) -> float:
    """MiB that a program holds at most."""
    done = subprocess.run([sys.executable, "-c", program + PEAK, path], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1]) / 1024


def _apart(case: str, pairs: Sequence[tuple[float, ...]], bound: float) -> dict[str, Any]:
    return {
        "case": case, "runs": len(pairs), "quadgen": round(median(our for our, _ in pairs), 4),
        "other": round(median(their for _, their in pairs), 4),
        "figure": round(median(our - their for our, their in pairs), 3), "bound": bound, "most": True,
    }  # fmt: skip


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument(
        "model", nargs="?", help="a checkpoint in one file; otherwise the one that `make parts` fetches"
    )
    parser.add_argument(
        "--runs", type=int, default=3, help="rounds of both readers; the upstream one takes ten seconds"
    )
    parser.add_argument("--starts", type=int, default=STARTS, help="rounds of the commands")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    path = asked.model or os.environ.get("QUADGEN_GEMMA") or fetch_gemma.checkpoint(cache(os.environ))
    if not Path(path).is_file():
        sys.exit(f"there is no {path}; `make parts` fetches a checkpoint")
    cases = [readers(str(path), asked.runs), *starts(str(path), asked.starts), *peaks(str(path))]
    progress("")
    show(cases, as_json=asked.json)


if __name__ == "__main__":
    main()
