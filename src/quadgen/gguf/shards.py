"""Checkpoints in several files: `NAME-00001-of-00003.gguf` and so on, as llama-gguf-split names them.

llama-server is given the first and finds the others by its name (src/llama.cpp, llama_split_path).
"""

import re
from collections.abc import Sequence
from typing import Final

from quadgen.gguf.header import Header
from quadgen.gguf.source import Malformed
from quadgen.gguf.tape import named

COUNT, NUMBER, TENSORS = "split.count", "split.no", "split.tensors.count"
MOST: Final = 2**16 - 1
"""Shards of a file (`split.count` is a u16)."""
_SHARD: Final = re.compile(r"(?s:(.*))-(\d{5})-of-(\d{5})\.gguf", re.ASCII)


def siblings(name: str) -> tuple[str, ...]:
    """Name all shards of a file, in order, by the name of the first; a file that is whole is itself.

    `name` is a path, or whatever else ends in the name of the file. Raises `Malformed` for a later shard, since
    llama-server wants the first.
    """
    found = _SHARD.fullmatch(name)
    if found is None:
        return (name,)
    stem, number, count = found[1], int(found[2]), int(found[3])
    if not 1 <= number <= count <= MOST:
        return (name,)
    if number != 1:
        first = f"{stem.rpartition('/')[2]}-00001-of-{found[3]}.gguf"
        raise Malformed(f"shard {number} of {count}; llama-server takes the first, {first}", offset=0)
    return tuple([f"{stem}-{position:05d}-of-{found[3]}.gguf" for position in range(1, count + 1)])


def check(names: Sequence[str], headers: Sequence[Header]) -> None:
    """Make sure that files are all shards of one, each once and in order. Raises `Malformed`, with the name of one."""
    first = headers[0]
    count = _number(first, COUNT)
    if (count or 1) != len(headers):
        said = f"{COUNT} says {count}" if count is not None else f"it has no {COUNT}"
        files = f"its name is that of {len(headers)} shards" if len(headers) > 1 else "its name is none of a shard"
        example = "" if len(headers) > 1 else f", such as NAME-00001-of-{count:05d}.gguf"
        raise Malformed(f"{said}, and {files}{example}", offset=first.size, key=COUNT)
    if len(headers) == 1:
        return
    owners: dict[str, str] = {}
    for position, (name, header) in enumerate(zip(names, headers, strict=True)):
        number = _number(header, NUMBER)
        if number != position:
            said = f"{NUMBER} is {number}" if number is not None else f"it has no {NUMBER}"
            raise Malformed(f"{name}: {said}, and {position} was expected", offset=header.size, key=NUMBER)
        for tensor in header.tensors:
            if tensor.name in owners:
                message = f"{name}: the tensor {named(tensor.name)} is also in {owners[tensor.name]}"
                raise Malformed(message, offset=header.size)
            owners[tensor.name] = name
    total = _number(first, TENSORS)
    if total != len(owners):
        said = f"{TENSORS} says {total}" if total is not None else f"there is no {TENSORS}"
        raise Malformed(f"{names[0]}: {said}, and the shards have {len(owners)}", offset=first.size, key=TENSORS)


def _number(header: Header, key: str) -> int | None:
    found = header.metadata.get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
