"""Reads the header of a GGUF file from any source of bytes, as ggml b11434 does (ggml/src/gguf.cpp).

Every count and length is held against the bytes that the file has before anything is made of it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from quadgen.gguf.foreign import HEAD, guess, looks_like_page
from quadgen.gguf.header import Header, Value
from quadgen.gguf.source import Source
from quadgen.gguf.tape import BIG, Tape, named
from quadgen.gguf.tensors import SMALLEST as SMALLEST_TENSOR
from quadgen.gguf.tensors import laid_out, tensors
from quadgen.gguf.values import U32, Numbers, Texts, value

__all__ = ["looks_like_page", "read"]

NEWEST: Final = 3
DEFAULT_ALIGNMENT: Final = 32
ALIGNMENT: Final = "general.alignment"
LONGEST_KEY: Final = 2**16 - 1
"""Bytes of a key, as the specification of GGUF says."""
SMALLEST_KEY: Final = 6
"""Bytes of a key with a value, but for the length of the key."""
MOST: Final = 2**16
"""Keys, and tensors: a checkpoint with a tensor for each of its experts has fewer."""
_NOBODY: Final[Mapping[str, Any]] = MappingProxyType({})


def read(
    source: Source, *, listeners: Mapping[str, Texts] = _NOBODY, numbers: Mapping[str, Numbers] = _NOBODY
) -> Header:
    """Read a header, from the magic to the last tensor's entry; the tensors' data is not touched.

    Versions 1 to 3, in both byte orders. `listeners` get the elements of the arrays of texts of these keys while the
    reader passes over them, and `numbers` those of arrays of numbers or flags. Raises `Malformed`, also where the file
    ends before the data does, and what the source raises.
    """
    tape = Tape(source)
    version, big_endian = _version(tape)
    entries, keys = tape.length(), tape.length()
    _few(tape, keys, "keys", tape.lengths.size + SMALLEST_KEY)
    metadata: dict[str, Value] = {}
    alignment = DEFAULT_ALIGNMENT
    for _ in range(keys):
        key = _key(tape, metadata)
        if key == ALIGNMENT:
            metadata[key] = alignment = _alignment(tape)
        else:
            metadata[key] = value(tape, named(key), listeners.get(key), numbers.get(key))
    _few(tape, entries, "tensors", tape.lengths.size + SMALLEST_TENSOR)
    found = tensors(tape, entries)
    size = tape.position
    data = -(-size // alignment) * alignment if found else size
    header = Header(
        version=version, big_endian=big_endian, metadata=MappingProxyType(metadata),
        tensors=laid_out(tape, found, alignment), size=size, data=data, alignment=alignment, sha256=tape.digest(),
    )  # fmt: skip
    if source.size is not None and header.end > source.size:
        raise tape.wrong(
            f"truncated: its tensors end at byte {header.end}, and the file has {source.size}", offset=source.size
        )
    return header


def _version(tape: Tape) -> tuple[int, bool]:
    head = tape.peek(HEAD)[:HEAD]
    if head[:4] != b"GGUF":
        raise tape.wrong(guess(head))
    tape.take(4)
    version = tape.number("I")
    big_endian = version & 0xFFFF == 0 and version != 0
    if big_endian:
        tape.numbers = BIG
        version = int.from_bytes(version.to_bytes(4, "little"), "big")
    if not 1 <= version <= NEWEST:
        order = "big-endian " if big_endian else ""
        raise tape.wrong(f"{order}version {version} of GGUF, and quadgen reads 1 to {NEWEST}", offset=4)
    tape.lengths = tape.numbers["I" if version == 1 else "Q"]
    return version, big_endian


def _few(tape: Tape, count: int, what: str, size: int) -> None:
    """Raise `Malformed` if there are too many for the file, or for quadgen."""
    tape.fits(count * size, f"{count} {what} need")
    if count > MOST:
        raise tape.wrong(f"{count} {what}, and quadgen reads up to {MOST}")


def _key(tape: Tape, known: Mapping[str, Value]) -> str:
    length = tape.length()
    if not 0 < length <= LONGEST_KEY:
        raise tape.wrong(f"a key has {length} bytes, and 1 to {LONGEST_KEY} are possible")
    key = tape.take(length).decode(errors="replace")
    if key in known:
        raise tape.wrong(f"the key {named(key)} is there twice", key=named(key))
    return key


def _alignment(tape: Tape) -> int:
    type_ = tape.number("I")
    if type_ != U32:
        raise tape.wrong(f"{ALIGNMENT} is of the type {type_}, and llama.cpp reads {U32} (u32)", key=ALIGNMENT)
    found = tape.number("I")
    if found < 1 or found & (found - 1):
        raise tape.wrong(f"{ALIGNMENT} is {found}, and has to be a power of two", key=ALIGNMENT)
    return found
