"""`quadgen observe` on files and on servers of a test: what is meant, what is printed, how it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import file_server
import quadgen
from command import Done
from command import quadgen as command_line
from file_server import Answer, Reply, whole
from fleets import one
from pages import read

LOG = """\
0.03.237.480 I slot print_timing: id  1 | task 2 | prompt eval time =     638.96 ms /   291 tokens (    2.20 ms per token,   455.43 tokens per second)
0.03.237.505 I slot print_timing: id  1 | task 2 |        eval time =    1478.14 ms /   120 tokens (   12.42 ms per token,    80.51 tokens per second)
0.03.237.506 I slot print_timing: id  1 | task 2 |       total time =    2117.09 ms /   411 tokens
0.03.237.519 I slot print_timing: id  1 | task 2 | draft acceptance = 0.79528 (  101 accepted /   127 generated), mean len =  6.61
"""  # noqa: E501 - as the server writes it
HALOGEN = "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round\n"
KEYS = {"source", "engine", "state", "reasons", "requested", "total", "window", "window_seconds", "drafters", "notes",
        "drift", "not_compared"}  # fmt: skip
FLEET = one("{model: headed, backend: vulkan, context: 4096, slots: 2}")

PATHS = {"PATH": os.defpath, "PYTHONPATH": str(Path(quadgen.__file__).parents[1]), "LC_ALL": "C.UTF-8"}
"""The environment of a command in a process of its own."""


def scrape(drafted: int, accepted: int, rounds: int, *positions: int) -> str:
    """What /metrics answers, as far as it is read here."""
    counters = {"tokens_predicted_total": 224, "tokens_predicted_seconds_total": 2.5, "n_decode_total": 61,
                "spec_decode_num_draft_tokens_total": drafted, "spec_decode_num_accepted_tokens_total": accepted,
                "spec_decode_num_drafts_total": rounds}  # fmt: skip
    lines = [f"# HELP llamacpp:{name} x\n# TYPE llamacpp:{name} counter\nllamacpp:{name} {value}\n"
             for name, value in counters.items()]  # fmt: skip
    place = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
    return "".join(lines) + "".join(f'{place}{{position="{n}"}} {count}\n' for n, count in enumerate(positions))


def encoded(value: Any) -> Answer:
    """An answer of JSON."""
    return whole(json.dumps(value).encode(), {"Content-Type": "application/json"})


def refusing(code: int, message: str) -> Answer:
    """An error as llama-server words it."""
    body = json.dumps({"error": {"code": code, "message": message, "type": "x"}}).encode()
    return lambda _: Reply(code, {"Content-Type": "application/json"}, body)


def llama(*, metrics: str = "", slots: int = 2, **properties: Any) -> dict[str, Answer]:
    """The answers of a server that speculates with a head."""
    said = {"total_slots": slots, "model_alias": "headed", "model_path": "/models/headed.gguf",
            "build_info": "b10715-abcdef1", "default_generation_settings": {"n_ctx": 4096}, **properties}  # fmt: skip
    params = {"speculative.types": "none,draft-mtp"}
    each = [
        {"id": n, "n_ctx": 4096, "speculative": True, "is_processing": False, "params": params} for n in range(slots)
    ]
    return {
        "/health": encoded({"status": "ok"}), "/props": encoded(said), "/slots": encoded(each),
        "/metrics": whole((metrics or scrape(253, 168, 36, 32, 28)).encode()),
        "/v1/models": encoded({"data": [{"id": "headed"}]}),
    }  # fmt: skip


LOCKED = dict.fromkeys(("/slots", "/props", "/metrics", "/v1/models"), refusing(401, "Invalid API Key"))
LOCKED["/health"] = encoded({"status": "ok"})


def observe(*words: str | Path, cwd: Path) -> Done:
    return command_line("observe", *words, cwd=cwd)


def as_json(*words: str | Path, cwd: Path, status: int = 0) -> dict[str, Any]:
    done = observe(*words, "--format", "json", cwd=cwd)
    assert done.status == status, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def piped(text: bytes, *words: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """The command with something on its standard input."""
    return subprocess.run(
        [sys.executable, "-m", "quadgen", "observe", *words], input=text, cwd=cwd, capture_output=True, check=False,
        env=PATHS, timeout=60,
    )  # fmt: skip


def test_a_log_is_read_to_the_state_its_proof_and_the_numbers(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG, encoding="utf-8")
    done = observe("server.log", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    first, *_ = done.out.splitlines()
    assert first == "server.log: speculates, and drafts are accepted (llama.cpp)"
    rows = {" ".join(line.split()[:-1]): line.split()[-1] for line in done.out.splitlines() if line.startswith("  ")}
    assert rows["tokens drafted"] == "127"
    assert rows["tokens accepted"] == "101"
    assert "acceptance 0.795 accepted / drafted" in " ".join(done.out.split())
    assert "engine-internal" in done.out


def test_json_has_the_keys_that_the_page_lists_whatever_was_read(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG, encoding="utf-8")
    (tmp_path / "halogen.log").write_text(HALOGEN, encoding="utf-8")
    (tmp_path / "metrics.txt").write_text(scrape(0, 0, 0), encoding="utf-8")
    page = read("docs/observe.md")
    for name in ("server.log", "halogen.log", "metrics.txt"):
        found = as_json(name, cwd=tmp_path)
        assert found.keys() == KEYS
        assert all(f"`{key}`" in page for key in (*found, *found["total"]))
        assert f"`{found['state']}`" in page


def test_a_line_of_halogen_is_read_as_its_own(tmp_path: Path) -> None:
    (tmp_path / "halogen.log").write_text(HALOGEN, encoding="utf-8")
    found = as_json("halogen.log", cwd=tmp_path)
    assert (found["engine"], found["state"]) == ("halogen", "running")
    assert (found["total"]["generated"], found["total"]["rounds"]) == (63, 33)
    assert found["total"]["tokens_per_pass"] == pytest.approx(1.88, abs=0.005)


def test_the_implied_p_gives_the_tokens_of_a_round_back(tmp_path: Path) -> None:
    (tmp_path / "metrics.txt").write_text(scrape(300, 150, 100), encoding="utf-8")
    total = as_json("metrics.txt", cwd=tmp_path)["total"]
    assert (total["width"], total["tokens_per_round"], total["acceptance"]) == (3, 2.5, 0.5)
    p = total["implied_p"]
    assert 1 + p + p**2 + p**3 == pytest.approx(2.5)
    assert p > total["acceptance"]


def test_where_everything_was_accepted_the_implied_p_is_1_though_rounds_differ_in_width(tmp_path: Path) -> None:
    (tmp_path / "metrics.txt").write_text(scrape(20, 20, 3, 3, 3, 3, 3, 2, 2, 2, 2), encoding="utf-8")
    assert as_json("metrics.txt", cwd=tmp_path)["total"]["implied_p"] == pytest.approx(1)


def test_two_saved_readings_are_a_window(tmp_path: Path) -> None:
    (tmp_path / "before.txt").write_text(scrape(200, 128, 30, 20), encoding="utf-8")
    (tmp_path / "after.txt").write_text(scrape(253, 168, 36, 32, 28), encoding="utf-8")
    found = as_json("after.txt", "--since", "before.txt", cwd=tmp_path)
    assert (found["total"]["drafted"], found["window"]["drafted"], found["window"]["rounds"]) == (253, 53, 6)
    assert found["window"]["per_position"] == [12, 28]
    rows = [line.split() for line in observe("after.txt", "--since", "before.txt", cwd=tmp_path).out.splitlines()]
    assert ["in", "total", "in", "the", "window"] in rows
    assert ["tokens", "drafted", "253", "53"] in rows
    assert ["accepted", "by", "position,", "in", "total:", "0.889", "(1),", "0.778", "(2)"] in rows


def test_standard_input_is_a_log_or_what_metrics_answered(tmp_path: Path) -> None:
    for text in (LOG, scrape(253, 168, 36, 32, 28)):
        done = piped(text.encode(), "-", "--format", "json", cwd=tmp_path)
        found = json.loads(done.stdout)
        assert (done.returncode, found["source"], found["state"]) == (0, "-", "running"), done.stderr


def test_standard_input_is_named_for_people(tmp_path: Path) -> None:
    assert piped(LOG.encode(), "-", cwd=tmp_path).stdout.startswith(b"standard input: speculates, and drafts are ")


@pytest.mark.parametrize(("redirected", "why"), [("<&-", "it is closed"), ("0>/dev/null", "Bad file descriptor")])
def test_standard_input_that_cannot_be_read_is_outside(redirected: str, why: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -m quadgen observe - {redirected}', sys.executable], cwd=tmp_path,
        capture_output=True, text=True, check=False, env=PATHS, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (4, "", f"quadgen: cannot read standard input: {why}\n")


def test_an_empty_log_proves_nothing(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_bytes(b"")
    found = as_json("server.log", cwd=tmp_path)
    assert found["state"] == "unknown"
    assert found["reasons"]


def test_a_text_that_looks_right_and_is_not_is_refused_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(LOG.replace("101 accepted", "many accepted"), encoding="utf-8")
    (tmp_path / "metrics.txt").write_text(scrape(1, 1, 1).replace("tokens_total 1", "tokens_total x"), encoding="utf-8")
    log, metrics = observe("server.log", cwd=tmp_path), observe("metrics.txt", cwd=tmp_path)
    assert (log.status, log.out, metrics.status, metrics.out) == (1, "", 1, "")
    assert "error[unreadable-log]" in log.err
    assert "server.log:4:" in log.err
    assert metrics.err.count("error[unreadable-metrics]") == 2
    refused = observe("server.log", "--format", "json", cwd=tmp_path)
    assert [each["line"] for each in json.loads(refused.out)] == [4]


@pytest.mark.parametrize("name", ["missing.log", ".", "sub/missing"])
def test_a_file_that_cannot_be_read_is_outside(name: str, tmp_path: Path) -> None:
    done = observe(name, cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith(f"quadgen: cannot read {name}: ")


def test_a_name_without_a_port_is_told_how_a_server_is_named(tmp_path: Path) -> None:
    done = observe("claw", cwd=tmp_path)
    assert done.status == 4
    assert "a server is named with its port: claw:8080" in done.err


def test_a_file_goes_before_an_address_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "claw:8080").write_text(LOG, encoding="utf-8")
    assert as_json("claw:8080", cwd=tmp_path)["state"] == "running"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([""], "name a server, a log, or - for standard input"),
        (["http://claw:8080", "claw"], "name the fleet that it is in, with --fleet"),
        (["http://claw:8080", "--fleet", "fleet.yml"], "name the service that it should be"),
        (["server.log", "claw", "--fleet", "fleet.yml"], "goes with the address of a running server alone"),
        (["server.log", "--window", "2m"], "goes with the address of a running server alone"),
        (["server.log", "--model", "a"], "goes with the address of a running server alone"),
        (["server.log", "--api-key-file", "key"], "goes with the address of a running server alone"),
        (["http://claw:8080", "--since", "before.txt"], "use --window"),
        (["server.log", "--since", "before.txt"], "and server.log is none"),
        (["metrics.txt", "--since", "server.log"], "and server.log is none"),
        (["-", "--since", "-"], "only one of two texts can be standard input"),
        (["http://claw:8080", "--window", "soon"], "takes a time span"),
        (["http://claw:8080", "--window", "0"], "takes a time span"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options_that_do_not_go_together_are_a_mistake_of_the_command_line(
    words: list[str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "server.log").write_text(LOG, encoding="utf-8")
    (tmp_path / "metrics.txt").write_text(scrape(2, 1, 1), encoding="utf-8")
    (tmp_path / "fleet.yml").write_text(FLEET, encoding="utf-8")
    done = observe(*words, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.replace("│", " ").split())


def test_an_interrupt_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "quadgen", "observe", "-"], cwd=tmp_path, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=PATHS,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(LOG.encode() * 40_000)  # more than a pipe holds: it reads once this is written
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in err


@pytest.mark.parametrize("written", ["http://127.0.0.1:{port}", "127.0.0.1:{port}", "http://127.0.0.1:{port}/metrics"])
@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_server_is_asked_by_its_address_however_it_is_written(written: str, tmp_path: Path) -> None:
    with file_server.started(llama()) as server:
        found = as_json(written.format(port=server.port), cwd=tmp_path)
    assert found["source"] == f"http://127.0.0.1:{server.port}"
    assert (found["state"], found["engine"], found["requested"]) == ("running", "llama.cpp", ["draft-mtp"])
    assert (found["total"]["drafted"], found["total"]["acceptance_by_position"]) == (253, [32 / 36, 28 / 36])
    assert (found["drift"], found["not_compared"]) == (None, None)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({}, "there is no /health at this address (404)"),
        ({"/health": refusing(503, "Loading model")}, "it is still loading its model (503)"),
        (LOCKED,
         "it wants an API key (401): give it by --api-key-file FILE"),
    ],
    ids=["404", "503", "401"],
)  # fmt: skip
@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_server_that_cannot_be_asked_is_outside(answers: Mapping[str, Answer], message: str, tmp_path: Path) -> None:
    with file_server.started(answers) as server:
        done = observe(server.url(), cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert message in done.err


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_server_without_counters_is_not_said_to_have_drafts_accepted(tmp_path: Path) -> None:
    answers = llama() | {"/metrics": refusing(501, "This server does not support metrics endpoint")}
    with file_server.started(answers) as server:
        done = observe(server.url(), cwd=tmp_path)
    assert done.status == 0
    assert done.out.startswith(f"{server.url()}: speculates (llama.cpp)\n")
    assert "start the server with --metrics" in done.out


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_dead_port_is_outside(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        where = f"127.0.0.1:{free.getsockname()[1]}"
    done = observe(where, cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert f"nothing listens at {where}" in done.err


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_key_is_read_from_a_file_or_the_environment_and_shown_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("\n# of the other box\nsesame\nother\n", encoding="utf-8")
    (tmp_path / "empty").write_text("\n# none\n", encoding="utf-8")
    with file_server.started(llama()) as server:
        by_file = observe(server.url(), "--api-key-file", "key", cwd=tmp_path)
        monkeypatch.setenv("LLAMA_API_KEY", "mustard,pepper")
        by_variable = observe(server.url(), cwd=tmp_path)
        keys = [seen.headers["Authorization"] for seen in server.seen]
        empty = observe(server.url(), "--api-key-file", "empty", cwd=tmp_path)
    assert set(keys) == {"Bearer sesame", "Bearer mustard"}
    assert (by_file.status, by_variable.status) == (0, 0)
    assert not any(word in done.out + done.err for word in ("sesame", "mustard") for done in (by_file, by_variable))
    assert (empty.status, empty.err) == (4, "quadgen: there is no API key in empty\n")


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_server_that_is_as_decided_ends_with_0_and_one_that_is_not_with_3(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(FLEET, encoding="utf-8")
    with file_server.started(llama()) as server, file_server.started(llama(slots=4)) as other:
        same = observe(server.url(), "claw", "--fleet", "fleet.yml", cwd=tmp_path)
        text = observe(other.url(), "claw", "--fleet", "fleet.yml", cwd=tmp_path)
        found = as_json(other.url(), "claw/llama-server", "--fleet", "fleet.yml", cwd=tmp_path, status=3)
    assert same.status == 0, same.err
    assert same.err == "quadgen: the server is what the fleet decided for claw\n"
    assert text.status == 3
    assert text.out.startswith(f"{other.url()}: speculates, and drafts are accepted (llama.cpp)\n")
    assert "error[server-drift]: the server has 4 slots, and `slots` is 2\n" in text.err
    (drift,) = found["drift"]
    assert (drift["code"], drift["file"], drift["host"], drift["service"]) == (
        "server-drift", "fleet.yml", "claw", "llama-server",
    )  # fmt: skip
    assert drift["hint"].endswith("systemctl restart llama-server.service")
    assert found["not_compared"] == []


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_of_several_services_the_port_says_which_is_meant(tmp_path: Path) -> None:
    service = "model: headed, backend: vulkan, context: 4096, slots"
    with file_server.started(llama()) as server:
        for port, status in ((server.port, 0), (9, 2)):
            fields = f"services:\n  chat: {{{service}: 2, port: {port}}}\n  more: {{{service}: 3, port: 10}}\n"
            (tmp_path / "fleet.yml").write_text(one(fields), encoding="utf-8")
            done = observe(server.url(), "claw", "--fleet", "fleet.yml", cwd=tmp_path)
            assert done.status == status, done.err
        assert "say which service it should be: claw/chat (port 9), claw/more (port 10)" in " ".join(
            done.err.replace("│", " ").split()
        )
        named = observe(server.url(), "claw/more", "--fleet", "fleet.yml", cwd=tmp_path)
    assert named.status == 3
    assert "`slots` is 3" in named.err


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        (FLEET, "clow", "there is no host clow in the fleet"),
        (FLEET, "claw/chat", "there is no service named chat on the host claw"),
        (FLEET.replace("slots: 2", "slots: 2, profile: copy"), "claw", "no measurement says that copy wins"),
        ("version: [", "claw", "error[yaml-syntax]"),
    ],
    ids=["host", "service", "refused", "yaml"],
)
def test_a_fleet_that_is_refused_is_told_before_a_server_is_asked(
    text: str, target: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "fleet.yml").write_text(text, encoding="utf-8")
    done = observe("http://127.0.0.1:9", target, "--fleet", "fleet.yml", cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert message in done.err
