"""Values beside each other: what differs is seen, and what differs never looks the same."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quadgen.review.apart import AROUND, LONG, apart
from quadgen.review.change import Detail, Difference, Kind, ServiceChange
from quadgen.review.differing import lines
from quadgen.review.markdown import code, visible
from quadgen.review.words import plain

SHORT = st.text(alphabet="ab\\n\n\x1b\u202eé\u0301e…", max_size=4)
LONGER = st.sampled_from(["", "x" * 30, "x" * 100, "ab" * 300, "\\n" * 200, "\n" * 150])
VALUE = st.tuples(LONGER, SHORT, LONGER, SHORT, LONGER).map("".join)
VALUES = st.lists(VALUE, max_size=4)


@given(VALUES, VALUES)
@example(["a\nb"], ["a\\nb"])
@example(["\u00e9"], ["e\u0301"])
@example(["x" * 500], ["x" * 501])
@example(["x" * 600 + "a", "y"], ["x" * 600 + "b"])
def test_two_values_that_differ_are_never_shown_alike(old: list[str], new: list[str]) -> None:
    was, now = apart(old, new)
    assert (len(was), len(now)) == (len(old), len(new))
    of: dict[str, set[str]] = {}
    for value, shown in zip([*old, *new], [*was, *now], strict=True):
        assert shown.isprintable()
        of.setdefault(code(shown), set()).add(value)
    assert all(len(values) == 1 for values in of.values())


def changed(old: Sequence[str], new: Sequence[str]) -> ServiceChange:
    """A service of which one argument is given otherwise."""
    return ServiceChange(
        kind=Kind.CHANGED, service="chat", unit="chat.service", restart=True, autostart=True, path="chat.container",
        moved=None, about="", detail=Detail(arguments=(Difference("--flag", tuple(old), tuple(new)),)),
    )  # fmt: skip


@given(VALUE, VALUE)
def test_a_line_that_says_what_a_value_becomes_does_not_say_that_it_stays(old: str, new: str) -> None:
    if old != new:
        (line,) = lines(changed([old], [new]))
        was, arrow, now = line[-3:]
        assert arrow == " -> "
        assert was != now
        assert code(was) != code(now)
        assert visible(plain(line)) == plain(line)


def test_of_a_long_value_what_differs_is_shown_and_a_little_around_it() -> None:
    around = "<" * AROUND, ">" * AROUND
    values = [f"{'<' * 500}{middle}{'>' * 500}" for middle in ("old", "new")]
    assert apart(values[:1], values[1:]) == ([f"…{around[0]}old{around[1]}…"], [f"…{around[0]}new{around[1]}…"])


def test_a_value_that_only_grows_is_shown_where_it_grows() -> None:
    assert apart(["x" * 500], ["x" * 500 + "yz"]) == ([f"…{'x' * AROUND}"], [f"…{'x' * AROUND}yz"])


def test_a_value_that_is_not_long_is_shown_whole() -> None:
    values = ["x" * (LONG - 1) + "a", "x" * (LONG - 1) + "b"]
    assert apart(values[:1], values[1:]) == (values[:1], values[1:])


def test_what_only_comes_is_shown_whole_however_long() -> None:
    values = ["x" * 500 + "a", "x" * 500 + "b"]
    assert apart([], values) == ([], values)


@pytest.mark.parametrize(("values", "shown"), [
    (("a\nb", "a\\nb"), ("a\\nb", "a\\\\nb")),
    (("\u00e9", "e\u0301"), ("\\xe9", "e\\u0301")),
    (("a\\b", "a\\c"), ("a\\b", "a\\c")),
    (("\u00e9", "e"), ("\u00e9", "e")),
])  # fmt: skip
def test_a_character_is_spelled_where_it_does_not_show_or_another_looks_like_it(
    values: tuple[str, str], shown: tuple[str, str]
) -> None:
    assert apart(values[:1], values[1:]) == ([shown[0]], [shown[1]])


def test_an_order_is_told_value_by_value() -> None:
    (line,) = lines(changed(["a, b", "c"], ["c", "a, b"]))
    assert line == ("~ order of ", "--flag", ": ", "a, b", ", ", "c", " -> ", "c", ", ", "a, b")


@pytest.mark.parametrize(("what", "why"), [
    ("restarts", "the digest of what it was started with"),
    ("goes on", "how it is written"),
])  # fmt: skip
def test_a_service_that_says_the_same_as_before_has_a_reason_to_be_told(what: str, why: str) -> None:
    same = replace(changed([], []), detail=Detail(), restart=what == "restarts")
    assert list(lines(same)) == [(f"what it says is the same, but for {why}",)]


ABOUT = Difference("about", ("a on cpu, llama.cpp b1",), ("b on cpu, llama.cpp b1",))


@pytest.mark.parametrize(("old", "new", "count"), [
    ("llama-server: a on cpu", "llama-server: b on cpu", 1),
    ("llama-server: a on cpu", "mine: b on cpu", 2),
    ("a", "b", 2),
    ("Ada's", "Ada's new one", 2),
])  # fmt: skip
def test_a_description_is_told_unless_it_says_what_runs_once_more(old: str, new: str, count: int) -> None:
    key = Difference("[Unit] Description", (old,), (new,))
    found = list(lines(replace(changed([], []), detail=Detail(about=ABOUT, keys=(key,)))))
    assert found[0] == ("~ ", "what runs", " ", *ABOUT.old, " -> ", *ABOUT.new)
    assert len(found) == count
