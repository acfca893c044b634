"""Reads the header of a GGUF file from any source of bytes, as ggml b11434 does (ggml/src/gguf.cpp).

Every count and length is held against the bytes that the file has before anything is made of it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from quadgen.gguf.foreign import HEAD, guess, looks_like_page
from quadgen.gguf.header import Header, Value
from quadgen.gguf.source import Source
from quadgen.gguf.tape import BIG, Tape
from quadgen.gguf.tensors import SMALLEST as SMALLEST_TENSOR
from quadgen.gguf.tensors import laid_out, tensors
from quadgen.gguf.values import Listener, value

__all__ = ["looks_like_page", "read"]

NEWEST: Final = 3
DEFAULT_ALIGNMENT: Final = 32
ALIGNMENT: Final = "general.alignment"
LONGEST_KEY: Final = 2**16 - 1
"""Bytes of a key, as the specification of GGUF says."""
_NOBODY: Final[Mapping[str, Listener]] = MappingProxyType({})


def read(source: Source, *, listeners: Mapping[str, Listener] = _NOBODY) -> Header:
    """Read a header, from the magic to the last tensor's entry; the tensors' data is not touched.

    Versions 1 to 3, in both byte orders. `listeners` get the elements of the arrays of these keys, while the reader
    passes over them. Raises `Malformed`, also where the file ends before the data does, and what the source raises.
    """
    tape = Tape(source)
    version, big_endian = _version(tape)
    entries, keys = tape.length(), tape.length()
    tape.fits(keys * (tape.lengths.size + 6), f"{keys} keys need")
    metadata = _metadata(tape, keys, listeners)
    alignment = _alignment(tape, metadata)
    tape.fits(entries * (tape.lengths.size + SMALLEST_TENSOR), f"{entries} tensors need")
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


def _metadata(tape: Tape, count: int, listeners: Mapping[str, Listener]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for _ in range(count):
        length = tape.length()
        if not 0 < length <= LONGEST_KEY:
            raise tape.wrong(f"a key of {length} bytes; a key has 1 to {LONGEST_KEY}")
        key = tape.take(length).decode(errors="replace")
        if key in found:
            raise tape.wrong(f"the key {key} is there twice", key=key)
        found[key] = value(tape, key, listeners.get(key))
    return found


def _alignment(tape: Tape, metadata: Mapping[str, Value]) -> int:
    found = metadata.get(ALIGNMENT, DEFAULT_ALIGNMENT)
    if not isinstance(found, int) or found < 1 or found & (found - 1):
        raise tape.wrong(f"{ALIGNMENT} is {_shown(found)}, and has to be a power of two", key=ALIGNMENT)
    return found


def _shown(found: Value) -> str:
    return str(found) if isinstance(found, int | float) else "no number"
