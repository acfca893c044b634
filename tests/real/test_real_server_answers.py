"""What the real llama-server answers where it will not answer, and which questions wake it or load a model."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import parts
import serving
import tiny_gguf
from quadgen.observed.live import observation
from quadgen.observed.state import State
from quadgen.problems import Unavailable
from quadgen.server.client import Server, connected
from quadgen.server.failures import KEY, NoAnswer
from quadgen.server.looking import look

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

PROMPT = {"prompt": "a b c d e f g h " * 4, "n_predict": 30, "ignore_eos": True, "temperature": 0}
PATIENCE = 60.0
CALM = ("--threads", "1")
"""Threads of one server that wait for each other take many times as long where others want the same cores."""


@contextmanager
def running(directory: Path, *words: str) -> Iterator[Server]:
    """A server with a tiny model, asked as quadgen asks."""
    model = ("--model", str(tiny_gguf.make(directory, "plain")), "--ctx-size", "256", "--parallel", "1", *CALM)
    with serving.start(parts.llama_server(), *model, *words) as server:
        where = next(line.rpartition(" ")[2] for line in server.log if " listening on http" in line)
        with connected(where, environ={}, timeout=PATIENCE) as asked:
            yield asked


def refusal(server: Server, path: str) -> NoAnswer:
    with pytest.raises(NoAnswer) as refused:
        server.get(path)
    return refused.value


def test_a_server_with_a_key_says_what_it_wants_to_all_but_health(tmp_path: Path) -> None:
    with running(tmp_path, "--api-key", "right", "--metrics") as server:
        assert server.get("/health") == {"status": "ok"}
        for path in ("/props", "/slots", "/metrics"):
            found = refusal(server, path)
            assert (found.status, found.reason) == (401, f"it wants an API key (401): give it by {KEY}")
        with pytest.raises(NoAnswer, match="it wants an API key"):
            look(server)
        with connected(server.url, environ={}, api_key="wrong") as other:
            assert refusal(other, "/slots").reason == "it does not accept this API key (401)"
        with connected(server.url.replace("//", "//anna:pass@"), environ={}, api_key="right") as other:
            told = "it does not accept this API key, or this user (401): a proxy that takes user and password must"
            assert refusal(other, "/slots").reason.startswith(told)
        with connected(server.url, environ={"LLAMA_API_KEY": "right"}) as other:
            assert observation("x", look(other)).state is State.OFF


def test_a_server_whose_endpoints_are_off_says_which_switch_turns_them_on(tmp_path: Path) -> None:
    with running(tmp_path, "--no-slots") as server:
        metrics = "/metrics is switched off (501): start the server with --metrics"
        slots = "/slots is switched off (501): start the server without --no-slots"
        assert (refusal(server, "/metrics").reason, refusal(server, "/slots").reason) == (metrics, slots)
        seen = look(server)
        assert seen.missing == (slots, metrics)
        assert (observation("x", seen).state, observation("x", seen).engine) == (State.UNKNOWN, "llama.cpp")
        assert "there is no /nothing at this address (404)" in refusal(server, "/nothing").reason


def test_what_an_answer_breaks_on_is_quoted(tmp_path: Path) -> None:
    with running(tmp_path) as server, pytest.raises(NoAnswer) as refused:
        server.post("/completion", {"prompt": {}})
    assert refused.value.status in {400, 500}
    assert "prompt" in refused.value.reason


def test_a_server_that_loads_its_model_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    said: set[str] = set()
    done = threading.Event()

    def ask() -> None:
        with connected(f"127.0.0.1:{port}", environ={}) as server:
            while not done.wait(0.01):
                try:
                    look(server)
                except NoAnswer as error:
                    said.add(error.reason)

    asking = threading.Thread(target=ask)
    asking.start()
    with serving.start(parts.llama_server(), "--model", str(parts.gemma()), "--ctx-size", "256", "--port", str(port)):
        done.set()
        asking.join()
    assert "it is still loading its model (503): ask again in a while" in said


def test_events_and_counters_are_those_that_each_answer_gives(tmp_path: Path) -> None:
    """The second request finds its words in the first one's answer, and drafts them."""
    request = {**PROMPT, "n_predict": 200}
    with running(tmp_path, "--metrics", "--spec-type", "ngram-mod", "--ctx-size", "1024") as server:
        before = look(server)
        first = server.post("/completion", request)["timings"]
        events = [event for _, event in server.stream("/completion", {**request, "stream": True})]
        seen = look(server)
    second = events[-1]["timings"]
    assert "draft_n" not in first
    assert observation("x", before).state is State.IDLE
    assert seen.total is not None
    assert seen.total.generated == first["predicted_n"] + second["predicted_n"] == 400
    assert seen.total.drafted == second["draft_n"] > 100
    assert seen.total.accepted == second["draft_n_accepted"] == sum(seen.total.per_position)
    assert seen.total.seconds == pytest.approx((first["predicted_ms"] + second["predicted_ms"]) / 1000, rel=1e-4)
    found = observation("x", seen)
    assert (found.state, found.requested) == (State.RUNNING, ("ngram-mod",))


def test_a_server_that_sleeps_answers_all_but_slots_in_its_sleep(tmp_path: Path) -> None:
    with running(tmp_path, "--metrics", "--sleep-idle-seconds", "1") as server:
        until = time.monotonic() + PATIENCE
        while not server.get("/props")["is_sleeping"] and time.monotonic() < until:
            time.sleep(0.1)
        seen = look(server)
        assert seen.missing == ("/slots was not asked for: the server sleeps, and would load its model for it",)
        assert seen.scrapes[0].has_speculation
        assert server.get("/props")["is_sleeping"]
        server.get("/slots")
        assert not server.get("/props")["is_sleeping"]


def test_a_router_is_told_which_model_and_loads_none_to_be_asked(tmp_path: Path) -> None:
    tiny_gguf.make(tmp_path, "plain")
    with serving.start(
        parts.llama_server(), "--models-dir", str(tmp_path), "--metrics", "--parallel", "1", *CALM
    ) as router:
        where = next(line.rpartition(" ")[2] for line in router.log if " listening on http" in line)
        with connected(where, environ={}) as server:
            told = "it is a router of several models (400): say which with --model NAME; /v1/models lists them"
            assert refusal(server, "/metrics").reason == told
            with pytest.raises(NoAnswer, match="it is a router of several models"):
                look(server)
        with connected(where, environ={}, model="nope") as server:
            assert refusal(server, "/metrics").reason == "it answers 400 Bad Request: model 'nope' not found"
        with connected(where, environ={}, model="plain", timeout=PATIENCE) as server:
            with pytest.raises(NoAnswer, match="the router has not loaded this model"):
                look(server)
            server.post("/completion", PROMPT)
            found = observation("x", look(server))
            assert (found.state, found.total and found.total.generated) == (State.OFF, 30)


def test_a_server_behind_a_prefix_is_found_with_it_and_not_without(tmp_path: Path) -> None:
    model = ("--model", str(tiny_gguf.make(tmp_path, "plain")), "--ctx-size", "256")
    with serving.start(parts.llama_server(), *model, "--api-prefix", "/llm", prefix="/llm") as started:
        where = next(line.rpartition(" ")[2] for line in started.log if " listening on http" in line)
        with connected(where, environ={}) as server, pytest.raises(Unavailable, match=r"a prefix \(--api-prefix\)"):
            look(server)
        for pasted in ("/llm", "/llm/", "/llm/slots", "/llm/v1"):
            with connected(f"{where}{pasted}", environ={}) as server:
                assert observation("x", look(server)).state is State.OFF
