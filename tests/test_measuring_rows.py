"""A judged workload as a row: its id, its digits, and that the gate reads from it what was judged."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import quadgen
from measured import REQUEST, ledger
from quadgen.evidence import Kind, Policy, Setting, verdict
from quadgen.evidence.text import appended, rows_of
from quadgen.measuring.result import Likeness, Outcome, Rate, Result
from quadgen.measuring.rows import About, row
from quadgen.measuring.sample import Clock

RESULT = Result(
    workload="copy",
    clock=Clock.WALL,
    candidate=Rate(median=115.123456, slowest=110.98765, fastest=117.0),
    comparator=Rate(median=94.04321, slowest=93.0, fastest=95.0),
    ratio=115.123456 / 94.04321,
    interval=(1.184321, 1.270001),
    samples=7,
    drift=-0.0123456,
    drafted=300,
    accepted=200,
    tokens_per_round=3.141592,
    comparator_drafted=0,
    likeness=Likeness(same=7, rounds=7),
    wall=None,
    outcome=Outcome.WINS,
)
ABOUT = About(
    request=replace(REQUEST, header="ab" * 32, quantization="Q4_K_M", model="qwen3.8-27b"),
    build="b11434",
    device="NVIDIA GeForce RTX 3090",
    name="claw",
    profile="copy",
    workload_sha256="cd" * 32,
    tokens=200,
    date="2026-09-01",
    command="quadgen measure --fleet fleet.yml claw --profile copy",
    commit="7e4c0a9",
    fingerprint="ef",
    state="fresh",
    confirmed=True,
)


def test_a_row_says_what_was_measured_of_what_and_how() -> None:
    found = row(RESULT, ABOUT, ())
    assert found.id == "claw-cuda-qwen3.8-27b-copy-copy"
    assert (found.rate, found.against_rate, found.ratio) == (115.12, 94.043, 115.12 / 94.043)
    assert (found.interval, found.spread, found.drift) == ((1.184, 1.271), (110.99, 117.0), -0.0123)
    assert (found.acceptance, found.accepted, found.drafted, found.tokens_per_round) == (0.6667, 200, 300, 3.1416)
    assert (found.engine, found.build, found.commit, found.backend) == ("llama.cpp", "b11434", "7e4c0a9", "cuda")
    assert (found.model, found.header, found.quantization) == ("qwen3.8-27b", "ab" * 32, "Q4_K_M")
    assert (found.setting, found.against, found.unit) == (REQUEST.setting, REQUEST.against, "tok/s")
    assert (found.samples, found.tokens, found.state, found.confirmed) == (7, 200, "fresh", True)
    assert found.source == f"measured with quadgen {quadgen.__version__}"
    assert found.command == ABOUT.command


def test_of_processor_time_the_rates_by_the_wall_clock_stand_beside() -> None:
    found = row(replace(RESULT, clock=Clock.CPU, wall=(51.234567, 49.0)), ABOUT, ())
    assert (found.unit, found.wall_rate, found.against_wall_rate) == ("tok/CPU-s", 51.235, 49.0)


def test_a_drafter_that_drafted_nothing_has_a_row_that_decides_nothing() -> None:
    found = row(replace(RESULT, drafted=0, accepted=0, tokens_per_round=None), ABOUT, ())
    assert (found.drafted, found.acceptance, found.no_evidence) == (0, None, "drafted nothing")


@pytest.mark.parametrize(
    ("name", "model", "profile", "expected"),
    [
        ("NVIDIA GeForce RTX 3090", "Org/Model V2", "map k", "nvidia-geforce-rtx-3090-cuda-org-model-v2-map-k-copy"),
        ("--", "日本", "p", "cuda-p-copy"),
        ("x" * 300, "m", "p", "x" * 180),
    ],
)
def test_an_id_is_made_of_what_people_call_things(name: str, model: str, profile: str, expected: str) -> None:
    about = replace(ABOUT, name=name, profile=profile, request=replace(REQUEST, model=model))
    assert row(RESULT, about, ()).id == expected


def test_an_id_that_is_taken_gets_the_next_number() -> None:
    taken = {"claw-cuda-qwen3.8-27b-copy-copy", "claw-cuda-qwen3.8-27b-copy-copy-2"}
    assert row(RESULT, ABOUT, taken).id == "claw-cuda-qwen3.8-27b-copy-copy-3"


def test_words_of_the_machine_become_one_printable_line() -> None:
    odd = replace(ABOUT, device="AMD\x00 Radeon™\n RX", command="quadgen\nmeasure \udcff", build=" ")
    found = row(RESULT, odd, ())
    assert (found.device, found.command, found.build) == ("AMD? Radeon™ RX", "quadgen measure ?", "?")


rates = st.floats(0.01, 50_000)
near = st.sampled_from([1.0, 1.05]).flatmap(
    lambda bound: st.floats(-1e-6, 1e-6).map(lambda offset: bound + offset) | st.just(bound)
)


@given(rates, rates, near | st.floats(0.2, 5), near | st.floats(0.2, 5), st.sampled_from([1.0, 1.05, 1.1]))
def test_the_gate_reads_from_a_ledger_what_was_judged(
    candidate: float, comparator: float, one: float, other: float, gain: float
) -> None:
    low, high = min(one, other), max(one, other)
    ratio = candidate / comparator
    if not low <= ratio <= high:  # as every interval of medians has it
        ratio = (low + high) / 2
        candidate = ratio * comparator
    assume(0.001 < candidate < 1e6)
    result = replace(
        RESULT,
        candidate=Rate(median=candidate, slowest=candidate * 0.9, fastest=candidate * 1.1),
        comparator=Rate(median=comparator, slowest=comparator * 0.9, fastest=comparator * 1.1),
        ratio=ratio,
        interval=(low, high),
    )
    asking = replace(ABOUT.request, policy=Policy(min_gain=gain), build="b11434")
    made = row(result, replace(ABOUT, request=asking), ())
    (found,) = rows_of("m.yml", appended("m.yml", None, [made]))
    assert replace(found, file="") == made
    assert found.interval is not None
    assert (verdict(asking, ledger(found)).kind is Kind.WINS) == (low > gain)
    assert found.loses == (high < 1)
    assert found.interval[0] <= low
    assert found.interval[1] >= high
    assert low - found.interval[0] <= low * 1e-3
    assert found.spread is not None
    assert found.spread[0] <= (found.rate or 0) <= found.spread[1]
    assert found.ratio == pytest.approx(ratio, rel=1e-4)


def test_an_interval_beside_its_ratio_is_widened_to_hold_it() -> None:
    found = row(replace(RESULT, ratio=1.1, interval=(1.2, 1.3)), ABOUT, ())
    assert found.interval == (1.1, 1.3)


def test_settings_with_flags_and_drafters_come_back_from_the_ledger() -> None:
    setting = Setting.of(["draft-simple"], draft_n_max=5, flags={"spec-draft-p-min": 0.75}, draft_model="tiny")
    made = row(RESULT, replace(ABOUT, request=replace(REQUEST, setting=setting)), ())
    (found,) = rows_of("m.yml", appended("m.yml", None, [made]))
    assert found.setting == setting
