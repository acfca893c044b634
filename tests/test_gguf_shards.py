"""Checkpoints in several files: which they are, that all are there, and that they are parts of one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quadgen.disk import windows
from quadgen.facts.reading import facts, read
from quadgen.facts.record import Facts
from quadgen.gguf.shards import siblings
from quadgen.gguf.source import Malformed
from quadgen.problems import Unavailable
from raw_gguf import ARRAY, I32, TEXT, U16, Entry, Key, Raw, held

TENSORS: Sequence[Sequence[Entry]] = (
    [("token_embd.weight", (4, 8), 0)],
    [("blk.0.ffn_up.weight", (4, 4), 0), ("blk.1.nextn.eh_proj.weight", (2,), 0)],
    [("output.weight", (4, 8), 0)],
)
KEYS: Sequence[Key] = [("general.architecture", TEXT, "llama"), ("tokenizer.ggml.tokens", ARRAY, (TEXT, ["a", "b"]))]


def split(number: int | None, count: int | None, total: int | None = 4) -> list[Key]:
    found: list[Key] = []
    found += [("split.no", U16, number)] if number is not None else []
    found += [("split.count", U16, count)] if count is not None else []
    return found + ([("split.tensors.count", I32, total)] if total is not None else [])


def shards(*keys: list[Key], tensors: Sequence[Sequence[Entry]] = TENSORS) -> list[bytes]:
    """A file for each list of keys; the first has also those of the model."""
    return [
        Raw(keys=[*(KEYS if number == 0 else ()), *own], tensors=tensors[number]).file()
        for number, own in enumerate(keys)
    ]


RIGHT = shards(split(0, 3), split(1, 3), split(2, 3))


def told(files: Sequence[bytes]) -> Facts:
    return facts([held(data, name=f"m-{n:05d}-of-{len(files):05d}.gguf") for n, data in enumerate(files, 1)])


def refused(files: Sequence[bytes]) -> tuple[str, str | None]:
    with pytest.raises(Malformed) as error:
        told(files)
    return error.value.message, error.value.key


@pytest.mark.parametrize(
    ("name", "names"),
    [
        (
            "dir/M-00001-of-00003.gguf",
            ("dir/M-00001-of-00003.gguf", "dir/M-00002-of-00003.gguf", "dir/M-00003-of-00003.gguf"),
        ),
        ("M-00001-of-00001.gguf", ("M-00001-of-00001.gguf",)),
        ("a\n-00001-of-00002.gguf", ("a\n-00001-of-00002.gguf", "a\n-00002-of-00002.gguf")),
        *[
            (whole, (whole,))
            for whole in (
                "best-of-breed.gguf", "M-1-of-3.gguf", "M-00001-of-00003.bin", "M-00000-of-00003.gguf",
                "M-00004-of-00003.gguf", "M-00001-of-00000.gguf", "M-\u0660\u0660\u0660\u0660\u0661-of-00003.gguf",
                "M-00001-of-99999.gguf", "",
            )
        ],
    ],
)  # fmt: skip
def test_the_name_of_the_first_shard_names_all(name: str, names: tuple[str, ...]) -> None:
    assert siblings(name) == names


def test_a_later_shard_is_refused_with_the_name_of_the_first() -> None:
    with pytest.raises(Malformed) as error:
        siblings("/models/M-00002-of-00003.gguf")
    assert error.value.message == "shard 2 of 3; llama-server takes the first, M-00001-of-00003.gguf"


def test_the_facts_of_shards_are_those_of_all_of_them() -> None:
    found = told(RIGHT)
    assert found.shards == 3
    assert found.size == sum(map(len, RIGHT))
    assert (found.weights.input, found.weights.output, found.weights.blocks) == (128, 128, (64, 8))
    assert not found.weights.tied
    assert found.heads == (1,)
    assert found.vocabulary is not None
    assert found.vocabulary.size == 2


def test_the_headers_of_shards_have_one_digest_that_each_of_them_changes() -> None:
    digests = {told(RIGHT).header}
    for number in range(3):
        tensors = [list(each) for each in TENSORS]
        _, shape, kind = tensors[number][-1]
        tensors[number][-1] = (f"other-{number}", shape, kind)
        digests.add(told(shards(split(0, 3), split(1, 3), split(2, 3), tensors=tensors)).header)
    assert len(digests) == 4


def test_a_single_shard_is_a_whole_file_whatever_it_says_of_itself() -> None:
    for keys in (split(0, 1), split(0, 1, 1), split(None, None, None), split(0, 0)):
        (data,) = shards(keys)
        assert told([data]).shards == 1


@pytest.mark.parametrize(
    ("files", "message", "key"),
    [
        (
            shards(split(0, 3)),
            "split.count says 3, and its name is none of a shard, such as NAME-00001-of-00003.gguf", "split.count",
        ),
        (
            shards(split(0, 4), split(1, 4), split(2, 4)), "split.count says 4, and its name is that of 3 shards",
            "split.count",
        ),
        (
            shards([], [], []), "it has no split.count, and its name is that of 3 shards", "split.count",
        ),
        (
            shards(split(0, 3), split(2, 3), split(1, 3)),
            "m-00002-of-00003.gguf: split.no is 2, and 1 was expected", "split.no",
        ),
        (
            shards(split(0, 3), split(1, 3), split(None, 3)),
            "m-00003-of-00003.gguf: it has no split.no, and 2 was expected", "split.no",
        ),
        (
            shards(split(0, 3, 5), split(1, 3, 5), split(2, 3, 5)),
            "m-00001-of-00003.gguf: split.tensors.count says 5, and the shards have 4", "split.tensors.count",
        ),
        (
            shards(split(0, 3, None), split(1, 3), split(2, 3)),
            "m-00001-of-00003.gguf: there is no split.tensors.count, and the shards have 4", "split.tensors.count",
        ),
        (
            shards(split(0, 2), split(1, 2), tensors=[TENSORS[0], TENSORS[0]]),
            "m-00002-of-00002.gguf: the tensor token_embd.weight is also in m-00001-of-00002.gguf", None,
        ),
    ],
)  # fmt: skip
def test_shards_that_are_not_of_one_file_are_refused(files: list[bytes], message: str, key: str | None) -> None:
    assert refused(files) == (message, key)


def test_a_shard_that_is_cut_off_is_named() -> None:
    end = len(RIGHT[1]) - 1
    assert refused([RIGHT[0], RIGHT[1][:-1], RIGHT[2]]) == (
        f"m-00002-of-00003.gguf: truncated: its tensors end at byte {end + 1}, and the file has {end}", None,
    )  # fmt: skip


def placed(directory: Path, files: Sequence[bytes], **more: Any) -> Path:
    for number, data in enumerate(files, 1):
        (directory / f"m-{number:05d}-of-{more.get('of', len(files)):05d}.gguf").write_bytes(data)
    return directory / f"m-00001-of-{more.get('of', len(files)):05d}.gguf"


def test_all_shards_on_disk_are_opened_by_the_name_of_the_first(tmp_path: Path) -> None:
    with windows.opened(str(placed(tmp_path, RIGHT))) as sources:
        assert [source.name for source in sources] == [str(path) for path in sorted(tmp_path.iterdir())]
        found, headers = read(sources)
    assert found.size == sum(map(len, RIGHT))
    assert [len(header.tensors) for header in headers] == [1, 2, 1]


def test_a_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    path = placed(tmp_path, RIGHT)
    last = tmp_path / "m-00003-of-00003.gguf"
    last.unlink()
    with pytest.raises(Unavailable) as error, windows.opened(str(path)):
        pass
    assert str(error.value) == f"cannot read {last}: No such file or directory, and it is shard 3 of 3"


def test_a_later_shard_on_disk_is_refused_though_all_are_there(tmp_path: Path) -> None:
    placed(tmp_path, RIGHT)
    later = str(tmp_path / "m-00002-of-00003.gguf")
    with pytest.raises(Malformed, match=r"takes the first, m-00001-of-00003\.gguf$"), windows.opened(later):
        pass
