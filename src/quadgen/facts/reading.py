"""From the headers of a checkpoint, one for each shard, to its facts."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from quadgen.facts.placed import TooManyBlocks, weights
from quadgen.facts.record import MARKS, Facts, Scalar, Weights
from quadgen.facts.vocabulary import Listening
from quadgen.gguf import reader, shards
from quadgen.gguf.header import Array, Header, Tensor, Value
from quadgen.gguf.source import Malformed, Source
from quadgen.gguf.tensor_types import FILE_TYPES

_HEAD: Final = re.compile(r"blk\.(\d{1,10})\.nextn\.(?:eh_proj|pre_projection)\.weight", re.ASCII)


def facts(sources: Sequence[Source]) -> Facts:
    """Read what a checkpoint says of itself: from the sources of all its shards, in order, at least one.

    Raises `Malformed`, which begins with the name of the shard where there are several, and `Unavailable`.
    """
    return read(sources)[0]


def read(sources: Sequence[Source]) -> tuple[Facts, tuple[Header, ...]]:
    """Read the facts, and give also the headers that they are of. Raises as `facts`."""
    listening = Listening()
    headers = tuple([
        _header(source, listening if number == 0 else None, several=len(sources) > 1)
        for number, source in enumerate(sources)
    ])  # fmt: skip
    shards.check([source.name for source in sources], headers)
    return _facts(sources, headers, listening), headers


def _header(source: Source, listening: Listening | None, *, several: bool) -> Header:
    try:
        if listening is None:
            return reader.read(source)
        return reader.read(source, listeners=listening.listeners, numbers=listening.numbers)
    except Malformed as error:
        if several:
            raise Malformed(f"{source.name}: {error.message}", offset=error.offset, key=error.key) from None
        raise


def _facts(sources: Sequence[Source], headers: Sequence[Header], listening: Listening) -> Facts:
    metadata = headers[0].metadata
    architecture = _text(metadata, "general.architecture") or ""
    tensors = [tensor for header in headers for tensor in header.tensors]
    names = {tensor.name for tensor in tensors}
    file_type = metadata.get("general.file_type")
    sizes = zip(sources, headers, strict=True)
    return Facts(
        size=sum(header.end if source.size is None else source.size for source, header in sizes),
        shards=len(headers), header=_digest(headers), architecture=architecture,
        name=_text(metadata, "general.name"), type=_text(metadata, "general.type"),
        quantization=FILE_TYPES.get(file_type) if isinstance(file_type, int) else None,
        keys=_keys(metadata, architecture), heads=_heads(tensors), marks=tuple(sorted(names & set(MARKS))),
        vocabulary=listening.vocabulary(metadata), weights=_weights(tensors, architecture, headers[0]),
    )  # fmt: skip


def _digest(headers: Sequence[Header]) -> str:
    if len(headers) == 1:
        return headers[0].sha256
    return hashlib.sha256(b"".join([bytes.fromhex(header.sha256) for header in headers])).hexdigest()


def _text(metadata: Mapping[str, Value], key: str) -> str | None:
    found = metadata.get(key)
    return found if isinstance(found, str) else None


def _keys(metadata: Mapping[str, Value], architecture: str) -> Mapping[str, Scalar | tuple[Scalar, ...]]:
    found: dict[str, Scalar | tuple[Scalar, ...]] = {}
    prefix = f"{architecture}."
    for key, value in sorted(metadata.items()) if architecture else ():
        if not key.startswith(prefix):
            continue
        if not isinstance(value, Array):
            found[key.removeprefix(prefix)] = value
        elif value.values is not None:
            found[key.removeprefix(prefix)] = value.values
    return found


def _heads(tensors: Sequence[Tensor]) -> tuple[int, ...]:
    return tuple(
        sorted({int(found[1]) for found in map(_HEAD.fullmatch, (tensor.name for tensor in tensors)) if found})
    )


def _weights(tensors: Sequence[Tensor], architecture: str, first: Header) -> Weights:
    try:
        return weights(tensors, architecture)
    except TooManyBlocks as error:
        raise Malformed(str(error), offset=first.size) from None
