"""What follows from counts, also where answers were cut off within a round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.observed.counts import Counts

ROUNDS = st.lists(st.integers(0, 8), min_size=1, max_size=30)
"""Drafts that were accepted in each round of a request."""


@pytest.mark.parametrize(("generated", "accepted", "rounds"), [(40, 34, 5), (39, 34, 5), (7, 8, 1)])
def test_drafts_accepted_behind_a_stop_word_take_no_pass_away(generated: int, accepted: int, rounds: int) -> None:
    # b11434, Gemma 3 270M as its own drafter at a width of 8: without a stop word, and with "3" and "5"
    counts = Counts(requests=1, generated=generated, drafted=accepted, accepted=accepted, rounds=rounds)
    assert counts.passes == rounds
    assert counts.tokens_per_pass == (generated - 1) / rounds


@given(ROUNDS, st.integers(0, 20), st.integers(0, 8))
def test_passes_are_right_as_far_as_the_last_round_was_of_use(accepted: list[int], plain: int, lost: int) -> None:
    lost = min(lost, accepted[-1])
    passes = len(accepted) + plain
    counts = Counts(requests=1, generated=1 + passes + sum(accepted) - lost, accepted=sum(accepted),
                    rounds=len(accepted))  # fmt: skip
    assert counts.passes is not None
    assert counts.tokens_per_pass is not None
    assert passes - min(lost, plain) == counts.passes
    assert counts.tokens_per_pass <= 1 + sum(accepted) / len(accepted) + 1e-9


def test_a_round_that_yielded_nothing_is_a_pass_as_halogen_counts_it() -> None:
    assert Counts(requests=1, generated=30, accepted=0, rounds=33).tokens_per_pass == 29 / 33


@pytest.mark.parametrize(
    "counts",
    [
        Counts(generated=10, accepted=4, rounds=2),
        Counts(requests=1, accepted=4, rounds=2),
        Counts(requests=2, generated=2, rounds=1),
        Counts(requests=3, generated=2, accepted=0),
        Counts(requests=1, generated=7, accepted=8),
    ],
)
def test_where_passes_cannot_be_told_nothing_is_said_of_them(counts: Counts) -> None:
    assert (counts.passes, counts.tokens_per_pass) == (None, None)
