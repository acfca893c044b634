"""Taking the samples of a measurement: how far it is, and what is said where it ends before its end."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import typer

from quadgen.cli import console, stopping
from quadgen.cli.exits import Exit
from quadgen.cli.progress import leave, left
from quadgen.measuring.sample import Sample, Turn
from quadgen.problems import Problem
from quadgen.sampling.journal import Journal
from quadgen.sampling.progress import Progress, Spent
from quadgen.sampling.run import Failed, Setup, take

NOTHING: Final = Spent(asked=0.0, loading=0.0, own=0.0)


@dataclass(slots=True, kw_only=True)
class Taking:
    """The samples that are taken, over several passes, and how to go on with them."""

    setup: Setup
    journal: Journal
    _round: int = field(default=-1, init=False)
    _progress: Progress | None = field(default=None, init=False)
    _before: Spent = field(default=NOTHING, init=False)
    """Of the passes before this one."""

    @property
    def spent(self) -> Spent:
        """Seconds of all passes so far."""
        now = self._progress.spent if self._progress is not None else NOTHING
        return Spent(
            asked=self._before.asked + now.asked,
            loading=self._before.loading + now.loading,
            own=self._before.own + now.own,
        )

    def begin(self) -> None:
        """Say what becomes of samples that somebody may have meant to go on with."""
        if number := self.journal.replaces:
            how = f"to go on with them instead, stop this before that: {again(sys.argv[1:])}"
            console.say(f"{number} samples of an earlier run of the same are replaced by the first new one; {how}")

    def taken(self, turns: Sequence[Turn], why: str = "") -> tuple[Sample, ...]:
        """The samples of all turns, those that are kept from before included; `why` is said behind each.

        Ends the command where it is interrupted, or a server is lost. Raises `Rejected` and `Unavailable`.
        """
        self._before, self._progress, self._round = self.spent, None, -1

        def notify(progress: Progress) -> None:
            self._progress = progress
            begun = progress.turn is not None and progress.turn.round != self._round
            if progress.turn is not None:
                self._round = progress.turn.round
            left(progress.done, progress.total, _now(progress, why), progress.left, line=begun)

        try:
            return take(self.setup, turns, self.journal, notify=notify)
        except KeyboardInterrupt as stop:
            stopping.farewell(f"stopped; {self._kept()}")
            raise typer.Exit(stopping.status(stop)) from None
        except Failed as failed:
            leave()
            console.show([_ended(failed, self._kept())], console.wanted_format(sys.argv))
            raise typer.Exit(Exit.ENVIRONMENT) from None

    def _kept(self) -> str:
        if self.journal.replaces:
            return f"no sample was taken yet, and {self.journal.replaces} are still kept: {again(sys.argv[1:])}"
        number = len(self.journal.samples)
        if not number:
            return "no sample was taken yet"
        return f"{console.count(number, 'sample')} {'is' if number == 1 else 'are'} kept: {again(sys.argv[1:])}"


def again(words: Sequence[str]) -> str:
    """The command that goes on where this one ended."""
    return shlex.join(["quadgen", *(word for word in words if word != "--resume"), "--resume"])


def _now(progress: Progress, why: str) -> str:
    turn = progress.turn
    return "" if turn is None else f"{turn.workload}, {turn.arm}{why}"


def _ended(failed: Failed, kept: str) -> Problem:
    of = f" ({failed.turn.arm}, {failed.turn.workload}, round {failed.turn.round + 1})"
    return Problem(
        code="server-ended",
        message=f"{failed}{of}",
        notes=tuple(f"its log: {line}" for line in failed.last),
        hint=kept,
    )
