"""Facts -> YAML: the same bytes for the same facts, in ASCII, whatever a header spells.

Keys and strings come from files that anybody may have made. What could be read as something else than text, by YAML
1.2 or by YAML 1.1, stands in quotes, and so does every character that does not show.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Final

from quadgen.facts.record import Facts, Scalar, Vocabulary, Weights

_WIDTH: Final = 120
_STEP: Final = "  "
_LONGEST_KEY: Final = 1000
"""Characters: libyaml takes a longer key only after a question mark (MAX_SIMPLE_KEY_LENGTH of its scanner is 1024)."""
_PLAIN: Final = re.compile(r"[A-Za-z_][\w.+/-]*(?: [\w.+/-]+)*", re.ASCII)
_PLAIN_KEY: Final = re.compile(r"[A-Za-z_/~][\w.+/~@=&?%-]*(?::[\w.+/~@=&?%-]+)*", re.ASCII)
_WORDS: Final = frozenset({"~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML reader takes for no text, in any case."""
_ESCAPED: Final = re.compile(r"[^ !#-\[\]-~]")
_SHORT: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t"}
_DIGEST: Final = 8
"""Digits of one digest of `tail`."""


def _escape(found: re.Match[str]) -> str:
    char = found[0]
    code = ord(char)
    if 0xD800 <= code <= 0xDFFF:  # noqa: PLR2004 - half a character, which no UTF-8 file and no YAML escape can hold
        return r"\uFFFD"
    return _SHORT.get(char) or (f"\\U{code:08X}" if code > 0xFFFF else f"\\u{code:04X}")  # noqa: PLR2004 - what four digits hold


def _quoted(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _text(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else _quoted(text)


def _key(text: str) -> str:
    plain = _PLAIN_KEY.fullmatch(text) and text.lower() not in _WORDS
    told = text if plain else _quoted(text)
    return f"{told}:" if len(told) <= _LONGEST_KEY else f"? {told}\n:"


def _number(value: float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value != value:  # noqa: PLR0124 - what is no number equals nothing
        return ".nan"
    return {"inf": ".inf", "-inf": "-.inf"}.get(written := repr(value), written)


def _scalar(value: Scalar) -> str:
    return _text(value) if isinstance(value, str) else _number(value)


def _row(values: tuple[Scalar, ...]) -> str:
    """Numbers or flags, with blanks between them; `60*4` is sixty times 4, where that is shorter."""
    told = []
    for word, same in groupby(map(_scalar, values)):
        times = sum(1 for _ in same)
        told.append(min(" ".join([word] * times), f"{times}*{word}", key=len))
    return f"[{' '.join(told)}]"


def _line(indent: str, key: str, value: str) -> str:
    """One entry; a list that makes the line too long goes on in the next ones, where a blank may be a line end."""
    head = _key(key).replace("\n", f"\n{indent}")
    line = f"{indent}{head} {value}"
    if len(line) <= _WIDTH or value[0] != "[":
        return line
    return "\n".join((f"{indent}{head}", *_rows(indent + _STEP, value)))


def _rows(indent: str, value: str) -> Iterator[str]:
    for row in wrap(value, _WIDTH - len(indent), break_long_words=False, break_on_hyphens=False):
        yield f"{indent}{row}"


def _tail(indent: str, digests: str) -> str:
    """Digests in groups, between quotes: what looks like one number is text."""
    groups = " ".join(digests[start : start + _DIGEST] for start in range(0, len(digests), _DIGEST))
    line = f'{indent}tail: "{groups}"'
    return line if len(line) <= _WIDTH else "\n".join((f"{indent}tail:", *_rows(indent + _STEP, f'"{groups}"')))


def _mapping(indent: str, key: str, values: Mapping[str, Scalar | tuple[Scalar, ...]]) -> Iterator[str]:
    if not values:
        return
    yield f"{indent}{key}:"
    for name in sorted(values):
        value = values[name]
        yield _line(indent + _STEP, name, _row(value) if isinstance(value, tuple) else _scalar(value))


def _vocabulary(indent: str, vocabulary: Vocabulary) -> Iterator[str]:
    inner = indent + _STEP
    yield f"{indent}vocabulary:"
    yield _line(inner, "model", _text(vocabulary.model))
    if vocabulary.pre is not None:
        yield _line(inner, "pre", _text(vocabulary.pre))
    for name in ("size", "merges", "padding"):
        yield f"{inner}{name}: {getattr(vocabulary, name)}"
    for name in ("sha256_2000", "sha256"):
        yield f"{inner}{name}: {_quoted(getattr(vocabulary, name))}"
    yield _tail(inner, vocabulary.tail)
    yield from _mapping(inner, "special", vocabulary.special)


def _weights(indent: str, weights: Weights) -> Iterator[str]:
    inner = indent + _STEP
    yield f"{indent}weights:"
    yield f"{inner}input: {weights.input}"
    yield f"{inner}output: {weights.output}"
    if weights.tied:
        yield f"{inner}tied: true"
    yield _line(inner, "blocks", _row(weights.blocks))
    if weights.experts:
        yield _line(inner, "experts", _row(weights.experts))
    if weights.other:
        yield f"{inner}other: {weights.other}"


def entry(name: str, facts: Facts) -> Iterator[str]:
    """The lines of one file below `files`. What is empty, or what is so for nearly every file, is left out."""
    yield _STEP + _key(name).replace("\n", f"\n{_STEP}")
    indent = _STEP * 2
    yield f"{indent}size: {facts.size}"
    if facts.shards != 1:
        yield f"{indent}shards: {facts.shards}"
    yield f"{indent}header: {_quoted(facts.header)}"
    yield _line(indent, "architecture", _text(facts.architecture))
    for key, text in (("name", facts.name), ("type", facts.type), ("quantization", facts.quantization)):
        if text is not None:
            yield _line(indent, key, _text(text))
    yield from _mapping(indent, "keys", facts.keys)
    if facts.heads:
        yield _line(indent, "heads", _row(facts.heads))
    if facts.marks:
        yield f"{indent}marks: [{', '.join(facts.marks)}]"
    if facts.vocabulary is not None:
        yield from _vocabulary(indent, facts.vocabulary)
    yield from _weights(indent, facts.weights)
