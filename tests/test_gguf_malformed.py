"""What the reader of headers refuses: what it says, at which byte, and that it costs nothing to be told."""

import time
import tracemalloc
from collections.abc import Mapping
from typing import Any

import pytest

from quadgen.gguf import reader
from quadgen.gguf.foreign import looks_like_page
from quadgen.gguf.source import Malformed
from quadgen.gguf.tape import MOST
from raw_gguf import ARRAY, FLAG, TEXT, U8, U16, U32, U64, Held, Raw, Verbatim, held

HUGE = 2**63


def refused(data: bytes, **more: Any) -> tuple[str, int, str | None]:
    """Message, byte and key with which a file is refused."""
    with pytest.raises(Malformed) as error:
        reader.read(held(data, **more))
    return error.value.message, error.value.offset, error.value.key


def length(count: int) -> bytes:
    return count.to_bytes(8, "little")


def word(number: int) -> bytes:
    return number.to_bytes(4, "little")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "an empty file"),
        (b"<!DOCTYPE html>\n<html>", "not a GGUF file but a web page"),
        (b"\xef\xbb\xbf \n\t<HTML lang=en>", "not a GGUF file but a web page"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
            "not a GGUF file but a Git LFS pointer; `git lfs pull` fetches the file itself",
        ),
        (b"PK\3\4rest", "not a GGUF file but a ZIP archive, which is how PyTorch writes checkpoints"),
        (b"\x80\2}q", "not a GGUF file but a Python pickle, which is how PyTorch wrote checkpoints"),
        (b'\x40\0\0\0\0\0\0\0{"__metadata__":{}', "not a GGUF file but safetensors"),
        (b"\x1f\x8b\x08\0", "not a GGUF file but compressed with gzip"),
        (b"\x28\xb5\x2f\xfd\0", "not a GGUF file but compressed with zstd"),
        (b"\x93NUMPY\1\0", "not a GGUF file but a NumPy array"),
        *[
            (magic, "not a GGUF file but a GGML one, the older format, which llama.cpp reads no more")
            for magic in (b"tjgg\3\0\0\0", b"lmgg", b"algg", b"fmgg", b"ggjt\3\0\0\0")
        ],
        (b"GGU", "its header needs more than the 3 bytes that the file has"),
        (b"\0\0\0\0", "not a GGUF file: it begins with the bytes 00 00 00 00, not with 47 47 55 46"),
        (b"gguf\3\0\0\0", "not a GGUF file: it begins with the bytes 67 67 75 66, not with 47 47 55 46"),
        (b"{", "not a GGUF file: it begins with the bytes 7b, not with 47 47 55 46"),
    ],
)  # fmt: skip
def test_what_is_no_gguf_file_is_called_what_it_is(data: bytes, message: str) -> None:
    assert refused(data) == (message, 0, None)
    with pytest.raises(Malformed, match=f"^{message[:20]}"):
        reader.read(Held(data))


def test_a_page_is_told_by_its_beginning_only() -> None:
    assert looks_like_page(b"\n<!doctype html>")
    assert not looks_like_page(b"GGUF<!doctype html>")
    assert not looks_like_page(b"<htmlish")
    assert reader.looks_like_page is looks_like_page


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (0, "version 0 of GGUF, and quadgen reads 1 to 3"),
        (4, "version 4 of GGUF, and quadgen reads 1 to 3"),
        (4 << 24, "big-endian version 4 of GGUF, and quadgen reads 1 to 3"),
        (1 << 16, "big-endian version 256 of GGUF, and quadgen reads 1 to 3"),
    ],
)
def test_another_version_is_named(version: int, message: str) -> None:
    assert refused(b"GGUF" + word(version) + bytes(16)) == (message, 4, None)


def value(key: str, kind: int, data: bytes, **more: Any) -> Raw:
    """A file with one key, whose value is these bytes."""
    return Raw(keys=[(key, kind, Verbatim(data))], **more)


HEAD = 24
"""Bytes before the first key."""
WRONG: Mapping[str, tuple[Raw, str, int, str | None]] = {
    "too many keys for the file": (
        Raw(key_count=HUGE), f"{HUGE} keys need more than the 24 bytes that the file has", HEAD, None,
    ),
    "too many keys": (
        Raw(key_count=65537, data=bytes(14 * 65537)), "65537 keys, and quadgen reads up to 65536", HEAD, None,
    ),
    "too many tensors for the file": (
        Raw(tensor_count=HUGE), f"{HUGE} tensors need more than the 24 bytes that the file has", HEAD, None,
    ),
    "too many tensors": (
        Raw(tensor_count=65537, data=bytes(24 * 65537)), "65537 tensors, and quadgen reads up to 65536", HEAD, None,
    ),
    "key without a name": (
        Raw(keys=[("", U8, 1)], data=b"1"), "a key has 0 bytes, and 1 to 65535 are possible", 32, None,
    ),
    "endless key": (
        Raw(key_count=1, data=length(HUGE) + b"123456"), f"a key has {HUGE} bytes, and 1 to 65535 are possible", 32,
        None,
    ),
    "key twice": (Raw(keys=[("ab", U8, 1), ("ab", U8, 1)]), "the key ab is there twice", 49, "ab"),
    "unknown type": (value("ab", 13, b"1234"), "ab is of the unknown type 13", 38, "ab"),
    "unknown element": (value("ab", ARRAY, word(99) + length(0)), "ab is an array of the unknown type 99", 50, "ab"),
    "array of arrays": (
        value("ab", ARRAY, word(ARRAY) + length(1)), "ab is an array of arrays, which llama.cpp does not read", 50,
        "ab",
    ),
    "endless text": (
        value("ab", TEXT, length(2**40) + b"x"),
        "the text of ab has 1099511627776 bytes, more than the 47 bytes that the file has", 46, "ab",
    ),
    "endless numbers": (
        value("ab", ARRAY, word(U64) + length(2**30)),
        "ab has 1073741824 elements of 8 bytes, which need more than the 50 bytes that the file has", 50, "ab",
    ),
    "endless flags": (
        value("ab", ARRAY, word(FLAG) + length(2**36)),
        "ab has 68719476736 elements, and llama.cpp reads up to 1073741824", 50, "ab",
    ),
    "endless texts": (
        value("ab", ARRAY, word(TEXT) + length(2**30)),
        "ab has 1073741824 texts, which need more than the 50 bytes that the file has", 50, "ab",
    ),
    "endless text among texts": (
        value("ab", ARRAY, word(TEXT) + length(2) + length(1) + b"x" + length(HUGE)),
        f"a text in ab has {HUGE} bytes, more than the 67 bytes that the file has", 67, "ab",
    ),
    "alignment 0": (
        Raw(keys=[("general.alignment", U32, 0)]), "general.alignment is 0, and has to be a power of two", 57,
        "general.alignment",
    ),
    "alignment 3": (
        Raw(keys=[("general.alignment", U32, 3)]), "general.alignment is 3, and has to be a power of two", 57,
        "general.alignment",
    ),
    "alignment of another type": (
        Raw(keys=[("general.alignment", U64, 32)]),
        "general.alignment is of the type 10, and llama.cpp reads 4 (u32)", 53, "general.alignment",
    ),
    "long name of a tensor": (
        Raw(tensors=[("n" * 64, (1,), 0)]), "the name of a tensor has 64 bytes, and llama.cpp reads up to 63", 32, None,
    ),
    "tensor twice": (Raw(tensors=[("ab", (1,), 0)] * 2), "the tensor ab is there twice", 92, None),
    "five dimensions": (
        Raw(tensors=[("ab", (1,) * 5, 0)]), "ab has 5 dimensions, and llama.cpp reads up to 4", 38, None,
    ),
    "negative dimension": (
        Raw(tensors=[("ab", (HUGE, 0), 0)], data=b""), f"ab has {HUGE} x 0 numbers, more than {HUGE - 1}", 54, None,
    ),
    "overflowing dimensions": (
        Raw(tensors=[("ab", (2**32, 2**31), 0)], data=b""), f"ab has {2**32} x {2**31} numbers, more than {HUGE - 1}",
        54, None,
    ),
    "unknown type of a tensor": (Raw(tensors=[("ab", (1,), 43)]), "ab is of the unknown type 43", 50, None),
    "negative type of a tensor": (
        Raw(tensors=[("ab", (1,), 2**32 - 1)]), "ab is of the unknown type 4294967295", 50, None,
    ),
    "removed type of a tensor": (
        Raw(tensors=[("ab", (1,), 31)]), "ab is of the type 31, Q4_0_4_4, which llama.cpp reads no more", 50, None,
    ),
    "broken row": (
        Raw(tensors=[("ab", (33, 32), 8)], data=b""), "a row of ab has 33 numbers, and Q8_0 stores 32 together", 66,
        None,
    ),
    "gap": (
        Raw(tensors=[("ab", (1,), 0), ("cd", (1,), 0)], offsets=[0, 64], data=bytes(999)),
        "the data of cd begins at 64, and 32 was expected", 92, None,
    ),
    "overlap": (
        Raw(tensors=[("ab", (8,), 0), ("cd", (1,), 0)], offsets=[0, 0], data=bytes(999)),
        "the data of cd begins at 0, and 32 was expected", 92, None,
    ),
    "offset without alignment": (
        Raw(tensors=[("ab", (1,), 0)], offsets=[1], data=bytes(999)), "the data of ab begins at 1, and 0 was expected",
        58, None,
    ),
    "data beyond all files": (
        Raw(tensors=[("ab", (2**62,), 0)], data=b""), f"the data of ab ends at {2**64}, above {HUGE - 1}", 58, None,
    ),
    "data cut off": (
        Raw(tensors=[("ab", (1000,), 0)], data=bytes(6 + 3999)),
        "truncated: its tensors end at byte 4064, and the file has 4063", 4063, None,
    ),
    "data missing": (
        Raw(tensors=[("ab", (0,), 0)], data=b""), "truncated: its tensors end at byte 64, and the file has 58", 58,
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("window", [1, 2**20])
def test_what_is_wrong_is_said_with_its_key_its_limit_and_its_byte(name: str, window: int) -> None:
    raw, message, offset, key = WRONG[name]
    data = raw.file()
    began = time.process_time()
    tracemalloc.start()
    try:
        assert refused(data, window=window) == (message, offset, key)
        assert tracemalloc.get_traced_memory()[1] < 2 * len(data) + 2**16
    finally:
        tracemalloc.stop()
    assert time.process_time() - began < 1


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_header_that_is_cut_off_anywhere_says_that_it_is(version: int) -> None:
    raw = Raw(
        keys=[("a", TEXT, "b"), ("c", ARRAY, (TEXT, ["d", "e"])), ("f", ARRAY, (U16, [1, 2]))],
        tensors=[("blk.0.w", (2,), 0)], version=version,
    )  # fmt: skip
    head = raw.header()
    for end in range(1, len(head)):
        message, _, _ = refused(head[:end])
        assert f"more than the {end} bytes that the file has" in message, end
        with pytest.raises(Malformed, match=f"^its header needs more than the {end} bytes that the file has$"):
            reader.read(Held(head[:end]))


def test_a_file_without_the_last_byte_of_its_last_tensor_is_truncated() -> None:
    data = Raw(tensors=[("a", (9,), 0), ("b", (3,), 0)]).file()
    reader.read(held(data))
    end = len(data)
    assert refused(data[:-1]) == (
        f"truncated: its tensors end at byte {end}, and the file has {end - 1}",
        end - 1,
        None,
    )


def test_a_header_that_has_no_end_is_read_no_further_than_quadgen_reads() -> None:
    """A file can be a hole of many gigabytes, and a server can send for ever."""

    class Endless:
        name, size, read_bytes = "endless", None, 0
        head = value("ab", ARRAY, word(U8) + length(2**30)).header()

        def read(self, offset: int, least: int) -> bytes:
            self.read_bytes += max(least, 2**20)
            return (self.head[offset:] + bytes(max(least, 2**20)))[: max(least, 2**20)]

    source = Endless()
    with pytest.raises(Malformed, match=r"^its header has more than the 64 MiB that quadgen reads$"):
        reader.read(source)
    assert source.read_bytes <= MOST + 2**20
    hole = held(Endless.head)
    hole.size = 2**40
    with pytest.raises(Malformed, match=r"^its header has more than the 64 MiB that quadgen reads$") as error:
        reader.read(hole)
    assert error.value.key == "ab"
    assert hole.reads == 1 or hole.read_bytes <= 2 * len(Endless.head)


def test_names_in_messages_are_short_and_show() -> None:
    message, _, key = refused(Raw(keys=[("\x1b[31m" + "x" * 200, 13, Verbatim(b""))], data=bytes(9)).file())
    assert message == f"\\x1b[31m{'x' * 75}... is of the unknown type 13"
    assert key == f"\\x1b[31m{'x' * 75}..."
    message, _, _ = refused(Raw(tensors=[("\n\0", (1,), 99)]).file())
    assert message == "\\n\\x00 is of the unknown type 99"
