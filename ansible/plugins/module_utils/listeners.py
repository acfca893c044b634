"""Which program listens at an address of this host, as far as /proc lets whoever asks see it."""

from __future__ import annotations

import os
import re
import socket
import sys
from dataclasses import dataclass
from typing import Final

_LISTENS: Final = "0A"
"""TCP_LISTEN of include/net/tcp_states.h, as /proc/net/tcp writes states (proc_pid_net(5))."""


@dataclass(frozen=True)
class Program:
    """A process that listens."""

    pid: int
    name: str
    """Up to 15 bytes, which it may have chosen itself."""
    cgroups: str
    """/proc/PID/cgroup: its unit is in the path, where it has one."""

    def __str__(self) -> str:
        return f"{self.name}, process {self.pid}"

    def of(self, unit: str) -> bool:
        """Whether it runs in the control group of a unit, or in one below that."""
        return re.search(rf"/{re.escape(unit)}(?=/|$)", self.cgroups, re.MULTILINE) is not None


def listening(host: str, port: int) -> list[Program]:
    """Who listens at an IP address, or at every address; the oldest process first of those that share a socket.

    Empty where that cannot be seen: only root sees the sockets of others.
    """
    wanted = {f"socket:[{inode}]" for inode in _inodes(host, port)}
    if not wanted:
        return []
    pids = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
    return [program for pid in pids if _holds(pid, wanted) and (program := _program(pid)) is not None]


def _inodes(host: str, port: int) -> list[str]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        packed = socket.inet_pton(family, host)
    except (OSError, ValueError):
        return []
    words = [int.from_bytes(packed[at : at + 4], sys.byteorder) for at in range(0, len(packed), 4)]
    exact = "".join(f"{word:08X}" for word in words)
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in _text(table).splitlines()[1:]:
            _, local, _, status, *_ = fields = line.split()
            address, _, number = local.partition(":")
            # an IPv4 address ends that of the IPv6 socket which takes it as well
            if status == _LISTENS and int(number, 16) == port and (not address.strip("0") or address.endswith(exact)):
                found.append(fields[9])
    return found


def _holds(pid: int, sockets: set[str]) -> bool:
    directory = f"/proc/{pid}/fd"
    try:
        return any(_target(f"{directory}/{name}") in sockets for name in os.listdir(directory))
    except OSError:  # it ended, or is not to be seen
        return False


def _target(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:  # closed meanwhile
        return ""


def _program(pid: int) -> Program | None:
    name = _text(f"/proc/{pid}/comm").rstrip("\n")
    shown = "".join(letter if letter.isprintable() else "?" for letter in name)
    return Program(pid, shown, _text(f"/proc/{pid}/cgroup")) if name else None


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""
