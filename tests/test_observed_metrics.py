"""What is read of /metrics: the captured counters, every form that Prometheus allows, and nothing that is no count."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import captures
from quadgen.observed.counts import Counts
from quadgen.observed.metrics import Scrape, between, counts, lost, parse, restarted
from quadgen.problems import Rejected

DRAFTED = "llamacpp:spec_decode_num_draft_tokens_total"
ACCEPTED = "llamacpp:spec_decode_num_accepted_tokens_total"
ROUNDS = "llamacpp:spec_decode_num_drafts_total"
GENERATED = "llamacpp:tokens_predicted_total"
SECONDS = "llamacpp:tokens_predicted_seconds_total"
POSITION = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"


def text(values: Mapping[str, object]) -> str:
    return "".join(f"{name} {value}\n" for name, value in values.items())


def told(given: str) -> list[tuple[int | None, str]]:
    """The lines that are refused, and why."""
    with pytest.raises(Rejected) as refused:
        parse("m", given)
    assert {problem.code for problem in refused.value.problems} == {"unreadable-metrics"}
    return [(problem.place.line if problem.place else None, problem.message) for problem in refused.value.problems]


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (
            "b10434",
            Counts(
                generated=224, seconds=2.98949, drafted=253, accepted=168, rounds=36,
                per_position=(25, 24, 24, 22, 21, 20, 17, 15),
            ),
        ),
        (
            "b11434",
            Counts(
                generated=224, seconds=3.15231, drafted=255, accepted=167, rounds=37,
                per_position=(26, 25, 24, 21, 20, 19, 17, 15),
            ),
        ),
    ],
)  # fmt: skip
def test_the_counters_of_a_server_that_drafted_are_read(build: str, expected: Counts) -> None:
    before, after = (parse("m", captures.metrics(build, "ngram-cache", when)) for when in ("before", "after"))
    assert counts(after) == between(before, after) == expected
    assert sum(expected.per_position) == expected.accepted
    assert before == parse("m", captures.metrics(build, "nospec", "before"))


@pytest.mark.parametrize("build", captures.BUILDS)
def test_counters_that_are_there_do_not_mean_that_anything_was_drafted(build: str) -> None:
    scrape = parse("m", captures.metrics(build, "nospec"))
    assert scrape.has_speculation
    assert counts(scrape).acceptance is None
    assert (scrape.generated, scrape.prompt, scrape.processing) == (224, 353, 0)


def test_a_build_without_counters_of_speculation_has_no_acceptance_rather_than_none() -> None:
    scrape = parse("m", text({GENERATED: 224, SECONDS: 3.1}))
    assert not scrape.has_speculation
    assert counts(scrape) == Counts(generated=224, seconds=3.1)


def test_what_is_neither_engines_is_no_scrape_of_either() -> None:
    assert parse("m", "vllm:spec_decode_num_drafts_total 5\n<html>\nup{} NaN\n") == Scrape(engine=None)


def test_halogen_counts_requests_and_no_rounds() -> None:
    given = text({"halogen:requests_total": 25, GENERATED: 24920, SECONDS: 1582.82, "halogen:draft_tokens_total": 334,
                  "halogen:draft_tokens_accepted_total": 282, "llamacpp:kv_cache_usage_ratio": 0.86})  # fmt: skip
    scrape = parse("m", given)
    assert scrape.engine == "halogen"
    assert counts(scrape) == Counts(requests=25, generated=24920, seconds=1582.82, drafted=334, accepted=282)


FORMS = [
    "{name} 40",
    "{name}\t40.0",
    "{name} 4e1\r",
    "  {name} +40 1700000000000",
    "{name}{{}} 40 1700000000.123",
    '{name}{{job="llama",path="C:\\\\x \\"y\\" }}"}} 40',
    '{name}{{ job = "a" , }} 4.0E+01 # {{trace_id="1"}} 1.0',
]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_line_is_read(form: str) -> None:
    line = form.format(name=DRAFTED)
    assert parse("m", f"# HELP {DRAFTED} 9\n{line}\n{ACCEPTED} 7\n# EOF").drafted == 40


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1.5", "many", "0x10", "1_000", "1e999", "", "4 x", '{a="b" 4'])
def test_a_counter_without_a_count_is_an_error_with_its_line(value: str) -> None:
    ((line, message),) = told(f"# HELP\n{ACCEPTED} 1\n{DRAFTED} {value}\n")
    assert line == 3
    assert message.startswith(f"{DRAFTED} is ")


def test_a_gauge_that_is_no_number_says_nothing_and_hurts_nobody() -> None:
    assert parse("m", f"llamacpp:requests_processing NaN\n{DRAFTED} 1\n").processing is None


def test_every_wrong_line_is_told_up_to_a_bound() -> None:
    found = told(
        "".join(f'{POSITION}{{position="{place}"}} 1\n{POSITION}{{position="x{place}"}} 1\n' for place in range(30))
    )
    assert found[:2] == [(2, f"{POSITION} has no position in a draft"), (4, f"{POSITION} has no position in a draft")]
    assert len(found) == 21
    assert found[-1] == (None, "10 more lines like these")


@pytest.mark.parametrize("position", ["", "-1", "1.0", "4096", "99999999999999999999", "²"])
def test_a_position_beyond_any_draft_is_an_error(position: str) -> None:
    assert told(f'{POSITION}{{position="{position}"}} 1') == [(1, f"{POSITION} has no position in a draft")]


def test_one_series_has_one_value_and_those_of_several_servers_are_added() -> None:
    assert told(f"{DRAFTED} 1\n{DRAFTED} 1\n") == [(2, f"{DRAFTED} has a value already")]
    assert parse("m", f'{DRAFTED}{{model="a"}} 1\n{DRAFTED}{{model="b"}} 2\n').drafted == 3


def test_positions_that_are_not_told_are_zeros() -> None:
    assert parse("m", f'{POSITION}{{position="2"}} 4\n{POSITION}{{position="0"}} 9\n').per_position == (9, 0, 4)


@pytest.mark.parametrize("name", [DRAFTED, ACCEPTED, ROUNDS, GENERATED, SECONDS])
def test_a_counter_that_went_down_is_a_server_that_was_started_anew(name: str) -> None:
    first = dict.fromkeys((DRAFTED, ACCEPTED, ROUNDS, GENERATED, SECONDS), 9)
    before, after = parse("m", text(first)), parse("m", text(first | {name: 8}))
    assert restarted(before, after)
    assert between(before, after) is None
    assert between(before, before) == Counts(generated=0, drafted=0, accepted=0, rounds=0)


def test_a_position_that_went_down_or_away_is_one_too() -> None:
    before, after = (parse("m", f'{DRAFTED} 9\n{POSITION}{{position="{place}"}} 4\n') for place in "10")
    assert restarted(before, after)
    assert not restarted(
        after, parse("m", f'{DRAFTED} 9\n{POSITION}{{position="0"}} 4\n{POSITION}{{position="1"}} 1\n')
    )


def test_another_process_is_one_too_although_it_has_counted_more_since() -> None:
    before, after = (parse("m", text({DRAFTED: drafted, ACCEPTED: 9})) for drafted in (9, 99))
    assert not restarted(before, after)
    assert not restarted(replace(before, process="1"), after)
    assert restarted(replace(before, process="1"), replace(after, process="2"))
    assert between(replace(before, process="1"), replace(after, process="2")) is None
    assert not restarted(replace(before, process="1"), replace(after, process="1"))


def test_more_accepted_than_drafted_in_between_is_one_too() -> None:
    before = parse("m", text({DRAFTED: 100, ACCEPTED: 50}))
    assert between(before, parse("m", text({DRAFTED: 110, ACCEPTED: 61}))) is None
    assert between(before, parse("m", text({DRAFTED: 110, ACCEPTED: 60}))) is not None
    rounded = parse("m", text({DRAFTED: "1.00001e+06", ACCEPTED: "1.00001e+06"}))
    assert not restarted(rounded, parse("m", text({DRAFTED: "1.00101e+06", ACCEPTED: "1.00102e+06"})))


def test_a_difference_of_rounded_counters_is_not_believed_and_positions_are_exact() -> None:
    """As a stream of C++ prints 5,123,456 and what follows."""
    rounded = {GENERATED: "5.12346e+06", DRAFTED: "1.00001e+06", ACCEPTED: "1e+06", ROUNDS: 999999, SECONDS: "70123.5"}
    later = {
        GENERATED: "5.12376e+06",
        DRAFTED: "1.00101e+06",
        ACCEPTED: "1.0009e+06",
        ROUNDS: "1.00013e+06",
        SECONDS: "70127.5",
    }
    positions = 'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{{position="0"}} {0}\n'
    before = parse("m", text(rounded) + positions.format(1000000))
    after = parse("m", text(later) + positions.format(1000893))
    assert counts(after).accepted == 1000893
    assert between(before, after) == Counts(drafted=1000, accepted=893, per_position=(893,))
    assert lost(before, after) == ("generated", "seconds", "rounds")


@given(
    st.lists(st.integers(0, 10**9), min_size=2, max_size=2).map(sorted),
    st.lists(st.integers(0, 50), max_size=5),
    st.lists(st.integers(0, 50), max_size=3),
)
def test_what_exact_counters_count_between_is_their_difference(
    generated: list[int], first: list[int], more: list[int]
) -> None:
    before = Scrape(engine="llama.cpp", generated=generated[0], per_position=tuple(first))
    positions = tuple(one + 1 for one in (*first, *more))
    after = Scrape(engine="llama.cpp", generated=generated[1], per_position=positions)
    counted = between(before, after)
    assert counted is not None
    assert counted.generated == generated[1] - generated[0]
    assert counted.per_position == (1,) * len(first) + tuple(one + 1 for one in more)


@given(st.text(max_size=200))
def test_no_text_is_more_than_refused(junk: str) -> None:
    with suppress(Rejected):
        assert parse("m", f"{junk}\n{DRAFTED}{junk}\n").engine in {None, "llama.cpp", "halogen"}


@given(st.integers(0, 10**7))
def test_a_count_is_read_back_to_six_digits_as_a_stream_of_c_prints_it(count: int) -> None:
    scrape = parse("m", f"{DRAFTED} {float(count):g}\n{ACCEPTED} 0\n")
    assert abs((scrape.drafted or 0) - count) <= scrape.steps.get("drafted", 0.0) / 2
    assert ("drafted" in scrape.steps) == (count >= 999999.5 and scrape.drafted != 0)


@pytest.mark.parametrize(
    "line",
    [
        "llamacpp:tokens_predicted_total 1e300",
        'llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position="000000000999999999"} 1',
    ],
)
def test_a_number_that_no_counter_gets_to_is_refused(line: str) -> None:
    with pytest.raises(Rejected):
        parse("m", line)


def test_next_to_no_time_gives_no_rate() -> None:
    assert (
        counts(parse("m", "llamacpp:tokens_predicted_total 5\nllamacpp:tokens_predicted_seconds_total 1e-320")).rate
        is None
    )
