"""The data of a lock -> Facts, field by field; what is wrong is noted at its path."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, TypeVar

from quadgen.facts.record import MARKS, NOTHING, Facts, Scalar, Vocabulary, Weights
from quadgen.problems import Collector, Path, Problem

_LARGEST: Final = 2**63 - 1
"""Bytes, as everywhere in a GGUF file."""
_MOST: Final = 4096
"""Numbers of one list: more than a header has blocks, or an array that is recorded has elements."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_TAIL: Final = re.compile(r"(?:[0-9a-f]{8})*")
_WHOLE: Final = re.compile(r"-?[0-9]{1,20}")
_REAL: Final = re.compile(r"-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final[Mapping[str, Scalar]] = MappingProxyType(
    {"true": True, "false": False, ".inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
)
_T = TypeVar("_T")


class _Wrong(Exception):  # noqa: N818 - what a value is, not a fault of the program
    """The end of a sentence that begins with the key."""


def written(value: Any) -> str | None:  # noqa: ANN401 - any YAML value
    """A scalar as it was written, which a number remembers; None for what is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return str(getattr(value, "text", value)) if isinstance(value, (int, float)) else None


def _text(value: Any) -> str:  # noqa: ANN401 - as above
    text = written(value)
    if text is None:
        raise _Wrong("takes text")
    return text


def _bytes(value: Any) -> int:  # noqa: ANN401 - as above
    return _whole(value, "a number of bytes")


def _count(value: Any) -> int:  # noqa: ANN401 - as above
    return _whole(value, "a whole number")


def _whole(value: Any, what: str) -> int:  # noqa: ANN401 - as above
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LARGEST:
        raise _Wrong(f"takes {what}, 0 or more")
    return int(value)


def _shards(value: Any) -> int:  # noqa: ANN401 - as above
    if not (found := _count(value)):
        raise _Wrong("takes 1 or more")
    return found


def _flag(value: Any) -> bool:  # noqa: ANN401 - as above
    if not isinstance(value, bool):
        raise _Wrong("takes true or false")
    return value


def _sha256(value: Any) -> str:  # noqa: ANN401 - as above
    text = written(value)
    if text is None or not _SHA256.fullmatch(text):
        raise _Wrong("takes a SHA-256: 64 hexadecimal digits, in lower case")
    return text


def _tail(value: Any) -> str:  # noqa: ANN401 - as above
    text = "".join((written(value) or "-").split()) if value != "" else ""
    if not _TAIL.fullmatch(text):
        raise _Wrong("takes groups of 8 hexadecimal digits, in lower case")
    return text


def _scalar(value: Any) -> Scalar:  # noqa: ANN401 - as above
    if isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    raise _Wrong("takes text, a number, true or false, or a list of numbers or flags")


def _element(word: str) -> Scalar:
    if _WHOLE.fullmatch(word):
        return int(word)
    if (known := _WORDS.get(word)) is not None:
        return known
    if _REAL.fullmatch(word):
        return float(word)
    raise _Wrong("takes a list of numbers or flags, such as [0, 4], or [60*4 8] for 60 times 4 and an 8")


def _row(value: Any) -> tuple[Scalar, ...]:  # noqa: ANN401 - as above
    if not isinstance(value, list):
        raise _Wrong("takes a list")
    found: list[Scalar] = []
    for item in value:
        if not isinstance(item, str):
            found.append(_scalar(item))
            continue
        for word in item.split():
            times, star, rest = word.partition("*")
            if not star:
                found.append(_element(word))
            elif times.isascii() and times.isdigit() and len(times) <= len(str(_MOST)):
                found += [_element(rest)] * int(times)
            else:
                raise _Wrong(f"repeats a number up to {_MOST} times")
            if len(found) > _MOST:
                raise _Wrong(f"takes a list of at most {_MOST} numbers")
    return tuple(found)


def _numbers(value: Any) -> tuple[int, ...]:  # noqa: ANN401 - as above
    return tuple(map(_bytes, _row(value)))


def _value(value: Any) -> Scalar | tuple[Scalar, ...]:  # noqa: ANN401 - as above
    return _row(value) if isinstance(value, list) else _scalar(value)


def _marks(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - as above
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong("takes a list of tensors")
    for item in value:
        if item not in MARKS:
            raise _Wrong(f"takes any of {', '.join(MARKS)}")
    return tuple(sorted(value))


@dataclass(slots=True)
class _Fields:
    """One mapping of the lock. A field that is wrong is noted, and a stand-in takes its place."""

    file: str
    path: Path
    data: Any
    sink: Collector
    known: Iterable[str] | None

    def open(self) -> bool:
        """Whether it is a mapping, whose unknown keys are noted then."""
        if not isinstance(self.data, dict):
            self.add("unexpected-value", f"`{self.path[-1]}` takes a mapping", self.path)
            return False
        for key in self.data.keys() - set(self.known) if self.known is not None else ():
            close = get_close_matches(key, tuple(self.known or ()), n=1)
            hint = f"did you mean `{close[0]}`?" if close else None
            path: Path = (*self.path, key)
            self.add("unknown-key", f"`{key}` is not a key of `{self.path[-1]}` in a lock", path, hint, key=True)
        return True

    def add(self, code: str, message: str, path: Path, hint: str | None = None, *, key: bool = False) -> None:
        at: Any = "key" if key else "value"
        self.sink.add(Problem(code=code, message=message, file=self.file, path=path, at=at, hint=hint))

    def need(self, key: str, read: Callable[[Any], _T], stand_in: _T) -> _T:
        if key not in self.data:
            self.add("missing-key", f"`{self.path[-1]}` has no `{key}`", self.path, key=True)
            return stand_in
        return self.may(key, read, stand_in)

    def may(self, key: str, read: Callable[[Any], _T], absent: _T) -> _T:
        if key not in self.data:
            return absent
        try:
            return read(self.data[key])
        except _Wrong as wrong:
            self.add("unexpected-value", f"`{key}` {wrong}", (*self.path, key))
            return absent

    def below(self, key: str, known: Iterable[str] | None, *, needed: bool = False) -> "_Fields | None":
        """The mapping under a key; None where there is none."""
        if key not in self.data:
            if needed:
                self.add("missing-key", f"`{self.path[-1]}` has no `{key}`", self.path, key=True)
            return None
        inner = _Fields(self.file, (*self.path, key), self.data[key], self.sink, known)
        return inner if inner.open() else None

    def each(self, read: Callable[[Any], _T]) -> Iterator[tuple[str, _T]]:
        for key in sorted(self.data):
            try:
                yield key, read(self.data[key])
            except _Wrong as wrong:
                self.add("unexpected-value", f"`{key}` {wrong}", (*self.path, key))


def _vocabulary(fields: _Fields) -> Vocabulary | None:
    own = fields.below("vocabulary", Vocabulary.__dataclass_fields__)
    if own is None:
        return None
    special = own.below("special", None)
    return Vocabulary(
        model=own.need("model", _text, ""),
        pre=own.may("pre", _text, None),
        size=own.need("size", _count, 0),
        merges=own.need("merges", _count, 0),
        padding=own.need("padding", _count, 0),
        sha256_2000=own.need("sha256_2000", _sha256, ""),
        sha256=own.need("sha256", _sha256, ""),
        tail=own.need("tail", _tail, ""),
        special=dict(special.each(_scalar)) if special is not None else NOTHING,
    )


def _weights(fields: _Fields) -> Weights:
    own = fields.below("weights", Weights.__dataclass_fields__, needed=True)
    if own is None:
        return Weights(input=0, output=0, tied=False, blocks=(), experts=(), other=0)
    return Weights(
        input=own.need("input", _bytes, 0),
        output=own.need("output", _bytes, 0),
        tied=own.may("tied", _flag, absent=False),
        blocks=own.need("blocks", _numbers, ()),
        experts=own.may("experts", _numbers, ()),
        other=own.may("other", _bytes, 0),
    )


def facts(file: str, path: Path, data: Any, sink: Collector) -> Facts | None:  # noqa: ANN401 - any YAML value
    """Read one entry of `files`; None where something is wrong with it, which `sink` has then."""
    before = len(sink.problems)
    fields = _Fields(file, path, data, sink, Facts.__dataclass_fields__)
    if not fields.open():
        return None
    keys = fields.below("keys", None)
    found = Facts(
        size=fields.need("size", _bytes, 0),
        shards=fields.may("shards", _shards, 1),
        header=fields.need("header", _sha256, ""),
        architecture=fields.need("architecture", _text, ""),
        name=fields.may("name", _text, None),
        type=fields.may("type", _text, None),
        quantization=fields.may("quantization", _text, None),
        keys=dict(keys.each(_value)) if keys is not None else NOTHING,
        heads=fields.may("heads", _numbers, ()),
        marks=fields.may("marks", _marks, ()),
        vocabulary=_vocabulary(fields),
        weights=_weights(fields),
    )
    return found if len(sink.problems) == before else None
