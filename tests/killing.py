"""Renders that are killed, with a real SIGKILL, before every single effect on the disk and in the middle of each write.

Run as a program, so that the processes that die are forked from one that has a single thread.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

from hosts import CHAT, EMBED, snapshot, tree
from quadgen import disk, ownership
from quadgen.tree import HostTree

OLD = (
    tree({CHAT: b"chat old\n", EMBED: b"embed\n", "etc/mode.service": b"mode\n"}, "old", host="claw"),
    tree({CHAT: b"leaves\n", "srv/only/here.service": b"leaves\n"}, "old", host="gone"),
    tree({CHAT: b"stays\n"}, "old", host="same"),
    tree({CHAT: b"leaves too\n"}, "old", host="shared"),
)
NEW = (
    tree({CHAT: b"chat new\n", "opt/new/dir/x.service": b"x\n", "etc/mode.service": b"mode\n"}, "new", host="claw"),
    tree({CHAT: b"joins\n", EMBED: b"joins\n"}, "new", host="fresh"),
    tree({CHAT: b"stays\n"}, "old", host="same"),
)
EFFECTS = ("mkdir", "rename", "rmdir", "unlink", "chmod")
FOREIGN = "shared/etc/containers/systemd/mine.network"

State = dict[str, tuple[object, ...]]


def say(text: str) -> None:
    """Write a line for the test that started this program."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def write(root: Path, trees: tuple[HostTree, ...], notify: Callable[[str], None] = say) -> bool:
    """Render, and say whether that changed anything."""
    return not disk.apply(str(root), trees, only=None, texts=False, notify=notify).empty


def prepared(root: Path) -> None:
    """Set up the tree before the change: the old fleet, a wrong mode, a lost file and one of somebody's own."""
    write(root, OLD)
    (root / "gone/srv/only/here.service").unlink()
    (root / "claw/etc/mode.service").chmod(0o600)
    (root / FOREIGN).write_text("mine")


def clean(root: Path, trees: tuple[HostTree, ...], *, foreign: bool) -> State:
    """Describe the tree that an undisturbed render into an empty directory makes."""
    root.mkdir()
    write(root, trees)
    if foreign:
        (root / FOREIGN).parent.mkdir(parents=True, exist_ok=True)
        (root / FOREIGN).write_text("mine")
    found = snapshot(root)
    shutil.rmtree(root)
    return found


def interrupt(step: Callable[[], None], patch: Callable[[str, Any], None]) -> None:
    """Make every effect of `os` call `step` first, and every write also when half of it is done."""

    def stepping(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            step()
            return real(*arguments, **options)

        return call

    real_open, real_write = os.open, os.write

    def opening(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if flags & os.O_CREAT:
            step()
        return real_open(path, flags, mode, dir_fd=dir_fd)

    def writing(handle: int, data: bytes) -> int:
        step()
        done = real_write(handle, data[: len(data) // 2])
        step()
        return done + real_write(handle, data[done:])

    patch("open", opening)
    patch("write", writing)
    for name in EFFECTS:
        patch(name, stepping(getattr(os, name)))


def killed(moment: int, root: Path, trees: tuple[HostTree, ...]) -> bool:
    """Render in a process of its own that dies before its effect number `moment`; say whether it got there."""
    child = os.fork()
    if child == 0:
        counter = count(1)

        def step() -> None:
            if next(counter) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        interrupt(step, lambda name, function: setattr(os, name, function))
        write(root, trees)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)


def faults(root: Path, before: tuple[HostTree, ...], after: tuple[HostTree, ...]) -> Iterator[str]:
    """Name each file that is neither old nor new, and each that no manifest lists."""
    versions: dict[str, set[bytes]] = {FOREIGN: {b"mine"}}
    for host in (*before, *after):
        for file in host.files:
            versions.setdefault(f"{host.host}/{file.path}", set()).add(file.data)
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_dir() or name == ownership.JOURNAL or name.endswith(".quadgen-new"):
            continue
        directory, _, inner = name.partition("/")
        if inner == ownership.MANIFEST:
            json.loads(path.read_bytes())
        elif path.read_bytes() not in versions.get(name, set()):
            yield f"{name} is mixed"
        elif name != FOREIGN:
            listed = json.loads((root / directory / ownership.MANIFEST).read_bytes())["files"]
            if inner not in {entry["path"] for entry in listed}:
                yield f"{name} is not listed"


def recovery(root: Path, trees: tuple[HostTree, ...], wanted: State) -> Iterator[str]:
    """Name what a render after the kill leaves otherwise than an undisturbed one, or does again."""
    write(root, trees)
    root.mkdir(exist_ok=True)  # killed before it was made, and nothing to write
    found = snapshot(root)
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            yield f"{name}: {found.get(name)} instead of {wanted.get(name)}"
    if write(root, trees):
        yield "a further render changes something"


def kills(place: Path, *, first: bool, stride: int, again: bool) -> tuple[int, list[str]]:
    """Kill a render before every effect, or every few, and then render the new fleet, or the old one.

    `first`: there was no tree before. `again`: that next render is killed as well, in a fork for each
    fifth of its effects, before one more finishes. Returns the number of kills, and whatever went wrong.
    """
    before: tuple[HostTree, ...] = () if first else OLD
    ends = [(trees, clean(place / "clean", trees, foreign=not first)) for trees in (NEW, before)]
    wrong: list[str] = []
    number = 0
    for moment in count(1, stride):
        if not first:
            prepared(place / "tree")
        if not killed(moment, place / "tree", NEW):
            return number, wrong
        number += 1
        wrong += [f"{moment}: {fault}" for fault in faults(place / "tree", before, NEW)]
        for trees, wanted in ends:
            for second in count(1, 5):
                copied(place / "tree", place / "copy")
                more = again and killed(second, place / "copy", trees)
                number += more
                when = f"{moment}, {second}" if more else f"{moment}"
                wrong += [f"{when}: {fault}" for fault in faults(place / "copy", before, NEW)]
                wrong += [f"{when}: {fault}" for fault in recovery(place / "copy", trees, wanted)]
                shutil.rmtree(place / "copy")
                if not more:
                    break
        shutil.rmtree(place / "tree", ignore_errors=True)
    raise AssertionError


def copied(tree: Path, copy: Path) -> None:
    if tree.exists():
        shutil.copytree(tree, copy, symlinks=True)


def crowd(note: str) -> tuple[HostTree, ...]:
    """Make many hosts, so that two renders of them last long enough to meet."""
    return tuple(
        tree({CHAT: f"{note}\n".encode() * 50, f"etc/{note}.service": b"x"}, note, host=f"h{n}") for n in range(60)
    )


def program(task: str, place: Path) -> None:
    """Do what a test asks of a process of its own."""
    match task:
        case "first":
            say(json.dumps(kills(place, first=True, stride=1, again=False)))
        case "change":
            say(json.dumps(kills(place, first=False, stride=1, again=False)))
        case "twice":
            say(json.dumps(kills(place, first=False, stride=9, again=True)))
        case "without-journal":
            vars(ownership).update(journalled=lambda _data: ())
            say(json.dumps(kills(place, first=False, stride=2, again=False)))
        case _:
            say("ready")
            sys.stdin.readline()
            write(place, crowd(task))


if __name__ == "__main__":
    program(sys.argv[1], Path(sys.argv[2]))
