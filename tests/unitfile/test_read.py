"""The reader takes what Podman and systemd read in the same way, and names the line of anything else."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.unitfile import Entry, Malformed, gather, read, read_values

UNIT = """\
# a comment
[Unit]
Description = llama-server of claw

; another
  After=a.service
[Container]
Exec=--model /m \\
  # inside a continued line
  --jinja \\
  --metrics
Volume=
[Unit]
After=b.service"""


def test_a_unit_reads_as_its_assignments_in_order() -> None:
    assert read(UNIT) == (
        Entry("Unit", "Description", "llama-server of claw", 3),
        Entry("Unit", "After", "a.service", 6),
        Entry("Container", "Exec", "--model /m --jinja --metrics", 8),
        Entry("Container", "Volume", "", 12),
        Entry("Unit", "After", "b.service", 14),
    )


@pytest.mark.parametrize("text", ["", "\n", "# only\n; comments\n", "\r\n"])
def test_a_unit_without_assignments_is_empty(text: str) -> None:
    assert read(text) == ()


def test_a_carriage_return_belongs_to_the_end_of_the_line() -> None:
    assert read(UNIT.replace("\n", "\r\n")) == read(UNIT)
    assert read(UNIT.replace("\n", "\r\n") + "\r") == read(UNIT)


def test_a_comment_that_ends_in_a_backslash_does_not_go_on() -> None:
    assert read("[Unit]\n# C:\\\nAfter=a.service\n") == (Entry("Unit", "After", "a.service", 3),)


def test_a_continued_line_may_begin_right_after_its_key() -> None:
    assert read("[Container]\nExec=\\\n  a \\\n  b\n") == (Entry("Container", "Exec", "a b", 2),)


def test_values_are_gathered_by_key_and_an_empty_one_resets() -> None:
    entries = read("[A]\nX=1\nX=2\nX=\nX=3\nY=\n[B]\nX=4\n")
    assert gather(entries) == {("A", "X"): ["3"], ("A", "Y"): [], ("B", "X"): ["4"]}


def test_characters_beyond_ascii_stay_as_they_are() -> None:
    text = "[Unit]\nDescription=\N{NO-BREAK SPACE}\N{LLAMA} a\N{NO-BREAK SPACE}b\tc\N{LINE SEPARATOR}d\n"
    assert read(text)[0].value == "\N{NO-BREAK SPACE}\N{LLAMA} a\N{NO-BREAK SPACE}b\tc\N{LINE SEPARATOR}d"


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("\ufeff[Unit]\n", 1, "Podman refuses a file that starts with a byte order mark"),
        ("A=1\n", 1, "an assignment in front of the first section is ignored"),
        ("[Unit]\nwords\n", 2, "a line is a comment, a [Section] or Key=value"),
        ("[Unit]\n=1\n", 2, "a key is letters, digits and dashes"),
        ("[Unit]\nA b=1\n", 2, "a key is letters, digits and dashes"),
        ("[Unit] x\n", 1, "a section is a name in brackets on a line of its own"),
        ("[Unit\n", 1, "a section is a name in brackets on a line of its own"),
        ("[]\n", 1, "a section is a name in brackets on a line of its own"),
        ("[Unit]\nA=1 \\\n\nB=2\n", 3, "systemd ends a continued line at an empty one, Podman goes on"),
        ("[Unit]\nA=x\\\\\nB=2\n", 2, "Podman joins a continued line without a blank"),
        ("[Unit]\nA=x\\\nB=2\n", 2, "Podman joins a continued line without a blank"),
        ('[Unit]\nA="x \\\n  y"\n', 2, "a quote is open where the line is continued"),
        ("[Unit]\nA='x \\\n  y'\n", 2, "a quote is open where the line is continued"),
        ("[Unit]\nA=x \\\n", 2, "the file ends inside a continued line"),
        ("[Unit]\nA=x \\", 2, "the file ends inside a continued line"),
        ("[Unit]\nA=\0\n", 2, "the character U+0000 has no place in a unit file"),
        ("[Unit]\nA=a\rB=b\n", 2, "the character U+000D has no place in a unit file"),
        ("[Unit]\nA=\ufffe\n", 2, "the character U+FFFE has no place in a unit file"),
        ("[Unit]\nA\N{NO-BREAK SPACE}=a\n", 2, "a key is letters, digits and dashes"),
        ("[Unit]\nA=" + "x" * 200_000, 2, "a line of more than 200,000 characters is refused"),
        ("[Unit]\nA=a\N{NO-BREAK SPACE}\n", 2, "Podman drops a blank at the end of this line"),
        ("[Unit]\nA=é" + "x" * 200_000, 2, "a line of more than 200,000 characters is refused"),
        ("[Unit]\n\nA=1\n[U", 4, "a section is a name in brackets on a line of its own"),
    ],
)
def test_a_line_that_a_reader_would_drop_or_take_differently_is_refused(text: str, line: int, reason: str) -> None:
    with pytest.raises(Malformed) as refused:
        read(text)
    assert refused.value.line == line
    assert refused.value.reason.startswith(reason)
    assert str(refused.value) == f"line {line}: {refused.value.reason}"


@given(st.text(st.sampled_from("[]AbX=# ;\\\n\r\t\"'\N{NO-BREAK SPACE}\ufeff"), max_size=40))
def test_any_text_reads_or_is_refused_with_one_of_its_lines(text: str) -> None:
    try:
        outcome: tuple[Entry, ...] | int = read(text)
    except Malformed as refused:
        outcome = refused.line or 0
    if isinstance(outcome, int):
        assert 1 <= outcome <= text.count("\n") + 1
    else:
        assert all(entry.section and entry.key and entry.value == entry.value.strip() for entry in outcome)


LINES = (
    "[Unit]",
    "[Container]",
    "[A b]",
    "A=1",
    "A=",
    "A=x y",
    "B= z",
    "B=b\\",
    "C = c",
    "#c",
    ";c",
    "",
    "words",
    " A=2",
    "A=é",
)


@given(st.lists(st.sampled_from(LINES), max_size=8).map("\n".join), st.sampled_from(["", "\n", "\n\n", "\r\n"]))
def test_the_short_way_reads_what_the_long_way_reads(text: str, end: str) -> None:
    try:
        wanted: object = gather(read(text + end))
    except Malformed as refused:
        wanted = str(refused)
    try:
        found: object = read_values(text + end)
    except Malformed as refused:
        found = str(refused)
    assert found == wanted


@given(st.text(st.sampled_from("[]AbX=# ;\\\n\r\t\"'\N{NO-BREAK SPACE}\ufeff"), max_size=40))
def test_the_short_way_refuses_what_the_long_way_refuses(text: str) -> None:
    try:
        wanted: object = gather(read(text))
    except Malformed as refused:
        with pytest.raises(Malformed, match=re.escape(str(refused))):
            read_values(text)
    else:
        assert read_values(text) == wanted
