"""A server that is started for a measurement: what it sees, how it fails, and that nothing of it is left behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quadgen.problems import Unavailable
from quadgen.server.client import connected
from quadgen.server.process import TAIL, Died, NotReady, Process, running

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

SERVER = f"""#!{sys.executable}
import os, sys, time
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{{}}")
    def do_POST(self):
        os.write(2, b"ggml-cuda.cu:99: CUDA error: out of memory\\n")
        os.abort()
    def log_message(self, *words):
        pass

server = HTTPServer(("127.0.0.1", 0), Handler)
print(sys.argv[1:], sorted(os.environ), repr(sys.stdin.read()), flush=True)
os.write(2, b"x" * 300_000 + b"\\n")
print(f"0.00.000.001 I srv  llama_server: listening on http://127.0.0.1:{{server.server_port}}", flush=True)
server.serve_forever()
"""


def script(directory: Path, text: str) -> Path:
    path = directory / "llama-server"
    path.write_text(text)
    path.chmod(0o755)
    return path


def eventually(holds: Callable[[], bool]) -> bool:
    late = time.monotonic() + 20
    while not holds() and time.monotonic() < late:
        time.sleep(0.01)
    return holds()


def gone(pid: int) -> bool:
    """Whether nothing of this number runs; what was orphaned may be left as a zombie where nobody reaps."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z"
    except OSError:
        return True


def ask(program: Path, words: Sequence[str] = (), ready_within: float = 600) -> tuple[Process, str]:
    with running(program, words, environ={"PATH": os.defpath}, ready_within=ready_within) as process:
        return process, "".join(chunk.decode() for chunk in process.chunks())


def test_a_server_sees_its_arguments_no_setting_of_another_and_nothing_to_read(tmp_path: Path) -> None:
    environ = {"LLAMA_ARG_PORT": "1", "LLAMA_API_KEY": "secret", "HOME": "/nonexistent"}
    with running(script(tmp_path, SERVER), ["--alias", "a b"], environ=environ) as process:
        first = next(process.chunks()).decode().partition("\n")[0]
        assert not process.ended_within(0)
    assert first.startswith("['--alias', 'a b', '--host', '127.0.0.1', '--port', '0']")
    assert "'HOME'" in first
    assert "LLAMA_" not in first
    assert first.endswith("''")


def test_a_server_sees_the_variables_of_its_own_service(tmp_path: Path) -> None:
    environ, own = {"LLAMA_ARG_PORT": "1", "HOME": "/a"}, {"LLAMA_CACHE": "/b"}
    with running(script(tmp_path, SERVER), [], environ=environ, own=own) as process:
        first = next(process.chunks()).decode().partition("\n")[0]
    assert "'HOME'" in first
    assert "'LLAMA_CACHE'" in first
    assert "'LLAMA_ARG_PORT'" not in first


def test_a_server_that_writes_a_lot_is_not_held_up(tmp_path: Path) -> None:
    process, log = ask(script(tmp_path, SERVER))
    assert len(log) > 300_000
    assert process.url.startswith("http://127.0.0.1:")


def test_only_the_end_of_a_long_log_is_looked_at(tmp_path: Path) -> None:
    with running(script(tmp_path, SERVER), [], environ={}) as process:
        assert len(process.log()) < TAIL
        assert process.log().endswith(f"listening on {process.url}\n")
        assert process.last() == (f"0.00.000.001 I srv llama_server: listening on {process.url}",)


def test_nothing_is_left_when_it_was_used(tmp_path: Path) -> None:
    process, _ = ask(script(tmp_path, SERVER))
    assert gone(process.pid)


def test_what_a_server_started_ends_with_it(tmp_path: Path) -> None:
    real = script(tmp_path, SERVER).rename(tmp_path / "real")
    wrapper = script(tmp_path, f'#!/bin/sh\n{real} "$@" &\necho child $!\nwait\n')
    _, log = ask(wrapper)
    child = int(log.partition("child ")[2].split()[0])
    assert eventually(lambda: gone(child))


def test_nothing_is_left_when_the_work_is_interrupted(tmp_path: Path) -> None:
    seen: list[int] = []

    def work() -> None:
        with running(script(tmp_path, SERVER), [], environ={}) as process:
            seen.append(process.pid)
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert gone(seen[0])


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_quadgen_is_killed(tmp_path: Path, signum: signal.Signals) -> None:
    program = f"""
import time
from pathlib import Path
from quadgen.server.process import running
with running(Path({str(script(tmp_path, SERVER))!r}), [], environ={{}}) as process:
    print(process.pid, flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as own:
        assert own.stdout
        pid = int(own.stdout.readline())
        assert not gone(pid)
        own.send_signal(signum)
    assert own.returncode == -signum
    assert eventually(lambda: gone(pid))


def test_what_a_server_started_ends_with_a_quadgen_that_is_killed(tmp_path: Path) -> None:
    real = script(tmp_path, SERVER).rename(tmp_path / "real")
    wrapper = script(tmp_path, f'#!/bin/sh\n{real} "$@" &\necho child $! >{tmp_path}/child\nwait\n')
    program = f"""
import os, signal
from pathlib import Path
from quadgen.server.process import running
with running(Path({str(wrapper)!r}), [], environ={{}}):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    own = subprocess.run([sys.executable, "-c", program], check=False)
    assert own.returncode == -signal.SIGKILL
    child = int((tmp_path / "child").read_text().split()[1])
    assert eventually(lambda: gone(child))


def test_a_server_that_ends_before_it_answers_says_why(tmp_path: Path) -> None:
    line = "0.00.012.345 E gguf_init_from_file: failed to open GGUF file 'x.gguf' (No such file or directory)"
    with pytest.raises(Died) as died:
        ask(script(tmp_path, f'#!/bin/sh\necho "{line}" >&2\nexit 1\n'))
    assert str(died.value).startswith(
        "llama-server ended with status 1 before it answered: the file x.gguf is not there; the file must lie below"
    )
    assert died.value.last == (line,)


def test_a_server_that_ends_for_a_reason_that_nobody_knows_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(Died) as died:
        ask(script(tmp_path, "#!/bin/sh\necho one\necho two\nkill -SEGV $$\n"))
    assert str(died.value) == "llama-server ended by SIGSEGV before it answered; the last it said: two"


def test_a_server_that_ends_without_a_word_is_no_riddle(tmp_path: Path) -> None:
    with pytest.raises(Died, match=r"^llama-server ended with status 3 before it answered and said nothing$"):
        ask(script(tmp_path, "#!/bin/sh\nexit 3\n"))


def test_a_server_that_aborts_while_it_is_asked_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(Died) as died,
        running(script(tmp_path, SERVER), [], environ={}) as process,
        connected(process.url, environ={}) as server,
    ):
        server.post("/completion", {})
    assert str(died.value).startswith("llama-server ended by SIGABRT while it was asked: ")


def test_a_server_that_the_kernel_kills_may_have_taken_the_last_memory(tmp_path: Path) -> None:
    with pytest.raises(Died) as died:
        ask(script(tmp_path, "#!/bin/sh\necho one\nkill -KILL $$\n"))
    assert str(died.value) == (
        "llama-server ended by SIGKILL, as the kernel ends what takes the last memory (`journalctl -k` says so),"
        " before it answered; the last it said: one"
    )


def test_a_server_that_says_nothing_has_its_time(tmp_path: Path) -> None:
    with pytest.raises(NotReady) as slow:
        ask(script(tmp_path, "#!/bin/sh\necho loading\nexec sleep 60\n"), ready_within=0.3)
    message = "llama-server has not said where it listens after 0.3 seconds; the last it said: loading"
    assert str(slow.value) == message


def test_a_port_where_nothing_answers_is_not_ready(tmp_path: Path) -> None:
    text = "#!/bin/sh\necho listening on http://127.0.0.1:9\nexec sleep 60\n"
    with pytest.raises(NotReady, match=r"^llama-server does not answer after 0.3 seconds"):
        ask(script(tmp_path, text), ready_within=0.3)


def test_what_is_no_program_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"^cannot run /\S+/none: No such file or directory$"):
        ask(tmp_path / "none")
    (tmp_path / "plain").write_text("")
    with pytest.raises(Unavailable, match=r"^cannot run /\S+/plain: Permission denied$"):
        ask(tmp_path / "plain")
    with pytest.raises(Unavailable, match=r"^cannot run /\S+: Exec format error$"):
        ask(script(tmp_path, "\x7fELF no"))


def test_the_work_of_a_server_and_of_its_children_is_counted(tmp_path: Path) -> None:
    real = script(tmp_path, SERVER).rename(tmp_path / "real")
    busy = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.3: pass'"
    with running(script(tmp_path, f'#!/bin/sh\n{busy}\nexec {real} "$@"\n'), [], environ={}) as process:
        assert 0.3 <= process.cpu_seconds() < 5


def test_what_a_server_starts_between_two_counts_is_counted(tmp_path: Path) -> None:
    real = script(tmp_path, SERVER).rename(tmp_path / "real")
    busy = f"{sys.executable} -c 'import time\nwhile True: pass'"
    os.mkfifo(tmp_path / "fifo")
    wrapper = script(tmp_path, f'#!/bin/sh\n(read go; {busy}) <{tmp_path}/fifo &\nexec {real} "$@"\n')
    with running(wrapper, [], environ={}) as process:
        before = process.cpu_seconds()
        (tmp_path / "fifo").write_text("go\n")
        assert eventually(lambda: process.cpu_seconds() > before + 0.3)
