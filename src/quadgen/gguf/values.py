"""The values of the metadata. Nothing is kept that nobody asked for: a vocabulary has some 300,000 texts."""

import struct
from collections.abc import Callable
from typing import Any, Final

from quadgen.gguf.header import Array, Value
from quadgen.gguf.tape import Tape

Texts = Callable[[list[bytes]], object]
"""Gets the elements of an array of texts, in order, up to some thousands at a time."""
Numbers = Callable[[tuple[int | float, ...]], object]
"""Gets the elements of an array of numbers or flags, likewise."""

NUMBERS: Final = {
    0: ("u8", "B"), 1: ("i8", "b"), 2: ("u16", "H"), 3: ("i16", "h"), 4: ("u32", "I"), 5: ("i32", "i"),
    6: ("f32", "f"), 10: ("u64", "Q"), 11: ("i64", "q"), 12: ("f64", "d"),
}  # fmt: skip
"""Name, and letter of the module struct, by the number that a file has of a type (ggml/include/gguf.h, gguf_type)."""
U32, FLAG, TEXT, ARRAY = 4, 7, 8, 9

KEPT: Final = 1024
"""Numbers of an array that are kept."""
BATCH: Final = 4096
"""Elements that a listener gets at a time."""
LONGEST_TEXT: Final = 2**20
"""Bytes of a text that is kept; chat templates have a tenth of it."""
MOST: Final = 2**30
"""Elements of an array (ggml/src/gguf.cpp, GGUF_MAX_ARRAY_ELEMENTS)."""


def value(tape: Tape, key: str, texts: Texts | None, numbers: Numbers | None) -> Value:
    """Read the value of what messages call `key`. Raises `Malformed` and `Unavailable`."""
    type_ = tape.number("I")
    if type_ == ARRAY:
        return _array(tape, key, texts, numbers)
    if type_ == TEXT:
        return _text(tape, key)
    if type_ == FLAG:
        return tape.number("B") != 0
    if type_ not in NUMBERS:
        raise tape.wrong(f"{key} is of the unknown type {type_}", key=key)
    letter = NUMBERS[type_][1]
    size = tape.numbers[letter].size
    found: int | float = _numbers(tape, letter, tape.take(size, key), size)[0]
    return found


def _text(tape: Tape, key: str) -> str | Array:
    length = tape.length()
    tape.fits(length, f"the text of {key} has {length} bytes,", key=key)
    if length > LONGEST_TEXT:
        tape.skip(length, key)
        return Array("u8", length, None)
    return tape.take(length, key).decode(errors="replace")


def _array(tape: Tape, key: str, texts: Texts | None, numbers: Numbers | None) -> Array:
    type_ = tape.number("I")
    count = tape.length()
    if count > MOST:
        raise tape.wrong(f"{key} has {count} elements, and llama.cpp reads up to {MOST}", key=key)
    if type_ == TEXT:
        tape.fits(count * tape.lengths.size, f"{key} has {count} texts, which need", key=key)
        if texts is None:
            _passed(tape, key, count)
        else:
            _told(tape, key, count, texts)
        return Array("string", count, None)
    if type_ == ARRAY:
        raise tape.wrong(f"{key} is an array of arrays, which llama.cpp does not read", key=key)
    if type_ != FLAG and type_ not in NUMBERS:
        raise tape.wrong(f"{key} is an array of the unknown type {type_}", key=key)
    name, letter = ("bool", "B") if type_ == FLAG else NUMBERS[type_]
    size = tape.numbers[letter].size
    tape.fits(count * size, f"{key} has {count} elements of {size} bytes, which need", key=key)
    if count > KEPT and numbers is None:
        tape.skip(count * size, key)
        return Array(name, count, None)
    kept: list[int | float] = []
    for piece in tape.pieces(count, size, BATCH, key):
        found = _numbers(tape, letter, piece, size)
        elements = tuple(map(bool, found)) if type_ == FLAG else found
        if numbers is not None:
            numbers(elements)
        if count <= KEPT:
            kept += elements
    return Array(name, count, tuple(kept) if count <= KEPT else None)


def _numbers(tape: Tape, letter: str, piece: bytes, size: int) -> tuple[Any, ...]:
    order = tape.numbers[letter].format[0]
    return struct.unpack(f"{order}{len(piece) // size}{letter}", piece)


def _told(tape: Tape, key: str, count: int, texts: Texts) -> None:
    """Give texts to whoever listens."""
    unpack, width = tape.lengths.unpack_from, tape.lengths.size
    while count:
        tape.have(width, key)
        buffer, at, limit = tape.buffer, tape.at, len(tape.buffer)
        batch: list[bytes] = []
        append = batch.append
        for _ in range(min(count, BATCH)):
            begin = at + width
            if begin > limit:
                break
            end = begin + unpack(buffer, at)[0]
            if end > limit:
                break
            append(buffer[begin:end])
            at = end
        tape.at = at
        if not batch:  # more than is at hand
            length = tape.length()
            tape.fits(length, f"a text in {key} has {length} bytes,", key=key)
            batch.append(tape.take(length, key))
        count -= len(batch)
        texts(batch)


def _passed(tape: Tape, key: str, count: int) -> None:
    """Pass over texts that nobody listens to."""
    unpack, width = tape.lengths.unpack_from, tape.lengths.size
    while count:
        tape.have(width, key)
        buffer, at, limit = tape.buffer, tape.at, len(tape.buffer)
        last = limit - width
        while count and at <= last:
            end = at + width + unpack(buffer, at)[0]
            count -= 1
            if end > limit:
                tape.at = at
                length = tape.length()
                tape.fits(length, f"a text in {key} has {length} bytes,", key=key)
                tape.skip(length, key)
                break
            at = end
        else:
            tape.at = at
