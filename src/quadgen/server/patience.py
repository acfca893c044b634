"""How long an answer may take, whatever trickles in meanwhile.

httpx bounds each reading of the connection: a server that sends a byte now and then, in its headers, between two
chunks, or as `100 Continue` without end, is never late by that.
"""

import math
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, Self

_CONNECTED: Final = "connection.connect_tcp.complete"
"""What httpcore calls it when there is a connection (https://www.encode.io/httpcore/extensions/#trace)."""


class Patience:
    """Breaks the connection of one request off so many seconds after it was made; a context, left when all is read."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.over = False
        """Whether it came to that: what was read then is not all, and what failed then failed for that."""
        self.renewed = False
        """Whether the time counts from an event of the answer."""
        self._until = math.inf
        self._socket: socket.socket | None = None
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._wait, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        if self._socket is not None:
            self._socket.close()

    def trace(self, name: str, told: Mapping[str, Any]) -> None:
        """Hear of the connection: the `trace` extension of a request."""
        if name != _CONNECTED:
            return
        with self._changed:
            # a handle of its own: that of httpx goes over to TLS, and is closed
            self._socket = told["return_value"].get_extra_info("socket").dup()
            self._until = time.monotonic() + self.seconds
            self._changed.notify()

    def renew(self) -> None:
        """Begin to wait anew."""
        with self._changed:
            self.renewed = True
            self._until = time.monotonic() + self.seconds

    def _wait(self) -> None:
        with self._changed:
            while not self._closed and (left := self._until - time.monotonic()) > 0:
                self._changed.wait(None if left == math.inf else left)
            if not self._closed and self._socket is not None:
                self.over = True
                with suppress(OSError):  # the server was quicker
                    self._socket.shutdown(socket.SHUT_RDWR)
