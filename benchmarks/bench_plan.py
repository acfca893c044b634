"""Measures `quadgen plan` and `render --check` together against one first render to disk.

    python benchmarks/bench_plan.py --hosts 1000 --runs 9 --json

README.md beside this file says what is measured and how to read it.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from benchmarks.bench_render import ENVIRONMENT, QUADGEN, Run, progress, run, scratch  # noqa: E402 - as above
from benchmarks.fleets import fleet as fleet_text  # noqa: E402 - as above
from benchmarks.table import show  # noqa: E402 - as above

BOUND: Final = 1.5
"""Times one first render: what a review and a check of a fleet may cost together."""
GIT: Final = ("git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "gc.auto=0")
DESK: Final = "desk: {context: 32768"


def committed(directory: Path, hosts: int) -> tuple[str, str]:
    """A repository with a fleet and its rendered tree; the fleet, and the same with a group that has changed."""
    same, other = str(directory / "fleet.yml"), str(directory / "changed.yml")
    text = fleet_text(hosts)
    Path(same).write_text(text, encoding="utf-8")
    Path(other).write_text(text.replace(DESK, "desk: {context: 16384"), encoding="utf-8")
    run([*QUADGEN, "render", same, "-o", str(directory / "rendered")])
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "fleet"]):
        subprocess.run([*GIT, *words], cwd=directory, env=ENVIRONMENT, check=True)
    return same, other


def cases(hosts: int, runs: int, directory: Path) -> Iterator[dict[str, Any]]:
    """A plan and a check where nothing changed, and where a group did; each round has a first render of its own."""
    same, other = committed(directory, hosts)
    tree, fresh = str(directory / "rendered"), directory / "first"
    found: dict[str, list[tuple[Run, Run, Run]]] = {}
    for count in range(runs + 1):
        for name, fleet, status in (("nothing changed", same, 0), ("a group changed", other, 3)):
            shutil.rmtree(fresh, ignore_errors=True)
            first = run([*QUADGEN, "render", fleet, "-o", str(fresh)])
            check = run([*QUADGEN, "render", fleet, "--check", "-o", tree], expected=status)
            plan = run([*QUADGEN, "plan", fleet, "-o", tree])
            if count:  # the first round only warms up
                found.setdefault(name, []).append((first, check, plan))
        progress(f"{hosts} hosts, round {count} of {runs}")
    for name, rounds in found.items():
        yield from (case(name, what, rounds) for what in ("cpu", "wall"))


def case(name: str, what: str, rounds: list[tuple[Run, Run, Run]]) -> dict[str, Any]:
    """One figure: the median of the ratios, round by round."""
    both = [getattr(check, what) + getattr(plan, what) for _, check, plan in rounds]
    firsts = [getattr(first, what) for first, _, _ in rounds]
    return {
        "case": f"{name}: plan and --check, {what}",
        "quadgen": round(median(both), 3),
        "other": round(median(firsts), 3),
        "figure": round(median(one / other for one, other in zip(both, firsts, strict=True)), 3),
        "bound": BOUND,
        "most": True,
    }


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with scratch(ROOT / ".cache") as directory:
        found = [*cases(asked.hosts, asked.runs, directory)]
    show(found, as_json=asked.json)


if __name__ == "__main__":
    main()
