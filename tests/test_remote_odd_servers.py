"""Servers that do other than asked, and connections that break."""

import time
from collections.abc import Iterator

import pytest

from file_server import Answer, Cut, Reply, Seen, in_turn, ranged, started, whole
from quadgen import remote
from quadgen.problems import Unavailable
from quadgen.remote import bodies, web
from windows import DATA, MIB, PATH, endless, in_small_steps, through

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited for."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def refusal(answer: Answer, *reads: tuple[int, int]) -> str:
    with started({PATH: answer}) as server, pytest.raises(Unavailable) as caught:
        through(server, *(reads or ((0, 16),)))
    return str(caught.value).replace(server.url(PATH), "URL").replace(f":{server.port}", "")


def test_a_server_that_ignores_ranges_sends_at_most_one_window_more() -> None:
    counted: list[int] = []
    with started({PATH: endless(60 * 10**9, counted)}) as server:
        with remote.opened(server.url(PATH), environ={}) as (source,):
            assert in_small_steps(source, 6 * MIB)[: 6 * MIB] == DATA[: 6 * MIB]
            assert source.size == 60 * 10**9
        assert server.done.wait(10)
    assert len(server.seen) == 1
    assert sum(counted) < 6 * MIB + 16 * MIB  # what fills the sockets' buffers is in it


def test_of_a_server_that_ignores_ranges_quadgen_itself_takes_one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    close = web.Web.__exit__

    def closed(self: web.Web, *rest: object) -> None:
        taken.append(web.MOST - self.left)
        close(self, *rest)

    monkeypatch.setattr(web.Web, "__exit__", closed)
    with started({PATH: endless(60 * 10**9, [])}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
        in_small_steps(source, 3 * MIB + 5)
    assert 3 * MIB + 5 <= taken[0] <= 3 * MIB + 5 + MIB + 2**16


def test_what_comes_before_the_wanted_bytes_is_passed_over_where_ranges_are_ignored() -> None:
    with started({PATH: whole(DATA)}) as server:
        first, second = through(server, (2 * MIB, 64), (3 * MIB + 500, 16))
        assert DATA.startswith(first, 2 * MIB)
        assert DATA.startswith(second, 3 * MIB + 500)
    assert len(server.seen) == 1


def test_an_earlier_part_is_asked_for_again_where_ranges_are_ignored() -> None:
    with started({PATH: whole(DATA)}) as server:
        first, second = through(server, (2 * MIB, 64), (64, 16))
    assert DATA.startswith(first, 2 * MIB)
    assert DATA.startswith(second, 64)


@pytest.mark.parametrize("told", ["bytes */16", ""])
def test_a_small_file_is_asked_for_without_an_end_where_its_server_wants_that(told: str) -> None:
    def strict(seen: Seen) -> Reply:
        if seen.range == "bytes=0-1048575":
            return Reply(416, {"Content-Range": told} if told else {})
        return ranged(b"GGUF and no more")(seen)

    with started({PATH: strict}) as server:
        assert through(server, (0, 24)) == [b"GGUF and no more"]
    assert server.ranges() == ["bytes=0-1048575", "bytes=0-"]


def test_a_server_that_has_no_ranges_at_all_is_asked_for_the_file() -> None:
    answer: Answer = lambda seen: Reply(416) if seen.range else Reply(200, {}, b"GGUF")  # noqa: E731 - read beside its use
    with started({PATH: answer}) as server:
        assert through(server, (0, 24)) == [b"GGUF"]
    assert server.ranges() == ["bytes=0-1048575", "bytes=0-", None]


def test_an_answer_without_an_end_is_not_read_to_its_end() -> None:
    def strict(seen: Seen) -> Reply:
        return Reply(416) if seen.range != "bytes=0-" else ranged(DATA)(seen)

    with started({PATH: strict}) as server:
        first, second = through(server, (0, 100), (MIB, 100))
    assert DATA.startswith(first + second)
    assert len(first) == len(second) == MIB
    assert len(server.seen) == 2


def test_a_part_that_begins_elsewhere_is_refused() -> None:
    reply = Reply(206, {"Content-Range": "bytes 16-31/100"}, bytes(16))
    message = "cannot read URL: the server was asked for the bytes from 0 on and sends those from 16 on"
    assert refusal(lambda _: reply) == message


@pytest.mark.parametrize("part", ["bytes 0-15/8", "bytes 0-15/16, 20-30/40", "words", ""])
def test_a_part_that_does_not_say_which_it_is_is_refused(part: str) -> None:
    told = refusal(lambda _: Reply(206, {"Content-Range": part} if part else {}, bytes(16)))
    assert told in (
        "cannot read URL: the server sends the bytes 0 to 15 of 8, which cannot be",
        "cannot read URL: the server sends a part and does not say which (206 without Content-Range)",
    )


def test_a_compressed_answer_is_never_read_as_the_file() -> None:
    told = refusal(whole(b"\x1f\x8b", {"Content-Encoding": "gzip"}))
    assert told == "cannot read URL: the server sends it compressed, although asked not to"
    with started({PATH: whole(b"GGUF", {"Content-Encoding": "identity"})}) as server:
        assert through(server, (0, 4)) == [b"GGUF"]


def test_a_file_that_changes_its_size_while_it_is_read_is_refused() -> None:
    told = refusal(in_turn(ranged(DATA), ranged(DATA[:-4])), (0, MIB), (MIB, MIB))
    assert told == "cannot read URL: it changed while it was read, from 20971520 bytes to 20971516"


def test_a_file_that_changes_its_version_while_it_is_read_is_refused() -> None:
    versions = (ranged(DATA, {"ETag": f'"{name}"'}) for name in "ab")
    told = refusal(in_turn(*versions), (0, MIB), (MIB, MIB))
    assert told == "cannot read URL: it changed while it was read"


def test_a_server_that_forgets_ranges_on_the_way_is_read_on() -> None:
    with started({PATH: in_turn(ranged(DATA), whole(DATA))}) as server:
        assert b"".join(through(server, (0, MIB), (MIB, MIB), (2 * MIB, MIB))) == DATA[: 3 * MIB]
    assert len(server.seen) == 2


@pytest.mark.parametrize("code", [204, 201, 226])
def test_another_success_is_no_file(code: int) -> None:
    assert refusal(lambda _: Reply(code)) == f"cannot read URL: the server answers {code} in the place of a file"


def test_a_connection_that_breaks_is_taken_up_where_it_broke(pauses: list[float]) -> None:
    def broken(seen: Seen) -> Reply:
        reply = ranged(DATA)(seen)
        if len(server.seen) > 1:
            return reply

        def body() -> Iterator[bytes]:
            yield DATA[:300000]
            raise Cut

        return reply._replace(body=body(), headers={**reply.headers, "Content-Length": str(MIB)})

    with started({PATH: broken}) as server:
        assert DATA.startswith(through(server, (0, MIB))[0])
    assert [one.partition("-")[0] for one in server.ranges() if one] == ["bytes=0", "bytes=300000"]
    assert pauses == [0]


def test_a_connection_that_always_breaks_is_given_up(pauses: list[float]) -> None:
    def body() -> Iterator[bytes]:
        yield b"GG"
        raise Cut

    cut = refusal(lambda _: Reply(200, {"Content-Length": "100"}, body()), (50, 8))
    assert cut == "cannot read URL: 127.0.0.1 ends its answer too early, or does not speak HTTP"
    assert pauses == [0.5, 1.0]


def test_a_server_that_sends_a_byte_at_a_time_is_given_up() -> None:
    def stingy(seen: Seen) -> Reply:
        first = int((seen.range or "").removeprefix("bytes=").partition("-")[0])
        return Reply(206, {"Content-Range": f"bytes {first}-{first}/100"}, b"G")

    assert refusal(stingy) == "cannot read URL: the server sends less than it is asked for"


def test_a_server_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "GRACE", -1e6)
    assert refusal(whole(DATA)) == "cannot read URL: the server sends too slowly"


def test_what_lies_too_far_in_for_a_server_without_ranges_is_refused() -> None:
    told = refusal(endless(60 * 10**9, []), (10**9, 8))
    assert told == "cannot read URL: the server sends only whole files, and the part that is needed is too far in"
