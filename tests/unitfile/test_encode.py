"""The law of every encoder: what it wrote reads back as what was meant, or it raised with a reason."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostile import names, paths, texts
from quadgen import unitfile
from quadgen.unitfile import Spec, UnitText, Unsafe, Word, unpercent, unspecify

words = st.one_of(texts, texts, texts, st.sampled_from([Spec("%d/api-key"), Spec("%h/a b"), Spec("50%%=%t$x")]))


def carried(text: UnitText, section: str = "Container") -> str:
    """The value as the reader gives it back from a whole unit, its two neighbours unharmed."""
    assert type(text) is UnitText
    entries = unitfile.read(f"[{section}]\nBefore=1\nKey={text}\nAfter=2\n")
    assert [entry.key for entry in entries] == ["Before", "Key", "After"]
    assert [entry.value for entry in entries[::2]] == ["1", "2"]
    return entries[1].value


def attempt(encode: Callable[..., UnitText], *meant: Any) -> UnitText | Unsafe:
    """What the encoder wrote, or its refusal as a value."""
    try:
        return encode(*meant)
    except Unsafe as refusal:
        return refusal


def meanings(written: Sequence[str]) -> list[Word]:
    return [unspecify(word) for word in written]


@given(st.lists(words, max_size=6))
@example(["--chat-template-kwargs", '{"enable_thinking":false}'])
@example(["ends in \\", "\\"])
def test_arguments_of_a_container_come_back_or_are_refused(argv: list[Word]) -> None:
    text = attempt(unitfile.exec_words, argv)
    if isinstance(text, Unsafe):
        assert text.reason
        assert not argv or any(not word or word == ";" or uncarried(word) for word in argv)
        return
    assert meanings(unitfile.split_exec(carried(text))) == argv


@given(st.lists(words, max_size=6))
@example(["", ";", "\\;"])
def test_arguments_of_a_service_come_back_or_are_refused(argv: list[Word]) -> None:
    argv = ["/opt/llama.cpp/llama-server", *argv]
    text = attempt(unitfile.service_words, argv)
    if isinstance(text, Unsafe):
        assert text.reason
        assert any(uncarried(word) for word in argv)
        return
    assert meanings(unitfile.service_split(carried(text, "Service"))) == argv


def uncarried(word: Word) -> bool:
    """Whether no spelling carries the word: systemd's idea of UTF-8, Podman's U+0080, and NUL."""
    codes = [ord(char) for char in str(word)]
    return any(
        code in (0, 0x80) or 0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE or 0xD800 <= code < 0xE000
        for code in codes
    )


@given(words)
def test_one_argument_a_line_comes_back_or_is_refused(word: Word) -> None:
    text = attempt(unitfile.arg, word)
    if isinstance(text, Unsafe):
        assert text.reason
        return
    assert meanings(unitfile.split_args(carried(text))) == [word]


@given(names, words)
@example("A", "x\\")
@example("A", "")
def test_a_name_and_its_value_come_back_or_are_refused(key: str, value: Word) -> None:
    text = attempt(unitfile.key_value, key, value)
    if isinstance(text, Unsafe):
        assert text.reason
        assert uncarried(value)
        return
    [(name, meaning)] = unitfile.split_keyval(carried(text))
    if isinstance(value, Spec):
        assert unspecify(f"{name}={meaning}") == Spec(f"{key.replace('%', '%%')}={value}")
    else:
        assert (unspecify(name), unspecify(f"={meaning}")) == (key, f"={value}")


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), words)
def test_a_variable_of_a_service_comes_back_or_is_refused(key: str, value: Word) -> None:
    text = attempt(unitfile.service_environment, key, value)
    if isinstance(text, Unsafe):
        assert text.reason
        assert uncarried(value)
        return
    [assignment] = unitfile.environment_split(carried(text, "Service"))
    assert unpercent(assignment) == (Spec(f"{key}={value.text}") if isinstance(value, Spec) else f"{key}={value}")


def literally(value: str) -> str:
    return value


SINGLE: dict[str, tuple[Callable[[Word], UnitText], Callable[[str], Word]]] = {
    "raw": (unitfile.raw, unspecify),
    "strv": (unitfile.strv, lambda value: unspecify(*unitfile.split_strv(value))),
    "last": (unitfile.last, lambda value: unspecify(unitfile.lookup_last(value))),
    "line": (unitfile.line, unpercent),
    "path_line": (unitfile.path_line, unpercent),
}


@pytest.mark.parametrize("name", SINGLE)
@given(value=st.one_of(words, paths))
def test_a_value_on_its_own_line_comes_back_or_is_refused(name: str, value: Word) -> None:
    encode, decode = SINGLE[name]
    text = attempt(encode, value)
    if isinstance(text, Unsafe):
        assert text.reason
        return
    assert decode(carried(text)) == value


@given(st.lists(paths, max_size=3))
def test_paths_come_back_or_are_refused(values: list[str]) -> None:
    text = attempt(unitfile.path_words, values)
    if isinstance(text, Unsafe):
        assert text.reason
        return
    # Without C escapes a backslash stands for the character after it, and no other spelling is used.
    assert [unpercent(word) for word in unitfile.environment_split(carried(text))] == values


@given(st.lists(texts, min_size=1, max_size=4))
@example(["CMD-SHELL", "curl -f http://127.0.0.1:8080/health || exit 1"])
def test_a_health_check_comes_back_or_is_refused(argv: list[str]) -> None:
    text = attempt(unitfile.json_words, argv)
    if isinstance(text, Unsafe):
        assert text.reason
        return
    array = unspecify(unitfile.lookup_last(carried(text)))
    assert json.loads(str(array)) == argv


@given(texts)
def test_a_comment_is_one_line_that_no_reader_sees_or_is_refused(value: str) -> None:
    text = attempt(unitfile.comment, value)
    if isinstance(text, Unsafe):
        assert text.reason
        return
    [entry] = unitfile.read(f"[Unit]\n# {text}\nAfter=2\n")
    assert entry == ("Unit", "After", "2", 3)


@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["--jinja", "-c", "8192", "--alias=a,b"], "--jinja -c 8192 --alias=a,b"),
        (['{"enable_thinking":false}'], r'"{\"enable_thinking\":false}"'),
        ([r"\.ffn_(up|down|gate)_exps\.=CPU"], r'"\\.ffn_(up|down|gate)_exps\\.=CPU"'),
        (["100%", "$HOME", "a$b"], "100%% $$HOME a$$b"),
        (["50 % of $X"], '"50 %% of $$X"'),
        (["a\nb\tc"], r'"a\nb\tc"'),
        (["\x1b[0m"], r'"\x1b[0m"'),
        ([Spec("%d/api-key"), "%d/api-key"], "%d/api-key %%d/api-key"),
        (["it's", "x\\"], r""" "it's" "x\\" """.strip()),
    ],
)
def test_arguments_are_written_like_this(argv: list[Word], text: str) -> None:
    assert unitfile.exec_words(argv) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (unitfile.boolean(value=True), "true"),
        (unitfile.boolean(value=False), "false"),
        (unitfile.number(-1), "-1"),
        (unitfile.seconds(900), "900"),
        (unitfile.percent(350), "350%"),
        (unitfile.specifier("d"), "%d"),
        (unitfile.specifier("%h"), "%h"),
        (unitfile.key_value("A", "b"), "A=b"),
        (unitfile.key_value("A", "b c"), '"A=b c"'),
        (unitfile.key_value("A", Spec("%h/x")), "A=%h/x"),
        (unitfile.raw("/srv/my models:/models:ro,z"), "/srv/my models:/models:ro,z"),
        (unitfile.raw(Spec("%h/models:/models:ro")), "%h/models:/models:ro"),
        (unitfile.json_words(("curl", "-f", "http://127.0.0.1:8080/health")),
         '["curl","-f","http://127.0.0.1:8080/health"]'),
        (unitfile.service_words(["/opt/a b/x", "", ";", "$X"]), '"/opt/a b/x" "" ";" $$X'),
        (unitfile.service_words([Spec("%h/bin/x"), "%h"]), "%h/bin/x %%h"),
        (unitfile.service_environment("A", "$HOME 100%"), '"A=$HOME 100%%"'),
        (unitfile.path_words(["/a b", "/c", "/d\\"]), r'"/a b" /c "/d\\"'),
        (unitfile.unit_names(["mnt-nas.mount", "a@b.service", r"dev-disk-by\x2dlabel.device", "x.container"]),
         r"mnt-nas.mount a@b.service dev-disk-by\x2dlabel.device x.container"),
        (unitfile.comment("94.0 → 115.1 tok/s \\"), "94.0 → 115.1 tok/s \\"),
    ],
)  # fmt: skip
def test_values_are_written_like_this(text: UnitText, written: str) -> None:
    assert type(text) is UnitText
    assert text == written


def test_a_specifier_of_quadgens_own_is_never_equal_to_the_same_text() -> None:
    own: Word = Spec("%d/api-key")
    text: Word = "%d/api-key"
    assert own != text
    assert str(Spec("%d/api-key")) == "%d/api-key"
    assert unitfile.arg(Spec("%d")) != unitfile.arg("%d")
