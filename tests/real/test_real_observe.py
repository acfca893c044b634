"""The real llama-server and `quadgen observe`: what it does, what it counts, and whether that is what is told."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import serving
import tiny_gguf
from command import Done, quadgen
from parts import gemma, llama_server
from speculating import QUICK, ask, eventually

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

ROWS = {
    "version": 1,
    "measurements": [
        {
            "id": "won", "engine": "llama.cpp", "build": "b11434", "backend": "cpu", "device": "any",
            "model": "target", "workload": "copy", "setting": {"spec_types": ["ngram-simple"]}, "against": "none",
            "ratio": 2.0, "samples": 7, "source": "this test",
        }
    ],
}  # fmt: skip
ON = ("--spec-type", "ngram-simple", "--no-warmup", "--log-verbosity", "4")
CLOSING = "release: id"
"""What a server writes of a slot after all it says of a request."""
COPY = "Say it again and again, word for word.\n" + "the quick brown fox jumps over the lazy dog, and then\n" * 5


def fleet(directory: Path, **fields: Any) -> Path:
    """Write a fleet of one native host with two small services beside tiny models, and give its directory."""
    tiny_gguf.make(directory, "plain")
    service = {"model": "target", "context": 500, "slots": 2, "profile": "tried", **fields}
    whole = {
        "version": 1,
        "measurements": "rows.yml",
        "engines": {
            "cpu": {"kind": "llama.cpp", "build": "b11434", "backends": ["cpu"], "binary": "/opt/llama-server"}
        },
        "models": {"target": {"file": "plain.gguf", "mtp": False}},
        "profiles": {"tried": {"spec_types": ["ngram-simple"], "workload": "copy", "against": "none"}},
        "hosts": {
            "box": {"runtime": "systemd", "models_dir": str(directory), "backend": "cpu", "services": {"chat": service}}
        },
    }
    (directory / "fleet.yml").write_text(json.dumps(whole, indent=1), encoding="utf-8")
    (directory / "rows.yml").write_text(json.dumps(ROWS), encoding="utf-8")
    return directory


def decided(directory: Path) -> list[str]:
    """The arguments that the fleet gives its service, without the port that a test cannot have."""
    done = quadgen("explain", "fleet.yml", "box/chat", "--format", "json", cwd=directory)
    assert done.status == 0, done.err
    argv: list[str] = json.loads(done.out)["services"][0]["argv"]
    port = argv.index("--port")
    return argv[:port] + argv[port + 2 :]


def observed(*words: str | Path, cwd: Path, status: int = 0) -> dict[str, Any]:
    """What `observe` says as JSON, of a server or of a file."""
    done = quadgen("observe", *words, "--format", "json", cwd=cwd)
    assert done.status == status, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def unknown(found: Mapping[str, Any]) -> list[str]:
    """What could not be compared, but for the build: a server that was built elsewhere need not know its number."""
    names = [each.partition(":")[0] for each in found["not_compared"]]
    return [name for name in names if name != "its build"]


def url(server: serving.Server) -> str:
    """Where it listens."""
    line = next(line for line in server.log if " listening on " in line)
    return line.rpartition(" ")[2]


def told(server: serving.Server, answers: int, path: Path) -> Path:
    """Its log as a file, once it has all of so many requests."""
    eventually(lambda: sum(CLOSING in line for line in server.log) >= answers)
    path.write_text("".join(f"{line}\n" for line in server.log), encoding="utf-8")
    return path


def timings(answers: Iterable[tuple[int, Any] | None]) -> Mapping[str, int]:
    """What the answers themselves say was generated, drafted and accepted."""
    found: list[dict[str, int]] = []
    for answer in answers:
        assert answer is not None
        found.append(answer[1]["timings"])
    names = {"generated": "predicted_n", "drafted": "draft_n", "accepted": "draft_n_accepted"}
    return {name: sum(each.get(key, 0) for each in found) for name, key in names.items()}


def test_a_server_is_followed_from_its_start_to_its_drafts_and_is_what_the_fleet_decided(tmp_path: Path) -> None:
    directory = fleet(tmp_path)
    with serving.start(llama_server(), *decided(directory), *QUICK) as server:
        assert server.ready, server.log
        follow(server, directory)


def follow(server: serving.Server, directory: Path) -> None:
    before = observed(url(server), "box/chat", "--fleet", "fleet.yml", cwd=directory)
    assert (before["state"], before["engine"], before["requested"]) == ("nothing-drafted", "llama.cpp", None)
    assert before["drift"] == []
    assert unknown(before) == ["which drafters it was given"]
    _, first = server.get("/metrics")
    (directory / "first.txt").write_text(first, encoding="utf-8")

    answers = [ask(server, slot) for slot in (0, 1)]
    after = observed(url(server), "box/chat", "--fleet", "fleet.yml", cwd=directory)
    assert (after["state"], after["requested"], after["drift"]) == ("running", ["ngram-simple"], [])
    assert unknown(after) == []
    assert timings(answers).items() <= after["total"].items()
    assert after["total"]["accepted"] > 0

    log = observed(told(server, 2, directory / "server.log"), cwd=directory)
    assert (log["state"], log["engine"]) == ("running", "llama.cpp")
    for name in ("generated", "drafted", "accepted", "rounds"):
        assert log["total"][name] == after["total"][name], name
    assert log["total"]["requests"] == 2
    assert log["drafters"]["ngram-simple"]["accepted"] == after["total"]["accepted"]

    _, second = server.get("/metrics")
    (directory / "second.txt").write_text(second, encoding="utf-8")
    saved = observed("second.txt", cwd=directory)
    assert saved["total"] == after["total"]
    between = observed("second.txt", "--since", "first.txt", cwd=directory)
    assert between["window"]["drafted"] == after["total"]["drafted"]

    quiet = observed(url(server), "--window", "1s", cwd=directory)
    assert quiet["window_seconds"] >= 1
    assert (quiet["window"]["generated"], quiet["total"]) == (0, after["total"])


def test_each_thing_that_differs_from_the_fleet_is_named_at_its_field(tmp_path: Path) -> None:
    directory = fleet(tmp_path, context=1000)
    words = decided(directory)
    (directory / "other.gguf").write_bytes((directory / "plain.gguf").read_bytes())
    spec = words.index("--spec-type")
    words = words[:spec] + words[spec + 2 :]
    changed = {"--alias": "other", "--parallel": "1", "--ctx-size": "600", "--model": str(directory / "other.gguf")}
    for name, value in changed.items():
        words[words.index(name) + 1] = value
    with serving.start(llama_server(), *words, *QUICK) as server:
        assert server.ready, server.log
        found = observed(url(server), "box/chat", "--fleet", "fleet.yml", cwd=directory, status=3)
        text = quadgen("observe", url(server), "box", "--fleet", "fleet.yml", cwd=directory)
    assert found["state"] == "off"
    assert [(each["code"], each["severity"], each["host"], each["service"]) for each in found["drift"]] == [
        ("server-drift", "error", "box", "chat")
    ] * 5
    lines = (directory / "fleet.yml").read_text(encoding="utf-8").splitlines()
    assert [(each["message"], lines[each["line"] - 1].strip().rstrip(",")) for each in found["drift"]] == [
        ("the server does not speculate, and tried means ngram-simple here", '"profile": "tried"'),
        ("the server calls its model other, and `alias` is target", '"chat": {'),
        ("the server has 1 slot, and `slots` is 2", '"slots": 2'),
        ("the server gives a slot 768 tokens, and `context` is 1000, which comes to 1024 there", '"context": 1000'),
        ("the server reads other.gguf, and target is plain.gguf", '"file": "plain.gguf"'),
    ]
    assert text.status == 3
    assert text.err.count("error[server-drift]: ") == 5
    assert "not what the fleet decided for box" in text.err


@pytest.mark.parametrize(
    ("types", "drafter", "state"),
    [
        (None, None, "off"),
        ("draft-simple", None, "requested-not-running"),
        ("draft-eagle3", "eagle3", "never-accepted"),
    ],
    ids=["off", "not-running", "never-accepted"],
)
def test_what_a_server_was_asked_for_is_told_from_what_it_does(
    types: str | None, drafter: str | None, state: str, tmp_path: Path
) -> None:
    model = tiny_gguf.make(tmp_path, "plain")
    words = ["--model", str(model), "--ctx-size", "512", "--parallel", "1", "--metrics", *QUICK]
    words += ["--spec-type", types] if types else []
    words += ["--spec-draft-model", str(tiny_gguf.make(tmp_path, drafter))] if drafter else []
    with serving.start(llama_server(), *words) as server:
        assert server.ready, server.log
        answers = [ask(server, 0)]
        found = observed(url(server), cwd=tmp_path)
        log = observed(told(server, 1, tmp_path / "server.log"), cwd=tmp_path)
    assert (found["state"], found["requested"], log["state"]) == (state, [types] if types else [], state)
    assert timings(answers).items() <= found["total"].items()


def test_gemma_copies_with_drafts_that_are_counted_as_the_server_counts_them(tmp_path: Path) -> None:
    words = [
        "--model",
        str(gemma()),
        "--ctx-size",
        "1024",
        "--parallel",
        "1",
        "--metrics",
        "--spec-type",
        "ngram-simple",
    ]
    with serving.start(llama_server(), *words, *ON) as server:
        assert server.ready, server.log
        body = {"prompt": COPY, "n_predict": 64, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
        answers = [server.post("/completion", body)]
        found = observed(url(server), cwd=tmp_path)
        log = observed(told(server, 1, tmp_path / "server.log"), cwd=tmp_path)
        shown = quadgen("observe", url(server), cwd=tmp_path)
    assert (found["state"], log["state"]) == ("running", "running")
    assert timings(answers).items() <= found["total"].items()
    for name in ("generated", "drafted", "accepted", "rounds"):
        assert log["total"][name] == found["total"][name], name
    assert f"tokens accepted {found['total']['accepted']}" in " ".join(shown.out.split())
    assert "engine-internal" in shown.out


def test_what_a_server_refuses_to_say_is_told_with_the_way_out(tmp_path: Path) -> None:
    model = str(tiny_gguf.make(tmp_path, "plain"))
    (tmp_path / "key").write_text("\nsesame\n", encoding="utf-8")
    words = ["--model", model, "--ctx-size", "512", "--parallel", "1", "--api-key", "sesame", "--no-slots", *QUICK]
    with serving.start(llama_server(), *words) as server:
        assert server.ready, server.log
        locked = quadgen("observe", url(server), cwd=tmp_path)
        opened = observed(url(server), "--api-key-file", "key", cwd=tmp_path)
    assert locked.status == 4
    assert "it wants an API key (401): give it by --api-key-file FILE" in locked.err
    assert opened["state"] == "unknown"
    assert any("--metrics" in note for note in (*opened["reasons"], *opened["notes"]))
    assert any("--no-slots" in note for note in (*opened["reasons"], *opened["notes"]))


def test_a_server_that_is_gone_is_no_server_that_does_not_speculate(tmp_path: Path) -> None:
    model = str(tiny_gguf.make(tmp_path, "plain"))
    with serving.start(llama_server(), "--model", model, "--ctx-size", "512", *QUICK) as server:
        where = url(server)
    done: Done = quadgen("observe", where, cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert f"nothing listens at {where.removeprefix('http://')}" in done.err
