"""Headers that are read from a server: the same facts as on disk, and little more than the header on the wire."""

import pytest

import file_server
from made_facts import plain
from quadgen import remote
from quadgen.facts.reading import facts
from quadgen.gguf.source import Malformed
from raw_gguf import ARRAY, TEXT, U16, U32, Raw, held

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

MIB = 2**20
RAW = Raw(
    keys=[
        ("general.architecture", TEXT, "llama"),
        ("tokenizer.ggml.tokens", ARRAY, (TEXT, [f"token-{number:016}" for number in range(100000)])),
    ],
    tensors=[("token_embd.weight", (MIB, 6), 0), ("blk.0.attn_norm.weight", (4,), 0)],
)  # fmt: skip
DATA = RAW.file()
"""28 MB, of which 3 MB are the header."""


def refused(answer: file_server.Answer) -> str:
    with file_server.started({"/m.gguf": answer}) as server, remote.opened(server.url("/m.gguf"), environ={}) as found:
        with pytest.raises(Malformed) as error:
            facts(found)
        return error.value.message


@pytest.mark.parametrize("answer", [file_server.ranged(DATA), file_server.whole(DATA)], ids=["ranges", "none"])
def test_a_header_costs_its_own_bytes_and_a_window(answer: file_server.Answer) -> None:
    with file_server.started({"/m.gguf": answer}) as server:
        with remote.opened(server.url("/m.gguf"), environ={}) as sources:
            found = facts(sources)
        assert server.connections == 1
    assert plain(found) == plain(facts([held(DATA, window=MIB)]))
    assert server.sent <= len(RAW.header()) + 8 * MIB
    if len(server.seen) > 1:  # the windows are of 1, 2 and 4 MiB
        assert server.sent <= len(RAW.header()) + 4 * MIB


def test_a_truncated_file_on_a_server_is_told_by_its_size() -> None:
    cut = DATA[: len(DATA) // 2]
    end = len(DATA)
    assert refused(file_server.ranged(cut)) == f"truncated: its tensors end at byte {end}, and the file has {len(cut)}"


def test_shards_on_a_server_are_one_checkpoint() -> None:
    files = {
        f"/m-{number + 1:05d}-of-00002.gguf": Raw(
            keys=[
                ("split.no", U16, number), ("split.count", U16, 2), ("split.tensors.count", U32, 2),
                ("general.architecture", TEXT, "llama"),
            ],
            tensors=[(f"blk.{number}.w", (MIB,), 0)],
        ).file()
        for number in range(2)
    }  # fmt: skip
    answers = {path: file_server.ranged(data) for path, data in files.items()}
    with file_server.started(answers) as server, remote.opened(server.url(next(iter(files))), environ={}) as sources:
        found = facts(sources)
    assert (found.shards, found.size) == (2, sum(map(len, files.values())))
    assert found.weights.blocks == (4 * MIB, 4 * MIB)


def test_a_page_in_the_place_of_a_file_is_called_one() -> None:
    assert refused(file_server.whole(b"<!DOCTYPE html><title>x</title>")) == "not a GGUF file but a web page"
