"""Measures a pull that finds nothing to do against a run of Ansible that copies one directory: `make bench`, or alone.

    python benchmarks/bench_pull.py --services 20 --runs 7 --json

README.md beside this file says what is measured and how to read it.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from benchmarks.bench_render import progress  # noqa: E402 - the line above finds it
from benchmarks.table import show  # noqa: E402 - as above

from ansible_fleets import fleet, free_ports  # noqa: E402 - as above
from ansible_run import Ran, Site, open_place  # noqa: E402 - as above

BOUND: Final = 3.0
"""Times the run that copies."""
COPY: Final = """\
- name: Copy one directory
  hosts: all
  gather_facts: false
  tasks:
    - name: Copy it
      ansible.builtin.copy:
        src: "{{{{ playbook_dir }}}}/rendered/claw/"
        dest: "{{{{ quadgen_root }}}}/copy/"
        mode: preserve
        remote_src: {remote}
"""
"""Ansible copies a directory file by file; one that is on the host already (`remote_src`) by a single call."""
KINDS: Final = {"copy": "a copy", "call": "a copy in one call"}


def installed(place: Path, services: int) -> Site:
    """A host with so many services, all of them running, and a copy of its directory."""
    site = Site(place=place).make()
    ports = free_ports(services)
    site.commit(fleet({f"chat-{number:02d}": {"port": port} for number, port in enumerate(ports)}))
    for name in KINDS:
        (site.repository / f"{name}.yml").write_text(COPY.format(remote=name == "call"), encoding="utf-8")
    site.pull().succeeded()
    site.play(name="copy.yml").succeeded()
    return site


def timed(run: Callable[[], Ran], actions: list[str]) -> float:
    """Seconds of a run, which must do these actions and change nothing. SystemExit where it does otherwise."""
    start = time.perf_counter()
    ran = run()
    seconds = time.perf_counter() - start
    if ran.status != 0 or ran.actions != actions or ran.totals["changed"]:
        sys.exit(f"this was no run without a change:\n{ran.out}")
    return seconds


def rounds(site: Site, runs: int) -> dict[str, list[float]]:
    """Seconds of each kind of run, in turn; the first round only warms up."""
    found: dict[str, list[float]] = {"pull": [], "play": [], "copy": [], "call": []}
    for count in range(runs + 1):
        took = {
            "pull": timed(site.pull, ["survey"]),
            "copy": timed(lambda: site.play(name="copy.yml"), ["copy"]),
            "play": timed(site.play, ["survey"]),
            "call": timed(lambda: site.play(name="call.yml"), ["copy"]),
        }
        progress(f"round {count} of {runs}")
        if count:
            for name, seconds in took.items():
                found[name].append(seconds)
    return found


def cases(found: dict[str, list[float]], services: int) -> list[dict[str, Any]]:
    """Each kind of run of the role against those that copy, pair by pair."""
    made = []
    for ours, theirs in (("pull", "copy"), ("play", "copy"), ("play", "call")):
        ratios = [one / other for one, other in zip(found[ours], found[theirs], strict=True)]
        made.append({
            "case": f"{ours} of {services}, times {KINDS[theirs]}", "runs": len(ratios),
            "quadgen": round(median(found[ours]), 3), "other": round(median(found[theirs]), 3),
            "figure": round(median(ratios), 2), "bound": BOUND, "most": True,
        })  # fmt: skip
    return made


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("--services", type=int, default=20, help="services of the host")
    parser.add_argument("--runs", type=int, default=7, help="counted rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    asked = parser.parse_args()
    with open_place() as place:
        found = rounds(installed(place, asked.services), asked.runs)
    progress("")
    show(cases(found, asked.services), as_json=asked.json)


if __name__ == "__main__":
    main()
