"""One streamed answer of the target and when its pieces came: the rate that a client sees, and what rounds yield."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from quadgen.observed.counts import Counts
from quadgen.triage.given import Given
from quadgen.triage.target import Figures, idle

Event = tuple[float, Mapping[str, Any]]
"""When it arrived, in seconds of any clock, and what it says."""
FEWEST: Final = 16
"""Tokens that are worth timing: the first few of an answer are of another pace."""
MOST: Final = 2**53
"""Tokens of an answer; a number beyond is none of that."""


class Untimed(ValueError):  # noqa: N818 - it is a verdict on an answer, not a fault of the program
    """An answer that no rate can be made of; `str` is a sentence about it."""


def figures(source: str, events: Sequence[Event], window: Counts | None, types: Sequence[str] | None = None) -> Figures:
    """What the events of /v1/chat/completions say, and the counters around them where the answer itself does not.

    `types` is what the server speculates with by its own account, empty where it does not say; None if it does not.
    Tokens are never counted by events: a round that drafts puts several into one. Raises `Untimed`.
    """
    arrivals = [arrived for arrived, event in events if _speaks(event)]
    tokens = _tokens(events)
    if tokens is None:
        raise Untimed("its answer does not say how many tokens it has")
    if tokens < FEWEST or len(arrivals) < 2 or arrivals[-1] <= arrivals[0]:  # noqa: PLR2004 - a time has two ends
        raise Untimed(f"its answer has {tokens} tokens in {len(arrivals)} pieces: too few to see how fast they come")
    commit = _commit(events, tokens, window)
    return Figures(
        rate=Given(value=(tokens - 1) / (arrivals[-1] - arrivals[0]), source=source),
        commit=None if commit is None else Given(value=commit, source=source),
        engine_rate=_engine_rate(events, window),
        idle=_idle(events, commit, types, window),
    )


def _speaks(event: Mapping[str, Any]) -> bool:
    """Whether a piece of the answer is in it: text, thoughts, or a call of a tool."""
    match event.get("choices"):
        case [{"delta": dict(delta)}, *_]:
            return any(delta.get(key) for key in ("content", "reasoning_content", "tool_calls"))
    return False


def _tokens(events: Sequence[Event]) -> int | None:
    for _, event in reversed(events):
        match event:
            case {"usage": {"completion_tokens": int(tokens)}} | {"timings": {"predicted_n": int(tokens)}}:
                return tokens if tokens <= MOST else None
    return None


def _timings(events: Sequence[Event]) -> Mapping[str, Any]:
    return next((event["timings"] for _, event in reversed(events) if isinstance(event.get("timings"), dict)), {})


def _commit(events: Sequence[Event], tokens: int, window: Counts | None) -> float | None:
    """Tokens of a round: of this answer where it says so, else of all that was answered meanwhile."""
    match _timings(events):
        case {"draft_n_accepted": int(accepted)} if 0 <= accepted < tokens - 1:
            return (tokens - 1) / (tokens - 1 - accepted)
        case {"predicted_n": int()} if window is None or not window.drafted:
            return 1.0  # llama-server says nothing of drafts where there were none
    return None if window is None else window.tokens_per_pass


def _idle(
    events: Sequence[Event], commit: float | None, types: Sequence[str] | None, window: Counts | None
) -> str | None:
    drafted = _drafted(events, window)
    if commit != 1 or (types is None and not drafted):
        return None
    return idle(types or (), "in this answer", drafted=drafted)


def _drafted(events: Sequence[Event], window: Counts | None) -> bool | None:
    """Whether anything was drafted: by the answer where it says so, else by the counters; None where neither does."""
    timings = _timings(events)
    counted = None if window is None else window.drafted
    if timings.get("draft_n") or counted:
        return True
    return False if "predicted_n" in timings or counted == 0 else None  # llama-server says nothing of none


def _engine_rate(events: Sequence[Event], window: Counts | None) -> float | None:
    match _timings(events):
        case {"predicted_per_second": float(rate) | int(rate)} if rate > 0:
            return float(rate)
    return None if window is None else window.rate
