"""`quadgen triage --fleet` and `--probe`: whether the drafter can be attached comes before what it would yield."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

import file_server
from command import Done, quadgen
from fleets import ENGINES
from locks import LOCK, locked, tiny

HALOGEN: Final = """version: 1
engines: {h: {kind: halogen, build: "0.17.3", backends: [rocm]}}
models: {q: {file: q.hgn}, d: {file: d.gguf}}
hosts:
  claw: {backend: rocm, model: q}
"""
NEW: Final = (
    "  new: {kind: llama.cpp, build: b11434, backends: [cpu], image: 'ghcr.io/ggml-org/llama.cpp:server-b11434'}\n"
)
NUMBERS: Final = ("--target-rate", "25", "--draft-step", "12", "--width", "3")


def cpu(here: Path, drafter: str) -> None:
    """A fleet of one host with the model `m`, the drafter `d`, and a lock that knows both."""
    models = f"{NEW}models:\n  m: {{file: m.gguf}}\n  d: {{file: d.gguf}}\n"
    host = "{backend: cpu, engine: new, model: m, context: 1024, memory: 64GiB}"
    fleet = f"{ENGINES.replace(f'models:{chr(10)}', models)}hosts:\n  claw: {host}\n"
    (here / "fleet.yml").write_text(fleet, encoding="utf-8")
    (here / LOCK).write_text(locked({"m.gguf": tiny("plain"), "d.gguf": tiny(drafter)})[LOCK], encoding="utf-8")


def triage(here: Path, *words: str) -> Done:
    return quadgen("triage", *words, cwd=here)


def test_a_drafter_that_can_be_attached_has_that_among_its_reasons(tmp_path: Path) -> None:
    cpu(tmp_path, "draft")
    done = triage(tmp_path, "--fleet", "fleet.yml", "claw", "--drafter", "plain", "--draft-model", "d", *NUMBERS)
    assert done.status == 0
    assert "\n(d) it can be attached: " in done.out
    assert "\n(a) by the fleet, the target does not draft: " in done.out
    assert "warning" not in done.err
    assert "note[unmeasured-combination]" in done.err


def test_one_with_other_tokens_is_refused_whatever_it_would_yield(tmp_path: Path) -> None:
    cpu(tmp_path, "other-word")
    words = ("--fleet", "fleet.yml", "claw", "--drafter", "plain", "--draft-model", "d", *NUMBERS)
    done = triage(tmp_path, *words)
    assert done.status == 1
    assert done.out.startswith("a plain draft model: cannot-attach, there is no way to attach it\n")
    assert "\n(d) it cannot be attached: " in done.out
    assert "\nerror[" in f"\n{done.err}"
    answer = json.loads(triage(tmp_path, *words, "--format", "json").out)
    assert answer["verdict"] == "cannot-attach"
    assert answer["attachment"]["attachable"] is False
    assert answer["attachment"]["reasons"]
    assert "error" in {problem["severity"] for problem in answer["attachment"]["problems"]}


def test_without_numbers_a_refusal_is_the_whole_answer(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(HALOGEN, encoding="utf-8")
    words = ("--fleet", "fleet.yml", "claw", "--drafter", "plain", "--draft-model", "d")
    done = triage(tmp_path, *words)
    assert (done.status, done.out) == (1, "")
    assert "error[closed-engine]: " in done.err
    problems = json.loads(triage(tmp_path, *words, "--format", "json").out)
    assert "closed-engine" in {problem["code"] for problem in problems}


def test_two_types_with_a_draft_context_each_do_not_go_together(tmp_path: Path) -> None:
    cpu(tmp_path, "draft")
    words = ("--fleet", "fleet.yml", "claw", "--drafter", "draft-simple", "--draft-model", "d", *NUMBERS)
    assert triage(tmp_path, *words, "--beside", "ngram-cache,ngram-mod").status == 0
    refused = triage(tmp_path, *words, "--beside", "draft-dflash")
    assert refused.status == 1
    assert "error[does-not-compose]" in refused.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["claw", "--drafter", "plain"], "name the fleet with --fleet"),
        (["--drafter", "plain", "--draft-device", "CUDA0"], "name the fleet with --fleet"),
        (["--drafter", "plain", "--beside", "ngram-cache"], "name the fleet with --fleet"),
        (["--drafter", "plain", "--fleet", "fleet.yml"], "say which service of the fleet the drafter is for"),
        (["claw", "--drafter", "head", "--fleet", "fleet.yml"], "name a type of llama-server"),
        (["claw", "--drafter", "plain", "--fleet", "fleet.yml", "--beside", "ngram"], "'ngram' is no type of"),
        (["claw", "--drafter", "plain", "--fleet", "fleet.yml", "--beside", "x"], "'x' is none of"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, words: list[str], sentence: str) -> None:
    (tmp_path / "fleet.yml").write_text(HALOGEN, encoding="utf-8")
    done = triage(tmp_path, *words, *NUMBERS)
    assert (done.status, done.out) == (2, "")
    assert sentence in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize("target", ["crow", "claw/chat"])
def test_a_service_that_is_not_there_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "fleet.yml").write_text(HALOGEN, encoding="utf-8")
    done = triage(tmp_path, target, "--fleet", "fleet.yml", "--drafter", "plain", *NUMBERS)
    assert (done.status, done.out) == (1, "")
    assert "error[unexpected-value]: " in done.err


# a halogen that runs: a stand-in, with what its documents say that it answers

HEALTH: Final = {"status": "ok", "drafters_available": ["serial", "mtp"], "drafter_default": "mtp"}
REFUSAL: Final = {"error": {"message": "drafter 'dflash2' unavailable: the loaded checkpoint cannot serve it"}}
CHAT: Final = "/v1/chat/completions"


def answer(body: Any, status: int = 200) -> file_server.Answer:
    return lambda _: file_server.Reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())


@pytest.fixture
def halogen() -> Iterator[file_server.Server]:
    with file_server.started({"/health": answer(HEALTH), CHAT: answer(REFUSAL, 400)}) as server:
        yield server


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_halogen_refuses_what_it_does_not_have_in_its_own_words(tmp_path: Path, halogen: file_server.Server) -> None:
    done = triage(tmp_path, "--probe", halogen.url(), "--drafter", "block")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[closed-engine]: halogen does not draft with dflash2\n")
    assert "the loaded checkpoint cannot serve it" in done.err


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_probe_stands_beside_the_numbers(tmp_path: Path, halogen: file_server.Server) -> None:
    words = ("--probe", halogen.url(), "--drafter", "block", "--target-rate", "25", "--format", "json")
    done = triage(tmp_path, *words)
    assert done.status == 1
    told = json.loads(done.out)
    assert told["verdict"] == "cannot-attach"
    assert told["break_even"]["3"] is not None
    assert "refuses dflash2" in told["reasons"][3]


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_what_is_no_halogen_proves_nothing(tmp_path: Path) -> None:
    with file_server.started({"/health": answer({"status": "ok"}), "/props": answer({}, 404)}) as server:
        done = triage(tmp_path, "--probe", server.url(), "--drafter", "block", "--target-rate", "25")
    assert (done.status, done.err) == (0, "")
    assert "(d) it is not known whether it can be attached: " in " ".join(done.out.split())
