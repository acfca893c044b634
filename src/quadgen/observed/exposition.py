"""Prometheus' text format, as far as a few counters need it: a name, labels, a value, and what may stand behind it.

https://github.com/prometheus/docs/blob/main/docs/instrumenting/exposition_formats.md, and what OpenMetrics adds.
"""

import math
import re
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Final

_NAME: Final = re.compile(r"[ \t]*([a-zA-Z_:][\w:]*)", re.ASCII)
_LABEL: Final = re.compile(r'[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*(?:,|(?=\}))', re.ASCII)
_REST: Final = re.compile(r"[ \t]*([^ \t]+)(?:[ \t]+-?\d+(?:\.\d+)?)?[ \t]*(?:#.*)?")
"""A value, its time (milliseconds, or seconds with a fraction), and an exemplar."""
_AMOUNT: Final = re.compile(r"\+?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_DIGITS: Final = 6
"""What a C++ stream prints of a number unless it is told otherwise (std::ios_base::precision)."""
_ESCAPES: Final = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of a metric."""

    line: int
    """From 1."""
    text: str
    name: str
    labels: tuple[tuple[str, str], ...]
    """In the order of their names."""
    value: str | None
    """As it was written; None where the line is none of this format."""

    def label(self, name: str) -> str | None:
        """The value of a label; None where it has none of that name."""
        return dict(self.labels).get(name)

    @property
    def amount(self) -> float | None:
        """A finite number that is not negative; None where it is another, or none at all."""
        if self.value is None or not _AMOUNT.fullmatch(self.value):
            return None
        amount = float(self.value)
        return None if amount == float("inf") else amount

    @property
    def step(self) -> float:
        """To how much the value is rounded if C++ printed a double, which it does in six digits; 0 where it did not."""
        amount = self.amount
        digits = re.sub(r"[eE].*|\D", "", self.value or "").strip("0")
        if not amount or len(digits) > _DIGITS:
            return 0.0
        return 10.0 ** (math.floor(math.log10(amount)) + 1 - _DIGITS)


def samples(text: str, names: Container[str]) -> Iterator[Sample]:
    """Read the lines of the metrics that are `names`; every other line is passed over, whatever it holds."""
    for number, whole in enumerate(text.split("\n"), 1):
        line = whole.rstrip("\r")
        found = _NAME.match(line)
        if found is None or found[1] not in names:
            continue
        labels, end = _labels(line, found.end())
        rest = None if end is None else _REST.fullmatch(line, end)
        yield Sample(
            line=number,
            text=line,
            name=found[1],
            labels=tuple(sorted(labels.items())),
            value=None if rest is None else rest[1],
        )


def _labels(line: str, at: int) -> tuple[dict[str, str], int | None]:
    """The labels that begin at a place, and where what follows them begins; None where they do not end."""
    opening = len(line) - len(line[at:].lstrip(" \t"))
    if line[opening : opening + 1] != "{":
        return {}, at if opening > at else None  # a value stands apart from the name
    labels: dict[str, str] = {}
    at = opening + 1
    while (found := _LABEL.match(line, at)) is not None:
        labels[found[1]] = re.sub(r"\\.", lambda escape: _ESCAPES.get(escape[0], escape[0]), found[2])
        at = found.end()
    closing = len(line) - len(line[at:].lstrip(" \t"))
    return labels, closing + 1 if line[closing : closing + 1] == "}" else None
