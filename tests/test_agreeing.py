"""Counting how two models go on alike: rounds, loops, and the whole course."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lettered import Lettered as Model
from lettered import stumbles
from quadgen.agreeing.asking import Agreement, Setting, agreement
from quadgen.agreeing.estimate import estimate
from quadgen.agreeing.loops import loop
from quadgen.agreeing.prompts import Prompt
from quadgen.agreeing.rounds import Round, common, replayed

TOKENS = st.lists(st.integers(0, 3), max_size=60)
SETTING: Final = Setting(width=3, tokens=12, chat=False)


def agreed(target: Model, draft: Model, *texts: str, setting: Setting = SETTING) -> Agreement:
    asked = [Prompt(name=text, text=text) for text in texts or ("a", "hello")]
    return agreement(target, draft, asked, setting, lambda *_: None)


@given(TOKENS, TOKENS, st.integers(1, 7))
def test_rounds_are_those_of_a_server_that_speculates(written: list[int], prompt: list[int], width: int) -> None:
    def draft(tokens: Sequence[int], count: int) -> Sequence[int]:
        return [sum(tokens) % 4] * count

    at, most = 1, len(written) + 1
    for each in replayed(prompt, written, draft, width=width, most=most):
        assert each.at == at
        assert 1 <= each.drafted <= width
        assert each.at + each.drafted <= len(written)
        guess = [sum([*prompt, *written[:at]]) % 4] * each.drafted
        assert guess[: each.accepted] == written[at : at + each.accepted]
        assert each.accepted == each.drafted or guess[each.accepted] != written[at + each.accepted]
        assert each.tried == each.accepted + (each.accepted < each.drafted)
        at += each.accepted + 1
    assert at >= len(written) or not written


@given(TOKENS, st.integers(1, 7))
def test_a_drafter_that_is_the_target_is_always_right(written: list[int], width: int) -> None:
    def draft(tokens: Sequence[int], count: int) -> Sequence[int]:
        return written[len(tokens) : len(tokens) + count]

    rounds = list(replayed([], written, draft, width=width, most=len(written)))
    assert all(each.accepted == each.drafted for each in rounds)
    assert estimate([rounds]).p == (1.0 if rounds else None)


def test_the_last_token_of_a_full_text_is_not_drafted() -> None:
    rounds = list(replayed([], range(10), lambda _tokens, count: [99] * count, width=3, most=10))
    assert [each.drafted for each in rounds] == [3, 3, 3, 3, 3, 3, 2, 1]


def test_a_text_that_ended_early_is_drafted_up_to_its_end() -> None:
    rounds = list(
        replayed([], range(4), lambda tokens, count: range(len(tokens), len(tokens) + count), width=8, most=99)
    )
    assert rounds == [Round(at=1, drafted=3, accepted=3)]


@pytest.mark.parametrize("written", [[], [5]])
def test_a_text_of_one_token_or_none_has_no_round(written: list[int]) -> None:
    assert list(replayed([1, 2], written, lambda _tokens, count: [0] * count, width=3, most=100)) == []


@given(TOKENS, TOKENS)
def test_what_two_lists_have_in_common_is_the_longest_beginning_of_both(one: list[int], other: list[int]) -> None:
    length = common(one, other)
    assert one[:length] == other[:length]
    assert min(len(one), len(other)) == length or one[length] != other[length]


@given(st.lists(st.integers(), min_size=1, max_size=40, unique=True), st.integers(1, 12), st.integers(0, 30))
def test_a_passage_that_is_said_three_times_at_the_end_is_a_loop(before: list[int], period: int, more: int) -> None:
    passage = [f"again {each}" for each in range(period)]
    said = (passage * 60)[: max(3 * period, 24) + more]
    named = {word: 1000 + at for at, word in enumerate(dict.fromkeys([*map(str, before), *said]))}
    tokens = [named[str(word)] for word in [*before, *said]]
    assert loop(tokens) == len(before) + period


@given(st.lists(st.integers(), max_size=200, unique=True))
def test_a_text_that_says_nothing_twice_does_not_loop(tokens: list[int]) -> None:
    assert loop(tokens) is None


@pytest.mark.parametrize("tokens", [[7] * 23, [*range(30)] * 2, [7] * 40 + [*range(5)], [1, 2, 3] * 7])
def test_a_rule_a_refrain_and_what_goes_on_are_no_loops(tokens: list[int]) -> None:
    assert loop(tokens) is None


def test_what_loops_is_counted_apart() -> None:
    found = agreed(Model(following=lambda _: 5), Model(following=lambda _: 5), setting=replace(SETTING, tokens=60))
    assert [text.loop for text in found.texts] == [1, 1]
    assert (found.counted.rounds, found.whole.p) == (0, 1.0)
    assert found.refusal == "every text loops from its start, which says nothing of the pair"


def test_a_drafter_that_stumbles_is_counted_by_position() -> None:
    found = agreed(Model(), Model(following=stumbles), "a", setting=replace(SETTING, tokens=25))
    assert [(each.at, each.drafted, each.accepted) for each in found.texts[0].rounds[:3]] == [
        (1, 3, 1), (3, 3, 3), (7, 3, 3),
    ]  # fmt: skip
    assert found.texts[0].first_difference == 2
    assert [each.accepted <= each.tried <= each.drafted for each in found.counted.positions] == [True] * 3
    assert found.counted.accepted == sum(each.accepted for each in found.counted.positions)
    assert found.notes == (
        "one prompt does not show how much prompts differ: the interval takes its tokens as independent",
    )


def test_the_target_writes_from_the_prompt_alone_and_the_drafter_reads_what_it_wrote() -> None:
    target, draft = Model(), Model()
    agreed(target, draft, "hello", setting=replace(SETTING, tokens=10))
    assert (target.asked, draft.asked) == ([6], [7, 11])


def test_a_text_that_ends_at_once_gives_no_number() -> None:
    found = agreed(Model(following=lambda _: 1), Model())
    assert found.refusal == "the target ends every text at once, so that nothing is drafted"
    assert found.counted.bounds is None


def test_prompts_that_leave_no_room_are_left_out() -> None:
    found = agreed(Model(room=20), Model(room=12), "a", "a" * 10, "a" * 8)
    assert [(text.prompt, len(text.written)) for text in found.texts] == [("a", 9), ("a" * 8, 2)]
    assert "1 of 3 prompts leave no room in a context of 12 tokens, and were left out" in found.notes
    refused = agreed(Model(room=4), Model(), "aaaa")
    assert refused.refusal == "no prompt leaves room in a context of 4 tokens"


@pytest.mark.parametrize(("chat", "given"), [(None, 5), (True, 5), (False, 2)])
def test_a_model_with_a_template_is_asked_in_it_unless_told_otherwise(chat: bool | None, given: int) -> None:  # noqa: FBT001 - a case
    target = Model(template="u{}ab")
    found = agreed(target, Model(), "x", setting=replace(SETTING, chat=chat))
    assert found.texts[0].given == given
    assert found.setting.chat is (chat is not False)
