import subprocess
import sys
import tracemalloc
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml

from quadgen.document import libyaml, load
from quadgen.problems import Problem, Rejected, Unavailable


def data(text: str) -> object:
    return load("f.yml", text.encode()).data


def problems(text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(Rejected) as refusal:
        load("f.yml", text if isinstance(text, bytes) else text.encode())
    return refusal.value.problems


def shown(text: str | bytes) -> list[tuple[str, int, int, int, str]]:
    """Code, line, column, length and message of each problem."""
    return [(p.code, p.place.line, p.place.column, p.place.length, p.message) for p in problems(text) if p.place]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "\ufeff", "---\n", "--- # x\n...\n", "%YAML 1.2\n---\n"])
def test_a_file_without_data_is_none(text: str) -> None:
    assert data(text) is None


def test_a_document_knows_its_name_text_and_data() -> None:
    document = load("a/b.yml", b"\xef\xbb\xbfa: 1\r\n")
    assert (document.name, document.text, document.data) == ("a/b.yml", "a: 1\r\n", {"a": 1})


def test_keys_are_text_as_written() -> None:
    text = "1: a\ntrue: b\n~: c\n1.10: d\n0x10: e\n'q': f\n!!int 7: g\n&n on: h\n? k\n: i\n<: j\n"
    assert data(text) == {
        "1": "a",
        "true": "b",
        "~": "c",
        "1.10": "d",
        "0x10": "e",
        "q": "f",
        "7": "g",
        "on": "h",
        "k": "i",
        "<": "j",
    }


def test_an_alias_can_be_a_key_and_is_text_as_written() -> None:
    assert data("a: &x 1.10\nb: &y ~\n*x : 1\n*y : 2\n") == {"a": 1.1, "b": None, "1.10": 1, "~": 2}


@pytest.mark.parametrize(("key", "length"), [("[a, b]", 1), ("{a: b}", 1), ("&x [a]", 4)])
def test_a_key_that_is_no_scalar_is_refused(key: str, length: int) -> None:
    assert shown(f"? {key}\n: 1\n") == [("yaml-syntax", 1, 3, length, "a key is text, and this is a mapping or a list")]


def test_an_alias_of_a_list_is_no_key() -> None:
    assert shown("a: &x [b]\n*x : 1\n") == [("yaml-syntax", 2, 1, 2, "a key is text, and this is a mapping or a list")]


def test_duplicate_keys_are_all_reported_with_their_lines() -> None:
    text = "a: 1\nb: {c: 1, c: 2}\na: 2\nhosts:\n  box1: 1\n  box2: 1\n  box1: 2\n'a': 3\n1: x\n'1': y\n"
    assert shown(text) == [
        ("duplicate-key", 2, 11, 1, "`c` is given twice on line 2"),
        ("duplicate-key", 3, 1, 1, "`a` is given 3 times: lines 1, 3 and 8"),
        ("duplicate-key", 7, 3, 4, "`box1` is given twice: lines 5 and 7"),
        ("duplicate-key", 10, 1, 3, "`1` is given twice: lines 9 and 10"),
    ]


def test_a_key_given_very_often_names_the_first_lines_and_the_last() -> None:
    (problem,) = problems("a: 1\n" * 1000)
    assert problem.message == "`a` is given 1000 times: lines 1, 2, 3, 4, 5, 6, 7, … and 1000"


def test_duplicates_before_a_syntax_error_are_reported_with_it() -> None:
    assert [p[:3] for p in shown("a: {b: 1, b: 2}\nc: [\n")] == [
        ("duplicate-key", 1, 11),
        ("yaml-syntax", 2, 4),
    ]


def test_windows_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    text = 'a: |\n  one\n  two\nb: "x\n  y"\nc: [1,\n  2]\n# end\n'
    assert data("\ufeff" + text.replace("\n", "\r\n")) == data(text)
    assert shown("\ufeffa: 1\r\n\r\nb: é\r\na: 2\r\n") == [
        ("duplicate-key", 4, 1, 1, "`a` is given twice: lines 1 and 4")
    ]
    assert problems("\ufeffa: 1\r\na: 2\r\n")[0].place == problems("a: 1\na: 2\n")[0].place


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (b"a: \xe9\n", 1, 4, "byte 0xE9 is not UTF-8"),
        (b"a: 1\r\nb: \xe2\x82\xac\xff\r\n", 2, 5, "byte 0xFF is not UTF-8"),
        (b"a: \xe2\x82", 1, 4, "byte 0xE2 is not UTF-8"),
        (b"a: \xed\xa0\x80", 1, 4, "byte 0xED is not UTF-8"),
        (b"a: \x80", 1, 4, "byte 0x80 is not UTF-8"),
        (b"a: 1\nb\0c: 1", 2, 2, "a NUL character cannot stand in a text file"),
        (b"a: 1 # \x07", 1, 8, "the character U+0007 cannot stand in YAML"),
        (b"a: \x7f", 1, 4, "the character U+007F cannot stand in YAML"),
        ("é: \x9f".encode(), 1, 4, "the character U+009F cannot stand in YAML"),
        ("a: \uffff".encode(), 1, 4, "the character U+FFFF cannot stand in YAML"),
        (b"a:\r\x0b", 2, 1, "the character U+000B cannot stand in YAML"),
        ("a: b\ufeff".encode(), 1, 5, "a byte order mark (U+FEFF) stands inside the file"),
        ("a: b\x85c".encode(), 1, 5, "U+0085 ends a line for some readers of YAML and not for others"),
        ("a: b\u2028c".encode(), 1, 5, "U+2028 ends a line for some readers of YAML and not for others"),
        ("a: b\u2029c".encode(), 1, 5, "U+2029 ends a line for some readers of YAML and not for others"),
        ("a: b\n".encode("utf-16"), 1, 1, "the file is UTF-16, and only UTF-8 is read"),
        ("a: b\n".encode("utf-16-le"), 1, 1, "the file is UTF-16, and only UTF-8 is read"),
        ("a: b\n".encode("utf-16-be"), 1, 1, "the file is UTF-16, and only UTF-8 is read"),
        ("a: b\n".encode("utf-32"), 1, 1, "the file is UTF-16, and only UTF-8 is read"),
        (b"\x00\x00\xfe\xff\x00\x00\x00a", 1, 1, "the file is UTF-16, and only UTF-8 is read"),
    ],
)
def test_bytes_that_are_no_yaml_text_have_a_place(text: bytes, line: int, column: int, message: str) -> None:
    assert shown(text) == [("yaml-syntax", line, column, 1, message)]


def test_the_line_of_a_bad_byte_is_shown_with_a_stand_in() -> None:
    (problem,) = problems(b"x: 1\nname: caf\xe9 au lait\ny: 2\n")
    assert problem.place is not None
    assert problem.place.text == "name: caf\ufffd au lait"
    assert problem.hint == "save the file as UTF-8; in Latin-1 this byte is `é`"


def test_characters_beyond_the_basic_plane_count_as_one() -> None:
    assert shown("a: {'🎉é': 1, b: 2, b: 3}")[0][1:4] == (1, 20, 1)


def test_escapes_can_write_what_a_file_cannot_hold() -> None:
    assert data('a: "\\0\\x07\\u0085\\u2028\\uFEFF\\U0001F389"') == {"a": "\0\x07\x85\u2028\ufeff🎉"}


def test_libyaml_that_is_missing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml._yaml", None)
    spec = spec_from_file_location("libyaml_again", libyaml.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(Unavailable, match="PyYAML was built without libyaml"):
        spec.loader.exec_module(module_from_spec(spec))


def test_reading_brings_in_no_other_heavy_library() -> None:
    check = "import sys, quadgen.document; print({'pydantic', 'jinja2', 'rich', 'subprocess'} & set(sys.modules))"
    source = str(Path(libyaml.__file__).parents[2])
    result = subprocess.run(
        [sys.executable, "-c", check], env={"PYTHONPATH": source}, capture_output=True, text=True, check=True
    )
    assert result.stdout == "set()\n"


def test_the_reader_reads_a_large_file_as_the_c_loader_of_pyyaml_does() -> None:
    text = "hosts:\n" + "".join(
        f"  h{i}: {{backend: vulkan, model: m, profile: default, port: {i}, context: 32768}}\n" for i in range(1000)
    )
    assert data(text) == yaml.load(text, Loader=yaml.CSafeLoader)


def test_a_file_without_mistakes_costs_no_more_memory_than_its_data() -> None:
    text = "hosts:\n" + "".join(f"  h{i}: {{backend: vulkan, port: {i}}}\n" for i in range(2000))
    load("f.yml", text.encode())  # Python's own table of interned names grows by megabytes when it is full
    tracemalloc.start()
    try:
        document = load("f.yml", text.encode())
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(document.data["hosts"]) == 2000
    assert kept < 2000 * 600
    assert peak < 2000 * 2500
