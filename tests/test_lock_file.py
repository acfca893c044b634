"""The text of a lock: the same for the same facts, exact, readable by any YAML reader, and each mistake has a place."""

from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from made_facts import every, made, plain, texts
from quadgen.document import load
from quadgen.facts.lock_file import dump, parse
from quadgen.facts.record import MARKS, Facts, Lock, Vocabulary, Weights
from quadgen.problems import Collector, Problem, Rejected

NAME = "models.lock.yml"
VERSION = ("version",)
VOCABULARY = Vocabulary(
    model="gpt2", pre="qwen2", size=12, merges=3, padding=1, sha256_2000="1" * 64, sha256="23" * 32,
    tail="".join(f"{number:08x}" for number in range(7)), special={"bos_token_id": 1, "add_bos_token": False},
)  # fmt: skip
HYBRID = made(
    {
        "attention.head_count": 24,
        "attention.head_count_kv": (0, 0, 0, 4) * 12,
        "attention.layer_norm_rms_epsilon": 9.999999974752427e-07,
        "attention.sliding_window_pattern": (True,) * 5 + (False,),
        "rope.freq_base": 10000.0,
        "rope.scaling.type": "none",
    },
    shards=2, architecture="qwen35", name="Qwen3.8: 27B", type="model", quantization="Q4_K_S", heads=(48,),
    marks=MARKS[-2:], vocabulary=VOCABULARY,
    weights=Weights(
        input=1024, output=2048, tied=False, blocks=(301989888,) * 40 + (318905344, 1), experts=(7, 7), other=9
    ),
)  # fmt: skip


def read(text: str) -> tuple[Lock, list[Problem]]:
    collector = Collector()
    document = load(NAME, text.encode())
    lock = parse(NAME, document.data, collector)
    return lock, collector.problems


def fine(text: str) -> Lock:
    lock, problems = read(text)
    assert problems == []
    return lock


def wrong(data: Any) -> list[tuple[str, str, object]]:
    """What is said of the data of a lock: code, message and path, each at a place that exists."""
    collector = Collector()
    parse(NAME, data, collector)
    assert all(problem.file == NAME for problem in collector.problems)
    return [(problem.code, problem.message, problem.path) for problem in collector.problems]


def entry(**fields: Any) -> dict[str, Any]:
    """The data of one entry that is fine, with some fields in the place of its own; None takes one away."""
    told = {
        "size": 1, "header": "ab" * 32, "architecture": "llama",
        "weights": {"input": 1, "output": 2, "blocks": [3]},
    } | fields  # fmt: skip
    return {key: value for key, value in told.items() if value is not None}


def about(**fields: Any) -> list[tuple[str, str, object]]:
    """What is said of one entry, whose paths are below its own."""
    found = wrong({"version": 1, "files": {"a.gguf": entry(**fields)}})
    assert all(isinstance(path, tuple) and path[:2] == ("files", "a.gguf") for _, _, path in found)
    return [(code, message, path[2:]) for code, message, path in found if isinstance(path, tuple)]


def test_a_lock_reads_like_this() -> None:
    assert (
        dump(Lock(files={"b.gguf": HYBRID, "a.gguf": made()}))
        == f"""\
# What the headers of this fleet's model files say. `quadgen lock` writes it and renews it.
version: 1
files:
  a.gguf:
    size: 4096
    header: "{"ab" * 32}"
    architecture: llama
    quantization: F16
    weights:
      input: 1024
      output: 0
      tied: true
      blocks: [2*512]
  b.gguf:
    size: 4096
    shards: 2
    header: "{"ab" * 32}"
    architecture: qwen35
    name: "Qwen3.8: 27B"
    type: model
    quantization: Q4_K_S
    keys:
      attention.head_count: 24
      attention.head_count_kv: [3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4 3*0 4]
      attention.layer_norm_rms_epsilon: 9.999999974752427e-07
      attention.sliding_window_pattern: [5*true false]
      rope.freq_base: 10000.0
      rope.scaling.type: none
    heads: [48]
    marks: [output_norm.weight, token_embd.weight]
    vocabulary:
      model: gpt2
      pre: qwen2
      size: 12
      merges: 3
      padding: 1
      sha256_2000: "{"1" * 64}"
      sha256: "{"23" * 32}"
      tail: "00000000 00000001 00000002 00000003 00000004 00000005 00000006"
      special:
        add_bos_token: false
        bos_token_id: 1
    weights:
      input: 1024
      output: 2048
      blocks: [40*301989888 318905344 1]
      experts: [7 7]
      other: 9
"""
    )


def test_a_lock_of_nothing_is_a_lock() -> None:
    assert dump(Lock()).endswith("version: 1\nfiles: {}\n")
    assert fine(dump(Lock())).files == {}
    assert fine("version: 1\nfiles:\n").files == {}


@given(st.dictionaries(texts, every, max_size=3))
def test_what_is_written_is_read_back_exactly(files: dict[str, Facts]) -> None:
    text = dump(Lock(files=files))
    assert plain(fine(text).files) == plain(files)
    assert dump(fine(text)) == text
    assert text.isascii()


@given(st.dictionaries(texts, every, min_size=1, max_size=3))
def test_the_order_in_which_facts_arrive_changes_nothing(files: dict[str, Facts]) -> None:
    backwards = {
        name: replace(facts, keys=dict(reversed(list(facts.keys.items())))) for name, facts in reversed(files.items())
    }
    assert dump(Lock(files=backwards)) == dump(Lock(files=files))


@given(texts)
def test_another_reader_of_yaml_finds_the_same_texts(text: str) -> None:
    facts = made({text: text}, name=text, architecture=text)
    other = yaml.safe_load(dump(Lock(files={text: facts})))
    assert other["files"] == {text: {**other["files"][text], "name": text, "architecture": text, "keys": {text: text}}}


def test_half_a_character_becomes_the_one_that_stands_for_it() -> None:
    facts = made({"a\ud800": "b\udfff"}, name="\ud83e\udd99")
    found = fine(dump(Lock(files={"c\udc80": facts}))).files["c\ufffd"]
    assert (dict(found.keys), found.name) == ({"a\ufffd": "b\ufffd"}, "\ufffd\ufffd")


def test_lines_are_no_longer_than_they_need_be() -> None:
    weights = Weights(input=1, output=1, tied=False, blocks=tuple(range(10**9, 10**9 + 90)), experts=(), other=0)
    vocabulary = replace(VOCABULARY, tail="0123abcd" * 129)
    text = dump(Lock(files={"a.gguf": made(weights=weights, vocabulary=vocabulary)}))
    assert max(map(len, text.splitlines())) <= 120
    assert plain(fine(text).files["a.gguf"]) == plain(made(weights=weights, vocabulary=vocabulary))


@pytest.mark.parametrize(
    "value", ["[0, 0, 0, 4]", "[0 0 0 4]", "[3*0 4]", "[3*0, 4]", "\n        - 0 0\n        - 0\n        - 4"]
)
def test_a_list_may_be_written_in_any_way(value: str) -> None:
    text = dump(Lock(files={"a.gguf": made({"attention.head_count_kv": (0, 0, 0, 4)})}))
    edited = text.replace(" [3*0 4]", f" {value}" if value[0] == "[" else value)
    assert edited != text or value == "[3*0 4]"
    assert fine(edited).files["a.gguf"].keys == {"attention.head_count_kv": (0, 0, 0, 4)}


def test_numbers_are_texts_where_a_text_stands() -> None:
    found = fine(
        dump(Lock(files={"a.gguf": made(name="1.10", type="0x1F")})).replace('"1.10"', "1.10").replace('"0x1F"', "0x1F")
    )
    assert (found.files["a.gguf"].name, found.files["a.gguf"].type) == ("1.10", "0x1F")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"size": -1}, ("unexpected-value", "`size` takes a number of bytes, 0 or more", ("size",))),
        ({"size": 2**63}, ("unexpected-value", "`size` takes a number of bytes, 0 or more", ("size",))),
        ({"size": "1GiB"}, ("unexpected-value", "`size` takes a number of bytes, 0 or more", ("size",))),
        ({"size": True}, ("unexpected-value", "`size` takes a number of bytes, 0 or more", ("size",))),
        ({"size": None}, ("missing-key", "`a.gguf` has no `size`", ())),
        ({"shards": 0}, ("unexpected-value", "`shards` takes 1 or more", ("shards",))),
        (
            {"header": "AB" * 32},
            ("unexpected-value", "`header` takes a SHA-256: 64 hexadecimal digits, in lower case", ("header",)),
        ),
        ({"architecture": ["llama"]}, ("unexpected-value", "`architecture` takes text", ("architecture",))),
        ({"arch": "llama"}, ("unknown-key", "`arch` is not a key of `a.gguf` in a lock", ("arch",))),
        ({"keys": [1]}, ("unexpected-value", "`keys` takes a mapping", ("keys",))),
        (
            {"keys": {"b": {}}},
            (
                "unexpected-value",
                "`b` takes text, a number, true or false, or a list of numbers or flags",
                ("keys", "b"),
            ),
        ),
        (
            {"keys": {"b": ["x"]}},
            (
                "unexpected-value",
                "`b` takes a list of numbers or flags, such as [0, 4], or [60*4 8] for 60 times 4 and an 8",
                ("keys", "b"),
            ),
        ),
        ({"keys": {"b": ["9999*1"]}}, ("unexpected-value", "`b` takes a list of at most 4096 numbers", ("keys", "b"))),
        ({"heads": ["99999*1"]}, ("unexpected-value", "`heads` repeats a number up to 4096 times", ("heads",))),
        ({"heads": ["-1*1"]}, ("unexpected-value", "`heads` repeats a number up to 4096 times", ("heads",))),
        ({"heads": 48}, ("unexpected-value", "`heads` takes a list", ("heads",))),
        ({"heads": [1.5]}, ("unexpected-value", "`heads` takes a number of bytes, 0 or more", ("heads",))),
        ({"marks": ["d2t", "x"]}, ("unexpected-value", f"`marks` takes any of {', '.join(MARKS)}", ("marks",))),
        ({"marks": "d2t"}, ("unexpected-value", "`marks` takes a list of tensors", ("marks",))),
        ({"weights": None}, ("missing-key", "`a.gguf` has no `weights`", ())),
        ({"weights": 1}, ("unexpected-value", "`weights` takes a mapping", ("weights",))),
        (
            {"weights": {"input": 1, "output": 1, "blocks": [], "tied": 1}},
            ("unexpected-value", "`tied` takes true or false", ("weights", "tied")),
        ),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, dict) else "",
)
def test_each_mistake_is_named_at_its_place(fields: dict[str, Any], said: tuple[str, str, object]) -> None:
    assert about(**fields) == [said]


def test_every_mistake_is_found_in_one_run_and_the_other_files_are_read() -> None:
    vocabulary = {"model": "gpt2", "tail": "abc", "special": {"x": []}}
    data = {"version": 1, "files": {"a.gguf": entry(size=-1, vocabulary=vocabulary), "b.gguf": entry(), "c.gguf": 1}}
    collector = Collector()
    lock = parse(NAME, data, collector)
    assert list(lock.files) == ["b.gguf"]
    assert [(problem.code, problem.path) for problem in collector.problems] == [
        ("unexpected-value", ("files", "a.gguf", "size")),
        *[("missing-key", ("files", "a.gguf", "vocabulary"))] * 5,
        ("unexpected-value", ("files", "a.gguf", "vocabulary", "tail")),
        ("unexpected-value", ("files", "a.gguf", "vocabulary", "special", "x")),
        ("unexpected-value", ("files", "c.gguf")),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, ("unexpected-value", "a lock is a mapping", ())),
        ([], ("unexpected-value", "a lock is a mapping", ())),
        ({}, ("missing-key", "the lock does not say of which version it is", ())),
        ({"version": []}, ("unexpected-value", "the lock does not say of which version it is", ())),
        ({"version": 2}, ("unexpected-value", "the lock is of version 2, and this quadgen reads 1", ("version",))),
        ({"version": True}, ("unexpected-value", "the lock is of version true, and this quadgen reads 1", VERSION)),
        ({"version": 1, "files": []}, ("unexpected-value", "`files` takes a mapping", ("files",))),
        ({"version": 1, "file": {}}, ("unknown-key", "`file` is not a key of a lock", ("file",))),
    ],
)  # fmt: skip
def test_what_is_no_lock_is_said_to_be_none(data: Any, said: tuple[str, str, object]) -> None:
    assert wrong(data) == [said]


def test_keys_for_anchors_are_passed_over() -> None:
    assert wrong({"version": 1, "x-notes": 1, "files": {"a.gguf": entry()}}) == []


def test_a_merge_that_was_left_unfinished_is_a_mistake_of_syntax() -> None:
    text = dump(Lock(files={"a.gguf": made(size=1)}))
    ours, theirs = "    size: 1\n", "    size: 2\n"
    torn = text.replace(ours, f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n")
    with pytest.raises(Rejected) as refused:
        load(NAME, torn.encode())
    assert {problem.code for problem in refused.value.problems} == {"yaml-syntax"}


def test_a_misspelt_key_is_known() -> None:
    collector = Collector()
    parse(NAME, {"version": 1, "files": {"a.gguf": entry(headr="x")}}, collector)
    assert [problem.hint for problem in collector.problems] == ["did you mean `header`?"]
