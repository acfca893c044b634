"""What `serving` promises of a server, held with a stand-in that answers like one."""

import os
import sys
import time
from pathlib import Path

import pytest

import serving

pytestmark = pytest.mark.loopback

STAND_IN = """\
import http.server, json, os, subprocess, sys, time

words = sys.argv[1:]
if "--die" in words:
    print("cannot load it", file=sys.stderr)
    sys.exit(3)
if "--abort" in words:
    os.abort()
if "--silent" in words:
    print("loading", flush=True)
    time.sleep(60)
if "--child" in words:
    print("child", subprocess.Popen(["sleep", "60"]).pid, flush=True)


class Handler(http.server.BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Handler.asked += self.path == "/health"
        loading = self.path == "/health" and Handler.asked < 3
        text = "up 1" if self.path == "/metrics" else json.dumps({"path": self.path, "env": dict(os.environ)})
        self.reply(503 if loading else 200, text)

    def do_POST(self):
        self.reply(200, self.rfile.read(int(self.headers["Content-Length"])).decode())

    def reply(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(f"srv: listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    program = tmp_path / "llama-server"
    program.write_text(f"#!{sys.executable} -I\n{STAND_IN}", encoding="utf-8")
    program.chmod(0o755)
    return program


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for yet counts."""
    for _ in range(500):
        try:
            text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return True
        if text.rpartition(")")[2].split()[0] in "ZX":
            return True
        time.sleep(0.01)
    return False


def test_a_server_is_ready_when_it_is_healthy_and_not_before(server: Path) -> None:
    with serving.start(server) as started:
        assert (started.ready, started.status) == (True, None)
        assert started.get("/slots")[1]["path"] == "/slots"
        assert started.get("/metrics") == (200, "up 1")
        assert started.post("/completion", {"prompt": "ä"}) == (200, {"prompt": "ä"})


def test_a_server_sees_nothing_of_the_developer_but_what_a_test_gives(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1")
    with serving.start(server, env={"LLAMA_ARG_THREADS": "1"}) as started:
        seen = started.get("/")[1]["env"]
    seen.pop("LC_CTYPE", None)
    assert seen == {
        "PATH": os.defpath,
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GGML_NO_BACKTRACE": "1",
        "LLAMA_ARG_THREADS": "1",
    }


def test_a_server_that_ends_is_told_by_its_status_and_its_whole_log(server: Path) -> None:
    with serving.start(server, "--die") as started:
        assert (started.ready, started.status, started.log) == (False, 3, ["cannot load it"])


def test_a_server_that_aborts_is_told_by_its_signal(server: Path) -> None:
    with serving.start(server, "--abort") as started:
        assert (started.ready, started.status) == (False, -6)


def test_a_server_that_neither_answers_nor_ends_is_an_error_with_its_last_words(server: Path) -> None:
    with (
        pytest.raises(TimeoutError, match=r"within 2 seconds:\nloading"),
        serving.start(server, "--silent", timeout=2),
    ):
        pytest.fail("it is not ready")


def test_no_process_of_a_server_outlives_its_test(server: Path) -> None:
    pids: list[int] = []

    def fails() -> None:
        with serving.start(server, "--child") as started:
            pids.extend((started.pid, int(started.log[0].split()[1])))
            raise ValueError("the test failed")

    with pytest.raises(ValueError, match="the test failed"):
        fails()
    assert all(map(gone, pids))


def test_a_server_whose_time_is_up_is_killed_while_the_test_still_runs(server: Path) -> None:
    with serving.start(server, timeout=2) as started:
        assert gone(started.pid)
        assert started.status == -9
