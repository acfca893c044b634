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
    ("encode", "value", "reason"),
    [
        (unitfile.exec_words, [], "an empty value resets the key"),
        (unitfile.exec_words, ["--a", "", "--b"], "an empty argument cuts off all later ones"),
        (unitfile.exec_words, ["a", ";"], "a lone ; starts a second command in the generated ExecStart="),
        (unitfile.exec_words, ["\0"], "NUL ends a text for every program that reads it"),
        (unitfile.exec_words, ["\x80"], "Podman writes the character U+0080 as a byte that is no UTF-8"),
        (unitfile.exec_words, ["\ufffe"], "systemd does not accept U+FFFE as UTF-8"),
        (unitfile.exec_words, ["\ud800"], "systemd does not accept U+D800 as UTF-8"),
        (unitfile.exec_words, ["é" * 70_000], "an argument of more than 131,071 bytes"),
        (unitfile.exec_words, ["x" * 100_000] * 2, "a command line of more than 200,000 characters"),
        (unitfile.raw, "", "an empty value resets the key"),
        (unitfile.raw, "a\nb", "a line break ends the value"),
        (unitfile.raw, "a\tb", "this key has no escape for the control character U+0009"),
        (unitfile.raw, " a", "blanks at either end of a line are dropped"),
        (unitfile.raw, "a\N{NO-BREAK SPACE}", "blanks at either end of a line are dropped"),
        (unitfile.raw, '"/a:/b"', "quotes would become part of the value"),
        (unitfile.raw, "/it's:/b", "quotes would become part of the value"),
        (unitfile.raw, "/a:/b\\", "a backslash at the end of a line continues it on the next one"),
        (unitfile.raw, ";", "a lone ; starts a second command"),
        (unitfile.raw, "x" * 40_000, "a value of more than 32,767 characters"),
        (unitfile.strv, "video render", "a blank separates two items"),
        (unitfile.strv, "-/dev/dri", "a - in front makes an item optional"),
        (unitfile.last, '"a"', "a double quote at either end is stripped"),
        (unitfile.last, 'a"', "a double quote at either end is stripped"),
        (unitfile.json_words, [], "a health check needs a command"),
        (unitfile.json_words, ["NONE"], "Podman takes CMD, NONE and CMD-SHELL"),
        (unitfile.json_words, ["cmd", "true"], "Podman takes CMD, NONE and CMD-SHELL"),
        (unitfile.json_words, ["CMD-SHELL", "a", "b"], "Podman takes CMD, NONE and CMD-SHELL"),
        (unitfile.json_words, ["curl $X"], "Podman gives a health check of one word to a shell"),
        (unitfile.seconds, -1, "a time span is not negative"),
        (unitfile.service_words, [], "an empty value resets the key"),
        (unitfile.service_words, ["llama-server"], "a path here is absolute"),
        (unitfile.service_words, ["-/bin/x"], "a path here is absolute"),
        (unitfile.service_words, ["%h/x"], "a path here is absolute"),
        (unitfile.service_words, ["/opt/$X/x"], "systemd does not take the character U+0024"),
        (unitfile.service_words, ["/opt/a*b"], "systemd does not take the character U+002A"),
        (unitfile.service_words, ["/opt/it's"], "systemd does not take the character U+0027"),
        (unitfile.service_words, ["/opt/x/"], "systemd refuses a program whose path ends in a slash"),
        (unitfile.service_words, ["/opt/x "], "systemd refuses a program whose path ends in a slash"),
        (unitfile.service_words, ["/opt/../x"], "systemd does not accept a path with .. in it"),
        (unitfile.service_words, ["/" + "x" * 256], "a path has at most 4,095 bytes"),
        (unitfile.path_line, "/a/é" * 1100, "a path has at most 4,095 bytes"),
        (unitfile.path_line, "a/b", "a path here is absolute"),
        (unitfile.path_line, "/a\\", "a backslash at the end of a line"),
        (unitfile.path_words, [], "an empty value resets the key"),
        (unitfile.path_words, ["/a\nb"], "a line break ends the value"),
        (unitfile.unit_names, [], "a list of units needs one"),
        (unitfile.unit_names, ["llama"], "a unit's name is"),
        (unitfile.unit_names, ["a+b.service"], "a unit's name is"),
        (unitfile.unit_names, ["a b.service"], "a unit's name is"),
        (unitfile.unit_names, ["a@.service"], "a unit's name is"),
        (unitfile.unit_names, [".service"], "a unit's name is"),
        (unitfile.unit_names, ["ä.service"], "a unit's name is"),
        (unitfile.unit_names, ["x" * 248 + ".service"], "a unit's name is"),
        (unitfile.comment, "a\nUser=root", "a comment is one line of printable text"),
        (unitfile.comment, "a\x85b", "a comment is one line of printable text"),
        (unitfile.specifier, "z", "a specifier is one of"),
        (unitfile.specifier, "", "a specifier is one of"),
        (Spec, "/api-key", "a specifier is a %"),
        (Spec, "100%%", "a specifier is a %"),
        (Spec, "%d/%", "a specifier is a %"),
        (Spec, "%d/%z", "a specifier is a %"),
    ],
)
def test_a_value_that_cannot_be_carried_is_refused_with_its_reason(
    encode: Callable[[Any], Any], value: Any, reason: str
) -> None:
    with pytest.raises(Unsafe) as refused:
        encode(value)
    assert refused.value.reason.startswith(reason)


@pytest.mark.parametrize("key", ["", "a b", "a=b", "a\n", "a\N{NO-BREAK SPACE}"])
def test_a_name_with_a_blank_or_an_equals_sign_is_refused(key: str) -> None:
    with pytest.raises(Unsafe, match="a name is not empty"):
        unitfile.key_value(key, "x")


@pytest.mark.parametrize("key", ["", "1A", "A-B", "Ä", "A B"])
def test_a_variable_of_a_service_has_a_name_that_systemd_takes(key: str) -> None:
    with pytest.raises(Unsafe, match="the name of a variable"):
        unitfile.service_environment(key, "x")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (unitfile.boolean(value=True), "true"),
        (unitfile.boolean(value=False), "false"),
        (unitfile.number(-1), "-1"),
        (unitfile.seconds(900), "900"),
        (unitfile.specifier("d"), "%d"),
        (unitfile.specifier("%h"), "%h"),
        (unitfile.key_value("A", "b"), "A=b"),
        (unitfile.key_value("A", "b c"), '"A=b c"'),
        (unitfile.key_value("A", Spec("%h/x")), "A=%h/x"),
        (unitfile.raw("/srv/my models:/models:ro,z"), "/srv/my models:/models:ro,z"),
        (unitfile.raw(Spec("%h/models:/models:ro")), "%h/models:/models:ro"),
        (unitfile.json_words(["curl", "-f", "http://127.0.0.1:8080/health"]),
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
