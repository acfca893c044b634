"""Ledger files: what a row may say, and what is said about one that says it wrong."""

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import quadgen.evidence
from measured import written
from quadgen.document import load
from quadgen.evidence import NO_SPECULATION, Row, Setting, read_ledger, shipped_rows
from quadgen.evidence.shipped import LEDGERS
from quadgen.problems import Collector, Problem

DATA = FilePath(quadgen.evidence.__file__).parents[1] / "data" / "ledgers"
PYDANTIC = re.compile(r"Input|[Ff]ield required|Extra inputs|permitted|dictionary|instance|valid (string|list|number)")


def read(data: Any) -> tuple[tuple[Row, ...], list[Problem]]:
    collector = Collector()
    rows = read_ledger("m.yml", data, shipped=False, collector=collector)
    return rows, collector.problems


def read_row(**fields: Any) -> tuple[tuple[Row, ...], list[Problem]]:
    return read({"version": 1, "measurements": [written(**fields)]})


def told(problem: Problem) -> str:
    """A problem of the first row in one line: code, path and sentence."""
    assert problem.path is not None
    assert problem.path[:2] == ("measurements", 0)
    path = ".".join(str(part) for part in problem.path[2:]) or "-"
    return f"{problem.code} {path}: {problem.message.replace('item 1 of `measurements`', 'ROW')}"


def test_a_row_is_read_with_its_settings_made_canonical_and_its_ratio_worked_out() -> None:
    (row,), problems = read_row(against={"spec_types": ["draft-mtp"], "draft_n_max": 3}, date="2026-09-01")
    assert problems == []
    assert row.setting == Setting.of(["ngram-cache", "draft-mtp"], draft_n_max=7)
    assert row.against == Setting.of(["draft-mtp"])
    assert (row.rate, row.against_rate, row.ratio, row.date) == (30.0, 20.0, 1.5, "2026-09-01")
    assert (row.file, row.index, row.shipped) == ("m.yml", 0, False)


@pytest.mark.parametrize(
    ("against", "meaning"),
    [("default", None), ("none", NO_SPECULATION), ({"spec_types": []}, NO_SPECULATION)],
)
def test_the_comparator_may_be_a_floor_by_name(against: Any, meaning: Setting | None) -> None:
    (row,), problems = read_row(against=against)
    assert problems == []
    assert row.against == meaning


def test_a_ratio_may_stand_alone_or_beside_rates_that_agree_with_it() -> None:
    (row,), _ = read_row(rate=None, against_rate=None, ratio=1.22)
    assert (row.ratio, row.rate) == (1.22, None)
    (row,), _ = read_row(rate=115.1, against_rate=94.0, ratio=1.22)
    assert row.ratio == 115.1 / 94.0


def test_further_flags_are_part_of_the_setting() -> None:
    setting = {"spec_types": ["ngram-mod"], "flags": {"spec-ngram-mod-n-max": 48, "a": [1, "b"]}}
    (row,), problems = read_row(setting=setting)
    assert problems == []
    assert row.setting.flags == {("spec-ngram-mod-n-max", "48"), ("a", "1,b")}


def test_everything_that_later_commands_record_is_kept() -> None:
    recorded: dict[str, Any] = {
        "header": "sha256:ab",
        "acceptance": 0.5,
        "accepted": 1,
        "drafted": 2,
        "spread": [29.0, 31.0],
        "interval": [1.4, 1.6],
        "drift": -0.01,
        "tokens": 200,
        "state": "fresh",
        "confirmed": True,
        "wall_rate": 31.0,
        "against_wall_rate": 21.0,
        "tokens_per_round": 2.5,
        "commit": 1234567,
        "fingerprint": "ab",
        "quantization": "Q4_K_M",
        "workload_sha256": "cd",
        "comparator": "b",
        "command": "quadgen measure …\nof two lines",
        "note": "a note",
    }
    (row,), problems = read_row(**recorded)
    assert problems == []
    kept = recorded | {"commit": "1234567", "spread": (29.0, 31.0), "interval": (1.4, 1.6)}
    assert {name: getattr(row, name) for name in recorded} == kept


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"rate": "fast"}, "unexpected-value rate: `rate` takes a number, not text"),
        ({"rate": 0}, "unexpected-value rate: `rate` takes a number above 0, not the number 0"),
        ({"rate": float("nan")}, "unexpected-value rate: `rate` takes a finite number, not the number nan"),
        (
            {"samples": 0},
            "unexpected-value samples: `samples` takes a number of at least 1, not the number 0",
        ),
        (
            {"acceptance": 86},
            "unexpected-value acceptance: `acceptance` takes a number of at most 1, not the number 86",
        ),
        (
            {"interval": [28.0, 31.0]},
            "unexpected-value interval: `interval` is [28, 31], and the ratio 1.5 is outside",
        ),
        (
            {"interval": [1.1, 1.2]},
            "unexpected-value interval: `interval` is [1.1, 1.2], and the ratio 1.5 is outside",
        ),
        ({"wall_rate": 31.0}, "missing-key -: ROW has `wall_rate` without `against_wall_rate`"),
        ({"against_wall_rate": 31.0}, "missing-key -: ROW has `against_wall_rate` without `wall_rate`"),
        ({"state": "warm"}, "unexpected-value state: `state` takes `fresh` or `steady`, not `warm`"),
        ({"drift": -1.5}, "unexpected-value drift: `drift` takes a number above -1, not the number -1.5"),
        ({"date": "2026-02-30"}, "unexpected-value date: `date` takes a day of the calendar as YYYY-MM-DD"),
        ({"date": "20260901"}, "unexpected-value date: `date` takes a day of the calendar as YYYY-MM-DD"),
        (
            {"id": "a b"},
            "unexpected-value id: `id` takes a name of letters, digits and any of . _ + - inside",
        ),
        ({"source": "two\nlines"}, "unexpected-value source: `source` takes one line of printable text"),
        (
            {"workload": "Copy"},
            "unexpected-value workload: `workload` takes a name of lower-case letters, digits and dashes",
        ),
        (
            {"backend": "cuba"},
            "unexpected-value backend: `backend` takes `cuda`, `rocm`, `vulkan`, `sycl` or `cpu`, not `cuba`",
        ),
        (
            {"against": "copy"},
            "unexpected-value against: `against` takes a setting, or one of the floors default and none",
        ),
        (
            {"against": 1},
            "unexpected-value against: `against` takes a mapping, `default` or `none`, not the number 1",
        ),
        ({"against": {"spec_type": []}}, "missing-key against: `against` has no `spec_types`"),
        (
            {"against": {"spec_types": [], "widht": 7}},
            "unknown-key against.widht: `widht` is not a key of `against`",
        ),
        (
            {"setting": {"spec_types": [1]}},
            "unexpected-value setting.spec_types.0: item 1 of `spec_types` takes text, not the number 1",
        ),
        (
            {"setting": {"spec_types": [], "flags": {"--spec-draft-n-max": 7}}},
            "unexpected-value setting.flags.--spec-draft-n-max: `--spec-draft-n-max` has a key of its own",
        ),
        (
            {"setting": {"spec_types": [], "flags": {"a": {}}}},
            "unexpected-value setting.flags.a: `a` takes text, a number, true or false, or a list of these",
        ),
        ({"source": None}, "missing-key -: ROW has no `source`"),
        ({"rate": None}, "missing-key -: ROW has `against_rate` without `rate`"),
        (
            {"rate": None, "against_rate": None},
            "missing-key -: ROW has neither `rate` and `against_rate` nor `ratio`",
        ),
        ({"ratio": 1.52}, "unexpected-value ratio: `ratio` says 1.52, but its two rates say 1.5"),
        ({"accepted": 3, "drafted": 2}, "unexpected-value accepted: `accepted` is more than was drafted"),
        ({"spread": [2.0, 1.0]}, "unexpected-value spread: `spread` takes two numbers, the lower one first"),
        ({"gpu": "x"}, "unknown-key gpu: `gpu` is not a key of ROW"),
    ],
    ids=str,
)
def test_a_mistake_is_told_in_words_at_its_place(fields: dict[str, Any], problem: str) -> None:
    rows, problems = read_row(**fields)
    assert rows == ()
    assert problem in [told(each) for each in problems]
    assert {each.file for each in problems} == {"m.yml"}


@pytest.mark.parametrize(
    ("fields", "hint"),
    [
        ({"gpu": "x"}, "it is called `device` here"),
        ({"sampels": 7}, "did you mean `samples`?"),
        ({"backend": "vulcan"}, "did you mean `vulkan`?"),
        ({"rate": "30.5"}, "write 30.5 without quotes"),
        ({"device": True}, 'write it in quotes: "true"'),
        ({"setting": {"spec_types": "ngram-mod"}}, "write it as a list: [ngram-mod]"),
        ({"ratio": 2.0}, "leave `ratio` out"),
    ],
    ids=str,
)
def test_a_mistake_comes_with_its_way_out(fields: dict[str, Any], hint: str) -> None:
    assert [p.hint for p in read_row(**fields)[1]] == [hint]


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (None, ["a ledger is a mapping"]),
        ([], ["a ledger is a mapping"]),
        ({}, ["this file has no `version`", "this file has no `measurements`"]),
        ({"version": 2, "measurements": []}, ["`version` takes `1`, not the number 2"]),
        ({"version": 1, "measurements": {}}, ["`measurements` takes a list, not a mapping"]),
        ({"version": 1, "measurements": [], "rows": 1}, ["`rows` is not a key of this file"]),
        ({"version": 1, "measurements": None, "x-anchors": 1}, []),
    ],
)
def test_the_file_itself_is_checked_as_its_rows_are(data: Any, messages: list[str]) -> None:
    rows, problems = read(data)
    assert rows == ()
    assert [problem.message for problem in problems] == messages


def test_one_bad_row_hides_no_other_and_every_mistake_is_told_in_one_run() -> None:
    bad = written(id="b", rate="x", colour="red", device=None)
    rows, problems = read({"version": 1, "measurements": [bad, 5, written(id="c")]})
    assert [(row.id, row.index) for row in rows] == [("c", 2)]
    assert [(p.code, p.path) for p in problems] == [
        ("missing-key", ("measurements", 0)),
        ("unexpected-value", ("measurements", 0, "rate")),
        ("unknown-key", ("measurements", 0, "colour")),
        ("unexpected-value", ("measurements", 1)),
    ]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
NAMES = (*written(), "ratio", "header", "accepted", "drafted", "spread", "interval", "date", "note", "other")


@given(st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=4))
def test_whatever_a_row_holds_it_is_read_or_told_in_words(fields: Mapping[str, Any]) -> None:
    data = written() | dict(fields)
    rows, problems = read({"version": 1, "measurements": [data]})
    assert (len(rows) == 1) == (problems == [])
    for problem in problems:
        assert not PYDANTIC.search(problem.message)
        assert problem.path is not None
        assert problem.path[:2] == ("measurements", 0)


def test_the_shipped_rows_are_valid_by_the_rules_for_everybody() -> None:
    assert set(LEDGERS) == {path.name for path in DATA.iterdir()}
    collector = Collector()
    rows: list[Row] = []
    for file in LEDGERS:
        name = f"quadgen/data/ledgers/{file}"
        data = load(name, (DATA / file).read_bytes()).data
        rows += read_ledger(name, data, shipped=True, collector=collector)
    assert collector.problems == []
    assert tuple(rows) == shipped_rows()
    assert len({row.id for row in rows}) == len(rows) == 51
