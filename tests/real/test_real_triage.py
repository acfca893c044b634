"""`quadgen triage --target` on a real server: what it reads is what the server counted."""

import json
from pathlib import Path

import pytest

import parts
import serving
from command import quadgen

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TOKENS = 48


def url(server: serving.Server) -> str:
    """Where it listens."""
    return next(line for line in server.log if " listening on " in line).rpartition(" ")[2]


@pytest.mark.parametrize(("types", "drafts"), [("none", False), ("ngram-cache", True)])
def test_a_server_is_timed_as_a_client_sees_it_and_says_what_its_rounds_yield(
    tmp_path: Path, types: str, *, drafts: bool
) -> None:
    words = ("--model", str(parts.gemma()), "--ctx-size", "1024", "--parallel", "1", "--metrics", "--threads", "1")
    with serving.start(parts.llama_server(), *words, "--spec-type", types) as server:
        assert server.ready, server.log
        done = quadgen(
            *("triage", "--drafter", "head", "--target", url(server), "--tokens", str(TOKENS), "--format", "json"),
            cwd=tmp_path,
        )
        counted = server.get("/metrics")[1]
    assert done.status == 0, done.err
    target = json.loads(done.out)["target"]
    numbers = dict(line.split(" ") for line in counted.splitlines() if line.startswith("llamacpp:"))
    accepted = float(numbers["llamacpp:spec_decode_num_accepted_tokens_total"])
    generated = float(numbers["llamacpp:tokens_predicted_total"])
    assert (accepted > 0) is target["drafts"] is drafts
    assert target["commit_per_round"] == pytest.approx((generated - 1) / (generated - 1 - accepted))
    assert target["engine_internal"] is False
    assert target["engine_rate"] > 0


def test_a_server_that_speculates_and_drafted_nothing_in_its_answer_is_said_to(tmp_path: Path) -> None:
    words = ("--model", str(parts.gemma()), "--ctx-size", "1024", "--parallel", "1", "--threads", "1")
    with serving.start(parts.llama_server(), *words, "--spec-type", "ngram-mod") as server:
        assert server.ready, server.log
        done = quadgen("triage", "--drafter", "head", "--target", url(server), "--tokens", "16", cwd=tmp_path)
    assert done.status == 0, done.err
    said = " ".join(done.out.split())
    assert "(a) the target speculates with ngram-mod, and drafted nothing in this answer: one token per pass" in said
