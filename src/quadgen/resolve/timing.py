"""Time spans and bounds of a service: start, stop, restart, probe, limits. All in whole seconds."""

from typing import Any

from quadgen.fleet.values import LONGEST
from quadgen.resolution import STOP_GRACE, UNLIMITED, Host, Limits, Model, Restart
from quadgen.resolve.report import Reporter

SLOWEST_READ = 50 * 2**20
"""Bytes per second: a checkpoint read over gigabit Ethernet at half its rate, or from a hard disk."""
PULL = 600
"""Seconds for the image: 6 GB at 10 MB/s."""
STOP = 30
"""Seconds that a server gets to end its requests; it ends in well under one when it is idle."""


def start_timeout(ask: Reporter, model: Model, otherwise: int) -> int:
    """`start_timeout`, or what pulling the image and reading a checkpoint of this size may take."""
    said: int | None = ask.get("start_timeout")
    if said is not None:
        return said
    return otherwise if model.size is None else min(LONGEST, max(otherwise, PULL + -(-model.size // SLOWEST_READ)))


def start_period(ask: Reporter, start: int) -> None:
    """Refuse a start period beyond the start timeout: the unit would be killed first (containers/podman#27290)."""
    period = (ask.get("health") or {}).get("start_period")
    if period is not None and period >= start:
        message = f"the start period of {period} s outlasts the start timeout of {start} s, which kills the unit"
        ask.add("unexpected-value", message, "health", "start_period", hint="raise `start_timeout`")


def restart(ask: Reporter, host: Host, start: int, stop: int) -> Restart:
    """Restart settings whose limit can trip: the interval outlasts all tries of a server that never gets ready."""
    stop += STOP_GRACE if host.runtime == "podman" else 0
    said: Any = ask.get("restart", {})
    fields: dict[str, Any] = {"policy": said} if isinstance(said, str) else said
    delay: int = fields.get("delay", 10)
    tries: int = fields.get("tries", 20)
    least = tries * (start + stop + delay)
    within: int = fields.get("within", least + 60)
    if within <= least:
        ask.add(
            "unexpected-value",
            f"the start limit cannot trip: {tries} tries take up to {least} s, and only {within} s are looked at",
            "restart",
            hint=f"set `within` above {least}, or leave it out",
        )
    return Restart(policy=fields.get("policy", "on-failure"), delay=delay, tries=tries, within=within)


def limits(ask: Reporter, memlock: int | None) -> Limits:
    """`limits`, sizes in bytes; `memlock` is what the engine needs where nobody says."""
    said: Any = dict(ask.get("limits") or {})
    if said.get("memlock") == "unlimited":
        said["memlock"] = UNLIMITED
    said.setdefault("memlock", memlock)
    return Limits(**said)
