"""The words of `quadgen observe`: what was seen of a server, for people and as JSON."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.breakeven import acceptance_for
from quadgen.cli import console
from quadgen.cli.columns import wrapped
from quadgen.drift import Drift
from quadgen.observed.counts import Counts
from quadgen.observed.state import Observation, State
from quadgen.problems import Problem

_STATES: Final[Mapping[State, str]] = {
    State.OFF: "does not speculate",
    State.NOT_RUNNING: "was asked to speculate, and does not",
    State.IDLE: "speculates, and has drafted nothing so far",
    State.NEVER_ACCEPTED: "speculates, and next to nothing that it drafts is accepted",
    State.RUNNING: "speculates",
    State.UNKNOWN: "nothing says whether it speculates",
}
_POSITIONS: Final = 12
"""Stretches of positions with one value that a line shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """All that `observe` has to say."""

    observation: Observation
    drift: Drift | None = None
    """None where no fleet was named."""
    problems: tuple[Problem, ...] = ()
    """Those of `drift`, with their places."""


def implied(counts: Counts) -> float | None:
    """The acceptance of one position, 0 to 1, that yields these tokens a round at the mean width."""
    if counts.tokens_per_round is None or counts.width is None:
        return None
    return acceptance_for(counts.tokens_per_round, counts.width)


def as_json(answer: Answer) -> str:
    """One object; its keys stand in docs/observe.md."""
    seen, drift = answer.observation, answer.drift
    record = {
        "source": seen.source,
        "engine": seen.engine,
        "state": seen.state.value,
        "reasons": list(seen.reasons),
        "requested": None if seen.requested is None else list(seen.requested),
        "total": _record(seen.total),
        "window": _record(seen.window),
        "window_seconds": seen.window_seconds,
        "drafters": {
            name: {**(_record(counts) or {}), "draft_seconds": seen.draft_seconds.get(name)}
            for name, counts in seen.drafters.items()
        },
        "notes": list(seen.notes),
        "drift": None if drift is None else [console.record(problem) for problem in answer.problems],
        "not_compared": None if drift is None else list(drift.unknown),
    }
    return json.dumps(record, indent=2, ensure_ascii=False)


def _record(counts: Counts | None) -> dict[str, Any] | None:
    if counts is None:
        return None
    return {
        "requests": counts.requests,
        "generated": counts.generated,
        "seconds": counts.seconds,
        "drafted": counts.drafted,
        "accepted": counts.accepted,
        "rounds": counts.rounds,
        "per_position": list(counts.per_position),
        "acceptance": counts.acceptance,
        "acceptance_by_position": list(counts.positions),
        "tokens_per_round": counts.tokens_per_round,
        "width": counts.width,
        "implied_p": implied(counts),
        "tokens_per_pass": counts.tokens_per_pass,
        "engine_rate": counts.rate,
    }


def verdict(drift: Drift, target: str) -> str:
    """How the comparison with a fleet ended, for standard error."""
    open_ = f"; {console.count(len(drift.unknown), 'thing')} could not be compared" if drift.unknown else ""
    if drift.differs:
        return f"the server is not what the fleet decided for {target}{open_}"
    return f"the server is what the fleet decided for {target}{open_}"


def as_text(answer: Answer) -> str:
    """For people: the state, what proves it, the numbers, what else to know."""
    return console.lines(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    seen = answer.observation
    engine = "" if seen.engine is None else f" ({seen.engine})"
    source = "standard input" if seen.source == "-" else seen.source
    yield from wrapped(f"{source}: {_STATES[seen.state]}{_accepts(seen)}{engine}")
    for reason in seen.reasons:
        yield from wrapped(f"  {reason}")
    if seen.requested is not None:
        yield f"  it was given --spec-type {','.join(seen.requested) or 'none'}"
    columns = dict(_columns(seen))
    if columns:
        yield from ("", *_table(columns), *_by_position(columns))
    notes = [*seen.notes, *(() if answer.drift is None else (f"not compared: {each}" for each in answer.drift.unknown))]
    if notes:
        yield ""
    for note in notes:
        yield from wrapped(f"  note: {note}")


def _accepts(seen: Observation) -> str:
    """Without counters a server that runs may still be one of whose drafts none is accepted."""
    counted = any(counts is not None and counts.accepted for counts in (seen.total, seen.window))
    return ", and drafts are accepted" if seen.state is State.RUNNING and counted else ""


def _columns(seen: Observation) -> Iterator[tuple[str, Counts]]:
    if seen.total is not None:
        yield "in total", seen.total
    if seen.window is not None:
        yield "in the window" if seen.window_seconds is None else f"in {seen.window_seconds:.0f} s", seen.window
    yield from seen.drafters.items()


def _rows(counts: Counts) -> Iterator[tuple[str, str | None]]:
    """Each row of the table with its value; None where nobody says, or there is nothing to divide by."""
    yield "requests", _whole(counts.requests)
    yield "tokens generated", _whole(counts.generated)
    yield "tokens drafted", _whole(counts.drafted)
    yield "tokens accepted", _whole(counts.accepted)
    yield "acceptance", _part(counts.acceptance, 3)
    yield "rounds that drafted", _whole(counts.rounds)
    yield "drafted per round", _part(counts.width, 2)
    yield "tokens per round", _part(counts.tokens_per_round, 2)
    yield "tokens per pass", _part(counts.tokens_per_pass, 2)
    yield "implied p", _part(implied(counts), 3)
    yield "rate", _part(counts.rate, 1)


_NOTES: Final[Mapping[str, str]] = {
    "acceptance": "accepted / drafted",
    "tokens per round": "1 + accepted / rounds",
    "tokens per pass": "rounds that drafted nothing included",
    "implied p": "of one position, those before it accepted",
    "rate": "tok/s, engine-internal",
}


def _table(columns: Mapping[str, Counts]) -> list[str]:
    cells = {title: dict(_rows(counts)) for title, counts in columns.items()}
    names = [name for name in dict.fromkeys(name for rows in cells.values() for name in rows)
             if any(rows.get(name) is not None for rows in cells.values())]  # fmt: skip
    if not names:
        return []
    first = max(len(name) for name in names)
    widths = {title: max(len(title), *(len(rows.get(name) or "-") for name in names)) for title, rows in cells.items()}
    lines = [f"  {'':<{first}}" + _joined((title, widths[title]) for title in cells)]
    for name in names:
        values = _joined((rows.get(name) or "-", widths[title]) for title, rows in cells.items())
        lines.append(f"  {name:<{first}}{values}")
    notes = [f"  {_NOTES.get(name, '')}".rstrip() for name in ("", *names)]
    room = all(len(line + note) <= console.width() for line, note in zip(lines, notes, strict=True))
    return [line + note for line, note in zip(lines, notes, strict=True)] if room else lines


def _by_position(columns: Mapping[str, Counts]) -> Iterator[str]:
    """The share of the rounds in which each position was accepted, those of one value together."""
    for title, counts in columns.items():
        stretches: list[tuple[str, int, int]] = []
        for place, share in enumerate(counts.positions, 1):
            shown = f"{share:.3f}"
            first = stretches.pop()[1] if stretches and stretches[-1][0] == shown else place
            stretches.append((shown, first, place))
        told = [f"{shown} ({first})" if first == last else f"{shown} ({first}-{last})"
                for shown, first, last in stretches]  # fmt: skip
        told = [*told[:_POSITIONS], "..."] if len(told) > _POSITIONS else told
        if told:
            words = [f"  accepted by position, {title}:", *(f"{each}," for each in told[:-1]), told[-1]]
            yield from wrapped(words)


def _joined(cells: Iterable[tuple[str, int]]) -> str:
    return "".join(f"  {cell:>{width}}" for cell, width in cells)


def _whole(value: int | None) -> str | None:
    return None if value is None else str(value)


def _part(value: float | None, digits: int) -> str | None:
    return None if value is None else f"{value:.{digits}f}"
