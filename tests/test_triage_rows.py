"""What the ledger says of a service as it runs today, as figures of the target of a triage."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from command import quadgen
from fleets import ENGINES, Memory
from quadgen.breakeven import acceptance_for
from quadgen.evidence import Setting, shipped_rows
from quadgen.pipeline import compile_fleet
from quadgen.triage import Figures
from quadgen.triage.rows import figures_of, looked_up

CARD = "gpus: [{name: RTX 3090, vram: 24GiB}], context: 4096"
ROW = """\
- {{id: {id}, engine: llama.cpp, build: {build}, backend: cuda, device: {device}, model: {model}, workload: {workload},
   setting: {setting}, against: {against}, rate: {rate}, against_rate: {other}, samples: 7, source: here{more}}}
"""
HEAD = "{spec_types: [draft-mtp]}"
SEVEN = "{spec_types: [draft-mtp], draft_n_max: 7}"
NONE = "{spec_types: []}"
HALOGEN = "engine: halogen, build: 0.17.0, backend: rocm"


def row(name: str, **said: object) -> str:
    fields: dict[str, object] = {
        "id": name, "build": "b10715", "device": "RTX 3090", "model": "mine", "workload": "prose", "setting": HEAD,
        "against": NONE, "rate": 50, "other": 20, "more": "",
    }  # fmt: skip
    return ROW.format(**{**fields, **said})


def fleet(host: str, profiles: str = "") -> str:
    models = "models:\n  own: {file: own.gguf, id: mine, mtp: true}\n"
    hosts = f"measurements: [rows.yml]\nhosts:\n  claw: {{model: own, backend: cuda, {CARD}, {host}}}\n"
    return ENGINES.replace("models:\n", models) + profiles + hosts


def found(rows: str, host: str = "profile: default", profiles: str = "") -> Figures | None:
    files = {"fleet.yml": fleet(host, profiles), "rows.yml": f"version: 1\nmeasurements:\n{rows}"}
    compiled = compile_fleet("fleet.yml", Memory({name: text.encode() for name, text in files.items()}))
    (service,) = compiled.resolved.hosts["claw"]
    return figures_of(service, compiled.resolved.gate.ledger, "prose")


def values(figures: Figures | None) -> tuple[float | None, float | None, float | None]:
    assert figures is not None
    assert figures.internal
    rate, commit, plain = (
        None if each is None else each.value for each in (figures.rate, figures.commit, figures.plain_step)
    )
    return rate, commit, plain


def test_a_row_says_the_rate_of_a_service_that_drafts_and_of_a_pass_that_does_not() -> None:
    assert values(found(row("a"))) == (50, None, 1 / 20)


def test_a_service_that_does_not_draft_has_the_comparators_rate() -> None:
    assert values(found(row("a"), "profile: none")) == (20, 1, 1 / 20)


def test_the_comparator_of_another_setting_counts_as_well() -> None:
    assert values(found(row("a", setting=SEVEN, against=HEAD))) == (20, None, None)


@pytest.mark.parametrize(
    ("more", "commit"),
    [(", acceptance: 0.5", 2.5), (", tokens_per_round: 1.9, acceptance: 0.5", 1.9)],
)
def test_what_a_round_yields_follows_from_acceptance_and_width(more: str, commit: float) -> None:
    assert values(found(row("a", more=more)))[1] == commit


@pytest.mark.parametrize(("more", "commit"), [(", acceptance: 0.9", None), (", tokens_per_round: 1.9", 1.9)])
def test_the_width_of_halogens_head_is_not_llama_cpps(more: str, commit: float | None) -> None:
    said = row("a", more=more).replace("engine: llama.cpp, build: b10715, backend: cuda", HALOGEN)
    text = f"""\
version: 1
measurements: [rows.yml]
engines: {{own: {{kind: halogen, build: 0.17.0, backends: [rocm], image: "ghcr.io/peonist-ai/x:0.17.0"}}}}
models: {{own: {{file: own.hgn, id: mine}}}}
hosts: {{claw: {{model: own, backend: rocm, memory: 128GiB, {CARD}}}}}
"""
    files = {"fleet.yml": text, "rows.yml": f"version: 1\nmeasurements:\n{said}"}
    compiled = compile_fleet("fleet.yml", Memory({name: each.encode() for name, each in files.items()}))
    (service,) = compiled.resolved.hosts["claw"]
    assert values(figures_of(service, compiled.resolved.gate.ledger, "prose")) == (50, commit, 1 / 20)


def test_an_acceptance_of_lookups_says_nothing_of_a_round_for_their_widths_differ() -> None:
    both = "{spec_types: [draft-mtp, ngram-cache]}"
    profiles = "profiles:\n  mine: {spec_types: [draft-mtp, ngram-cache], workload: copy}\n"
    rows = row("a", setting=both, more=", acceptance: 0.5") + row("b", setting=both, against=HEAD, workload="copy")
    assert values(found(rows, "profile: mine", profiles))[:2] == (50, None)


@pytest.mark.parametrize(
    "said",
    [
        {"model": "other"},
        {"device": "RTX 4090"},
        {"workload": "copy"},
        {"more": ", unit: tok/CPU-s"},
        {"setting": "{spec_types: [ngram-mod]}", "against": SEVEN},
    ],
    ids=lambda said: next(iter(said)),
)
def test_a_row_of_something_else_is_passed_over(said: dict[str, object]) -> None:
    assert found(row("a", **said)) is None


def test_a_row_that_is_no_evidence_says_nothing_of_its_own_setting() -> None:
    assert values(found(row("a", more=", acceptance: 0"))) == (None, None, 1 / 20)


def test_of_several_rows_one_of_the_same_build_counts_then_the_newest_then_the_later() -> None:
    rows = row("a", rate=1) + row("b", rate=2, build="b1", more=", date: 2026-02-02") + row("c", rate=3)
    assert values(found(rows))[0] == 3
    assert values(found(row("d", rate=4, more=", date: 2026-01-01") + rows))[0] == 4


def test_the_band_of_lookups_goes_from_the_lowest_to_the_highest_acceptance_that_was_measured() -> None:
    one, many = (looked_up(rows) for rows in (shipped_rows()[:0], shipped_rows()))
    assert one is None
    assert many is not None
    rows = [each for each in shipped_rows() if each.acceptance and each.setting.types == ("ngram-cache",)]
    least = min(rows, key=lambda each: each.acceptance or 0)
    assert many.low == pytest.approx(acceptance_for(1 + 8 * (least.acceptance or 0), 8), abs=5e-4)
    assert 0 < many.low < many.high <= 1
    assert least.id in many.source


def test_a_row_of_lookups_whose_flags_may_set_another_width_is_left_out() -> None:
    plain = next(each for each in shipped_rows() if each.acceptance and each.setting.types == ("ngram-mod",))
    flags = {"spec-ngram-mod-n-max": 4}
    other = replace(plain, setting=Setting.of(plain.setting.spec_types, flags=flags))
    assert looked_up([plain]) is not None
    assert looked_up([other]) is None


def test_the_band_of_lookups_with_a_fleet_is_of_its_rows_too(tmp_path: Path) -> None:
    said = row("own", setting="{spec_types: [ngram-cache]}", more=", acceptance: 0.006")
    (tmp_path / "fleet.yml").write_text(fleet("profile: default"), encoding="utf-8")
    (tmp_path / "rows.yml").write_text(f"version: 1\nmeasurements:\n{said}", encoding="utf-8")
    asked = ("--drafter", "ngram-mod", "--target-rate", "30", "--format", "json")
    done = (quadgen("triage", *more, *asked, cwd=tmp_path) for more in ((), ("claw", "--fleet", "fleet.yml")))
    shipped, both = (json.loads(each.out)["acceptance"] for each in done)
    assert both["low"] < shipped["low"]
    assert both["high"] == shipped["high"]
    assert both["source"].startswith("assumed: of n-gram drafters, from row own to ")


def test_triage_of_a_service_needs_no_figures_where_the_ledger_has_them(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(fleet("profile: default"), encoding="utf-8")
    (tmp_path / "rows.yml").write_text(f"version: 1\nmeasurements:\n{row('theirs')}", encoding="utf-8")
    words = ("triage", "claw", "--fleet", "fleet.yml", "--drafter", "ngram-mod")
    answer = json.loads(quadgen(*words, "--format", "json", cwd=tmp_path).out)
    assert answer["incumbent"] == 50
    assert answer["target"]["plain_step_ms"] == 50
    assert answer["target"]["engine_internal"] is True
    assert "row theirs (prose, b10715)" in answer["target"]["source"]
    assert answer["reasons"][0].endswith("50.0 tok/s (engine-internal); a pass without drafts takes 50 ms, 20.0 tok/s")
    said = json.loads(quadgen(*words, "--target-rate", "30", "--format", "json", cwd=tmp_path).out)
    assert said["incumbent"] == 30
    assert said["target"]["engine_internal"] is False
    missing = quadgen(*words, "--workload", "copy", cwd=tmp_path)
    assert missing.status == 2
    assert "--target-rate" in missing.err
