"""Every code that a fleet can trigger, as `quadgen check fleet.yml` prints it: a directory each, the full text.

A directory is named after its code and holds `fleet.yml`, what stands beside it, and `expected.txt`. To write
the text of a new one: `cd tests/refusals/CODE && quadgen check fleet.yml 2> expected.txt`, and then read it.
"""

import re
from pathlib import Path

import pytest

from command import quadgen
from hosts import snapshot
from source import ROOT

HERE = Path(__file__).parent / "refusals"
DIRECTORIES = sorted(path.name for path in HERE.iterdir())
HARMLESS = {"context-unknown", "deprecated-flag", "image-unverified", "sandbox-loosened"}
"""Codes that never refuse a fleet."""
ELSEWHERE = {
    "ambiguous-file",  # of the directories that `quadgen lock` looks into
    "baseline-drift",  # of samples
    "cached-prompt",  # of samples
    "degenerate-output",  # of samples
    "file-changed",  # of a host
    "file-missing",  # of a rendered tree
    "foreign-drop-in",
    "generator-differs",
    "generator-refused",
    "greedy-difference",  # of samples
    "left-over",  # of a host
    "lock-differs",  # of `quadgen lock --check`
    "malformed-gguf",  # of a checkpoint
    "not-ours",  # of the output directory
    "not-recorded",  # of `quadgen lock`
    "not-speculating",  # of a server that is measured
    "not-verified",
    "nothing-accepted",  # of samples
    "nothing-drafted",  # of samples
    "nothing-measured",  # of a log that triage reads
    "nothing-to-verify",
    "other-build",  # of a server that is measured
    "other-machine",  # of a server that is measured
    "other-model",  # of a file that is measured
    "reload-due",  # of a host
    "repeated-texts",  # of servers that run and are measured
    "server-drift",  # of a server that runs
    "server-ended",  # of a server that is measured
    "service-down",  # of a host
    "service-stale",  # of a host
    "systemd-refused",
    "truncated",  # of samples
    "unasked-drafts",  # of samples
    "undecided",  # of samples
    "unequal-share",  # of samples
    "unexplained-gain",  # of samples
    "unit-not-enabled",  # of a host
    "unit-not-loaded",  # of a host
    "unit-shadowed",  # of a host
    "unlike-servers",  # of servers that run and are measured
    "unreadable-agreement",  # of what agreement printed
    "unreadable-help",  # of a help text
    "unreadable-log",  # of a server's log
    "unreadable-metrics",  # of what /metrics answered
    "unreadable-prompts",  # of a file of prompts
    "wide-spread",  # of samples
    "workload-too-long",  # of texts that are asked
}
"""Codes of what no fleet file can bring about."""


@pytest.mark.parametrize("code", DIRECTORIES)
def test_a_refusal_reads_like_this(code: str) -> None:
    before = snapshot(HERE / code, times=True)
    done = quadgen("check", "fleet.yml", cwd=HERE / code)
    assert done.err == (HERE / code / "expected.txt").read_text(encoding="utf-8")
    assert done.out == ""
    assert done.status == (0 if code in HARMLESS else 1)
    assert snapshot(HERE / code, times=True) == before


@pytest.mark.parametrize("code", DIRECTORIES)
def test_a_directory_shows_its_code_and_no_other(code: str) -> None:
    text = (HERE / code / "expected.txt").read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:error|warning|note)\[(.+?)\]: ", text, re.MULTILINE)) == {code}


def test_every_code_that_a_fleet_can_trigger_has_a_directory() -> None:
    headings = set(re.findall(r"(?m)^## (.+)$", (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))
    assert set(DIRECTORIES) == headings - ELSEWHERE
    assert headings >= ELSEWHERE


@pytest.mark.parametrize("code", DIRECTORIES)
def test_no_refusal_shows_what_must_stay_secret_or_speaks_of_pydantic(code: str) -> None:
    text = (HERE / code / "expected.txt").read_text(encoding="utf-8")
    assert "hunter2" not in text
    assert not re.search(r"Input should|pydantic|dictionary|NoneType|Traceback|<class", text)
