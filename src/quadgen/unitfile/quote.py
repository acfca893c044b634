"""What all encoders share: which characters a unit carries, how a word is quoted, what a bare line may hold.

Podman's splitter (pkg/systemd/parser/split.go) was ported from systemd's (src/basic/extract-word.c,
escape.c), so that one quoted form serves both: double quotes, backslash escapes inside.
"""

import re
from collections.abc import Iterable

from quadgen.unitfile.text import Spec, Unsafe, Word

LONGEST_WORD = 131_071
"""Bytes of one argument of execve(2): Linux' MAX_ARG_STRLEN, 32 pages of 4 KiB, less the NUL."""

LONGEST_LINE = 200_000
"""Characters of a command line. systemd reads lines of 1 MiB (LONG_LINE_MAX), and what Podman writes into
`ExecStart=` has at most four bytes for each character here."""

LONGEST_VALUE = 32_767
"""Characters of a value that stands on its line unquoted: never more than `LONGEST_WORD` bytes."""

# systemd ignores a line with a noncharacter as invalid UTF-8 (unichar_is_valid in src/basic/utf8.c).
_NONCHARACTERS = "\ufdd0-\ufdef" + "".join(chr(p << 16 | low) for p in range(17) for low in (0xFFFE, 0xFFFF))
_NEVER = rf"\x00\x80\ud800-\udfff{_NONCHARACTERS}"
not_carried = re.compile(f"[{_NEVER}]").search
"""Finds a character that no spelling carries through Podman and systemd."""
_not_literal = re.compile(rf"[\x00-\x1f\x7f-\x9f{_NEVER}]").search

plain = re.compile(r"[A-Za-z0-9_./:=,+@-]+").fullmatch
"""Whether a word means itself, bare, to every reader. Not beyond ASCII: Podman trims lines by Unicode."""
_plain_doubled = re.compile(r"[A-Za-z0-9_./:=,+@%$-]+").fullmatch

_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(1, 0x20), 0x7F)} | {
    7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 34: r"\"", 92: r"\\",
}  # fmt: skip


def quoted(text: str) -> str:
    """Put `text` in double quotes, with C escapes for what cannot stand between them."""
    return f'"{text.translate(_ESCAPES)}"'


def doubled(word: Word, *, dollar: bool) -> str:
    """Double `%`, unless the word is a `Spec`, and `$` too where the value ends in a command line."""
    text = word.text if isinstance(word, Spec) else word.replace("%", "%%")
    return text.replace("$", "$$") if dollar else text


def quote_if_needed(word: Word, *, dollar: bool) -> str:
    """Encode a word, bare where it is plain. Raises `Unsafe` as `check_carried`."""
    check_carried(word)
    text = doubled(word, dollar=dollar)
    return text if _plain_doubled(text) else joined((quoted(text),))


def joined(words: Iterable[str]) -> str:
    """Join encoded words. Raises `Unsafe` where the line would be longer than `LONGEST_LINE`."""
    line = " ".join(words)
    if len(line) > LONGEST_LINE:
        raise Unsafe(f"a command line of more than {LONGEST_LINE:,} characters does not fit a line of a unit")
    return line


def check_carried(word: Word) -> None:
    """Raise `Unsafe` for text that neither quotes nor escapes carry through Podman and systemd."""
    text = str(word)
    if found := not_carried(text):
        raise Unsafe(_why_not(found[0]))
    if len(text) > LONGEST_VALUE and len(text.encode()) > LONGEST_WORD:
        raise Unsafe(f"an argument of more than {LONGEST_WORD:,} bytes cannot be passed to a program")


def check_literal(word: Word) -> None:
    """Raise `Unsafe` for text that cannot stand on a line without C escapes, quoted or not."""
    text = str(word)
    if not text:
        raise Unsafe("an empty value resets the key")
    if found := _not_literal(text):
        raise Unsafe(_why_not(found[0]))
    if text[0].isspace() or text[-1].isspace():  # to Unicode's mind, as Podman trims; systemd trims ASCII's
        raise Unsafe("blanks at either end of a line are dropped")
    if len(text) > LONGEST_VALUE:
        raise Unsafe(f"a value of more than {LONGEST_VALUE:,} characters does not fit a line of this key")


def check_bare(word: Word) -> None:
    """Raise `Unsafe` for text that cannot be the whole value of a line, unquoted."""
    check_literal(word)
    if str(word)[-1] == "\\":
        raise Unsafe("a backslash at the end of a line continues it on the next one")


def _why_not(char: str) -> str:
    if char == "\0":
        return "NUL ends a text for every program that reads it"
    if char == "\x80":
        return "Podman writes the character U+0080 as a byte that is no UTF-8"
    if char == "\n":
        return "a line break ends the value, and this key has no escape for it"
    if char.isascii() or char < "\xa0":
        return f"this key has no escape for the control character U+{ord(char):04X}"
    return f"systemd does not accept U+{ord(char):04X} as UTF-8"
