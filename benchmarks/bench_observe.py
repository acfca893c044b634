"""Measures how quadgen reads a log of a gigabyte: `make bench`, or with options of its own.

    python benchmarks/bench_observe.py --size 1000 --runs 3 --json

README.md beside this file says what is measured and how to read it.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from benchmarks.bench_render import ENVIRONMENT, QUADGEN, Run, progress, run  # noqa: E402 - the line above finds it
from benchmarks.table import show  # noqa: E402 - as above

CAPTURE: Final = ROOT / "tests" / "data" / "server-log-b11434.txt"
"""What a real server logged of four requests, at the level that it logs by default."""
MEGABYTE: Final = 1_000_000
GREP: Final = ("sh", "-c", 'exec grep -c acceptance "$0" > "$0.count"')
"""Into a file: grep that sees /dev/null behind it ends at the first match."""
COPIES: Final = 2500
"""Times that the capture stands in the log with other numbers, before these come again."""
FAST: Final = 200.0
"""Megabytes a second that suffice, whatever grep does."""
SLOW: Final = 3.0
"""Times grep's time that suffice, whatever the machine does meanwhile."""
LARGER: Final = 32.0
"""MiB that a process may hold on top of one that reads a log of four requests."""
PEAK: Final = """
import runpy, sys
sys.argv[1:] = ["observe", sys.argv[1]]
try:
    runpy.run_module("quadgen", run_name="__main__")
except SystemExit as end:
    assert not end.code
import resource
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
print("peak", *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")))
"""
"""Lets a program say the peak memory of those that it started, and its own, in KiB. What the kernel tells its parent
includes the parent's own."""


def write_log(path: Path, megabytes: float) -> float:
    """Write a log of about this size, and return the size that it has; the requests of it have numbers of their own."""
    text = "".join(f"{line}\n" for line in CAPTURE.read_text(encoding="utf-8").splitlines() if " I slot " in line)
    copies = [varied(text, number).encode() for number in range(COPIES)]
    size, number = 0, 0
    with path.open("wb") as file:
        while size < megabytes * MEGABYTE:
            size += file.write(copies[number % COPIES])
            number += 1
    return size / MEGABYTE


def varied(text: str, number: int) -> str:
    """The requests of the capture with other tasks, times, tokens and drafts."""

    def time(found: re.Match[str]) -> str:
        return f"{found[1]}.{number % 100:02d} ms / {int(found[2]) + number % 200:5d} tokens"

    def drafts(found: re.Match[str]) -> str:
        accepted, rounds = int(found[1]) + number % 83, 18 + number % 7
        length = 1 + accepted / rounds
        return f"({accepted:5d} accepted / {accepted + number % 41 + 1:5d} generated), mean len = {length:5.2f}"

    text = re.sub(r"task (\d+)", lambda found: f"task {int(found[1]) + 50 * number}", text)
    text = re.sub(r"(\d+)\.\d\d ms / +(\d+) tokens", time, text)
    return re.sub(r"\( +(\d+) accepted / +\d+ generated\), mean len = +[\d.]+", drafts, text)


def speeds(log: Path, megabytes: float, runs: int) -> list[dict[str, Any]]:
    """`quadgen observe` and `grep -c acceptance` in turn, as whole processes."""
    pairs: list[tuple[Run, Run]] = []
    for count in range(runs + 1):  # the first one brings the log into the page cache
        pairs.append((run([*QUADGEN, "observe", str(log)]), run([*GREP, str(log)])))
        progress(f"observe and grep, round {count} of {runs}")
    ours, theirs = ([pair[each].wall for pair in pairs[1:]] for each in (0, 1))
    ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
    seconds = {"runs": runs, "quadgen": round(median(ours), 3), "other": round(median(theirs), 3)}
    fast = {"case": "observe, MB/s", **seconds, "figure": round(megabytes / median(ours), 1), "bound": FAST}
    slow = {"case": "observe, times grep -c", **seconds, "figure": round(median(ratios), 2), "bound": SLOW}
    return [fast | {"most": False}, slow | {"most": True}]


def memory(log: Path) -> dict[str, Any]:
    """What `quadgen observe` holds at most, above what it holds for a log of four requests."""
    ours, theirs = (peak(path) for path in (log, CAPTURE))
    return {
        "case": "observe, peak MiB above a small log's", "runs": 1, "quadgen": round(ours, 1),
        "other": round(theirs, 1), "figure": round(ours - theirs, 1), "bound": LARGER, "most": True,
    }  # fmt: skip


def peak(log: Path) -> float:
    """MiB that a process of `quadgen observe` holds at most."""
    command = [sys.executable, "-c", PEAK, str(log)]
    done = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    others, _, own = done.stdout.split()[-3:]
    return max(int(others), int(own)) / 1024


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--size", type=float, default=1000.0, help="megabytes of the log, which stands in $TMPDIR")
    parser.add_argument("--runs", type=int, default=5, help="counted rounds of quadgen and grep")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--write", type=Path, help="only write the log, to this file")
    asked = parser.parse_args()
    if asked.write:
        write_log(asked.write, asked.size)
        return
    with tempfile.TemporaryDirectory(prefix="quadgen-bench-") as directory:
        log = Path(directory) / "server.log"
        size = write_log(log, asked.size)
        cases = [*speeds(log, size, asked.runs), memory(log)]
    progress("")
    show(cases, as_json=asked.json)


if __name__ == "__main__":
    main()
