"""What systemd says of units, and what it means: whether one runs, is on its way, or will never be ready."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from . import managers
from .managers import Run, Trouble

PROPERTIES: Final = (
    *("LoadState", "LoadError", "ActiveState", "SubState", "Result", "ExecMainStatus", "NRestarts"),
    *("AssertResult", "ConditionResult", "Job", "UnitFileState", "NeedDaemonReload"),
)

STOPPING = 900.0
"""Seconds to wait at least for the stop of a unit whose own timeout nobody knows."""

SLACK = 60.0
"""Seconds beyond what systemd itself waits: a busy machine, and what is still queued."""


@dataclass(frozen=True)
class Seen:
    """The properties of a unit (org.freedesktop.systemd1(5)) as `systemctl show` writes them; absent ones are empty."""

    properties: Mapping[str, str]

    def __getitem__(self, name: str) -> str:
        return self.properties.get(name, "")

    @property
    def up(self) -> bool:
        """Whether it runs, or is about to."""
        return self["ActiveState"] not in ("inactive", "failed", "deactivating") or self._starting

    @property
    def down(self) -> bool:
        """Whether nothing of it runs, and nothing is to be done about it."""
        return self["ActiveState"] in ("inactive", "failed") and not self._starting

    @property
    def activating(self) -> bool:
        """Whether it is on its way."""
        return self["ActiveState"] == "activating"

    @property
    def stale(self) -> bool:
        """Whether its files changed since systemd read them."""
        return self["NeedDaemonReload"] == "yes"

    @property
    def loaded(self) -> bool:
        """Whether systemd can start it."""
        return self["LoadState"] == "loaded"

    @property
    def ready(self) -> bool:
        """Whether systemd holds it for ready."""
        return self["ActiveState"] == "active"

    @property
    def words(self) -> str:
        """Its state, as `systemctl status` has it."""
        return f"{self['ActiveState']} ({self['SubState']})"

    @property
    def unloadable(self) -> str | None:
        """Why systemd cannot start it, as the end of a sentence; None where it can."""
        if self.loaded:
            return None
        if self["LoadState"] == "masked":
            return "is masked on this host: systemctl unmask it"
        if self["LoadState"] == "not-found":
            return "is unknown to systemd: no file became this unit"
        # NAME "text"
        text = self["LoadError"].partition(" ")[2].strip('"')
        return f"cannot be loaded: {text or self['LoadState']}"

    def dead(self, tries: int) -> str | None:
        """Why it will not get ready once it was asked to start, as the end of a sentence; None where it still may.

        It is dead when it failed, when systemd did not even start it, and when systemd has started it anew `tries`
        times: with `Restart=` a unit is `activating` between two failures, and `failed` much later or never.
        """
        if not self.loaded:
            return self.unloadable
        if self["ActiveState"] == "failed" and self.down:
            return f"failed{self._result}"
        restarts = int(self["NRestarts"] or 0)
        if restarts >= tries and not self.ready:
            return f"ended {restarts} time{'s' if restarts > 1 else ''} before it was ready{self._result}"
        if self.down:
            if self["AssertResult"] == "no":
                return "was not started: something that it needs is not there"
            return "ended before it was ready"
        return None

    @property
    def _starting(self) -> bool:
        """Whether a job waits for it, or the next start after a failure: it may be `inactive` or `failed` then."""
        return self["Job"] not in ("", "0") or self["SubState"].endswith("-before-auto-restart")

    @property
    def _result(self) -> str:
        """How it ended last, in brackets; nothing while it is tried again, when systemd has forgotten."""
        status = self["ExecMainStatus"]
        if self["Result"] in ("", "success"):
            return ""
        return f" (Result={self['Result']}" + (f", status {status})" if status not in ("", "0") else ")")


def look(users: Mapping[str, str | None], *, run: Run) -> dict[str, Seen]:
    """What systemd says of units, each asked of the manager of its user; one call for each manager."""
    found: dict[str, Seen] = {}
    for user in dict.fromkeys(users.values()):
        units = [unit for unit, whose in users.items() if whose == user]
        found.update({unit: Seen(each) for unit, each in managers.show(units, PROPERTIES, user=user, run=run).items()})
    return found


def patience(timeouts: Iterable[int | None]) -> float:
    """Seconds to wait for stops of units with these own timeouts (None: unknown).

    systemd ends each within twice its timeout, SIGKILL included, and those that follow one another after each other.
    """
    known = list(timeouts)
    ended = SLACK + 2 * sum(each for each in known if each is not None)
    return max(ended, STOPPING) if None in known else ended


def stop(users: Mapping[str, str | None], timeouts: Iterable[int | None], *, run: Run) -> None:
    """Stop units, in this order where it is systemd's as well, and wait until they are down.

    One that systemd does not know runs nothing. Raises Trouble for one that does not end within `patience`.
    """
    within = patience(timeouts)
    for unit, user in users.items():
        managers.systemctl("stop", "--no-block", unit, user=user, run=run)
    end = time.monotonic() + within
    left = dict(users)
    pause = 0.05
    while left:
        left = {unit: left[unit] for unit, seen in look(left, run=run).items() if not seen.down}
        if left and time.monotonic() > end:
            raise Trouble(f"{', '.join(sorted(left))} did not stop within {within:g} seconds")
        if left:
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)


def switch(seen: Seen, *, autostart: bool) -> str | None:
    """What systemctl has to do so that a unit starts with its manager, or does not; None where nothing.

    A generated unit is started by what its generator made, and cannot be enabled.
    """
    if seen["UnitFileState"] == "disabled" and autostart:
        return "enable"
    if seen["UnitFileState"] in ("enabled", "enabled-runtime") and not autostart:
        return "disable"
    return None
