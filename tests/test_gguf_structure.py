"""Any header that is as it should be is read back, and one with a wrong field is read or refused, and nothing else."""

import hashlib
import struct
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import raw_headers
from quadgen.gguf import reader
from quadgen.gguf.header import Header
from quadgen.gguf.source import Malformed
from raw_gguf import ARRAY, SIZES, TEXT, Held, Raw, Verbatim, held

sizes = st.sampled_from([0, 1, 2, 31, 2**16, 2**30, 2**31, 2**32 - 1])
windows = st.sampled_from([1, 3, 64, 2**20])


@given(raw=raw_headers.files(), window=windows, known=st.booleans())
def test_what_is_written_is_read(raw: Raw, window: int, *, known: bool) -> None:
    data = raw.file()
    heard: dict[str | bytes, list[Any]] = {name: [] for name, kind, _ in raw.keys if kind == ARRAY}
    ears: Any = {key: found.extend for key, found in heard.items()}
    source = Held(data, window=window, size=len(data) if known else None)
    header = reader.read(source, listeners=ears, numbers=ears)
    assert (header.version, header.big_endian, header.alignment) == (raw.version, raw.big_endian, raw.alignment)
    assert dict(header.metadata) == raw_headers.metadata(raw)
    assert [tuple(tensor) for tensor in header.tensors] == raw_headers.tensors(raw)
    assert header.sha256 == hashlib.sha256(raw.header()).hexdigest()
    assert header.size == len(raw.header())
    assert header.end == len(data)
    for name, kind, value in raw.keys:
        if kind == ARRAY:
            inner, elements = value
            assert heard[name] == ([each.encode() for each in elements] if inner == TEXT else elements)
    assert source.read_bytes <= len(data) + window * source.reads


@given(raw=raw_headers.files(), window=windows)
def test_a_header_that_is_known_only_in_part_is_cut_off(raw: Raw, window: int) -> None:
    head = raw.header()
    for end in {len(head) // 3, len(head) // 2, len(head) - 1}:
        for size in (None, end):
            refusal = outcome(Held(head[:end], window=window, size=size))
            assert isinstance(refusal, Malformed)
            assert f"more than the {end} bytes that the file has" in refusal.message


@st.composite
def wrong(draw: st.DrawFn) -> Raw:
    """A file with one field that is as it should not be, or may not be."""
    raw = draw(raw_headers.files())
    field = draw(st.sampled_from(["version", "key_count", "tensor_count", "offset", "keys", "kind", "shape", "data"]))
    if field in ("version", "key_count", "tensor_count"):
        changed: dict[str, Any] = {field: draw(sizes), "data": b""}
        return replace(raw, **changed)
    if field == "data":
        return replace(raw, data=draw(st.binary(max_size=64)))
    if field == "keys" and raw.keys:
        at = draw(st.integers(0, len(raw.keys) - 1))
        broken = (raw.keys[at][0], draw(sizes), Verbatim(draw(st.binary(max_size=24))))
        return replace(raw, keys=[*raw.keys[:at], broken, *raw.keys[at + 1 :]])
    if not raw.tensors:
        return replace(raw, magic=draw(st.binary(min_size=4, max_size=4)))
    at = draw(st.integers(0, len(raw.tensors) - 1))
    if field == "offset":
        return replace(raw, offsets=[draw(sizes) if n == at else place for n, place in enumerate(raw.places())])
    name, shape, kind = raw.tensors[at]
    if field == "shape":
        odd = (name, tuple(draw(st.lists(sizes, max_size=6))), kind)
    else:
        odd = (name, shape, draw(sizes.filter(lambda number: number not in SIZES)))
    return replace(
        raw, tensors=[*raw.tensors[:at], odd, *raw.tensors[at + 1 :]], offsets=raw.places(), data=b""
    )  # fmt: skip


def outcome(source: Held) -> Header | Malformed:
    try:
        return reader.read(source)
    except Malformed as error:
        return error


@given(raw=wrong(), window=windows)
def test_a_wrong_field_is_refused_where_it_stands_and_alike_in_every_window(raw: Raw, window: int) -> None:
    try:
        data = raw.file()
    except struct.error:  # a number that the first version has no room for
        return
    found = outcome(held(data, window=window))
    if isinstance(found, Malformed):
        assert 0 <= found.offset <= len(data)
        assert found.message
        assert found.message.isprintable()
        other = outcome(held(data))
        assert isinstance(other, Malformed)
        assert (found.message, found.offset, found.key) == (other.message, other.offset, other.key)
    else:
        assert found.end <= len(data)
        assert found.sha256 == hashlib.sha256(data[: found.size]).hexdigest()
