"""How a file on a server is read: windows, servers that do other than asked, connections that break."""

import threading
import time
from collections.abc import Iterator, Mapping
from itertools import count, islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_server import Answer, Cut, Reply, Seen, Server, in_turn, ranged, started, status, whole
from quadgen import remote
from quadgen.gguf.source import Malformed, Source
from quadgen.problems import Unavailable
from quadgen.remote import bodies, web

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

MIB = 2**20
PATH = "/model.gguf"
DATA = b"".join(position.to_bytes(4, "big") for position in range(5 * MIB))
"""20 MiB in which every place is told from every other."""


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited for."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def through(server: Server, *reads: tuple[int, int], path: str = PATH) -> list[bytes]:
    """What each read of a source has, in one opening."""
    with remote.opened(server.url(path), environ={}) as (source,):
        return [bytes(source.read(offset, least)) for offset, least in reads]


def in_small_steps(source: Source, until: int) -> bytes:
    """Read as a reader does: little by little, where the last window ended."""
    found = b""
    while len(found) < until:
        piece = bytes(source.read(len(found), 8))
        assert len(piece) >= 8
        found += piece
    return found


def refusal(answer: Answer, *reads: tuple[int, int]) -> str:
    with started({PATH: answer}) as server, pytest.raises(Unavailable) as caught:
        through(server, *(reads or ((0, 16),)))
    return str(caught.value).replace(server.url(PATH), "URL").replace(f":{server.port}", "")


def test_windows_grow_from_1_to_8_mib() -> None:
    with started({PATH: ranged(DATA)}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
        before = source.size
        assert in_small_steps(source, 16 * MIB)[: 15 * MIB] == DATA[: 15 * MIB]
        assert before is None
        assert source.size == len(DATA)
    ends = [0, 1, 3, 7, 15, 20]
    assert server.ranges() == [f"bytes={ends[n] * MIB}-{ends[n + 1] * MIB - 1}" for n in range(5)]


def test_no_more_is_read_than_what_is_needed_and_one_window() -> None:
    for needed in (10, MIB - 1, MIB + 1, 6 * MIB):
        with started({PATH: ranged(DATA)}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
            in_small_steps(source, needed)
        last = server.seen[-1].range or ""
        first, _, end = last.removeprefix("bytes=").partition("-")
        assert int(first) <= needed
        assert server.sent == int(end) + 1


def test_all_windows_come_over_one_connection() -> None:
    with started({PATH: ranged(DATA)}) as server:
        through(server, (0, MIB), (MIB, MIB), (3 * MIB, MIB))
    assert (len(server.seen), server.connections) == (3, 1)


def test_what_a_read_needs_at_least_comes_in_one_request() -> None:
    with started({PATH: ranged(DATA)}) as server:
        assert through(server, (0, 5 * MIB)) == [DATA[: 5 * MIB]]
    assert server.ranges() == [f"bytes=0-{5 * MIB - 1}"]


def test_a_file_ends_where_it_ends() -> None:
    with (
        started({PATH: ranged(b"GGUF and no more")}) as server,
        remote.opened(server.url(PATH), environ={}) as (source,),
    ):
        assert source.read(0, 24) == b"GGUF and no more"
        assert source.size == 16
        assert source.read(16, 8) == b""
    assert len(server.seen) == 1


def test_a_read_beyond_the_end_of_a_file_of_unknown_size_has_nothing() -> None:
    with started({PATH: ranged(b"GGUF")}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
        assert source.read(4, 8) == b""
        assert source.size == 4


def test_an_empty_file_has_no_bytes() -> None:
    with started({PATH: ranged(b"")}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
        assert source.read(0, 4) == b""
        assert source.size == 0


def test_an_answer_is_asked_for_as_it_is() -> None:
    with started({PATH: ranged(DATA)}) as server:
        through(server, (0, 4))
    assert server.seen[0].headers["Accept-Encoding"] == "identity"
    assert server.seen[0].headers["User-Agent"].startswith("quadgen/")


def endless(declared: int, counted: list[int]) -> Answer:
    """60 GB, say, from a server that sends whatever it was asked for."""

    def body() -> Iterator[bytes]:
        for position in count(0, 2**16):
            counted.append(2**16)
            yield DATA[position : position + 2**16] or bytes(2**16)

    return lambda _: Reply(200, {"Content-Length": str(declared)}, body())


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


def test_a_body_without_a_length_is_read_to_its_end() -> None:
    pieces = [DATA[:70000], DATA[70000:150000]]
    with (
        started({PATH: lambda _: Reply(200, {}, pieces)}) as server,
        remote.opened(server.url(PATH), environ={}) as (source,),
    ):
        assert source.read(0, 200000) == DATA[:150000]
        assert source.size == 150000


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


def test_never_more_than_64_mib_are_fetched() -> None:
    with (
        started({PATH: endless(2**41, [])}) as server,
        remote.opened(server.url(PATH), environ={}) as (source,),
        pytest.raises(Unavailable) as caught,
    ):
        source.read(0, 2**40)
    end = "its header takes more than the 64 MiB that quadgen reads of a remote file"
    assert str(caught.value) == f"cannot read {server.url(PATH)}: {end}"
    assert server.seen == []


def test_the_bound_is_on_all_reads_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web.Web.__init__, "__defaults__", (5 * MIB,))
    with started({PATH: ranged(DATA)}) as server, remote.opened(server.url(PATH), environ={}) as (source,):
        with pytest.raises(Unavailable, match="takes more than the"):
            in_small_steps(source, 6 * MIB)
        assert server.sent == 5 * MIB


def test_what_lies_too_far_in_for_a_server_without_ranges_is_refused() -> None:
    told = refusal(endless(60 * 10**9, []), (10**9, 8))
    assert told == "cannot read URL: the server sends only whole files, and the part that is needed is too far in"


def test_shards_are_sources_of_their_own_with_small_first_windows() -> None:
    names = [f"/a/model-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    answers = {f"{name}?download=true": ranged(DATA[: 2 * MIB + number]) for number, name in enumerate(names)}
    with started(answers) as server, remote.opened(server.url(f"{names[0]}?download=true"), environ={}) as sources:
        assert [source.name for source in sources] == [server.url(name) for name in names]
        heads = [bytes(source.read(0, 8)) for source in sources]
        assert [source.size for source in sources] == [2 * MIB, 2 * MIB + 1, 2 * MIB + 2]
    assert [len(head) for head in heads] == [MIB, 2**16, 2**16]


def test_a_missing_shard_is_named() -> None:
    with (
        started({"/model-00001-of-00002.gguf": ranged(DATA)}) as server,
        remote.opened(server.url("/model-00001-of-00002.gguf"), environ={}) as sources,
    ):
        sources[0].read(0, 8)
        with pytest.raises(Unavailable) as caught:
            sources[1].read(0, 8)
    url = server.url("/model-00002-of-00002.gguf")
    assert str(caught.value) == f"cannot read {url}: 127.0.0.1:{server.port} has no such file (404)"


def test_a_later_shard_is_refused_with_the_name_of_the_first() -> None:
    with (
        pytest.raises(Malformed) as caught,
        remote.opened("https://example.org/a/m-00002-of-00003.gguf", environ={}),
    ):
        pass
    assert caught.value.message == "shard 2 of 3; llama-server takes the first, m-00001-of-00003.gguf"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(0, 300_000),
    reads=st.lists(st.tuples(st.integers(0, 310_000), st.integers(1, 150_000)), min_size=1, max_size=4),
    ignores=st.booleans(),
    sized=st.booleans(),
)
def test_whatever_the_server_does_the_bytes_are_those_of_the_file(
    size: int,
    reads: list[tuple[int, int]],
    ignores: bool,  # noqa: FBT001 - hypothesis calls it by name
    sized: bool,  # noqa: FBT001 - as above
) -> None:
    data = DATA[:size]
    pieces: Mapping[bool, Answer] = {True: whole(data), False: lambda _: Reply(200, {}, [data] if data else [])}
    SHARED.answers[PATH] = pieces[sized] if ignores else ranged(data)
    for (offset, least), found in zip(reads, through(SHARED, *reads), strict=True):
        assert data.startswith(found, min(offset, size))
        assert len(found) >= min(least, max(0, size - offset))


SHARED: Server


@pytest.fixture(scope="module", autouse=True)
def _shared() -> Iterator[None]:
    """One server for the whole of a property."""
    global SHARED
    with started() as SHARED:
        yield


def test_two_files_at_a_time_are_read_independently() -> None:
    found: dict[int, bytes] = {}

    def read(number: int) -> None:
        found[number] = through(server, (number * 1000, 64), path=f"/{number}")[0][:64]

    with started({f"/{number}": ranged(DATA) for number in range(4)}) as server:
        threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {number: DATA[number * 1000 : number * 1000 + 64] for number in range(4)}


def test_nothing_is_asked_before_a_source_is_read() -> None:
    with started({PATH: status(500)}) as server, remote.opened(server.url(PATH), environ={}) as sources:
        assert len(list(islice(sources, 2))) == 1
    assert server.seen == []
