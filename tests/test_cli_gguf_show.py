"""`quadgen gguf show`: what it tells of a checkpoint, for people and for programs."""

import json
from pathlib import Path
from typing import Any

import pytest

import file_server
import tiny_archs
import tiny_pairs
from command import Done, quadgen
from pages import read
from quadgen.facts.amounts import amount, short
from raw_gguf import F32, I32, TEXT, U16, U32, Key, Raw
from worded import checkpoint


@pytest.fixture(scope="session", name="tiny")
def _tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(name="here")
def _here(tiny: Path) -> Path:
    """A directory with the tiny checkpoints that these tests name."""
    for name in ("headed", "stripped", "head", "eagle3", "dspark", "projector", "two-heads"):
        tiny_pairs.make(tiny, name)
    for name in ("gemma4", "deepseek2", "qwen35", "mamba"):
        tiny_archs.make(tiny, name)
    return tiny


def show(here: Path, name: str) -> dict[str, Any]:
    done = quadgen("gguf", "show", name, "--format", "json", cwd=here)
    assert (done.status, done.err) == (0, "")
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def lines(here: Path, name: str) -> dict[str, str]:
    """What stands beside each label, of several lines the first."""
    done = quadgen("gguf", "show", name, cwd=here)
    assert (done.status, done.err) == (0, "")
    return {line[2:16].strip(): line[17:] for line in reversed(done.out.splitlines()[1:])}


def raw(here: Path, name: str, data: Raw) -> str:
    (here / name).write_bytes(data.file())
    return name


def test_a_model_with_a_head_is_shown_like_this(here: Path) -> None:
    assert quadgen("gguf", "show", "headed.gguf", cwd=here) == Done(status=0, err="", out="""\
headed.gguf: an ordinary model
  architecture   qwen35
  size           665.4 KiB (681408 bytes)
  header         484f1d9b5325faddcd132cbe9cce0d367b6d611387aaaeb79f3f20b955d9e34e
  quantization   unknown
  parameters     167652
  context        1024 tokens, as trained
  mtp            1 head in block 2: draft-mtp works with it from b10435 on
  tokenizer      llama (SPM): 320 tokens, 0 merges
                 bos 1, eos 2, mask 0, unknown 0
                 add_bos_token true
                 llama.cpp puts token 1 before a text and nothing after it
  sha256         448dc4d72a66843625081c8e251deafbbb8fdd24eee3c1f193027b3dab8c9606 of all tokens
  sha256_2000    448dc4d72a66843625081c8e251deafbbb8fdd24eee3c1f193027b3dab8c9606 of the first 2000
  kv             256 bytes a token in 1 layer
                 10.2 KiB of recurrent state in 1 layer
                 256 bytes a token in 1 layer, for the MTP head
                 266.2 KiB for 1024 tokens in one slot, without the head
  weights        654.9 KiB: 80.0 KiB input, 80.2 KiB output, 494.6 KiB in 3 blocks
  tensors        F32      42 tensors, 654.9 KiB
""")  # fmt: skip


def test_the_json_form_is_one_object_with_everything(here: Path) -> None:
    found = show(here, "headed.gguf")
    assert list(found) == [
        "file", "architecture", "name", "kind", "drafts_with", "serves", "type", "size", "shards", "header", "version",
        "big_endian", "quantization", "parameters", "context", "mtp", "drafter", "tokenizer", "kv", "weights",
        "tensors", "keys",
    ]  # fmt: skip
    assert (found["file"], found["architecture"], found["kind"]) == ("headed.gguf", "qwen35", "model")
    assert found["size"] == (here / "headed.gguf").stat().st_size
    assert found["mtp"] == {
        "state": "complete", "announced": 1, "blocks": [2], "loads": True, "drafts": True, "since": "b10435",
        "widest": None, "wrong": None,
    }  # fmt: skip
    assert found["kv"] == {
        "full": {"layers": 1, "bytes_per_token": 256},
        "window": None,
        "recurrent": {"layers": 1, "bytes": 10496},
        "one_row": False,
        "head": {"layers": 1, "bytes_per_token": 256},
        "trained": {"tokens": 1024, "bytes": 1024 * 256 + 10496},
    }
    tokenizer = found["tokenizer"]
    assert {name: tokenizer[name] for name in ("model", "pre", "size", "merges", "begins_with", "ends_with")} == {
        "model": "llama", "pre": None, "size": 320, "merges": 0, "begins_with": 1, "ends_with": None,
    }  # fmt: skip
    assert len(tokenizer["sha256"]) == len(tokenizer["sha256_2000"]) == 64
    assert found["weights"]["bytes"] == sum(kind["bytes"] for kind in found["tensors"].values())
    assert found["keys"]["full_attention_interval"] == 2


def test_every_key_of_the_json_forms_is_in_the_documents(here: Path) -> None:
    page = read("docs/commands.md").partition("\n### gguf show\n")[2] + read("docs/models.md")
    pair = json.loads(quadgen("gguf", "compare", "headed.gguf", "headed.gguf", "--format", "json", cwd=here).out)
    shown = show(here, "headed.gguf")
    told = [shown, *(shown[key] for key in ("mtp", "tokenizer", "kv", "weights")), pair, pair["llama_cpp"]]
    told += [pair["target"], pair["llama_cpp"]["cost"]]
    assert [key for each in told for key in each if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("stripped", "the file announces an MTP head and has no tensor of it: llama.cpp does not load it"),
        ("two-heads", "the file has 2 MTP heads, and llama.cpp drafts with one of qwen35: draft-mtp aborts the server"),
        ("eagle3", "no head"),
        ("head", "1 head in block 2: draft-mtp works with it from b10435 on"),
    ],
)
def test_what_llama_cpp_does_with_a_head_is_said(here: Path, name: str, words: str) -> None:
    assert lines(here, f"{name}.gguf")["mtp"].startswith(words)


@pytest.mark.parametrize(
    ("name", "kind", "made"),
    [
        ("head", "mtp-head", "a model with hidden states of 64"),
        ("eagle3", "eagle3", "a model with hidden states of 64, layers 0, 1, 1"),
        ("dspark", "dspark", "a model with hidden states of 64, layers 0, 1, blocks of 8 tokens"),
    ],
)
def test_a_drafter_of_hidden_states_tells_what_it_was_made_for(here: Path, name: str, kind: str, made: str) -> None:
    found, told = show(here, f"{name}.gguf"), lines(here, f"{name}.gguf")
    assert (found["kind"], found["serves"], found["drafter"]["width"]) == (kind, False, 64)
    assert (told["made for"], told[""]) == (made, "llama-server does not serve it as a model")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gemma4", ("512 bytes a token in 2 layers", "512 bytes a token in 2 layers, of the last 64 tokens")),
        ("deepseek2", ("", "keys and values in one row")),
        ("mamba", ("of recurrent state in 2 layers",)),
        ("head", ("256 bytes a token in 1 layer\n", "256.0 KiB for 1024 tokens in one slot\n")),
    ],
)
def test_what_a_context_keeps_is_told_by_kind_of_layer(here: Path, name: str, words: tuple[str, ...]) -> None:
    out = quadgen("gguf", "show", f"{name}.gguf", cwd=here).out
    assert [word for word in words if word not in out] == []


def test_an_architecture_that_nobody_knows_keeps_what_nobody_knows(here: Path) -> None:
    strange = Raw(keys=[("general.architecture", TEXT, "nobody")], tensors=[("blk.0.x.weight", (4,), 0)])
    reason = "the memory arithmetic does not know the architecture nobody"
    assert show(here, raw(here, "strange.gguf", strange))["kv"] == {"unknown": reason}
    assert lines(here, "strange.gguf")["kv"] == f"unknown: {reason}"


def test_a_model_that_does_not_say_its_context_has_no_total(here: Path) -> None:
    heads = [("llama.block_count", U32, 1), ("llama.attention.head_count", U32, 1), ("llama.embedding_length", U32, 64)]
    keys: list[Key] = [("general.architecture", TEXT, "llama"), *heads]
    found = show(here, raw(here, "endless.gguf", Raw(keys=keys, tensors=[("blk.0.attn_norm.weight", (64,), 0)])))
    assert (found["context"], found["kv"]["trained"]) == (None, None)
    assert found["kv"]["full"] == {"layers": 1, "bytes_per_token": 256}
    assert "in one slot" not in quadgen("gguf", "show", "endless.gguf", cwd=here).out


def test_a_file_that_makes_no_context_has_none(here: Path) -> None:
    assert show(here, "projector.gguf")["kv"] is None
    assert "kv" not in lines(here, "projector.gguf")


def test_a_file_without_tokens_or_an_architecture_says_so(here: Path) -> None:
    bare = raw(here, "bare.gguf", Raw(tensors=[("x", (4,), 0)]))
    assert (show(here, bare)["tokenizer"], show(here, bare)["architecture"]) == (None, "")
    told = lines(here, bare)
    assert (told["tokenizer"], told["architecture"]) == ("no tokens", "none: llama.cpp does not load it")


def test_what_llama_cpp_does_not_read_is_shown_and_said(here: Path) -> None:
    keys = [("general.architecture", TEXT, "llama")]
    big = raw(here, "big.gguf", Raw(keys=keys, big_endian=True))
    first = raw(here, "first.gguf", Raw(keys=keys, version=1))
    assert (show(here, big)["big_endian"], show(here, first)["version"]) == (True, 1)
    assert lines(here, big)["header"].endswith(", big-endian, which llama.cpp loads on machines that are so too")
    assert lines(here, first)["header"].endswith(", of version 1, which llama.cpp does not load")


def test_shards_are_one_checkpoint(here: Path) -> None:
    first = [
        ("general.architecture", TEXT, "llama"), ("split.no", U16, 0), ("split.count", U16, 2),
        ("split.tensors.count", I32, 2),
    ]  # fmt: skip
    second = [("split.no", U16, 1), ("split.count", U16, 2), ("split.tensors.count", I32, 2)]
    parts = [Raw(keys=first, tensors=[("a", (4,), 0)]), Raw(keys=second, tensors=[("b", (8,), 1)])]
    names = [raw(here, f"m-0000{number}-of-00002.gguf", part) for number, part in enumerate(parts, 1)]
    found = show(here, names[0])
    assert (found["file"], found["shards"], found["parameters"]) == (names[0], 2, 12)
    assert found["size"] == sum((here / name).stat().st_size for name in names)
    assert found["tensors"] == {"F16": {"count": 1, "bytes": 16}, "F32": {"count": 1, "bytes": 16}}
    assert lines(here, names[0])["size"].endswith(", in 2 shards")


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (2**20 - 1, "1024.0 KiB"), (2**20, "1.0 MiB"),
        (17072495124, "15.9 GiB"), (2**40, "1.0 TiB"), (2**52, "4096.0 TiB"),
    ],
)  # fmt: skip
def test_bytes_are_told_in_a_unit_that_people_read(size: int, words: str) -> None:
    assert amount(size) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0"), (999999, "999999"), (268098176, "268.1 million"), (26900000000, "26.9 billion")],
)
def test_counts_are_told_as_people_say_them(count: int, words: str) -> None:
    assert short(count) == words


def test_numbers_that_json_has_no_word_for_are_texts(here: Path) -> None:
    odd = Raw(keys=[("general.architecture", TEXT, "llama"), ("llama.rope.scale", F32, float("nan"))])
    assert show(here, raw(here, "odd.gguf", odd))["keys"] == {"rope.scale": "nan"}


def test_what_a_header_says_of_itself_moves_no_cursor(here: Path) -> None:
    named = Raw(keys=[("general.architecture", TEXT, "a\x1b[31m"), ("general.name", TEXT, "n\n\u202eb")])
    out = quadgen("gguf", "show", raw(here, "named.gguf", named), cwd=here).out
    assert all(char.isprintable() or char == "\n" for char in out)
    assert "n\\n\\u202eb" in out


def test_a_token_that_is_not_there_is_told_from_none(here: Path) -> None:
    (here / "lost.gguf").write_bytes(checkpoint(["a"], bos_token_id=9, add_bos_token=True))
    assert show(here, "lost.gguf")["tokenizer"]["begins_with"] == -1
    assert (
        "llama.cpp puts a token that is not there before a text" in quadgen("gguf", "show", "lost.gguf", cwd=here).out
    )


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_a_file_on_a_server_is_shown_without_what_is_secret_in_its_address(here: Path) -> None:
    data = (here / "headed.gguf").read_bytes()
    with file_server.started({"/headed.gguf": file_server.ranged(data)}) as server:
        address = server.url("/headed.gguf")
        found = show(here, address)
        assert (found["file"], found["size"], found["header"]) == (
            address, len(data), show(here, "headed.gguf")["header"],
        )  # fmt: skip
        done = quadgen("gguf", "show", f"{address}?token=hunter2", cwd=here)
        assert "hunter2" not in done.out + done.err
        assert quadgen("gguf", "compare", address, "headed.gguf", cwd=here).status == 0
