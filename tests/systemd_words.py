"""What systemd makes of a line, written a second time from its sources and as plainly, to judge by.

Bytes in, bytes out, one character at a time, as in src/basic/extract-word.c, src/basic/escape.c,
src/shared/specifier.c and src/basic/env-util.c of systemd 255. Shares nothing with quadgen.unitfile on
purpose.
"""

SIMPLE = {
    ord("a"): 7, ord("b"): 8, ord("f"): 12, ord("n"): 10, ord("r"): 13, ord("t"): 9, ord("v"): 11,
    ord("\\"): ord("\\"), ord('"'): ord('"'), ord("'"): ord("'"), ord("s"): ord(" "),
}  # fmt: skip
BLANKS = b" \t\n\r"
KNOWN_SPECIFIERS = b"aAbBCdEfgGhHiIjJlLmMnNopPqsStTuUvVwWyY"


class NotLoaded(Exception):  # noqa: N818 - it is what systemd says of a unit
    """systemd would refuse the line, or keep only a part of it."""


def assignments(text: str, key: str, section: str = "Service") -> list[str]:
    """The values of `key` in a section of a generated unit, which has no continued lines."""
    here = ""
    values = []
    for line in text.split("\n"):
        if line.startswith("["):
            here = line
        elif here == f"[{section}]" and line.startswith(f"{key}="):
            values.append(line.removeprefix(f"{key}=").strip(" \t\n\r"))
    return values


def words_of(value: str) -> list[str]:
    """The words of a value, quotes and escapes undone, specifiers and variables left: `Environment=`."""
    line = value.encode()
    words = []
    position = 0
    while position < len(line):
        word, position = first_word(line, position, unescape=True)
        words += [] if word is None else [word.decode()]
    return words


def command(value: str, environment: dict[str, str] | None = None) -> list[str]:
    """The argument vector that execve(2) gets for the only command of an `ExecStart=`."""
    line = value.encode()
    if not valid_text(line):
        raise NotLoaded("invalid UTF-8")
    words: list[bytes] = []
    position = 0
    while position < len(line):
        rest = line[position:]
        if rest[:1] == b";" and (len(rest) == 1 or rest[1] in BLANKS):
            raise NotLoaded("more than one command")
        if rest[:2] == b"\\;" and (len(rest) == 2 or rest[2] in BLANKS):
            words.append(b";")
            position += 2
            while position < len(line) and line[position] in BLANKS:
                position += 1
            continue
        word, position = first_word(line, position, unescape=True)
        if word is not None:
            words.append(specified(word))
    try:
        return [word.decode() for word in expanded(words, environment or {})]
    except UnicodeDecodeError:
        raise NotLoaded("bytes that are no UTF-8") from None


def valid_text(line: bytes) -> bool:
    """Whether utf8_is_valid holds: no surrogates, nothing above U+10FFFF, and no noncharacters either."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        return False
    return not any(0xFDD0 <= ord(char) <= 0xFDEF or ord(char) & 0xFFFE == 0xFFFE for char in text)


def first_word(line: bytes, position: int, *, unescape: bool) -> tuple[bytes | None, int]:  # noqa: C901, PLR0912 - one state machine, as in the original
    """The word from `position` on and where the next one starts; None where only blanks were left."""
    while position < len(line) and line[position] in BLANKS:
        position += 1
    if position == len(line):
        return None, position
    word = bytearray()
    quote = 0
    while position < len(line):
        char = line[position]
        if char == ord("\\"):
            if position + 1 == len(line):
                raise NotLoaded("a backslash at the end")
            if unescape:
                made, length = one_escape(line, position + 1)
            else:
                made, length = line[position + 1 : position + 2], 1
            word += made
            position += 1 + length
        elif quote:
            if char == quote:
                quote = 0
            else:
                word.append(char)
            position += 1
        elif char in b"\"'":
            quote = char
            position += 1
        elif char in BLANKS:
            while position < len(line) and line[position] in BLANKS:
                position += 1
            return bytes(word), position
        else:
            word.append(char)
            position += 1
    if quote:
        raise NotLoaded("an open quote")
    return bytes(word), position


def one_escape(line: bytes, position: int) -> tuple[bytes, int]:
    """The bytes that the escape after a backslash makes, and its length."""
    kind = line[position]
    if kind in SIMPLE:
        return bytes([SIMPLE[kind]]), 1
    for start, length, base in ((b"x", 2, 16), (b"u", 4, 16), (b"U", 8, 16), (b"", 3, 8)):
        if start and kind != start[0]:
            continue
        digits = line[position + len(start) : position + len(start) + length]
        allowed = b"01234567" if base == 8 else b"0123456789abcdefABCDEF"
        if len(digits) != length or any(digit not in allowed for digit in digits):
            break
        code = int(digits, base)
        if code == 0 or (start in (b"x", b"") and code > 255):
            break
        made = chr(code).encode(errors="surrogatepass") if start in (b"u", b"U") else bytes([code])
        return made, len(start) + length
    raise NotLoaded("an unknown escape")


def specified(word: bytes) -> bytes:
    """The word with `%%` undone; a specifier stands for text that differs by host, here `<%x>`."""
    made = bytearray()
    position = 0
    while position < len(word):
        if word[position] != ord("%") or position + 1 == len(word):
            made.append(word[position])
            position += 1
            continue
        after = word[position + 1]
        if after == ord("%"):
            made.append(after)
        elif after in KNOWN_SPECIFIERS:
            made += b"<%" + bytes([after]) + b">"
        elif chr(after).isascii() and chr(after).isalnum():
            raise NotLoaded("an unknown specifier")
        else:
            made += b"%" + bytes([after])
        position += 2
    return bytes(made)


def expanded(words: list[bytes], environment: dict[str, str]) -> list[bytes]:
    """The words with variables in place: `$X` alone, split and dropped when unset, `${X}` anywhere."""
    made: list[bytes] = []
    for word in words:
        if word[:1] == b"$" and word[1:2] not in (b"{", b"$"):
            made += environment.get(word[1:].decode(errors="replace"), "").encode().split()
        else:
            made.append(replaced(word, environment))
    return made


def replaced(word: bytes, environment: dict[str, str]) -> bytes:
    """The word with `$$` undone and `${X}` replaced; a `$` before anything else stays."""
    made = bytearray()
    position = 0
    while position < len(word):
        two = word[position : position + 2]
        end = word.find(b"}", position)
        if two == b"$$":
            made += b"$"
            position += 2
        elif two == b"${" and end > 0 and b":" not in word[position:end]:
            made += environment.get(word[position + 2 : end].decode(errors="replace"), "").encode()
            position = end + 1
        else:
            made += word[position : position + 1]
            position += 1
    return bytes(made)
