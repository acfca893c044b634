"""The reader of unit files: text to entries, by the rules that Podman and systemd share.

Podman's are in pkg/systemd/parser/unitfile.go (5.4.0 and later), systemd's in src/shared/conf-parser.c. A
line that either would drop or warn about, or that the two join or trim in different ways, is `Malformed`.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple, NoReturn

from quadgen.unitfile.quote import LONGEST_LINE, not_carried
from quadgen.unitfile.split import unclosed
from quadgen.unitfile.text import Malformed

_key = re.compile(r"[A-Za-z][A-Za-z0-9-]*").fullmatch
_section = re.compile(r"\[([A-Za-z][A-Za-z0-9 _-]*)\]").fullmatch
_control = re.compile(r"[\x01-\x08\x0b-\x1f\x7f]").search
_continued = re.compile(r"\\ *(?:\n|\Z)").search
_PRINTABLE = bytes([*range(0x20, 0x7F), 0x0A])


class Entry(NamedTuple):
    """One assignment: the value without outer blanks, continued lines joined; `line` (from 1) is its first.

    A tuple and not a dataclass: a fleet of 10,000 hosts reads half a million of them back.
    """

    section: str
    key: str
    value: str
    line: int


def read(text: str) -> tuple[Entry, ...]:
    """Read the assignments of a unit file in order; comments and empty lines go, CRLF ends a line like LF.

    Raises `Malformed` with the line's number.
    """
    flat = text.replace("\n", " ")
    if not (flat.isascii() and flat.isprintable() and len(flat) <= LONGEST_LINE):
        text = _cleared(text)
    entries: list[Entry] = []
    section = ""
    for line, number in _lines(text):
        if line[0] == "[":
            section = _header(line, number)
            continue
        key, equals, value = line.partition("=")
        if not equals:
            raise Malformed("a line is a comment, a [Section] or Key=value", number)
        if not section:
            raise Malformed("an assignment in front of the first section is ignored", number)
        entries.append(Entry(section, _name(key) or _no_name(number), value.lstrip(" \t"), number))
    return tuple(entries)


def read_values(text: str) -> dict[tuple[str, str], list[str]]:
    """Read a unit file and gather its values: `gather(read(text))`, at half the cost for what quadgen writes.

    Raises `Malformed` as `read` does.
    """
    found: dict[tuple[str, str], list[str]] = {}
    section = ""
    for key, value in map(_assigned, text.split("\n") if _is_simple(text) else ()):
        if value is None:
            if key:
                section = _named(key)
                if not section:
                    break
        elif not section:
            break
        else:
            values = found.get((section, key))
            if values is None:
                values = found[section, key] = []
            if value:
                values.append(value)
            else:
                values.clear()
    else:
        return found or gather(read(text))
    return gather(read(text))


@lru_cache(maxsize=4096)
def _assigned(line: str) -> tuple[str, str | None]:
    """A key and its value. Without a value it is a header, nothing for what both readers skip, or `[` for all else.

    The units of a fleet have most of their lines in common.
    """
    line = line.strip()
    if not line or line[0] in "#;":
        return "", None
    if line[0] == "[":
        return line, None
    key, equals, value = line.partition("=")
    return (key, value.lstrip()) if equals and key and _name(key) == key else ("[", None)


def _is_simple(text: str) -> bool:
    """Whether it is printable ASCII without a continued line."""
    if not text.isascii() or text.encode().translate(None, _PRINTABLE) or len(text) > LONGEST_LINE:
        return False
    return "\\" not in text or not _continued(text)


def gather(entries: Iterable[Entry]) -> dict[tuple[str, str], list[str]]:
    """Gather the values by section and key, in order; an empty value resets its key, as for both readers."""
    values: dict[tuple[str, str], list[str]] = {}
    for section, key, value, _ in entries:
        if value:
            values.setdefault((section, key), []).append(value)
        else:
            values[section, key] = []
    return values


def _lines(text: str) -> Iterator[tuple[str, int]]:
    """Yield what is no comment, continued lines joined, each with the number of its first line."""
    held, start = "", 0
    for number, whole in enumerate(text.removesuffix("\n").split("\n"), 1):
        line = whole.strip()
        if not line:
            if start:
                raise Malformed("systemd ends a continued line at an empty one, Podman goes on", number)
        elif line[0] in "#;":
            continue
        elif line[-1] == "\\":
            held, start = _hold(held, line, number), start or number
        elif start:
            yield held + line, start
            held, start = "", 0
        else:
            yield line, number
    if start:
        raise Malformed("the file ends inside a continued line", start)


@lru_cache(maxsize=1024)
def _name(key: str) -> str:
    """Return the key without the blanks in front of `=`, or nothing where it is no key."""
    key = key.rstrip(" \t")
    return key if _key(key) else ""


def _no_name(number: int) -> NoReturn:
    raise Malformed("a key is letters, digits and dashes", number)


def _header(line: str, number: int) -> str:
    return _named(line) or _no_section(number)


@lru_cache(maxsize=256)
def _named(line: str) -> str:
    """Return the section that a line opens, or nothing where it is no such line."""
    found = _section(line)
    return found[1] if found else ""


def _no_section(number: int) -> NoReturn:
    raise Malformed("a section is a name in brackets on a line of its own", number)


def _hold(held: str, line: str, number: int) -> str:
    """Return a continued line so far. Raises `Malformed` where the readers would join it differently."""
    text = held + line[:-1]
    if text and text[-1] not in " \t" and text.find("=") != len(text) - 1:
        raise Malformed("Podman joins a continued line without a blank, systemd with one, or not at all", number)
    if unclosed(text.partition("=")[2]):
        raise Malformed("a quote is open where the line is continued, and the readers keep other blanks", number)
    return text


def _cleared(text: str) -> str:
    """Return the text with plain line ends, if both readers take every character in it in the same way."""
    if text[0] == "\ufeff":
        raise Malformed("Podman refuses a file that starts with a byte order mark", 1)
    text = text.replace("\r\n", "\n").removesuffix("\r")
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > LONGEST_LINE:
            raise Malformed(f"a line of more than {LONGEST_LINE:,} characters is refused", number)
        if found := _control(line) or not_carried(line):
            raise Malformed(f"the character U+{ord(found[0]):04X} has no place in a unit file", number)
        if line.strip() != line.strip(" \t") and line.lstrip(" \t")[0] not in "#;":
            raise Malformed("Podman drops a blank at the end of this line, and systemd keeps it", number)
    return text
