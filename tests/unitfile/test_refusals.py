"""Every refusal of an encoder, with the reason that the user reads."""

from collections.abc import Callable
from typing import Any

import pytest

from quadgen import unitfile
from quadgen.unitfile import Spec, Unsafe


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
        (unitfile.arg, "\x01" * 60_000, "a command line of more than 200,000 characters"),
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
