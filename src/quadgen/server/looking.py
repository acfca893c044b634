"""Looking at a running server: what tells of its speculation, without waking, loading or changing anything."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from quadgen.observed import answers, metrics
from quadgen.observed.answers import Misshapen, Slot
from quadgen.observed.live import Seen
from quadgen.observed.metrics import Scrape
from quadgen.server.client import Server
from quadgen.server.failures import NoAnswer

_ITS_OWN: Final = frozenset({200, 403, 404, 501})
"""Statuses that say no more than that this endpoint is not to be had; 200 where its body cannot be read."""
_PROCESS: Final = "Process-Start-Time-Unix"
"""A header of llama-server's /metrics (get_metrics of tools/server/server-context.cpp, b11434): when it was started, by
a clock of its own. It tells whether that was the same start, and nothing else."""
_Read = TypeVar("_Read")


def look(server: Server, *, window: float = 0.0) -> Seen:
    """Ask for /health, /props, /slots, /v1/models and /metrics, the last a second time after `window` seconds.

    An endpoint that is switched off, forbidden, absent or misshapen is one of `missing`. Raises `NoAnswer` where none
    answers, and where the server cannot be asked at all: it is not there, still loads its model, wants a key, or is a
    router that was not told which model; `Rejected` with `unreadable-metrics`.

    A server that sleeps is not asked for /slots: of these, that alone would load its model again.
    """
    looking = _Looking(server)
    health = looking.at("/health", answers.health)
    properties = slots = None
    if health is None or health.engine != "halogen":  # which has neither
        properties = looking.at("/props", answers.properties)
        slots = looking.slots(asleep=properties is not None and properties.is_sleeping is True)
    models = looking.at("/v1/models", answers.listed)
    scrapes, seconds = looking.scrapes(window)
    if (
        looking.refusal is not None
        and not any(scrape.engine for scrape in scrapes)
        and not any((slots, properties, models, health))
    ):
        raise looking.refusal
    return Seen(
        slots=slots,
        properties=properties,
        models=models,
        health=health,
        scrapes=scrapes,
        seconds=seconds,
        missing=tuple(looking.missing),
    )


class _Looking:
    """One look, and which endpoints did not answer."""

    def __init__(self, server: Server) -> None:
        self.missing: list[str] = []
        self.refusal: NoAnswer | None = None
        """The first."""
        self._server = server

    def at(self, path: str, read: Callable[[object], _Read]) -> _Read | None:
        try:
            return read(self._server.get(path))
        except Misshapen as error:
            self._miss(path, NoAnswer(f"{self._server.url}{path}", f"it answers {error}"))
        except NoAnswer as error:
            if error.status not in _ITS_OWN:
                raise
            self._miss(path, error)
        return None

    def slots(self, *, asleep: bool) -> tuple[Slot, ...] | None:
        if not asleep:
            return self.at("/slots", answers.slots)
        self.missing.append("/slots was not asked for: the server sleeps, and would load its model for it")
        return None

    def scrapes(self, window: float) -> tuple[tuple[Scrape, ...], float | None]:
        """One or two readings of /metrics, and the seconds between them."""
        try:
            first, began = self._scrape()
        except NoAnswer as error:
            if error.status not in _ITS_OWN:
                raise
            self._miss("/metrics", error)
            return (), None
        if not window:
            return (first,), None
        time.sleep(window)
        second, ended = self._scrape()
        return (first, second), ended - began

    def _scrape(self) -> tuple[Scrape, float]:
        text, headers = self._server.told("/metrics")
        scrape = metrics.parse(f"{self._server.url}/metrics", text)
        return replace(scrape, process=headers.get(_PROCESS)), time.monotonic()

    def _miss(self, path: str, error: NoAnswer) -> None:
        self.missing.append(error.reason if path in error.reason else f"{path}: {error.reason}")
        self.refusal = self.refusal or error
