"""GGUF files written byte by byte, so that each field can be wrong, and sources of bytes that only a test has.

    data = Raw(keys=[("general.name", TEXT, "x")], tensors=[("fc.weight", (2, 3), 0)]).file()

This knows the format from its specification and shares no code with the reader.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Final

U8, I8, U16, I16, U32, I32, F32, FLAG, TEXT, ARRAY, U64, I64, F64 = range(13)
LETTERS: Final = {
    U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", FLAG: "?", U64: "Q", I64: "q", F64: "d"
}  # fmt: skip
"""Of the module struct."""
SIZES: Final = {0: (1, 4), 1: (1, 2), 8: (32, 34), 12: (256, 144)}
"""Numbers and bytes in a block of F32, F16, Q8_0 and Q4_K."""

Key = tuple[str | bytes, int, Any]
"""Name, type, value; of an array the value is the type of its elements and a list of them."""
Entry = tuple[str | bytes, tuple[int, ...], int]
"""Name, shape, type."""


class Verbatim(bytes):
    """A value as it stands in the file, whatever its type is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raw:
    """What a file says; what is None follows from the rest."""

    keys: Sequence[Key] = ()
    tensors: Sequence[Entry] = ()
    version: int = 3
    big_endian: bool = False
    alignment: int = 32
    magic: bytes = b"GGUF"
    key_count: int | None = None
    tensor_count: int | None = None
    offsets: Sequence[int] | None = None
    data: bytes | None = None
    """Of the tensors; None is as much as they need."""

    def file(self) -> bytes:
        """Return the whole file."""
        head = self.header()
        if self.data is not None:
            return head + self.data
        offsets = self.places()
        ends = [at + size(entry) for at, entry in zip(offsets, self.tensors, strict=True)]
        return head + bytes(-len(head) % self.alignment + max(ends)) if ends else head

    def header(self) -> bytes:
        """Return everything before the data, and before what fills up to it."""
        keys = len(self.keys) if self.key_count is None else self.key_count
        count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        head = self.magic + self.number("I", self.version) + self.length(count) + self.length(keys)
        offsets = self.places() if self.offsets is None else self.offsets
        return b"".join([
            head,
            *[self.text(name) + self.number("I", kind) + self.value(kind, value) for name, kind, value in self.keys],
            *[self.entry(entry, at) for entry, at in zip(self.tensors, offsets, strict=True)],
        ])  # fmt: skip

    def places(self) -> list[int]:
        """Where the data of each tensor begins."""
        at, found = 0, []
        for entry in self.tensors:
            found.append(at)
            at += -(-size(entry) // self.alignment) * self.alignment
        return found

    def entry(self, entry: Entry, at: int) -> bytes:
        """Return one tensor of the list."""
        name, shape, kind = entry
        dimensions = b"".join(map(self.length, shape))
        return self.text(name) + self.number("I", len(shape)) + dimensions + self.number("IQ", kind, at)

    def value(self, kind: int, value: Any) -> bytes:
        """Return a value without its type."""
        if isinstance(value, Verbatim):
            return value
        if kind == TEXT:
            return self.text(value)
        if kind == ARRAY:
            inner, elements = value
            head = self.number("I", inner) + self.length(len(elements))
            return head + b"".join([self.value(inner, element) for element in elements])
        return self.number(LETTERS[kind], value)

    def text(self, text: str | bytes) -> bytes:
        """Return a text behind its length."""
        data = text.encode() if isinstance(text, str) else text
        return self.length(len(data)) + data

    def length(self, count: int) -> bytes:
        """Return a count as this version writes it."""
        return self.number("I" if self.version == 1 else "Q", count)

    def number(self, letters: str, *values: Any) -> bytes:
        """Return numbers in this order of bytes."""
        return struct.pack(f"{'>' if self.big_endian else '<'}{letters}", *values)


def size(entry: Entry) -> int:
    """Bytes of a tensor's data; of a type that this does not know, 0."""
    _, shape, kind = entry
    block, length = SIZES.get(kind, (1, 0))
    return prod(shape) // block * length


@dataclass(slots=True)
class Held:
    """A source of bytes in memory, in windows; it counts what was read, and may keep its size to itself."""

    data: bytes
    window: int = 1
    size: int | None = None
    name: str = "held.gguf"
    read_bytes: int = 0
    reads: int = 0

    def read(self, offset: int, least: int) -> bytes | memoryview:
        """As `Source.read`."""
        assert least > 0
        found = memoryview(self.data)[offset : offset + max(least, self.window)]
        self.read_bytes += len(found)
        self.reads += 1
        return found if self.reads % 2 else bytes(found)


def held(data: bytes, **more: Any) -> Held:
    """Return a source that says its size."""
    return Held(data, size=len(data), **more)
