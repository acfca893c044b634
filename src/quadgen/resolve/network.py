"""Where a service listens, what it publishes, and whether that is open to others."""

import re
import socket
from dataclasses import dataclass

from quadgen.resolution import Host
from quadgen.resolve.report import Reporter

INSIDE = "0.0.0.0"  # noqa: S104 - inside the container's own network
"""Where a server listens in a container network of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The decided address of a service."""

    listen: str
    """For the server's own --host."""
    ports: tuple[str, ...]
    """For --publish."""
    networks: tuple[str, ...]
    binds: str | None
    """The host address whose port it takes; None where it takes none."""
    beyond_loopback: bool


def _family(address: str) -> int | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address)
        except OSError:
            continue
        return family
    return None


def loopback(address: str) -> bool:
    """Whether only this machine reaches it."""
    return address in ("localhost", "::1") or (address.startswith("127.") and _family(address) == socket.AF_INET)


def address(ask: Reporter, host: Host, port: int) -> Address | None:
    """Decide the address, or report why it cannot be and return None."""
    bind = ask.get("bind", "127.0.0.1")
    family = _family(bind)
    if family is None and bind != "localhost":
        bare = bind[1:-1] if bind.startswith("[") and bind.endswith("]") else None
        hint = f"write {bare}" if bare and _family(bare) else "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"
        ask.add("unexpected-value", f"`bind` takes an IP address, and {bind!r} is none", "bind", hint=hint)
        return None
    networks = tuple(ask.get("network") or ())
    if host.runtime == "systemd":
        if networks and networks != ("host",):
            ask.add(
                "unexpected-value",
                "a native service has the host's network",
                "network",
                hint="leave `network` out, or use `runtime: podman`",
            )
            return None
        return Address(listen=bind, ports=(), networks=(), binds=bind, beyond_loopback=not loopback(bind))
    if "host" in networks:
        if len(networks) > 1:
            ask.add("unexpected-value", "`host` cannot be joined with other networks", "network")
            return None
        return Address(listen=bind, ports=(), networks=networks, binds=bind, beyond_loopback=not loopback(bind))
    for network in networks:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", network) or network in ("none", "container", "private"):
            ask.add(
                "unsafe-value",
                f"{network!r} names no Podman network",
                "network",
                hint="NAME, NAME.network for a Quadlet network, or host",
            )
            return None
    if ask.get("publish", True) is False:
        return Address(listen=INSIDE, ports=(), networks=networks, binds=None, beyond_loopback=False)
    outside = "127.0.0.1" if bind == "localhost" else f"[{bind}]" if family == socket.AF_INET6 else bind
    return Address(
        listen=INSIDE,
        ports=(f"{outside}:{port}:{port}",),
        networks=networks,
        binds=bind,
        beyond_loopback=not loopback(bind),
    )
