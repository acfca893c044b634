"""The prompts of `quadgen agreement`: those that come along, and files of one's own."""

import pytest

from quadgen.agreeing.prompts import SHIPPED, Prompt, prompts, shipped
from quadgen.problems import Rejected
from source import PACKAGE

CODE = "unreadable-prompts"


def test_those_that_come_along_are_of_several_kinds_and_neither_short_nor_long() -> None:
    found = shipped()
    assert {name.partition("-")[0] for name in SHIPPED} >= {"prose", "code", "answer", "extract"}
    assert sorted(SHIPPED) == sorted(path.stem for path in (PACKAGE / "data" / "prompts").iterdir())
    assert len({each.text for each in found}) == len(found) == len(SHIPPED)
    assert all(60 <= len(each.text.split()) <= 200 for each in found)


@pytest.mark.parametrize("text", ["one\nmore\n---\ntwo\n", "\ufeffone\r\nmore\r\n--- \r\n\r\ntwo\r\n---\r\n"])
def test_texts_are_parted_by_lines_of_dashes(text: str) -> None:
    expected = (Prompt(name="1", text="one\nmore"), Prompt(name="2", text="two"))
    assert prompts("mine.txt", text.encode()) == expected


def test_dashes_within_a_line_part_nothing() -> None:
    assert [each.text for each in prompts("a", b"a --- b\n----\n--- c")] == ["a --- b\n----\n--- c"]


def test_lines_of_json_have_a_prompt_each_and_may_have_a_name() -> None:
    text = '{"prompt": "one", "name": "first"}\n\n{"id": 7, "prompt": "two", "x": 1}\n{"prompt": "a\\u2028b", "id": []}'
    assert prompts("mine.JSONL", text.encode()) == (
        Prompt(name="first", text="one"),
        Prompt(name="7", text="two"),
        Prompt(name="4", text="a\u2028b"),
    )


def test_every_line_that_is_wrong_is_reported_with_its_place() -> None:
    text = '{"prompt": "one"}\n{"prompt": \n[1]\n{"prompt": "  "}\n{"prompt": 1}'
    with pytest.raises(Rejected) as refused:
        prompts("mine.jsonl", text.encode())
    assert [(each.code, each.place and each.place.line) for each in refused.value.problems] == [
        (CODE, 2), (CODE, 3), (CODE, 4), (CODE, 5),
    ]  # fmt: skip
    assert refused.value.problems[0].message == "mine.jsonl is no file of prompts: the line is no JSON"


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"", 1, "it holds no prompt"),
        (b"---\n \n---\n", 1, "it holds no prompt"),
        (b"one\ntwo \xff\n", 2, "it is no UTF-8 text"),
        (b"\x00\x01GGUF\xfe", 1, "it is no UTF-8 text"),
    ],
)
def test_a_file_without_prompts_is_refused(data: bytes, line: int, why: str) -> None:
    with pytest.raises(Rejected) as refused:
        prompts("mine.txt", data)
    (problem,) = refused.value.problems
    assert (problem.code, problem.message) == (CODE, f"mine.txt is no file of prompts: {why}")
    assert problem.place is not None
    assert problem.place.line == line


def test_half_a_character_is_no_text() -> None:
    with pytest.raises(Rejected) as refused:
        prompts("p.jsonl", b'{"prompt": "whole"}\n{"prompt": "half \\ud800"}\n')
    assert [problem.place.line for problem in refused.value.problems if problem.place] == [2]


def test_of_many_lines_that_are_wrong_some_are_shown() -> None:
    with pytest.raises(Rejected) as refused:
        prompts("p.jsonl", b"{}\n" * 100)
    assert len(refused.value.problems) == 21
    assert refused.value.problems[-1].message == "80 more lines like these"
