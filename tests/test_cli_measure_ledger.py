"""Where rows of `quadgen measure` go, and what becomes of them where they cannot."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import typer

from fleets import CPU, ENGINES
from quadgen.cli import measuring_ledger, work
from quadgen.cli.measuring_ledger import record, target
from quadgen.document import load
from quadgen.evidence import Row, Setting
from quadgen.pipeline import Compiled
from quadgen.problems import Rejected, Unavailable

ROW = Row(
    id="claw-copy", engine="llama.cpp", build="b10715", backend="cpu", device="a processor", model="plain",
    workload="copy", setting=Setting.of(("ngram-mod",)), against=Setting.of(()), ratio=1.2, samples=7, source="here",
)  # fmt: skip


@pytest.fixture(name="here")
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compiled(measurements: str = "") -> Compiled:
    Path("fleets").mkdir()
    text = f"{ENGINES}{measurements}hosts:\n  claw: {CPU}}}\n"
    Path("fleets/fleet.yml").write_text(text, encoding="utf-8")
    return work.compiled("fleets/fleet.yml", None)


def made(taken: frozenset[str]) -> Mapping[str, Row]:
    return {"copy": ROW if ROW.id not in taken else replace(ROW, id=f"{ROW.id}-2")}


@pytest.mark.usefixtures("here")
def test_a_fleet_without_ledgers_gets_one_for_the_host_beside_it() -> None:
    assert target(None, compiled(), "claw") == "fleets/measurements/claw.yml"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("output", ["fleets/measurements/mine.yml", "./fleets/../fleets/measurements/claw.yml"])
def test_another_ledger_that_the_fleet_reads_may_be_named(output: str) -> None:
    assert target(output, compiled(), "claw") == output


@pytest.mark.usefixtures("here")
def test_a_ledger_that_the_fleet_does_not_read_is_refused_before_anything_is_measured() -> None:
    with pytest.raises(typer.BadParameter) as found:
        target("measurements/claw.yml", compiled(), "claw")
    assert found.value.message.startswith("fleets/fleet.yml does not read measurements/claw.yml: add it under")
    assert found.value.param_hint == "--output"


@pytest.mark.usefixtures("here")
def test_a_fleet_that_reads_no_ledger_is_refused_unless_the_rows_are_only_printed() -> None:
    fleet = compiled("measurements: []\n")
    with pytest.raises(typer.BadParameter, match="the fleet reads no ledger"):
        target(None, fleet, "claw")
    assert target("-", fleet, "claw") is None


def test_what_is_no_ledger_or_cannot_be_written_is_refused_before_anything_is_measured(here: Path) -> None:
    (here / "broken.yml").write_text("version: 1\nmeasurements: [{id: x}]\n", encoding="utf-8")
    with pytest.raises(Rejected) as refused:
        target("broken.yml", None, "claw")
    assert "missing-key" in {problem.code for problem in refused.value.problems}
    (here / "file").touch()
    with pytest.raises(Unavailable, match=r"cannot write file/x\.yml: Not a directory"):
        target("file/x.yml", None, "claw")


def test_rows_get_ids_that_neither_the_fleet_nor_the_ledger_has_by_then(here: Path) -> None:
    assert record("deep/own.yml", made, frozenset()).rows["copy"].id == "claw-copy"
    again = record("deep/own.yml", made, frozenset())
    assert again.rows["copy"].id == "claw-copy-2"
    data = load("own.yml", (here / "deep/own.yml").read_bytes()).data
    assert [row["id"] for row in data["measurements"]] == ["claw-copy", "claw-copy-2"]


def test_rows_that_cannot_be_written_in_the_end_are_a_ledger_of_their_own(here: Path) -> None:
    (here / "file").touch()
    found = record("file/x.yml", made, frozenset())
    assert found.ledger is None
    assert found.failed == "cannot write file/x.yml: Not a directory"
    assert found.text is not None
    assert [row["id"] for row in load("x", found.text.encode()).data["measurements"]] == ["claw-copy"]


def test_rows_for_what_is_no_ledger_any_more_are_a_ledger_of_their_own(here: Path) -> None:
    (here / "own.yml").write_text("version: 1\nmeasurements: half a li", encoding="utf-8")
    found = record("own.yml", made, frozenset())
    assert found.ledger is None
    assert found.failed is not None
    assert "measurements" in found.failed
    assert found.text is not None
    assert "claw-copy" in found.text
    assert (here / "own.yml").read_text(encoding="utf-8").endswith("half a li")


def test_rows_for_standard_output_are_a_ledger_and_no_failure() -> None:
    found = record(None, made, frozenset({"claw-copy"}))
    assert (found.ledger, found.failed) == (None, None)
    assert found.text is not None
    assert "claw-copy-2" in found.text
    assert measuring_ledger.record(None, lambda _: {}, frozenset()).text is None


def test_a_ledger_is_left_alone_where_nothing_is_evidence(here: Path) -> None:
    found = record("own.yml", lambda _: {}, frozenset())
    assert (found.ledger, found.text) == ("own.yml", None)
    assert not list(here.iterdir())
