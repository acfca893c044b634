"""The scalars of the YAML 1.2 core schema: which plain words are no text, and how each was written.

https://yaml.org/spec/1.2.2/#103-core-schema, less whole numbers that begin with a zero: `0755` is octal to
YAML 1.1 and decimal to YAML 1.2, so here it is text, and whoever wants a number must say which.
"""

import re
from typing import Self

Scalar = str | int | float | None
"""What a scalar can be; `bool` is an `int`."""

LONGEST = 256
"""Characters of the longest whole number; a longer one stays text.

Python refuses to convert more digits than its process-wide limit says, which an environment variable sets
(at least 640), and what a file means must not hang on that.
"""

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_BEGINS_NUMBER = frozenset("+-.0123456789")
_WHOLE = re.compile(rf"[-+]?(?:0|[1-9][0-9]{{0,{LONGEST - 1}}})|0o[0-7]{{1,{LONGEST}}}|0x[0-9a-fA-F]{{1,{LONGEST}}}")
_REAL = re.compile(
    r"""[-+]?(?: (?: \.[0-9]+ | [0-9]+\.[0-9]* ) (?:[eE][-+]?[0-9]+)?
               | [0-9]+[eE][-+]?[0-9]+
               | \.(?:inf|Inf|INF) )
      | \.(?:nan|NaN|NAN)""",
    re.VERBOSE,
)


class Real(float):
    """A number with point or exponent that remembers how it was written: `11.0`, `1.10`, `1e5`, `.inf`."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        """Read a spelling that `plain` takes for such a number."""
        self = super().__new__(cls, text.replace(".", "") if text[-1:] in "fFnN" else text)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # float's own would pass the number back
        """Keep the spelling in copies and pickles."""
        return (self.text,)


class Whole(int):
    """A whole number whose spelling its value does not give back: `+5`, `0x10`, `0o17`, `-0`."""

    text: str

    def __new__(cls, text: str) -> Self:
        """Read a spelling that `plain` takes for such a number."""
        self = super().__new__(cls, text, 0)
        self.text = text
        return self

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]  # int's own would pass the number back
        """Keep the spelling in copies and pickles."""
        return (self.text,)


def text_of(value: str | float) -> str:
    """Return a scalar as it was written; a truth value, whose spelling is not kept, is `true` or `false`."""
    if isinstance(value, str):
        return value
    if isinstance(value, Real | Whole):
        return value.text
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def plain(text: str) -> Scalar:
    """Return what a scalar without quotes and tag means."""
    if text[:1] in _BEGINS_NUMBER:
        return _number(text)
    return _WORDS.get(text, text)


def tagged(kind: str, text: str) -> Scalar:
    """Return what `!!kind text` means; ValueError where they do not fit. The kinds are those of scalars."""
    if kind == "str":
        return text
    value = plain(text)
    if kind == "float" and type(value) in (int, Whole) and text[1:2] not in ("o", "x"):
        return Real(text)
    fits = {
        "int": type(value) in (int, Whole),
        "float": type(value) is Real,
        "bool": type(value) is bool,
        "null": value is None,
    }
    if not fits[kind]:
        raise ValueError(kind)
    return value


def _number(text: str) -> str | int | float:
    """Read what begins like a number, which it need not be: `-`, `1.2.3` and `8080:80` are text."""
    if text.isdecimal() and text.isascii():  # the common case, without a regular expression
        return int(text) if (text[0] != "0" or text == "0") and len(text) <= LONGEST else text
    if _WHOLE.fullmatch(text):
        value = int(text, 0)
        return value if str(value) == text else Whole(text)
    return Real(text) if _REAL.fullmatch(text) else text
