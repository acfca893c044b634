"""After the runs of a plan every service is decided, and no run of it can be left out."""

from itertools import combinations
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planned import CARDS, FLEETS, RECORDED, ROWS, brought, compiled, header, lacking, needed
from quadgen.measuring.arms import arms
from quadgen.measuring.covering import fewest
from quadgen.measuring.needs import Unhelped
from quadgen.measuring.plan import plan

SOME = settings(max_examples=settings().max_examples // 2)
"""Each example compiles several fleets."""


@SOME
@given(FLEETS, ROWS, RECORDED, st.data())
def test_after_the_runs_of_a_plan_no_service_lacks_a_number(
    fleet: Any, rows: Any, recorded: set[str], data: st.DataObject
) -> None:
    before = needed(fleet, rows, recorded)
    for number, run in enumerate(before.runs):
        rows = rows + brought(
            run, number, ratio=data.draw(st.sampled_from([0.5, 1.5])), device=data.draw(st.sampled_from(CARDS)),
            sha=data.draw(st.sampled_from([None, *map(header, recorded)])),
            quantization=data.draw(st.sampled_from(["Q4_K_M", "Q8_0"])),
        )  # fmt: skip
    assert not needed(fleet, rows, recorded).runs
    helped = {(each.asked.host, each.asked.service) for run in before.runs for each in run.serves if each.goal == 3}
    assert not helped & lacking(compiled(fleet, rows, recorded, advisory=False))


@SOME
@given(FLEETS, ROWS, RECORDED)
def test_no_run_of_a_plan_can_be_left_out(fleet: Any, rows: Any, recorded: set[str]) -> None:
    plain = needed(fleet, rows, recorded)
    assume(
        not any(each.contested for run in plain.runs for each in run.serves)
    )  # there a plan is rather safe than short
    runs = plain.runs
    found = [
        brought(run, number, device=f"Card {number}", sha=f"{number:064}", quantization="IQ1_S")
        for number, run in enumerate(runs)
    ]
    for missing in range(len(runs)):
        others = [row for number, each in enumerate(found) if number != missing for row in each]
        assert needed(fleet, [*rows, *others], recorded).runs


@SOME
@given(FLEETS, ROWS, RECORDED)
def test_every_service_is_in_one_run_or_said_to_be_left(fleet: Any, rows: Any, recorded: set[str]) -> None:
    whole = needed(fleet, rows, recorded)
    served = [(each.asked.host, each.asked.service) for run in whole.runs for each in run.serves]
    left = [
        (each.need.asked.host, each.need.asked.service)
        for each in whole.left
        if each.kind not in {Unhelped.LOSES, Unhelped.UNDECIDED}
    ]
    places = [*served, *left]
    assert len(set(places)) == len(places)
    found = compiled(fleet, rows, recorded, advisory=False)
    assert lacking(found) <= set(places) <= lacking(found, "measured-loss")
    assert not whole.elsewhere
    assert all(run.own in run.serves for run in whole.runs)


@SOME
@given(FLEETS, ROWS, RECORDED, st.sets(st.sampled_from(["h0", "h1", "h2"]), min_size=1))
def test_a_plan_for_some_hosts_has_what_helps_them_and_nothing_elsewhere(
    fleet: Any, rows: Any, recorded: set[str], hosts: set[str]
) -> None:
    done = compiled(fleet, rows, recorded)
    some, every = plan(done, hosts), plan(done)
    assert set(some.hosts) <= hosts & set(fleet["hosts"])
    assert len(some.runs) <= len(every.runs)
    assert not [each for each in some.elsewhere if each.asked.host in hosts]
    reached = [each for run in some.runs for each in run.serves]
    assert {id(each.asked) for each in (*reached, *some.elsewhere)} == {
        id(each.asked) for run in every.runs for each in run.serves
    }


@SOME
@given(FLEETS, RECORDED)
def test_every_run_of_a_plan_is_one_that_measure_takes(fleet: Any, recorded: set[str]) -> None:
    done = compiled(fleet, recorded=recorded, advisory=False)
    for run in needed(fleet, recorded=recorded).runs:
        asked = run.own.asked
        both = arms(done, asked.host, run.own.named, asked.spec.name)
        assert both.request == asked.request


SETS = st.lists(st.frozensets(st.integers(0, 7), max_size=5), max_size=7)


@given(SETS)
def test_a_cover_is_as_small_as_any(sets: list[frozenset[int]]) -> None:
    whole = frozenset().union(*sets)
    taken = fewest(sets)
    assert frozenset().union(*(sets[at] for at in taken)) == whole
    assert list(taken) == sorted(set(taken))
    smaller = combinations(sets, max(0, len(taken) - 1))
    assert not taken or not any(frozenset().union(*some) == whole for some in smaller)


def test_sets_that_overlap_in_a_large_circle_are_covered_without_one_too_many() -> None:
    circle = [frozenset({at, (at + 1) % 60}) for at in range(60)]
    taken = fewest(circle)
    assert frozenset().union(*(circle[at] for at in taken)) == frozenset(range(60))
    assert len(taken) == 30
