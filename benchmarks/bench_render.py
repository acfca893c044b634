"""Measures quadgen against a plain script that writes the same files: `make bench`, or with options of its own.

    python benchmarks/bench_render.py --hosts 1 1000 --runs 9 --json

README.md beside this file says what is measured and how to read it.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a directory of our own below it
QUADGEN: Final = (sys.executable, "-m", "quadgen")
PLAIN: Final = (sys.executable, "-m", "benchmarks.plain")
TINY: Final = (sys.executable, "-m", "benchmarks.tiny_typer")
FIRST, OVERWRITE, UNCHANGED = SCENARIOS = ("first render", "full overwrite", "unchanged")
"""Nothing is there; another revision of the fleet is there, which differs in every file; the same one is there."""
RUNS: Final = {1: 15, 1000: 7, 10000: 3}
"""Runs of each size where --runs does not say."""
STARTS: Final = 15
"""Runs of `--version` and `--help`."""
ENVIRONMENT: Final = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Every program runs from cached bytecode, as an installed one does; the first round writes it."""
MEMORY_BOUND: Final = 2.0
START_BOUND: Final = 1.3
UNCHANGED_BOUND: Final = 1.2


def _bound(scenario: str, hosts: int) -> float | None:
    """What quadgen may take, in times of the script's time; None where nothing is promised."""
    if scenario in (FIRST, OVERWRITE):
        return 1.5 if hosts >= 10000 else 1.6 if hosts in (1, 1000) else None  # noqa: PLR2004 - the promise's own sizes
    return UNCHANGED_BOUND if scenario == UNCHANGED and hosts >= 10000 else None  # noqa: PLR2004 - as above


@dataclass(frozen=True, slots=True)
class Run:
    """One process that ended: seconds of wall clock, of user and system time together, and peak memory in MiB."""

    wall: float
    cpu: float
    memory: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Runs of quadgen, each with the run of the other program that came right after it."""

    name: str
    hosts: int | None
    ours: tuple[Run, ...]
    theirs: tuple[Run, ...]
    bound: float | None
    memory_bound: float | None

    def ratios(self, what: str) -> list[float]:
        """Ours / theirs, pair by pair, in rising order."""
        pairs = zip(self.ours, self.theirs, strict=True)
        return sorted(getattr(our, what) / getattr(their, what) for our, their in pairs)

    def record(self) -> dict[str, Any]:
        """The case as JSON has it: seconds, MiB, and [lowest, median, highest] of the ratios."""
        found: dict[str, Any] = {"case": self.name, "hosts": self.hosts, "runs": len(self.ours)}
        for what in ("wall", "cpu", "memory"):
            ratios = self.ratios(what)
            found[what] = {
                "quadgen": round(median(getattr(run, what) for run in self.ours), 4),
                "other": round(median(getattr(run, what) for run in self.theirs), 4),
                "ratio": [round(each, 3) for each in (ratios[0], median(ratios), ratios[-1])],
                "bound": self.memory_bound if what == "memory" else self.bound,
            }
        return found


def run(command: Sequence[str], *, expected: int = 0) -> Run:
    """Run a program to its end, from the checkout's root. SystemExit where it does not end as expected."""
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said
        )
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != expected:
            said.seek(0)
            sys.exit(f"{' '.join(command)} ended with {process.returncode}\n{said.read().decode(errors='replace')}")
    return Run(wall=wall, cpu=used.ru_utime + used.ru_stime, memory=used.ru_maxrss / 1024)


def same(one: Path, other: Path) -> None:
    """Make sure that two trees hold the same files with the same bytes. SystemExit where they do not."""
    first, second = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (one, other)
    )
    if first != second:
        names = sorted(str(name) for name in first.keys() | second.keys() if first.get(name) != second.get(name))
        sys.exit(f"{one} and {other} differ in {len(names)} files, the first is {names[0]}: nothing was compared")


def renders(hosts: int, runs: int, directory: Path, *, scenarios: Sequence[str] = SCENARIOS) -> Iterator[Case]:
    """The scenarios, from the first one on and in their order, quadgen and the script in turn."""
    fleets = [str(directory / "one.yml"), str(directory / "two.yml")]
    for revision, fleet in enumerate(fleets, 1):
        command = [sys.executable, "-m", "benchmarks.fleets", str(hosts), "--revision", str(revision)]
        made = subprocess.run(command, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
        Path(fleet).write_bytes(made.stdout)
    ours, theirs = directory / "quadgen", directory / "plain"
    done: dict[str, list[tuple[Run, Run]]] = {}
    for count in range(runs + 1):
        for root in (ours, theirs):
            shutil.rmtree(root, ignore_errors=True)
        for name in scenarios:
            fleet = fleets[name != FIRST]
            our = run([*QUADGEN, "render", fleet, "-o", str(ours)])
            their = run([*PLAIN, fleet, str(theirs), *(["--compare"] if name == UNCHANGED else [])])
            if count:  # the first round only warms up: bytecode and the page cache
                done.setdefault(name, []).append((our, their))
            else:
                same(ours, theirs)
        progress(f"{hosts} hosts, round {count} of {runs}")
    for name, pairs in done.items():
        yield Case(
            name=name, hosts=hosts, ours=tuple(our for our, _ in pairs), theirs=tuple(their for _, their in pairs),
            bound=_bound(name, hosts), memory_bound=MEMORY_BOUND,
        )  # fmt: skip


def first_on_disk(hosts: int, runs: int, directory: Path) -> Case:
    """The first render into a directory on a disk, where a temporary file and a rename cost more than in memory."""
    (case,) = renders(hosts, runs, directory, scenarios=[FIRST])
    return Case(name=f"{FIRST}, disk", hosts=hosts, ours=case.ours, theirs=case.theirs, bound=None, memory_bound=None)


def starts(option: str, runs: int) -> Case:
    """`quadgen --version` or `--help` against those of the smallest Typer application."""
    pairs = [(run([*QUADGEN, option]), run([*TINY, option])) for _ in range(runs + 1)][1:]
    progress(option)
    return Case(
        name=option, hosts=None, ours=tuple(our for our, _ in pairs), theirs=tuple(their for _, their in pairs),
        bound=START_BOUND, memory_bound=None,
    )  # fmt: skip


def progress(text: str) -> None:
    """Show on a terminal that it goes on."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


@contextmanager
def scratch(above: Path) -> Iterator[Path]:
    """A directory that goes away with the files in it."""
    above.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=above, prefix="quadgen-bench-") as name:
        yield Path(name)


def table(cases: Sequence[Case]) -> Iterator[str]:
    """The cases as lines of text; ! marks a median above its bound."""
    head = ("case", "hosts", "quadgen", "other", "wall x", "user+sys x (low-high)", "bound", "memory MiB", "x", "bound")
    rows = [head]
    for case in cases:
        wall, cpu, memory = (case.record()[what] for what in ("wall", "cpu", "memory"))
        rows.append((
            case.name, "" if case.hosts is None else f"{case.hosts:,}", f"{cpu['quadgen']:.3f} s",
            f"{cpu['other']:.3f} s", _marked(wall), f"{_marked(cpu)} ({cpu['ratio'][0]:.2f}-{cpu['ratio'][-1]:.2f})",
            "" if case.bound is None else f"{case.bound:.1f}", f"{memory['quadgen']:.0f} / {memory['other']:.0f}",
            _marked(memory), "" if case.memory_bound is None else f"{case.memory_bound:.1f}",
        ))  # fmt: skip
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _marked(figures: dict[str, Any]) -> str:
    middle = figures["ratio"][1]
    return f"{middle:.2f}{'!' if figures['bound'] is not None and middle > figures['bound'] else ''}"


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--hosts", type=int, nargs="*", default=[1, 1000, 10000], help="sizes of the fleets")
    parser.add_argument("--runs", type=int, help="counted runs of each case; otherwise fewer for larger fleets")
    parser.add_argument("--memory", type=Path, default=MEMORY, help="a directory in memory, such as a tmpfs")
    parser.add_argument("--disk", type=Path, default=ROOT / ".cache", help="a directory on a disk")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    cases = [starts(option, asked.runs or STARTS) for option in ("--version", "--help")]
    for hosts in asked.hosts:
        runs = asked.runs or RUNS.get(hosts, 5)
        with scratch(asked.memory) as directory:
            cases += renders(hosts, runs, directory)
        with scratch(asked.disk) as directory:
            cases.append(first_on_disk(hosts, max(2, runs // 3), directory))
    progress("")
    if asked.json:
        print(json.dumps([case.record() for case in cases], indent=1))
    else:
        print("\n".join(table(cases)))


if __name__ == "__main__":
    main()
