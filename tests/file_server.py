"""An HTTP server for one test, on loopback ports: what it answers is a function, what it saw and sent is counted.

    with file_server.started({"/model.gguf": file_server.ranged(DATA)}) as server:
        server.url("/model.gguf")

Needs the marks `loopback` and `usefixtures("no_proxies")`.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, NamedTuple

NOTHING: Mapping[str, str] = MappingProxyType({})


class Seen(NamedTuple):
    """A request as it came in."""

    path: str
    headers: Message
    host: str
    """What the client called this server."""
    body: bytes = b""
    """Of a POST."""

    @property
    def range(self) -> str | None:
        return self.headers["Range"]


class Reply(NamedTuple):
    """An answer. A body of several pieces has no length unless `headers` say one; it is chunked then."""

    status: int
    headers: Mapping[str, str] = NOTHING
    body: bytes | Iterable[bytes] = b""


class Cut(Exception):  # noqa: N818 - an end, not an error
    """Raised by a body: the connection breaks off there."""


Answer = Callable[[Seen], Reply]


class Server:
    """A server that runs. Every answer but those in `answers` is 404."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = dict(answers)
        self.seen: list[Seen] = []
        self.sent = 0
        """Bytes of bodies that went into a socket."""
        self.connections = 0
        self.done = threading.Event()
        """Set when a body that could not be sent whole was given up."""
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.owner = self

    @property
    def port(self) -> int:
        return self._http.server_port

    def url(self, path: str = "", host: str = "127.0.0.1", user: str = "") -> str:
        return f"http://{user}{host}:{self.port}{path}"

    def has_sent(self, count: int) -> bool:
        """Whether so many bytes were sent and no more, once that is counted: a client may be ahead of the counting."""
        until = time.monotonic() + 10
        while self.sent < count and time.monotonic() < until:
            time.sleep(0.001)
        return self.sent == count

    def ranges(self) -> list[str | None]:
        return [one.range for one in self.seen]


@contextmanager
def started(answers: Mapping[str, Answer] = MappingProxyType({})) -> Iterator[Server]:
    server = Server(answers)
    thread = threading.Thread(target=server._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)  # noqa: SLF001 - its own class
    thread.start()
    try:
        yield server
    finally:
        server._http.shutdown()  # noqa: SLF001 - as above
        server._http.server_close()  # noqa: SLF001 - as above
        thread.join()


def ranged(data: bytes, headers: Mapping[str, str] = NOTHING) -> Answer:
    """A server that does as RFC 9110 says."""

    def answer(seen: Seen) -> Reply:
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", seen.range or "")
        if found is None:
            return Reply(200, headers, data)
        first, last = int(found[1]), min(int(found[2] or len(data)), len(data) - 1)
        if first >= len(data):
            return Reply(416, {"Content-Range": f"bytes */{len(data)}", **headers})
        part = {"Content-Range": f"bytes {first}-{last}/{len(data)}", **headers}
        return Reply(206, part, data[first : last + 1])

    return answer


def whole(data: bytes, headers: Mapping[str, str] = NOTHING) -> Answer:
    """A server that has not heard of ranges."""
    return lambda _: Reply(200, headers, data)


def status(code: int, headers: Mapping[str, str] = NOTHING) -> Answer:
    return lambda _: Reply(code, headers, b"no such luck")


def redirect(target: str, code: int = 302) -> Answer:
    return lambda _: Reply(code, {"Location": target}, b"Found")


def in_turn(*answers: Answer) -> Answer:
    """Answer the first request as the first does, and so on; the last stays."""
    left = list(answers)

    def answer(seen: Seen) -> Reply:
        return (left.pop(0) if len(left) > 1 else left[0])(seen)

    return answer


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    owner: Server

    def handle_error(self, *_: Any) -> None:
        """A client that goes away is what most of these tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections += 1

    def do_GET(self) -> None:
        owner = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        seen = Seen(self.path, self.headers, self.headers["Host"] or "", body)
        owner.seen.append(seen)
        reply = owner.answers.get(self.path, status(404))(seen)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        sized = isinstance(reply.body, bytes) or "Content-Length" in reply.headers
        if isinstance(reply.body, bytes) and "Content-Length" not in reply.headers:
            self.send_header("Content-Length", str(len(reply.body)))
        if not sized:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for piece in (reply.body,) if isinstance(reply.body, bytes) else reply.body:
                self.wfile.write(piece if sized else b"%x\r\n%b\r\n" % (len(piece), piece))
                owner.sent += len(piece)
            if not sized:
                self.wfile.write(b"0\r\n\r\n")
        except (OSError, Cut):
            self.close_connection = True
            owner.done.set()

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def log_message(self, *_: Any) -> None:
        """Standard error is the test's."""
