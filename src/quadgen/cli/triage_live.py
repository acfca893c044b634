"""Asking the target of `quadgen triage` for one answer, and timing it as a client sees it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quadgen.cli.console import say
from quadgen.cli.servers import api_key
from quadgen.observed.counts import Counts
from quadgen.observed.live import Seen
from quadgen.observed.metrics import between
from quadgen.problems import Unavailable
from quadgen.server.client import Server, connected
from quadgen.server.looking import look
from quadgen.triage import Figures
from quadgen.triage.watching import Event, Untimed, figures

_PROMPT: Final = "Tell me in great detail how a ship of the line was built, from the felling of the oaks on."
_PATIENCE: Final = 600.0
"""Seconds of silence until a busy server is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Live:
    """The server to ask."""

    url: str
    tokens: int
    api_key_file: str | None
    model: str | None


def figures_of(live: Live, *, environ: Mapping[str, str]) -> Figures:
    """What the server does for a client that is alone with it. Raises `Unavailable`."""
    key = api_key(live.api_key_file)
    with connected(live.url, environ=environ, api_key=key, model=live.model) as server:
        say(f"{server.url}: timing an answer of {live.tokens} tokens")
        before = look(server)
        events = _answer(server, live.tokens)
        after = look(server)
        try:
            return figures(server.url, events, _window(before, after), _types(after))
        except Untimed as untimed:
            raise Unavailable(f"cannot time {server.url}: {untimed}") from None


def _answer(server: Server, tokens: int) -> list[Event]:
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": _PROMPT}],
        "max_tokens": tokens,
        "temperature": 0,
        "stream": True,
        "stream_options": {"include_usage": True},
        "cache_prompt": False,
    }
    return list(server.stream("/v1/chat/completions", body, timeout=_PATIENCE))


def _types(seen: Seen) -> tuple[str, ...] | None:
    """What it says that it speculates with; None where it does not say that it does."""
    if seen.speculative:
        return seen.requested or ()
    drafter = None if seen.health is None else seen.health.drafter
    return None if drafter in {None, "serial"} else (str(drafter),)


def _window(before: Seen, after: Seen) -> Counts | None:
    """What was counted meanwhile; None where the server shows no counters."""
    return between(before.scrapes[-1], after.scrapes[-1]) if before.scrapes and after.scrapes else None
