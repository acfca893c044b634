import pytest

from quadgen.document import Document, load
from quadgen.problems import Path

FLEET = """\
# a comment
version: 1
x-base: &base {port: 8080, "a b": [1, two]}
x-more: &more
  <<: *base
  context: 4096   \t
groups:
  desk: &desk {<<: *more, port: !!int 9090}
hosts:
  claw:
    groups: [desk, 'x']
    model: &m qwen # why
    note: |
      two
      lines
    plain: one
      two
  forge: *desk
  "box 1": {<<: [*desk, *more], name: "ünï: 🎉", last: *m}
empty:
"""


@pytest.fixture(scope="module")
def document() -> Document:
    return load("fleet.yml", FLEET.encode())


def spot(document: Document, path: Path) -> tuple[int, int, str]:
    place = document.locate(path)
    return place.line, place.column, place.text[place.column - 1 : place.column - 1 + place.length]


@pytest.mark.parametrize(
    ("path", "line", "column", "text"),
    [
        (("version",), 2, 10, "1"),
        (("x-base", "port"), 3, 22, "8080"),
        (("x-base", "a b"), 3, 35, "[1, two]"),
        (("x-base", "a b", 1), 3, 39, "two"),
        (("x-base",), 3, 15, '{port: 8080, "a b": [1, two]}'),
        (("x-more",), 4, 9, "&more"),
        (("x-more", "context"), 6, 12, "4096"),
        (("hosts",), 10, 3, "claw:"),
        (("hosts", "claw"), 11, 5, "groups: [desk, 'x']"),
        (("hosts", "claw", "groups", 1), 11, 20, "'x'"),
        (("hosts", "claw", "model"), 12, 15, "qwen"),
        (("hosts", "claw", "note"), 13, 11, "|"),
        (("hosts", "claw", "plain"), 16, 12, "one"),
        (("groups", "desk", "port"), 8, 39, "9090"),
        (("hosts", "box 1", "name"), 19, 39, '"ünï: 🎉"'),
        (("hosts", "box 1", "last"), 12, 15, "qwen"),
        (("empty",), 20, 7, ""),
    ],
)
def test_a_value_has_its_place(document: Document, path: Path, line: int, column: int, text: str) -> None:
    place = document.locate(path)
    assert (place.file, place.line, place.column) == ("fleet.yml", line, column)
    assert place.text[column - 1 : column - 1 + place.length] == text
    assert place.length == max(1, len(text))
    assert place.text == FLEET.split("\n")[line - 1]


@pytest.mark.parametrize(
    ("path", "line", "column", "text"),
    [
        (("version",), 2, 1, "version"),
        (("hosts", "claw", "model"), 12, 5, "model"),
        (("hosts", "claw"), 10, 3, "claw"),
        (("hosts", "box 1"), 19, 3, '"box 1"'),
        (("x-base", "a b"), 3, 28, '"a b"'),
        (("x-base", "a b", 0), 3, 36, "1"),
        (("hosts", "claw", "missing"), 10, 3, "claw"),
    ],
)
def test_a_key_has_its_place(document: Document, path: Path, line: int, column: int, text: str) -> None:
    place = document.locate(path, at="key")
    assert (place.line, place.column) == (line, column)
    assert place.text[column - 1 : column - 1 + place.length] == text


@pytest.mark.parametrize(
    ("path", "line", "text"),
    [
        (("hosts", "forge", "port"), 8, "9090"),
        (("hosts", "forge", "context"), 6, "4096"),
        (("hosts", "forge", "a b", 1), 3, "two"),
        (("hosts", "box 1", "port"), 8, "9090"),
        (("groups", "desk", "context"), 6, "4096"),
        (("x-more", "port"), 3, "8080"),
    ],
)
def test_what_came_by_alias_or_merge_is_where_it_is_written(
    document: Document, path: Path, line: int, text: str
) -> None:
    found = spot(document, path)
    assert (found[0], found[2]) == (line, text)


@pytest.mark.parametrize(
    ("path", "same_as"),
    [
        (("hosts", "claw", "nothing"), ("hosts", "claw")),
        (("hosts", "claw", "nothing", "deeper", 3), ("hosts", "claw")),
        (("hosts", "union-tag", "claw", "model"), ("hosts", "claw", "model")),
        (("hosts", 0), ("hosts",)),
        (("hosts", "claw", "groups", 2), ("hosts", "claw", "groups")),
        (("hosts", "claw", "groups", -1), ("hosts", "claw", "groups")),
        (("hosts", "claw", "groups", "desk"), ("hosts", "claw", "groups")),
        (("version", "deeper"), ("version",)),
        (("empty", "deeper"), ("empty",)),
        (("<<",), ()),
        (("x-more", "<<"), ("x-more",)),
        (("nothing",), ()),
    ],
)
def test_parts_that_are_not_there_are_passed_over(document: Document, path: Path, same_as: Path) -> None:
    assert document.locate(path) == document.locate(same_as)


def test_the_empty_path_is_the_start_of_the_data(document: Document) -> None:
    assert spot(document, ()) == (2, 1, "version: 1")
    assert document.locate((), at="key") == document.locate(())


@pytest.mark.parametrize("text", ["", "# only a comment", "\ufeff\r\n"])
def test_a_file_without_data_has_its_first_line(text: str) -> None:
    place = load("f.yml", text.encode()).locate(("hosts", 0), at="key")
    assert (place.line, place.column, place.length) == (1, 1, 1)
    assert place.text == text.strip("\ufeff\r\n")


def test_places_ignore_byte_order_mark_and_line_ends(document: Document) -> None:
    windows = load("fleet.yml", ("\ufeff" + FLEET.replace("\n", "\r\n")).encode())
    mac = load("fleet.yml", FLEET.replace("\n", "\r").encode())
    for path in [(), ("hosts", "claw", "note"), ("hosts", "box 1", "name"), ("x-more",), ("empty",)]:
        assert windows.locate(path) == document.locate(path)
        assert mac.locate(path) == document.locate(path)


def test_a_quoted_merge_sign_is_a_key_like_any_other() -> None:
    found = load("f.yml", b"a: {'<<': 1}\nb: {!!str <<: {c: 2}}\nc: {&n <<: {d: 3}}\n")
    assert found.data == {"a": {"<<": 1}, "b": {"<<": {"c": 2}}, "c": {"<<": {"d": 3}}}
    assert spot(found, ("a", "<<")) == (1, 11, "1")
    assert spot(found, ("b", "<<", "c")) == (2, 19, "2")


def test_an_empty_anchored_or_tagged_value_has_the_place_of_its_anchor_or_tag() -> None:
    found = load("f.yml", b"a: &x\nb: !!str\nc: [&y , !!null ]\nd: &z # why\n  {e: 1}\n")
    assert spot(found, ("a",)) == (1, 4, "&x")
    assert spot(found, ("b",)) == (2, 4, "!!str")
    assert spot(found, ("c", 0)) == (3, 5, "&y")
    assert spot(found, ("d",)) == (4, 4, "&z # why")


def test_a_document_can_be_compared_and_shown_without_its_text(document: Document) -> None:
    assert document == load("fleet.yml", FLEET.encode())
    assert "a comment" not in repr(document)
