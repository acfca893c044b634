"""One timed request to one server, and what it gave.

The rate is the engine's own, and so is the number of tokens: events are never counted, since with speculation one can
be of several tokens, and a client's clock holds delivery. The words of the request: tools/server/server-schema.cpp and
server-task.cpp of llama.cpp b11434 (https://github.com/ggml-org/llama.cpp).
"""

import math
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, NoReturn

from quadgen.measuring.sample import Sample, Turn
from quadgen.observed import metrics
from quadgen.observed.counts import Counts
from quadgen.problems import Unavailable
from quadgen.sampling.opening import Opened

LEAST: Final = 2
"""Tokens of a request, at least: the first comes out of the prompt's pass, and is not timed."""
_BYTES: Final = 4
"""Bytes that a character has at most, and so tokens."""
_LATE: Final = 0.1
"""The share of a sample's time by which its first event may be late, for its CPU seconds to be made up for. Counting
the prompt by itself is for what is later: with 500 tokens of a prompt and 100 of an answer (Gemma 3 270M, one thread,
four times as many busy programs as processors) it was off by 12% a sample, and the first event late by 0.3%."""
_SEED: Final = 1
"""Of what is drawn where temperature 0 leaves anything to draw; the same in all requests."""
_OLD: Final = "llama-server counts its drafts since b10434"


class _Answer(NamedTuple):
    """A streamed answer, whole."""

    last: Mapping[str, Any]
    ids: tuple[int, ...]
    text: str
    cpu: float | None
    """CPU seconds from the first event to the end; None where nobody counts them."""
    whole: float
    """The same from before it was asked."""
    waited: float
    """Seconds until the first event was read."""
    first: int
    """Tokens that were generated when the first event came: 1, or more where a character has several."""


def ask(
    opened: Opened, turn: Turn, prompt: str, tokens: int, *, count_cpu: bool, asking: AbstractContextManager[None]
) -> Sample:
    """Ask for `tokens` tokens (`LEAST` or more), nothing of the prompt taken from a cache.

    `asking` is entered while the request itself goes on. Raises `Unavailable` where the answer breaks off or has fewer
    tokens, times or counts than a sample has; `Rejected` with `unreadable-metrics`.
    """
    before = _scraped(opened)
    with asking:
        answer = _answer(opened, _body(prompt, tokens), count_cpu=count_cpu)
    counts = _counts(opened, before, _scraped(opened))
    timings = answer.last.get("timings")
    if not isinstance(timings, dict):
        _fail(opened, "ends an answer without its times")
    generated, seconds = _whole(opened, timings, "predicted_n"), _number(opened, timings, "predicted_ms") / 1000
    truncated = answer.last.get("truncated") is True
    if generated < (LEAST if truncated else tokens):
        why = answer.last.get("stop_type")
        _fail(opened, f"generated {generated} of {tokens} tokens{f' ({why})' if isinstance(why, str) else ''}")
    if not 0 < seconds < math.inf:
        _fail(opened, f"says that it generated {generated} tokens in {seconds:g} seconds")
    drafted, accepted = _whole(opened, timings, "draft_n", 0), _whole(opened, timings, "draft_n_accepted", 0)
    if accepted > drafted:
        _fail(opened, f"says that it accepted {accepted} of {drafted} drafted tokens")
    _alone(opened, counts, generated, drafted)
    _complete(opened, answer, generated)
    if counts.rounds is None and drafted:
        _fail(opened, "has counted so many drafts that it no longer tells those of one request: start it anew")
    cpu = _worked(opened, answer, prompt, generated, seconds)
    if cpu is not None and cpu <= 0:
        _fail(opened, f"had its {generated} tokens before its work on them could be counted: ask for more of them")
    return Sample(
        turn=turn,
        tokens=generated - 1,
        seconds=seconds,
        cpu_seconds=cpu,
        prompt=_whole(opened, timings, "prompt_n"),
        cached=_whole(opened, timings, "cache_n", 0),
        drafted=drafted,
        accepted=accepted,
        rounds=counts.rounds or 0,
        output=answer.ids,
        text=answer.text,
        truncated=truncated,
    )


def warm(opened: Opened, prompt: str | list[int], tokens: int) -> None:
    """Ask for what is thrown away. Raises `NoAnswer`."""
    for _ in opened.server.stream("/completion", _body(prompt, tokens)):
        pass


def _body(prompt: str | list[int], tokens: int) -> dict[str, Any]:
    return {
        "prompt": prompt, "n_predict": tokens, "temperature": 0, "seed": _SEED, "ignore_eos": True, "stop": [],
        "cache_prompt": False, "return_tokens": True, "stream": True,
    }  # fmt: skip


def _answer(opened: Opened, body: Mapping[str, Any], *, count_cpu: bool) -> _Answer:
    process = opened.process if count_cpu else None
    before = began = process.cpu_seconds() if process is not None else 0.0
    sent, waited, first = time.monotonic(), 0.0, 0
    last: Mapping[str, Any] = {}
    ids: list[int] = []
    pieces: list[str] = []
    for _, event in opened.server.stream("/completion", body):
        if not first:
            began, waited = process.cpu_seconds() if process is not None else 0.0, time.monotonic() - sent
            said = event.get("tokens_predicted")
            first = said if isinstance(said, int) and said > 1 else 1
        tokens, content = event.get("tokens"), event.get("content")
        ids += [each for each in tokens if type(each) is int] if isinstance(tokens, list) else []
        pieces.append(content if isinstance(content, str) else "")
        last = event
    end = process.cpu_seconds() if process is not None else 0.0
    if last.get("stop") is not True:
        _fail(opened, "broke its answer off without a word")
    return _Answer(
        last=last, ids=tuple(ids), text="".join(pieces), cpu=None if process is None else end - began,
        whole=end - before, waited=waited, first=first,
    )  # fmt: skip


def _worked(opened: Opened, answer: _Answer, prompt: str, generated: int, seconds: float) -> float | None:
    """CPU seconds of the tokens after the first; None where nobody counts them.

    Where the machine is busy, quadgen may read the first event long after it was sent. The server's work meanwhile is
    taken to be as dense as later on. Of much of it the work for the prompt is what the same request for one token
    takes, of which nothing is drafted: see `run.FAINT`.
    """
    if answer.cpu is None:
        return None
    late = max(0.0, answer.waited - _number(opened, answer.last["timings"], "prompt_ms") / 1000)
    if late <= _LATE * seconds:
        return answer.cpu * (generated - 1) / max(1, generated - answer.first) * seconds / (seconds - late)
    again = _answer(opened, _body(prompt, 1), count_cpu=True)
    return answer.whole - again.whole


def _scraped(opened: Opened) -> metrics.Scrape:
    server = opened.server
    scrape = metrics.parse(f"{server.url}/metrics", server.text("/metrics"))
    if not scrape.has_speculation or scrape.rounds is None:
        _fail(opened, f"does not count drafts at /metrics, which is not an acceptance of 0: {_OLD}")
    return scrape


def _counts(opened: Opened, before: metrics.Scrape, after: metrics.Scrape) -> Counts:
    counts = metrics.between(before, after)
    if counts is None:
        _fail(opened, "was started anew while it was asked")
    return counts


def _alone(opened: Opened, counts: Counts, generated: int, drafted: int) -> None:
    """Refuse counts that are not this request's alone. What the server rounds is not compared."""
    pairs = ((counts.generated, generated), (counts.drafted, drafted))
    if any(counted is not None and counted != said for counted, said in pairs):
        _fail(opened, "answered others meanwhile: measure a server that nobody else asks")


def _complete(opened: Opened, answer: _Answer, generated: int) -> None:
    """Refuse an answer whose ids are not those of its tokens.

    A token that ends within a character has no event of its own (process_token of server-context.cpp), so there may be
    fewer: of each character beyond ASCII, and of one that the end cuts off.
    """
    split = (sum(not each.isascii() for each in answer.text) + 1) * (_BYTES - 1)
    if not generated - split <= len(answer.ids) <= generated:
        _fail(opened, f"sent {len(answer.ids)} ids of {generated} tokens")


def _whole(opened: Opened, timings: Mapping[str, Any], key: str, default: int | None = None) -> int:
    value = timings.get(key, default)
    if type(value) is not int or value < 0:
        _fail(opened, f"says no number of {key} with its times")
    return value


def _number(opened: Opened, timings: Mapping[str, Any], key: str) -> float:
    value = timings.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        _fail(opened, f"says no number of {key} with its times")
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _fail(opened: Opened, what: str) -> NoReturn:
    raise Unavailable(f"{opened.server.url} {what}")
