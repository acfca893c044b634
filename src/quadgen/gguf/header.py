"""What the header of a GGUF file holds: its metadata and the list of its tensors, without the weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Array:
    """A list of the metadata."""

    kind: str
    """What it lists: u8, i8, u16, i16, u32, i32, u64, i64, f32, f64, bool, string."""
    count: int
    values: tuple[int | float, ...] | None
    """Numbers and flags of up to 1024 elements; None of a longer list, and of strings, which only a listener gets."""


Value = int | float | bool | str | Array
"""A text of more than 1 MiB is not kept: it is an array of `u8`, its bytes."""


class Tensor(NamedTuple):
    """An entry of the list of tensors."""

    name: str
    shape: tuple[int, ...]
    """As llama.cpp counts: the dimension that lies together in memory first."""
    kind: str
    """Of its numbers: Q4_K, F32, ..."""
    offset: int
    """Byte at which its data begins, counted from where the data of all tensors begins."""
    size: int
    """Bytes of its data."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Header:
    """The header of one file, or of one shard."""

    version: int
    """1, 2 or 3; llama.cpp b11434 loads 2 and 3."""
    big_endian: bool
    """Whether the numbers are big-endian; llama.cpp loads the machine's own order only."""
    metadata: Mapping[str, Value]
    """By key, in the order of the file. Bytes that are no UTF-8 stand as U+FFFD."""
    tensors: tuple[Tensor, ...]
    """In the order of the file, which is that of their data."""
    size: int
    """Bytes from the magic to the last tensor's entry."""
    data: int
    """Byte of the file at which the data of the tensors begins."""
    alignment: int
    """Bytes of which every offset is a multiple."""
    sha256: str
    """In hex, over the `size` bytes."""

    @property
    def end(self) -> int:
        """Bytes that the file has at least; more than `data` only where there are tensors."""
        last = self.tensors[-1] if self.tensors else None
        return self.data + last.offset + last.size if last is not None else self.data
