"""The list of tensors: names, shapes, types, and where their data is."""

from collections.abc import Sequence
from math import prod
from typing import Final

from quadgen.gguf.header import Tensor
from quadgen.gguf.tape import Tape, named
from quadgen.gguf.tensor_types import REMOVED, TYPES, TensorType

SMALLEST: Final = 16
"""Bytes of an entry without a name and without dimensions, but for the length of the name."""
LONGEST_NAME: Final = 63
"""Bytes of a name (ggml/include/ggml.h, GGML_MAX_NAME, which counts a NUL at the end)."""
DIMENSIONS: Final = 4
"""Of a tensor (GGML_MAX_DIMS)."""
LARGEST: Final = 2**63 - 1
"""Numbers in a tensor, and bytes of all together."""


def tensors(tape: Tape, count: int) -> list[Tensor]:
    """Read the entries. Raises `Malformed` and `Unavailable`."""
    found: dict[str, Tensor] = {}
    for _ in range(count):
        tensor = _tensor(tape)
        if tensor.name in found:
            raise tape.wrong(f"the tensor {named(tensor.name)} is there twice")
        found[tensor.name] = tensor
    return list(found.values())


def laid_out(tape: Tape, found: Sequence[Tensor], alignment: int) -> tuple[Tensor, ...]:
    """Make sure that the data of each tensor begins where the data before it ends. Raises `Malformed`.

    llama.cpp refuses a file with gaps, and one with an order of its own.
    """
    expected = 0
    for tensor in found:
        if tensor.offset != expected:
            raise tape.wrong(f"the data of {named(tensor.name)} begins at {tensor.offset}, and {expected} was expected")
        expected += -(-tensor.size // alignment) * alignment
        if expected > LARGEST:
            raise tape.wrong(f"the data of {named(tensor.name)} ends at {expected}, above {LARGEST}")
    return tuple(found)


def _tensor(tape: Tape) -> Tensor:
    length = tape.length()
    if length > LONGEST_NAME:
        raise tape.wrong(f"the name of a tensor has {length} bytes, and llama.cpp reads up to {LONGEST_NAME}")
    name = tape.take(length).decode(errors="replace")
    dimensions = tape.number("I")
    if dimensions > DIMENSIONS:
        raise tape.wrong(f"{named(name)} has {dimensions} dimensions, and llama.cpp reads up to {DIMENSIONS}")
    shape = tuple([tape.length() for _ in range(dimensions)])
    if any(dimension > LARGEST for dimension in shape) or prod(shape) > LARGEST:
        raise tape.wrong(f"{named(name)} has {' x '.join(map(str, shape))} numbers, more than {LARGEST}")
    number = tape.number("I")
    type_ = TYPES.get(number)
    if type_ is None:
        raise tape.wrong(f"{named(name)} is of {_unknown(number)}")
    return Tensor(name, shape, type_.name, tape.number("Q"), _size(tape, name, shape, type_))


def _size(tape: Tape, name: str, shape: tuple[int, ...], type_: TensorType) -> int:
    """Bytes of the data."""
    row = shape[0] if shape else 1
    if row % type_.block:
        raise tape.wrong(f"a row of {named(name)} has {row} numbers, and {type_.name} stores {type_.block} together")
    return prod(shape) // type_.block * type_.size


def _unknown(number: int) -> str:
    removed = REMOVED.get(number)
    if removed is not None:
        return f"the type {number}, {removed}, which llama.cpp reads no more"
    return f"the unknown type {number}"
