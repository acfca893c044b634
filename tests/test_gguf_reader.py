"""The reader of headers: what it reads of files that others wrote, and of versions that nobody writes any more."""

import hashlib
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFEndian, GGUFReader, GGUFWriter, LlamaFileType, ReaderTensor
from gguf.constants import GGML_QUANT_SIZES

import parts
import tiny_gguf
from quadgen.disk import windows
from quadgen.gguf import reader
from quadgen.gguf.header import Array, Header, Value
from quadgen.gguf.tensor_types import FILE_TYPES, REMOVED, TYPES
from raw_gguf import ARRAY, F32, F64, FLAG, I8, I16, I32, I64, TEXT, U8, U16, U32, U64, Held, Raw, held

KINDS = ("u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64")
EVERY = Raw(
    keys=[
        ("a.u8", U8, 255), ("a.i8", I8, -128), ("a.u16", U16, 65535), ("a.i16", I16, -2), ("a.u32", U32, 2**32 - 1),
        ("a.i32", I32, -3), ("a.f32", F32, 0.5), ("a.flag", FLAG, True), ("a.text", TEXT, "▁wörd\n"),
        ("a.u64", U64, 2**64 - 1), ("a.i64", I64, -(2**63)), ("a.f64", F64, 0.1), ("a.empty", TEXT, ""),
        ("a.flags", ARRAY, (FLAG, [True, False])), ("a.numbers", ARRAY, (I16, [-1, 2])),
        ("a.floats", ARRAY, (F64, [0.25])), ("a.none", ARRAY, (U8, [])), ("a.words", ARRAY, (TEXT, ["", "b"])),
        ("general.alignment", U32, 64),
    ],
    tensors=[("one", (2, 3), 0), ("two", (256, 2, 1, 1), 12), ("three", (), 1), ("none", (32, 0), 8)],
    alignment=64,
)  # fmt: skip
"""A value of each type, and tensors of several."""
VALUES: dict[str, Value] = {
    "a.u8": 255, "a.i8": -128, "a.u16": 65535, "a.i16": -2, "a.u32": 2**32 - 1, "a.i32": -3, "a.f32": 0.5,
    "a.flag": True, "a.text": "▁wörd\n", "a.u64": 2**64 - 1, "a.i64": -(2**63), "a.f64": 0.1, "a.empty": "",
    "a.flags": Array("bool", 2, (True, False)), "a.numbers": Array("i16", 2, (-1, 2)),
    "a.floats": Array("f64", 1, (0.25,)), "a.none": Array("u8", 0, ()), "a.words": Array("string", 2, None),
    "general.alignment": 64,
}  # fmt: skip


class Heard:
    """Listens to every array that a file has."""

    def __init__(self, path: Path) -> None:
        self.elements: dict[str, list[Any]] = {}
        with windows.opened(str(path)) as (source,):
            arrays = [key for key, value in reader.read(source).metadata.items() if isinstance(value, Array)]
        for key in arrays:
            self.elements[key] = []
        with windows.opened(str(path)) as (source,):
            ears = {key: found.extend for key, found in self.elements.items()}
            self.header = reader.read(source, listeners=ears, numbers=ears)

    def said(self, key: str) -> list[Any]:
        """The elements of an array, texts as such."""
        return [each.decode() if isinstance(each, bytes) else each for each in self.elements[key]]


def theirs(path: Path) -> tuple[GGUFReader, dict[str, Any]]:
    """What the upstream package reads; its fields that begin with GGUF are of the header itself."""
    upstream = GGUFReader(path)
    found = {key: field.contents() for key, field in upstream.fields.items() if not key.startswith("GGUF.")}
    return upstream, found


def agree(path: Path) -> Header:
    """Make sure that both readers say the same of a file."""
    heard, (upstream, fields) = Heard(path), theirs(path)
    ours = {key: heard.said(key) if isinstance(value, Array) else value for key, value in heard.header.metadata.items()}
    assert list(ours) == list(fields)
    assert ours == fields
    for key, value in heard.header.metadata.items():
        types = [KINDS[type_] for type_ in upstream.fields[key].types]
        if isinstance(value, Array):
            assert types[:1] == ["array"]
            assert types[1:] in ([], [value.kind])  # an array of nothing has no type in the upstream package
            assert value.count == len(heard.elements[key])
            few = value.kind != "string" and value.count <= 1024
            assert value.values == (tuple(heard.elements[key]) if few else None)
    listed(heard.header, upstream.tensors)
    assert heard.header.alignment == upstream.alignment
    assert heard.header.sha256 == hashlib.sha256(path.read_bytes()[: heard.header.size]).hexdigest()
    if upstream.tensors:
        assert heard.header.data == upstream.data_offset
    return heard.header


def listed(header: Header, tensors: Sequence[ReaderTensor]) -> None:
    ours = [
        (one.name, list(one.shape), one.kind, header.data + one.offset, one.size) for one in header.tensors
    ]  # fmt: skip
    assert ours == [
        (one.name, one.shape.tolist(), one.tensor_type.name, one.data_offset, one.n_bytes) for one in tensors
    ]


@pytest.mark.parametrize("name", tiny_gguf.MODELS)
def test_a_file_says_what_the_upstream_package_reads_in_it(tmp_path: Path, name: str) -> None:
    header = agree(tiny_gguf.make(tmp_path, name))
    assert (header.version, header.big_endian) == (3, False)
    assert header.metadata["general.architecture"] == tiny_gguf.MODELS[name]().arch


def written(path: Path, *, endianess: GGUFEndian = GGUFEndian.LITTLE, alignment: int | None = None) -> Path:
    """A file with a value of every type, and quantised tensors."""
    writer = GGUFWriter(path, "llama", endianess=endianess)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    writer.add_uint8("a.u8", 7)
    writer.add_int8("a.i8", -7)
    writer.add_uint16("a.u16", 300)
    writer.add_int16("a.i16", -300)
    writer.add_int32("a.i32", -70000)
    writer.add_uint64("a.u64", 2**63)
    writer.add_int64("a.i64", -(2**62))
    writer.add_float32("a.f32", 1e-6)
    writer.add_float64("a.f64", 1e-6)
    writer.add_bool("a.flag", False)  # noqa: FBT003 - the upstream package's signature
    writer.add_string("a.text", "日本語")
    writer.add_array("a.numbers", list(range(-2, 1030)))
    writer.add_array("a.floats", [0.5, -2.0])
    writer.add_array("a.flags", [True, False, True])
    writer.add_array("a.words", ["a", "", "c" * 300])
    writer.add_tensor("blk.0.ffn_up.weight", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.add_tensor("half", np.ones((3, 1, 2), dtype=np.float16))
    writer.add_tensor("quantised", np.zeros((4, 34), dtype=np.uint8), raw_dtype=GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("alignment", [None, 8, 4096])
@pytest.mark.parametrize("endianess", GGUFEndian)
def test_both_orders_of_bytes_are_read_as_the_upstream_package_reads_them(
    tmp_path: Path, endianess: GGUFEndian, alignment: int | None
) -> None:
    header = agree(written(tmp_path / "a.gguf", endianess=endianess, alignment=alignment))
    assert header.big_endian is (endianess is GGUFEndian.BIG)
    assert header.alignment == (alignment or 32)


def test_a_real_checkpoint_says_what_the_upstream_package_reads_in_it() -> None:
    header = agree(parts.gemma())
    assert header.metadata["tokenizer.ggml.tokens"] == Array("string", 262144, None)
    assert header.size == 6525112
    assert header.end == 253113024


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("big_endian", [False, True])
@pytest.mark.parametrize("window", [1, 7, 64, 2**20])
def test_every_version_is_read_in_windows_of_any_size(*, version: int, big_endian: bool, window: int) -> None:
    raw = replace(EVERY, version=version, big_endian=big_endian)
    words: list[bytes] = []
    numbers: list[int | float] = []
    header = reader.read(
        held(raw.file(), window=window), listeners={"a.words": words.extend}, numbers={"a.numbers": numbers.extend}
    )
    assert (header.version, header.big_endian) == (version, big_endian)
    assert dict(header.metadata) == VALUES
    assert [type(value) for value in header.metadata.values()] == [type(value) for value in VALUES.values()]
    assert (words, numbers) == ([b"", b"b"], [-1, 2])
    assert [tuple(tensor) for tensor in header.tensors] == [
        ("one", (2, 3), "F32", 0, 24),
        ("two", (256, 2, 1, 1), "Q4_K", 64, 288),
        ("three", (), "F16", 384, 2),
        ("none", (32, 0), "Q8_0", 448, 0),
    ]
    assert header.size == len(raw.header())
    assert header.data == -(-header.size // 64) * 64
    assert header.end == header.data + 448
    assert header.sha256 == hashlib.sha256(raw.header()).hexdigest()


def test_a_source_that_does_not_know_its_size_is_read_alike() -> None:
    data = EVERY.file()
    known, unknown = (reader.read(Held(data, size=size)) for size in (len(data), None))
    assert (known.sha256, known.tensors, dict(known.metadata)) == (
        unknown.sha256, unknown.tensors, dict(unknown.metadata)
    )  # fmt: skip


def test_no_more_is_read_than_the_header_and_one_window() -> None:
    raw = Raw(keys=EVERY.keys, tensors=EVERY.tensors, alignment=64)
    source = held(raw.header() + bytes(10**6), window=4096)
    header = reader.read(source)
    assert source.read_bytes <= header.size + 4096


def test_a_long_text_is_passed_over_and_a_list_of_texts_is_told_whole() -> None:
    long, words = "x" * (2**20 + 1), ["a", "y" * 3000, "", "z" * 2**21]
    raw = Raw(
        keys=[("long", TEXT, long), ("short", TEXT, long[1:]), ("words", ARRAY, (TEXT, words)), ("after", U8, 1)]
    )  # fmt: skip
    for window in (64, 2**16, 2**22):
        heard: list[bytes] = []
        header = reader.read(held(raw.file(), window=window), listeners={"words": heard.extend})
        assert header.metadata["long"] == Array("u8", 2**20 + 1, None)
        assert header.metadata["short"] == long[1:]
        assert header.metadata["after"] == 1
        assert heard == [word.encode() for word in words]
        assert dict(reader.read(held(raw.file(), window=window)).metadata) == dict(header.metadata)


def test_numbers_are_kept_up_to_1024_of_them() -> None:
    raw = Raw(keys=[("few", ARRAY, (U8, [1] * 1024)), ("many", ARRAY, (U8, [1] * 1025))])
    header = reader.read(held(raw.file()))
    assert header.metadata["few"] == Array("u8", 1024, (1,) * 1024)
    assert header.metadata["many"] == Array("u8", 1025, None)


def test_bytes_that_are_no_text_are_shown_as_such_and_told_as_they_are() -> None:
    raw = Raw(keys=[(b"k\xff", TEXT, b"\xe2\x96"), ("w", ARRAY, (TEXT, [b"\xf0\x9f"]))], tensors=[(b"\xff", (1,), 0)])
    heard: list[bytes] = []
    header = reader.read(held(raw.file()), listeners={"w": heard.extend})
    assert header.metadata["k�"] == "�"
    assert header.tensors[0].name == "�"
    assert heard == [b"\xf0\x9f"]


def test_a_file_without_tensors_ends_with_its_keys() -> None:
    raw = Raw(keys=[("a", U8, 1)])
    header = reader.read(held(raw.file()))
    assert header.tensors == ()
    assert header.size == header.data == header.end == len(raw.file())


def test_a_listener_of_texts_hears_no_numbers_and_one_of_numbers_no_texts() -> None:
    raw = Raw(keys=[("numbers", ARRAY, (U32, [1])), ("words", ARRAY, (TEXT, ["a"])), ("one", U8, 1)])
    heard: list[Any] = []
    reader.read(
        held(raw.file()), listeners={"numbers": heard.extend, "one": heard.extend}, numbers={"words": heard.extend}
    )
    assert heard == []


def test_a_vocabulary_is_not_held_in_memory() -> None:
    words = [f"word-{number}" for number in range(60000)]
    raw = Raw(keys=[("words", ARRAY, (TEXT, words)), ("scores", ARRAY, (F32, [0.0] * 60000))])
    source = held(raw.file(), window=2**16)
    tracemalloc.start()
    reader.read(source, listeners={"words": lambda _: None}, numbers={"scores": lambda _: None})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * 2**16


def test_every_number_type_is_as_large_as_the_upstream_package_says() -> None:
    """But for Q8_1: ggml itself asserts 36 bytes (ggml/src/ggml-common.h), and stores none in files."""
    sizes = {(int(kind), kind.name): tuple(size) for kind, size in GGML_QUANT_SIZES.items()}
    ours = {(number, kind.name): (kind.block, kind.size) for number, kind in TYPES.items()}
    assert sizes.items() - ours.items() == {((9, "Q8_1"), (32, 40))}
    assert not TYPES.keys() & REMOVED.keys()
    assert sorted([*TYPES, *REMOVED]) == list(range(43))


def test_every_file_type_is_called_as_in_the_upstream_package() -> None:
    for kind in LlamaFileType:
        if kind is not LlamaFileType.GUESSED:
            assert FILE_TYPES[kind] == kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
