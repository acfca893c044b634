"""A verdict as a picture: the rate over the acceptance for each width, beside what the target does today.

SVG by hand: text stays text, the same verdict is the same bytes, and both light and dark readers can see it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from quadgen.triage import figures
from quadgen.triage.judging import costs_of
from quadgen.triage.scale import ticks
from quadgen.triage.verdict import Verdict

_WIDE: Final = 760
_HIGH: Final = 440
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 524, 56, 384
"""The frame of the axes, in pixels; the legend stands right of it."""
_ROW: Final = 24
"""Pixels from a line of the legend to the next."""
_STEPS: Final = 100
"""Straight pieces of a curve."""
_HUES: Final = ("#2f7fd1", "#d0661f", "#2a9d6f", "#a862d0", "#c94f7c", "#8c8a1f")
"""Each stands out from white and from black; widths beyond the last begin anew, with another dash."""
_DASHES: Final = ("none", "7 4", "2 3")
_STYLE: Final = """
  svg { font-family: system-ui, sans-serif; font-size: 13px; }
  .paper { fill: #ffffff; } text { fill: #1d1d1f; } .title { font-size: 15px; font-weight: 600; }
  .grid { stroke: #d9d9de; } .axis { stroke: #1d1d1f; fill: none; }
  .band { fill: #2f7fd1; fill-opacity: 0.14; stroke: #2f7fd1; stroke-opacity: 0.5; }
  .today { stroke: #1d1d1f; stroke-width: 1.5; stroke-dasharray: 6 4; }
  .curve { fill: none; stroke-width: 2.25; } .mark { stroke: #ffffff; stroke-width: 1.5; }
  @media (prefers-color-scheme: dark) {
    .paper { fill: #16171a; } text { fill: #ececf0; } .grid { stroke: #3a3b41; } .band { fill-opacity: 0.28; }
    .axis, .today { stroke: #ececf0; } .mark { stroke: #16171a; }
  }
"""
"""No variables: viewers that know little CSS draw the light one."""


@dataclass(frozen=True, slots=True)
class _Frame:
    """From acceptance and rate to pixels."""

    top: float
    """The rate at the upper edge."""

    def x(self, p: float) -> str:
        return f"{_LEFT + p * (_RIGHT - _LEFT):.1f}"

    def y(self, rate: float) -> str:
        return f"{_BOTTOM - rate / self.top * (_BOTTOM - _TOP):.1f}"


def svg(verdict: Verdict) -> str:
    """A document of its own, which ends with a line end."""
    return "\n".join(_svg(verdict)) + "\n"


def html(verdict: Verdict) -> str:
    """A page with the picture, the answer and its reasons."""
    items = "\n".join(f"<li>{escape(reason)}.</li>" for reason in verdict.reasons)
    notes = "\n".join(f"<p>{escape(note)}.</p>" for note in verdict.notes)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{escape(_title(verdict))}</title>
<style>body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
svg {{ max-width: 100%; height: auto }} ol {{ list-style: lower-alpha }}</style>
<h1>{escape(_title(verdict))}</h1>
{svg(verdict)}<ol>
{items}
</ol>
{notes}
</html>
"""


def _title(verdict: Verdict) -> str:
    question = verdict.question
    return f"{question.drafter.words} against {figures.rate(question.target.rate)} tok/s: {verdict.answer}"


def _svg(verdict: Verdict) -> Iterator[str]:
    frame, title = _frame(verdict), escape(_title(verdict))
    high = max(_HIGH, _TOP + _ROW * (len(verdict.widths) + 2))
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{high}" viewBox="0 0 {_WIDE} {high}" '
        'role="img" aria-labelledby="title description">'
    )
    yield f'<title id="title">{title}</title>'
    yield f'<desc id="description">{escape(verdict.reasons[1])}.</desc>'
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="paper" width="{_WIDE}" height="{high}"/>'
    yield f'<text class="title" x="{_LEFT}" y="30">{title}</text>'
    yield from _axes(verdict, frame)
    yield from _curves(verdict, frame)
    yield from _legend(verdict)
    yield "</svg>"


def _frame(verdict: Verdict) -> _Frame:
    """The rates that matter: beyond three times today's, or a quarter over the band's, a curve may leave the frame."""
    costs, today = costs_of(verdict.question), verdict.question.target.rate
    expected = max(each.rate for each in verdict.projections)
    most = max(costs.rate(1.0, width) for width in verdict.widths)
    return _Frame(ticks(max(1.15 * today, 1.15 * expected, min(1.05 * most, 3 * today)))[-1])


def _axes(verdict: Verdict, frame: _Frame) -> Iterator[str]:
    band = verdict.question.acceptance
    left, wide = frame.x(band.low), max(1.0, (band.high - band.low) * (_RIGHT - _LEFT))
    yield f'<rect class="band" x="{left}" y="{_TOP}" width="{wide:.1f}" height="{_BOTTOM - _TOP}"/>'
    for rate in ticks(frame.top):
        y = frame.y(rate)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y}" dy="0.35em" text-anchor="end">{rate:g}</text>'
    for tenths in range(0, 11, 2):
        x = frame.x(tenths / 10)
        yield f'<line class="grid" x1="{x}" x2="{x}" y1="{_TOP}" y2="{_BOTTOM}"/>'
        yield f'<text x="{x}" y="{_BOTTOM + 18}" text-anchor="middle">{tenths / 10:g}</text>'
    yield f'<path class="axis" d="M{_LEFT},{_TOP} V{_BOTTOM} H{_RIGHT}"/>'
    middle = (_LEFT + _RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{_BOTTOM + 40}" text-anchor="middle">p: acceptance per position</text>'
    across = (_TOP + _BOTTOM) / 2
    where = " in rounds that draft" if verdict.question.drafter.looks_up else ""
    yield (
        f'<text x="18" y="{across:.1f}" text-anchor="middle" transform="rotate(-90 18 {across:.1f})">'
        f"tokens per second{where}</text>"
    )


def _curves(verdict: Verdict, frame: _Frame) -> Iterator[str]:
    costs, today = costs_of(verdict.question), verdict.question.target.rate
    inside = f'<rect x="{_LEFT}" y="{_TOP}" width="{_RIGHT - _LEFT}" height="{_BOTTOM - _TOP}"/>'
    yield f'<clipPath id="frame">{inside}</clipPath>'
    y = frame.y(today)
    yield f'<line class="today" x1="{_LEFT}" x2="{_RIGHT}" y1="{y}" y2="{y}"/>'
    for number, width in enumerate(verdict.widths):
        points = " ".join(
            f"{frame.x(step / _STEPS)},{frame.y(costs.rate(step / _STEPS, width))}" for step in range(_STEPS + 1)
        )
        hue, dash = _look(number)
        yield (
            f'<polyline class="curve" clip-path="url(#frame)" stroke="{hue}" stroke-dasharray="{dash}" '
            f'points="{points}"/>'
        )
    for number, width in enumerate(verdict.widths):
        p = verdict.break_even[width]
        if p is not None:
            at = frame.y(max(today, costs.rate(p, width)))
            yield f'<circle class="mark" fill="{_look(number)[0]}" cx="{frame.x(p)}" cy="{at}" r="5"/>'


def _legend(verdict: Verdict) -> Iterator[str]:
    x, y = _RIGHT + 20, _TOP + 10
    yield f'<line class="today" x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}"/>'
    today = figures.rate(verdict.question.target.rate)
    yield f'<text x="{x + 32}" y="{y}" dy="0.35em">the target today: {today}</text>'
    y += _ROW
    yield f'<rect class="band" x="{x}" y="{y - 7}" width="24" height="14"/>'
    ends = " to ".join(map(figures.given, verdict.question.acceptance.ends))
    yield f'<text x="{x + 32}" y="{y}" dy="0.35em">expected: {ends}</text>'
    for number, width in enumerate(verdict.widths):
        y += _ROW
        hue, dash = _look(number)
        yield (
            f'<line class="curve" stroke="{hue}" stroke-dasharray="{dash}" x1="{x}" x2="{x + 24}" y1="{y}" y2="{y}"/>'
        )
        p = verdict.break_even[width]
        pays = "never pays" if p is None else f"pays from {figures.chance(p)}"
        yield f'<text x="{x + 32}" y="{y}" dy="0.35em">width {width}: {pays}</text>'


def _look(number: int) -> tuple[str, str]:
    return _HUES[number % len(_HUES)], _DASHES[number // len(_HUES) % len(_DASHES)]
