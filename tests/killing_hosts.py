"""Pulls that are killed, with a real SIGKILL, before every effect on a host's files and in the middle of each write.

Run as a program, so that the processes that die are forked from one that has a single thread. A pull is here what it
does to the disk: the files, and the copy of the tree that is good. What services do is for others to kill.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from host_trees import CHAT, EMBED, NATIVE, rendered
from hosts import snapshot
from killing import interrupt, say
from plugins.module_utils import placing, recording, state, tree

LATE = "opt/units/late.service"
OLD = {CHAT: b"chat old\n", EMBED: b"embed\n", NATIVE: b"rerank\n"}
NEW = {CHAT: b"chat new\n", EMBED: b"embed\n", LATE: b"late\n"}
FOREIGN = "etc/containers/systemd/mine.network"


def pull(root: Path, directory: str) -> None:
    """Bring the files of a host to a tree, and call that good."""
    place = state.directory("q", str(root))
    with state.locked(place):
        known = state.read(place)
        placing.carry_out(placing.plan(directory, str(root), known), str(root), place, known)
    with state.locked(place):
        recording.good(directory, place, state.read(place), check=False)


def prepared(root: Path, directory: str | None) -> None:
    """Set up a host: the old tree, of which one file is edited, one lost and one open to all; and one of somebody's."""
    (root / FOREIGN).parent.mkdir(parents=True)
    (root / FOREIGN).write_text("mine")
    if directory is not None:
        pull(root, directory)
        (root / CHAT).write_text("chat old, by hand\n")
        (root / EMBED).unlink()
        (root / NATIVE).chmod(0o666)


def killed(moment: int, root: Path, directory: str) -> bool:
    """Pull in a process of its own that dies before its effect number `moment`; say whether it got there."""
    child = os.fork()
    if child == 0:
        counter = count(1)

        def step() -> None:
            if next(counter) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        def put(name: str, function: Any) -> None:
            setattr(os, name, function)

        interrupt(step, put)
        symlink = os.symlink

        def linking(source: str, target: str) -> None:
            step()
            symlink(source, target)

        put("symlink", linking)
        pull(root, directory)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)


def faults(root: Path, versions: Mapping[str, set[bytes]]) -> Iterator[str]:
    """Name each file that is neither old nor new, each that no state knows, and a good tree that is not whole."""
    owned = state.read(f"{root}/q").owned
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith("q/") or path.is_dir() or name.endswith(".quadgen-new"):
            continue
        if path.read_bytes() not in versions.get(name, set()):
            yield f"{name} is mixed"
        elif name != FOREIGN and name not in owned:
            yield f"{name} is nobody's"
    kept = state.good(f"{root}/q")
    if kept is not None:
        for file in tree.read(kept).files:
            tree.content(kept, file)
    elif (root / "q/good").is_symlink():
        yield "good leads to nothing"


def kills(place: Path, *, first: bool, again: bool, stride: int = 1) -> tuple[int, list[str]]:
    """Kill the pull of a new tree before every effect, or every few, and then pull that one, or the old one.

    `first`: nothing was pulled before. `again`: that next pull is killed as well, before each fifth of its
    effects. Returns the number of kills, and whatever went wrong.
    """
    old, new = rendered(place / "old", OLD), rendered(place / "new", NEW)
    versions = {path: {each[path] for each in (OLD, NEW) if path in each} for path in OLD | NEW}
    versions[CHAT].add(b"chat old, by hand\n")
    versions[FOREIGN] = {b"mine"}
    root, copy = place / "root", place / "copy"
    ends = []
    for end in (new, old):
        prepared(root, None)
        pull(root, end)
        ends.append((end, snapshot(root)))
        shutil.rmtree(root)
    wrong: list[str] = []
    number = 0
    for moment in count(1, stride):
        prepared(root, None if first else old)
        if not killed(moment, root, new):
            return number, wrong
        number += 1
        wrong += [f"{moment}: {fault}" for fault in faults(root, versions)]
        for end, wanted in ends:
            for second in count(1, 5):
                shutil.copytree(root, copy, symlinks=True)
                more = again and killed(second, copy, end)
                number += more
                wrong += [f"{moment}, {second}: {fault}" for fault in faults(copy, versions)]
                pull(copy, end)
                found = snapshot(copy)
                wrong += [
                    f"{moment}, {second}: {name}: {found.get(name)} instead of {wanted.get(name)}"
                    for name in sorted(found.keys() | wanted.keys())
                    if found.get(name) != wanted.get(name)
                ]
                shutil.rmtree(copy)
                if not more:
                    break
        shutil.rmtree(root)
    raise AssertionError


def program(task: str, place: Path) -> None:
    """Do what a test asks of a process of its own."""
    if task == "without-pending":
        opened = placing._opened  # noqa: SLF001 - the fault that the kills must find
        placing._opened = lambda planned, known: replace(opened(planned, known), pending={})  # noqa: SLF001 - as above
    stride = {"twice": 6, "without-pending": 3}.get(task, 1)
    say(json.dumps(kills(place, first=task == "first", again=task == "twice", stride=stride)))


if __name__ == "__main__":
    program(sys.argv[1], Path(sys.argv[2]))
