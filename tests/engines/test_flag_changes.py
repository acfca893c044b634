"""What differs between two builds is told option by option, and nothing that stays the same."""

from typing import Any

import pytest

from quadgen.engines.flag_changes import Difference, changes, is_compiled_in
from quadgen.engines.flags import SHIPPED, FlagTable, Option, shipped_tables

TABLES = shipped_tables()


def option(name: str, **fields: Any) -> Option:
    known: dict[str, Any] = {"names": (name,), "section": "common", "arity": 1} | fields
    return Option(canonical=name, **known)


def table(*options: Option, build: str = "b1") -> FlagTable:
    return FlagTable(build=build, options=options)


def differences(before: Option, after: Option) -> list[tuple[str, Any, Any]]:
    """How one option changed; nothing else may have."""
    found = changes(table(before), table(after))
    assert (found.removed, found.added) == ((), ())
    return [tuple(each) for change in found.changed for each in change.differences]


def test_from_b10434_to_b11434_goes_what_load_mode_replaced() -> None:
    found = changes(TABLES["b10434"], TABLES["b11434"])
    assert [(one.canonical, one.deprecated) for one in found.removed] == [
        ("--direct-io", "use --load-mode"),
        ("--mlock", "use --load-mode"),
        ("--mmap", "use --load-mode"),
    ]
    assert [one.canonical for one in found.added] == [
        "--kv-unified-per-slot", "--lazy-mode", "--log-jsonl", "--mmproj-device", "--n-cpu-ffn",
        "--spec-draft-sampling", "--spec-synth-len", "--spec-synth-rates", "--video-ffmpeg-dir", "--video-fps",
        "--video-timestamp-interval",
    ]  # fmt: skip
    told = {change.after.canonical: change.differences for change in found.changed}
    assert told["--spec-draft-device"] == (Difference("default", None, "follows --device"),)
    assert told["--host"] == (Difference("commas", before=False, after=True),)
    assert told["--top-p"] == (Difference("env", None, "LLAMA_ARG_TOP_P"),)


def test_two_builds_with_the_same_help_have_no_difference() -> None:
    assert not changes(TABLES["b10705"], TABLES["b10724"])


@pytest.mark.parametrize("build", SHIPPED)
def test_no_table_differs_from_itself(build: str) -> None:
    assert not changes(TABLES[build], TABLES[build])


def test_the_way_back_removes_what_the_way_forth_added() -> None:
    forth, back = (changes(TABLES[one], TABLES[two]) for one, two in (("b10434", "b11434"), ("b11434", "b10434")))
    assert (back.removed, back.added) == (forth.added, forth.removed)
    assert [change.after for change in back.changed] == [change.before for change in forth.changed]


def test_a_flag_of_a_backend_is_told_from_one_of_the_build() -> None:
    (gone,) = changes(TABLES["b10434"], TABLES["b10705"]).removed
    assert gone.canonical == "--rpc"
    assert is_compiled_in(gone)
    assert not is_compiled_in(option("--mmap"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"arity": 1}, {"arity": 2}),
        ({"values": ("a", "b")}, {"values": ("b", "c")}),
        ({"words": ("auto",)}, {"words": ()}),
        ({"number": "int"}, {"number": "float"}),
        ({"commas": True}, {"commas": False}),
        ({"repeats": False}, {"repeats": True}),
        ({"env": "A"}, {"env": None}),
        ({"default": "1"}, {"default": "2"}),
        ({"removed": None}, {"removed": "use --b"}),
        ({"deprecated": None}, {"deprecated": "use --b"}),
        ({"deprecated": "use --b"}, {"deprecated": None}),
    ],
)
def test_each_field_of_an_option_is_compared(before: dict[str, Any], after: dict[str, Any]) -> None:
    ((aspect, was),) = before.items()
    assert differences(option("--a", **before), option("--a", **after)) == [(aspect, was, after[aspect])]


def test_the_section_of_the_help_text_means_nothing() -> None:
    assert differences(option("--a", section="common"), option("--a", section="sampling")) == []


def test_a_name_that_goes_and_one_that_comes_are_told() -> None:
    before = option("--new", names=("-o", "--old"), negations=("--no-old",), arity=0, env="E")
    after = option("--new", names=("-o", "--new"), negations=("--no-new",), arity=0, env="E")
    assert differences(before, after) == [("names", ("--old", "--no-old"), ("--new", "--no-new"))]


def test_an_option_that_has_all_other_names_is_known_by_its_variable() -> None:
    assert differences(option("--old", env="E"), option("--new", env="E")) == [("names", ("--old",), ("--new",))]


def test_a_name_that_is_another_option_now_means_something_else() -> None:
    found = changes(
        table(option("--first", names=("-f", "--first")), option("--second")),
        table(option("--first"), option("--second", names=("-f", "--second"))),
    )
    assert [(change.after.canonical, tuple(map(tuple, change.differences))) for change in found.changed] == [
        ("--first", (("names", ("-f",), ()), ("meaning", "-f", "--second"))),
        ("--second", (("names", (), ("-f",)),)),
    ]


def test_a_name_that_turns_on_what_it_turned_off_means_something_else() -> None:
    before = option("--on", negations=("--no-on", "--off"), arity=0)
    after = option("--on", names=("--on", "--off"), negations=("--no-on",), arity=0)
    assert differences(before, after) == [("meaning", "--off", "turns it on")]
    assert differences(after, before) == [("meaning", "--off", "turns it off")]


def test_an_option_that_is_split_leaves_one_and_adds_one() -> None:
    found = changes(table(option("--a", names=("--a", "--b"))), table(option("--a"), option("--b")))
    assert [one.canonical for one in found.added] == ["--b"]
    assert [tuple(each) for each in found.changed[0].differences] == [
        ("names", ("--b",), ()),
        ("meaning", "--b", "--b"),
    ]


def test_the_lists_are_sorted_by_name() -> None:
    held = (option("--b"), option("--a"))
    assert changes(table(*held), table()).removed == held[::-1]
    assert changes(table(), table(*held)).added == held[::-1]
