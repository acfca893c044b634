"""The shipped workloads on the real server: what Gemma 3 270M makes of them at temperature 0."""

from collections.abc import Iterator
from typing import Any

import pytest

import serving
from parts import gemma, llama_server
from quadgen.agreeing.loops import loop
from quadgen.measuring.workloads import SHIPPED, fitted, shipped
from speculating import QUICK

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TOKENS = 200
CONTEXT = 2048
ASKED = tuple(fitted(workload, context=CONTEXT, tokens=TOKENS) for workload in shipped())


@pytest.fixture(name="server", scope="module")
def _server() -> Iterator[serving.Server]:
    # ngram-simple looks into nothing but the request itself; the maps of n-grams keep something of those before it
    words = ("--ctx-size", str(CONTEXT), "--parallel", "1", *QUICK, "--spec-type", "ngram-simple")
    with serving.start(llama_server(), "--model", str(gemma()), *words, timeout=400) as server:
        assert server.ready, server.log
        yield server


@pytest.mark.parametrize("workload", shipped(), ids=SHIPPED)
def test_no_text_has_more_tokens_than_its_bytes_say(workload: Any, server: serving.Server) -> None:
    for text in workload.texts:
        status, told = server.post("/tokenize", {"content": text})
        assert status == 200
        assert len(told["tokens"]) < len(text.encode()) / workload.token


def test_no_copy_ends_before_the_tokens_that_it_is_said_to_have(server: serving.Server) -> None:
    (copy,) = shipped(["copy"])
    for sizes in copy.sizes:
        for size in sizes:
            original, _, begun = size.text.partition("\n\nThe same text again, word for word:\n\n")
            _, told = server.post("/tokenize", {"content": original.removeprefix(begun)})
            assert size.tokens <= len(told["tokens"])


@pytest.mark.parametrize("name", SHIPPED)
def test_a_small_model_goes_on_without_a_loop_and_drafts_what_the_workload_is_for(
    name: str, server: serving.Server
) -> None:
    asked = ASKED[SHIPPED.index(name)]
    body = {"prompt": asked.prompt(0), "n_predict": TOKENS, "temperature": 0, "seed": 1, "ignore_eos": True,
            "cache_prompt": False, "return_tokens": True}  # fmt: skip
    status, told = server.post("/completion", body)
    assert status == 200, told
    assert (len(told["tokens"]), told["truncated"]) == (TOKENS, False)
    assert loop(told["tokens"]) is None
    accepted = told["timings"].get("draft_n_accepted", 0) / TOKENS
    least, most = {"prose": (0.0, 0.2), "code-edit": (0.2, 0.95), "copy": (0.8, 1.0)}[name]
    assert least <= accepted <= most
