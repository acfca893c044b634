"""The work of `quadgen verify --root`: look at a host, compare it with its tree, say how it ends."""

import os
from collections.abc import Sequence
from pathlib import Path

import typer

from quadgen.cli import console
from quadgen.cli.exits import Exit, Format
from quadgen.installed.comparing import differences
from quadgen.onhost import declared_host, look
from quadgen.problems import Problem, Unavailable


def verify(directory: str, root: str, hosts: Sequence[str], form: Format) -> Exit:
    """Compare one host with the tree that was rendered for it, and print in what they differ."""
    if len(hosts) > 1:
        raise typer.BadParameter("with --root there is one host", param_hint="--host")
    if not root:
        raise typer.BadParameter("it is empty, which would be the directory that quadgen runs in", param_hint="--root")
    top = os.path.normpath(Path(root).absolute())
    if not Path(top).is_dir():
        raise Unavailable(f"cannot read {root}: it is no directory")
    declared = declared_host(directory, hosts[0] if hosts else None, os.uname().nodename)
    found = differences(declared, look(declared, top, environ=os.environ))
    console.show(found, form)
    what = console.count(len(declared.files), "file")
    if top == "/":
        what = f"{what} and {console.count(len(declared.units), 'service')}"
    else:
        console.say(f"{root} is not the root of this machine: files were compared, and no service was asked for")
    return _end(found, declared.host, what)


def _end(found: Sequence[Problem], host: str, what: str) -> Exit:
    if console.refuses(found):
        console.say(f"{host}: not as it was rendered")
        return Exit.DIFFERS
    if any(problem.code == "not-verified" for problem in found):
        console.say(f"{host}: nothing differs in what could be looked at, and that was not everything")
        return Exit.ENVIRONMENT
    console.say(f"{host}: {what} as rendered")
    return Exit.DONE
