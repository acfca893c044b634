"""A build's flag table finds every spelling, speaks for the builds around it, and reads back as it was written."""

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from quadgen.engines.flags import (
    COMPILED_IN,
    SHIPPED,
    Choice,
    FlagTable,
    Option,
    choose,
    dump_table,
    known_in,
    load_table,
    shipped_tables,
)
from quadgen.problems import Rejected
from source import PACKAGE

TABLES = shipped_tables()
NEW = TABLES["b11434"]
OLD = TABLES["b10434"]


def option(name: str, **fields: Any) -> Option:
    known: dict[str, Any] = {"names": (name,), "section": "common", "arity": 1} | fields
    return Option(canonical=name, **known)


def tables(**options: tuple[Option, ...]) -> Mapping[str, FlagTable]:
    return {build: FlagTable(build=build, options=held) for build, held in options.items()}


@pytest.mark.parametrize("name", ["--ctx-size", "ctx-size", "--ctx_size", "ctx_size", "-c"])
def test_an_option_is_found_by_each_spelling_that_the_engine_takes(name: str) -> None:
    found = NEW.match(name)
    assert found is not None
    assert (found.option.canonical, found.negated) == ("--ctx-size", False)
    assert found.spelling in found.option.names


@pytest.mark.parametrize(
    "name", ["c", "-ctx-size", "--ctx-size=512", "--CTX-SIZE", "---ctx-size", "-_c", "", "-", "--", " -c"]
)
def test_what_the_engine_refuses_is_not_found(name: str) -> None:
    assert NEW.find(name) is None
    assert not NEW.negates(name)


@pytest.mark.parametrize("name", ["--no-mmap", "no-mmap", "no_mmap", "-ndio", "-nkvo", "--no-kv-offload"])
def test_a_name_that_turns_something_off_is_known_as_such(name: str) -> None:
    assert OLD.find(name) is not None
    assert OLD.negates(name)


@pytest.mark.parametrize("name", ["--mmap", "--no-host", "-nkv", "--threads"])
def test_a_name_that_turns_nothing_off_is_no_negation(name: str) -> None:
    assert not OLD.negates(name)


def test_an_option_is_turned_off_by_the_negation_of_its_own_name() -> None:
    found = {name: NEW.find(name) for name in ("--ui", "--mmproj-auto", "--kv-offload", "--metrics")}
    assert {name: one and one.negation for name, one in found.items()} == {
        "--ui": "--no-ui",
        "--mmproj-auto": "--no-mmproj-auto",
        "--kv-offload": "--no-kv-offload",
        "--metrics": None,
    }


def test_a_negation_with_another_name_is_better_than_none() -> None:
    assert option("--new", negations=("--no-old",)).negation == "--no-old"


def test_a_variable_leads_to_its_option() -> None:
    found = NEW.by_env("LLAMA_ARG_CTX_SIZE")
    assert found is not None
    assert found.canonical == "--ctx-size"
    assert NEW.by_env("LLAMA_ARG_NOPE") is None
    assert NEW.by_env("ctx-size") is None


def test_a_variable_with_no_in_it_is_one_only_for_options_that_can_be_turned_off() -> None:
    found = NEW.by_env("LLAMA_ARG_NO_KV_OFFLOAD")
    assert found is not None
    assert found.canonical == "--kv-offload"
    assert NEW.by_env("LLAMA_ARG_NO_CTX_SIZE") is None
    own = NEW.by_env("LLAMA_ARG_NO_HOST")
    assert own is not None
    assert own.canonical == "--no-host"


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("ctx-siz", "--ctx-size"),
        ("ctx_size=512", "--ctx-size"),
        ("--ctx-size=512", "--ctx-size"),
        ("-ctx-size", "--ctx-size"),
        ("c", "--ctx-size"),
        ("parallell", "--parallel"),
        ("gpu_layer", "--n-gpu-layers"),
        ("no-warmp", "--no-warmup"),
        ("Threads", "--threads"),
        ("zzzz", None),
        ("", None),
    ],
)
def test_a_typo_is_answered_with_the_name_that_was_meant(asked: str, meant: str | None) -> None:
    assert NEW.nearest(asked) == meant


def test_a_name_may_be_kept_from_being_proposed() -> None:
    assert NEW.nearest("api-kee") == "--api-key"
    assert NEW.nearest("api-kee", {"--api-key"}) != "--api-key"


def test_what_a_build_refuses_or_warns_of_is_never_proposed() -> None:
    offered = {OLD.nearest(name) for name in ("mlock", "mmap", "draft-max", "draft-mi", "defrag-thold")}
    assert offered.isdisjoint({"--mlock", "--mmap", "--draft-max", "--draft-min", "--defrag-thold"})


def test_a_build_with_a_table_has_it() -> None:
    assert choose(TABLES, "b11434") == Choice(table=NEW, exact=True, note=None)


def test_a_build_between_two_equal_tables_has_them() -> None:
    found = choose(TABLES, "b10715")
    assert (found.exact, found.note, found.table.build) == (True, None, "b10715")
    assert found.table == TABLES["b10705"]


def test_a_build_between_two_tables_has_what_both_say_and_no_more() -> None:
    found = choose(TABLES, "b11000")
    assert not found.exact
    assert found.note == "no flag table is known for b11000: the flags are those that b10724 and b11434 both have"
    assert found.table.build == "b11000"
    assert found.table.find("--ctx-size") == NEW.find("--ctx-size")
    assert found.table.find("--mlock") is None
    assert found.table.find("--log-jsonl") is None


def test_where_two_tables_differ_on_an_option_only_what_both_take_is_taken() -> None:
    before = option("--kind", values=("a", "b"), commas=True, env="A", default="a", number="int")
    after = option("--kind", values=("b", "c"), env="A", default="b", deprecated="use --sort", words=("x",))
    found = choose(tables(b10=(before, option("--pair", arity=2)), b20=(after, option("--pair"))), "b15")
    assert found.table.options == (option("--kind", values=("b",), env="A", deprecated="use --sort"),)


def test_names_and_switches_that_only_one_of_two_tables_has_are_left_out() -> None:
    before = option("--on", arity=0, names=("-o", "--on"), negations=("--no-on", "-no"), env="OLD")
    after = option("--on", arity=0, names=("--on",), negations=("--no-on",), removed="use --off", env="NEW")
    found = choose(tables(b10=(before,), b20=(after,)), "b15").table.options
    assert found == (option("--on", arity=0, negations=("--no-on",), removed="use --off"),)


@pytest.mark.parametrize(
    ("build", "table", "note"),
    [
        ("b12000", "b11434", "b12000 is newer than the newest flag table: the flags are those of b11434"),
        (
            "b9310",
            "b10434",
            "b9310 is older than the oldest flag table: the flags are those of b10434, without --load-mode",
        ),
        (None, "b11434", "no build is stated: the flags are those of b11434, the newest table"),
        (
            "my-fork",
            "b11434",
            "no flag table is known for my-fork: the flags are those of b11434, the newest table",
        ),
    ],
)
def test_any_other_build_has_the_nearest_table_and_a_sentence(build: str | None, table: str, note: str) -> None:
    found = choose(TABLES, build)
    assert (found.exact, found.note, found.table.build) == (False, note, build or table)
    lost = {one.canonical for one in TABLES[table].options} - {one.canonical for one in found.table.options}
    assert lost == ({"--load-mode"} if build == "b9310" else set())


def test_a_build_before_the_oldest_table_has_what_an_option_took_the_place_of() -> None:
    found = choose(TABLES, "b9702").table
    assert found.find("--load-mode") is None
    for name in ("--mmap", "--mlock", "--direct-io"):
        one, other = found.find(name), OLD.find(name)
        assert one is not None
        assert other is not None
        assert (one.deprecated, other.deprecated) == (None, "use --load-mode")


def test_a_learned_table_is_found_by_its_name_and_does_not_count_as_the_newest() -> None:
    known = {**TABLES, "my-fork": FlagTable(build="my-fork", options=(option("--own"),))}
    assert choose(known, "my-fork").table.find("--own") is not None
    assert choose(known, None).table is NEW


def test_builds_are_ordered_as_numbers() -> None:
    known = tables(b9=(option("--old"),), b10=(option("--new"),))
    assert choose(known, None).table.find("--new") is not None
    assert choose(known, "b11").table.find("--new") is not None


def test_a_lost_flag_is_known_to_have_been_there() -> None:
    found = known_in(TABLES, "--no-mmap")
    assert [(build, one.deprecated) for build, one in found] == [
        ("b10434", "use --load-mode"),
        ("b10705", "use --load-mode"),
        ("b10724", "use --load-mode"),
    ]
    assert [build for build, _ in known_in(TABLES, "log-jsonl")] == ["b11434"]
    assert known_in(TABLES, "--never") == ()


def test_options_that_depend_on_what_was_compiled_in_are_those_that_come_and_go() -> None:
    gone = {
        one.canonical
        for build, later in pairwise(SHIPPED)
        for one in TABLES[build].options
        if TABLES[later].find(one.canonical) is None
        and any(TABLES[last].find(one.canonical) for last in SHIPPED[SHIPPED.index(later) :])
    }
    assert gone == COMPILED_IN


def test_every_table_that_is_shipped_is_known_and_bears_its_name() -> None:
    files = {path.name for path in (PACKAGE / "data" / "flags").iterdir()}
    assert files == {f"llama.cpp-{build}.json" for build in SHIPPED}
    assert [(build, table.build) for build, table in TABLES.items()] == [(build, build) for build in SHIPPED]
    assert len(TABLES) == len(SHIPPED)
    assert "b1" not in TABLES
    with pytest.raises(KeyError):
        TABLES["../../secret"]


@pytest.mark.parametrize("build", SHIPPED)
def test_a_table_reads_back_as_it_was_written(build: str) -> None:
    text = dump_table(TABLES[build])
    assert dump_table(load_table(text)) == text
    assert load_table(text) == TABLES[build]


def test_a_table_is_written_in_one_order_one_option_a_line() -> None:
    held = (option("--b", default=""), option("--a", arity=0, names=("-a", "--a"), negations=("--no-a",)))
    text = dump_table(FlagTable(build="bö", options=held))
    assert text == dump_table(FlagTable(build="bö", options=held[::-1]))
    assert text.splitlines() == [
        '{"format": 1, "build": "bö", "options": [',
        '{"canonical": "--a", "names": ["-a", "--a"], "section": "common", "arity": 0, "negations": ["--no-a"]},',
        '{"canonical": "--b", "names": ["--b"], "section": "common", "arity": 1, "default": ""}',
        "]}",
    ]


ROW = {"canonical": "--a", "names": ["--a"], "section": "common", "arity": 1}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("{", "is no flag table: Expecting property name"),
        ("[" * 100_000, "is no flag table: "),
        ([], "it is not JSON of the format 1"),
        ({"format": 2, "build": "b1", "options": []}, "it is not JSON of the format 1"),
        ({"format": 1, "options": []}, "it lacks its build or its options"),
        ({"format": 1, "build": "b1", "options": {}}, "it lacks its build or its options"),
        ({"format": 1, "build": "b1", "options": ["--a"]}, "an option lacks one of arity, canonical, names, section"),
        ({"format": 1, "build": "b1", "options": [{"canonical": "--a"}]}, "an option lacks one of"),
        ({"format": 1, "build": "b1", "options": [ROW | {"names": "--a"}]}, "names of --a is '--a'"),
        ({"format": 1, "build": "b1", "options": [ROW | {"names": [1]}]}, r"names of --a is \[1\]"),
        ({"format": 1, "build": "b1", "options": [ROW | {"arity": True}]}, "arity of --a is True"),
        ({"format": 1, "build": "b1", "options": [ROW | {"arity": -1}]}, "arity of --a is -1"),
        ({"format": 1, "build": "b1", "options": [ROW | {"commas": 1}]}, "commas of --a is 1"),
        ({"format": 1, "build": "b1", "options": [ROW | {"env": None}]}, "env of --a is None"),
        ({"format": 1, "build": "b1", "options": [ROW | {"more": "x"}]}, "more of --a is 'x'"),
    ],
)  # fmt: skip
def test_anything_but_a_flag_table_is_refused(data: object, reason: str) -> None:
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(Rejected, match=reason) as refused:
        load_table(text, file="mine.json")
    (problem,) = refused.value.problems
    assert (problem.code, problem.file) == ("unexpected-value", "mine.json")
    assert problem.message.startswith("mine.json is no flag table: ")
