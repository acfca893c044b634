"""Where each of the programs begins."""

import os
import sys
from typing import Final

from ansible_stand_ins.machine import held, whoever
from ansible_stand_ins.podman_cli import podman
from ansible_stand_ins.systemd_cli import journalctl, loginctl, systemctl

PROGRAMS: Final = {"systemctl": systemctl, "journalctl": journalctl, "loginctl": loginctl, "podman": podman}


def main(program: str) -> int:
    """Be one of the programs."""
    words = sys.argv[1:]
    theirs = "--user" in words or (program == "podman" and os.geteuid() != 0)
    return told(program, words, whoever() if theirs else None)


def told(program: str, words: list[str], user: str | None) -> int:
    """Do what a program is told, by or for a user; the status is the program's."""
    entry = {"program": program, "words": words, "user": user}
    entry |= {"home": os.environ.get("HOME"), "runtime": os.environ.get("XDG_RUNTIME_DIR")}
    with held() as machine:
        machine.log(entry)
        answer = machine.answer([program, *words])
        if answer is not None:
            sys.stdout.write(answer.get("stdout", ""))
            sys.stderr.write(answer.get("stderr", ""))
            return int(answer.get("status", 0))
        return PROGRAMS[program](machine, words, user)
