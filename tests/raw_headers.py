"""A strategy of GGUF files: any keys, values and tensors, in any version and order of bytes."""

from math import prod
from typing import Any

from hypothesis import strategies as st

from quadgen.gguf.header import Array, Value
from raw_gguf import ARRAY, F32, F64, FLAG, I8, I16, I32, I64, SIZES, TEXT, U8, U16, U32, U64, Entry, Key, Raw

NAMES = {
    U8: "u8", I8: "i8", U16: "u16", I16: "i16", U32: "u32", I32: "i32", F32: "f32", FLAG: "bool", TEXT: "string",
    U64: "u64", I64: "i64", F64: "f64",
}  # fmt: skip
KINDS = {0: "F32", 1: "F16", 8: "Q8_0", 12: "Q4_K"}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS: dict[int, st.SearchStrategy[Any]] = {
    U8: st.integers(0, 2**8 - 1), I8: st.integers(-(2**7), 2**7 - 1), U16: st.integers(0, 2**16 - 1),
    I16: st.integers(-(2**15), 2**15 - 1), U32: st.integers(0, 2**32 - 1), I32: st.integers(-(2**31), 2**31 - 1),
    F32: st.floats(width=32, allow_nan=False), FLAG: st.booleans(), TEXT: texts, U64: st.integers(0, 2**64 - 1),
    I64: st.integers(-(2**63), 2**63 - 1), F64: st.floats(allow_nan=False),
}  # fmt: skip


@st.composite
def keys(draw: st.DrawFn) -> list[Key]:
    """Keys with values, of any type."""
    names = draw(st.lists(texts.filter(bool), unique=True, max_size=6))
    found: list[Key] = []
    for name in names:
        kind = draw(st.sampled_from([*SCALARS, ARRAY]))
        if kind == ARRAY:
            inner = draw(st.sampled_from(list(SCALARS)))
            found.append((name, ARRAY, (inner, draw(st.lists(SCALARS[inner], max_size=9)))))
        else:
            found.append((name, kind, draw(SCALARS[kind])))
    return found


@st.composite
def entries(draw: st.DrawFn) -> list[Entry]:
    """Tensors that are small."""
    found: list[Entry] = []
    for name in draw(st.lists(texts.filter(lambda name: len(name.encode()) < 64), unique=True, max_size=5)):
        kind = draw(st.sampled_from(list(SIZES)))
        shape = draw(st.lists(st.integers(0, 4), max_size=4))
        if shape:
            shape[0] *= SIZES[kind][0]
        elif SIZES[kind][0] > 1:
            shape = [SIZES[kind][0]]
        found.append((name, tuple(shape), kind))
    return found


@st.composite
def files(draw: st.DrawFn) -> Raw:
    """Files that are as they should be."""
    alignment = draw(st.sampled_from([32, 1, 8, 64]))
    told = draw(keys())
    if alignment != 32 or draw(st.booleans()):
        told.insert(draw(st.integers(0, len(told))), ("general.alignment", U32, alignment))
    return Raw(
        keys=told, tensors=draw(entries()), alignment=alignment, version=draw(st.sampled_from([1, 2, 3])),
        big_endian=draw(st.booleans()),
    )  # fmt: skip


def metadata(raw: Raw) -> dict[str | bytes, Value]:
    """What a reader has to say of the keys."""
    return {name: _value(kind, value) for name, kind, value in raw.keys}


def _value(kind: int, value: Any) -> Value:
    if kind == ARRAY:
        inner, elements = value
        return Array(NAMES[inner], len(elements), None if inner == TEXT else tuple(elements))
    found: Value = value
    return found


def tensors(raw: Raw) -> list[tuple[Any, ...]]:
    """What a reader has to say of the tensors."""
    return [
        (name, shape, KINDS[kind], at, prod(shape) // SIZES[kind][0] * SIZES[kind][1])
        for (name, shape, kind), at in zip(raw.tensors, raw.places(), strict=True)
    ]
