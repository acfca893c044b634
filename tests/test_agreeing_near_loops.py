"""Loops whose turns are not quite the same: a number that counts, another month, and what real models made of it."""

import json

import pytest

from quadgen.agreeing.loops import loop
from source import ROOT

PASSAGE = [*range(100, 115)]
"""Fifteen tokens, all different."""


def test_a_real_text_that_goes_round_through_the_months_is_a_loop() -> None:
    """Gemma 3 270M, b11434, temperature 0, after a garden's year up to May: each month is that of the first frost."""
    said = json.loads((ROOT / "tests/data/near-loop-gemma-3-270m.json").read_text(encoding="utf-8"))
    found = loop(said["tokens"])
    assert found is not None
    assert found < len(said["tokens"]) / 4


def test_a_passage_with_a_number_that_counts_is_a_loop_from_where_it_is_said_again() -> None:
    turns = [token for number in range(5) for token in [number, *PASSAGE]]
    assert loop([*range(200, 240), *turns]) == 40 + 17


@pytest.mark.parametrize("at", [0, 7, 14])
def test_a_passage_in_which_one_token_is_another_each_time_is_a_loop(at: int) -> None:
    turns = [token for number in range(6) for token in [*PASSAGE[:at], 500 + number, *PASSAGE[at + 1 :]]]
    assert loop([*range(200, 260), *turns]) is not None


def test_records_that_say_something_new_in_two_places_are_no_loop() -> None:
    """As JSON does, or a list of options of a program."""
    turns = [token for number in range(10) for token in [*PASSAGE[:7], 500 + number, *PASSAGE[7:], 600 + number]]
    assert loop([*range(200, 240), *turns]) is None
    counted = [token for number in range(10) for token in [*PASSAGE[:7], *PASSAGE[7:], 600 + number]]
    assert loop([*range(200, 240), *counted]) is not None


def test_a_long_passage_may_differ_in_two_places_and_is_a_loop_all_the_same() -> None:
    more = range(300, 330)
    turns = [token for number in range(5) for token in [*PASSAGE, 500 + number, *more, 600 + number]]
    assert loop([*range(200, 240), *turns]) is not None


def test_a_passage_that_comes_back_among_other_words_is_no_loop() -> None:
    turns = [token for number in range(5) for token in [*range(1000 * number, 1000 * number + 20), *PASSAGE]]
    assert loop([*range(200, 240), *turns]) is None


def test_what_loops_and_then_goes_on_is_no_loop() -> None:
    turns = [token for number in range(5) for token in [number, *PASSAGE]]
    assert loop([*turns, *range(1000, 1100)]) is None


def test_what_is_said_twice_is_no_loop() -> None:
    assert loop([*range(200, 240), 1, *PASSAGE, 2, *PASSAGE]) is None


def test_lines_of_a_table_that_share_only_their_ends_are_no_loop() -> None:
    """Five tokens in a row come back everywhere in code."""
    lines = [token for number in range(20) for token in [*range(1000 + 5 * number, 1005 + 5 * number), 1, 2, 3, 4, 5]]
    assert loop(lines) is None
