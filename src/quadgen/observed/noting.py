"""What else a person should know who reads a running server's numbers."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from quadgen.observed.answers import Properties
from quadgen.observed.metrics import Scrape, between, counts, lost, restarted

_NEED_A_FILE: Final = "draft-"
"""How the types begin that are passed over in silence where their drafter is missing."""
_NAMES: Final = {"generated": "generated tokens", "seconds": "seconds", "drafted": "drafted tokens", "rounds": "rounds"}


def notes(
    scrapes: Sequence[Scrape],
    *,
    requested: Sequence[str] | None,
    properties: Properties | None,
    missing: Iterable[str],
) -> tuple[str, ...]:
    """In sentences without their end; `requested` are the types of a server that speculates."""
    found = [*missing]
    if properties is not None and properties.is_sleeping:
        found.append("it sleeps: its model is loaded again by the next request")
    found += _passed_over(requested or ())
    if scrapes:
        found += _of_counters(scrapes)
    return tuple(found)


def _passed_over(requested: Sequence[str]) -> Iterator[str]:
    if len(requested) > 1 and any(name.startswith(_NEED_A_FILE) for name in requested):
        yield (
            f"which of {', '.join(requested)} run cannot be told from outside: one whose drafter is missing is passed "
            "over in silence; the log of its start at --log-verbosity 4 names those that run"
        )


def _of_counters(scrapes: Sequence[Scrape]) -> Iterator[str]:
    first, last = scrapes[0], scrapes[-1]
    if last.engine is None:
        yield "what /metrics answers are not the counters of llama-server or halogen"
        return
    if not last.has_speculation:
        yield "this build does not count what it drafts (llama-server does since b10434)"
    if len(scrapes) > 1:
        yield from _of_window(first, last)
    if last.processing:
        yield f"requests are being answered ({last.processing}); a request is counted when it has ended"
    if counts(last).rate is not None:
        yield "rates are the engine's own, without prompts, waiting and delivery: a client sees less"
        if last.requests is None:
            yield "they count the first token of each request too, which took no time of generating"


def _of_window(first: Scrape, last: Scrape) -> Iterator[str]:
    if restarted(first, last):
        yield "it was started anew between the readings, and only the second one counts"
        return
    window = between(first, last)
    if window is not None and window.generated == 0:
        yield "no request ended between the readings"
    unknown = [name for name in lost(first, last) if getattr(first, name) != getattr(last, name)]
    if unknown:
        listed = ", ".join(_NAMES[name] for name in unknown)
        yield f"the server prints its counters in six digits, too few for so short a window: not known are {listed}"
