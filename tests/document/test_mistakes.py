import pytest
from yaml.error import MarkedYAMLError
from yaml.reader import ReaderError

from quadgen.document import load
from quadgen.document.libyaml import CParser
from quadgen.document.mistakes import _SENTENCES
from quadgen.problems import Problem, Rejected

MAPPING = (
    "this `:` begins a mapping where none can begin",
    "line up the keys of a mapping, put a space after each `:`, and quote a value that holds `: `",
)
KEY_HINT = "a key is followed by a colon and a space, a list item follows a dash and a space"
STRAY = (
    "this does not belong to the mapping that begins on line 1",
    "line up the mapping's keys; nothing can follow a closing quote or bracket",
)
LIST_HINT = "line up the dashes of the list"
ENDED = ("the document has ended before this", "begin all top-level keys in the same column")
DELETE = 'delete it, or write it as "\\u007F" in double quotes'
ESCAPE_HINT = "write `\\\\` for a backslash, or use single quotes"
QUOTES = "put the value in quotes"
TAB = ("a tab cannot indent YAML", "use spaces")

MISTAKES: list[tuple[str, int, int, str, str | None]] = [
    ("hosts:\n\tclaw: x\n", 2, 1, *TAB),
    ("hosts:\n  claw:\n  \tport: 1\n", 3, 3, *TAB),
    ("a:\n  b: 1\n\tc: 2\n", 3, 1, *TAB),
    ("a:\n  - 1\n\t- 2\n", 3, 1, *TAB),
    ("a: |\n\tx\n", 2, 1, *TAB),
    ("a: |\n  x\n\ty\n", 3, 1, *TAB),
    ("\ta: 1\n", 1, 1, *TAB),
    ("a: b: c\n", 1, 5, *MAPPING),
    ("a: 1\n b: 2\n", 2, 3, *MAPPING),
    ("port:8080\nmodel: x\n", 2, 6, *MAPPING),
    ("a: é: {\n", 1, 5, *MAPPING),
    ("a: 1\nfoo\nb: 2\n", 2, 1, "`foo` is no key: no `: ` follows it", KEY_HINT),
    ("- 1\n-2\n", 2, 1, "`-2` is no key: no `: ` follows it", KEY_HINT),
    (
        "a:\n    b: 1\n  c: 2\n",
        3,
        3,
        *STRAY,
    ),
    ("x: 1\na: 'it's'\n", 2, 8, *STRAY),
    (
        "- a\nb: 1\n",
        2,
        1,
        "this does not belong to the list that begins on line 1",
        LIST_HINT,
    ),
    ("x: 1\na: [1, 2\nb: 1\n", 3, 2, "a `,` or `]` is missing before this; the list opens on line 2", None),
    ("a: {b: 1]\n", 1, 9, "a `,` or `}` is missing before this; the mapping opens on line 1", None),
    ("a: [1, 2\n\n\n", 1, 4, "this `[` is never closed", None),
    ("a: {b: 1\n", 1, 4, "this `{` is never closed", None),
    ("a: [\n", 1, 4, "the file ends where a value should stand", None),
    ("a: 'x\nb: 1\n", 1, 4, "this quote is never closed", None),
    ('a: "x\n', 1, 4, "this quote is never closed", None),
    (
        "a: 'b\n---\nc'\n",
        2,
        1,
        "`---` ends the document inside the quotes that open on line 1",
        "close the quotes, or indent the line",
    ),
    ('a: "C:\\dir"\n', 1, 7, "`\\d` is no escape of double-quoted text", ESCAPE_HINT),
    ('a: "\\xzz"\n', 1, 7, "this escape lacks hexadecimal digits", ESCAPE_HINT),
    ('a: "\\ud83d"\n', 1, 7, "this escape is the code of no character", ESCAPE_HINT),
    ("a: - b\n", 1, 4, "a list cannot begin here", "put each `- ` on its own line below the key"),
    ("a: ? x\n", 1, 4, "`? ` cannot begin a key here", QUOTES),
    ("a: [*.yml]\n", 1, 5, "`*` begins an anchor or an alias, and no name follows it", QUOTES),
    ("a: &\n", 1, 4, "`&` begins an anchor or an alias, and no name follows it", QUOTES),
    ("a: @x\n", 1, 4, "`@` cannot begin a value", QUOTES),
    ("a: %x\n", 1, 4, "`%` cannot begin a value", QUOTES),
    ("a: `x`\n", 1, 4, '"`" cannot begin a value', QUOTES),
    ("%x\n", 1, 1, "a `%` at the start of a line begins a directive", QUOTES),
    ("a: [,]\n", 1, 5, "a value is missing before `,`", None),
    ("a: }\n", 1, 4, "a value is missing before `}`", None),
    (
        " a: 1\nb: 2\n",
        2,
        1,
        "the document has ended before this",
        "begin all top-level keys in the same column",
    ),
    ("a: | x\n", 1, 6, "nothing but a comment can follow on this line", None),
    ("a: |0\n", 1, 5, "a block is indented by 1 to 9 spaces, not by 0", None),
    ("a: !e!x 1\n", 1, 4, "`!e!x 1` begins with a tag that is not known", QUOTES),
    ("a: {b:,c: 1}\n", 1, 6, "this `:` cannot stand here", QUOTES),
    ("%YAML 2.0\n---\na\n", 1, 1, "only YAML 1.1 and 1.2 are read", None),
    ("a: !<x\n", 1, 6, "this is no YAML: did not find the expected '>'", None),
    ("---\na: 1\n---\nb: 2\n", 3, 1, "a second document begins here", "a file holds one: take out the `---`"),
    ("---\n---\n", 2, 1, "a second document begins here", "a file holds one: take out the `---`"),
    (
        "a: \x7f",
        1,
        4,
        "the character U+007F cannot stand in YAML",
        'delete it, or write it as "\\u007F" in double quotes',
    ),
]


def problem(text: str) -> Problem:
    with pytest.raises(Rejected) as refusal:
        load("f.yml", text.encode())
    (only,) = refusal.value.problems
    return only


@pytest.mark.parametrize(("text", "line", "column", "message", "hint"), MISTAKES)
def test_a_mistake_has_a_sentence_and_its_place(
    text: str, line: int, column: int, message: str, hint: str | None
) -> None:
    found = problem(text)
    assert (found.code, found.file, found.message, found.hint) == ("yaml-syntax", "f.yml", message, hint)
    assert found.place is not None
    assert (found.place.file, found.place.line, found.place.column) == ("f.yml", line, column)
    assert found.place.text == text.split("\n")[line - 1]


@pytest.mark.parametrize("text", [mistake[0] for mistake in MISTAKES])
def test_the_place_does_not_depend_on_line_ends(text: str) -> None:
    assert problem(text.replace("\n", "\r\n")).place == problem(text).place


def test_every_sentence_is_still_what_libyaml_complains_about() -> None:
    complaints = set()
    for text, *_ in MISTAKES:
        parser = CParser(text)
        try:
            while parser.get_event() is not None:
                pass
        except MarkedYAMLError as error:
            complaints.add(error.problem)
        except ReaderError:
            assert "\x7f" in text  # which is refused before libyaml sees it
    assert set(_SENTENCES) <= complaints
