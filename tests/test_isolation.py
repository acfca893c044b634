"""The suite's own walls: without them a green run would speak of this machine only."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from source import ROOT
from walls import NetworkUse


def test_a_test_cannot_connect_to_anything() -> None:
    with socket.socket() as sock, pytest.raises(NetworkUse, match="a test used the network: connect"):
        sock.connect(("127.0.0.1", 9))


def test_a_test_cannot_listen() -> None:
    with socket.socket() as sock, pytest.raises(NetworkUse, match="a test used the network: bind"):
        sock.bind(("0.0.0.0", 0))  # noqa: S104 - that it is refused is the point


def test_a_test_cannot_send_a_datagram() -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as sock, pytest.raises(NetworkUse):
        sock.sendto(b"hello", ("127.0.0.1", 9))


def test_a_test_cannot_look_up_a_name() -> None:
    with pytest.raises(NetworkUse, match=r"asked for the address of 'example\.org'"):
        socket.create_connection(("example.org", 80))


def test_code_that_forgives_every_exception_cannot_hide_its_use_of_the_network() -> None:
    assert not issubclass(NetworkUse, Exception)


@pytest.mark.loopback
def test_a_marked_test_may_serve_and_dial_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as client:
            client.sendall(b"ping")
        caller, _ = server.accept()
        with caller:
            assert caller.recv(4) == b"ping"


@pytest.mark.loopback
def test_a_marked_test_still_cannot_leave_the_machine() -> None:
    with socket.socket() as sock, pytest.raises(NetworkUse):
        sock.connect(("192.0.2.1", 80))
    with pytest.raises(NetworkUse):
        socket.getaddrinfo("example.org", 80)


def test_home_is_an_empty_directory_of_the_suite(empty_home: Path) -> None:
    assert Path.home() == empty_home
    assert not any(empty_home.iterdir())


def test_the_test_that_writes_below_its_home_is_the_one_that_fails(tmp_path: Path) -> None:
    (tmp_path / "test_homes.py").write_text(
        "from pathlib import Path\n\n"
        "def test_one(): (Path.home() / '.cache/left').mkdir(parents=True)\n"
        "def test_two(): assert not any(Path.home().iterdir())\n"
        "def test_three(own_home): (own_home / '.cache').mkdir()\n"
    )
    options = ("-p", "conftest", "-p", "no:cacheprovider", f"--rootdir={tmp_path}", f"--basetemp={tmp_path / 'base'}")
    environ = {"PATH": os.defpath, "PYTHONPATH": f"{ROOT / 'tests'}:{ROOT / 'src'}", "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, tmp_path / "test_homes.py"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    said = "ERROR test_homes.py::test_one - AssertionError: the test wrote below its home: .cache"
    assert done.stdout.splitlines()[-2] == said, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("3 passed, 1 error in ")


def test_no_setting_of_the_developer_reaches_the_program() -> None:
    kept = {"QUADGEN_PARTS", "QUADGEN_PARTS_REQUIRED", "QUADGEN_LLAMA_SERVER", "QUADGEN_GEMMA"}
    assert not [name for name in os.environ if name.startswith("QUADGEN_") and name not in kept]
    assert "FORCE_COLOR" not in os.environ
