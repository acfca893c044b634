"""bytes -> text: UTF-8 alone, and only characters that every YAML reader takes for the same thing."""

import codecs
import re

from quadgen.document.spans import at
from quadgen.problems import Place, Problem, Rejected

_PLAIN = bytes((*b"\t\n\r", *range(0x20, 0x7F)))
_FORBIDDEN = (
    "[^\t\n\r -~\xa0-\u061b\u061d-\u200d\u2010-\u2027\u202f-\u2065\u206a-\ud7ff"
    "\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What https://yaml.org/spec/1.2.2/#51-character-set leaves out, and the byte order mark inside a text, and
U+0085, U+2028 and U+2029, which end a line in YAML 1.1 and do not in YAML 1.2, and what turns the text around it
(UAX #9's explicit directional characters), so that a review reads another text than the machine does
(https://www.cve.org/CVERecord?id=CVE-2021-42574). Compiling it costs more than reading
a small fleet, which seldom needs it."""
_SAVE = "save the file as UTF-8"
_LATIN = 0xA0


def decode(name: str, data: bytes) -> str:
    """Return the text of a file without its byte order mark.

    Raises `Rejected` with one `yaml-syntax` problem at the first byte that is no UTF-8 or the first character
    that no YAML file may hold.
    """
    if _is_wide(data):
        place = Place(file=name, line=1, column=1)
        raise _refusal("the file is UTF-16, and only UTF-8 is read", _SAVE, place)
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _bad_byte(name, data, error.start) from None
    # Nothing is left over of an ordinary file, and that is quicker to see than to search for a character.
    if data.translate(None, _PLAIN) and (found := re.search(_FORBIDDEN, text)):
        raise _bad_character(name, text, found.start())
    return text


def _is_wide(data: bytes) -> bool:
    """Whether this is UTF-16 (or 32): by its mark, or by the zero in every other byte of ASCII."""
    return data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)) or [
        byte == 0 for byte in data[:4]
    ] in ([False, True] * 2, [True, False] * 2)


def _bad_byte(name: str, data: bytes, offset: int) -> Rejected:
    # The replacement character is as wide as what it stands for: nobody can say how wide a bad byte is.
    text = data.decode(errors="replace")
    byte = data[offset]
    hint = f"{_SAVE}; in Latin-1 this byte is `{chr(byte)}`" if byte >= _LATIN else _SAVE
    place = at(name, text, len(data[:offset].decode()))
    return _refusal(f"byte 0x{byte:02X} is not UTF-8", hint, place)


def _bad_character(name: str, text: str, offset: int) -> Rejected:
    code = ord(text[offset])
    match text[offset]:
        case "\0":
            message, hint = "a NUL character cannot stand in a text file", "delete it"
        case "\ufeff":
            message, hint = (
                "a byte order mark (U+FEFF) stands inside the file",
                "delete it; most editors do not show it",
            )
        case "\x85" | "\u2028" | "\u2029":
            message = f"U+{code:04X} ends a line for some readers of YAML and not for others"
            hint = f'write it as "\\u{code:04X}" in double quotes'
        case "\u061c" | "\u200e" | "\u200f" | "\u202a" | "\u202b" | "\u202c" | "\u202d" | "\u202e":
            message = f"U+{code:04X} turns the text around it, so that people read another than the machine"
            hint = "delete it"
        case "\u2066" | "\u2067" | "\u2068" | "\u2069":
            message = f"U+{code:04X} turns the text around it, so that people read another than the machine"
            hint = "delete it"
        case _:
            message = f"the character U+{code:04X} cannot stand in YAML"
            hint = f'delete it, or write it as "\\u{code:04X}" in double quotes'
    return _refusal(message, hint, at(name, text, offset))


def _refusal(message: str, hint: str, place: Place) -> Rejected:
    return Rejected([Problem(code="yaml-syntax", message=message, hint=hint, file=place.file, place=place)])
