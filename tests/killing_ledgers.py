"""A ledger that is written by processes that are killed, with a real SIGKILL, before every single effect on the disk.

Run as a program, so that the processes that die are forked from one that has a single thread. Prints how many moments
there are, and what was found wrong.
"""

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path

from killing import interrupt
from quadgen.disk import ledgers

OLD, NEW = b"old\n", b"old\nnew\n"


def killed(moment: int, path: Path) -> bool:
    """Append in a process of its own that dies before its effect number `moment`; say whether it got there."""
    child = os.fork()
    if child == 0:
        counter = count(1)

        def step() -> None:
            if next(counter) == moment:
                os.kill(os.getpid(), signal.SIGKILL)

        interrupt(step, lambda name, function: setattr(os, name, function))
        ledgers.append(str(path), lambda data: (data or b"") + b"new\n")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or status == 0, status
    return os.WIFSIGNALED(status)


def main(place: Path) -> None:
    """Kill at every moment, once with a ledger there and once without, and go on after each."""
    moments, wrong = 0, []
    for first in (OLD, None):
        for moment in count(1):
            path = place / f"{moment}-{first is None}" / "claw.yml"
            if first is not None:
                path.parent.mkdir()
                path.write_bytes(first)
            died = killed(moment, path)
            found = path.read_bytes() if path.exists() else None
            if found not in {first, (first or b"") + b"new\n"}:
                wrong.append(f"{moment}: {found!r}")
            ledgers.append(
                str(path), lambda data: data if data and data.endswith(b"new\n") else (data or b"") + b"new\n"
            )
            if path.read_bytes() != (first or b"") + b"new\n":
                wrong.append(f"{moment}, afterwards: {path.read_bytes()!r}")
            if not died:
                break
            moments += 1
    sys.stdout.write(json.dumps({"moments": moments, "wrong": wrong}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
