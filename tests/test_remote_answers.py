"""What each refusal of a server is called, and what is tried again."""

import socket
import ssl
import time
from email.utils import formatdate

import httpx
import pytest

from asking import DATA, FILE, HF, SECRET, TOKEN, at_hub, authorization, read, told
from file_server import Answer, Reply, in_turn, ranged, redirect, started, status
from quadgen.remote import web
from quadgen.remote.failures import failure

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited for."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


HUB_SAYS: list[tuple[int, dict[str, str], bool, str]] = [
    (401, {}, False, "org/repo is private or does not exist (401): set HF_TOKEN to a token that may read it"),
    (401, {"X-Error-Code": "RepoNotFound"}, True, "HOST does not accept the token in HF_TOKEN (401)"),
    (
        401,
        {"X-Error-Code": "GatedRepo"},
        False,
        "access to org/repo is not granted (401): accept its terms at HUB/org/repo, and set HF_TOKEN",
    ),
    (
        403,
        {"X-Error-Code": "GatedRepo"},
        True,
        "access to org/repo is not granted (403): accept its terms at HUB/org/repo",
    ),
    (403, {}, True, "access to org/repo is not granted to the token in HF_TOKEN (403): ask for it at HUB/org/repo"),
    (403, {}, False, "access to org/repo is not granted (403): ask for it at HUB/org/repo, and set HF_TOKEN"),
    (404, {"X-Error-Code": "EntryNotFound"}, True, "org/repo has no model.gguf at main (404)"),
    (404, {"X-Error-Code": "RevisionNotFound"}, True, "org/repo has no revision main (404)"),
    (
        404,
        {"X-Error-Code": "RepoNotFound"},
        True,
        "there is no org/repo, or the token in HF_TOKEN may not see it (404)",
    ),
    (404, {"X-Error-Code": "RepoNotFound"}, False, "there is no org/repo, or it is private (404)"),
    (404, {}, True, "there is no such repository, revision or file on HOST (404)"),
    (429, {"Retry-After": "55"}, True, "HOST limits how often it is asked (429): try again in 55 seconds"),
    (
        429,
        {"RateLimit": '"resolvers";r=0;t=217'},
        False,
        "HOST limits how often it is asked (429): try again in 217 seconds, or set HF_TOKEN, which raises the limit",
    ),
    (451, {}, True, "HOST answers 451 Unavailable For Legal Reasons"),
    (499, {}, True, "HOST answers 499"),
]


@pytest.mark.parametrize(("code", "headers", "token", "expected"), HUB_SAYS)
def test_what_the_hub_refuses_is_said_in_a_sentence(
    code: int,
    headers: dict[str, str],
    token: bool,  # noqa: FBT001 - a column of the table
    expected: str,
) -> None:
    with started({FILE: status(code, headers)}) as server:
        message = told(HF, at_hub(server, token=token))
        expected = expected.replace("HUB", server.url()).replace("HOST", f"127.0.0.1:{server.port}")
    assert message == f"cannot read {HF}: {expected}"
    assert len(server.seen) == 1


SERVER_SAYS = [
    (401, "HOST wants to know who asks (401)"),
    (403, "HOST refuses access (403)"),
    (404, "HOST has no such file (404)"),
    (410, "HOST has no such file (410)"),
    (407, "the proxy wants a user and a password (407)"),
    (418, "HOST answers 418 I'm a Teapot"),
]


@pytest.mark.parametrize(("code", "expected"), SERVER_SAYS)
def test_what_another_server_refuses_is_said_in_a_sentence(code: int, expected: str) -> None:
    with started({"/a": status(code, {"X-Error-Code": "GatedRepo"})}) as server:
        message = told(server.url("/a"), {"HF_TOKEN": TOKEN})
    assert message == f"cannot read {server.url('/a')}: {expected.replace('HOST', f'127.0.0.1:{server.port}')}"


def test_a_password_that_is_not_accepted_is_said_and_not_shown() -> None:
    with started({f"/a?sig={SECRET}": status(401)}) as server:
        message = told(server.url(f"/a?sig={SECRET}", user=f"me:{SECRET}@"))
    end = f"127.0.0.1:{server.port} does not accept the user and password of the address (401)"
    assert message == f"cannot read {server.url('/a')}: {end}"


def test_the_host_behind_a_redirect_is_named_and_its_address_is_not() -> None:
    with (
        started({f"/x?sig={SECRET}": status(403)}) as cdn,
        started({FILE: redirect(cdn.url(f"/x?sig={SECRET}"))}) as hub,
    ):
        assert told(HF, at_hub(hub)) == f"cannot read {HF}: 127.0.0.1:{cdn.port} refuses access (403)"


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_what_may_pass_is_tried_again(code: int, pauses: list[float]) -> None:
    with started({FILE: in_turn(status(code), status(code), ranged(DATA))}) as server:
        assert read(HF, at_hub(server)) == DATA
    assert pauses == [0.5, 1.0]


def test_three_failures_are_enough(pauses: list[float]) -> None:
    with started({FILE: status(503)}) as server:
        message = told(HF, at_hub(server))
    assert message == f"cannot read {HF}: 127.0.0.1:{server.port} answers 503 Service Unavailable"
    assert (len(server.seen), pauses) == (3, [0.5, 1.0])


def test_a_server_may_say_how_long_to_wait(pauses: list[float]) -> None:
    soon = status(429, {"Retry-After": formatdate(time.time() + 3, usegmt=True)})
    with started({FILE: in_turn(status(429, {"Retry-After": "2"}), soon, ranged(DATA))}) as server:
        assert read(HF, at_hub(server)) == DATA
    assert pauses[0] == 2
    assert 0 < pauses[1] <= 3


@pytest.mark.parametrize("said", ["6", "99999999999", formatdate(9e9, usegmt=True)])
def test_nobody_waits_for_long(said: str, pauses: list[float]) -> None:
    with started({FILE: status(503, {"Retry-After": said})}) as server:
        told(HF, at_hub(server))
    assert (len(server.seen), pauses) in ((1, []), (3, [0.5, 1.0]))


@pytest.mark.parametrize("said", ["soon", "-1", "Mon, 99 Foo 2026 00:00:00 GMT", "99999999999"])
def test_a_wait_that_cannot_be_read_is_none(said: str, pauses: list[float]) -> None:
    with started({FILE: status(503, {"Retry-After": said})}) as server:
        told(HF, at_hub(server))
    assert pauses == [0.5, 1.0]


@pytest.mark.parametrize("hub", ["huggingface.co", "ftp://x", f"https://me:{SECRET}@hub.example", "http://[::"])
def test_a_hub_that_has_no_address_is_refused(hub: str) -> None:
    assert told(HF, {"HF_ENDPOINT": hub}) == "MODEL_ENDPOINT or HF_ENDPOINT is no http or https address of a hub"


def test_the_hub_can_be_moved_as_llama_server_lets_it() -> None:
    with started({f"/mirror{FILE}": ranged(DATA)}) as server:
        assert read(HF, {"MODEL_ENDPOINT": server.url("/mirror/"), "HF_ENDPOINT": "http://127.0.0.1:1"}) == DATA
        server.answers = {f"/mirror{FILE}": status(404, {"X-Error-Code": "EntryNotFound"})}
        assert told(HF, at_hub(server, prefix="/mirror")).endswith(": org/repo has no model.gguf at main (404)")


def test_an_address_that_is_none_is_refused() -> None:
    for name in (
        f"http://me:{SECRET}@",
        "https://a b/c",
        "http://[::1/x",
        "http://x:99999999/y",
        "http:///x",
        "http://x/\udcff",
    ):
        assert "no address" in told(name)


def test_a_server_that_is_not_there_is_refused() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/a"
    assert told(url) == f"cannot read {url}: cannot connect to 127.0.0.1:{port}: Connection refused"


def test_a_name_that_has_no_address_is_said_to_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(*_: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nowhere)
    message = "there is no address for hub.invalid: Name or service not known"
    assert told(HF, {"HF_ENDPOINT": "https://hub.invalid", "HF_TOKEN": TOKEN}) == f"cannot read {HF}: {message}"


def test_a_server_without_encryption_is_no_https_server() -> None:
    with started({FILE: ranged(DATA)}) as server:
        url = server.url(FILE).replace("http:", "https:")
        assert told(url).startswith(f"cannot read {url}: no secure connection to 127.0.0.1:{server.port}: ")


def test_a_certificate_that_is_not_trusted_is_said_to_be_so() -> None:
    cause = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = httpx.ConnectError("...")
    error.__cause__ = OSError()
    error.__cause__.__context__ = cause
    end = "the certificate of hub is not trusted: self-signed certificate; SSL_CERT_FILE names other authorities"
    assert str(failure(error, "hub")) == end


def test_a_server_that_does_not_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    monkeypatch.setattr(web, "TIMES", httpx.Timeout(0.05))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a"
        assert told(url) == f"cannot read {url}: {url[7:-2]} does not answer in time"
    assert pauses == [0.5, 1.0]


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with started({"http://example.org/a": ranged(DATA)}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url(user=f"me:{SECRET}@"))
        assert read("http://example.org/a", {"HF_TOKEN": TOKEN}) == DATA
        assert told("http://example.org/b") == "cannot read http://example.org/b: example.org has no such file (404)"
    assert proxy.seen[0].headers["Proxy-Authorization"] is not None
    assert authorization(proxy) == [None, None]


def test_a_proxy_that_connects_to_nothing_is_said_to_do_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with started() as proxy:
        monkeypatch.setenv("https_proxy", proxy.url(user=f"me:{SECRET}@"))
        message = told(HF, {"HF_TOKEN": TOKEN})
    assert message == f"cannot read {HF}: the proxy connects to no huggingface.co: 501"


@pytest.mark.parametrize("proxy", [f"ftp://me:{SECRET}@x", f"socks5://me:{SECRET}@x"])
def test_a_proxy_that_cannot_be_used_is_refused(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", proxy)
    assert told(HF) == "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names a proxy that quadgen cannot use"


def test_certificates_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nonexistent/ca.pem")
    with started({FILE: ranged(DATA)}) as server:
        message = told(server.url(FILE))
    assert message == "the file of certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used"


def test_a_server_may_answer_with_any_header() -> None:
    odd: Answer = lambda _: Reply(200, {"ETag": "\u00fc", "Content-Length": "21", "Set-Cookie": "a=b"}, DATA)  # noqa: E731 - read beside its use
    with started({"/a": odd}) as server:
        assert read(server.url("/a")) == DATA
