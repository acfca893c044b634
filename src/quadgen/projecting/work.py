"""The servers of a projection: one for each setting and sample, in turn, so that what drifts meets all of them."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from quadgen.engines import help_text
from quadgen.engines.flags import known_in, shipped_tables
from quadgen.observed import metrics
from quadgen.observed.counts import Counts
from quadgen.ownership import shown
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.projecting.asking import Ask, Clock, Setting
from quadgen.projecting.fitting import Projection, Sample, fitted
from quadgen.server.client import Server, connected
from quadgen.server.process import Died, Process, running
from quadgen.server_help import read_help
from quadgen.server_log import Severity, cause, events

FLAG: Final = "--spec-synth-rates"
_PROGRAM: Final = "name the program to run with --server, or as `binary` of the engine in the fleet"
_PATIENCE: Final = 600.0
"""Seconds of silence in an answer after which a server is given up."""
_LATE: Final = 5.0
"""Seconds that a line of the log may come after the answer: a thread of its own writes it."""
_WARM: Final = 2
"""Tokens of the request that is thrown away."""
_TRIES: Final = 5
"""How often a sample is taken again whose time is below zero."""
_DRAFTED: Final = re.compile(r"statistics +[\w-]+: .*\bdur\(b,g,a\) = *[\d.]+, *([\d.]+), *[\d.]+ ms")
"""common/speculative.cpp, common_speculative_print_stats, of b10434 to b11434: milliseconds since the start."""
_LIMIT: Final = re.compile(r"synthetic acceptance rates must contain (\d+) values")


class _Reading(NamedTuple):
    """What one request took."""

    tokens: int
    """Generated after the first, which comes out of the prompt's pass."""
    engine: float
    """Seconds of generating them, by the server."""
    cpu: float
    """CPU seconds, those of the prompt included; 0 where nobody counts them."""
    drafting: float | None
    """Seconds of drafting."""
    counts: Counts
    client_rate: float | None


def able(server: str, *, environ: Mapping[str, str]) -> None:
    """Raise `Unavailable` unless this build can force an acceptance, by its help; also where that cannot be had.

    Raises `Rejected` with `unreadable-help` where it is something else.
    """
    try:
        text, name = read_help(server, environ=environ)
        options = help_text.parse(text, file=name)
    except Rejected as rejected:
        message = f"{shown(server)} is no llama-server: {rejected.problems[0].message}"
        raise Rejected([Problem(code="unreadable-help", message=message, hint=_PROGRAM)]) from None
    if any(FLAG in option.names for option in options):
        return
    tables = shipped_tables()
    first = next(iter(known_in(tables, FLAG)))[0]
    last = [build for build in tables if build not in dict(known_in(tables, FLAG))][-1]
    since = f"of llama.cpp, {first} has it and {last} has not"
    raise Unavailable(f"{shown(server)} cannot force an acceptance, for its help has no {FLAG}: {since}")


def project(ask: Ask, *, environ: Mapping[str, str], notify: Callable[[int, int, str], object]) -> Projection:
    """Measure every setting of `ask`, and set the formula beside it.

    `notify` is told how many runs are done, of how many, and which is next. Raises `Unavailable` where the server
    cannot be run, cannot force an acceptance, ends, or runs without the drafter. It is all or nothing, and nothing
    that was started is left.
    """
    able(ask.server, environ=environ)
    runs = [*ask.settings * ask.samples, Setting()]  # the target alone first and last: it shows whether time was steady
    seen: dict[Setting, list[Sample]] = {setting: [] for setting in ask.settings}
    with ExitStack() as stack:
        kept: dict[Setting, _Running] = {}
        for done, setting in enumerate(runs):
            notify(done, len(runs), setting.words)
            if not ask.together:
                with _run(ask, setting, environ) as started:
                    seen[setting].append(_measured(ask, setting, done, started))
                continue
            if setting not in kept:
                kept[setting] = stack.enter_context(_run(ask, setting, environ))
            seen[setting].append(_measured(ask, setting, done, kept[setting]))
    notify(len(runs), len(runs), "done")
    return fitted(ask, seen)


class _Running(NamedTuple):
    """A server of one setting, warm."""

    server: Server
    process: Process


@contextmanager
def _run(ask: Ask, setting: Setting, environ: Mapping[str, str]) -> Iterator[_Running]:
    arguments = ask.arguments(setting)
    try:
        with (
            running(Path(ask.server), arguments, environ=environ, ready_within=ask.ready_within) as process,
            connected(process.url, environ={}, timeout=_PATIENCE) as server,
        ):
            started = _Running(server, process)
            if setting.width:
                _attached(ask, started)
            _read(ask, started, _WARM, seed=0)
            yield started
    except Died as died:
        raise _explained(ask, setting, died) from died


def _explained(ask: Ask, setting: Setting, died: Died) -> Unavailable:
    """Why a server ended: one that is to force an acceptance does so where others go on without their drafter."""
    if limit := next(filter(None, map(_LIMIT.search, died.last)), None):
        at_most = f"this drafter drafts {limit[1]} tokens a round at most: ask for no wider --width"
        return Unavailable(f"cannot project {setting.words}: {at_most}")
    for event in events(died.last):
        if event.severity is Severity.NOT_SPECULATING:
            return Unavailable(f"{shown(ask.server)} does not run {ask.spec_type}: {event.message}; {event.hint}")
    return died


def _attached(ask: Ask, started: _Running) -> None:
    slots = started.server.get("/slots")
    if isinstance(slots, list) and slots and all(_speculates(slot) for slot in slots):
        return
    event = cause(started.process.log().splitlines())
    why = f": {event.message}" if event else ""
    raise Unavailable(f"{shown(ask.server)} runs without {ask.spec_type}, and there is nothing to project{why}")


def _speculates(slot: object) -> bool:
    return isinstance(slot, dict) and slot.get("speculative") is True


def _measured(ask: Ask, setting: Setting, seed: int, started: _Running) -> Sample:
    short, long = ask.lengths
    for _ in range(_TRIES):
        less, more = (_read(ask, started, tokens, seed=seed) for tokens in (short, long))
        if more.engine > less.engine and more.cpu >= less.cpu:
            break  # else the short one was held up by other work for longer than the whole sample takes
    tokens, engine = more.tokens - less.tokens, more.engine - less.engine
    seconds = engine if ask.clock is Clock.WALL else more.cpu - less.cpu
    rounds = (more.counts.rounds or 0) - (less.counts.rounds or 0)
    if tokens <= 0 or engine <= 0 or seconds <= 0 or (setting.width and rounds <= 0):
        what = (
            "drafted nothing" if setting.width and tokens > 0 and rounds <= 0 else "generated nothing that takes time"
        )
        raise Unavailable(f"{shown(ask.server)} {what} ({setting.words}), and there is nothing to project")
    known = less.drafting is not None and more.drafting is not None
    return Sample(
        tokens=tokens,
        rounds=rounds,
        drafted=(more.counts.drafted or 0) - (less.counts.drafted or 0),
        accepted=(more.counts.accepted or 0) - (less.counts.accepted or 0),
        seconds=seconds,
        drafting=min(1.0, ((more.drafting or 0.0) - (less.drafting or 0.0)) / engine) if known else None,
        client_rate=more.client_rate,
    )


def _read(ask: Ask, started: _Running, tokens: int, *, seed: int) -> _Reading:
    server, process = started
    body = {
        "prompt": ask.prompt if isinstance(ask.prompt, str) else list(ask.prompt),
        "n_predict": tokens,
        "temperature": 0,
        "seed": seed,  # of the dice that accept
        "ignore_eos": True,
        "cache_prompt": False,
    }
    said, before, worked = _statistics(process), _scraped(server), _cpu(ask, process)
    arrived, last = _answer(ask, server, body)
    worked = _cpu(ask, process) - worked
    counts = metrics.between(before, _scraped(server)) or Counts()
    timings = last.get("timings") if isinstance(last, dict) else None
    if not isinstance(timings, dict):
        raise Unavailable(f"{shown(ask.server)} ends an answer without its times, and there is nothing to measure")
    generated = int(timings.get("predicted_n", 0))
    took = arrived[-1] - arrived[0] if arrived else 0.0
    return _Reading(
        tokens=generated - 1,
        engine=float(timings.get("predicted_ms", 0.0)) / 1000,
        cpu=worked,
        drafting=_drafting(process, said) if counts.rounds else None,
        counts=counts,
        client_rate=(generated - 1) / took if took > 0 else None,
    )


def _answer(ask: Ask, server: Server, body: Mapping[str, Any]) -> tuple[list[float], Any]:
    """When its pieces arrived, and the last of them. CPU seconds are not to hold the writing of pieces: it has one."""
    if ask.clock is Clock.CPU:
        return [], server.post("/completion", body, timeout=_PATIENCE)
    pieces = list(server.stream("/completion", {**body, "stream": True}, timeout=_PATIENCE))
    return [at for at, _ in pieces], pieces[-1][1] if pieces else None


def _cpu(ask: Ask, process: Process) -> float:
    return process.cpu_seconds() if ask.clock is Clock.CPU else 0.0


def _scraped(server: Server) -> metrics.Scrape:
    return metrics.parse(f"{server.url}/metrics", server.text("/metrics"))


def _statistics(process: Process) -> list[float]:
    """Seconds of drafting since the start, as each request's end said them."""
    log = b"".join(process.chunks()).decode(errors="replace")
    return [float(found[1]) / 1000 for found in _DRAFTED.finditer(log)]


def _drafting(process: Process, before: list[float]) -> float | None:
    """Seconds of drafting of the request that just ended; None where the log does not say."""
    until = time.monotonic() + _LATE
    while len(now := _statistics(process)) <= len(before) and time.monotonic() < until:
        time.sleep(0.01)
    return now[-1] - (before[-1] if before else 0.0) if len(now) > len(before) else None
