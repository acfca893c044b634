"""What triage takes from logs: rates, steps, the cost of verifying, acceptance; and what a log does not say."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from command import quadgen
from quadgen.observed.log import LogRead, read_log
from quadgen.problems import Rejected
from quadgen.triage import Drafter, Figures, Given, drafter, reading, target
from quadgen.triage.target import either

PLAIN = """\
0.03.673.818 I slot print_timing: id  0 | task 0 | prompt eval time =     478.19 ms /   291 tokens (    1.64 ms per token,   608.55 tokens per second)
0.03.673.868 I slot print_timing: id  0 | task 0 |        eval time =    1000.00 ms /   101 tokens (    9.90 ms per token,   101.00 tokens per second)
0.03.673.882 I slot print_timing: id  0 | task 0 |       total time =    1478.19 ms /   392 tokens
"""  # noqa: E501 - a log's lines
DRAFTING = """\
0.09.673.818 I slot print_timing: id  0 | task 7 | prompt eval time =     478.19 ms /   291 tokens (    1.64 ms per token,   608.55 tokens per second)
0.09.673.868 I slot print_timing: id  0 | task 7 |        eval time =     620.00 ms /    81 tokens (    7.65 ms per token,   130.65 tokens per second)
0.09.673.882 I slot print_timing: id  0 | task 7 |       total time =    1098.19 ms /   372 tokens
0.09.673.904 I slot print_timing: id  0 | task 7 |    graphs reused =         18
0.09.673.924 I slot print_timing: id  0 | task 7 | draft acceptance = 0.87500 (   70 accepted /    80 generated), mean len =  8.00
"""  # noqa: E501 - a log's lines
STATISTICS = """\
0.09.673.989 I spec common_specu: statistics      {kind}: #calls(b,g,a) =    1     10     10, #gen drafts =     10, #acc drafts =    10, #gen tokens =     80, #acc tokens =    70, #mean acc len = 8.00, #acc rate/pos = (1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 1.000, 0.000), dur(b,g,a) = 0.001, {ms}, 0.014 ms
"""  # noqa: E501 - a log's line
HALOGEN = "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round\n"


def log(text: str) -> LogRead:
    return read_log("x.log", [text.encode()])


def near(given: Given | None, value: float, source: str = "x.log") -> bool:
    return given is not None and given.source == source and given.value == pytest.approx(value)


def known(name: str) -> Drafter:
    found = drafter(name)
    assert found is not None
    return found


def test_the_log_of_a_target_that_does_not_draft_says_its_rate_and_a_commit_of_one() -> None:
    figures = reading.figures_of(log(PLAIN))
    assert near(figures.rate, 100)
    assert figures.commit == Given(value=1, source="x.log")
    assert figures.internal is True
    assert figures.plain_step is None


def test_the_log_of_one_that_drafts_says_what_its_rounds_yield_and_what_a_plain_pass_takes() -> None:
    figures = reading.figures_of(log(PLAIN + DRAFTING))
    assert figures.commit is not None
    assert figures.commit.value == pytest.approx(180 / 110)
    assert near(figures.plain_step, 0.010)


def test_the_accounting_line_of_halogen_says_its_commit() -> None:
    figures = reading.figures_of(log(HALOGEN))
    assert figures.commit is not None
    assert figures.commit.value == pytest.approx(62 / 33)


def test_a_target_whose_drafts_were_never_accepted_is_not_said_to_do_without() -> None:
    refused = DRAFTING.replace("0.87500 (   70 accepted", "0.00000 (    0 accepted")
    found = reading.figures_of(log(refused + STATISTICS.format(kind="ngram-cache", ms="1.0")))
    assert near(found.commit, 1)
    assert found.idle == "the target speculates with ngram-cache, and none of its drafts was accepted in x.log"
    assert reading.figures_of(log(PLAIN)).idle is None


def test_a_halogen_whose_rounds_yield_one_token_drafted_although_it_does_not_say_how_much() -> None:
    found = reading.figures_of(log("serve_api: mtp 64 tok in 1.31s = 47.97 t/s | 63 rounds, commit 1.00/round\n"))
    assert near(found.commit, 1)
    assert found.idle == "the target speculates, and none of its drafts was accepted in x.log"


def test_what_a_client_saw_and_what_the_log_counted_go_together() -> None:
    found = target(Figures(rate=Given(value=25, source="--target-rate")), reading.figures_of(log(HALOGEN)))
    assert found.step == pytest.approx(62 / 33 / 25)
    assert found.internal is False


def test_what_one_source_does_not_say_is_taken_from_the_other() -> None:
    live = Figures(rate=Given(value=25, source="url"))
    both = either(live, reading.figures_of(log(HALOGEN)))
    assert both is not None
    assert (both.rate, both.internal) == (live.rate, False)
    assert near(both.commit, 62 / 33)
    assert both.engine_rate == pytest.approx(62 / 1.31)


def test_a_drafter_that_ran_alone_took_the_time_of_its_own_tokens() -> None:
    step = reading.draft_step(log(PLAIN), known("plain"))
    assert near(step, 0.010, "x.log, its own tokens")


@pytest.mark.parametrize(
    ("kind", "name", "seconds"),
    [
        ("draft-mtp", "draft-mtp", 0.060 / 80),
        ("draft-mtp", "head", 0.060 / 80),
        ("draft-dflash", "block", 0.060 / 10),
        ("draft-simple", "plain", 0.060 / 80),
    ],
)
def test_a_drafter_at_work_took_what_its_statistics_say(kind: str, name: str, seconds: float) -> None:
    text = DRAFTING + STATISTICS.format(kind=kind, ms="60.000")
    step = reading.draft_step(log(text), known(name))
    assert near(step, seconds, f"x.log, statistics of {kind}")


def test_the_statistics_of_another_drafter_are_not_taken() -> None:
    with pytest.raises(Rejected, match="has no statistics of a trained head"):
        reading.draft_step(log(DRAFTING + STATISTICS.format(kind="draft-dflash", ms="60.000")), known("head"))


def test_a_log_of_halogen_is_not_told_to_be_written_with_an_option_of_llama_server() -> None:
    for ask in (lambda read: reading.draft_step(read, known("head")), lambda read: reading.verify_cost(read, None)):
        with pytest.raises(Rejected) as refused:
            ask(log(HALOGEN))
        (problem,) = refused.value.problems
        assert problem.hint is not None
        assert "-lv 4" not in problem.hint


def test_verifying_took_what_is_left_of_the_time_of_requests_that_drafted() -> None:
    cost = reading.verify_cost(log(PLAIN + DRAFTING), None)
    # 10 rounds in 620 ms beside plain passes of 10 ms; each verified 8 drafts and one more
    assert cost.factor(9) == pytest.approx(6.2)
    assert cost.source == "x.log: 6.2 passes for 9 tokens, drafting included"
    assert cost.measured is True


def test_the_time_of_drafting_is_not_that_of_verifying() -> None:
    cost = reading.verify_cost(log(PLAIN + DRAFTING + STATISTICS.format(kind="draft-simple", ms="50.000")), None)
    assert cost.factor(9) == pytest.approx(5.7)
    assert cost.source == "x.log: 5.7 passes for 9 tokens"


def test_a_plain_step_of_another_source_will_do() -> None:
    cost = reading.verify_cost(log(DRAFTING), Given(value=0.020, source="--target-step"))
    assert cost.factor(9) == pytest.approx(3.1)
    assert cost.source == "x.log: 3.1 passes for 9 tokens beside 20 ms from --target-step, drafting included"


def test_the_acceptance_of_a_log_is_the_one_that_gives_its_tokens_per_round() -> None:
    band = reading.acceptance(log(DRAFTING), known("plain"))
    assert band.low == band.high
    assert band.low == pytest.approx(0.97, abs=0.005)  # and not 70 / 80
    assert band.source == "x.log: 8 tokens per round at a width of 8"


def test_the_acceptance_of_a_log_with_statistics_is_that_of_the_drafter_in_question() -> None:
    text = DRAFTING + STATISTICS.format(kind="ngram-cache", ms="1.000")
    for name in ("ngram-cache", "ngram"):
        assert reading.acceptance(log(text), known(name)).source == "x.log: 8 tokens per round at a width of 8"
    for name in ("draft-simple", "head", "ngram-mod"):
        with pytest.raises(Rejected, match=r"has no statistics of .*, but of ngram-cache"):
            reading.acceptance(log(text), known(name))


@pytest.mark.parametrize("ask", [reading.draft_step, reading.acceptance])
def test_statistics_of_a_type_that_nobody_knows_are_of_no_class(ask: Callable[[LogRead, Drafter], object]) -> None:
    text = DRAFTING + STATISTICS.format(kind="draft-new", ms="60.000")
    with pytest.raises(Rejected, match="has no statistics of a trained head"):
        ask(log(text), known("head"))


def test_a_log_without_the_number_of_drafts_is_of_the_width_that_was_given() -> None:
    band = reading.acceptance(log(HALOGEN), known("head"), (1,))
    assert band.low == pytest.approx(29 / 33)
    with pytest.raises(Rejected, match="does not say how many tokens a round of drafting yields"):
        reading.acceptance(log(HALOGEN), known("head"), (1, 3))


EMPTY = "0.00.000.001 I srv  llama_server: listening on http://127.0.0.1:8080\n"
UNSAID = [
    (lambda: reading.figures_of(log(EMPTY)), "x.log does not say how long generating took"),
    (lambda: reading.draft_step(log(EMPTY), known("plain")), "x.log does not say what a token of the drafter takes"),
    (lambda: reading.draft_step(log(PLAIN), known("draft-mtp")), "x.log has no statistics of a trained head"),
    (lambda: reading.verify_cost(log(PLAIN), None), "x.log has no request that drafted"),
    (lambda: reading.verify_cost(log(DRAFTING), None), "x.log has no request without drafts"),
    (
        lambda: reading.verify_cost(log(PLAIN + DRAFTING + STATISTICS.format(kind="draft-simple", ms="9999.0")), None),
        "x.log contradicts a plain step of 10 ms",
    ),
    (lambda: reading.acceptance(log(PLAIN), known("plain")), "x.log does not say how many tokens a round"),
]


@pytest.mark.parametrize(("ask", "sentence"), UNSAID, ids=[sentence for _, sentence in UNSAID])
def test_a_log_that_does_not_say_it_is_refused_and_not_taken_for_zero(ask: object, sentence: str) -> None:
    assert callable(ask)
    with pytest.raises(Rejected) as refused:
        ask()
    (problem,) = refused.value.problems
    assert problem.code == "nothing-measured"
    assert problem.message.startswith(sentence)
    assert problem.hint


def test_the_command_takes_all_of_it_from_logs(tmp_path: Path) -> None:
    (tmp_path / "target.log").write_text(PLAIN + DRAFTING, encoding="utf-8")
    (tmp_path / "draft.log").write_text(PLAIN.replace("1000.00", "200.00"), encoding="utf-8")
    done = quadgen(
        *("triage", "--drafter", "plain", "--target-log", "target.log", "--draft-log", "draft.log"),
        *("--verify-log", "target.log", "--acceptance", "target.log"),
        cwd=tmp_path,
    )
    assert (done.status, done.err) == (0, "")
    for line in (
        "  target     rate from target.log, commit from target.log, step = commit / rate",
        "  plain pass 10 ms, from target.log",
        "  drafter    2 ms per pass, from draft.log, its own tokens",
        "  acceptance target.log: 8 tokens per round at a width of 8",
        "  verifying  target.log: 6.2 passes for 9 tokens, drafting included",
    ):
        assert f"{line}\n" in done.out
    assert "engine-internal" in done.out


@pytest.mark.parametrize(
    ("words", "beside"),
    [([], "40 ms from the target's step"), (["--plain-step", "20"], "20 ms from --plain-step")],
)
def test_a_plain_step_that_is_known_goes_before_that_of_the_target(
    tmp_path: Path, words: list[str], beside: str
) -> None:
    (tmp_path / "x.log").write_text(DRAFTING, encoding="utf-8")
    asked = ["--target-rate", "25", "--drafter", "ngram-cache", "--verify-log", "x.log", *words]
    done = quadgen("triage", *asked, "--format", "json", cwd=tmp_path)
    assert beside in json.loads(done.out)["verify"]["source"]


def test_an_option_goes_before_a_log(tmp_path: Path) -> None:
    (tmp_path / "target.log").write_text(PLAIN, encoding="utf-8")
    done = quadgen(
        *("triage", "--drafter", "plain", "--target-log", "target.log", "--draft-log", "target.log"),
        *("--target-rate", "30", "--draft-step", "4", "--verify-log", "target.log", "--verify-cost", "1.2"),
        cwd=tmp_path,
    )
    assert (done.status, done.err) == (0, "")
    assert "  target     rate from --target-rate, commit from target.log, step = commit / rate\n" in done.out
    assert "  drafter    4 ms per pass, from --draft-step\n" in done.out
    assert "  verifying  --verify-cost, the same at every width\n" in done.out


def test_an_acceptance_can_come_through_a_pipe_which_is_read_once(tmp_path: Path) -> None:
    words = ["--target-rate", "25", "--drafter", "draft-simple", "--draft-step", "1", "--acceptance"]
    for text, low in ((DRAFTING, 0.97), ('{"kind": "agreement", "acceptance": {"low": 0.5, "high": 0.6}}', 0.5)):
        receive, send = os.pipe()
        with os.fdopen(receive, "rb"), os.fdopen(send, "wb") as pipe:
            pipe.write(text.encode())
            pipe.close()
            done = quadgen("triage", *words, f"/dev/fd/{receive}", "--format", "json", cwd=tmp_path)
        assert done.status == 0, done.err
        assert json.loads(done.out)["acceptance"]["low"] == pytest.approx(low, abs=0.005)


def test_a_line_that_cannot_be_read_is_refused_with_its_number(tmp_path: Path) -> None:
    (tmp_path / "target.log").write_text(f"{PLAIN}draft acceptance = lots\n", encoding="utf-8")
    done = quadgen("triage", "--drafter", "head", "--target-log", "target.log", cwd=tmp_path)
    assert done.status == 1
    assert "error[unreadable-log]" in done.err
    assert "--> target.log:4:" in done.err


def test_without_requests_a_log_is_refused_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "target.log").write_text(EMPTY, encoding="utf-8")
    done = quadgen("triage", "--drafter", "head", "--target-log", "target.log", cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith("error[nothing-measured]: target.log does not say how long generating took\n")
