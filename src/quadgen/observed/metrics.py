"""What a server counts of itself at /metrics.

llama-server has the counters of speculation since b10434, as zeros where it does not speculate. It prints them as
doubles in six digits (tools/server/server-task.cpp, a stream of default precision), so that one of a million and more
is rounded; those by position are whole numbers. halogen calls what it shares with llama.cpp `llamacpp:` too, and
counts its drafts and requests as `halogen:` (https://github.com/peonist-ai/halogen-flash-server, README.md).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from quadgen.observed.counts import Counts
from quadgen.observed.exposition import Sample, samples
from quadgen.problems import Place, Problem, Rejected

Engine = Literal["llama.cpp", "halogen"]

_COUNTS: Final[Mapping[str, str]] = {
    "llamacpp:tokens_predicted_total": "generated",
    "llamacpp:prompt_tokens_total": "prompt",
    "llamacpp:n_decode_total": "decodes",
    "llamacpp:spec_decode_num_draft_tokens_total": "drafted",
    "llamacpp:spec_decode_num_accepted_tokens_total": "accepted",
    "llamacpp:spec_decode_num_drafts_total": "rounds",
    "halogen:requests_total": "requests",
    "halogen:draft_tokens_total": "drafted",
    "halogen:draft_tokens_accepted_total": "accepted",
}
_TIMES: Final[Mapping[str, str]] = {
    "llamacpp:tokens_predicted_seconds_total": "seconds",
    "llamacpp:prompt_seconds_total": "prompt_seconds",
}
_FIELDS: Final = {**_COUNTS, **_TIMES}
_BY_POSITION: Final = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"
_BUSY: Final = "llamacpp:requests_processing"
_READ: Final = frozenset({*_FIELDS, _BY_POSITION, _BUSY})
_HIGHEST: Final = 2.0**64
"""What no counter of C++ gets to."""
_FURTHEST: Final = 4096
"""Positions of a draft; one beyond is none."""
_DIGITS: Final = 10
"""Those of a position; as many digits more are a number that takes long to read."""
_ENOUGH: Final = 20
"""Problems after which nobody asks what else there is."""
_LONGEST: Final = 200
"""Characters of a line that are shown."""
_SHARE: Final = 50
"""How often the rounding of a counter must fit into a difference that is to be believed: it is right to 2%."""
_DIFFERENCES: Final = ("generated", "seconds", "drafted", "rounds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """What one answer of /metrics counts, since the server started. None is "it does not say"."""

    engine: Engine | None
    """Whose names they are; None where they are neither's."""
    generated: int | None = None
    """Tokens, the first of each request included."""
    seconds: float | None = None
    """Time of generating them, all slots added up."""
    drafted: int | None = None
    accepted: int | None = None
    rounds: int | None = None
    per_position: tuple[int, ...] = ()
    requests: int | None = None
    """Only halogen counts them."""
    prompt: int | None = None
    """Tokens of prompts that were processed, without those from a cache."""
    prompt_seconds: float | None = None
    decodes: int | None = None
    """Passes over all slots together: prompts, and the verification of drafts as well, whatever its help text says."""
    processing: int | None = None
    """Requests that are answered just now; they are counted when they end."""
    steps: Mapping[str, float] = field(default_factory=dict)
    """To how much a counter is rounded, by field, where it is not exact."""
    process: str | None = None
    """What the server's process is told by, of which nothing is in the text: another one is another process."""

    @property
    def has_speculation(self) -> bool:
        """Whether this build counts drafts at all; without, its acceptance is unknown and not 0."""
        return self.drafted is not None and self.accepted is not None


def parse(name: str, text: str) -> Scrape:
    """Read an answer of /metrics; `name` is its address, for problems.

    Lines of other metrics are passed over, whatever they hold. The same counter with other labels is another server's,
    and added up. Raises `Rejected` with `unreadable-metrics` for each line of a counter that has no count.
    """
    problems: list[Problem] = []
    seen: set[object] = set()
    sums: dict[str, float] = {}
    steps: dict[str, float] = {}
    positions: dict[int, int] = {}
    engines: set[str] = set()
    for sample in samples(text, _READ):
        wrong = _wrong(sample)
        if wrong is None and (sample.name, sample.labels) in seen:
            wrong = "has a value already"
        if wrong is not None:
            problems.append(_problem(name, sample, wrong))
            continue
        seen.add((sample.name, sample.labels))
        engines.add(sample.name.partition(":")[0])
        amount = sample.amount
        if amount is None:
            continue
        if sample.name == _BY_POSITION:
            place = int(sample.label("position") or 0)
            positions[place] = positions.get(place, 0) + int(amount)
            continue
        key = _FIELDS.get(sample.name, "processing")
        sums[key] = sums.get(key, 0.0) + amount
        if sample.step > (0.0 if sample.name in _TIMES else 1.0):  # six digits are enough for counts below a million
            steps[key] = steps.get(key, 0.0) + sample.step
    if problems:
        raise Rejected(_bounded(problems))
    whole = {key: round(value) for key, value in sums.items() if key not in _TIMES.values()}
    return Scrape(
        engine="halogen" if "halogen" in engines else "llama.cpp" if engines else None,
        generated=whole.get("generated"),
        seconds=sums.get("seconds"),
        drafted=whole.get("drafted"),
        accepted=whole.get("accepted"),
        rounds=whole.get("rounds"),
        per_position=tuple(positions.get(place, 0) for place in range(max(positions, default=-1) + 1)),
        requests=whole.get("requests"),
        prompt=whole.get("prompt"),
        prompt_seconds=sums.get("prompt_seconds"),
        decodes=whole.get("decodes"),
        processing=whole.get("processing"),
        steps=steps,
    )


def counts(scrape: Scrape) -> Counts:
    """What was counted since the server started.

    llama-server does not count requests here, so that a rate made of it holds the first token of each, which took no
    time of generating: it is high by a token a request.
    """
    return Counts(
        requests=scrape.requests,
        generated=scrape.generated,
        seconds=scrape.seconds,
        drafted=scrape.drafted,
        accepted=sum(scrape.per_position) if _positions_are_better(scrape) else scrape.accepted,
        rounds=scrape.rounds,
        per_position=scrape.per_position,
    )


def between(before: Scrape, after: Scrape) -> Counts | None:
    """What was counted between two readings; None where a counter went down, since the server was started anew.

    A difference into which the rounding of its counter fits less than 50 times is None: see `lost`.
    """
    if restarted(before, after):
        return None
    earlier = (*before.per_position, *(0,) * len(after.per_position))
    positions = tuple(now - was for was, now in zip(earlier, after.per_position, strict=False))
    return Counts(
        requests=_whole(before, after, "requests"),
        generated=_whole(before, after, "generated"),
        seconds=_difference(before, after, "seconds"),
        drafted=_whole(before, after, "drafted"),
        accepted=sum(positions) if _positions_are_better(after) else _whole(before, after, "accepted"),
        rounds=_whole(before, after, "rounds"),
        per_position=positions,
    )


def restarted(before: Scrape, after: Scrape) -> bool:
    """Whether it was another process, a counter went down or away, or more was accepted than drafted in between."""
    other = None not in {before.process, after.process} and before.process != after.process
    shrunk = len(after.per_position) < len(before.per_position)
    pairs = [*zip(before.per_position, after.per_position, strict=False)]
    fewer = any(now < was for was, now in pairs)
    down = any(_went_down(before, after, name) for name in {*_FIELDS.values()})
    return other or shrunk or fewer or down or _impossible(before, after)


def _impossible(before: Scrape, after: Scrape) -> bool:
    """Whether more was accepted than drafted: both were counted from 0 again, and have passed by where they were."""
    if {"drafted", "accepted"} & {*before.steps, *after.steps}:
        return False
    drafted, accepted = (_difference(before, after, name) for name in ("drafted", "accepted"))
    return drafted is not None and accepted is not None and accepted > drafted


def lost(before: Scrape, after: Scrape) -> tuple[str, ...]:
    """The fields whose difference is nothing to go by, since the server rounds their counters to more than that."""
    both = [name for name in _DIFFERENCES if getattr(before, name) is not None and getattr(after, name) is not None]
    return tuple(name for name in both if _difference(before, after, name) is None)


def _positions_are_better(scrape: Scrape) -> bool:
    """Each accepted token has its position, and these counters are exact."""
    return bool(scrape.per_position) and "accepted" in scrape.steps


def _went_down(before: Scrape, after: Scrape, name: str) -> bool:
    was, now = getattr(before, name), getattr(after, name)
    return was is not None and (now is None or now < was)


def _difference(before: Scrape, after: Scrape, name: str) -> float | None:
    was, now = getattr(before, name), getattr(after, name)
    if was is None or now is None:
        return None
    step = max(before.steps.get(name, 0.0), after.steps.get(name, 0.0))
    return None if step * _SHARE > now - was else float(now - was)


def _whole(before: Scrape, after: Scrape, name: str) -> int | None:
    difference = _difference(before, after, name)
    return None if difference is None else round(difference)


def _wrong(sample: Sample) -> str | None:
    """What is wrong with a line of a metric that is read here."""
    if sample.name == _BUSY and sample.value is not None and sample.amount is None:
        return None  # a gauge may be NaN, and nothing depends on it
    amount = sample.amount
    if sample.value is None:
        return "is not followed by labels and a value"
    if amount is None or amount >= _HIGHEST or (sample.name not in _TIMES and amount != int(amount)):
        return f"is {sample.value[:_LONGEST]}, and counts {'seconds' if sample.name in _TIMES else 'from 0 upwards'}"
    if sample.name == _BY_POSITION:
        place = sample.label("position") or ""
        if not (place.isascii() and place.isdecimal() and len(place) < _DIGITS and int(place) < _FURTHEST):
            return "has no position in a draft"
    return None


def _problem(name: str, sample: Sample, wrong: str) -> Problem:
    shown = sample.text[:_LONGEST]
    return Problem(
        code="unreadable-metrics",
        message=f"{sample.name} {wrong}",
        file=name,
        place=Place(file=name, line=sample.line, column=1, length=max(1, len(shown)), text=shown),
    )


def _bounded(problems: list[Problem]) -> list[Problem]:
    more = len(problems) - _ENOUGH
    rest = [Problem(code="unreadable-metrics", message=f"{more} more lines like these")] if more > 0 else []
    return [*problems[:_ENOUGH], *rest]
