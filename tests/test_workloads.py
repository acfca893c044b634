"""What both arms of a measurement are asked: shipped texts and those of a file, a prompt a round, and lengths."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.measuring.workloads import SHIPPED, Workload, fitted, read, shipped
from quadgen.problems import Problem, Rejected

ROUNDS = range(64)
EACH = pytest.mark.parametrize("workload", shipped(), ids=SHIPPED)


def refused(workload: Workload, *, context: int, tokens: int) -> Problem:
    with pytest.raises(Rejected) as why:
        fitted(workload, context=context, tokens=tokens)
    (problem,) = why.value.problems
    return problem


@EACH
def test_a_shipped_workload_has_three_texts_that_take_turns(workload: Workload) -> None:
    assert len(set(workload.texts)) == 3
    for number in ROUNDS:
        assert workload.prompt(number).endswith("\n\n" + workload.texts[number % 3])


@EACH
def test_a_round_has_a_prompt_of_its_own_that_parts_from_every_other_in_its_first_line(workload: Workload) -> None:
    prompts = [workload.prompt(number) for number in ROUNDS]
    assert prompts == [workload.prompt(number) for number in ROUNDS]
    assert len({prompt.partition("\n")[0] for prompt in prompts}) == len(prompts)


def test_the_line_of_a_round_reads_as_a_dated_heading() -> None:
    mine = read("mine", "mine.txt", b"Once")
    assert [mine.prompt(number) for number in (0, 1, 11)] == [
        "5 January 1987, no. 1\n\nOnce",
        "11 February 1987, no. 2\n\nOnce",
        "16 February 1988, no. 12\n\nOnce",
    ]


def test_the_hash_is_of_the_texts_alone_each_with_a_zero_byte_behind_it() -> None:
    mine = read("mine", "mine.txt", "Où\n---\nb\n".encode())
    assert mine.texts == ("Où", "b")
    assert mine.sha256 == sha256(b"O\xc3\xb9\0b\0").hexdigest()
    assert read("other", "other.jsonl", '{"prompt": "Où"}\n{"prompt": "b"}'.encode()).sha256 == mine.sha256
    assert read("mine", "mine.txt", "Oùb".encode()).sha256 != mine.sha256


@EACH
def test_another_length_has_another_hash(workload: Workload) -> None:
    assert fitted(workload, context=640, tokens=64).sha256 != workload.sha256
    assert fitted(workload, context=8192, tokens=200) == workload


@given(st.sampled_from(shipped()), st.integers(1, 400), st.integers(64, 2048), st.integers(0, 2048))
def test_more_context_never_gives_a_shorter_text(workload: Workload, tokens: int, context: int, more: int) -> None:
    try:
        less = fitted(workload, context=context, tokens=tokens)
    except Rejected:
        return
    longer = fitted(workload, context=context + more, tokens=tokens)
    for small, large, sizes in zip(less.texts, longer.texts, workload.sizes, strict=True):
        assert len(small) <= len(large)
        assert next(size.tokens for size in sizes if size.text == small) >= tokens


@given(st.sampled_from(shipped()), st.integers(1, 300), st.integers(64, 2048), st.integers(0, 99))
def test_a_prompt_and_its_answer_fit_where_a_token_is_as_short_as_is_said(
    workload: Workload, tokens: int, context: int, number: int
) -> None:
    try:
        found = fitted(workload, context=context, tokens=tokens)
    except Rejected:
        return
    assert len(found.prompt(number).encode()) / workload.token + tokens < context


def test_small_contexts_have_shorter_texts_and_fewer_tokens() -> None:
    prose, code, copy = shipped()
    assert fitted(copy, context=512, tokens=128).texts != copy.texts
    assert fitted(prose, context=512, tokens=96).texts != prose.texts
    assert fitted(code, context=640, tokens=64).texts != code.texts


def test_what_the_shortest_text_needs_is_said_and_is_enough() -> None:
    (prose,) = shipped(["prose"])
    problem = refused(prose, context=512, tokens=200)
    before, _, after = problem.message.partition(" may need ")
    least = int(after.split()[0])
    assert (problem.code, before) == (
        "workload-too-long", "prose cannot be measured: with 200 tokens of an answer it",
    )  # fmt: skip
    assert after == f"{least} tokens, and the context has 512"
    assert problem.hint == "fewer --tokens, a larger context, or texts of your own with --workload NAME=FILE"
    assert fitted(prose, context=least, tokens=200).name == "prose"
    assert f"need {least} tokens" in refused(prose, context=least - 1, tokens=200).message


def test_no_context_makes_a_shipped_text_longer_than_it_is() -> None:
    (copy,) = shipped(["copy"])
    most = min(sizes[0].tokens for sizes in copy.sizes)
    assert refused(copy, context=100_000, tokens=most + 1).message == (
        f"copy cannot be measured: its texts go on for {most} tokens, and {most + 1} are asked for"
    )
    assert fitted(copy, context=100_000, tokens=most) == copy


def test_texts_of_ones_own_are_not_cut() -> None:
    mine = read("mine", "mine.txt", b"x" * 1000)
    assert fitted(mine, context=1024, tokens=200) == mine
    problem = refused(mine, context=512, tokens=200)
    assert problem.message.startswith("mine cannot be measured: with 200 tokens of an answer it may need 6")
    assert problem.hint == "fewer --tokens, a larger context, or shorter texts"
    assert problem.place is not None
    assert problem.place.file == "mine.txt"


@pytest.mark.parametrize("name", ["", "Mine", "my work", "-x", "x-", "ü", "a\n"])
def test_a_name_that_no_row_can_have_is_refused(name: str) -> None:
    with pytest.raises(Rejected) as why:
        read(name, "mine.txt", b"Once")
    assert [(each.code, each.message) for each in why.value.problems] == [
        ("unreadable-prompts", f"{name!r} is no name of a workload")
    ]


def test_a_file_without_prompts_is_refused() -> None:
    with pytest.raises(Rejected) as why:
        read("mine", "mine.txt", b" \n---\n")
    assert [each.code for each in why.value.problems] == ["unreadable-prompts"]


def test_a_copy_is_begun_with_the_words_of_its_text_and_an_edit_with_a_changed_line() -> None:
    _, code, copy = shipped()
    for text in (size.text for sizes in copy.sizes for size in sizes):
        original, _, begun = text.partition("\n\nThe same text again, word for word:\n\n")
        assert len(begun.split(" ")) == 12
        assert original.startswith(begun)
    for text in code.texts:
        before, _, after = text.partition("\n\nAfter:\n\n")
        lines = after.rstrip("\n").split("\n")
        assert 0 < sum(line not in before for line in lines) < len(lines) / 2


def test_nothing_of_what_prose_is_to_say_stands_in_its_prompt() -> None:
    for text in shipped(["prose"])[0].texts:
        source, _, begun = text.partition("\n\nEnglish:\n\n")
        assert source.startswith("French:\n\n1. ")
        assert begun.count("\n") == 1
        assert begun.endswith("\n2.")
