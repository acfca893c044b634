"""Which ledgers a fleet reads: those that it names, or those of its directory `measurements`."""

from pathlib import Path

import pytest

from fleets import accepted, compile_text, one, refusal, refusals
from quadgen import disk
from quadgen.measuring.ledgers import ledger, reads
from quadgen.pipeline import Compiled

HOST = "{model: plain, backend: cpu, engine: cpu, context: 4096, profile: p}"
MINE = "profiles: {p: {spec_types: [ngram-mod], workload: copy, against: none}}\n"
ROW = (
    "version: 1\nmeasurements:\n- {id: r, engine: llama.cpp, build: b10715, backend: cpu, device: CPU, model: plain, "
    "workload: copy, setting: {spec_types: [ngram-mod]}, against: none, ratio: 1.5, samples: 7, source: a test}\n"
)


def fleet(said: str = "") -> Compiled:
    return compile_text(one("{model: plain, backend: cpu, engine: cpu, context: 4096}", above=said))


def test_a_fleet_that_names_no_ledger_reads_those_beside_it() -> None:
    found = accepted(one(HOST, above=MINE), {"measurements/claw.yml": ROW})
    (resolution,) = found.resolved.hosts["claw"]
    assert [row.id for row in resolution.decision.rows] == ["r"]


def test_no_ledger_beside_a_fleet_is_nothing_wrong() -> None:
    assert fleet().problems == ()


@pytest.mark.parametrize("said", ["[]", "[other/*.yml]"])
def test_a_fleet_that_says_which_ledgers_reads_no_others(said: str) -> None:
    found = refusal(one(HOST, above=f"{MINE}measurements: {said}\n"), {"measurements/claw.yml": ROW})
    assert found.code == "unmeasured-combination"


def test_a_file_beside_a_fleet_that_is_no_ledger_is_refused() -> None:
    text = one("{model: plain, backend: cpu, engine: cpu, context: 4096}")
    for found in refusals(text, {"measurements/notes.yml": "just: text\n"}):
        assert found.place is not None
        assert found.place.file == "measurements/notes.yml"


NAMES = [
    "measurements/claw.yml", "measurements/.claw.yml", "measurements/a/claw.yml", "claw.yml", "measurements/claw.yaml",
    "measurements/CLAW.YML", "a/b/claw.yml", "a/claw.yml", "a/.b/claw.yml", "[x].yml", "x.yml",
]  # fmt: skip
PATTERNS = [
    "measurements/*.yml", "./measurements/*.yml", "*.yml", "**/*.yml", "a/**/*.yml", "**", "measurements/cl?w.yml",
    "measurements/[a-d]law.yml", "measurements/claw.yml", "*/claw.yml", "measurements/.*.yml", "[[]x].yml", "[x].yml",
    "a/../*.yml", "measurements//*.yml",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_name_matches_before_it_is_there_as_it_does_on_the_disk(tmp_path: Path, pattern: str) -> None:
    said = fleet(f"measurements: ['{pattern}']\n").fleet
    foretold = {name for name in NAMES if reads(said, name)}
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = {str(Path(name)) for name in disk.matching(str(tmp_path), pattern)}
    assert foretold == {name for name in NAMES if name in {each.replace("a/../", "") for each in found}}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("", "measurements/claw.yml"),
        ("measurements: [ledgers/*.yml]\n", "ledgers/claw.yml"),
        ("measurements: [mine-*.yml, ledgers/*.yml]\n", "ledgers/claw.yml"),
        ("measurements: [all.yml]\n", "all.yml"),
        ("measurements: [all.yml, ledgers/*]\n", "ledgers/claw.yml"),
        ("measurements: ['*/x.yml']\n", None),
        ("measurements: []\n", None),
    ],
)
def test_what_is_measured_on_a_host_goes_where_the_fleet_reads_it(said: str, name: str | None) -> None:
    text = one("{model: plain, backend: cpu, engine: cpu, context: 4096}", above=said)
    assert ledger(compile_text(text, {"all.yml": "version: 1\nmeasurements: []\n"}).fleet, "claw") == name
