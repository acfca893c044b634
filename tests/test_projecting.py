"""What a projection runs, and what it makes of what it measured."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.breakeven import Costs, Verify, accepted_length
from quadgen.problems import Rejected, Unavailable
from quadgen.projecting import Ask, Clock, Projection, able, parted
from quadgen.projecting.asking import Setting
from quadgen.projecting.fitting import Sample, fitted

HELP = Path(__file__).parent / "data"
ASK = Ask(
    server="llama-server",
    base=("--model", "t.gguf"),
    spec_type="draft-simple",
    drafting=("--spec-draft-model", "d.gguf"),
    widths=(1, 3),
    acceptances=(0.5,),
)


def plain(step: float, tokens: int = 100) -> Sample:
    return Sample(
        tokens=tokens, rounds=0, drafted=0, accepted=0, seconds=step * tokens, drafting=None, client_rate=0.9 / step
    )


def drafting(costs: Costs, width: int, accepted: int, *, rounds: int = 1000, odd: int = 0) -> Sample:
    """What a machine of these costs would show, with some passes that drafted nothing."""
    whole = costs.round_time(width)
    return Sample(
        tokens=rounds + accepted + odd,
        rounds=rounds,
        drafted=rounds * width,
        accepted=accepted,
        seconds=rounds * whole + odd * costs.target_step,
        drafting=costs.draft_step * (width if costs.sequential else 1) / whole,
        client_rate=10.0,
    )


def seen(costs: Costs, ask: Ask) -> Projection:
    samples = {Setting(): [plain(costs.target_step)] * ask.samples}
    for setting in ask.settings[1:]:
        accepted = round(1000 * (accepted_length(setting.p, setting.width) - 1))
        samples[setting] = [drafting(costs, setting.width, accepted, odd=3)] * ask.samples
    return fitted(ask, samples)


def test_the_target_runs_alone_and_with_each_width_at_no_acceptance_and_at_those_that_are_asked() -> None:
    assert ASK.settings == (Setting(), Setting(1, 0.0), Setting(1, 0.5), Setting(3, 0.0), Setting(3, 0.5))


def test_the_drafter_is_only_there_where_it_drafts() -> None:
    alone = " ".join(ASK.arguments(Setting()))
    assert alone == "--model t.gguf --parallel 1 --cache-ram 0 --metrics --slots --log-verbosity 4"
    assert " ".join(ASK.arguments(Setting(3, 0.5))) == (
        f"{alone} --spec-draft-model d.gguf --spec-type draft-simple --spec-draft-n-max 3 --spec-draft-p-min 0"
        " --spec-synth-rates 0.500000000,0.250000000,0.125000000"
    )


def test_a_long_request_has_the_tokens_of_a_sample_more_than_a_short_one_that_drafts_in_full() -> None:
    assert ASK.lengths == (5, 5 + ASK.tokens)


@given(st.floats(0, 1), st.integers(1, 64))
def test_forced_chances_are_what_the_server_accepts(p: float, width: int) -> None:
    rates = [float(each) for each in Setting(width, p).rates.split(",")]
    assert len(rates) == width
    assert all(1 >= before >= after >= 0 for before, after in pairwise(rates))


def test_arguments_of_a_unit_are_parted_into_those_of_the_target_and_of_the_drafter() -> None:
    unit = (
        "--host 0.0.0.0 --port 8080 --api-key-file /k --model /m/t.gguf --n-gpu-layers 99 --no-mmap --temp -1"
        " --parallel 4 --alias big --metrics --log-disable --spec-type draft-simple,ngram-cache"
        " --spec-draft-model /m/d.gguf --spec-draft-n-max 7 --spec-draft-device CUDA0 --lookup-cache-static /c"
    )
    base, drafter = parted(unit.split())
    assert " ".join(base) == "--model /m/t.gguf --n-gpu-layers 99 --no-mmap --temp -1 --metrics"
    assert " ".join(drafter) == "--spec-draft-model /m/d.gguf --spec-draft-device CUDA0 --lookup-cache-static /c"


TYPES = st.sampled_from(["draft-simple", "draft-dflash"])


@given(st.floats(1e-4, 10), st.floats(0, 10), st.floats(1, 20), st.floats(1, 20), TYPES)
def test_what_a_machine_costs_is_found_again(t: float, d: float, v1: float, v3: float, spec_type: str) -> None:
    sequential = spec_type == "draft-simple"
    costs = Costs(target_step=t, draft_step=d, sequential=sequential, verify=Verify(points=((2, v1), (4, v3))))
    ask = Ask(server="s", base=(), spec_type=spec_type, widths=(1, 3), acceptances=(0.3, 0.9), samples=2)
    found = seen(costs, ask)
    assert found.costs.target_step == pytest.approx(t)
    assert found.costs.draft_step == pytest.approx(d, abs=1e-6)
    assert [factor for _, factor in found.costs.verify.points] == pytest.approx([v1, v3], abs=1e-4)
    assert [point.ratio for point in found.points] == pytest.approx([1.0] * 4)
    assert [point.drawn for point in found.points] == pytest.approx([0.3, 0.9, 0.3, 0.9], abs=1e-2)
    assert found.notes == ()


COSTS = Costs(target_step=0.01, draft_step=0.001, verify=Verify(points=((2, 1.2), (4, 2.4))))


def test_the_measured_factors_are_printed_as_triage_takes_them() -> None:
    assert seen(COSTS, ASK).verify_cost == "2:1.2,4:2.4"


def one(clock: Clock, steps: list[float]) -> Projection:
    ask = Ask(server="s", base=(), spec_type="draft-simple", widths=(3,), acceptances=(), clock=clock)
    return fitted(ask, {Setting(): [plain(step) for step in steps], Setting(3): [drafting(COSTS, 3, 0)]})


def test_of_several_times_the_middle_one_counts_and_of_cpu_seconds_the_least() -> None:
    assert one(Clock.WALL, [0.011, 0.010, 0.013]).costs.target_step == pytest.approx(0.011)
    assert one(Clock.CPU, [0.011, 0.010, 0.013]).costs.target_step == pytest.approx(0.010)


def test_a_machine_that_does_other_work_is_pointed_out() -> None:
    note = "a pass of the target alone took 30% longer at one time than at another: other work goes on here"
    assert one(Clock.WALL, [0.010, 0.013]).notes == (note,)


def test_a_formula_that_is_off_is_pointed_out() -> None:
    ask = Ask(server="s", base=(), spec_type="draft-simple", widths=(3,), acceptances=(0.5,))
    dear = Costs(target_step=0.01, draft_step=0.001, verify=Verify(points=((4, 4.0),)))
    found = fitted(
        ask,
        {
            Setting(): [plain(0.01)],
            Setting(3): [drafting(COSTS, 3, 0)],
            Setting(3, 0.5): [drafting(dear, 3, 875)],
        },
    )
    assert found.points[0].ratio == pytest.approx(COSTS.round_time(3) / dear.round_time(3))
    apart = "formula and measurement are 37% apart at width 3 at p = 0.5"
    assert found.notes == (f"{apart}: a round costs more there than where nothing is accepted",)


def test_drafts_that_are_shorter_than_asked_and_a_drafter_that_hides_its_time_are_pointed_out() -> None:
    ask = Ask(server="s", base=(), spec_type="draft-simple", widths=(3,), acceptances=())
    short = Sample(tokens=90, rounds=90, drafted=180, accepted=0, seconds=1.8, drafting=None, client_rate=None)
    found = fitted(ask, {Setting(): [plain(0.01)], Setting(3): [short]})
    assert found.verify_cost == "4:2"
    assert found.notes == (
        "the server does not say how long it drafted, so that this is part of what verifying costs",
        "rounds of width 3 at p = 0 drafted 2 tokens on average",
    )


def test_a_build_that_cannot_force_an_acceptance_says_so_before_anything_runs() -> None:
    able(str(HELP / "llama-server-help-b11434.txt"), environ={})
    with pytest.raises(Unavailable) as lacking:
        able(str(HELP / "llama-server-help-b10434.txt"), environ={})
    assert str(lacking.value).endswith(
        "cannot force an acceptance, for its help has no --spec-synth-rates: of llama.cpp, b10705 has it and b10434 "
        "has not"
    )


def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(Rejected):
        able(__file__, environ={})
