"""Rows added to the text of a ledger: what is there stays to the byte, and what comes out is a ledger."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measured import ROW, written
from quadgen.document import load
from quadgen.evidence import NO_SPECULATION, Row, Setting, read_ledger
from quadgen.evidence.row_text import KEYS
from quadgen.evidence.text import appended, free_id, listed, rows_of
from quadgen.problems import Collector, Rejected

NEW = replace(
    ROW, id="new", setting=Setting.of(["ngram-mod"], flags={"spec-ngram-mod-n-max": 48}), against=NO_SPECULATION,
    rate=30.0, against_rate=20.0, ratio=1.5, interval=(1.4, 1.6), command='quadgen measure "a b"',
)  # fmt: skip
BLOCK = """\
- id: new
  engine: llama.cpp
  build: b1
  backend: cuda
  device: NVIDIA GeForce RTX 3090
  model: dense
  workload: copy
  setting: {spec_types: [ngram-mod], flags: {spec-ngram-mod-n-max: 48}}
  against: none
  rate: 30.0
  against_rate: 20.0
  interval: [1.4, 1.6]
  samples: 7
  source: a test
  command: "quadgen measure \\"a b\\""
"""
FLOW = (
    "{id: new, engine: llama.cpp, build: b1, backend: cuda, device: NVIDIA GeForce RTX 3090, model: dense, "
    "workload: copy, setting: {spec_types: [ngram-mod], flags: {spec-ngram-mod-n-max: 48}}, against: none, "
    'rate: 30.0, against_rate: 20.0, interval: [1.4, 1.6], samples: 7, source: a test, command: "quadgen measure '
    '\\"a b\\""}'
)
OLD = json.dumps(written(id="old"))


def inset(columns: int) -> str:
    return "".join(f"{' ' * columns}{line}" for line in BLOCK.splitlines(keepends=True))


def plain(rows: Iterable[Row]) -> list[Row]:
    return [replace(row, file="", index=0) for row in rows]


def add(text: str, *rows: Row) -> str:
    return appended("m.yml", text.encode(), rows or (NEW,)).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "version: 1\nmeasurements:\n{2}"),
        ("# mine", "# mine\nversion: 1\nmeasurements:\n{2}"),
        ("version: 1\nmeasurements:", "version: 1\nmeasurements:\n{2}"),
        ("version: 1\nmeasurements: null # none yet\n", "version: 1\nmeasurements: # none yet\n{2}"),
        ("measurements: []  # none yet\nversion: 1\n", "measurements:  # none yet\n{2}version: 1\n"),
        ("measurements:\n# c\nversion: 1\n", "measurements:\n{2}# c\nversion: 1\n"),
        ("version: 1\nmeasurements:\n- OLD\n", "version: 1\nmeasurements:\n- OLD\n{0}"),
        ("version: 1\nmeasurements:\n- OLD", "version: 1\nmeasurements:\n- OLD\n{0}"),
        ("measurements:\n  - OLD # a\n    # b\n\n  # c\nx-a: 1\nversion: 1\n",
         "measurements:\n  - OLD # a\n    # b\n{2}\n  # c\nx-a: 1\nversion: 1\n"),
        ("measurements: &all\n  # c\n    - OLD\nversion: 1\n", "measurements: &all\n  # c\n    - OLD\n{4}version: 1\n"),
        ("x-rows: &rows\n- OLD\nmeasurements: *rows\nversion: 1\n",
         "x-rows: &rows\n- OLD\n{0}measurements: *rows\nversion: 1\n"),
        ("? measurements\n: - OLD\nversion: 1\n", "? measurements\n: - OLD\n{2}version: 1\n"),
        ("---\nversion: 1\nmeasurements:\n- OLD\n...\n", "---\nversion: 1\nmeasurements:\n- OLD\n{0}...\n"),
        ("version: 1\nmeasurements: [OLD] # a\n", "version: 1\nmeasurements: [OLD, FLOW] # a\n"),
        ("version: 1\nmeasurements: [OLD,]\n", "version: 1\nmeasurements: [OLD, FLOW,]\n"),
        ("version: 1\nmeasurements: [\n    OLD # a, b\n  ]\n",
         "version: 1\nmeasurements: [\n    OLD, # a, b\n    FLOW\n  ]\n"),
        ("version: 1\nmeasurements: [ # a\n]\n", "version: 1\nmeasurements: [ # a\n  FLOW\n]\n"),
        ("version: 1\nmeasurements: [ ]\n", "version: 1\nmeasurements: [ FLOW]\n"),
        ("{version: 1, measurements: }", "{version: 1, measurements: [FLOW]}"),
        ("{version: 1, measurements: ~}", "{version: 1, measurements: [FLOW]}"),
    ],
)  # fmt: skip
def test_a_row_goes_below_the_last_one_and_everything_else_stays(before: str, after: str) -> None:
    expected = after.replace("OLD", OLD).replace("FLOW", FLOW)
    expected = re.sub(r"\{(\d)\}", lambda found: inset(int(found[1])), expected)
    assert add(before.replace("OLD", OLD)) == expected


def test_a_ledger_in_json_stays_json() -> None:
    for before in (
        {"version": 1, "measurements": []}, {"version": 1, "measurements": None},
        {"version": 1, "measurements": [written(id="old")], "x-a": {"b": 1}},
    ):  # fmt: skip
        for indent in (None, 2, "\t"):
            text = json.dumps(before, indent=indent)
            after = json.loads(add(text, NEW, replace(NEW, id="n2", note='"\\\n\x7f\U0001f999')))
            assert [row["id"] for row in after["measurements"]][-2:] == ["new", "n2"]
            assert after["measurements"][-1]["note"] == '"\\\n\x7f\U0001f999'
            rest = [row for row in after["measurements"] if row["id"] == "old"] or before["measurements"]
            assert after | {"measurements": rest} == before


def test_a_file_that_is_not_there_becomes_a_ledger_that_says_what_it_is() -> None:
    text = appended("m.yml", None, (NEW,)).decode()
    assert re.fullmatch(r"# What quadgen measured, .*\n", text[: text.index("version")])
    assert text.endswith(f"version: 1\nmeasurements:\n{inset(2)}")
    assert listed((NEW,)) == f"version: 1\nmeasurements:\n{inset(2)}"


def test_line_ends_and_a_byte_order_mark_stay() -> None:
    before = b"\xef\xbb\xbfversion: 1\r\nmeasurements:\r\nx-a: 1\r\n"
    after = appended("m.yml", before, (NEW,))
    assert after == b"\xef\xbb\xbfversion: 1\r\nmeasurements:\r\n%sx-a: 1\r\n" % inset(2).replace("\n", "\r\n").encode()


@pytest.mark.parametrize(
    "note",
    [
        "|\n    a\n    b\n",
        "|-\n    a\n\n",
        "|+\n    a\n\n\n",
        ">\n    a\n",
        "|\n    a",
        '"a\n\n    b"\n',
        "a\n    b\n\n     c\n",
    ],
)
def test_a_text_over_several_lines_at_the_end_keeps_its_words(note: str) -> None:
    before = f"version: 1\nmeasurements:\n- {BLOCK[2:]}  note: {note}"
    rows = rows_of("m.yml", add(before, replace(NEW, id="n2")).encode())
    (old,) = rows_of("m.yml", before.encode())
    assert [row.id for row in rows] == ["new", "n2"]
    assert (rows[0].note or "").rstrip("\n") == (old.note or "").rstrip("\n")


def test_a_row_whose_id_is_taken_gets_a_number() -> None:
    text = add(add(f"version: 1\nmeasurements: [{OLD}]"), NEW, replace(NEW, id="old"), NEW)
    assert [row.id for row in rows_of("m.yml", text.encode())] == ["old", "new", "new-2", "old-2", "new-3"]
    assert free_id("a", ()) == "a"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a", "unexpected-value: a ledger is a mapping"),
        ("version: 2\nmeasurements: []", "unexpected-value: `version` takes `1`, not the number 2"),
        ("version: 1", "missing-key: this file has no `measurements`"),
        ("version: 1\nmeasurements: [a]", "unexpected-value: item 1 of `measurements` takes a mapping, not text"),
        ("a: [", "yaml-syntax: the file ends where a value should stand"),
        (
            "version: 1\nmeasurements: &a",
            "unexpected-value: rows cannot be added to `measurements` as it is written here",
        ),
        (
            "x: &a {measurements: []}\n<<: *a\nversion: 1",
            "unexpected-value: rows cannot be added to `measurements` as it is written here",
        ),
    ],
)
def test_what_is_no_ledger_or_cannot_be_added_to_is_refused(text: str, told: str) -> None:
    for rows in ((), (NEW,)):
        with pytest.raises(Rejected) as refused:
            appended("m.yml", text.replace("x:", "x-a:").encode(), rows)
        assert str(refused.value) == told


def test_without_rows_a_ledger_is_only_looked_at() -> None:
    text = b"version: 1\nmeasurements: []"
    assert appended("m.yml", text, ()) == text


def test_what_no_ledger_can_say_is_refused_and_not_written() -> None:
    for odd in (replace(NEW, device="two\nlines"), replace(NEW, note="\ud800"), replace(NEW, workload="Copy")):
        with pytest.raises(Rejected):
            appended("m.yml", None, (odd,))


def test_every_key_of_a_row_is_written() -> None:
    place = {"file", "index", "shipped"}
    assert set(KEYS) == {name for name in Row.__dataclass_fields__ if name not in place}


words = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8) | st.sampled_from(
    ["yes", "~", "1e3", "0x1F", "a: b", "a #b", "- a", "#a", "[a]", "{a", "a, b", "'", '"', "\\", "*a",
     "&a", "2026-09-01"]
)  # fmt: skip
numbers = st.floats(0.001, 10_000).map(lambda value: float(f"{value:.5g}"))
drafting = st.builds(
    Setting.of,
    st.lists(st.sampled_from(["draft-mtp", "ngram-mod", "none"]), max_size=2),
    draft_n_max=st.none() | st.integers(1, 99),
    flags=st.dictionaries(
        st.from_regex("spec-[a-z0-9]{1,4}", fullmatch=True),
        words | st.integers(-5, 10**12) | numbers | st.booleans(),
        max_size=2,
    ),
    draft_model=st.none() | words,
)


@st.composite
def rows(draw: st.DrawFn) -> Row:
    rate, against = draw(numbers), draw(numbers)
    ratio = rate / against
    notes = st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
    return replace(
        ROW, id=draw(st.from_regex(r"[a-z0-9]{1,6}", fullmatch=True)), rate=rate, against_rate=against, ratio=ratio,
        device=draw(words), model=draw(words), build=draw(words), setting=draw(drafting),
        against=draw(st.none() | drafting), unit=draw(st.sampled_from(["tok/s", "tok/CPU-s"])),
        interval=draw(st.none() | st.just((ratio / 2, ratio * 2))), note=draw(notes), command=draw(notes),
        commit=draw(st.none() | words), accepted=draw(st.none() | st.integers(0, 9)),
        confirmed=draw(st.none() | st.booleans()), state=draw(st.sampled_from([None, "fresh", "steady"])),
        date=draw(st.sampled_from([None, "2026-09-01"])), drift=draw(st.none() | st.floats(-0.5, 0.5)),
    )  # fmt: skip


@st.composite
def ledgers(draw: st.DrawFn) -> str:
    """An odd ledger, in any of the ways in which people and programs write lists."""
    olds = [json.dumps(written(id=f"old-{number}")) for number in range(draw(st.integers(0, 3)))]
    comment = st.sampled_from(["", "", " # c", " # a, ] b", "\n\n# c", "\n    # c"])
    head, foot = (draw(st.sampled_from(["", "# c\n", f"{key}: {{b: [1]}}\n", "\n"])) for key in ("x-a", "x-b"))
    style = draw(st.sampled_from(["block", "brackets", "lines"]))
    if style == "block" or not olds:
        indent = draw(st.sampled_from(["", "  ", "     "]))
        body = "".join(f"\n{indent}-{draw(st.sampled_from([' ', '   ']))}{old}{draw(comment)}" for old in olds)
        body = body or draw(st.sampled_from(["", " []", " ~", " null", " [ ]", " [\n]"])) + draw(comment)
    elif style == "brackets":
        body = f" [{', '.join(olds)}{draw(st.sampled_from(['', ',', ' , ', ' ']))}]{draw(comment)}"
    else:
        after = [draw(comment) for _ in olds]
        items = [f"\n  {old}{',' if old is not olds[-1] or draw(st.booleans()) else ''}" for old in olds]
        body = f" [{''.join(map(''.join, zip(items, after, strict=True)))}\n]"
    keys = [f"measurements:{body}\n", "version: 1\n", head + foot]
    text = "".join(draw(st.permutations(keys)) if draw(st.booleans()) else (head, *keys[:2], foot))
    text = text if draw(st.booleans()) else text.rstrip("\n")
    return text.replace("\n", "\r\n") if draw(st.booleans()) else text


@given(ledgers(), st.lists(st.sampled_from([NEW, replace(NEW, note="a\n#b: [")]), min_size=1, max_size=2))
def test_an_odd_ledger_keeps_its_text_and_its_rows_and_has_the_new_ones_behind_them(text: str, new: list[Row]) -> None:
    before = rows_of("m.yml", text.encode())
    after = add(text, *new)
    found = rows_of("m.yml", after.encode())
    assert plain(found[: len(before)]) == plain(before)
    assert [replace(row, id="") for row in plain(found[len(before) :])] == [replace(row, id="") for row in plain(new)]
    assert len({row.id for row in found}) == len(found)
    rest = iter(after)
    assert all(char in rest for char in re.sub(r"\s*(\[\]|~|null)", "", text))


@settings(max_examples=60)  # a row is made of a hundred choices
@given(st.lists(rows(), max_size=2, unique_by=lambda row: row.id))
def test_listed_rows_are_a_ledger_that_says_them(new: list[Row]) -> None:
    data: Any = load("m.yml", listed(new).encode()).data
    collector = Collector()
    assert plain(read_ledger("m.yml", data, shipped=False, collector=collector)) == new
    assert collector.problems == []
