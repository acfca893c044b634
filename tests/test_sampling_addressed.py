"""Servers that run already, and are none that can be measured."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

from captures import answer
from quadgen.measuring.told import Told
from quadgen.problems import Unavailable
from quadgen.sampling.addressed import Addressed, told
from quadgen.server.failures import NoAnswer

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

BUILD = "b11434"
ANSWERS = {
    "/props": answer(BUILD, "ngram-cache", "props"),
    "/slots": answer(BUILD, "ngram-cache", "slots"),
    "/v1/models": answer(BUILD, "ngram-cache", "models"),
    "/completion": {"content": "b"},
}


@contextmanager
def answering(answers: Mapping[str, Any], keys: list[str]) -> Iterator[str]:
    """The address of a server that gives these answers, and 404 for any other path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            keys.append(self.headers.get("Authorization", ""))
            found = answers.get(self.path)
            body = json.dumps({"error": {"message": "File Not Found"}} if found is None else found).encode()
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def ask(answers: Mapping[str, Any], key: str | None = None) -> tuple[Told, list[str]]:
    """What a server with these answers is taken for, and what it was sent to be let in."""
    keys: list[str] = []
    with (
        answering(answers, keys) as url,
        Addressed(url=url, types=(), environ={}, api_key=key).opened() as opened,
    ):
        return told(opened.server), keys


def without(path: str) -> dict[str, Any]:
    """The answers of a server that lacks one."""
    return {each: found for each, found in ANSWERS.items() if each != path}


def test_a_server_says_its_build_its_model_and_its_drafters() -> None:
    found, _ = ask(ANSWERS)
    assert (found.build, found.model, found.file) == ("b0-unknown", "g270", "gemma3-270m.gguf")
    assert (found.parameters, found.size, found.vocabulary) == (268098176, 246587904, 262144)
    assert (found.quantization, found.context, found.slots) == ("Q4_K - Medium", 1024, 2)
    assert (found.types, found.number, found.commit) == (("ngram-cache",), None, None)


def test_the_key_is_sent_with_every_question() -> None:
    assert ask(ANSWERS, "secret")[1] == ["Bearer secret"] * len(ANSWERS)


def test_a_server_that_takes_no_text_as_it_is_cannot_be_measured() -> None:
    with pytest.raises(Unavailable, match=r"it has no /completion, where .* from a text as it is; halogen has none"):
        ask(without("/completion"))


def test_a_server_that_hides_its_slots_cannot_be_either() -> None:
    with pytest.raises(NoAnswer, match="/slots"):
        ask(without("/slots"))


def test_a_router_is_not_asked_for_one_of_its_models() -> None:
    models = ANSWERS["/v1/models"]
    several = {**models, "data": [*models["data"], {"id": "another"}]}
    with pytest.raises(Unavailable, match="serves several models: measure against the server of one"):
        ask({**ANSWERS, "/v1/models": several})
    with pytest.raises(Unavailable, match="serves several models"):
        ask({**ANSWERS, "/props": {"role": "router"}})


def test_answers_of_another_shape_are_refused() -> None:
    with pytest.raises(Unavailable, match="it answers with a table where the slots should be"):
        ask({**ANSWERS, "/slots": {}})
