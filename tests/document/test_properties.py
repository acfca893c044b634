from collections.abc import Iterator

import yaml
from hypothesis import given
from hypothesis import strategies as st

from quadgen.document import Document, Real, Whole, load, text_of
from quadgen.document.scalars import plain
from quadgen.problems import Path, Problem, Rejected

FRAGMENTS = [
    *("a", "b: ", ": ", "- ", "\n", "\n  ", "\r\n", "\r", " ", "\t", "{", "}", "[", "]", ", ", "#"),
    *("'", '"', "|\n", ">-\n", "&a ", "*a", "&b ", "*b", "<<: ", "!!str ", "!!int ", "! ", "!x "),
    *("!<%ED%A0%80> ", "? ", "---\n", "...\n", "%YAML 1.2\n", "\\", "\\x41", "1", "0x1", "1.10", "010"),
    *("~", "true", ".inf", "é", "\u2028", "\ufeff", "\0", "\x07", "🎉"),
]
PIECES = st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join)


def outcome(data: bytes) -> Document | tuple[Problem, ...]:
    try:
        return load("f.yml", data)
    except Rejected as refusal:
        return refusal.problems


def check(data: bytes) -> Document | None:
    """Load; hold every promise about a refusal."""
    found = outcome(data)
    if isinstance(found, Document):
        return found
    assert found
    for problem in found:
        assert problem.code in {"yaml-syntax", "duplicate-key"}
        assert problem.message.isprintable()
        place = problem.place
        assert place is not None
        assert place.line >= 1
        assert place.length >= 1
        assert 1 <= place.column <= len(place.text) + 1
        assert not {"\n", "\r"} & set(place.text)
    return None


def leaves(data: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from leaves(value, (*path, key))
    elif isinstance(data, list):
        for position, value in enumerate(data):
            yield from leaves(value, (*path, position))
    else:
        yield path, data


@given(st.binary(max_size=200))
def test_any_bytes_load_or_are_rejected(data: bytes) -> None:
    check(data)


@given(st.text(max_size=200))
def test_any_text_loads_or_is_rejected(text: str) -> None:
    check(text.encode())


@given(PIECES)
def test_any_pieces_of_yaml_load_or_are_rejected_and_every_value_has_a_place(text: str) -> None:
    document = check(text.encode())
    if document is None:
        return
    for path, value in leaves(document.data):
        place = document.locate(path)
        assert 1 <= place.column <= len(place.text) + 1
        if isinstance(value, Real | Whole):
            assert text_of(value) in text
        assert document.locate(path, at="key").column >= 1


@given(PIECES)
def test_line_ends_and_a_byte_order_mark_never_change_what_a_file_says(text: str) -> None:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").lstrip("\ufeff")
    expected = outcome(text.encode())
    found = outcome(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    if isinstance(expected, Document) and isinstance(found, Document):
        assert repr(found.data) == repr(expected.data)  # as text, since .nan equals nothing
    else:
        assert found == expected


# PyYAML writes YAML 1.1, and quotes what is no text there; `0o17` and `1e5` are text there and numbers here.
# It also writes U+0085 and its like as they are, which are refused here.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\x85\u2028\u2029\ufeff")
TEXT = st.text(CHARACTERS, max_size=20).filter(lambda text: isinstance(plain(text), str)) | st.sampled_from(
    [
        "on",
        "010",
        "22:22",
        "2024-01-01",
        "5",
        "1.10",
        "true",
        "~",
        "",
        "null",
        "<<",
        "=",
        "- a",
        "a: b",
        "#",
        "é",
    ]
)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(DATA, st.booleans(), st.booleans())
def test_what_pyyaml_writes_is_read_back(data: object, flow: bool, allow_unicode: bool) -> None:  # noqa: FBT001 - drawn
    text = yaml.safe_dump(data, default_flow_style=flow, allow_unicode=allow_unicode, sort_keys=False)
    document = check(text.encode())
    assert document is not None
    assert repr(document.data) == repr(data)  # as text, since True equals 1


@given(DATA)
def test_a_place_holds_the_value_as_it_is_written(data: object) -> None:
    document = load("f.yml", yaml.safe_dump(data, width=10_000, allow_unicode=False).encode())
    for path, value in leaves(document.data):
        place = document.locate(path)
        span = place.text[place.column - 1 :][: place.length]
        if "\n" not in str(value) and span:
            again = load("f.yml", span.encode()).data
            assert repr(again) == repr(value)
