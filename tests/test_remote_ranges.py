"""How a file on a server is read: windows, ends, shards, and how much at most."""

import threading
from collections.abc import Iterator, Mapping
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_server import Answer, Reply, Server, ranged, started, status, whole
from quadgen import remote
from quadgen.gguf.source import Malformed
from quadgen.problems import Unavailable
from quadgen.remote import web
from windows import DATA, MIB, PATH, endless, in_small_steps, through

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]


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
        assert server.has_sent(int(end) + 1)


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


def test_a_body_without_a_length_is_read_to_its_end() -> None:
    pieces = [DATA[:70000], DATA[70000:150000]]
    with (
        started({PATH: lambda _: Reply(200, {}, pieces)}) as server,
        remote.opened(server.url(PATH), environ={}) as (source,),
    ):
        assert source.read(0, 200000) == DATA[:150000]
        assert source.size == 150000


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
        assert server.has_sent(5 * MIB)


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
