"""A server of one arm, opened for as long as it is asked."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quadgen.measuring.launch import Launch
from quadgen.sampling import podman
from quadgen.server.client import Server, connected
from quadgen.server.process import Died, running

PATIENCE = 600.0
"""Seconds of silence in an answer after which a server is given up; the pass of a long prompt is silent."""


class Watched(Protocol):
    """What is known of a server that was started here, beside what it answers; `server.process.Process` is one."""

    @property
    def url(self) -> str:
        """Where it answers."""

    @property
    def status(self) -> int | None:
        """How it ended; None while it runs."""

    def cpu_seconds(self) -> float:
        """Seconds that processors have worked for it. Raises `Unavailable` where nobody counts them."""

    def log(self) -> str:
        """The end of its log."""

    def chunks(self) -> Iterator[bytes]:
        """All of its log so far."""

    def last(self) -> tuple[str, ...]:
        """Its last lines, as they may be shown."""

    def ended_within(self, seconds: float) -> bool:
        """Whether it has ended, or does so in this time."""

    def died(self, when: str) -> Died:
        """The exception for its end; `when` continues the sentence."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Opened:
    """One server that answers."""

    server: Server
    process: Watched | None
    """None of one that was not started here: it has no log, and nobody counts its CPU seconds."""
    launch: Launch
    """How it was started; of one that was not, its address and the types that must run in it."""


class Source(Protocol):
    """Where the server of an arm comes from. It may be opened again once it was left."""

    def opened(self) -> AbstractContextManager[Opened]:
        """Have a server that answers; nothing that was started for it is left behind.

        Raises `Unavailable`, of which `Died` and `NotReady` carry the last lines of the log.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A server that is started anew each time."""

    launch: Launch
    environ: Mapping[str, str]
    """Of quadgen; what sets options of a server (LLAMA_*) is left out of it, unless the service says it."""
    patience: float = PATIENCE
    """Seconds of silence that its answers may have."""

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        """See `Source`."""
        with self._running() as process, connected(process.url, environ={}, timeout=self.patience) as server:
            yield Opened(server=server, process=process, launch=self.launch)

    def _running(self) -> AbstractContextManager[Watched]:
        launch = self.launch
        if launch.container:
            return podman.running(launch, environ=self.environ)
        return running(
            Path(launch.program), launch.arguments, environ=self.environ, own=dict(launch.environment),
            ready_within=launch.ready_within,
        )  # fmt: skip
