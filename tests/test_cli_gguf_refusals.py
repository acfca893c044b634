"""`quadgen gguf` with what is no checkpoint, or is none any more: a sentence and a status, never a traceback."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_gguf
from command import quadgen
from raw_gguf import TEXT, Raw


@pytest.fixture(scope="session", name="plain")
def _plain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return tiny_gguf.make(tmp_path_factory.mktemp("tiny"), "plain").read_bytes()


def refused(here: Path, name: str, data: bytes) -> tuple[str, str | None]:
    """The sentence with which a file is refused, and the hint."""
    (here / name).write_bytes(data)
    done = quadgen("gguf", "show", name, "--format", "json", cwd=here)
    assert (done.status, done.err) == (1, "")
    (problem,) = json.loads(done.out)
    assert (problem["code"], problem["severity"]) == ("malformed-gguf", "error")
    return problem["message"], problem["hint"]


REST = "fetch the rest of it: the download broke off"
OTHER = "compare its SHA-256 with the one that was published with it"


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b"", "an empty file, at byte 0", "fetch it again"),
        (
            b"<!DOCTYPE html><html>", "not a GGUF file but a web page, at byte 0",
            "fetch the file and not the page about it: on the hub that is /resolve/ in the place of /blob/",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\n",
            "not a GGUF file but a Git LFS pointer; `git lfs pull` fetches the file itself, at byte 0", None,
        ),
        (b"GGUF\3", "its header needs more than the 5 bytes that the file has, at byte 4", REST),
        (b"once upon a time", "not a GGUF file: it begins with the bytes 6f 6e 63 65, not with 47 47 55 46, at byte 0",
         OTHER),
        (Raw(version=9).file(), "version 9 of GGUF, and quadgen reads 1 to 3, at byte 4", OTHER),
    ],
    ids=["empty", "page", "pointer", "cut", "text", "newer"],
)  # fmt: skip
def test_what_is_no_checkpoint_is_refused_with_its_name_and_place(
    tmp_path: Path, data: bytes, message: str, hint: str | None
) -> None:
    assert refused(tmp_path, "model.gguf", data) == (f"model.gguf: {message}", hint)


def test_a_header_that_ends_early_names_the_key(tmp_path: Path, plain: bytes) -> None:
    message, hint = refused(tmp_path, "cut.gguf", plain[:5000])
    assert message.startswith("cut.gguf: its header needs more than the 5000 bytes that the file has, at the key ")
    assert hint == REST


# https://github.com/ggml-org/llama.cpp/issues/6774
def test_a_download_that_broke_off_is_refused_with_both_numbers(tmp_path: Path, plain: bytes) -> None:
    size = len(plain)
    assert refused(tmp_path, "cut.gguf", plain[:300000]) == (
        f"cut.gguf: truncated: its tensors end at byte {size}, and the file has 300000, at byte 300000", REST,
    )  # fmt: skip


def test_a_later_shard_is_refused_and_the_first_named(tmp_path: Path, plain: bytes) -> None:
    message, hint = refused(tmp_path, "m-00002-of-00003.gguf", plain)
    assert message.endswith(": shard 2 of 3; llama-server takes the first, m-00001-of-00003.gguf, at byte 0")
    assert hint is not None
    assert hint.startswith("name the first shard")


def test_the_shard_that_is_wrong_is_the_one_that_is_named(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(b"")
    message, _ = refused(tmp_path, "m-00001-of-00002.gguf", plain)
    assert message == "m-00002-of-00002.gguf: an empty file, at byte 0"


def test_a_shard_that_is_missing_is_an_obstacle_outside(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "m-00001-of-00002.gguf").write_bytes(plain)
    done = quadgen("gguf", "show", "m-00001-of-00002.gguf", cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert "cannot read m-00002-of-00002.gguf" in done.err


def test_two_files_that_are_none_are_refused_together(tmp_path: Path) -> None:
    (tmp_path / "a.gguf").write_bytes(b"")
    (tmp_path / "b.gguf").write_bytes(b"<html>")
    done = quadgen("gguf", "compare", "a.gguf", "b.gguf", cwd=tmp_path)
    assert (done.status, done.out, done.err.count("error[malformed-gguf]")) == (1, "", 2)


@pytest.mark.parametrize(
    "name",
    ["", ".", "none.gguf", "pipe", "/dev/null", "/dev/zero", "a" * 5000, "a\nb\x1b[31m", "hf:", "hf:x", "http://"],
)
def test_what_cannot_be_read_is_an_obstacle_outside(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    for words in (("show", name), ("compare", name, name)):
        done = quadgen("gguf", *words, cwd=tmp_path)
        assert (done.status, done.out) == (4, "")
        assert done.err.startswith("quadgen: ")
        assert done.err[:-1].isprintable()


def test_an_address_that_holds_a_key_is_refused_without_it(tmp_path: Path) -> None:
    address = "https://me:hunter2@huggingface.co/a/b/blob/main/c.gguf?token=hunter2"
    done = quadgen("gguf", "show", address, cwd=tmp_path)
    assert (done.status, "hunter2" in done.out + done.err) == (1, False)
    assert "its address is https://huggingface.co/a/b/resolve/main/c.gguf" in done.err


@pytest.mark.parametrize(
    "words", [("show",), ("compare", "a"), ("compare", "a", "b", "c"), ("show", "a", "--format", "x")]
)
def test_a_wrong_command_line_is_told_from_a_wrong_file(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert quadgen("gguf", *words, cwd=tmp_path).status == 2


def test_a_file_with_any_bytes_changed_is_shown_or_refused(tmp_path: Path, plain: bytes) -> None:
    chance, header = random.Random(1), 12000  # noqa: S311 - the same changes in each run
    for _ in range(150):
        data = bytearray(plain)
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(header)] = chance.randrange(256)
        (tmp_path / "a.gguf").write_bytes(data)
        (tmp_path / "plain.gguf").write_bytes(plain)
        for words in (("show", "a.gguf"), ("show", "a.gguf", "--format", "json"), ("compare", "plain.gguf", "a.gguf")):
            assert quadgen("gguf", *words, cwd=tmp_path).status in (0, 1)


@pytest.mark.parametrize(
    "texts", [["llama.block_count"], ["llama.attention.head_count", "llama.nextn_predict_layers"]], ids=len
)
def test_keys_that_are_texts_where_numbers_belong_are_shown(tmp_path: Path, texts: list[str]) -> None:
    keys = [
        ("general.architecture", TEXT, "llama"),
        *((name, TEXT, "many") for name in texts),
    ]
    (tmp_path / "odd.gguf").write_bytes(Raw(keys=keys, tensors=[("blk.0.x", (4,), 0)]).file())
    assert quadgen("gguf", "show", "odd.gguf", cwd=tmp_path).status == 0


def test_a_local_file_is_shown_without_a_heavy_library(tmp_path: Path, plain: bytes) -> None:
    (tmp_path / "plain.gguf").write_bytes(plain)
    heavy = {"yaml", "jinja2", "httpx", "quadgen.fleet", "quadgen.render", "quadgen.engines"}
    program = f"""
import runpy, sys
sys.argv = ["quadgen", "gguf", "show", "plain.gguf"]
try:
    runpy.run_module("quadgen", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write(" ".join({heavy} & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.startswith("plain.gguf: an ordinary model\n")
