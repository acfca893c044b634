"""The verdict on a drafter: which of them when, and the sentences that say why."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.breakeven import Verify
from quadgen.facts.kinds import COSTS
from quadgen.triage import (
    Answer,
    Attachability,
    Band,
    Drafter,
    Figures,
    Given,
    Question,
    Target,
    Unclear,
    VerifyCost,
    drafter,
    judge,
    target,
)
from quadgen.triage.drafter import names
from quadgen.triage.judging import costs_of


def said(value: float) -> Given:
    return Given(value=value, source="the test")


def known(name: str) -> Drafter:
    found = drafter(name)
    assert found is not None
    return found


def facing(rate: float = 25, step: float = 0.067) -> Target:
    return target(Figures(rate=said(rate), step=said(step)))


def question(name: str = "plain", draft_step: float | None = 0.012, **changes: object) -> Question:
    step = None if draft_step is None else said(draft_step)
    asked = Question(target=facing(), drafter=known(name), draft_step=step)
    return replace(asked, **changes)  # type: ignore[arg-type] # fields of the question


MEASURED = VerifyCost(factor=Verify(flat=1.1), source="the test", measured=True)


# what the target does today


@pytest.mark.parametrize(
    ("figures", "rate", "step", "commit"),
    [
        (Figures(rate=said(25), step=said(0.067)), 25, 0.067, 1.675),
        (Figures(rate=said(25), commit=said(1.675)), 25, 0.067, 1.675),
        (Figures(rate=said(25)), 25, 0.04, 1),
        (Figures(step=said(0.04)), 25, 0.04, 1),
        (Figures(step=said(0.067), commit=said(1.675)), 25, 0.067, 1.675),
        (Figures(rate=said(25), step=said(0.067), commit=said(1.67)), 25, 0.067, 1.67),
    ],
)
def test_two_of_rate_step_and_commit_give_the_third(figures: Figures, rate: float, step: float, commit: float) -> None:
    found = target(figures)
    assert (found.rate, found.step, found.commit) == pytest.approx((rate, step, commit))


def test_three_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(Unclear) as refused:
        target(Figures(rate=said(25), step=said(0.067), commit=said(1.4)))
    assert (refused.value.option, str(refused.value)) == (
        "--commit-per-round",
        "rate x step is 1.675, and the commit per round is said to be 1.4",
    )


def test_a_rate_below_one_token_a_step_is_refused() -> None:
    with pytest.raises(Unclear, match=r"a round of the target yields at least 1 token, and rate x step is 0\.25"):
        target(Figures(rate=said(25), step=said(0.01)))


def test_nothing_about_the_target_is_refused() -> None:
    with pytest.raises(Unclear, match="say what the target does today"):
        target(Figures(commit=said(1.5)))


READ = Figures(rate=Given(value=47.97, source="log"), commit=Given(value=1.88, source="log"), internal=True)


def test_what_was_read_of_the_target_is_labelled_as_the_engines_own() -> None:
    found = target(Figures(), READ)
    assert (found.rate, found.commit, found.internal) == (47.97, 1.88, True)


def test_a_rate_that_a_client_saw_goes_before_the_engines_and_takes_the_commit_from_the_log() -> None:
    found = target(Figures(rate=said(25)), READ)
    assert (found.rate, found.commit, found.internal) == (25, 1.88, False)
    assert found.source == "rate from the test, commit from log, step = commit / rate"


def test_a_step_that_was_given_does_not_meet_a_rate_that_was_read() -> None:
    found = target(Figures(step=said(0.1)), READ)
    assert found.rate == pytest.approx(18.8)
    assert (found.commit, found.internal) == (1.88, False)


# the drafter


@pytest.mark.parametrize("spec_type", COSTS)
def test_every_type_of_the_engine_is_a_drafter_of_its_class(spec_type: str) -> None:
    found = known(spec_type)
    assert found.cost == COSTS[spec_type]
    assert found.spec_type == spec_type
    assert spec_type in found.words


@pytest.mark.parametrize("name", names())
def test_every_name_is_known(name: str) -> None:
    assert known(name).name == name


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("ngram-cache", (8,)),
        ("ngram-simple", (48,)),
        ("ngram-map-k", (48,)),
        ("ngram-mod", (48, 64)),
        ("ngram", (8, 48, 64)),
        ("draft-mtp", (1, 3, 7)),
        ("block", (1, 3, 7)),
    ],
)
def test_a_lookup_has_the_width_of_its_type_and_others_what_is_usual(name: str, widths: tuple[int, ...]) -> None:
    assert known(name).widths == widths


@pytest.mark.parametrize(("name", "passes"), [("plain", 5), ("head", 5), ("block", 1), ("ngram", 0)])
def test_the_class_decides_how_many_passes_a_round_of_five_takes(name: str, passes: int) -> None:
    assert known(name).passes(5) == passes


def test_what_is_no_drafter_is_not_known() -> None:
    assert drafter("draft") is None


# the answer


def test_the_worked_example_loses() -> None:
    verdict = judge(question(widths=(1, 3, 5, 7)))
    assert verdict.answer is Answer.LOSES
    assert {width: p and round(p, 3) for width, p in verdict.break_even.items()} == {
        1: None,
        3: 0.752,
        5: 0.757,
        7: 0.782,
    }
    assert [round(each.rate, 1) for each in verdict.projections if each.width == 3] == [14.8, 19.8]
    assert verdict.break_even_plain[3] == pytest.approx(0.406, abs=5e-4)


@pytest.mark.parametrize(
    ("draft_step", "band", "answer"),
    [
        (0.001, (0.7, 0.8), Answer.WINS),
        (0.001, (0.4, 0.6), Answer.DEPENDS),
        (0.012, (0.4, 0.6), Answer.LOSES),
        (0.012, (0.8, 0.9), Answer.WINS),
        (0.060, (0.4, 0.6), Answer.CANNOT_PAY),
    ],
)
def test_the_band_and_the_drafters_step_decide(draft_step: float, band: tuple[float, float], answer: Answer) -> None:
    low, high = band
    assert judge(question(draft_step=draft_step, acceptance=Band(low=low, high=high, source="x"))).answer is answer


def test_a_head_whose_step_is_not_known_can_lose_and_cannot_win() -> None:
    sure = Band(low=0.9, high=0.95, source="x")
    poor = Band(low=0.0, high=0.1, source="x")
    assert judge(question("head", None, acceptance=sure)).answer is Answer.UNDECIDED
    assert judge(question("head", None, acceptance=poor)).answer is Answer.LOSES
    assert judge(question("head", None, target=facing(rate=1000, step=0.067))).answer is Answer.CANNOT_PAY


def test_what_settles_an_unknown_step_is_what_the_engine_can_tell() -> None:
    sure = Band(low=0.9, high=0.95, source="x")
    for engine in (None, "llama.cpp", "halogen"):
        has = Attachability(attachable=True, reasons=("it has it",), engine=engine)
        settles = judge(question("head", None, acceptance=sure, attachment=has)).reasons[4]
        assert ("-lv 4" in settles) is (engine != "halogen")
        assert ('"drafter"' in settles) is (engine == "halogen")
        assert "it pays at 0.95 only below" in settles


def test_what_cannot_be_attached_is_refused_however_good_its_numbers_are() -> None:
    closed = Attachability(attachable=False, reasons=("the engine takes no drafter",))
    verdict = judge(question(draft_step=0.0001, acceptance=Band(low=0.9, high=0.9, source="x"), attachment=closed))
    assert verdict.answer is Answer.CANNOT_ATTACH
    assert verdict.reasons[3:] == (
        "it cannot be attached: the engine takes no drafter",
        "no measurement helps: there is nothing to run",
    )


PLAUSIBLE = st.builds(
    lambda name, rate, commit, draft, low, more, flat, widths: Question(
        target=target(Figures(rate=said(rate), commit=said(commit))),
        drafter=known(name),
        draft_step=None if draft is None or known(name).looks_up else said(draft),
        acceptance=Band(low=low, high=min(1.0, low + more), source="x"),
        verify=VerifyCost(factor=Verify(flat=flat), source="x", measured=True),
        widths=tuple(widths),
    ),
    st.sampled_from(names()), st.floats(0.1, 500), st.floats(1, 8), st.none() | st.floats(1e-5, 1),
    st.floats(0, 1), st.floats(0, 0.5), st.floats(0.5, 30), st.lists(st.integers(1, 64), max_size=3),
)  # fmt: skip


@given(PLAUSIBLE)
def test_an_answer_holds_for_the_rates_that_stand_beside_it(asked: Question) -> None:
    verdict = judge(asked)
    rate = asked.target.rate
    costs, band = costs_of(asked), asked.acceptance
    if verdict.answer is Answer.WINS:
        assert costs.rate(band.low, verdict.advised) > rate
    if verdict.answer is Answer.DEPENDS:
        assert costs.rate(band.high, verdict.advised) > rate
        assert all(costs.rate(band.low, width) <= rate for width in verdict.scanned)
    if verdict.answer in (Answer.LOSES, Answer.CANNOT_PAY):
        assert all(each.rate <= rate for each in verdict.projections)
    if verdict.answer is Answer.CANNOT_PAY:
        assert set(verdict.break_even.values()) == {None}
    assert len(verdict.reasons) == 5
    assert all(verdict.reasons)


@given(PLAUSIBLE, st.floats(1.01, 3))
def test_a_slower_target_that_does_not_draft_never_turns_a_win_into_a_loss(asked: Question, slower: float) -> None:
    step = asked.target.step
    before, after = (
        judge(replace(asked, target=target(Figures(step=said(each))))).answer for each in (step, step * slower)
    )
    if before in {Answer.WINS, Answer.DEPENDS}:
        assert after in {Answer.WINS, Answer.DEPENDS}


# the widths


def test_the_best_width_is_looked_for_beyond_those_that_are_shown() -> None:
    verdict = judge(question(widths=(7,)))
    assert verdict.widths == (7,)
    assert verdict.best.width == 2


def test_a_width_that_never_pays_is_not_advised_where_another_one_pays() -> None:
    verdict = judge(question(acceptance=Band(low=0, high=0.85, source="x")))
    assert (verdict.answer, verdict.best.width, verdict.break_even[1]) == (Answer.DEPENDS, 1, None)
    assert "; it pays from 0.801 on at a width of 2; " in verdict.reasons[4]


def test_a_narrower_width_that_pays_at_both_ends_wins_and_is_advised() -> None:
    asked = question(
        target=target(Figures(rate=said(25))), draft_step=0.002, acceptance=Band(low=0.1, high=0.95, source="x"),
        verify=VerifyCost(factor=Verify(flat=1), source="x", measured=True),
    )  # fmt: skip
    verdict = judge(asked)
    assert (verdict.answer, verdict.best.width, verdict.advised) == (Answer.WINS, 3, 2)
    assert verdict.reasons[4].startswith("run it at a width of 2 and compare what a client sees; ")


def test_a_lookup_is_never_advised_another_width_than_its_own() -> None:
    assert judge(question("ngram-cache", None)).best.width == 8


# n-gram drafters


def test_rounds_that_find_nothing_run_as_the_target_does_today() -> None:
    half = judge(question("ngram-cache", None, share=said(0.5), verify=MEASURED))
    low = half.projections[0]
    assert low.overall is not None
    # in equal shares: 1.675 tokens in 67 ms beside a round of the look-up
    together = (1.675 + low.length) / (0.067 + 1.1 * 0.067)
    assert low.overall == pytest.approx(together)
    assert judge(question("ngram-cache", None, share=said(0.0))).projections[0].overall == pytest.approx(25)


def test_an_unknown_share_leaves_the_rate_over_all_open() -> None:
    verdict = judge(question("ngram-cache", None))
    assert {each.overall for each in verdict.projections} == {None}
    assert "the share of rounds that draft is not known" in verdict.reasons[2]


# the words


REASONS = """
the target drafts already: 1.68 tokens per round of 67 ms, 25.0 tok/s (client-visible); that is what a
  drafter has to beat, and not the 14.9 tok/s of passes that yield one token
it beats 25.0 tok/s from an acceptance of 0.752 at a width of 3 on; no acceptance beats 25.0 tok/s at a width of 1
an acceptance of 0.4 to 0.6 (assumed: the band of a matched pair) gives 14.8 to 19.8 tok/s over these widths; the best
  width at 0.5 is 2, with 17.9 tok/s
whether it can be attached, and fits, was not asked
measure the acceptance: quadgen agreement TARGET_URL DRAFT_URL estimates it before anything is deployed; it would take
  0.749 at a width of 4, and 0.6 at most is to be expected; a drafter of less than 4.631 ms per drafted token would pay
  at 0.6 (width 4), and this one takes 12 ms; what verifying costs is assumed, which is seldom too much: --verify-log
  measures it
"""


def test_the_reasons_of_the_worked_example_are_in_order() -> None:
    assert judge(question(widths=(1, 3))).reasons == tuple(REASONS.strip().replace("\n  ", " ").split("\n"))


def test_what_is_assumed_is_estimated_first_and_what_was_estimated_is_run() -> None:
    estimate = "quadgen agreement TARGET_URL DRAFT_URL estimates it"
    told = Band(low=0.4, high=0.6, source="agreed.json")
    assert estimate in judge(question(draft_step=0.003)).reasons[4]
    assert estimate not in judge(question(draft_step=0.003, acceptance=told)).reasons[4]
    assert estimate not in judge(question("head", 0.003)).reasons[4]


def test_the_step_that_a_loser_would_need_is_the_one_at_which_it_pays() -> None:
    assert "less than 4.631 ms per drafted token would pay at 0.6 (width 4)" in judge(question()).reasons[4]
    assert judge(question(draft_step=0.00464)).answer is Answer.LOSES
    assert judge(question(draft_step=0.00463)).answer is Answer.DEPENDS


def test_the_cost_of_verifying_up_to_which_it_pays_is_the_one_at_which_it_stops() -> None:
    verdict = judge(question(draft_step=0.003))
    assert "at 0.6 it pays only while a pass over 4 tokens takes less than 1.16 passes over one" in verdict.reasons[4]

    def at(factor: float) -> float:
        cost = VerifyCost(factor=Verify(flat=factor), source="x", measured=True)
        shown = judge(question(draft_step=0.003, verify=cost, widths=(3,))).projections
        return shown[-1].rate

    assert at(1.15) > 25 > at(1.17)


def test_the_engines_own_rate_is_warned_of() -> None:
    verdict = judge(question(target=target(Figures(), READ)))
    assert "(engine-internal)" in verdict.reasons[0]
    assert any("engine-internal" in note for note in verdict.notes)


def test_a_target_of_which_nobody_said_that_it_drafts_is_not_said_not_to() -> None:
    untold = judge(question(target=target(Figures(rate=said(25)))))
    told = judge(question(target=target(Figures(rate=said(25), commit=said(1)))))
    assert untold.reasons[0].startswith("nobody said that the target drafts: ")
    assert told.reasons[0].startswith("the target does not draft: ")


def test_a_target_that_speculates_and_drafted_nothing_is_not_said_to_do_without() -> None:
    seen = "the target speculates with ngram-cache, and drafted nothing in this answer"
    read = Figures(rate=said(25), commit=said(1), idle=seen)
    verdict = judge(question(target=target(Figures(), read)))
    assert verdict.reasons[0].startswith(f"{seen}: one token per pass of 40 ms, ")
    assert any("of the text that was seen here alone" in note for note in verdict.notes)
    other = judge(question(target=target(Figures(commit=said(1)), read)))
    assert other.reasons[0].startswith("the target does not draft: ")
    assert not any("that was seen here alone" in note for note in other.notes)


@pytest.mark.parametrize(
    ("today", "begins"),
    [
        (None, "nobody said that the target drafts: "),
        ((), "by the fleet, the target does not draft: "),
        (("draft-mtp", "ngram-cache"), "the fleet has it draft with draft-mtp and ngram-cache, and nobody said what "),
    ],
)
def test_what_the_fleet_has_the_target_do_is_held_against_what_was_said(
    today: tuple[str, ...] | None, begins: str
) -> None:
    knows = Attachability(attachable=True, reasons=("it fits",), today=today)
    untold = judge(question(target=target(Figures(rate=said(25))), attachment=knows))
    assert untold.reasons[0].startswith(begins)
    assert any("although the fleet has it draft" in note for note in untold.notes) is bool(today)
    told = judge(question(attachment=knows))
    assert told.reasons[0].startswith("the target drafts already: ")
    assert not any("although the fleet has it draft" in note for note in told.notes)


def test_a_width_beyond_the_cliff_is_warned_of_unless_it_was_measured() -> None:
    warning = "passes over more than 8 tokens"
    assert any(warning in note for note in judge(question("ngram-cache", None)).notes)
    assert not any(warning in note for note in judge(question("ngram-cache", None, verify=MEASURED)).notes)
    assert not any(warning in note for note in judge(question()).notes)


def test_a_width_beyond_the_measured_ones_is_warned_of() -> None:
    def noted(name: str, last: int) -> bool:
        cost = VerifyCost(factor=Verify(points=((2, 1.1), (last, 1.2))), source="x", measured=True)
        asked = question(name, 0.001, verify=cost, acceptance=Band(low=0.9, high=0.9, source="x"))
        return any("known for passes of up to" in note for note in judge(asked).notes)

    assert noted("block", 8)
    assert not noted("block", 17)
