"""The address of a running server, from what people paste."""

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from quadgen.problems import Unavailable

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_BARE: Final = re.compile(r"(?:[\w.-]+|\[[0-9a-f:.]+(?:%\w+)?\]):\d{1,5}(?:/.*)?", re.ASCII | re.IGNORECASE)
_ENDPOINT: Final = re.compile(
    r"/+(?:metrics|slots|props|health|completions?|tokenize|(?:v1(?:/+(?:models|health|completions|chat/+completions))?)"
    r"|models|chat/+completions)?/*\Z"
)
"""What people copy along: a path that a server has below its own address."""
_EVERYWHERE: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - what a server's log says that it listens on
_PLAIN: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a server is asked. What is secret has no part in its repr and in `base`."""

    scheme: str
    """`http` or `https`."""
    netloc: str
    """Host and port, the host of IPv6 in brackets."""
    host: str
    prefix: str = ""
    """What `--api-prefix` or a proxy puts before every path: empty, or with a slash in front and none at its end."""
    model: str | None = None
    """`?model=` of the address."""
    user: tuple[str, str] | None = field(default=None, repr=False)
    """Name and password for whatever stands in front of the server."""

    @property
    def base(self) -> str:
        """The address that every path is put behind, as it may be shown."""
        return f"{self.scheme}://{self.netloc}{self.prefix}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine that is asked, by name or number."""
        name = self.host.rstrip(".").lower()
        if name == "localhost" or name.endswith(".localhost") or name in _EVERYWHERE:
            return True
        try:
            return ip_address(name.partition("%")[0]).is_loopback
        except ValueError:
            return False


def looks_like_an_address(name: str) -> bool:
    """Whether a word names a server rather than a file: `http://…`, or `host:8080` with or without a path."""
    return re.match(r"https?://", name, re.IGNORECASE) is not None or _BARE.fullmatch(name) is not None


def address(name: str) -> Address:
    """Read `http://host:8080`, `host:8080`, `https://host/prefix`, `[::1]:8080`.

    The path of an endpoint at its end is left off: who pastes `http://host:8080/v1` or `…/metrics` means the server.
    Raises `Unavailable` where it is no address, and never says what it holds: that may be a password.
    """
    whole = name if _SCHEME.match(name) else f"http://{name}"
    try:
        parts = urlsplit(whole)
        port = parts.port
    except ValueError:
        raise _none() from None
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not _PLAIN.fullmatch(whole) or not host or port == 0:
        raise _none()
    shown = f"[{host}]" if ":" in host else host
    asked = parse_qs(parts.query).get("model")
    user = (unquote(parts.username or ""), unquote(parts.password or "")) if parts.username or parts.password else None
    return Address(
        scheme=parts.scheme,
        netloc=shown if port is None else f"{shown}:{port}",
        host=host,
        prefix=_ENDPOINT.sub("", parts.path).rstrip("/"),
        model=asked[0] if asked else None,
        user=user,
    )


def _none() -> Unavailable:
    return Unavailable("that is no address of a server: write http://HOST:PORT")
