"""Rows that know how sure they are: an end of the interval decides what they win, and what they cost."""

from dataclasses import replace

import pytest

from measured import PLAIN, REQUEST, ROW, ledger
from quadgen.evidence import (
    NO_SPECULATION,
    Kind,
    Policy,
    Request,
    Row,
    cost,
    costs,
    figures,
    floor_losses,
    quoted,
    refusal_notes,
    verdict,
)

SURE = replace(ROW, ratio=1.22, rate=24.4, against_rate=20.0, interval=(1.18, 1.27))
OPEN = replace(ROW, ratio=1.03, rate=20.6, against_rate=20.0, interval=(0.98, 1.08))


def notes(asking: Request, *rows: Row) -> tuple[str, ...]:
    return refusal_notes(asking, ledger(*rows), verdict(asking, ledger(*rows)))


@pytest.mark.parametrize(
    ("interval", "min_gain", "kind"),
    [
        ((1.01, 1.5), 1.0, Kind.WINS),
        ((1.0, 1.5), 1.0, Kind.LOSES),
        ((0.99, 1.5), 1.0, Kind.LOSES),
        ((1.09, 1.5), 1.1, Kind.LOSES),
        ((1.11, 1.5), 1.1, Kind.WINS),
    ],
)
def test_a_row_wins_where_the_lower_end_of_its_interval_exceeds_what_is_asked(
    interval: tuple[float, float], min_gain: float, kind: Kind
) -> None:
    asking = replace(REQUEST, policy=Policy(min_gain=min_gain))
    assert verdict(asking, ledger(replace(ROW, ratio=1.3, interval=interval))).kind is kind


def test_of_equals_the_undecided_one_goes_before_the_win() -> None:
    unsure = replace(OPEN, id="open")
    found = verdict(REQUEST, ledger(SURE, unsure))
    assert (found.kind, found.rows) == (Kind.LOSES, (unsure, SURE))


def test_an_undecided_row_gives_way_to_more_samples_of_the_same_day() -> None:
    unsure, more = replace(OPEN, id="open", date="2026-09-01"), replace(SURE, samples=21, date="2026-09-01")
    for rows in ((unsure, more), (more, unsure)):
        assert verdict(REQUEST, ledger(*rows)).rows == (more,)
    lost = replace(OPEN, id="lost", interval=(0.98, 0.99), ratio=0.985, samples=21, date="2026-09-01")
    assert verdict(REQUEST, ledger(lost, replace(more, samples=20))).rows == (lost,)
    plain = replace(ROW, id="plain", date="2026-09-01", samples=99)
    assert verdict(REQUEST, ledger(plain, unsure)).rows == (unsure,)


@pytest.mark.parametrize(
    ("interval", "claimed"), [(None, True), ((0.8, 0.99), True), ((0.8, 1.0), False), ((0.8, 1.2), False)]
)
def test_a_cost_and_the_loss_of_a_floor_are_claimed_where_the_upper_end_is_below_one(
    interval: tuple[float, float] | None,
    *,
    claimed: bool,
) -> None:
    lost = replace(ROW, id="lost", workload="prose", ratio=0.9, interval=interval)
    assert costs(REQUEST, ledger(ROW, lost)) == ((lost,) if claimed else ())
    floor = replace(lost, against=NO_SPECULATION)
    assert floor_losses(PLAIN, ledger(floor)) == ((floor,) if claimed else ())


def test_an_interval_is_quoted_behind_its_ratio() -> None:
    assert figures(SURE) == "20.0 -> 24.4 tok/s on copy, 1.22x (1.18-1.27)"
    assert figures(replace(SURE, rate=None, against_rate=None)) == "1.22x (1.18-1.27) on copy"
    assert quoted(SURE).endswith(": 20.0 -> 24.4 tok/s on copy, 1.22x (1.18-1.27) [a]")
    assert figures(replace(SURE, interval=(1.0004, 1.27))).endswith("(1.0004-1.27)")
    assert cost(replace(SURE, ratio=0.9, interval=(0.8, 0.95))) == "costs 10% on copy [a]"


def test_a_row_without_an_interval_is_quoted_as_ever() -> None:
    assert figures(replace(SURE, interval=None)) == "20.0 -> 24.4 tok/s on copy, 1.22x"


def test_a_refusal_says_that_the_lower_end_is_what_counts() -> None:
    told = "20.0 -> 20.6 tok/s on copy, 1.03x (0.98-1.08) [a]; the lower end of its interval must be above 1x"
    assert [note.endswith(told) for note in notes(REQUEST, OPEN)] == [True]
    slower = replace(OPEN, ratio=0.99, rate=19.8)
    assert [note.endswith("0.99x (0.98-1.08) [a]") for note in notes(REQUEST, slower)] == [True]


def test_what_is_undecided_nearby_is_neither_a_loss_nor_a_gain() -> None:
    (note,) = notes(replace(REQUEST, workload="prose"), OPEN)
    assert note == (
        "on cuda, draft-mtp,ngram-cache at width 7 against draft-mtp: 1.03x (0.98-1.08), copy is undecided [a]"
    )
    (note,) = notes(replace(REQUEST, workload="prose"), replace(OPEN, ratio=0.9, interval=(0.8, 0.95)))
    assert ": 0.90x (0.80-0.95), copy loses 10% [a]" in note


@pytest.mark.parametrize(
    ("row", "asked", "kind"),
    [
        ("Q8_0", "Q4_K_M", Kind.UNMEASURED),
        ("Q8_0", "UD-Q4_K_XL", Kind.UNMEASURED),
        ("Q4_K_M", "UD-Q4_K_XL", Kind.WINS),
        ("q4_k_m", "Q4_K_M", Kind.WINS),
        (None, "Q4_K_M", Kind.WINS),
        ("Q4_K_M", None, Kind.WINS),
        ("a word of mine", "Q4_K_M", Kind.WINS),
    ],
)
def test_a_row_of_a_quantisation_that_is_known_to_be_another_is_of_another_model(
    row: str | None, asked: str | None, kind: Kind
) -> None:
    rows = ledger(replace(ROW, quantization=row))
    asking = replace(REQUEST, quantization=asked)
    assert verdict(asking, rows).kind is kind
    assert verdict(replace(asking, policy=Policy(evidence="backend")), rows).kind is Kind.WINS


def test_two_headers_say_alone_whether_the_model_is_the_same() -> None:
    rows = ledger(replace(ROW, quantization="Q8_0", header="ab"))
    assert verdict(replace(REQUEST, quantization="Q4_K_M", header="ab"), rows).kind is Kind.WINS
    assert verdict(replace(REQUEST, quantization="Q8_0", header="cd"), rows).kind is Kind.UNMEASURED
    assert verdict(replace(REQUEST, quantization="Q4_K_M", header=None), rows).kind is Kind.UNMEASURED


def test_a_refusal_names_the_other_quantisation() -> None:
    (note,) = notes(replace(REQUEST, quantization="Q4_K_M"), replace(SURE, quantization="Q8_0"))
    assert note == ("wins on cuda for another quantisation, Q8_0: 20.0 -> 24.4 tok/s on copy, 1.22x (1.18-1.27) [a]")
