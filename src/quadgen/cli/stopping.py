"""What ends a program politely, as something that can be cleaned up after: `systemctl stop`, a closed terminal.

Python raises `KeyboardInterrupt` for SIGINT, and lets the others end it at once.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

from quadgen.cli import console
from quadgen.cli.progress import leave

_ENDING: Final = (signal.SIGTERM, signal.SIGHUP)
_SHELL: Final = 128
"""What a shell adds to the number of a signal."""


class Stopped(KeyboardInterrupt):
    """A signal other than that of Ctrl-C wants quadgen to end."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def farewell(text: str) -> None:
    """Tell a human why it ends, if one is still there: a terminal that was closed takes no words."""
    with suppress(OSError):
        leave()
        console.say(text)


def status(stop: KeyboardInterrupt) -> int:
    """The exit status of a program that a signal ended, as shells have it: 130 after Ctrl-C."""
    return _SHELL + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


@contextmanager
def stoppable() -> Iterator[None]:
    """Meanwhile SIGTERM and SIGHUP raise `Stopped`, once, unless they are ignored, as nohup has it."""
    before = {number: signal.getsignal(number) for number in _ENDING}
    mine = [number for number, handler in before.items() if handler is signal.SIG_DFL]

    def stop(number: int, _: FrameType | None) -> None:
        for each in mine:
            signal.signal(each, signal.SIG_IGN)  # one is enough, and the second would meet the cleaning up
        raise Stopped(number)

    for number in mine:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, before[number])
