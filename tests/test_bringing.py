"""The command that a refusal and `explain` name: what a shell makes of it is what quadgen takes."""

import json
import shlex
from pathlib import Path

import pytest

from command import quadgen
from fleets import one, problems, refusal
from quadgen.resolve import bringing

ROW = (
    "version: 1\nmeasurements:\n- {id: r, engine: llama.cpp, build: b1, backend: cpu, device: CPU, model: plain, "
    "workload: copy, setting: {spec_types: [ngram-mod]}, against: none, ratio: 1.5, samples: 7, source: a test}\n"
)
OLD = "measurements: [l.yml]\nprofiles: {p: {spec_types: [ngram-mod], workload: copy, against: none}}\n"
HOST = "{model: plain, backend: cpu, engine: cpu, context: 4096, profile: p}"
AGAIN = "quadgen measure --fleet fleet.yml claw --profile p"


def hint(profile: str, fields: str = "", *, name: str = "p") -> str:
    above = f"profiles: {{{json.dumps(name)}: {profile}}}\n"
    host = f"{{model: plain, backend: cpu, engine: cpu, context: 4096, profile: {json.dumps(name)}{fields}}}"
    found = refusal(one(host, above=above)).hint
    assert found is not None
    return found.removeprefix("use `profile: default`, or bring a number: ")


def test_a_host_is_named_alone_where_it_is_its_own_service() -> None:
    assert hint("{spec_types: [ngram-mod], workload: copy}") == AGAIN


def test_a_service_is_named_where_the_host_has_some() -> None:
    services = (
        "services:\n  a: {profile: p}\n  b: {port: 8081}\nmodel: plain\nbackend: cpu\nengine: cpu\ncontext: 4096\n"
    )
    above = "profiles: {p: {spec_types: [ngram-mod], workload: copy}}\n"
    found = refusal(one(services, above=above)).hint
    assert found is not None
    assert found.endswith("quadgen measure --fleet fleet.yml claw/a --profile p")


def test_a_workload_without_texts_of_quadgen_s_own_asks_for_a_file() -> None:
    assert hint("{spec_types: [ngram-mod], workload: minutes}") == f"{AGAIN} --workload minutes=FILE"


@pytest.mark.parametrize("workload", bringing.OWN_WORKLOADS)
def test_a_workload_of_quadgen_s_own_needs_no_word(workload: str) -> None:
    assert hint(f"{{spec_types: [ngram-mod], workload: {workload}}}") == AGAIN


@pytest.mark.parametrize("name", ["my profile", "it's", "$(reboot)", "a;b", "ä", "-p"])
def test_a_shell_reads_the_names_back(name: str) -> None:
    words = shlex.split(hint("{spec_types: [ngram-mod], workload: copy}", name=name))
    assert words == ["quadgen", "measure", "--fleet", "fleet.yml", "claw", "--profile", name]


def test_the_fleet_is_called_as_the_user_called_it() -> None:
    assert bringing.command("my fleets/a.yml", "claw", None, "p", None) == (
        "quadgen measure --fleet 'my fleets/a.yml' claw --profile p"
    )


def test_no_command_is_named_for_an_engine_that_it_cannot_ask() -> None:
    text = """version: 1
engines: {h: {kind: halogen, build: "0.17.3", backends: [rocm]}}
models: {q: {file: q.hgn}}
profiles: {p: {spec_types: [draft-mtp], workload: prose, against: none}}
hosts:
  claw: {backend: rocm, model: q, profile: p}
"""
    assert refusal(text).hint == "use `profile: default`, or bring a number: a row of your own in a ledger"


def test_evidence_of_another_build_is_measured_again_by_the_same_command() -> None:
    (found,) = problems(one(HOST, above=OLD), {"l.yml": ROW})
    assert (found.code, found.hint) == ("stale-build", f"measure again: {AGAIN}")


def explained(directory: Path, *words: str, ledger: str = ROW) -> str:
    (directory / "fleet.yml").write_text(one(HOST, above=OLD), encoding="utf-8")
    (directory / "l.yml").write_text(ledger, encoding="utf-8")
    return quadgen("explain", "fleet.yml", "claw", *words, cwd=directory).out


@pytest.mark.parametrize(
    ("interval", "message", "hint"),
    [
        ("[0.95, 1.6]", "p is not shown to win", f"measure again with more samples: {AGAIN} --samples 21"),
        ("[0.7, 0.98]", "p does not win", f"bring a number: {AGAIN}"),
    ],
)
def test_more_samples_are_asked_for_where_those_of_a_row_did_not_decide(interval: str, message: str, hint: str) -> None:
    ratio = "1.2" if "1.6" in interval else "0.9"
    row = ROW.replace("ratio: 1.5", f"ratio: {ratio}, interval: {interval}")
    found = refusal(one(HOST, above=OLD), {"l.yml": row})
    assert (found.code, found.message, found.hint) == (
        "measured-loss", f"{message} on cpu for plain", f"use `profile: default`, or {hint}"
    )  # fmt: skip


def test_explain_names_the_command_of_evidence_that_is_of_another_build(tmp_path: Path) -> None:
    assert f"    measure again: {AGAIN}\n" in explained(tmp_path)
    (service,) = json.loads(explained(tmp_path, "--format", "json"))["services"]
    assert service["measure"] == AGAIN


def test_explain_names_no_command_of_evidence_that_holds(tmp_path: Path) -> None:
    fresh = ROW.replace("build: b1,", "build: b10715,")
    assert "measure again" not in explained(tmp_path, ledger=fresh)
    (service,) = json.loads(explained(tmp_path, "--format", "json", ledger=fresh))["services"]
    assert service["measure"] is None


def test_explain_names_the_command_of_a_service_that_is_refused_for_want_of_evidence(tmp_path: Path) -> None:
    none = "version: 1\nmeasurements: []\n"
    text = explained(tmp_path, ledger=none)
    assert text == f"claw/llama-server: refused, profile p: bring a number: {AGAIN}\n"
    record = json.loads(explained(tmp_path, "--format", "json", ledger=none))
    assert record["services"] == []
    assert record["refused"] == [{"name": "llama-server", "profile": "p", "measure": AGAIN}]


def test_explain_names_no_command_of_a_service_that_is_refused_for_something_else(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(one("{model: lost, backend: cpu, engine: cpu}"), encoding="utf-8")
    done = quadgen("explain", "fleet.yml", "claw", "--format", "json", cwd=tmp_path)
    assert (done.status, json.loads(done.out)["refused"]) == (1, [])
