"""One streamed answer to what a client sees: its rate by arrival, its tokens by the server's own count."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import file_server
from command import quadgen
from quadgen.observed.counts import Counts
from quadgen.triage.watching import Event, Untimed, figures

ROLE = (10.0, {"choices": [{"delta": {"role": "assistant", "content": None}}]})
DONE = {"choices": [{"finish_reason": "length", "delta": {}}]}


def pieces(*times: float, key: str = "content") -> list[Event]:
    return [(at, {"choices": [{"delta": {key: "x"}}]}) for at in times]


def end(tokens: int, at: float = 99.0, **timings: Any) -> list[Event]:
    told: dict[str, Any] = {"choices": [], "usage": {"completion_tokens": tokens}}
    return [(at, DONE), (at, told | ({"timings": timings} if timings else {}))]


def commit(events: list[Event], window: Counts | None = None) -> float | None:
    found = figures("url", events, window).commit
    return None if found is None else found.value


def test_the_rate_is_that_of_the_tokens_after_the_first_by_the_arrival_of_their_pieces() -> None:
    found = figures("url", [ROLE, *pieces(11, 12, 13, 15), *end(41)], None)
    assert found.rate is not None
    assert (found.rate.value, found.rate.source) == (10, "url")
    assert found.internal is False


def test_what_is_thought_and_what_calls_a_tool_is_seen_too() -> None:
    events = [*pieces(11, key="reasoning_content"), *pieces(13), *pieces(15, key="tool_calls"), *end(41)]
    found = figures("url", events, None)
    assert found.rate is not None
    assert found.rate.value == 10


@pytest.mark.parametrize(
    ("timings", "window", "value"),
    [
        ({"predicted_n": 41, "draft_n": 30, "draft_n_accepted": 20}, None, 40 / 20),
        ({"predicted_n": 41}, None, 1),
        ({"predicted_n": 41}, Counts(drafted=0, accepted=0, generated=41, requests=1), 1),
        ({"predicted_n": 41}, Counts(drafted=30, accepted=20, generated=41), None),
        ({}, Counts(drafted=30, accepted=20, generated=41, requests=1), 40 / 20),
        ({}, None, None),
    ],
)
def test_the_answer_itself_goes_before_the_counters_around_it(
    timings: Mapping[str, int], window: Counts | None, value: float | None
) -> None:
    assert commit([*pieces(11, 15), *end(41, **timings)], window) == value


@pytest.mark.parametrize(
    ("types", "timings", "ending"),
    [
        (None, {}, None),
        (("ngram-cache",), {"draft_n": 30, "draft_n_accepted": 20}, None),
        (("ngram-cache",), {}, " with ngram-cache, and drafted nothing"),
        ((), {}, ", and drafted nothing"),
        (("a", "b"), {"draft_n": 9, "draft_n_accepted": 0}, " with a and b, and none of its drafts was accepted"),
        (None, {"draft_n": 9, "draft_n_accepted": 0}, ", and none of its drafts was accepted"),
    ],
)
def test_a_server_that_speculates_without_success_in_this_answer_is_told_from_one_that_does_not(
    types: tuple[str, ...] | None, timings: Mapping[str, int], ending: str | None
) -> None:
    events = [*pieces(11, 13), *end(41, predicted_n=41, **timings)]
    sentence = None if ending is None else f"the target speculates{ending} in this answer"
    assert figures("url", events, None, types).idle == sentence


@pytest.mark.parametrize(
    ("drafted", "accepted", "came"),
    [
        (None, 0, "yielded one token per round"),
        (0, 0, "drafted nothing"),
        (40, 0, "none of its drafts was accepted"),
    ],
)
def test_a_server_that_does_not_say_what_it_drafted_is_not_said_to_draft_nothing(
    drafted: int | None, accepted: int, came: str
) -> None:
    window = Counts(requests=1, generated=41, drafted=drafted, accepted=accepted)
    found = figures("url", [*pieces(11, 13), *end(41)], window, ("mtp",))
    assert found.idle == f"the target speculates with mtp, and {came} in this answer"


def test_the_engines_own_rate_stands_beside_it() -> None:
    events = [*pieces(11, 15), *end(41, predicted_n=41, predicted_per_second=17.5)]
    assert figures("url", events, None).engine_rate == 17.5
    counted = Counts(requests=1, generated=41, seconds=2.0)
    assert figures("url", [*pieces(11, 15), *end(41)], counted).engine_rate == 20


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        (pieces(11, 15), "its answer does not say how many tokens it has"),
        ([*pieces(11, 15), *end(15)], "its answer has 15 tokens in 2 pieces: too few to see how fast they come"),
        ([*pieces(11), *end(41)], "its answer has 41 tokens in 1 pieces: too few"),
        ([*pieces(11, 11), *end(41)], "its answer has 41 tokens in 2 pieces: too few"),
        (end(41), "its answer has 41 tokens in 0 pieces: too few"),
        ([], "its answer does not say"),
        ([(1.0, {"choices": "x"}), (2.0, {"usage": 3}), (3.0, {"timings": {"predicted_n": "x"}})], "does not say"),
    ],
)
def test_an_answer_that_no_rate_can_be_made_of_is_none(events: list[Event], sentence: str) -> None:
    with pytest.raises(Untimed) as refused:
        figures("url", events, None)
    assert sentence in str(refused.value)


def sse(*events: Mapping[str, Any]) -> file_server.Answer:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
    return lambda _: file_server.Reply(200, {"Content-Type": "text/event-stream"}, body.encode())


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_server_whose_answer_comes_at_once_cannot_be_timed(tmp_path: Path) -> None:
    health = file_server.Reply(200, {"Content-Type": "application/json"}, b'{"status": "ok"}')
    pages = {"/health": lambda _: health, "/v1/chat/completions": sse(*(event for _, event in end(5)))}
    with file_server.started(pages) as server:
        done = quadgen("triage", "--drafter", "head", "--target", server.url(), cwd=tmp_path)
        assert (done.status, done.out) == (4, "")
        assert f"cannot time {server.url().rstrip('/')}: its answer has 5 tokens in 0 pieces: too few" in done.err
        assert "timing an answer of 128 tokens" in done.err


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_wrong_options_ask_no_server(tmp_path: Path) -> None:
    with file_server.started({}) as server:
        words = ("--drafter", "head", "--target", server.url(), "--acceptance", "2")
        assert quadgen("triage", *words, cwd=tmp_path).status == 2
        assert server.seen == []
