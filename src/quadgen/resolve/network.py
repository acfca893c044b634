"""Where a service listens, what it publishes, and whether that is open to others."""

import re
import socket
from dataclasses import dataclass

from quadgen.resolution import Host
from quadgen.resolve.report import Reporter

INSIDE = "0.0.0.0"  # noqa: S104 - inside the container's own network
"""Where a server listens in a container network of its own."""
_SHARED = (".container", ".pod")
"""Quadlet units whose network another container already has, with its ports."""
_NO_NETWORK = frozenset({"none", "container", "private", "ns"})


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
    inside: bool = False
    """Whether it listens in a container network of its own."""


def _family(address: str) -> int | None:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, address)
        except OSError:
            continue
        return family
    return None


def loopback(address: str) -> bool:
    """Whether only this machine reaches an address in its canonical form."""
    return address in ("::1", "::ffff:127.0.0.1") or (address.startswith("127.") and ":" not in address)


def _canonical(bind: str, family: int | None) -> str:
    """One spelling for each address, so that equal ones are equal: ::1, never 0:0:0:0:0:0:0:1."""
    if family is None:
        return "127.0.0.1"
    return bind if family == socket.AF_INET else socket.inet_ntop(family, socket.inet_pton(family, bind))


def address(ask: Reporter, host: Host, port: int) -> Address | None:
    """Decide the address, or report why it cannot be and return None."""
    bind = ask.get("bind", "127.0.0.1")
    family = _family(bind)
    if family is None and bind != "localhost":
        bare = bind[1:-1] if bind.startswith("[") and bind.endswith("]") else None
        hint = f"write {bare}" if bare and _family(bare) else "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"
        ask.add("unexpected-value", f"`bind` takes an IP address, and {bind!r} is none", "bind", hint=hint)
        return None
    taken = _canonical(bind, family)
    networks = tuple(dict.fromkeys(ask.get("network") or ()))
    if host.runtime == "systemd":
        if networks and networks != ("host",):
            ask.add(
                "unexpected-value",
                "a native service has the host's network",
                "network",
                hint="leave `network` out, or use `runtime: podman`",
            )
            return None
        return Address(listen=bind, ports=(), networks=(), binds=taken, beyond_loopback=not loopback(taken))
    if "host" in networks:
        if len(networks) > 1:
            ask.add("unexpected-value", "`host` cannot be joined with other networks", "network")
            return None
        return Address(listen=bind, ports=(), networks=networks, binds=taken, beyond_loopback=not loopback(taken))
    for network in networks:
        if (
            network in _NO_NETWORK
            or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", network)
            or network.endswith(_SHARED)
        ):
            ask.add(
                "unsafe-value",
                f"{network!r} names no Podman network",
                "network",
                hint="NAME, NAME.network for a Quadlet network, or host",
            )
            return None
    if ask.get("publish", True) is False:
        return Address(listen=INSIDE, inside=True, ports=(), networks=networks, binds=None, beyond_loopback=False)
    outside = f"[{taken}]" if family == socket.AF_INET6 else taken
    return Address(
        listen=INSIDE,
        inside=True,
        ports=(f"{outside}:{port}:{port}",),
        networks=networks,
        binds=taken,
        beyond_loopback=not loopback(taken),
    )
