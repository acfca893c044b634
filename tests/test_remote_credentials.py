"""Who sees which credentials, and where redirects lead."""

import os

import httpx
import pytest

from asking import DATA, FILE, HF, SECRET, TOKEN, at_hub, authorization, read, told
from file_server import Answer, Reply, Seen, in_turn, ranged, redirect, started, status
from quadgen import remote
from quadgen.remote import web

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


def test_the_token_goes_to_the_hub() -> None:
    with started({FILE: ranged(DATA)}) as server:
        assert read(HF, at_hub(server)) == DATA
        assert read(server.url(FILE), at_hub(server)) == DATA
    assert authorization(server) == [f"Bearer {TOKEN}"] * 2


def test_without_a_token_nothing_is_sent() -> None:
    with started({FILE: ranged(DATA)}) as server:
        read(HF, at_hub(server, token=False))
        read(HF, at_hub(server, token=False) | {"HF_TOKEN": " \n"})
    assert authorization(server) == [None, None]


def test_the_token_goes_to_no_other_host() -> None:
    with started() as hub, started({FILE: ranged(DATA)}) as other:
        read(other.url(FILE), at_hub(hub))
        read(other.url(FILE, host="localhost"), {"HF_TOKEN": TOKEN})
    assert authorization(other) == [None, None]


def test_the_token_does_not_follow_a_redirect_to_another_port() -> None:
    with started({"/cdn": ranged(DATA)}) as cdn, started({FILE: redirect(cdn.url("/cdn"))}) as hub:
        assert read(HF, at_hub(hub)) == DATA
    assert (authorization(hub), authorization(cdn)) == ([f"Bearer {TOKEN}"], [None])


def test_the_token_does_not_follow_a_redirect_to_another_name_of_the_same_machine() -> None:
    with started({"/cdn": ranged(DATA)}) as hub:
        hub.answers[FILE] = redirect(hub.url("/cdn", host="localhost"))
        assert read(HF, at_hub(hub)) == DATA
    assert [(seen.host, sent) for seen, sent in zip(hub.seen, authorization(hub), strict=True)] == [
        (f"127.0.0.1:{hub.port}", f"Bearer {TOKEN}"),
        (f"localhost:{hub.port}", None),
    ]


def test_the_token_stays_away_once_another_host_had_a_say() -> None:
    with started({FILE: ranged(DATA)}) as hub, started({"/back": redirect(hub.url(FILE))}) as other:
        read(other.url("/back"), at_hub(hub))
        hub.answers["/org/repo/resolve/main/a.gguf"] = redirect(other.url("/back"))
        read("hf:org/repo/a.gguf", at_hub(hub))
    assert authorization(hub) == [None, f"Bearer {TOKEN}", None]


def test_the_token_follows_a_redirect_within_the_hub() -> None:
    with started({FILE: redirect("/api/cache/x?y=1", 307), "/api/cache/x?y=1": ranged(DATA)}) as hub:
        assert read(HF, at_hub(hub)) == DATA
    assert authorization(hub) == [f"Bearer {TOKEN}"] * 2
    assert hub.connections == 1


def test_later_windows_go_where_the_redirect_led() -> None:
    data = bytes(3 * 2**20)
    with started({"/cdn": ranged(data)}) as cdn, started({FILE: redirect(cdn.url("/cdn"))}) as hub:
        with remote.opened(HF, environ=at_hub(hub)) as (source,):
            assert len(source.read(0, 8)) + len(source.read(2**20, 8)) == len(data)
        assert (len(hub.seen), len(cdn.seen)) == (1, 2)


def test_the_hub_is_asked_again_where_the_address_that_it_gave_has_expired() -> None:
    data = bytes(3 * 2**20)
    with started({"/1": in_turn(ranged(data), status(403)), "/2": ranged(data)}) as cdn:
        answer = in_turn(redirect(cdn.url("/1")), redirect(cdn.url("/2")))
        with started({FILE: answer}) as hub, remote.opened(HF, environ=at_hub(hub)) as (source,):
            assert len(source.read(0, 8)) + len(source.read(2**20, 8)) == len(data)
    assert [seen.path for seen in cdn.seen] == ["/1", "/1", "/2"]
    assert authorization(cdn) == [None] * 3


def test_the_user_and_password_of_an_address_go_to_its_own_host_only() -> None:
    user = f"me:{SECRET}%40@"
    with (
        started({"/cdn": ranged(DATA)}) as cdn,
        started({"/1": ranged(DATA), "/2": redirect(cdn.url("/cdn"))}) as server,
    ):
        assert read(server.url("/1", user=user)) == DATA
        assert read(server.url("/2", user=user)) == DATA
        with remote.opened(server.url("/1?token=x#y", user=user), environ={}) as (source,):
            assert source.name == server.url("/1")
    assert authorization(server) == ["Basic bWU6czNjcjN0LXdvcmRA"] * 2
    assert authorization(cdn) == [None]


def test_10_redirects_are_followed_and_no_more() -> None:
    answers: dict[str, Answer] = {f"/{number}": redirect(f"/{number + 1}") for number in range(11)}
    with started(answers | {"/11": ranged(DATA)}) as server:
        assert read(server.url("/1")) == DATA
        url, host = server.url("/0"), f"127.0.0.1:{server.port}"
        assert told(url) == f"cannot read {url}: {host} redirects more than 10 times"


@pytest.mark.parametrize("target", ["file:///etc/passwd", "ftp://x/y", "http://a b/", "http://["])
def test_a_redirect_to_what_is_no_address_on_the_web_is_refused(target: str) -> None:
    with started({"/a": redirect(target)}) as server:
        message = "redirects to something that is no address on the web"
        assert told(server.url("/a")) == f"cannot read {server.url('/a')}: 127.0.0.1:{server.port} {message}"


def test_a_redirect_from_https_to_http_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    through(monkeypatch, lambda _: httpx.Response(302, headers={"Location": "http://example.com/x"}))
    message = "example.org redirects to example.com without encryption (http)"
    assert told("https://example.org/x") == f"cannot read https://example.org/x: {message}"


def through(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Let httpx send nothing and ask `answer` instead, where no server of a test can do the same."""
    real = httpx.Client

    def client(**settings: object) -> httpx.Client:
        return real(transport=httpx.MockTransport(answer), **settings)  # type: ignore[arg-type] # both as given

    monkeypatch.setattr(httpx, "Client", client)


def test_a_token_that_no_header_can_carry_is_refused_before_it_is_sent() -> None:
    with started({FILE: ranged(DATA)}) as server:
        message = told(HF, at_hub(server) | {"HF_TOKEN": f"{TOKEN}\nX-Evil: {SECRET}"})
    assert message == "HF_TOKEN holds characters that no token has"
    assert server.seen == []


def test_blanks_around_a_token_are_no_part_of_it() -> None:
    with started({FILE: ranged(DATA)}) as server:
        read(HF, at_hub(server) | {"HF_TOKEN": f" {TOKEN}\n"})
    assert authorization(server) == [f"Bearer {TOKEN}"]


def test_nothing_that_has_the_token_shows_it() -> None:
    with started({FILE: ranged(DATA)}) as server, web.Web(at_hub(server)) as client:
        spot = client.spot(server.url(f"{FILE}?token={SECRET}", user=f"me:{SECRET}@"))
        server.answers[f"{FILE}?token={SECRET}"] = ranged(DATA)
        answer = client.ask(spot, "name")
        shown = repr([client, spot, answer, answer.response, answer.response.headers])
        answer.response.close()
    assert TOKEN not in shown
    assert SECRET not in shown


def test_the_environment_of_the_process_is_no_source_of_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with started({FILE: ranged(DATA)}) as server:
        read(HF, {"HF_ENDPOINT": server.url()})
        read(HF, {"HF_ENDPOINT": server.url()} | os.environ)
    assert authorization(server) == [None, f"Bearer {TOKEN}"]


def test_cookies_of_one_file_are_unknown_to_the_next() -> None:
    def answer(seen: Seen) -> Reply:
        assert seen.headers["Cookie"] is None
        return ranged(DATA, {"Set-Cookie": "a=b; Path=/"})(seen)

    with started({"/a": answer}) as server:
        assert read(server.url("/a")) + read(server.url("/a")) == DATA * 2
