"""Whole logs: what real servers say of their drafts, and what it proves."""

import re
from pathlib import Path

import pytest

from quadgen.observed.counts import Counts
from quadgen.observed.log import LogRead, read_log
from quadgen.observed.state import State
from quadgen.problems import Problem, Rejected

DATA = Path(__file__).parent / "data"
CAPTURES = DATA / "captures"
PREFIX = "0.05.115.386 I slot print_timing: id  {} | task {} | "
TIME = "       eval time =    {}.00 ms /    {} tokens (   12.42 ms per token,    80.51 tokens per second)"
DRAFT = "draft acceptance = 0.79528 (  {} accepted /   {} generated), mean len =  {}"
START = "0.00.000.993 I srv  llama_server: initializing ..."
ADDED = "0.00.097.421 I spec common_specu: adding speculative implementation 'ngram-cache'"
SILENT = (
    "0.01.050.286 E srv    load_model: failed to initialize speculative decoding context: "
    "draft-simple requires a draft context"
)
NONE = "0.01.018.360 I spec common_specu: no implementations specified for speculative decoding"
STATISTICS = (
    "0.03.673.989 I spec common_specu: statistics      ngram-cache: #calls(b,g,a) = 1 29 29, #gen drafts = {0}, "
    "#acc drafts = 1, #gen tokens = {1}, #acc tokens = {0}, dur(b,g,a) = 0.001, {1}.500, 0.014 ms"
)
"""To be filled with rounds, of which each has a token accepted, and with drafted tokens."""


def log(*lines: str) -> LogRead:
    return read_log("server.log", ["".join(f"{line}\n" for line in lines).encode()])


def of(path: Path) -> LogRead:
    return read_log(path.name, [path.read_bytes()])


def timed(slot: int, task: int, tokens: int, milliseconds: int = 100) -> str:
    return PREFIX.format(slot, task) + TIME.format(milliseconds, tokens)


def drafted(slot: int, task: int, accepted: int, of: int, mean: str) -> str:
    return PREFIX.format(slot, task) + DRAFT.format(accepted, of, mean)


def refused(*lines: str) -> tuple[Problem, ...]:
    with pytest.raises(Rejected) as raised:
        log(*lines)
    return raised.value.problems


@pytest.mark.parametrize(
    ("name", "state", "plain", "drafting"),
    [
        ("cap-b10434-default.serverlog.txt", State.UNKNOWN, (0, 0), (0, 0, None, None)),
        ("cap-b11434-default.serverlog.txt", State.UNKNOWN, (0, 0), (0, 0, None, None)),
        ("cap-b10434-nospec.serverlog-lv3.txt", State.UNKNOWN, (4, 224), (0, 0, None, None)),
        ("cap-b11434-nospec.serverlog-lv3.txt", State.UNKNOWN, (4, 224), (0, 0, None, None)),
        ("cap-b10434-ngram-cache.serverlog-lv3.txt", State.RUNNING, (0, 0), (4, 224, 253, 168)),
        ("cap-b11434-log-jsonl.txt", State.NEVER_ACCEPTED, (0, 0), (1, 20, 8, 0)),
        ("contam2-b11434.log", State.RUNNING, (0, 0), (3, 416, 221, 13)),
        # the part of a trace log from where its slots are set up
        ("kv-b11434-c8192-np1-q8_0-q4_0.log", State.OFF, (0, 0), (0, 0, None, None)),
        ("load-b11434-all-ngram.log", State.RUNNING, (0, 0), (1, 24, 20, 20)),
        ("load-b11434-draft-mtp-nohead.log", State.NOT_RUNNING, (0, 0), (0, 0, None, None)),
        ("load-b11434-draft-simple-noMD.log", State.NOT_RUNNING, (1, 24), (0, 0, None, None)),
    ],
)
def test_a_log_of_a_real_server_gives_its_counts(
    name: str, state: State, plain: tuple[int, int], drafting: tuple[int, int, int | None, int | None]
) -> None:
    found = of(CAPTURES / name)
    assert found.observation.state is state
    assert (found.observation.engine, found.observation.source, found.cut) == ("llama.cpp", name, False)
    assert (found.plain.requests, found.plain.generated) == plain
    counts = found.drafting
    assert (counts.requests, counts.generated, counts.drafted, counts.accepted) == drafting
    assert found.lines == (CAPTURES / name).read_text().count("\n")


@pytest.mark.parametrize("build", ["b10434", "b11434"])
def test_a_log_counts_what_the_counters_of_the_same_server_do(build: str) -> None:
    text = (CAPTURES / f"cap-{build}-ngram-cache.metrics-after.txt").read_text()
    said = {name: float(value) for name, value in re.findall(r"(?m)^llamacpp:(\w+) (\S+)$", text)}
    path = {"b10434": CAPTURES / "cap-b10434-ngram-cache.serverlog-lv3.txt", "b11434": DATA / "server-log-b11434.txt"}
    total = of(path[build]).observation.total
    assert total is not None
    assert total.drafted is not None
    assert total.accepted is not None
    # the counters were read before the last request of the log
    assert total.drafted - said["spec_decode_num_draft_tokens_total"] in {0, 52}
    assert total.accepted == said["spec_decode_num_accepted_tokens_total"]


def test_the_statistics_of_a_trace_log_tell_the_drafters_apart_and_make_rounds_and_positions_exact() -> None:
    found = of(CAPTURES / "load-b11434-all-ngram.log")
    assert found.drafting == Counts(
        requests=1, generated=24, seconds=0.18069, drafted=20, accepted=20, rounds=3,
        per_position=(3, 3, 3, 3, 2, 2, 2, 2),
    )  # fmt: skip
    drafters = found.observation.drafters
    assert {name: (each.drafted, each.rounds) for name, each in drafters.items()} == {
        "ngram-simple": (0, 0), "ngram-map-k": (0, 0), "ngram-map-k4v": (0, 0), "ngram-mod": (4, 1),
        "ngram-cache": (16, 2),
    }  # fmt: skip
    assert found.observation.draft_seconds["ngram-cache"] == 39e-6


def test_every_wording_that_a_build_has_had_is_counted() -> None:
    found = of(DATA / "acceptance-lines.txt")
    total = found.observation.total
    assert total is not None
    assert (total.drafted, total.accepted, total.requests) == (7000, 6712, 4)
    assert (total.generated, total.seconds, total.rounds) == (None, None, None)
    assert found.observation.drafters["draft-eagle3"].per_position == (70, 55, 42)


def test_requests_that_drafted_are_told_from_those_that_did_not_though_slots_log_across_each_other() -> None:
    found = log(timed(0, 5, 10), timed(1, 6, 20), timed(2, 7, 40), drafted(0, 5, 6, 9, "3.00"), "", timed(3, 8, 80))
    assert found.plain == Counts(requests=3, generated=140, seconds=0.3)
    assert found.drafting == Counts(requests=1, generated=10, seconds=0.1, drafted=9, accepted=6, rounds=3)
    assert found.observation.total == Counts(
        requests=4, generated=150, seconds=0.4, drafted=9, accepted=6, rounds=3
    )  # fmt: skip


def test_a_line_of_positions_settles_how_many_rounds_there_were() -> None:
    lines = [timed(0, 5, 111), drafted(0, 5, 30, 160, "1.38")]
    assert log(*lines).drafting.rounds is None
    found = log(*lines, PREFIX.format(0, 5) + "     acc per pos = (0.250, 0.125)").drafting
    assert (found.rounds, found.per_position) == (80, (20, 10))


def test_where_nothing_was_drafted_the_log_does_not_say_whether_speculation_is_on() -> None:
    observation = log(START, timed(0, 1, 20)).observation
    assert observation.state is State.UNKNOWN
    assert observation.reasons == (
        "no request drafted a token; the log does not say whether speculation is on (start with -lv 4)",
    )
    idle = log(START, ADDED, timed(0, 1, 20)).observation
    assert idle.state is State.IDLE
    assert idle.reasons == ("the drafter ngram-cache is set up (line 2)", "no request drafted a token")
    assert log(START, NONE, timed(0, 1, 20)).observation.state is State.OFF
    assert log(START, SILENT, timed(0, 1, 20)).observation.state is State.NOT_RUNNING


@pytest.mark.parametrize(
    ("accepted", "state"), [(0, State.NEVER_ACCEPTED), (1, State.NEVER_ACCEPTED), (50, State.RUNNING)]
)
def test_drafts_that_are_hardly_ever_accepted_are_not_speculation(accepted: int, state: State) -> None:
    observation = log(timed(0, 1, 20), drafted(0, 1, accepted, 894, "1.00")).observation
    assert (observation.state, observation.reasons) == (
        state, (f"{accepted} of 894 drafted tokens were accepted in 1 request",)
    )  # fmt: skip


def test_drafts_that_are_too_few_to_condemn_a_drafter_are_said_to_be() -> None:
    few, more = (log(timed(0, 1, 20), drafted(0, 1, 0, of, "1.00")).observation.reasons for of in (8, 894))
    assert few == ("0 of 8 drafted tokens were accepted in 1 request, which is too few to say much",)
    assert "few" not in more[0]


def test_of_several_runs_the_counts_are_added_and_the_last_that_says_anything_is_the_state() -> None:
    one = [START, timed(0, 1, 20), drafted(0, 1, 6, 9, "3.00")]
    found = log(*one, START, SILENT, timed(0, 1, 40), START)
    assert (found.runs, found.observation.state) == (2, State.NOT_RUNNING)
    assert found.observation.notes == (
        "the log has 2 runs of the server: counts are of all, the state is that of the last one",
    )
    assert (found.plain.requests, found.drafting.requests) == (1, 1)
    assert log(*one, START, timed(0, 1, 40)).observation.state is State.RUNNING


def test_statistics_go_on_from_request_to_request_and_begin_anew_in_a_new_run() -> None:
    found = log(*(STATISTICS.format(rounds, tokens) for rounds, tokens in [(2, 4), (5, 9), (1, 3), (4, 8)])).observation
    assert found.drafters == {"ngram-cache": Counts(drafted=17, accepted=9, rounds=9)}
    assert found.draft_seconds == {"ngram-cache": pytest.approx(0.018)}
    assert found.total == found.drafters["ngram-cache"]


def test_the_statistics_of_each_server_of_a_router_go_on_by_themselves() -> None:
    router = "0.00.014.657 I srv  llama_server: starting server in router mode. models will be automatically loaded"
    told = [("[81] ", 2, 4), ("[82] ", 1, 1), ("[81] ", 5, 9), ("[82] ", 4, 8), ("[82] ", 1, 3)]
    found = log(router, f"[81] {START}", *(
        line for port, rounds, tokens in told
        for line in (f"[82] {START}", f"{port}{STATISTICS.format(rounds, tokens)}")
    ))  # fmt: skip
    assert found.observation.drafters == {"ngram-cache": Counts(drafted=20, accepted=10, rounds=10)}
    assert found.observation.draft_seconds == {"ngram-cache": pytest.approx(0.0215)}
    assert found.observation.notes == ("the log is a router's: counts and state are of all its models together",)


def test_what_systemd_says_of_a_unit_that_has_come_up_is_no_new_run() -> None:
    started = "Nov 29 23:28:00 claw systemd[1]: Started chat.service - chat on claw."
    found = log(START, ADDED, "0.01.079.809 I srv  llama_server: listening on http://127.0.0.1:1", started)
    assert (found.runs, found.observation.state) == (1, State.IDLE)


def test_a_log_that_begins_within_a_request_leaves_that_one_out() -> None:
    rest = [timed(0, 2, 20), drafted(0, 2, 6, 9, "3.00")]
    found = log(drafted(0, 1, 50, 90, "6.00"), *rest)
    assert found.drafting == log(*rest).drafting
    assert found.observation.notes == ("the log begins within what is said of a request, which is not counted",)
    assert log(drafted(0, 1, 50, 90, "6.00")).drafting == Counts(requests=1, drafted=90, accepted=50, rounds=10)


def test_every_line_that_cannot_be_read_is_reported_at_its_place() -> None:
    bad = "0.05.115.386 I draft acceptance = 1.5 (  13 accepted /   12 generated)"
    problems = refused(START, bad, timed(0, 1, 20), "statistics ngram-mod: none")
    assert [each.code for each in problems] == ["unreadable-log"] * 2
    places = [each.place for each in problems]
    assert [(each.file, each.line, each.column, each.text) for each in places if each] == [
        ("server.log", 2, 16, bad),
        ("server.log", 4, 1, "statistics ngram-mod: none"),
    ]


def test_of_a_thousand_lines_that_cannot_be_read_the_first_are_shown_and_the_others_counted() -> None:
    problems = refused(*["draft acceptance = \x1b]0;title\x07" + "x" * 5000] * 1000)
    assert len(problems) == 20
    assert [each.notes for each in problems[18:]] == [(), ("and 980 more such lines",)]
    assert all(each.place and len(each.place.text) <= 200 and each.place.text.isprintable() for each in problems)


def test_halogen_is_counted_by_its_rounds() -> None:
    found = log(
        "Nov 29 23:28:00 claw halogen[812]: serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round",
        "Nov 29 23:28:09 claw halogen[812]: serve_api: mtp 250 tok in 6.75s = 37.05 t/s | 153 rounds, "
        "commit 1.63/round | prompt 1287 (1035 cached), prefill 1.26s | detok 31us/tok",
        "Nov 29 23:28:10 claw halogen[812]: serve_api: mtp 1 tok in 0.00s = n/a | prompt 75298, prefill 85.39s",
    )
    assert found.drafting == Counts(requests=3, generated=314, seconds=8.06, accepted=125, rounds=186)
    assert found.observation.total == found.drafting
    assert found.drafting.tokens_per_pass == 311 / 186
    assert (found.observation.engine, found.observation.state) == ("halogen", State.RUNNING)
    assert found.observation.reasons == ("186 rounds yielded 1.67 tokens each",)


def test_halogen_that_answers_with_its_serial_drafter_does_not_speculate() -> None:
    serial = "serve_api: serial 100 tok in 4.0s = 25.0 t/s | prompt 500, prefill 2.0s"
    found = log(serial, serial)
    assert found.observation.state is State.OFF
    assert found.observation.reasons == ("the serial drafter answered 2 requests",)
    assert found.plain == Counts(requests=2, generated=200, seconds=8.0)
    mixed = log(serial, "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round").observation
    assert mixed.state is State.RUNNING
    assert "the serial drafter answered 1 request" in mixed.notes


def test_an_empty_log_says_nothing() -> None:
    found = read_log("log", [])
    assert (found.lines, found.runs, found.cut) == (0, 0, False)
    assert found.observation.reasons == ("the log has no line of a server's that is known",)
