"""Encoders of keys that systemd reads: `.service` files, and `[Unit]`, `[Service]`, `[Install]` of Quadlets.

Rules from systemd's src/core/load-fragment.c, src/basic/extract-word.c, env-util.c, path-util.c,
unit-name.c. In a Quadlet, Podman's parser reads these lines first and copies them: what passes here passes
both.
"""

import re
from collections.abc import Sequence
from functools import lru_cache

from quadgen.unitfile.quote import (
    check_bare,
    check_carried,
    check_literal,
    doubled,
    joined,
    plain,
    quote_if_needed,
    quoted,
)
from quadgen.unitfile.text import DIRECTORIES, SPECIFIERS, Spec, UnitText, Unsafe, Word

_TYPES = "service|socket|device|mount|automount|swap|target|path|timer|slice|scope"
_QUADLETS = "container|volume|network|pod|kube|image|build|artifact"
_unit_name = re.compile(rf"[\w:.\\-]+(?:@[\w:.\\@-]+)?\.(?:{_TYPES}|{_QUADLETS})", re.ASCII).fullmatch
_LONGEST_UNIT_NAME = 255  # systemd's UNIT_NAME_MAX without its NUL, and a file name's limit

_variable = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_absolute = re.compile(rf"/|%[{DIRECTORIES}](?:/|$)").match
_not_in_program = re.compile(r"[\x00-\x1f\x7f\"'\\$*?\[]").search
_not_in_comment = re.compile(r"[\x00-\x1f\x7f-\x9f]").search
_LONGEST_COMPONENT = 255  # NAME_MAX
_LONGEST_PATH = 4095  # PATH_MAX without its NUL


@lru_cache(maxsize=8192)
def _word(word: Word) -> str:
    """Encode an argument; quotes keep an empty one, and a lone `;`, which separates only where it is bare."""
    if not isinstance(word, Spec) and plain(word):
        return word
    return quote_if_needed(word, dollar=True)


def service_words(argv: Sequence[Word]) -> UnitText:
    """Encode a command line for `ExecStart=` and its like: the program, then its arguments.

    Empty arguments and `;` are fine. The program is an absolute path, so that none of systemd's prefixes
    (`@ - : + ! |`) stands in front. Raises `Unsafe` for a program with `$`, quotes, backslashes, control
    characters, a slash or blank at its end, or `*?[` (since systemd 262), and for arguments as `exec_words`.
    """
    if not argv:
        raise Unsafe("an empty value resets the key")
    return UnitText(joined((_program(argv[0]), *map(_word, argv[1:]))))


def service_environment(key: str, value: Word) -> UnitText:
    """Encode `Environment=` of `[Service]`, one assignment a line; nothing expands `$` there.

    Raises `Unsafe` where the name is not letters, digits and `_`, no digit in front, else as `exec_words`.
    """
    if not _variable(key):
        raise Unsafe("the name of a variable is letters, digits and _, with no digit in front")
    if isinstance(value, Spec):
        return UnitText(quote_if_needed(Spec(f"{key}={value.text}"), dollar=False))
    word = f"{key}={value}"
    return UnitText(word if plain(word) else quote_if_needed(word, dollar=False))


def line(value: Word) -> UnitText:
    """Encode a whole value on one line, taken as it is: `Description=`, `Documentation=`, `LoadCredential=`.

    Raises `Unsafe` for an empty value, control characters, blanks at either end, a backslash at the end.
    """
    check_bare(value)
    return UnitText(doubled(value, dollar=False))


def percent(value: int) -> UnitText:
    """Encode a share in whole percent: `CPUQuota=`. systemd expands no specifier there, and `%%` is no share."""
    return UnitText(f"{value:d}%")


def path_line(value: Word) -> UnitText:
    """Encode one absolute path, taken as it is: `AssertPathExists=`, `WorkingDirectory=`, `PIDFile=`.

    Raises as `line`, and for a path that is not absolute, has a `..`, or is too long (4,095 bytes, 255 between
    two slashes).
    """
    check_bare(value)
    _check_path(value)
    return UnitText(doubled(value, dollar=False))


def path_words(values: Sequence[Word]) -> UnitText:
    """Encode absolute paths, quoted where needed: `RequiresMountsFor=`, `ReadOnlyPaths=`, `ReadWritePaths=`.

    systemd unquotes them without C escapes. Raises as `path_line`, but a backslash at the end is fine.
    """
    if not values:
        raise Unsafe("an empty value resets the key")
    return UnitText(joined(map(_path, values)))


def unit_names(names: Sequence[str]) -> UnitText:
    """Encode names of units with their suffixes: `After=`, `Wants=`, `Conflicts=`, `WantedBy=`.

    A template needs an instance. Quadlet's own suffixes pass: from Podman 5.5.0 on its generator puts the
    service in their place. Raises `Unsafe` for no names and for what systemd would not load.
    """
    if not names:
        raise Unsafe("a list of units needs one")
    return UnitText(joined(map(_unit, names)))


def comment(value: str) -> UnitText:
    r"""Encode text for after `# `. A `\` at its end is harmless: both readers skip comments, then join lines.

    Raises `Unsafe` for control characters and what is no UTF-8.
    """
    if value.isascii() and value.isprintable():
        return UnitText(value)
    if found := _not_in_comment(value):
        raise Unsafe(f"a comment is one line of printable text, and U+{ord(found[0]):04X} is not")
    check_carried(value)
    return UnitText(value)


def specifier(name: str) -> UnitText:
    """Encode one of systemd's specifiers by its letter: `d` or `%d` is `%d`. Raises `Unsafe` for others."""
    letter = name.removeprefix("%")
    if len(letter) != 1 or letter not in SPECIFIERS:
        raise Unsafe(f"a specifier is one of {SPECIFIERS}")
    return UnitText(f"%{letter}")


@lru_cache(maxsize=1024)
def _program(word: Word) -> str:
    text = str(word)
    if found := _not_in_program(text):
        raise Unsafe(f"systemd does not take the character U+{ord(found[0]):04X} in the path of a program")
    if text[-1:] in {"/", " "}:
        raise Unsafe("systemd refuses a program whose path ends in a slash, and cuts off a blank there")
    check_carried(word)
    _check_path(word)
    return quote_if_needed(word, dollar=False)


@lru_cache(maxsize=1024)
def _path(value: Word) -> str:
    check_literal(value)
    _check_path(value)
    text = doubled(value, dollar=False)
    return text if plain(text.replace("%", "")) else quoted(text)


@lru_cache(maxsize=1024)
def _unit(name: str) -> str:
    if len(name) > _LONGEST_UNIT_NAME or not _unit_name(name) or name[0] == ".":
        raise Unsafe(r"a unit's name is letters, digits and :-_.\@ with a suffix such as .service, at most 255")
    return name


def _check_path(value: Word) -> None:
    """Raise `Unsafe` for a path that path_simplify_and_warn refuses. Its characters are checked before."""
    text = str(value)
    if not _absolute(text) or (text[0] == "%" and not isinstance(value, Spec)):
        raise Unsafe("a path here is absolute")
    parts = text.split("/")
    if ".." in parts:
        raise Unsafe("systemd does not accept a path with .. in it")
    size = len(text.encode())
    if size > _LONGEST_COMPONENT and (
        size > _LONGEST_PATH or any(len(part.encode()) > _LONGEST_COMPONENT for part in parts)
    ):
        raise Unsafe("a path has at most 4,095 bytes, and 255 between two slashes")
