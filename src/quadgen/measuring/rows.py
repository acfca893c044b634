"""A judged workload as a row of a ledger: with no more digits than it has, and none that changes what it says."""

import re
from collections.abc import Container
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Final

from quadgen import __version__
from quadgen.evidence import Request, Row
from quadgen.evidence.text import free_id
from quadgen.measuring.result import Rate, Result

SOURCE: Final = f"measured with quadgen {__version__}"
_DIGITS: Final = 5
"""Significant ones of a rate: a tenth of a percent is less than runs differ by."""
_EXACT: Final = 17
"""Significant digits that tell any two numbers apart."""
_LONGEST: Final = 180
"""Characters of an id, of the 200 that a ledger allows, before a number is put behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a row says beside its figures."""

    request: Request
    """What the service asks of the ledgers: engine, backend, model, setting and comparator are taken from it."""
    build: str
    """That ran, as the fleet writes it."""
    device: str
    name: str
    """How the id begins: the host, or the device."""
    profile: str
    workload_sha256: str
    tokens: int
    """That each sample was asked to generate."""
    date: str
    """Of the measurement, YYYY-MM-DD."""
    command: str
    commit: str | None = None
    fingerprint: str | None = None
    state: str | None = None
    """`fresh` or `steady`, of a drafter that remembers."""
    confirmed: bool | None = None
    """Of a win, whether a second run won as well."""
    note: str | None = None


def row(result: Result, about: About, taken: Container[str]) -> Row:
    """Make the row of one workload, with an id that is not taken.

    Rates keep five digits. The interval is rounded to the outside, so that it says no more than was measured, and
    with as many digits as it takes for its ends to stay above or below 1 and what the policy asks for.
    """
    asked = about.request
    rate, against_rate = (_rounded(each.median) for each in (result.candidate, result.comparator))
    wall = (None, None) if result.wall is None else tuple(map(_rounded, result.wall))
    return Row(
        id=free_id(_id(result, about), taken),
        engine=asked.engine,
        build=_line(about.build),
        commit=about.commit and _line(about.commit),
        backend=asked.backend,
        device=_line(about.device),
        model=asked.model,
        quantization=asked.quantization,
        header=asked.header,
        workload=result.workload,
        workload_sha256=about.workload_sha256,
        setting=asked.setting,
        against=asked.against,
        rate=rate,
        against_rate=against_rate,
        ratio=rate / against_rate,
        unit=result.clock.unit,
        interval=_interval(result, asked.policy.min_gain),
        spread=_spread(result.candidate),
        wall_rate=wall[0],
        against_wall_rate=wall[1],
        acceptance=None if result.acceptance is None else round(result.acceptance, 4),
        accepted=result.accepted,
        drafted=result.drafted,
        tokens_per_round=None if result.tokens_per_round is None else _rounded(result.tokens_per_round),
        samples=result.samples,
        tokens=about.tokens,
        drift=None if result.drift is None else round(result.drift, 4),
        state=about.state,
        confirmed=about.confirmed,
        date=about.date,
        fingerprint=about.fingerprint,
        source=SOURCE,
        command=_line(about.command),
        note=about.note,
    )


def _id(result: Result, about: About) -> str:
    """`claw-vulkan-qwen3.8-27b-copy-prose`: where, what, and on which workload."""
    asked = about.request
    parts = (about.name, asked.backend, asked.model, about.profile, result.workload)
    return "-".join(slug for part in parts if (slug := _slug(part)))[:_LONGEST]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9._+]+", "-", text.lower()).strip("-._+")


def _line(text: str) -> str:
    """Text as one printable line, which is all that a ledger takes."""
    return "".join(char if char.isprintable() else "?" for char in " ".join(text.split())) or "?"


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _spread(rate: Rate) -> tuple[float, float]:
    return _rounded(rate.slowest), _rounded(rate.fastest)


def _interval(result: Result, min_gain: float) -> tuple[float, float]:
    low, high = (*result.interval,)
    bounds = (1.0, min_gain)
    return (
        _outward(min(low, result.ratio), bounds, ROUND_FLOOR),
        _outward(max(high, result.ratio), bounds, ROUND_CEILING),
    )


def _outward(value: float, bounds: tuple[float, ...], rounding: str) -> float:
    """Round in one direction, with as few digits as keep the value on its side of all bounds."""
    exact = Decimal(repr(value))  # the shortest number that is this one
    for digits in range(_DIGITS - 1, _EXACT):
        found = float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=rounding))
        if all((found > bound) == (value > bound) and (found < bound) == (value < bound) for bound in bounds):
            return found
    return value
