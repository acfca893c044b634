"""What `quadgen measure` prints of an outcome, for people and for programs."""

import json
import re
from dataclasses import replace

import pytest

from pages import read
from quadgen.cli import measured, measured_json, measured_text, measuring_taking
from quadgen.cli.measuring_values import Judged, Measured, Next, Subject
from quadgen.evidence import Policy, Request, Row, Setting
from quadgen.measuring.launch import Launch
from quadgen.measuring.result import Likeness, Outcome, Rate, Result
from quadgen.measuring.sample import Arm, Clock, Sample, Turn
from quadgen.problems import Problem, Severity

SETTING = Setting.of(("ngram-map-k",))
REQUEST = Request(
    engine="llama.cpp", build="b11434", backend="cpu", devices=(), model="gemma", header="ab", quantization="Q4_K_M",
    setting=SETTING, against=Setting.of(()), default=Setting.of(()), workload="copy", policy=Policy(),
)  # fmt: skip
BASE = ("--model", "/m.gguf", "--threads", "1")
SUBJECT = Subject(
    what="claw of fleet.yml", profile="mapped", against="none", floor=False, own="copy", decides=True, request=REQUEST,
    launches=(
        Launch(program="/s", arguments=(*BASE, "--spec-type", "ngram-map-k"), types=("ngram-map-k",)),
        Launch(program="/s", arguments=BASE),
    ),
    clock=Clock.CPU, context=4096, carries=False, comparator_carries=False, program="llama-server 0.6.0-dev",
    build="b11434", commit="abcdef1", fingerprint="f0", device="AMD EPYC", comparator_drafts=False,
)  # fmt: skip
COPY = Result(
    workload="copy", clock=Clock.CPU, candidate=Rate(median=40.0, slowest=39.5, fastest=41.25),
    comparator=Rate(median=32.0, slowest=31.0, fastest=32.5), ratio=1.25, interval=(1.2, 1.3), samples=7, drift=0.004,
    drafted=1000, accepted=860, tokens_per_round=3.4, comparator_drafted=0, likeness=Likeness(same=7, rounds=7),
    wall=(39.0, 31.5), outcome=Outcome.WINS,
)  # fmt: skip
PROSE = replace(
    COPY, workload="prose", candidate=Rate(median=31.0, slowest=30.0, fastest=31.5), ratio=0.969,
    interval=(0.95, 0.985), drift=None, drafted=0, accepted=0, tokens_per_round=None, wall=None,
    outcome=Outcome.LOSES,
    likeness=Likeness(same=6, rounds=7, first=(2, 40), candidate="the sea", comparator="the lake"),
)  # fmt: skip
SAMPLE = Sample(
    turn=Turn(arm=Arm.CANDIDATE, workload="copy", round=0), tokens=199, seconds=5.0, cpu_seconds=4.9, prompt=300,
    cached=0, drafted=140, accepted=120, rounds=50, output=(1, 2), text="ab",
)  # fmt: skip
ROW = Row(
    id="claw-cpu-gemma-mapped-copy", engine="llama.cpp", build="b11434", backend="cpu", device="AMD EPYC",
    model="gemma", workload="copy", setting=SETTING, against=Setting.of(()), ratio=1.25, samples=7, source="here",
)  # fmt: skip
OUTCOME = Measured(
    subject=SUBJECT,
    judged=(Judged(first=replace(COPY, ratio=1.3, interval=(1.25, 1.35)), confirmation=COPY), Judged(first=PROSE)),
    samples=(SAMPLE,),
    workloads={"copy": "c0", "prose": "p0"},
    tokens=200,
    state=None,
    rows={"copy": ROW},
    ledger="measurements/claw.yml",
    next=Next(granted=True, said="grants mapped to claw: 1.25x"),
    spent={"asked": 60.0, "loading": 5.0, "own": 1.0},
)

TEXT = """\
measured  mapped (ngram-map-k) against none (none)
          claw of fleet.yml: gemma, Q4_K_M, on cpu, AMD EPYC
          llama-server 0.6.0-dev, commit abcdef1; b11434 in the rows
          only the candidate: --spec-type ngram-map-k
          200 tokens a sample, in tok/CPU-s

workload   n             candidate            comparator    ratio   95% interval      verdict
    copy   7   40.00 (39.50-41.25)   32.00 (31.00-32.50)   1.250x    1.200-1.300   wins again
   prose   7   31.00 (30.00-31.50)   32.00 (31.00-32.50)   0.969x    0.950-0.985        loses

copy: 860 of 1000 drafts accepted (86.0%), 3.40 tokens a round that drafts; both said the same; comparator
      +0.4% from its first samples to its last; 39.0 against 31.5 tok/s; at first 1.300x (1.250-1.350)
prose: nothing drafted; the same in 6 of 7 rounds, else from token 41 of round 3 on

recorded  in measurements/claw.yml: claw-cpu-gemma-mapped-copy
render    grants mapped to claw: 1.25x
"""


def test_the_outcome_says_what_was_compared_what_came_out_and_what_becomes_of_it() -> None:
    assert measured_text.as_text(OUTCOME) == TEXT


def test_rows_that_no_ledger_has_take_standard_output_and_words_do_not(capsys: pytest.CaptureFixture[str]) -> None:
    measured.show(replace(OUTCOME, ledger=None, text="version: 1\n", next=None), json=False)
    out, err = capsys.readouterr()
    assert out == "version: 1\n"
    assert "nowhere; the rows are on standard output: claw-cpu-gemma-mapped-copy" in err


def test_words_stay_off_a_standard_output_of_rows_also_where_there_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    measured.show(replace(OUTCOME, ledger=None, rows={}, next=None), json=False)
    out, err = capsys.readouterr()
    assert out == ""
    assert "recorded  nothing" in err


def test_json_has_every_sample_and_no_key_that_the_page_does_not_list() -> None:
    told = json.loads(measured_json.as_json(OUTCOME))
    page = read("docs/measure.md").partition("\n## JSON\n")[2].partition("\n## ")[0]
    listed = {key: what for names, what in re.findall(r"(?m)^\| (`.+?) \| (.+) \|$", page) for key in _keys(names)}
    assert listed.keys() == told.keys()
    for name in ("compared", "workloads", "samples", "next"):
        shown = told[name][0] if isinstance(told[name], list) else told[name]
        assert shown.keys() <= set(_keys(listed[name])), name
    assert [each["name"] for each in told["workloads"]] == ["copy", "prose"]
    copy, prose = told["workloads"]
    assert (copy["row"], copy["confirmed"], copy["first"]["ratio"]) == ("claw-cpu-gemma-mapped-copy", True, 1.3)
    assert (prose["row"], prose["confirmed"], prose["first"]) == (None, None, None)
    assert prose["first_difference"] == {"round": 2, "token": 40, "candidate": "the sea", "comparator": "the lake"}
    assert told["compared"]["candidate"] == ["/s", *BASE, "--spec-type", "ngram-map-k"]
    assert told["samples"][0]["cpu_seconds"] == 4.9
    assert told["next"] == {"granted": True, "said": "grants mapped to claw: 1.25x"}


def _keys(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize(
    ("second", "confirmed"),
    [(None, False), (COPY, True), (replace(COPY, outcome=Outcome.UNDECIDED), False)],
    ids=["not looked for", "seen again", "not seen again"],
)
def test_a_win_is_confirmed_where_it_was_seen_again(second: Result | None, *, confirmed: bool) -> None:
    assert Judged(first=COPY, confirmation=second).confirmed is confirmed
    assert Judged(first=replace(COPY, outcome=Outcome.LOSES)).confirmed is None


@pytest.mark.parametrize(
    ("judged", "said"),
    [
        (Judged(first=COPY), "wins, not confirmed"),
        (Judged(first=COPY, confirmation=replace(COPY, outcome=Outcome.UNDECIDED)), "won once, then undecided"),
        (Judged(first=replace(COPY, outcome=Outcome.UNDECIDED)), "undecided"),
        (Judged(first=replace(COPY, objections=(Problem(code="baseline-drift", message="m"),))), "no evidence"),
    ],
)
def test_a_verdict_says_whether_a_win_was_seen_again(judged: Judged, said: str) -> None:
    line = measured_text.as_text(replace(OUTCOME, judged=(judged,))).split("\n")[7]
    assert line.endswith(f"  {said}")


def test_only_an_error_makes_it_refused() -> None:
    def with_(severity: Severity) -> Measured:
        problem = Problem(code="degenerate-output", message="m", severity=severity)
        return replace(OUTCOME, judged=(Judged(first=replace(COPY, objections=(problem,))),))

    assert with_(Severity.ERROR).refused
    assert not with_(Severity.WARNING).refused
    assert not OUTCOME.refused


def test_the_command_that_goes_on_is_the_same_with_resume() -> None:
    words = ["measure", "--fleet", "my fleet.yml", "claw", "--resume", "--profile", "mapped"]
    assert measuring_taking.again(words) == "quadgen measure --fleet 'my fleet.yml' claw --profile mapped --resume"
