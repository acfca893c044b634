"""What keeps a test off the network: stand-ins for the socket calls that reach out.

A program that a test starts has sockets of its own; only this process is watched.
"""

import socket
from collections.abc import Callable
from typing import Any

OUTWARD = ("connect", "connect_ex", "bind", "sendto")
"""The methods of a socket that name an address."""


class NetworkUse(BaseException):
    """A test reached out. Not an `Exception`: code that forgives a failed connection must not hide it."""


def guarded(method: Callable[..., Any], *, loopback: bool) -> Callable[..., Any]:
    """The socket method, refusing every internet address but, where `loopback`, this machine's own."""

    def guard(sock: socket.socket, *arguments: Any) -> Any:
        address = arguments[-1] if arguments else None
        if (
            sock.family in (socket.AF_INET, socket.AF_INET6)
            and isinstance(address, tuple)
            and not (loopback and local(address[0]))
        ):
            raise NetworkUse(f"a test used the network: {method.__name__} {address!r}")
        return method(sock, *arguments)

    return guard


def guarded_look_up(look_up: Callable[..., Any], *, loopback: bool) -> Callable[..., Any]:
    """`getaddrinfo`, refusing every name but, where `loopback`, this machine's own."""

    def guard(host: str | bytes | None, *rest: Any, **named: Any) -> Any:
        if not (loopback and local(host)):
            raise NetworkUse(f"a test asked for the address of {host!r}")
        return look_up(host, *rest, **named)

    return guard


def local(host: str | bytes | None) -> bool:
    """Whether `host` is a loopback address, or the name of one."""
    name = host.decode() if isinstance(host, bytes) else host or ""
    return name in ("localhost", "::1") or name.startswith("127.")
