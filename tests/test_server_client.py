"""Asking a server: what is sent, what comes back, and where an answer ends."""

import gzip
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from file_server import Answer, Cut, Reply, Seen, Server, redirect, started, status, whole
from quadgen.problems import Unavailable
from quadgen.server import coming
from quadgen.server.client import connected
from quadgen.server.failures import NoAnswer

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

KEY = "sk-secret"


def said(value: Any) -> Answer:
    return whole(json.dumps(value).encode(), {"Content-Type": "application/json"})


def events(*lines: bytes) -> Answer:
    return lambda _: Reply(200, {"Content-Type": "text/event-stream"}, list(lines))


@contextmanager
def drops(begins: bytes, then: bytes | None = None) -> Iterator[str]:
    """A server that goes on for ever: the same again and again, or something else after how it begins."""
    listening = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        with suppress(OSError), listening.accept()[0] as accepted:
            accepted.recv(4096)
            accepted.sendall(begins)
            while True:
                time.sleep(0.05)
                accepted.sendall(then or begins)

    threading.Thread(target=answer, daemon=True).start()
    with listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def refusal(server: Server, path: str = "/slots", **options: Any) -> NoAnswer:
    """What is said where a GET fails; HERE is the server's address."""
    with connected(server.url(), environ={}, **options) as asked, pytest.raises(NoAnswer) as refused:
        asked.get(path)
    return refused.value


def test_json_and_text_are_had_from_below_the_address() -> None:
    with started({"/llm/slots": said([{"id": 0}]), "/llm/metrics": whole("ä 1\r\n".encode())}) as server:
        with connected(server.url("/llm/slots"), environ={}) as asked:
            assert asked.url == server.url("/llm")
            assert asked.get("/slots") == [{"id": 0}]
            assert asked.text("/metrics") == "ä 1\r\n"
        assert server.seen[0].headers["Authorization"] is None


def test_json_is_posted() -> None:
    def echo(seen: Seen) -> Reply:
        return Reply(200, {}, seen.body)

    with started({"/completion": echo}) as server, connected(server.url(), environ={}) as asked:
        assert asked.post("/completion", {"prompt": "ü"}) == {"prompt": "ü"}
        assert asked.ask("/completion", {"n": 1}) == (200, {"n": 1})
        assert asked.ask("/nothing") == (404, "no such luck")
        with pytest.raises(NoAnswer, match=r"there is no /nothing at this address \(404\)"):
            asked.post("/nothing", {})


def test_the_key_is_the_given_one_or_that_of_the_environment() -> None:
    with started({"/slots": said([])}) as server:
        for given, said_there in ((KEY, "other"), (None, f" {KEY}\n"), (None, f',"{KEY}",other')):
            with connected(server.url(), environ={"LLAMA_API_KEY": said_there}, api_key=given) as asked:
                asked.get("/slots")
                assert KEY not in repr(asked)
        user = server.url(user="anna:pass@")
        with connected(user, environ={}, api_key=KEY) as asked:
            asked.get("/slots")
            assert "anna" not in asked.url
        assert [seen.headers["Authorization"] for seen in server.seen] == [f"Bearer {KEY}"] * 3 + ["Basic YW5uYTpwYXNz"]
        assert [seen.headers["X-Api-Key"] for seen in server.seen] == [None, None, None, KEY]


def test_a_key_that_would_be_another_header_is_refused_unseen() -> None:
    with (
        pytest.raises(Unavailable, match=r"^the API key holds characters that no key has$"),
        connected("claw:1", environ={}, api_key=f"{KEY}\r\nX: y"),
    ):
        pass


def test_a_router_is_told_the_model_and_asked_to_load_none() -> None:
    paths = {"/slots?model=org%2Fm&autoload=false": said([]), "/completion": said({})}
    with started(paths) as server, connected(server.url("/slots?model=other"), environ={}, model="org/m") as asked:
        asked.get("/slots")
        asked.post("/completion", {"prompt": ""})
        asked.post("/completion", {"prompt": "", "model": "mine"})
        assert [json.loads(seen.body)["model"] for seen in server.seen[1:]] == ["org/m", "mine"]


def test_no_proxy_stands_between_a_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for proxy in ("http://192.0.2.1:3128", "socks9://nonsense"):
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy)
        with started({"/slots": said([])}) as server, connected(server.url(), environ={}) as asked:
            assert asked.get("/slots") == []
    with pytest.raises(Unavailable, match="names a proxy that quadgen cannot use"), connected("claw:1", environ={}):
        pass


def test_other_machines_are_asked_by_way_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with started({"http://claw.example:8080/slots": said([1])}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url())
        with connected("claw.example:8080", environ={}) as asked:
            assert asked.get("/slots") == [1]


def test_a_redirect_is_not_followed_with_the_key() -> None:
    with started({"/slots": redirect("/elsewhere"), "/elsewhere": said([])}) as server:
        found = refusal(server, api_key=KEY)
        assert (found.status, found.reason) == (302, "it redirects elsewhere (302): give the address where it is")
        assert len(server.seen) == 1


def test_an_answer_without_end_or_in_drops_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coming, "MOST", 1000)

    def drops(_: Seen) -> Reply:
        def body() -> Iterator[bytes]:
            while True:
                time.sleep(0.02)
                yield b" "

        return Reply(200, {}, body())

    with started({"/slots": whole(b"[" + b" " * 1000), "/drops": drops}) as server:
        assert refusal(server).reason.startswith("its answer has more than 1000 bytes")
        assert refusal(server, "/drops", timeout=0.1).reason == "its answer is not whole after 0.1 seconds"


def test_an_answer_that_breaks_off_is_none() -> None:
    def broken(_: Seen) -> Reply:
        def body() -> Iterator[bytes]:
            yield b"[1"
            raise Cut

        return Reply(200, {"Content-Length": "100"}, body())

    with started({"/slots": broken}) as server:
        assert "ends its answer too early, or does not speak HTTP" in refusal(server).reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!DOCTYPE html><title>Hi", "it answers with a page for people: is this the address of the server's API?"),
        (b"\n <html>", "it answers with a page for people: is this the address of the server's API?"),
        (b"", "its answer is empty"),
        (b"OK\x1b[2J fine\x00", "its answer is no JSON, it begins: OK [2J fine"),
        (b"[" * 100_000, f"its answer is no JSON, it begins: {'[' * 60}"),
        (b"9" * 5000, f"its answer is no JSON, it begins: {'9' * 60}"),
    ],
)
def test_what_is_no_json_is_said_with_how_it_begins(body: bytes, reason: str) -> None:
    with started({"/slots": whole(body)}) as server:
        assert refusal(server).reason == reason


def test_events_come_one_by_one_with_their_times() -> None:
    answer = events(
        b'data: {"content": "a\xe2\x80\xa8b"}\n\n: a comment\r\ndata: {"con', b'tent": "c"}\r\n\r\n',
        b"event: x\nid: 1\ndata:\n\ndata: [DONE]\n\n", b'data: {"content": "after"}\n\n',
    )  # fmt: skip
    with started({"/completion": answer}) as server, connected(server.url(), environ={}) as asked:
        before = time.monotonic()
        came = list(asked.stream("/completion", {"stream": True}))
        assert [event for _, event in came] == [{"content": "a\u2028b"}, {"content": "c"}]
        assert before <= came[0][0] <= came[1][0] <= time.monotonic()


def test_events_end_where_the_answer_does() -> None:
    answer = events(b'data: {"n": 1}\n\n', b'data: {"n": 2}')
    with started({"/completion": answer}) as server, connected(server.url(), environ={}) as asked:
        assert [event["n"] for _, event in asked.stream("/completion", {})] == [1, 2]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (
            events(b'data: {"error": {"message": "no \\u001bmore", "code": 500}}\n\n'),
            "it broke its answer off: no more",
        ),
        (events(b'error: {"code": 500, "message": "gone"}\n\n'), "it broke its answer off: gone"),
        (events(b'data: {"error": 1}\n\n'), "it broke its answer off: it does not say why"),
        (events(b"data: [1]\n\n"), "one event of its answer is no object"),
        (events(b"data: {\n\n"), "its answer is no JSON, it begins: {"),
        (status(503), "what stands before the server answers 503 Service Unavailable: is the server itself running?"),
    ],
)
def test_an_event_that_is_an_error_or_none_ends_them(answer: Answer, reason: str) -> None:
    with started({"/completion": answer}) as server, connected(server.url(), environ={}) as asked:
        with pytest.raises(NoAnswer) as refused:
            list(asked.stream("/completion", {}))
        assert refused.value.reason == reason


def test_an_event_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coming, "MOST", 1000)
    answer = events(b"data: ", b"x" * 600, b"x" * 600)
    with started({"/completion": answer}) as server, connected(server.url(), environ={}) as asked:
        came = asked.stream("/completion", {})
        with pytest.raises(NoAnswer, match="more than 1000 bytes"):
            next(came)


def test_events_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coming, "MOST_EVENTS", 1000)
    answer = events(*[b'data: {"n": 1}\n\n'] * 100)
    with started({"/completion": answer}) as server, connected(server.url(), environ={}) as asked:
        came = asked.stream("/completion", {})
        with pytest.raises(NoAnswer, match="its answer has more than 1000 bytes"):
            list(came)


@pytest.mark.parametrize("comments", [1000, 0])
def test_comments_are_no_events_that_a_stream_goes_on_with_and_neither_is_silence(comments: int) -> None:
    def body() -> Iterator[bytes]:
        for text in (*[b'data: {"n": 1}\n\n'] * 4, *[b": still there\n\n"] * comments):
            time.sleep(0.1)
            yield text
        time.sleep(1)

    with (
        started({"/completion": lambda _: Reply(200, {}, body())}) as server,
        connected(server.url(), environ={}) as asked,
    ):
        with pytest.raises(NoAnswer) as refused:
            list(asked.stream("/completion", {}, timeout=0.3))
        assert refused.value.reason == "its answer is not whole, and no event of it came for 0.3 seconds"


@pytest.mark.parametrize("begins", [b"HTTP/1.1 200 OK\r\nA: ", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_headers_in_drops_are_given_up(begins: bytes) -> None:
    with drops(begins) as url, connected(url, environ={}, timeout=0.3) as asked:
        with pytest.raises(NoAnswer) as refused:
            asked.get("/slots")
        assert refused.value.reason.endswith("does not answer in time: it may be busy, or asleep and loading its model")


def test_a_chunk_whose_length_comes_in_drops_is_given_up() -> None:
    begins = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;"
    with drops(begins, b"x") as url, connected(url, environ={}, timeout=0.3) as asked:
        with pytest.raises(NoAnswer) as refused:
            asked.get("/slots")
        assert refused.value.reason == "its answer is not whole after 0.3 seconds"


def test_a_compressed_answer_is_not_read() -> None:
    with started({"/slots": whole(gzip.compress(bytes(1000)), {"Content-Encoding": "gzip"})}) as server:
        assert refusal(server).reason == "its answer is compressed, although it was asked not to"


def test_a_name_that_is_no_text_is_refused_before_it_is_sent() -> None:
    with (
        pytest.raises(Unavailable, match=r"^the name of the model is no text$"),
        connected("claw:1", environ={}, model="\udcff"),
    ):
        pass


def test_half_a_character_of_a_servers_own_can_be_sent_back() -> None:
    with started({"/tokenize": said({})}) as server, connected(server.url(), environ={}) as asked:
        asked.post("/tokenize", {"content": "\ud800"})
        assert json.loads(server.seen[0].body) == {"content": "\ud800"}
        assert server.seen[0].headers["Content-Type"] == "application/json"
