"""What Podman and systemd make of a value: the splitters that undo the encoders.

They are strict where the programs are silent: a value of which Podman or systemd would drop a part, or
which the two, or two versions of one, read differently, is `Malformed`. Words come back with `%` and `$` as
written; `expand` undoes those. Rules from Podman's pkg/systemd/parser/split.go, systemd's
src/basic/extract-word.c and escape.c.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from quadgen.unitfile.text import Malformed

_BLANKS = " \t\n\r"
_WORD = r"""(?:[^ \t\n\r"'\\]++|\\.|"(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+')++"""
_ITEM = r"""(?:[^ \t\n\r"']++|"[^"]*+"|'[^']*+')++"""
_ESCAPE = r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{3}|.)"
_words = re.compile(_WORD, re.DOTALL).findall
_words_only = re.compile(rf"[{_BLANKS}]*+(?:{_WORD}(?:[{_BLANKS}]++|\Z))*+", re.DOTALL).fullmatch
_items = re.compile(_ITEM, re.DOTALL).findall
_items_only = re.compile(rf"[{_BLANKS}]*+(?:{_ITEM}(?:[{_BLANKS}]++|\Z))*+", re.DOTALL).fullmatch
_escapes = re.compile(_ESCAPE, re.DOTALL)
_pieces = re.compile(rf"""{_ESCAPE}|"((?:[^"\\]++|\\.)*+)"|'((?:[^'\\]++|\\.)*+)'""", re.DOTALL)
_quotes = re.compile(r"""(["'])(.*?)\1""", re.DOTALL)
_bare = re.compile(rf"[^{_BLANKS}]+").findall

_SIMPLE = {
    **{rf"\{char}": char for char in "\\\"'"},
    r"\a": "\a", r"\b": "\b", r"\f": "\f", r"\n": "\n", r"\r": "\r", r"\t": "\t", r"\v": "\v", r"\s": " ",
}  # fmt: skip
_LAST_BYTE = 0xFF
_LAST_RUNE = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def split_exec(value: str) -> tuple[str, ...]:
    """Split `Exec=` or `ReloadCmd=` (LookupLastArgs). Raises `Malformed` where Podman would lose a word."""
    return _podman(value)


def split_args(value: str) -> tuple[str, ...]:
    """Split one line of `PodmanArgs=`, `Mount=`, `Secret=` (LookupAllArgs). Raises as `split_exec`."""
    return _podman(value)


def split_keyval(value: str) -> tuple[tuple[str, str], ...]:
    """Split one line of `Environment=`, `Label=`, `Annotation=` (LookupAllKeyVal) into names and values.

    Raises as `split_exec`, and for a word without `=`: Podman up to 5.5 drops it, later ones pass the
    host's value.
    """
    pairs = []
    for word in _podman(value):
        key, equals, meaning = word.partition("=")
        if not equals:
            raise Malformed("a word without = is dropped by Podman up to 5.5 and taken from the host by later ones")
        pairs.append((key, meaning))
    return tuple(pairs)


def split_strv(value: str) -> tuple[str, ...]:
    """Split one line of `AddDevice=`, `DropCapability=` (LookupAllStrv); a backslash is literal there.

    Raises `Malformed` for an open quote and an empty item, for which Podman drops the rest.
    """
    if '"' not in value and "'" not in value:
        return tuple(_bare(value))
    if not _items_only(value):
        raise Malformed("a quote is not closed")
    items = tuple(_quotes.sub(r"\2", item) for item in _items(value))
    if "" in items:
        raise Malformed("an empty item cuts off all later ones")
    return items


def lookup_last(value: str) -> str:
    """Read a single value (Lookup): its outer double quotes go.

    Raises `Malformed` where versions of Podman differ: up to 5.8.1 any number of quotes goes from each end by
    itself, later ones strip one matching pair.
    """
    value = value.rstrip()
    if '"' not in value:
        return value
    early = value.strip('"')
    late = value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value
    if early != late:
        raise Malformed("versions of Podman strip the double quotes of this value in different ways")
    return late


def service_split(value: str) -> tuple[str, ...]:
    """Split a command line as systemd does (`ExecStart=` of a service); an empty argument is one.

    Raises `Malformed` for an open quote, an unknown escape, bytes that are no UTF-8, and a second command.
    """
    written = _split(value)
    words = tuple(_systemd('";"' if word == r"\;" else word for word in written))
    if ";" in written or words[:1] == (";",):
        raise Malformed("a ; by itself starts a second command")
    return words


def environment_split(value: str) -> tuple[str, ...]:
    """Split one line of `Environment=` in `[Service]` as systemd does. Raises as `service_split`."""
    return tuple(_systemd(_split(value)))


def unclosed(value: str) -> bool:
    """Whether a quote is open at the end of this part of a value."""
    return not _words_only(value) and any(_words_only(value + quote) for quote in "\"'")


def _podman(value: str) -> tuple[str, ...]:
    if '"' not in value and "\\" not in value and "'" not in value:
        return tuple(_bare(value))
    words = tuple(_unquote(word, _podman_escape) for word in _split(value))
    if "" in words:
        raise Malformed("an empty argument cuts off all later ones")
    return words


def _systemd(written: Iterable[str]) -> Iterator[str]:
    for word in written:
        text = _unquote(word, _systemd_escape)
        try:
            yield text if text.isascii() else text.encode(errors="surrogateescape").decode()
        except UnicodeError:
            raise Malformed("the escapes make bytes that are no UTF-8") from None


def _split(value: str) -> list[str]:
    """Split into words as written, quotes and escapes included."""
    if not _words_only(value):
        raise Malformed("a quote is not closed, or a backslash stands at the end")
    words: list[str] = _words(value)
    return words


def _unquote(word: str, unescape: Callable[[re.Match[str]], str]) -> str:
    if "\\" not in word:
        if '"' not in word and "'" not in word:
            return word
        if word[0] == '"' and word.find('"', 1) == len(word) - 1:
            return word[1:-1]
    # An escape never reaches over a quote: each piece is unescaped by itself.
    return _pieces.sub(lambda piece: _escapes.sub(unescape, piece[piece.lastindex or 0]), word)


def _podman_escape(escape: re.Match[str]) -> str:
    r"""Read an escape as Podman does: `\xe9` and octal `\351` are the character U+00E9."""
    return _SIMPLE.get(escape[0]) or chr(_code(escape[0]))


def _systemd_escape(escape: re.Match[str]) -> str:
    r"""Read an escape as systemd does: `\xe9`, `\351` are a byte, here a surrogate that `_systemd` joins."""
    if simple := _SIMPLE.get(escape[0]):
        return simple
    char = chr(_code(escape[0]))
    return char if char.isascii() or escape[0][1] in "uU" else char.encode("latin-1").decode(errors="surrogateescape")


def _code(escape: str) -> int:
    kind, digits = escape[1], escape[2:]
    if not digits:
        raise Malformed(f"{escape} is no escape, and Podman drops the whole value for it")
    code = int(digits, 16) if kind in "xuU" else int(escape[1:], 8)
    if not code:
        raise Malformed("an escaped NUL is refused")
    if code > (_LAST_RUNE if kind in "uU" else _LAST_BYTE) or code in _SURROGATES:
        raise Malformed(f"{escape} is no character")
    return code
