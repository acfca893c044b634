"""What a started service serves: `health_server.py PORT STATUS PLACE` answers every GET with the status.

It goes on in a process of its own, whose number it prints, and ends by itself once the directory PLACE is gone.
"""

import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import sleep


class Handler(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


def main(port: int, status: int, place: Path) -> None:
    Handler.status = status
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        sys.stdout.write(f"error: couldn't bind to port {port}: {error.strerror}\n")
        return
    pid = os.fork()
    if pid:
        sys.stdout.write(f"{pid}\n")
        return
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while place.is_dir():
        sleep(0.2)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
