"""A look at a whole server: which endpoints are asked, which may fail, and what wakes nothing."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

import captures
from file_server import Answer, Reply, Server, in_turn, started, status, whole
from quadgen.observed.answers import Health
from quadgen.observed.live import Seen, observation
from quadgen.observed.state import State
from quadgen.problems import Rejected
from quadgen.server.client import connected
from quadgen.server.failures import KEY, NoAnswer
from quadgen.server.looking import look

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


def said(value: Any) -> Answer:
    return whole(json.dumps(value).encode())


def captured(build: str = "b11434", configuration: str = "ngram-cache") -> dict[str, Answer]:
    endpoints = {"/health": "health", "/props": "props", "/slots": "slots", "/v1/models": "models"}
    answers = {path: said(captures.answer(build, configuration, name)) for path, name in endpoints.items()}
    metrics = [whole(captures.metrics(build, configuration, when).encode()) for when in ("before", "after")]
    return {**answers, "/metrics": in_turn(*metrics)}


def error(code: int, words: str) -> Answer:
    return lambda _: Reply(code, {}, json.dumps({"error": {"code": code, "message": words}}).encode())


def looked(server: Server, **options: Any) -> Seen:
    with connected(server.url(), environ={}) as asked:
        return look(asked, **options)


def seen_of(answers: Mapping[str, Answer], **options: Any) -> Seen:
    with started(answers) as server:
        return looked(server, **options)


def test_everything_that_answers_is_seen() -> None:
    with started(captured()) as server:
        seen = looked(server, window=0.01)
        assert [one.path for one in server.seen] == ["/health", "/props", "/slots", "/v1/models", *["/metrics"] * 2]
    assert (seen.health, seen.missing) == (Health(status="ok"), ())
    assert seen.seconds is not None
    found = observation("x", seen)
    assert (found.state, found.window) == (State.RUNNING, found.total)


def test_another_process_between_the_readings_is_told_by_the_header_of_its_counters() -> None:
    text = captures.metrics("b11434", "ngram-cache", "after").encode()
    for second, same in (("17", True), ("18", False)):
        replies = [whole(text, {"Process-Start-Time-Unix": when}) for when in ("17", second)]
        seen = seen_of({**captured(), "/metrics": in_turn(*replies)}, window=0.01)
        assert (seen.window is not None) is same


def test_one_reading_is_no_window() -> None:
    seen = seen_of(captured())
    assert (len(seen.scrapes), seen.seconds, seen.window) == (1, None, None)


def test_an_endpoint_that_is_not_to_be_had_is_said_and_the_others_are_seen() -> None:
    off = {
        "/slots": error(501, "This server does not support slots endpoint. Start it with `--slots`"),
        "/metrics": error(501, "This server does not support metrics endpoint. Start it with `--metrics`"),
        "/props": error(403, "no"),
        "/v1/models": said({"data": {}}),
        "/health": whole(b"OK"),
    }
    seen = seen_of({**captured(), **off, "/slots": captured()["/slots"]})
    assert seen.slots is not None
    assert seen.missing == (
        "/health: its answer is no JSON, it begins: OK",
        f"/props: it refuses access (403): no; if it wants an API key, give it by {KEY}",
        "/v1/models: it answers with a table where the models should be",
        "/metrics is switched off (501): start the server with --metrics",
    )
    seen = seen_of({**captured(), "/slots": off["/slots"]})
    assert (seen.slots, seen.missing) == (None, ("/slots is switched off (501): start the server without --no-slots",))


def test_where_nothing_answers_the_first_refusal_is_the_answer() -> None:
    with started() as server, pytest.raises(NoAnswer) as refused:
        looked(server)
    assert str(refused.value).startswith(f"cannot ask {server.url()}/health: there is no /health at this address (404)")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("/health", error(503, "Loading model")),
        ("/props", error(401, "Invalid API Key")),
        ("/slots", error(400, "model name is missing from the request")),
        ("/metrics", error(401, "Invalid API Key")),
        ("/metrics", status(500)),
    ],
    ids=["loading", "locked", "router", "half-locked", "broken"],
)
def test_a_server_that_cannot_be_asked_is_refused_at_once(path: str, answer: Answer) -> None:
    with started({**captured(), path: answer}) as server, pytest.raises(NoAnswer) as refused:
        looked(server)
    assert server.seen[-1].path == path
    assert f"cannot ask {server.url()}{path}: " in str(refused.value)


def test_counters_that_are_none_are_refused_with_their_address() -> None:
    answers = {**captured(), "/metrics": whole(b"\nllamacpp:spec_decode_num_drafts_total x\n")}
    with started(answers) as server, pytest.raises(Rejected) as refused:
        looked(server)
    (problem,) = refused.value.problems
    assert problem.place is not None
    assert (problem.code, problem.place.file, problem.place.line) == ("unreadable-metrics", server.url("/metrics"), 2)


def test_a_server_that_sleeps_is_let_sleep() -> None:
    asleep = {**captures.answer("b11434", "ngram-cache", "props"), "is_sleeping": True}
    with started({**captured(), "/props": said(asleep)}) as server:
        seen = looked(server)
        assert "/slots" not in [one.path for one in server.seen]
    assert seen.missing == ("/slots was not asked for: the server sleeps, and would load its model for it",)


def test_halogen_is_not_asked_for_what_it_does_not_have() -> None:
    health = {
        "status": "ok",
        "checkpoint_format": "hgn",
        "drafters_available": ["serial", "mtp"],
        "drafter_default": "mtp",
    }
    metrics = (
        b"llamacpp:tokens_predicted_total 9\nhalogen:draft_tokens_total 0\nhalogen:draft_tokens_accepted_total 0\n"
    )
    with started({"/health": said(health), "/metrics": whole(metrics), "/v1/models": said({"data": []})}) as server:
        seen = looked(server)
        assert [one.path for one in server.seen] == ["/health", "/v1/models", "/metrics"]
    assert seen.missing == ()
    assert observation("x", seen).state is State.IDLE


def test_a_server_of_pages_is_no_server_of_which_nothing_is_known() -> None:
    pages = dict.fromkeys(("/health", "/props", "/slots", "/v1/models", "/metrics"), whole(b"<!doctype html>"))
    with started(pages) as server, pytest.raises(NoAnswer, match="a page for people"):
        looked(server)
