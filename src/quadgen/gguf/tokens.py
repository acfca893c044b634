"""The tokens of a checkpoint themselves, which its facts have only digests of."""

import hashlib
from typing import NamedTuple

from quadgen.gguf import reader
from quadgen.gguf.source import Source


class Words(NamedTuple):
    """What a tokenizer knows, as bytes; nothing is decoded."""

    tokens: list[bytes]
    """`tokenizer.ggml.tokens`, by id."""
    merges: str
    """SHA-256 in hex over each of `tokenizer.ggml.merges` and one NUL, in their order."""


def words(source: Source) -> Words:
    """Read the tokens of a file, or of the first shard, which has them all.

    Each takes some 50 bytes of memory beyond its own. Raises `Malformed` and `Unavailable`.
    """
    tokens: list[bytes] = []
    merges = hashlib.sha256()

    def merged(some: list[bytes]) -> None:
        merges.update(b"".join([each + b"\0" for each in some]))

    reader.read(source, listeners={"tokenizer.ggml.tokens": tokens.extend, "tokenizer.ggml.merges": merged})
    return Words(tokens, merges.hexdigest())
