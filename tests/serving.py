"""A real llama-server for the time of one test, on a loopback port of its own choice.

    with serving.start(parts.llama_server(), "--model", str(model)) as server:
        assert server.ready, server.log
        status, slots = server.get("/slots")

Needs the mark `loopback`. The server sees none of the developer's environment, and no process of it outlives the
test: its whole process group is killed at the end, and already when its time is up.
"""

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, str] = MappingProxyType({})
BARE: Mapping[str, str] = MappingProxyType(
    {"PATH": os.defpath, "HOME": "/nonexistent", "LC_ALL": "C", "GGML_NO_BACKTRACE": "1"}
)
"""All that a program sees of an environment; with a backtrace, a server that aborts would start a debugger."""
_LISTENING = re.compile(r" listening on http://[^ ]*:(\d+)")
_BEAT = 0.01
"""Seconds between two looks at a server that starts; a tiny model is loaded in a few tens of them."""


class Server:
    """A llama-server that was started, whether or not it still runs."""

    def __init__(self, process: subprocess.Popen[bytes], timeout: float, prefix: str = "") -> None:
        self.log: list[str] = []
        """What it has written so far, a line each, without their ends."""
        self.ready = False
        """Whether it reached the point where /health says 200."""
        self._process = process
        self._timeout = timeout
        self._prefix = prefix
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._killer = threading.Timer(timeout, self._expire)
        self._expired = False

    @property
    def status(self) -> int | None:
        """How it ended: its exit status, or the negative number of the signal; None while it runs."""
        return self._process.poll()

    @property
    def pid(self) -> int:
        """Its process, and its group."""
        return self._process.pid

    def get(self, path: str) -> tuple[int, Any]:
        """Ask for a path; return the HTTP status and the answer, which stays text where it is no JSON."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Send `body` as JSON to a path; returns what `get` does."""
        return self._ask("POST", path, json.dumps(body).encode())

    def wait(self) -> None:
        """Return once it answers or has ended; a server that does neither in time is an error with its last lines."""
        while not self.ready and self.status is None:
            with suppress(OSError, HTTPException):
                self.ready = self._port() is not None and self.get(f"{self._prefix}/health")[0] == 200
            time.sleep(0 if self.ready else _BEAT)
        if self.status is not None:
            self._reader.join()
        if self._expired:
            last = "\n".join(self.log[-10:])
            raise TimeoutError(f"the server neither answered nor ended within {self._timeout} seconds:\n{last}")

    def watch(self) -> None:
        """Begin to read its log and to count its time."""
        self._reader.start()
        self._killer.start()

    def kill(self) -> None:
        """End it and all that it started; harmless when it has ended."""
        self._killer.cancel()
        self._end()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, Any]:
        port = self._port()
        if port is None:
            raise ConnectionError("the server has not said where it listens")
        connection = HTTPConnection("127.0.0.1", port, timeout=self._timeout)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            answer = connection.getresponse()
            text = answer.read().decode(errors="replace")
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def _port(self) -> int | None:
        found = next(filter(None, map(_LISTENING.search, self.log)), None)
        return None if found is None else int(found[1])

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self.log.append(line.decode(errors="replace").rstrip("\r\n"))

    def _expire(self) -> None:
        self._expired = True
        self._end()

    def _end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


@contextmanager
def start(
    server: Path, *words: str, timeout: float = 60, env: Mapping[str, str] = NOTHING, prefix: str = ""
) -> Iterator[Server]:
    """Run `server` with `words` and wait until it answers or has ended; kill it in the end.

    `timeout` is in seconds, and for its whole life. It sees `BARE` and `env`, and listens where the kernel likes;
    its log says where, so `words` must leave that line in (`--log-verbosity 3` or more, the default). `prefix` is
    what `words` have as --api-prefix.
    """
    process = subprocess.Popen(
        [server, "--host", "127.0.0.1", "--port", "0", *words],
        env={**BARE, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    started = Server(process, timeout, prefix)
    try:
        started.watch()
        started.wait()
        yield started
    finally:
        started.kill()
