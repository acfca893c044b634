"""What a real llama-server makes of a setting of speculation, in the words of tests/compositions.py."""

import re
import signal
import time
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Any

import serving
import tiny_gguf

QUICK = ("--threads", "1", "--no-warmup", "--cache-ram", "0", "--log-verbosity", "4")
"""Of every server here. Which types run is said at this verbosity alone."""
WORDS = [1, *range(tiny_gguf.FIRST, tiny_gguf.VOCABULARY), *range(tiny_gguf.FIRST, tiny_gguf.VOCABULARY)]
"""A prompt that counts twice, so that a model that counts finds there what it says."""
PATIENCE = 10.0
"""Seconds that a server has for dying of a request, and for saying why."""
ADDED = re.compile(r"adding speculative implementation '(.+)'")
_ENDS: Mapping[int | None, str] = {1: "exits", -signal.SIGABRT: "aborts", -signal.SIGSEGV: "crashes"}
_POSITION = re.compile(r'accepted_tokens_per_pos_total\{position="(\d+)"\}')


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds, or long enough: a server writes its log in a thread of its own."""
    late = time.monotonic() + PATIENCE
    while not holds() and time.monotonic() < late:
        time.sleep(0.01)


def ask(server: serving.Server, slot: int) -> tuple[int, Any] | None:
    """Let it count on; None where it dies of that."""
    body = {"prompt": WORDS, "n_predict": 120, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
    try:
        return server.post("/completion", body | {"id_slot": slot})
    except (OSError, HTTPException):
        eventually(lambda: server.status is not None)
        return None


def seen(server: serving.Server, slots: int = 1) -> tuple[str, list[str]]:
    """What the server did, in the words of `Then`, and the types that it runs."""
    if not server.ready:
        return _ENDS.get(server.status, f"{server.status}"), []
    _, told = server.get("/slots")
    speculates = {slot["speculative"] for slot in told}
    assert (len(told), len(speculates)) == (slots, 1)
    active = [found[1] for found in map(ADDED.search, server.log) if found] if speculates == {True} else []
    answers = [ask(server, slot) for slot in range(slots)]
    if None in answers:
        return ("dies" if server.status == -signal.SIGABRT else f"{server.status}"), active
    (status,) = {answer[0] for answer in answers if answer}
    if status != 200:
        return ("fails" if status == 500 else f"{status}"), active
    some = {answer[1]["timings"].get("draft_n", 0) > 0 for answer in answers if answer}
    assert len(some) == 1, "one slot drafts and another does not"
    return ("drafts" if some == {True} else "idle" if active else "plain"), active


def drafted(server: serving.Server) -> int:
    """How long the longest draft was of which a token could be accepted."""
    return max(int(found) + 1 for found in _POSITION.findall(server.get("/metrics")[1]))
