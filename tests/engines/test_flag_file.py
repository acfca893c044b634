"""A table that is written is the table that is read, whatever its options are called."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.engines.flags import FlagTable, Option, dump_table, load_table
from quadgen.engines.help_text import parse
from quadgen.problems import Rejected

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAME = st.from_regex(r"-{1,2}[^\s,\ud800-\udfff]{1,9}", fullmatch=True)
NAMES = st.lists(NAME, max_size=3).map(tuple)
WORDS = st.lists(TEXT, max_size=3).map(tuple)


@st.composite
def option(draw: st.DrawFn) -> Option:
    names = draw(st.lists(NAME, min_size=1, max_size=3).map(tuple))
    return Option(
        canonical=draw(st.sampled_from(names)), names=names, negations=draw(NAMES), section=draw(TEXT),
        arity=draw(st.integers(0, 3)), values=draw(WORDS), words=draw(WORDS), number=draw(st.none() | TEXT),
        commas=draw(st.booleans()), repeats=draw(st.booleans()), env=draw(st.none() | TEXT),
        default=draw(st.none() | TEXT), removed=draw(st.none() | TEXT), deprecated=draw(st.none() | TEXT),
    )  # fmt: skip


@given(TEXT, st.lists(option(), max_size=4, unique_by=lambda one: (one.canonical, one.names)))
def test_a_table_reads_back_as_it_was_written(build: str, options: list[Option]) -> None:
    held = sorted(options, key=lambda one: (one.canonical, one.names))
    found = load_table(dump_table(FlagTable(build=build, options=tuple(options))))
    assert (found.build, found.options) == (build, tuple(held))


@given(st.lists(st.from_regex(r"--[a-z][a-z-]{2,20}[a-z]", fullmatch=True), min_size=1, max_size=5, unique=True), TEXT)
def test_what_a_help_text_says_is_what_is_read_from_its_table(names: list[str], told: str) -> None:
    told = "".join(told.split())
    lines = [f"{name} N".ljust(40) + f"{told} (default: {number})" for number, name in enumerate(names)]
    table = FlagTable(build="b", options=parse("\n".join(["----- common params -----", *lines])))
    read = load_table(dump_table(table))
    assert {one.canonical: one for one in read.options} == {one.canonical: one for one in table.options}
    assert {one.canonical for one in read.options} == set(names)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"names": ["--b"]}, "the names of --a are --b"),
        ({"names": []}, "the names of --a are "),
        ({"names": ["--a", "b"]}, "the names of --a are --a, b"),
        ({"negations": ["--no a"]}, "the names of --a are --a, --no a"),
        ({"canonical": "--a\n", "names": ["--a\n"]}, "the names of --a\n are --a\n"),
    ],
)
def test_a_name_that_no_engine_could_be_told_is_refused(row: dict[str, Any], reason: str) -> None:
    whole = {"canonical": "--a", "names": ["--a"], "section": "common", "arity": 1} | row
    with pytest.raises(Rejected) as refused:
        load_table(json.dumps({"format": 1, "build": "b1", "options": [whole]}), file="mine.json")
    (problem,) = refused.value.problems
    assert problem.message == f"mine.json is no flag table: {reason}"
