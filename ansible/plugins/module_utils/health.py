"""Asking a server whether it serves: one GET of its /health, as the probes of its unit do."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from typing import Final
from urllib.parse import urlsplit

TIMEOUT: Final = 5.0
"""Seconds for one answer: a server that is busy with a long prompt answers late, and is asked again."""

_PORTS: Final = {"http": http.client.HTTP_PORT, "https": http.client.HTTPS_PORT}


def unwell(url: str, timeout: float = TIMEOUT) -> str | None:
    """Why a server does not serve yet, in a few words; None where its answer is 200.

    No proxy is asked, no redirect followed, and a certificate need not be one that this host trusts: it is this
    host's own server. llama-server answers 503 while it loads its model.
    """
    address = where(url)
    if address is None:
        return f"{url} is no address of HTTP"
    parts = urlsplit(url)
    try:
        connection = _connection(parts.scheme, *address, timeout)
        try:
            connection.request("GET", parts.path or "/", headers={"Connection": "close"})
            status = connection.getresponse().status
        finally:
            connection.close()
    except UnicodeError:  # a name or a path that HTTP cannot carry
        return f"{url} is no address of HTTP"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} does not answer: {_said(error)}"
    return None if status == http.client.OK else f"{url} answers {status}"


def where(url: str) -> tuple[str, int] | None:
    """The host and the port that an address leads to; None where it is no address of HTTP."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    return (host, port or _PORTS[parts.scheme]) if host and parts.scheme in _PORTS else None


def taken(url: str, within: float) -> bool:
    """Whether somebody listens where an address leads, and still does after so many seconds."""
    address = where(url)
    if address is None:
        return False
    end = time.monotonic() + within
    while True:
        try:
            socket.create_connection(address, timeout=1).close()
        except (OSError, UnicodeError):
            return False
        if time.monotonic() > end:
            return True
        time.sleep(0.2)


def _connection(scheme: str, host: str, port: int, timeout: float) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def _said(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return strerror if isinstance(strerror, str) else str(error) or type(error).__name__
