"""Each way in which a server does not answer has its message, and each message says what to do."""

import json
import socket
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_server import Reply, started
from quadgen.server.client import connected
from quadgen.server.failures import NoAnswer, message, quoted

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


KEY = "--api-key-file FILE, or the variable LLAMA_API_KEY"
PREFIX = "an older one, or stands behind a prefix (--api-prefix), which belongs into the address"


def error(code: int, words: str, kind: str = "x") -> bytes:
    """As llama-server words one."""
    return json.dumps({"error": {"code": code, "message": words, "type": kind}}).encode()


def asked(url: str, path: str, **options: Any) -> NoAnswer:
    with connected(url, environ={}, **options) as server, pytest.raises(NoAnswer) as refused:
        server.text(path)
    assert str(refused.value) == f"cannot ask {server.url}{path}: {refused.value.reason}"
    return refused.value


SAYS: list[tuple[str, int, bytes, dict[str, Any], str]] = [
    (
        "/metrics", 401, error(401, "Invalid API Key"), {},
        f"it wants an API key (401): give it by {KEY}",
    ),
    ("/metrics", 401, error(401, "Invalid API Key"), {"api_key": "k"}, "it does not accept this API key (401)"),
    ("/metrics", 403, b"", {"api_key": "k"}, "it does not accept this API key (403)"),
    (
        "/metrics", 403, error(403, "go away"), {},
        f"it refuses access (403): go away; if it wants an API key, give it by {KEY}",
    ),
    (
        "/metrics", 404, error(404, "File Not Found"), {},
        f"there is no /metrics at this address (404): it is no llama-server, {PREFIX}",
    ),
    (
        "/metrics", 501, error(501, "This server does not support metrics endpoint. Start it with `--metrics`"), {},
        "/metrics is switched off (501): start the server with --metrics",
    ),
    (
        "/slots", 501, error(501, "This server does not support slots endpoint. Start it with `--slots`"), {},
        "/slots is switched off (501): start the server without --no-slots",
    ),
    ("/rerank", 501, error(501, "not here"), {}, "it does not support /rerank (501): not here"),
    ("/slots", 503, error(503, "Loading model"), {}, "it is still loading its model (503): ask again in a while"),
    ("/slots", 503, error(503, "no slot available"), {}, "it answers 503 Service Unavailable: no slot available"),
    (
        "/slots", 502, b"<html>Bad Gateway</html>", {},
        "what stands before the server answers 502 Bad Gateway: is the server itself running?",
    ),
    (
        "/slots", 400, error(400, "model name is missing from the request"), {},
        "it is a router of several models (400): say which with --model NAME; /v1/models lists them",
    ),
    (
        "/slots", 400, error(400, "model is not loaded"), {"model": "m"},
        "the router has not loaded this model (400), and asking does not load it: send it a request first",
    ),
    (
        "/slots", 400, error(400, "model 'nope' not found"), {"model": "nope"},
        "it answers 400 Bad Request: model 'nope' not found",
    ),
    ("/slots", 400, error(400, "bad"), {}, "it answers 400 Bad Request: bad"),
    ("/slots", 429, error(429, "slow down"), {}, "it limits how often it is asked (429): slow down: ask again later"),
    ("/slots", 500, error(500, "not\ndone\x1b[31m"), {}, "it answers 500 Internal Server Error: not done [31m"),
    ("/slots", 500, b"\xff\x00junk", {}, "it answers 500 Internal Server Error"),
    ("/slots", 799, b'{"detail": "odd"}', {}, "it answers 799: odd"),
    ("/slots", 204, b"", {}, "it answers 204 No Content"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "status", "body", "options", "reason"), SAYS)
def test_each_status_says_what_to_do(path: str, status: int, body: bytes, options: dict[str, Any], reason: str) -> None:
    where = path if "model" not in options else f"{path}?model={options['model']}&autoload=false"
    with started({where: lambda _: Reply(status, {}, body)}) as server:
        found = asked(server.url(), path, **options)
    assert (found.status, found.reason) == (status, reason)


def test_a_dead_port_is_said_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    found = asked(f"http://anna:pass@127.0.0.1:{port}", "/slots")
    assert found.status is None
    assert found.reason == f"nothing listens at 127.0.0.1:{port}: is the server running, and is this its port?"


def test_a_server_that_is_silent_is_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        where = f"127.0.0.1:{silent.getsockname()[1]}"
        found = asked(where, "/slots", timeout=0.05)
    assert found.reason == f"{where} does not answer in time: it may be busy, or asleep and loading its model"


def test_a_name_that_nobody_has_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert asked("http://claw:8080", "/slots").reason == "there is no address for claw:8080: Name or service not known"


def test_the_wrong_scheme_is_guessed() -> None:
    with started() as server:
        found = asked(server.url().replace("http:", "https:"), "/slots")
        assert found.reason.startswith(f"no secure connection to 127.0.0.1:{server.port}: ")
        assert found.reason.endswith("; does it speak http:// there?")


def test_what_speaks_no_http_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"

        def greet(*_: object) -> None:
            taken, _ = other.accept()
            with taken:
                taken.recv(4096)
                taken.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")

        greeter = threading.Thread(target=greet)
        greeter.start()
        found = asked(where, "/slots")
        greeter.join()
    assert found.reason == f"{where} ends its answer too early, or does not speak HTTP; is https:// meant?"


@given(st.text(max_size=1000))
def test_a_servers_words_are_one_line_of_what_can_be_shown(words: str) -> None:
    shown = quoted(words)
    assert len(shown) <= 201
    assert "\n" not in shown
    assert all(character.isprintable() or character.isspace() or ord(character) > 0x9F for character in shown)
    assert message(json.dumps({"error": {"message": words}})) == (shown or None)
