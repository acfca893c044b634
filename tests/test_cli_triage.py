"""`quadgen triage`: the worked example, every option, and what is wrong with each."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from command import Done, quadgen
from pages import read

WORKED = ["--target-step", "67", "--target-rate", "25", "--draft-step", "12", "--drafter", "plain"]
SVG = "{http://www.w3.org/2000/svg}"


def triage(here: Path, *words: str) -> Done:
    return quadgen("triage", *words, cwd=here)


def told(here: Path, *words: str) -> Any:
    done = triage(here, *words, "--format", "json")
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)


def test_the_worked_example_as_json(tmp_path: Path) -> None:
    answer = told(tmp_path, *WORKED, "--width", "1,3,5,7")
    assert answer["verdict"] == "loses"
    assert answer["incumbent"] == 25
    assert answer["break_even"] == {
        "1": None,
        "3": pytest.approx(0.752, abs=5e-4),
        "5": pytest.approx(0.757, abs=5e-4),
        "7": pytest.approx(0.782, abs=5e-4),
    }
    assert answer["projection"]["3"] == {"0.4": pytest.approx(14.80, abs=5e-3), "0.6": pytest.approx(19.84, abs=5e-3)}
    assert answer["break_even_plain"]["3"] == pytest.approx(0.406, abs=5e-4)
    assert answer["target"]["commit_per_round"] == pytest.approx(1.675)
    assert answer["drafter"] == {
        "class": "plain", "type": None, "step_ms": 12, "source": "--draft-step",
        "passes": "one pass of the whole draft model for each drafted token", "free": False,
    }  # fmt: skip
    assert len(answer["reasons"]) == 5


def test_the_worked_example_as_text(tmp_path: Path) -> None:
    done = triage(tmp_path, *WORKED, "--width", "1,3,5,7")
    assert (done.status, done.err) == (0, "")
    head = "a plain draft model: loses, it does not pay even at the upper end of what is to be expected\n(a) "
    assert done.out.startswith(head)
    rows = [line.split() for line in done.out.splitlines()]
    assert ["3", "109.7", "ms", "0.752", "0.406"] in rows
    assert ["1", "85.7", "ms", "none", "0.279"] in rows
    assert ["3", "1.62", "14.8", "2.18", "19.8"] in rows


def test_the_keys_of_an_answer_are_those_that_the_page_lists(tmp_path: Path) -> None:
    table = section("docs/triage.md", "The answer").partition("`--format json`")[2]
    listed = {key for row in re.findall(r"(?m)^\| (`.+?`) \|", table) for key in re.findall(r"`(\w+)`", row)}
    assert listed - {"projected"} == told(tmp_path, *WORKED).keys()


def section(page: str, heading: str) -> str:
    return read(page).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_page_says_what_the_formula_gives_where_its_source_says_something_else(tmp_path: Path) -> None:
    answer = told(tmp_path, *WORKED, "--width", "3,5")
    three, five = (round(p, 3) for p in answer["break_even"].values())
    low, high = (round(rate, 1) for rate in answer["projection"]["3"].values())
    prose = " ".join(section("docs/triage.md", "The worked example").split())
    assert f"it gives {three} and {five}" in prose
    assert f"the formula gives {low} to {high} at a width of 3" in prose


def test_the_widths_are_1_3_and_7_where_nobody_says(tmp_path: Path) -> None:
    assert told(tmp_path, *WORKED)["widths"] == [1, 3, 7]


def test_an_acceptance_of_one_number_is_a_band_without_width(tmp_path: Path) -> None:
    answer = told(tmp_path, *WORKED, "--acceptance", "0.9", "--width", "3,3")
    assert answer["acceptance"] == {"low": 0.9, "high": 0.9, "source": "--acceptance"}
    assert answer["projection"] == {"3": {"0.9": pytest.approx(31.35, abs=5e-3)}}
    assert answer["verdict"] == "wins"


def test_an_acceptance_can_be_said_in_tokens_of_a_round(tmp_path: Path) -> None:
    band = told(tmp_path, *WORKED, "--acceptance", "2.176@3")["acceptance"]
    assert band["low"] == band["high"] == pytest.approx(0.6)
    assert band["source"] == "--acceptance, 2.176 tokens per round at a width of 3"


@pytest.mark.parametrize(
    ("cost", "factors"),
    [("2", {"1": 2, "3": 2, "7": 2}), ("2:1.1,4:1.3,8:2.1", {"1": 1.1, "3": 1.3, "7": 2.1})],
)
def test_verifying_costs_what_is_said(tmp_path: Path, cost: str, factors: dict[str, float]) -> None:
    verify = told(tmp_path, *WORKED, "--verify-cost", cost)["verify"]
    assert verify["factors"] == factors
    assert verify["measured"] is True


def test_a_lookup_has_its_own_widths_and_needs_no_step(tmp_path: Path) -> None:
    answer = told(tmp_path, "--target-rate", "25", "--drafter", "ngram-mod", "--drafting-share", "0.25")
    assert answer["widths"] == [48, 64]
    assert answer["drafter"]["free"] is False
    assert answer["overall"]["48"]["1"] < answer["projection"]["48"]["1"]
    assert answer["verdict"] == "depends"


def test_a_plain_pass_that_was_measured_takes_the_place_of_the_round_of_today(tmp_path: Path) -> None:
    answer = told(tmp_path, *WORKED, "--plain-step", "55", "--width", "3")
    assert answer["incumbent"] == 25
    assert answer["target"]["plain_step_ms"] == 55
    assert answer["round_ms"]["3"] == pytest.approx(3 * 12 + 1.1 * 55)


WRONG = [
    (["--target-rate", "0"], "--target-rate", "0 is not a number above 0 that a machine could have"),
    (["--target-rate", "-3"], "--target-rate", "-3 is not a number above 0"),
    (["--target-rate", "nan"], "--target-rate", "nan is not a number above 0"),
    (["--target-rate", "inf"], "--target-rate", "inf is not a number above 0"),
    (["--target-rate", "1e300"], "--target-rate", "1e+300 is not a number above 0"),
    (["--target-rate", "x"], "--target-rate", "Invalid value"),
    (["--target-step", "0"], "--target-step", "0 is not a number above 0"),
    (["--target-step", "10"], "--target-step", "a round of the target yields at least 1 token"),
    (["--plain-step", "-1"], "--plain-step", "-1 is not a number above 0"),
    (["--commit-per-round", "1.4"], "--commit-per-round", "the commit per round is said to be 1.4"),
    (["--commit-per-round", "0.9"], "--commit-per-round", "0.9 is not a number of tokens"),
    (["--commit-per-round", "nan"], "--commit-per-round", "nan is not a number of tokens"),
    (["--draft-step", "0"], "--draft-step", "0 is not a number above 0"),
    (["--drafter", "draft"], "--drafter", "'draft' is none of"),
    (["--width", "0"], "--width", "a round drafts at least 1 token, and at most 4096"),
    (["--width", "4097"], "--width", "at most 4096"),
    (["--width", "3,x"], "--width", "'x' is not a width"),
    (["--width", ""], "--width", "'' is not a width"),
    (["--width", "-1"], "--width", "'-1' is not a width"),
    (["--width", "9" * 5000], "--width", "is not a width"),
    (["--width", ",".join(map(str, range(1, 66)))], "--width", "these are 65 widths, and at most 64 are shown"),
    (["--acceptance", "1.5"], "--acceptance", "1.5 is not an acceptance: that is between 0 and 1"),
    (["--acceptance", "-0.5"], "--acceptance", "-0.5 is not an acceptance"),
    (["--acceptance", "nan"], "--acceptance", "nan is not an acceptance"),
    (["--acceptance", ""], "--acceptance", "say an acceptance between 0 and 1, or a file"),
    (["--acceptance", "0.6-0.4"], "--acceptance", "0.6-0.4 goes from more to less"),
    (["--acceptance", "0.4-1.2"], "--acceptance", "0.4-1.2 is not an acceptance"),
    (["--acceptance", "4.5@3"], "--acceptance", "4.5@3: a round of 3 drafts yields at least 1 token, at most 4"),
    (["--acceptance", "0.5@3"], "--acceptance", "0.5@3: a round of 3 drafts yields at least 1 token"),
    (["--acceptance", "nan@3"], "--acceptance", "nan@3: a round of 3 drafts yields at least 1 token"),
    (["--acceptance", "2@0"], "--acceptance", "2@0: a round drafts at least 1 token, and at most 4096"),
    (["--acceptance", "2@inf"], "--acceptance", "2@inf: a round drafts at least 1 token"),
    (["--verify-cost", "0"], "--verify-cost", "0 is not a multiple of a pass over one token"),
    (["--verify-cost", "nan"], "--verify-cost", "nan is not a multiple"),
    (["--verify-cost", "x"], "--verify-cost", "'x' is no number: write 1.3, or 4:1.2,8:1.6"),
    (["--verify-cost", "1:1.2"], "--verify-cost", "a pass over 1 tokens is none that verifies drafts"),
    (["--verify-cost", "4:1.2,4:1.3"], "--verify-cost", "give each number of tokens once, in ascending order"),
    (["--verify-cost", "8:1.2,4:1.3"], "--verify-cost", "in ascending order"),
    (["--verify-cost", "4:"], "--verify-cost", "'' is no number"),
    (["--verify-cost", "x:2"], "--verify-cost", "'x' is not a number of tokens"),
    (["--drafting-share", "0.5"], "--drafting-share", "a plain draft model drafts in every round"),
    (["--drafter", "ngram", "--drafting-share", "1.5"], "--drafting-share", "1.5 is not a share above 0, up to 1"),
    (["--drafter", "ngram", "--drafting-share", "0"], "--drafting-share", "0 is not a share above 0"),
    (["--drafter", "ngram"], "--draft-step", "an n-gram drafter looks its drafts up"),
    (["--curve", "curve.png"], "--curve", "'curve.png' ends with neither of .svg and .html"),
    (["--tokens", "4"], "--tokens", "Invalid value"),
    (["--format", "sarif"], "--format", "Invalid value"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "option", "sentence"), WRONG, ids=[" ".join(words)[:40] for words, *_ in WRONG])
def test_what_is_wrong_with_an_option_is_said_with_its_name(
    tmp_path: Path, words: list[str], option: str, sentence: str
) -> None:
    options = [f"{one}={other}" for one, other in zip(words[::2], words[1::2], strict=True)]
    done = triage(tmp_path, *WORKED, *options)
    assert (done.status, done.out) == (2, "")
    plain = " ".join(done.err.replace("│", " ").split())
    assert option in plain
    assert sentence in plain
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--target-rate", "25"], "Invalid value for --drafter: say which it is"),
        (["--drafter", "plain", "--draft-step", "12"], "say what the target does today"),
        (["--drafter", "plain", "--draft-step", "12", "--commit-per-round", "2"], "say what the target does today"),
        (["--drafter", "plain", "--target-rate", "25"], "say what a pass of the draft model takes"),
    ],
)
def test_what_is_missing_is_asked_for(tmp_path: Path, words: list[str], sentence: str) -> None:
    done = triage(tmp_path, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in " ".join(done.err.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["--drafter", "plain", "--draft-step", "1", "--acceptance", "0.8"], "wins"),
        (["--drafter", "plain", "--draft-step", "1"], "depends"),
        (["--drafter", "plain", "--draft-step", "90"], "cannot-pay"),
        (["--drafter", "head"], "undecided"),
        (["--drafter", "draft-dflash", "--acceptance", "0.1"], "loses"),
    ],
)
def test_every_verdict_ends_well(tmp_path: Path, words: list[str], verdict: str) -> None:
    assert told(tmp_path, "--target-rate", "25", "--target-step", "67", *words)["verdict"] == verdict


@pytest.mark.parametrize(
    "words",
    [
        ["--target-rate", "1e-6", "--drafter", "plain", "--draft-step", "1e9", "--width", "4096"],
        ["--target-rate", "1e9", "--drafter", "block", "--draft-step", "1e-6", "--verify-cost", "1e9"],
        ["--target-step", "1e9", "--drafter", "ngram", "--acceptance", "1", "--verify-cost", "2:1e-6,3:1e9"],
        ["--target-step", "1e-6", "--commit-per-round", "4097", "--drafter", "head", "--acceptance", "0"],
    ],
)
def test_numbers_at_the_edge_of_what_is_taken_have_an_answer(tmp_path: Path, words: list[str]) -> None:
    told(tmp_path, *words, "--curve", "edge.svg")
    ET.parse(tmp_path / "edge.svg")  # noqa: S314 - our own


def test_a_log_that_is_not_there_is_an_affair_of_the_machine(tmp_path: Path) -> None:
    done = triage(tmp_path, *WORKED, "--acceptance", "agreed.json")
    assert (done.status, done.out) == (4, "")
    assert done.err == "quadgen: cannot read agreed.json: No such file or directory\n"


# the file of an agreement


def test_the_band_of_an_agreement_is_taken_from_its_file(tmp_path: Path) -> None:
    record = {"kind": "agreement", "acceptance": {"low": 0.51, "high": 0.58, "estimate": 0.55}}
    (tmp_path / "agreed.json").write_text(json.dumps(record), encoding="utf-8")
    answer = told(tmp_path, *WORKED, "--acceptance", "agreed.json")
    assert answer["acceptance"] == {"low": 0.51, "high": 0.58, "source": "agreed.json"}


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "agreement"},
        {"kind": "agreement", "acceptance": {"low": 0.5}},
        {"kind": "agreement", "acceptance": {"low": 0.5, "high": 0.4}},
        {"kind": "agreement", "acceptance": {"low": 0.5, "high": "0.6"}},
        {"kind": "agreement", "acceptance": {"low": 0.5, "high": 1.6}},
        {"kind": "agreement", "acceptance": {"low": False, "high": True}},
        {"kind": "agreement", "acceptance": {"low": float("nan"), "high": 0.6}},
        {"kind": "agreement", "acceptance": {"low": 0.5, "high": 10**400}},
        {"kind": "observation", "acceptance": {"low": 0.5, "high": 0.6}},
        {"acceptance": 0.5},
    ],
    ids=lambda record: str(record)[:60],
)
def test_an_object_that_is_no_agreement_is_refused(tmp_path: Path, record: object) -> None:
    (tmp_path / "agreed.json").write_text(json.dumps(record), encoding="utf-8")
    done = triage(tmp_path, *WORKED, "--acceptance", "agreed.json")
    assert (done.status, done.out) == (1, "")
    assert done.err.startswith(
        "error[unreadable-agreement]: agreed.json is not what `quadgen agreement --format json` prints\n"
    )


NO_AGREEMENT: list[tuple[bytes, str | None]] = [
    (b"[]", None),
    (b'[{"kind": "agreement"}]', None),
    (b'{"kind": "agreement", "acceptance": {"low": 0.', "it is no JSON: "),
    (b'{\n  "kind": "agreement",\n', "it is no JSON: "),
    (b"[" * 100_000, "it is nested too deep"),
    (b'{"a":' * 100_000, "it is nested too deep"),
    (json.dumps({"status": "ok"}).encode(), None),
    (json.dumps({"kind": "observation"}).encode("utf-16"), None),
    (b'{"x": "' + b"y" * 2**21, "it is larger than any of these"),
]


@pytest.mark.parametrize(
    ("name", "data", "note"),
    [
        ("agreed.json", b"", "it is no JSON: "),
        ("agreed.json", b'"agreement"', None),
        *((name, data, note) for name in ("agreed.json", "agreed") for data, note in NO_AGREEMENT),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_json_that_is_no_agreement_is_not_taken_for_a_log(
    tmp_path: Path, name: str, data: bytes, note: str | None
) -> None:
    (tmp_path / name).write_bytes(data)
    done = triage(tmp_path, *WORKED, "--acceptance", name)
    assert (done.status, done.out) == (1, "")
    begins = f"error[unreadable-agreement]: {name} is not what `quadgen agreement --format json` prints\n"
    assert done.err.startswith(begins + (f"  = note: {note}" if note else "  = hint: "))


@pytest.mark.parametrize("name", ["log.json", "log"])
@pytest.mark.parametrize("first", ['g": "cut off"}', '{"type": "log", "time": 1}', '{"type": "log", "ms'])
def test_a_log_in_json_is_one_whatever_its_first_line_is(tmp_path: Path, name: str, first: str) -> None:
    said = "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round"
    (tmp_path / name).write_text(f"{first}\n{json.dumps({'msg': said})}\n", encoding="utf-8")
    source = told(tmp_path, *WORKED, "--width", "3", "--acceptance", name)["acceptance"]["source"]
    assert source == f"{name}: 1.88 tokens per round at a width of 3"


def test_an_agreement_in_utf_16_is_one_too(tmp_path: Path) -> None:
    text = json.dumps({"kind": "agreement", "acceptance": {"low": 0.5, "high": 0.6}}, indent=2)
    (tmp_path / "agreed").write_text(text, encoding="utf-16")
    assert told(tmp_path, *WORKED, "--acceptance", "agreed")["acceptance"]["low"] == 0.5


def test_an_agreement_that_was_refused_has_no_acceptance(tmp_path: Path) -> None:
    (tmp_path / "agreed.json").write_text('{"kind": "agreement", "acceptance": null}', encoding="utf-8")
    done = triage(tmp_path, *WORKED, "--acceptance", "agreed.json")
    assert (done.status, done.out) == (1, "")
    sentence = "agreed.json has no acceptance: the two models could not be compared"
    assert done.err.startswith(f"error[nothing-measured]: {sentence}\n")


# the picture


def test_the_curve_has_a_line_for_each_width_and_a_mark_where_it_breaks_even(tmp_path: Path) -> None:
    told(tmp_path, *WORKED, "--width", "1,3,5,7", "--curve", "curve.svg")
    root = ET.parse(tmp_path / "curve.svg").getroot()  # noqa: S314 - our own
    assert len(root.findall(f"{SVG}polyline")) == 4
    marks = root.findall(f"{SVG}circle")
    assert len(marks) == 3
    (today,) = {line.get("y1") for line in root.findall(f"{SVG}line[@class='today']") if line.get("x1") == "64"}
    assert {mark.get("cy") for mark in marks} == {today}
    texts = ["".join(text.itertext()) for text in root.findall(f"{SVG}text")]
    assert {"the target today: 25.0", "expected: 0.4 to 0.6", "width 1: never pays"} <= set(texts)
    assert {"width 3: pays from 0.752", "p: acceptance per position", "tokens per second"} <= set(texts)
    assert "a plain draft model against 25.0 tok/s: loses" in texts


def test_the_picture_is_as_high_as_its_legend_has_lines(tmp_path: Path) -> None:
    for widths in (3, 64):
        told(tmp_path, *WORKED, "--width", ",".join(map(str, range(1, widths + 1))), "--curve", "curve.svg")
        root = ET.parse(tmp_path / "curve.svg").getroot()  # noqa: S314 - our own
        lowest = max(float(text.get("y", "0")) for text in root.findall(f"{SVG}text"))
        assert lowest < float(root.get("height", "0")) - 8
        assert root.get("viewBox") == f"0 0 760 {root.get('height')}"


def test_the_axis_of_a_lookup_says_which_rounds_its_rates_are_of(tmp_path: Path) -> None:
    told(tmp_path, "--target-rate", "25", "--drafter", "ngram", "--curve", "curve.svg")
    assert ">tokens per second in rounds that draft<" in (tmp_path / "curve.svg").read_text(encoding="utf-8")


def test_the_same_answer_is_drawn_with_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "other.svg"):
        told(tmp_path, *WORKED, "--curve", name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "other.svg").read_bytes()


def test_the_page_has_the_picture_and_the_reasons(tmp_path: Path) -> None:
    answer = told(tmp_path, *WORKED, "--curve", "curve.HTML")
    page = (tmp_path / "curve.HTML").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>\n")
    assert page.count("<polyline") == 3
    assert all(f"<li>{reason}.</li>" in page for reason in answer["reasons"])
    assert "<script" not in page


def test_a_curve_that_cannot_be_written_ends_with_4(tmp_path: Path) -> None:
    done = triage(tmp_path, *WORKED, "--curve", "nowhere/curve.svg")
    assert done.status == 4
    assert done.err == "quadgen: cannot write nowhere/curve.svg: No such file or directory\n"
