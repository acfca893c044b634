"""Reading a long file from a server of a test, as a reader of headers does."""

from collections.abc import Iterator
from itertools import count

from file_server import Answer, Reply, Server
from quadgen import remote
from quadgen.gguf.source import Source

MIB = 2**20
PATH = "/model.gguf"
DATA = b"".join(position.to_bytes(4, "big") for position in range(5 * MIB))
"""20 MiB in which every place is told from every other."""


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


def endless(declared: int, counted: list[int]) -> Answer:
    """60 GB, say, from a server that sends whatever it was asked for."""

    def body() -> Iterator[bytes]:
        for position in count(0, 2**16):
            counted.append(2**16)
            yield DATA[position : position + 2**16] or bytes(2**16)

    return lambda _: Reply(200, {"Content-Length": str(declared)}, body())
