"""What the samples of a workload come to, and what speaks against them."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured_samples import sample, samples
from quadgen.measuring.drifting import paces
from quadgen.measuring.judging import Terms, judged, outcome
from quadgen.measuring.remarks import needed
from quadgen.measuring.result import Outcome, Result
from quadgen.measuring.sample import Arm, Clock, Sample
from quadgen.problems import Problem, Severity

TERMS = Terms(clock=Clock.WALL, min_gain=1.0, drafts=True, comparator_drafts=False, own="copy")
STEADY = [5.0, 5.05, 4.97, 5.02, 4.98, 5.03, 4.99]
FASTER = [4.0, 4.04, 3.97, 4.02, 3.98, 4.03, 3.99]
LOOP = (*range(100), *([7, 8, 9, 10, 11] * 20))


def verdict(found: tuple[Sample, ...] | None = None, **changes: Any) -> Result:
    plain = samples(candidate={"seconds": FASTER}, comparator={"seconds": STEADY})
    return judged("copy", plain if found is None else found, replace(TERMS, **changes))


def against(**arms: dict[str, Any]) -> tuple[Problem, ...]:
    return verdict(samples(**arms)).objections


def said(problems: tuple[Problem, ...]) -> list[str]:
    return [f"{each.severity}[{each.code}]: {each.message}" for each in problems]


def test_samples_that_are_fine_become_figures() -> None:
    found = verdict()
    assert (found.objections, found.remarks) == ((), ())
    assert (found.outcome, found.samples, found.clock) == (Outcome.WINS, 7, Clock.WALL)
    assert (found.candidate.median, found.comparator.median) == pytest.approx((199 / 4.0, 199 / 5.0), rel=2e-2)
    assert found.candidate.slowest < found.candidate.median < found.candidate.fastest
    assert found.ratio == found.candidate.median / found.comparator.median
    assert found.interval[0] < found.ratio < found.interval[1]
    assert (found.drafted, found.accepted, found.acceptance, found.tokens_per_round) == (700, 560, 0.8, 5.0)
    assert (found.comparator_drafted, found.wall) == (0, None)
    assert (found.likeness.same, found.likeness.rounds, found.likeness.first) == (7, 7, None)


def test_the_order_of_samples_does_not_matter() -> None:
    found = samples(candidate={"seconds": FASTER}, comparator={"seconds": STEADY})
    assert verdict(found[::-1]) == verdict(found)


def test_exchanging_the_arms_inverts_the_ratio() -> None:
    other = verdict(samples(candidate={"seconds": STEADY}, comparator={"seconds": FASTER}))
    assert other.ratio == pytest.approx(1 / verdict().ratio)
    assert other.interval == pytest.approx(tuple(1 / each for each in reversed(verdict().interval)))
    assert other.outcome is Outcome.LOSES


def test_a_slower_machine_changes_nothing() -> None:
    slow = samples(
        candidate={"seconds": [3 * each for each in FASTER]}, comparator={"seconds": [3 * each for each in STEADY]}
    )
    assert verdict(slow).interval == pytest.approx(verdict().interval)


@pytest.mark.parametrize(
    ("interval", "min_gain", "expected"),
    [
        ((1.01, 1.2), 1.0, Outcome.WINS),
        ((1.0, 1.2), 1.0, Outcome.UNDECIDED),
        ((0.9, 1.0), 1.0, Outcome.LOSES),
        ((0.9, 1.001), 1.0, Outcome.UNDECIDED),
        ((1.01, 1.2), 1.25, Outcome.LOSES),
        ((1.01, 1.2), 1.1, Outcome.UNDECIDED),
    ],
)
def test_only_an_interval_that_is_above_what_must_be_exceeded_wins(
    interval: tuple[float, float], min_gain: float, expected: Outcome
) -> None:
    assert outcome(interval, min_gain) is expected


def test_processor_time_decides_where_it_is_counted_and_wall_time_stands_beside_it() -> None:
    found = samples(
        candidate={"seconds": 2.0, "cpu_seconds": [1.02 * each for each in STEADY]},
        comparator={"seconds": 4.0, "cpu_seconds": FASTER},
    )
    result = verdict(found, clock=Clock.CPU)
    assert result.outcome is Outcome.LOSES
    assert result.wall == (199 / 2, 199 / 4)


def test_a_round_with_one_arm_alone_is_no_round() -> None:
    with pytest.raises(ValueError, match="one arm alone"):
        verdict(samples()[1:])


def test_a_machine_that_changed_meanwhile_is_no_baseline() -> None:
    slower = [5.0, 5.0, 5.1, 5.2, 5.3, 5.4, 5.3]
    (problem,) = against(candidate={"seconds": FASTER}, comparator={"seconds": slower})
    assert problem == Problem(
        code="baseline-drift",
        message="the comparator went from 39.80 to 37.55 tok/s on copy (-5.7%), by the medians of its first and last 3"
        " samples; 5% is the most",
        notes=("the candidate went from 49.75 to 49.87 tok/s meanwhile",),
        hint="let other work end and clocks and temperature come to rest, then measure again",
    )
    counted = samples(candidate={"cpu_seconds": FASTER}, comparator={"cpu_seconds": slower})
    assert verdict(counted, clock=Clock.CPU).objections == ()


def test_a_machine_that_changed_back_did_not_drift() -> None:
    assert against(comparator={"seconds": [5.0, 5.0, 5.1, 6.5, 5.0, 5.1, 5.0]}) == ()


def test_few_samples_say_nothing_of_drift() -> None:
    result = verdict(samples(5, candidate={"seconds": FASTER}, comparator={"seconds": STEADY}))
    assert result.drift is None
    assert said(result.remarks) == [
        "note[baseline-drift]: 5 samples of copy are too few to see whether the machine changed"
    ]


MIXED = {"drafted": [46, 54, 55, 46, 54, 46, 46], "accepted": [46, 35, 35, 46, 35, 46, 46], "tokens": [47] * 7}
"""A comparator that drafts more or less happily, as texts come: 1 pass, or 12."""


def worked(slower: float = 0.0) -> list[float]:
    """Seconds of these samples, a pass at 14 ms and a drafted token at 25 ms, on a machine that becomes slower."""
    pairs = zip(MIXED["drafted"], MIXED["accepted"], strict=True)
    return [((47 - right) * 0.014 + many * 0.025) * (1 + slower * at / 6) for at, (many, right) in enumerate(pairs)]


def test_what_a_comparator_drafts_is_no_drift_of_the_machine() -> None:
    terms = replace(TERMS, comparator_drafts=True)
    steady = judged("copy", samples(candidate={"seconds": FASTER}, comparator={"seconds": worked(), **MIXED}), terms)
    assert steady.drift == pytest.approx(0, abs=1e-9)
    assert steady.comparator.fastest / steady.comparator.slowest > 1.2
    slower = judged("copy", samples(candidate=MIXED, comparator={"seconds": worked(0.2), **MIXED}), terms)
    assert slower.drift == pytest.approx(-0.11, abs=0.03)  # the fit takes up a part of it
    assert [each.code for each in slower.objections] == ["baseline-drift"]
    assert " samples, what it drafted evened out; 5% is the most" in slower.objections[0].message


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60), st.floats(0.1, 100)), min_size=6, max_size=12),
    st.floats(0.01, 100),
)
def test_the_pace_of_a_machine_is_above_zero_whatever_was_drafted_and_scales_with_it(
    drafts: list[tuple[int, int, float]], factor: float
) -> None:
    def arm(times: float) -> dict[str, list[float]]:
        return {
            "drafted": [many for many, _, _ in drafts],
            "accepted": [min(many, right) for many, right, _ in drafts],
            "seconds": [each * times for _, _, each in drafts],
        }

    once, scaled = (
        paces(
            [each for each in samples(len(drafts), comparator=arm(times)) if each.turn.arm is Arm.COMPARATOR],
            Clock.WALL,
        )
        for times in (1.0, factor)
    )
    assert min(once) > 0
    assert [each * factor for each in scaled] == pytest.approx(once, rel=1e-6)


def test_a_gain_that_the_drafts_cannot_have_made_is_no_evidence() -> None:
    half = {"drafted": 150, "accepted": 100, "seconds": 1.0}
    (problem,) = against(candidate=half, comparator={"seconds": 5.0})
    words = (
        "the candidate is 5.00 times as fast on copy, and a pass of it yielded 2.01 tokens: its drafts cannot have made"
    )
    assert said((problem,)) == [f"error[unexplained-gain]: {words} it so"]
    assert against(candidate=half, comparator={"seconds": 2.1}) == ()
    other = verdict(
        samples(candidate=half, comparator={"seconds": 5.0, "drafted": 9, "accepted": 9}), comparator_drafts=True
    )
    assert other.objections == ()


def test_without_a_draft_nothing_is_gained() -> None:
    nothing = {"drafted": 0, "accepted": 0, "rounds": 0, "seconds": FASTER}
    found = verdict(samples(candidate=nothing, comparator={"seconds": STEADY}), own="prose")
    assert [each.code for each in found.objections] == ["unexplained-gain"]


def test_a_comparator_that_waits_for_processors_is_seen_where_their_seconds_are_counted() -> None:
    waits = {"seconds": [each * 3 for each in STEADY], "cpu_seconds": STEADY}
    found = verdict(samples(candidate={"seconds": FASTER, "cpu_seconds": FASTER}, comparator=waits), clock=Clock.CPU)
    words = "the candidate had 1.00 processors while it generated, and the comparator 0.33: they were not treated alike"
    assert said(found.remarks) == [f"warning[unequal-share]: on copy {words}"]


@pytest.mark.parametrize("arm", ["candidate", "comparator"])
def test_a_loop_is_no_evidence_whichever_arm_says_it(arm: str) -> None:
    outputs = [LOOP if number in (1, 4) else tuple(range(200)) for number in range(7)]
    (problem,) = against(**{arm: {"output": outputs, "text": "and so on, and so on, and so on, and so on, and so on"}})
    assert problem.code == "degenerate-output"
    assert problem.message == (
        "what is said on copy only repeats itself in 2 of 7 rounds: of the "
        + arm
        + " in round 2, from token 106 of 200"
        " on"
    )
    assert problem.notes == ("it ends: 'o on, and so on, and so on, and so on, and so on'",)


def test_drafts_of_which_none_is_accepted_are_no_speculation() -> None:
    (none,) = against(candidate={"accepted": 0})
    assert said((none,)) == [
        "error[nothing-accepted]: the candidate drafted 700 tokens on copy, and none were accepted"
    ]
    (few,) = against(candidate={"accepted": [0, 0, 1, 0, 2, 0, 0]})
    assert few.message.endswith("and 3 (0.43%) were accepted")
    assert against(candidate={"accepted": [0, 0, 1, 0, 3, 0, 0]}) == ()


def test_a_drafter_that_never_drafts_is_no_evidence_on_its_own_workload() -> None:
    quiet = samples(candidate={"drafted": 0, "accepted": 0, "rounds": 0})
    message = "the candidate drafted nothing in 7 samples of copy"
    assert said(verdict(quiet).objections) == said(verdict(quiet, own=None).objections)
    assert said(verdict(quiet).objections) == [f"error[nothing-drafted]: {message}"]
    elsewhere = verdict(quiet, own="prose")
    assert elsewhere.objections == ()
    assert said(elsewhere.remarks)[-1] == f"note[nothing-drafted]: {message}"
    assert elsewhere.tokens_per_round is None
    assert verdict(quiet, drafts=False).objections == ()


def test_drafts_that_are_never_right_are_a_cost_on_other_workloads() -> None:
    wrong = samples(candidate={"accepted": 0, "seconds": STEADY}, comparator={"seconds": FASTER})
    found = verdict(wrong, own="prose")
    assert (found.objections, found.outcome) == ((), Outcome.LOSES)
    assert [each.code for each in found.remarks] == ["nothing-accepted"]
    assert {each.severity for each in found.remarks} == {Severity.NOTE}


def test_a_comparator_with_a_broken_drafter_makes_no_win() -> None:
    broken = samples(candidate={"seconds": FASTER}, comparator={"drafted": 50, "accepted": 0, "rounds": 9})
    (problem,) = verdict(broken, comparator_drafts=True).objections
    assert (problem.code, problem.message[:14]) == ("nothing-accepted", "the comparator")


@pytest.mark.parametrize("arm", ["candidate", "comparator"])
def test_an_arm_that_drafts_though_it_has_no_drafter_is_no_evidence(arm: str) -> None:
    drafting = {"drafted": 3, "accepted": 2, "rounds": 1}
    found = samples(**{"candidate": {"drafted": 0}, arm: drafting})
    assert said(verdict(found, drafts=False).objections) == [
        f"error[unasked-drafts]: the {arm} drafted 21 tokens on copy, and its setting has no drafter"
    ]


def test_a_prompt_out_of_a_cache_is_no_evidence() -> None:
    (problem,) = against(candidate={"cached": [0, 4, 0, 286, 0, 0, 0]})
    assert (problem.code, problem.message) == (
        "cached-prompt",
        "the candidate took up to 286 tokens of the prompt from a cache, in 2 of 7 samples of copy",
    )


def test_an_answer_that_ended_early_is_no_evidence() -> None:
    (full,) = against(comparator={"truncated": [False] * 6 + [True], "tokens": [199] * 6 + [40]})
    assert (full.code, full.message) == (
        "truncated",
        "the comparator ended early in 1 of 7 samples of copy: 40 tokens after the first, the context was full",
    )
    (shorter,) = against(candidate={"tokens": 198})
    assert shorter.message.endswith(
        "in 7 of 7 samples of copy: 198 tokens after the first, others of the workload have 199"
    )


def test_where_the_arms_part_is_shown() -> None:
    outputs = [tuple(range(200)), (*range(41), 5, *range(42, 200)), *([tuple(range(200))] * 5)]
    texts = ["same", "they said yes", *(["same"] * 5)]
    plain = samples(
        candidate={"seconds": FASTER, "output": outputs, "text": texts},
        comparator={"seconds": STEADY, "text": ["same", "they said no", *(["same"] * 5)]},
    )
    found = verdict(plain)
    assert (found.likeness.same, found.likeness.first) == (6, (1, 41))
    (remark,) = found.remarks
    assert (remark.code, remark.severity) == ("greedy-difference", Severity.NOTE)
    assert remark.message == (
        "candidate and comparator said the same in 6 of 7 rounds of copy; in round 2 they part at token 42"
    )
    assert remark.notes == ("candidate: 'yes'", "comparator: 'no'")


def test_an_answer_that_goes_on_where_the_other_ends_differs_there() -> None:
    found = [sample(Arm.CANDIDATE, number, output=range(200), text="more") for number in (3, 4)]
    found += [sample(Arm.COMPARATOR, number, output=range(150), text="mo") for number in (3, 4)]
    alike = verdict(tuple(found)).likeness
    assert (alike.same, alike.rounds, alike.first, alike.candidate, alike.comparator) == (0, 2, (3, 150), "re", "")


def test_where_samples_do_not_decide_about_how_many_would_is_said() -> None:
    near = [4.7, 5.1, 4.9, 4.9, 5.0, 4.8, 5.0]
    found = verdict(samples(candidate={"seconds": near}, comparator={"seconds": STEADY}))
    low, high = found.interval
    assert low < 1 < high
    assert found.outcome is Outcome.UNDECIDED
    number = needed(found, 1.0)
    assert number is not None
    assert 7 < number < 28
    (remark,) = found.remarks
    assert (remark.code, remark.severity) == ("undecided", Severity.WARNING)
    assert remark.message == (
        f"7 samples of copy do not decide: {found.ratio:.3f}x, and {low:.3f} to {high:.3f} at 95%, where 1 must be"
        " exceeded"
    )
    assert remark.hint == f"about {number} samples would, if they go on like this: `--samples {number}`"


def test_arms_that_are_alike_get_no_advice_to_take_more_samples() -> None:
    same = [5.1, 4.9, 5.0, 4.95, 5.05, 5.0, 5.0]
    found = verdict(samples(candidate={"seconds": same}, comparator={"seconds": same[::-1]}))
    assert found.outcome is Outcome.UNDECIDED
    assert needed(found, 1.0) is None
    assert (found.remarks[0].hint or "").startswith("the two are too close to tell apart")


def test_samples_that_lie_far_apart_are_warned_of() -> None:
    stray = [5.0, 5.0, 27.0, 5.0, 5.0, 5.0, 5.0]
    (remark,) = verdict(samples(candidate={"seconds": FASTER}, comparator={"seconds": stray})).remarks
    assert (remark.code, remark.severity) == ("wide-spread", Severity.WARNING)
    assert remark.message == (
        "samples of the comparator on copy lie between 7.37 and 39.80 tok/s: other work had a part in them"
    )
