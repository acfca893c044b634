"""Which drafter `quadgen triage` weighs: its own names, those of halogen, and what is meant where none is named."""

import json
from pathlib import Path
from typing import Any, Final

import pytest

import file_server
from command import Done, quadgen
from fleets import ENGINES
from locks import LOCK, locked, tiny
from quadgen.triage.drafter import names

HEALTH: Final = {"status": "ok", "drafters_available": ["serial", "mtp"], "drafter_default": "mtp"}
REFUSAL: Final = {"error": {"message": "drafter 'dflash2' unavailable: the loaded checkpoint cannot serve it"}}
FLEET: Final = f"""{ENGINES}  m: {{file: m.gguf}}
  d: {{file: d.gguf}}
hosts:
  claw: {{backend: cpu, model: m, context: 1024, memory: 64GiB}}
"""


def triage(here: Path, *words: str) -> Done:
    return quadgen("triage", "--target-rate", "25", *words, cwd=here)


def complaint(done: Done) -> str:
    assert (done.status, done.out) == (2, "")
    return " ".join(done.err.replace("│", " ").split())


def answer(body: Any, status: int = 200) -> file_server.Answer:
    return lambda seen: file_server.Reply(
        400 if b"dflash2" in (seen.body or b"") else status,
        {"Content-Type": "application/json"},
        json.dumps(REFUSAL if b"dflash2" in (seen.body or b"") else body).encode(),
    )


def test_a_pass_that_was_measured_is_that_of_a_plain_draft_model(tmp_path: Path) -> None:
    named, bare = (triage(tmp_path, *words, "--draft-step", "12") for words in (["--drafter", "plain"], []))
    assert (bare.status, bare.out) == (0, named.out)
    assert bare.out.startswith("a plain draft model: ")


def test_a_log_of_a_drafter_is_that_of_a_plain_draft_model(tmp_path: Path) -> None:
    log = (
        "slot print_timing: id  0 | task 0 |        eval time =    1000.00 ms /   101 tokens (    9.90 ms per token)\n"
    )
    (tmp_path / "draft.log").write_text(log, encoding="utf-8")
    done = triage(tmp_path, "--draft-log", "draft.log")
    assert done.status == 0, done.err
    assert done.out.startswith("a plain draft model: ")


def test_a_model_of_a_fleet_that_is_to_draft_is_a_plain_one(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(FLEET, encoding="utf-8")
    files = {"m.gguf": tiny("plain"), "d.gguf": tiny("other-word")}
    (tmp_path / LOCK).write_text(locked(files)[LOCK], encoding="utf-8")
    words = ("claw", "--fleet", "fleet.yml", "--draft-model", "d")
    done = quadgen("triage", *words, cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert done.err == quadgen("triage", *words, "--drafter", "draft-simple", cwd=tmp_path).err


def test_where_nothing_says_what_drafts_the_classes_are_listed(tmp_path: Path) -> None:
    said = complaint(triage(tmp_path))
    assert f"Invalid value for --drafter: say which it is: one of {', '.join(names())}" in said


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mtp", "mtp is what halogen calls its own, for --probe: elsewhere it is head or draft-mtp"),
        ("dflash2", "dflash2 is what halogen calls its own, for --probe: elsewhere it is block or draft-dflash"),
        ("dspark", "dspark is what halogen calls its own, for --probe: elsewhere it is draft-dspark"),
        ("serial", "serial is what halogen calls a request without drafts: there is none to weigh"),
    ],
)
def test_a_name_of_halogen_is_one_of_a_probe(tmp_path: Path, name: str, sentence: str) -> None:
    assert sentence in complaint(triage(tmp_path, "--drafter", name))


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_halogen_is_probed_by_the_names_that_it_has_for_its_drafters(tmp_path: Path) -> None:
    with file_server.started({"/health": answer(HEALTH), "/v1/chat/completions": answer({})}) as server:
        taken = triage(tmp_path, "--probe", server.url(), "--drafter", "mtp")
        refused = triage(tmp_path, "--probe", server.url(), "--drafter", "dflash2")
        none = triage(tmp_path, "--probe", server.url(), "--drafter", "serial")
        asked = [json.loads(seen.body)["drafter"] for seen in server.seen if seen.body]
    assert asked == ["mtp", "dflash2"]
    assert taken.status == 0, taken.err
    assert taken.out.startswith("a trained head (draft-mtp): ")
    assert "halogen drafts with mtp of its own" in taken.out
    assert "(e) halogen does not log what drafting takes: " in taken.out
    assert (refused.status, refused.out.partition(":")[0]) == (1, "a trained block drafter (draft-dflash)")
    assert none.status == 2
