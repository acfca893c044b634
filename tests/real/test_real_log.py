"""A real llama-server that is started wrongly, and whether `cause` says what is wrong from what it wrote."""

import socket
from pathlib import Path

import pytest

import serving
import tiny_gguf
from parts import llama_server
from quadgen.server_log import Event, Severity, cause, events

pytestmark = pytest.mark.loopback
QUICK = ("--ctx-size", "256", "--parallel", "1", "--fit", "off", "--no-warmup")


def told(*words: str, env: dict[str, str] | None = None) -> Event:
    """Start the server so, and return the cause; it has ended where the cause is fatal, and runs where it is not."""
    with serving.start(llama_server(), *words, env=env or {}) as server:
        found = cause(server.log)
        assert found is not None, server.log
        assert server.ready is (found.severity is not Severity.FATAL), server.log
    return found


@pytest.mark.parametrize(
    ("words", "kind", "message"),
    [
        (["--no-such-flag"], "unknown-flag", "this build has no flag --no-such-flag"),
        (["--mlock"], "unknown-flag", "this build has no flag --mlock"),
        (
            ["--ctx-size=512"],
            "joined-flag",
            "--ctx-size=512 is one argument, and no build takes a flag and its value in one",
        ),
        (
            ["--draft-max", "8"],
            "removed-flag",
            "this build has removed --draft-max; its successor is --spec-draft-n-max or --spec-ngram-mod-n-max",
        ),
        (["--ctx-size"], "flag-needs-value", "--ctx-size needs a value, and nothing follows it"),
        (
            ["--flash-attn", "--main-gpu", "0"],
            "flag-needs-value",
            "--flash-attn stands without its value, and has taken the next flag, --main-gpu, for it",
        ),
        (["--flash-attn", "maybe"], "bad-value", "--flash-attn does not take the value maybe"),
        (["--spec-type", "mtp"], "bad-value", "--spec-type does not take the value mtp"),
        (
            ["--ctx-size", "many"],
            "not-a-number",
            "--ctx-size takes a number, and what follows it is none, or is out of range",
        ),
        (["--device", "CUDA0"], "unknown-device", 'the server sees no device "CUDA0", which --device names'),
        (
            ["--api-key-file", "/nonexistent/key"],
            "file-missing",
            "/nonexistent/key, which --api-key-file names, cannot be opened",
        ),
        (["--model", "/nonexistent/x.gguf"], "model-missing", "the file /nonexistent/x.gguf is not there"),
        (
            ["--log-jsonl", "--model", "/nonexistent/x.gguf"],
            "model-missing",
            "the file /nonexistent/x.gguf is not there",
        ),
        (["--model", "/dev/null"], "not-a-gguf", "what the model names is no GGUF file that this build reads"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_server_says_what_is_wrong_with_its_arguments(words: list[str], kind: str, message: str) -> None:
    found = told(*words)
    assert (found.kind, found.message) == (kind, message)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("LLAMA_ARG_CTX_SIZE", "many", "must be a number, and is none, or is out of range"),
        (
            "LLAMA_ARG_DRAFT_MAX",
            "8",
            "sets a flag that this build has removed; its successor is --spec-draft-n-max or --spec-ngram-mod-n-max",
        ),
        ("LLAMA_ARG_SPEC_TYPE", "mtp", "has a value that this build does not take: unknown speculative type: mtp"),
    ],
)
def test_the_server_says_what_is_wrong_with_its_environment(name: str, value: str, message: str) -> None:
    found = told(env={name: value})
    assert (found.kind, found.message) == ("bad-environment", f"the environment variable {name} {message}")


def test_the_server_says_that_its_port_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = told("--port", str(port), "--model", "/nonexistent/x.gguf")
    assert found.kind == "port-in-use"
    assert found.message.startswith(f"127.0.0.1 port {port} cannot be had")


@pytest.mark.parametrize(
    ("target", "draft", "words", "kind"),
    [
        ("plain", None, ["--spec-type", "draft-mtp"], "no-mtp-head"),
        ("plain", None, ["--spec-type", "draft-simple,ngram-mod"], "draft-context-missing"),
        ("plain", None, ["--spec-type", "draft-dflash", "--log-verbosity", "4"], "no-drafters"),
        ("plain", None, ["--cache-type-v", "q8_0", "--flash-attn", "off"], "quantised-v-without-flash-attention"),
        ("plain", "larger", ["--spec-type", "draft-simple"], "vocabulary-mismatch"),
        ("plain", "draft", ["--spec-type", "draft-eagle3"], "eagle3-mismatch"),
        ("plain", "draft", ["--spec-type", "draft-dflash"], "dflash-mismatch"),
        ("stripped", None, [], "wrong-tensors"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_the_server_says_what_is_wrong_with_its_drafter(
    target: str, draft: str | None, words: list[str], kind: str, tmp_path: Path
) -> None:
    drafter = ["--spec-draft-model", str(tiny_gguf.make(tmp_path, draft))] if draft else []
    found = told(*QUICK, "--model", str(tiny_gguf.make(tmp_path, target)), *drafter, *words)
    assert found.kind == kind


def test_a_server_that_speculates_tells_its_drafter_and_no_cause(tmp_path: Path) -> None:
    model = str(tiny_gguf.make(tmp_path, "plain"))
    words = ("--model", model, "--spec-type", "ngram-mod", "--log-verbosity", "4")
    with serving.start(llama_server(), *QUICK, *words, env={"LLAMA_ARG_SPEC_TYPE": "ngram-cache"}) as server:
        assert server.ready, server.log
        found = {(each.kind, each.message) for each in events(server.log)}
        assert cause(server.log) is None
    assert {"drafters-add-up", "speculation-ready", "listening"} <= {kind for kind, _ in found}
    assert {message for kind, message in found if kind == "drafter-added"} == {
        "the drafter ngram-mod is set up",
        "the drafter ngram-cache is set up",
    }
