"""The closed loop on the real llama-server: a refusal, its command, the row, and what render makes of it."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import parts
from command import Done, quadgen
from measured_fleets import COUNTING, fleet, rows, servers, slow

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies", "no_other_timed", "own_home")]

QUICK = ("--tokens", "48", "--workload", "copy")
BRIEF = (*QUICK, "--samples", "4")
"""Enough for a drafter that loses by a half; to win takes more, since so few leave a wide interval."""
TRIES = 3
"""A machine that others use too drifts at times, and then nothing is evidence."""


def hinted(done: Done) -> list[str]:
    """The command that a refusal names, without its first word."""
    found = re.search(r"bring a number: quadgen (.+)$", done.err, re.MULTILINE)
    assert found, done.err
    return shlex.split(found[1])


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path: Path) -> Iterator[None]:
    yield
    assert not servers(tmp_path)


def test_the_command_that_a_refusal_names_brings_the_row_on_which_the_next_render_passes(tmp_path: Path) -> None:
    fleet(tmp_path, parts.gemma())
    refused = quadgen("render", "fleet.yml", cwd=tmp_path)
    assert refused.status == 1
    assert "error[unmeasured-combination]: no measurement says that mapped wins on cpu for small" in refused.err

    words = hinted(refused)
    assert words == ["measure", "--fleet", "fleet.yml", "claw", "--profile", "mapped"]
    for _ in range(TRIES):
        measured = quadgen(*words, *QUICK, "--workload", "prose", cwd=tmp_path)
        if measured.status == 0 and "render    grants" in measured.out:
            break
        (tmp_path / "measurements/claw.yml").unlink(missing_ok=True)
    assert measured.status == 0, measured.err
    assert "render    grants mapped to claw: " in measured.out

    found = {row["workload"]: row for row in rows(tmp_path)}
    assert set(found) == {"copy", "prose"}
    copy = found["copy"]
    assert copy["interval"][0] > 1
    assert (copy["unit"], copy["confirmed"], copy["build"], copy["model"]) == (
        "tok/CPU-s",
        True,
        "b11434",
        "small-of-ours",
    )

    rendered = quadgen("render", "fleet.yml", cwd=tmp_path)
    assert rendered.status == 0, rendered.err
    unit = (tmp_path / "rendered/claw/etc/systemd/system/llama-server.service").read_text(encoding="utf-8")
    assert copy["id"] in unit
    assert "--spec-type ngram-map-k" in unit
    assert copy["id"] in quadgen("explain", "fleet.yml", "claw", cwd=tmp_path).out


def test_a_profile_that_loses_is_refused_with_the_row_that_says_so(tmp_path: Path) -> None:
    fleet(tmp_path, parts.gemma(), profile="selfish")
    words = hinted(quadgen("render", "fleet.yml", cwd=tmp_path))
    measured = quadgen(*words, *BRIEF, cwd=tmp_path)
    assert measured.status == 0, measured.err
    assert "render    refuses selfish for claw: " in measured.out
    (row,) = rows(tmp_path)
    assert row["interval"][1] < 1
    refused = quadgen("render", "fleet.yml", cwd=tmp_path)
    assert refused.status == 1
    assert "error[measured-loss]: selfish does not win on cpu for small" in refused.err
    assert row["id"] in refused.err
    assert not (tmp_path / "rendered").exists()


def alone(directory: Path, server: Path, *words: str) -> dict[str, Any]:
    """What comes of a tiny model without a fleet, which goes on with what it copies."""
    (directory / "counting.txt").write_text(COUNTING, encoding="utf-8")
    done = quadgen(
        "measure", slow(directory), "--server", server, "--backend", "cpu", "--profile", "ngram-map-k",
        "--against", "ngram-map-k", "--workload", "copy=counting.txt", "--tokens", "48", "--server-args", "--threads 1",
        "--format", "json", *words, cwd=directory,
    )  # fmt: skip
    assert done.status in {0, 1}, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told


def test_the_same_setting_against_itself_is_never_a_win(tmp_path: Path) -> None:
    (copy,) = alone(tmp_path, parts.llama_server())["workloads"]
    assert copy["outcome"] != "wins"


def test_a_comparator_that_is_slowed_down_is_found(tmp_path: Path) -> None:
    server = parts.llama_server()
    slowed = tmp_path / "llama-server"
    count = tmp_path / "count"
    # servers come as A B B A; beside those of B something works, and is counted as their work
    slowed.write_text(
        f"""\
#!/bin/sh
case "$*" in *--port*) ;; *) exec {server} "$@" ;; esac
echo x >> {count}
case $(($(wc -l < {count}) % 4)) in 2 | 3) for each in 1 2 3; do while :; do :; done & done ;; esac
exec {server} "$@"
""",
        encoding="utf-8",
    )
    slowed.chmod(0o755)
    (copy,) = alone(tmp_path, slowed, "--no-confirm")["workloads"]
    assert copy["outcome"] == "wins"
    assert copy["ratio"] > 1.3
