"""Copies of units that a machine without their programs and neighbours can judge.

`systemd-analyze verify` wants every program of a service to exist, and every unit that another one
requires. A copy names a program that is there, with the real one as its first argument, so that
specifiers and quoting are judged as they are; line numbers stay. What the tree requires and does not hold
is stood in for.
"""

import re
from collections.abc import Iterable
from typing import Final

_EXEC = re.compile(
    r"^([ \t]*Exec(?:Start|StartPre|StartPost|Condition|Reload|ReloadPost|Stop|StopPost)[ \t]*=)"
    r"((?:[^\n]*\\\n)*[^\n]*)",
    re.MULTILINE,
)
_WORD = re.compile(r"""(?:[^\s"'\\]|\\[^\n]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')+""", re.DOTALL)
_PROGRAM = re.compile(r"""(["']?[@:+!|-]*)((?:/.*[^/]|%.+))""", re.DOTALL)
"""The first word of a command: special prefixes (systemd.service(5)), then a path or a specifier."""

_REQUIRES = re.compile(r"^[ \t]*(?:Requires|Requisite|BindsTo|Upholds)[ \t]*=((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)

_INSTANCE = re.compile(r"@.*\.")

TARGETS: Final = (
    "basic.target", "default.target", "shutdown.target", "sysinit.target", "sockets.target", "timers.target",
    "paths.target", "slices.target", "multi-user.target", "graphical.target", "network.target",
    "network-online.target", "local-fs.target", "remote-fs.target",
)  # fmt: skip
"""What units depend on by default or by custom (systemd.special(7))."""


def stubbed(data: bytes, program: str) -> bytes:
    """Put `program`, as a unit writes it, in the place of each program, which becomes its first argument.

    A program that no path names stays, for systemd to refuse.
    """
    text = data.decode("utf-8", "surrogateescape")
    text = _EXEC.sub(lambda found: found[1] + _stub(found[2], program), text)
    return text.encode("utf-8", "surrogateescape")


def _stub(commands: str, program: str) -> str:
    out: list[str] = []
    end, last, first = 0, 0, True
    for word in _WORD.finditer(commands):
        if commands[last : word.start()].strip(" \t\r\n\\"):
            break  # a quote that is not closed
        last = word.end()
        if first and (named := _PROGRAM.fullmatch(word[0])):
            quote = named[1][:1] if named[1][:1] in ('"', "'") else ""
            out += (commands[end : word.start()], named[1].removeprefix(quote), program, " ", quote, named[2])
            end = word.end()
        first = word[0] == ";"
    return "".join((*out, commands[end:]))


def required(data: bytes) -> set[str]:
    """Names of the units that this one cannot start without."""
    text = data.decode("utf-8", "replace")
    return {name for found in _REQUIRES.findall(text) for name in found.replace("\\\n", " ").split()}


def stand_ins(asked: Iterable[str], held: Iterable[str], program: str) -> dict[str, bytes]:
    """Text by name of the units that stand in for what is asked for and not held, and for `TARGETS`."""
    there = set(held)
    names = {name for name in asked if "/" not in name and "%" not in name} | set(TARGETS)
    made: dict[str, bytes] = {}
    for name in sorted(names):
        if name in there or _INSTANCE.sub("@.", name) in there:
            continue
        stem, _, suffix = name.rpartition(".")
        if suffix == "service":
            made[name] = _service(program)
        elif suffix in {"target", "slice"}:
            made[name] = b"[Unit]\nDefaultDependencies=no\n"
        elif suffix in {"socket", "timer", "path"}:
            made[name] = _TRIGGERS[suffix]
            made.setdefault(f"{stem}.service", _service(program))
        elif suffix == "mount":
            made[name] = f"[Mount]\nWhat=none\nWhere={_mount_point(stem)}\n".encode()
    return made


_TRIGGERS: Final = {
    "socket": b"[Socket]\nListenStream=/run/stand-in\n",
    "timer": b"[Timer]\nOnBootSec=1\n",
    "path": b"[Path]\nPathExists=/run/stand-in\n",
}


def _service(program: str) -> bytes:
    return f"[Service]\nType=oneshot\nExecStart={program}\n".encode()


def _mount_point(stem: str) -> str:
    """Undo systemd-escape(1) for a path."""
    plain = stem.replace("-", "/")
    return "/" + re.sub(r"\\x([0-9a-f]{2})", lambda code: chr(int(code[1], 16)), plain).removeprefix("/")
