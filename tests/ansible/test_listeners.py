"""Who listens at an address is told by name, where /proc shows it."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from plugins.module_utils.listeners import Program, listening

pytestmark = [pytest.mark.loopback]

IPV6 = Path("/proc/net/if_inet6")
OTHER = """\
import pathlib, socket, sys
name, address = sys.argv[1:]
pathlib.Path("/proc/self/comm").write_text(name)
family = socket.AF_INET6 if ":" in address else socket.AF_INET
held = socket.create_server((address, 0), family=family, dualstack_ipv6=":" in address and address != "::1")
print(held.getsockname()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def other(address: str, name: str = "other") -> Iterator[tuple[int, int]]:
    """A program that listens: its process and its port."""
    words = [sys.executable, "-c", OTHER, name, address]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.pid, int(process.stdout.readline())


def pids(address: str, port: int) -> list[int]:
    return [program.pid for program in listening(address, port)]


def test_a_program_is_found_at_its_own_address_and_no_other() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        (found,) = listening("127.0.0.1", port)
        assert str(found) == f"{Path('/proc/self/comm').read_text(encoding='utf-8').strip()}, process {os.getpid()}"
        assert pids("127.0.0.2", port) == []
        assert pids("::1", port) == []
    assert pids("127.0.0.1", port) == []


def test_a_program_that_listens_everywhere_is_found_at_each_address() -> None:
    with other("0.0.0.0") as (pid, port):  # noqa: S104 - nothing is served there
        assert pids("127.0.0.1", port) == pids("192.0.2.7", port) == [pid]


@pytest.mark.skipif(not IPV6.exists() or not IPV6.read_bytes(), reason="this machine has no IPv6")
def test_a_socket_of_ipv6_is_found_at_its_addresses_of_both_kinds() -> None:
    with other("::1") as (pid, port):
        assert pids("::1", port) == [pid]
        assert pids("127.0.0.1", port) == []
    with other("::ffff:127.0.0.1") as (pid, port):
        assert pids("127.0.0.1", port) == [pid]
        assert pids("127.0.0.2", port) == []
    with other("::") as (pid, port):
        assert pids("127.0.0.1", port) == pids("::1", port) == [pid]


def test_a_client_is_no_program_that_listens_at_its_own_end_of_a_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held, socket.create_connection(held.getsockname()) as client:
        assert pids("127.0.0.1", client.getsockname()[1]) == []


@pytest.mark.parametrize("host", ["localhost", "fe80::1%lo", "", "\x00"])
def test_a_name_is_not_looked_up(host: str) -> None:
    assert listening(host, 80) == []


def test_a_program_that_calls_itself_what_a_terminal_obeys_is_told_without_it() -> None:
    with other("127.0.0.1", "odd\x1b[1m") as (pid, port):
        assert [str(found) for found in listening("127.0.0.1", port)] == [f"odd?[1m, process {pid}"]


def test_a_process_is_of_the_unit_in_whose_control_group_it_runs() -> None:
    conmon = Program(7, "conmon", "1:cpu:/\n0::/system.slice/chat.service/runtime\n")
    assert conmon.of("chat.service")
    assert not conmon.of("at.service")
    assert not conmon.of("chat")
    assert Program(7, "server", "0::/system.slice/chat.service\n").of("chat.service")
    assert not Program(7, "server", "0::/system.slice/chat.service.d\n").of("chat.service")
