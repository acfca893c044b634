import tracemalloc
from collections.abc import Callable
from time import process_time

import pytest

from quadgen.document import load
from quadgen.document.anchors import EXPANSION
from quadgen.document.build import MAX_DEPTH
from quadgen.problems import Rejected


def data(text: str) -> object:
    return load("f.yml", text.encode()).data


def shown(text: str) -> list[tuple[str, int, int, int, str]]:
    with pytest.raises(Rejected) as refusal:
        data(text)
    return [
        (p.code, p.place.line, p.place.column, p.place.length, p.message) for p in refusal.value.problems if p.place
    ]


def test_an_alias_stands_for_its_anchor_every_time() -> None:
    text = "x: &x {a: 1}\ny: &y [1, 2]\nz: &z off\n" + "".join(f"k{i}: [*x, *y, *z]\n" for i in range(20))
    loaded = load("f.yml", text.encode()).data
    assert all(loaded[f"k{i}"] == [{"a": 1}, [1, 2], "off"] for i in range(20))


def test_a_merge_takes_in_what_the_mapping_does_not_say_itself() -> None:
    assert data("base: &b {a: 1, b: 2}\nown: {<<: *b, b: 3, c: 4}\n") == {
        "base": {"a": 1, "b": 2},
        "own": {"a": 1, "b": 3, "c": 4},
    }


def test_own_keys_win_wherever_the_merge_stands() -> None:
    assert load("f.yml", b"b: &b {a: 1}\nx: {a: 2, <<: *b}\n").data["x"] == {"a": 2}


def test_the_first_of_several_merged_mappings_wins() -> None:
    text = b"p: &p {a: 1, b: 1}\nq: &q {a: 2, c: 2}\nx: {<<: [*p, *q, {c: 3, d: 3}]}\n"
    assert load("f.yml", text).data["x"] == {"a": 1, "b": 1, "c": 2, "d": 3}


def test_merges_nest() -> None:
    text = b"p: &p {a: 1, b: 1}\nq: &q {<<: *p, b: 2}\nl: &l [*q, {e: 5}]\nx: {<<: *l, c: {<<: *p, a: 9}}\n"
    assert load("f.yml", text).data["x"] == {"a": 1, "b": 2, "e": 5, "c": {"a": 9, "b": 1}}


def test_a_mapping_written_in_place_can_be_merged() -> None:
    assert data("x: {<<: {a: 1}, b: 2}\ny: {<<: []}\n") == {"x": {"a": 1, "b": 2}, "y": {}}


def test_a_merge_leaves_the_merged_mapping_alone() -> None:
    assert load("f.yml", b"p: &p {a: 1}\nx: {<<: *p, b: 2}\n").data["p"] == {"a": 1}


def test_a_quoted_or_tagged_merge_sign_is_text() -> None:
    assert data("'<<': 1\n") == {"<<": 1}
    assert data("!!str <<: 1\n") == {"<<": 1}
    assert data("a: <<\n") == {"a": "<<"}
    assert data("<<: {a: 1}\n'<<': 2\n") == {"a": 1, "<<": 2}


@pytest.mark.parametrize("value", ["1", "text", "", "[1]", "[{a: 1}, x]"])
def test_a_merge_of_anything_else_is_refused(value: str) -> None:
    assert [p[0:1] + p[4:] for p in shown(f"x:\n  <<: {value}\n")] == [
        ("yaml-syntax", "`<<` takes a mapping or a list of mappings")
    ]


def test_a_second_merge_in_a_mapping_is_a_duplicate() -> None:
    assert shown("p: &p {a: 1}\nx:\n  <<: *p\n  b: 1\n  <<: *p\n") == [
        ("duplicate-key", 5, 3, 2, "`<<` is given twice: lines 3 and 5")
    ]


def test_an_alias_without_anchor_is_refused_once_and_reading_goes_on() -> None:
    assert shown("a: *x\nb: {<<: *y}\n*z : 1\nc: &x 1\n") == [
        ("yaml-syntax", 1, 4, 2, "`*x` stands for nothing: no `&x` comes before it"),
        ("yaml-syntax", 2, 9, 2, "`*y` stands for nothing: no `&y` comes before it"),
        ("yaml-syntax", 3, 1, 2, "`*z` stands for nothing: no `&z` comes before it"),
    ]


@pytest.mark.parametrize("text", ["a: &a [*a]", "a: &a {b: *a}", "a: &a {<<: *a}", "a: &a {b: [{<<: [*a]}]}"])
def test_an_alias_inside_its_own_anchor_is_refused(text: str) -> None:
    assert shown(text) == [
        ("yaml-syntax", 1, text.index("*") + 1, 2, "`*a` stands inside what it stands for"),
    ]


def test_an_anchor_given_twice_is_refused() -> None:
    assert shown("a: &x 1\nb: &x 2\n") == [("yaml-syntax", 2, 4, 4, "`&x` is given twice: lines 1 and 2")]


BOMBS = {
    "lists": "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10)),
    "mappings": "a0: &a0 {k: 1}\n"
    + "".join(f"a{i}: &a{i} {{" + ", ".join(f"k{j}: *a{i - 1}" for j in range(9)) + "}\n" for i in range(1, 10)),
    "merges": "a0: &a0 {k: 1}\n"
    + "".join(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 10)),
    "wide merges": "a: &a {"
    + ", ".join(f"k{i}: 1" for i in range(2000))
    + "}\n"
    + "".join(f"b{i}: {{<<: *a}}\n" for i in range(2000)),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_aliases_that_multiply_are_refused_soon_and_in_little_memory(bomb: str) -> None:
    tracemalloc.start()
    start = process_time()
    try:
        found = shown(bomb)
        seconds = process_time() - start
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert [(p[0], p[4]) for p in found] == [
        ("yaml-syntax", f"alias expansion makes more than {EXPANSION:,} values of this file")
    ]
    assert seconds < 5  # written out, it would be hours
    assert peak < 200_000_000


@pytest.mark.parametrize("host", ["*d", "{<<: *d, model: m}", "{flags: *d, port: 1}"])
def test_ten_thousand_hosts_can_share_thirty_keys(host: str) -> None:
    shared = ", ".join(f"k{i}: {i}" for i in range(30))
    text = f"x-d: &d {{{shared}}}\nhosts:\n" + "".join(f"  h{i}: {host}\n" for i in range(10_000))
    assert len(load("f.yml", text.encode()).data["hosts"]) == 10_000


def test_the_bound_on_aliases_grows_with_the_file() -> None:
    shared = ", ".join(f"k{i}: 1" for i in range(100))
    line = "  h{}: {{<<: *d, comment: " + "x" * 80 + "}}\n"
    text = f"x-d: &d {{{shared}}}\nhosts:\n" + "".join(line.format(i) for i in range(10_500))
    assert EXPANSION < 10_500 * 200
    assert len(load("f.yml", text.encode()).data["hosts"]) == 10_500


DEEP: dict[str, Callable[[int], str]] = {
    "flow lists": lambda n: "[" * n + "]" * n,
    "flow mappings": lambda n: "{a: " * n + "}" * n,
    "block mappings": lambda n: "".join(" " * i + "a:\n" for i in range(n)),
    "block lists": lambda n: "- " * n + "x",
    "keys": lambda n: "? " * n + "x",
}


@pytest.mark.parametrize("shape", ["flow lists", "flow mappings", "block mappings", "block lists"])
def test_a_hundred_levels_are_read(shape: str) -> None:
    assert data(DEEP[shape](MAX_DEPTH)) is not None


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 1500])
@pytest.mark.parametrize("shape", DEEP)
def test_more_levels_are_refused(shape: str, levels: int) -> None:
    code, _, _, _, message = shown(DEEP[shape](levels))[-1]
    assert code == "yaml-syntax"
    assert message in {f"this is nested deeper than {MAX_DEPTH} levels", "this is nested too deep"}


@pytest.mark.parametrize("text", ["[" * 100_000, "{" * 100_000, "- " * 100_000, "? " * 100_000, "- [{a: " * 50_000])
def test_no_depth_crashes_the_reader(text: str) -> None:
    start = process_time()
    assert shown(text)
    assert process_time() - start < 5


def test_a_long_chain_of_merges_is_read_and_located() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}}}\n" for i in range(1, 1300))
    document = load("f.yml", text.encode())
    assert document.data["a1299"] == {"x": 1}
    assert document.locate(("a1299", "x")).line == 1
