"""Encoders of `[Container]` keys, one for each function by which Podman reads them.

Which function reads a key: Podman's pkg/systemd/quadlet/quadlet.go; its rules:
pkg/systemd/parser/unitfile.go and split.go. Every value here ends as a word of the generated `ExecStart=`,
where systemd expands `%` and `$`: both are doubled. Quadlet drops much in silence (an unknown escape loses
the whole `Exec=`, an empty argument all later ones: https://github.com/containers/podman/issues/26542);
what cannot be carried raises `Unsafe`.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from json.encoder import encode_basestring_ascii

from quadgen.unitfile.quote import check_bare, check_carried, doubled, joined, plain, quote_if_needed
from quadgen.unitfile.text import Spec, UnitText, Unsafe, Word

_ends_name = re.compile(r"[=\s]").search
_same_in_shell = re.compile(r"[A-Za-z0-9_./+-]+").fullmatch


@lru_cache(maxsize=8192)
def _word(word: Word) -> str:
    if not isinstance(word, Spec) and plain(word):
        return word
    if not word:
        raise Unsafe("an empty argument cuts off all later ones")
    _check_separator(word)
    return quote_if_needed(word, dollar=True)


def exec_words(argv: Sequence[Word]) -> UnitText:
    """Encode `Exec=` (LookupLastArgs): the container's arguments on one line, quoted where needed.

    Raises `Unsafe` for no arguments, an empty one, a lone `;`, NUL, U+0080, noncharacters, lone surrogates,
    an argument above 131,071 bytes, and a line above 200,000 characters.
    """
    if not argv:
        raise Unsafe("an empty value resets the key")
    return UnitText(joined(map(_word, argv)))


def arg(word: Word) -> UnitText:
    """Encode one argument a line (LookupAllArgs): `PodmanArgs=`, `Mount=`, `Secret=`.

    Raises as `exec_words`.
    """
    return UnitText(_word(word))


def key_value(key: str, value: Word) -> UnitText:
    """Encode `K=V`, one a line (LookupAllKeyVal): `Environment=`, `Label=`, `Annotation=`.

    Raises `Unsafe` where the key is empty or holds a blank or `=`, else as `exec_words`. The value may be
    empty.
    """
    if not key or _ends_name(key):
        raise Unsafe("a name is not empty and holds neither a blank nor an equals sign")
    if isinstance(value, Spec):
        return UnitText(_word(Spec(f"{doubled(key, dollar=False)}={value.text}")))
    return UnitText(_word(f"{key}={value}"))


@lru_cache(maxsize=1024)
def raw(value: Word) -> UnitText:
    """Encode a line that is taken as it is (LookupAll): `Volume=`, `PublishPort=`, `Network=`, `GroupAdd=`.

    Blanks inside are fine. Raises `Unsafe` for an empty value, a lone `;`, control characters, blanks at
    either end, quotes (they would become part of the value), a backslash at the end.
    """
    text = _bare(value)
    if '"' in text or "'" in text:
        raise Unsafe("quotes would become part of the value")
    return UnitText(text)


@lru_cache(maxsize=1024)
def strv(value: Word) -> UnitText:
    """Encode an item of a list, one a line (LookupAllStrv): `AddDevice=`, `DropCapability=`, `Sysctl=`.

    Raises as `raw`, and for any blank, and for a `-` in front: the machine that runs the generator looks
    such a device up, and drops it where it is not there.
    """
    text = raw(value)
    if any(map(str.isspace, text)):
        raise Unsafe("a blank separates two items")
    if text[0] == "-":
        raise Unsafe("a - in front makes an item optional, and it vanishes in silence where it is missing")
    return text


@lru_cache(maxsize=1024)
def last(value: Word) -> UnitText:
    """Encode a single value (Lookup): `Image=`, `ContainerName=`, `Notify=`, `Pull=`, `User=`, `ShmSize=`.

    Raises as `raw`, but quotes may stand inside. None may stand at an end: Podman up to 5.8.1 strips double
    quotes from each end by itself, later ones a matching pair.
    """
    text = _bare(value)
    if text[0] == '"' or text[-1] == '"':
        raise Unsafe("a double quote at either end is stripped")
    return UnitText(text)


def json_words(argv: Sequence[str]) -> UnitText:
    """Encode `HealthCmd=`, `HealthStartupCmd=` as a compact JSON array, which Podman runs without a shell.

    `["CMD-SHELL", text]` is a shell's command line. Raises `Unsafe` for what Podman runs in another way
    than it stands there (cmd/podman and libpod read the kind from the first word): no words, `CMD` or
    `NONE` in front, `CMD-SHELL` with anything but one text, a single word that a shell would change.
    """
    return _json(tuple(argv))


@lru_cache(maxsize=1024)
def _json(argv: tuple[str, ...]) -> UnitText:
    kind = argv[0].upper() if argv else ""
    if not kind:
        raise Unsafe("a health check needs a command")
    if kind in {"CMD", "NONE"} or (kind == "CMD-SHELL" and (argv[0] != kind or len(argv[1:]) != 1)):
        raise Unsafe("Podman takes CMD, NONE and CMD-SHELL in front of a health check for its kind")
    if len(argv) == 1 and not _same_in_shell(argv[0]):
        raise Unsafe("Podman gives a health check of one word to a shell")
    for word in argv:
        check_carried(word)
    return last(f"[{','.join(map(encode_basestring_ascii, argv))}]")


def boolean(value: bool) -> UnitText:  # noqa: FBT001 - the value is the meaning
    """Encode `true` or `false`: to LookupBoolean whatever is not 1, yes, true or on is false."""
    return UnitText("true" if value else "false")


def number(value: int) -> UnitText:
    """Encode a whole number in decimal; Podman reads a leading zero as octal."""
    return UnitText(int(value))


def seconds(value: int) -> UnitText:
    """Encode a time span in plain seconds. Raises `Unsafe` below 0."""
    if value < 0:
        raise Unsafe("a time span is not negative")
    return UnitText(int(value))


def _bare(value: Word) -> str:
    check_bare(value)
    _check_separator(value)
    return doubled(value, dollar=True)


def _check_separator(word: Word) -> None:
    if word == ";":
        raise Unsafe("a lone ; starts a second command in the generated ExecStart=")
