"""Where the rows of a measurement go: found and looked at before it, and written after it."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import typer

from quadgen import disk
from quadgen.cli import console
from quadgen.cli.measuring_asked import STDOUT
from quadgen.disk import ledgers as files
from quadgen.document import load
from quadgen.evidence import Row, read_ledger
from quadgen.evidence.text import appended, listed
from quadgen.measuring.ledgers import ledger, reads
from quadgen.pipeline import Compiled
from quadgen.problems import Collector, Rejected, Unavailable

Making = Callable[[frozenset[str]], Mapping[str, Row]]
"""Gives rows by workload whose ids are none of those that are taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What became of the rows."""

    rows: Mapping[str, Row]
    ledger: str | None
    """Where they are, or would be if there were any; None where no ledger has them."""
    failed: str | None = None
    """Why not, where one was meant to."""

    @property
    def text(self) -> str | None:
        """The rows that no ledger has, as a ledger of their own."""
        return listed(tuple(self.rows.values())) if self.rows and self.ledger is None else None


def target(output: str | None, compiled: Compiled | None, host: str) -> str | None:
    """The ledger that was named, or the one of this host that the fleet reads; None is standard output.

    Raises a usage error where the fleet would not read it, `Unavailable` where it cannot be written, and `Rejected`
    where it is no ledger.
    """
    if output == STDOUT or (output is None and compiled is None):
        return None
    path = output if output is not None else _default(compiled, host)
    if compiled is not None and output is not None and not reads(compiled.fleet, _beside(compiled.name, output)):
        message = f"{console.shown(compiled.name)} does not read {console.shown(output)}"
        raise _bad(f"{message}: add it under `measurements`, name another, or - for standard output")
    _ready(path)
    return path


def _default(compiled: Compiled | None, host: str) -> str:
    found = None if compiled is None else ledger(compiled.fleet, host)
    if compiled is None or found is None:
        raise _bad("the fleet reads no ledger: add one under `measurements`, or say - for standard output")
    return os.path.join(os.path.dirname(compiled.name), found)  # noqa: PTH118, PTH120 - names stay as they were written


def _beside(fleet: str, path: str) -> str:
    """The path as the fleet file would have to write it."""
    base = os.path.realpath(os.path.dirname(fleet) or ".")  # noqa: PTH120 - as above
    here = os.path.join(os.path.realpath(os.path.dirname(path) or "."), os.path.basename(path))  # noqa: PTH118, PTH119, PTH120 - as above
    return os.path.relpath(here, base)


def _ready(path: str) -> None:
    """Raise where nothing could be recorded there in the end."""
    _ids(path, disk.read_file(path) if os.path.lexists(path) else None)
    where = os.path.dirname(os.path.realpath(path))  # noqa: PTH120 - as above
    while not os.path.lexists(where):
        where = os.path.dirname(where)  # noqa: PTH120 - as above
    if not os.path.isdir(where) or not os.access(where, os.W_OK | os.X_OK):  # noqa: PTH112 - as above
        reason = "Permission denied" if os.path.isdir(where) else "Not a directory"  # noqa: PTH112 - as above
        raise Unavailable(f"cannot write {path}: {reason}")


def record(path: str | None, making: Making, taken: frozenset[str]) -> Recorded:
    """Add rows to a ledger, with ids other than those of all ledgers that are known.

    They are made where it is locked, since another run may have added to it meanwhile.
    """
    made: Mapping[str, Row] = {}

    def change(data: bytes | None) -> bytes:
        nonlocal made
        made = making(taken | _ids(path or "", data))
        return appended(path or "", data, tuple(made.values()))

    first = making(taken)
    if path is None or not first:
        return Recorded(rows=first, ledger=path)
    try:
        files.append(path, change)
    except (Unavailable, Rejected) as error:  # it may have become no ledger meanwhile
        return Recorded(rows=made or first, ledger=None, failed=str(error))
    return Recorded(rows=made, ledger=path)


def _ids(name: str, data: bytes | None) -> frozenset[str]:
    """Of the rows that a ledger has. Raises `Rejected` where it is none."""
    sink = Collector()
    there = None if data is None else load(name, data).data
    rows = () if there is None else read_ledger(name, there, shipped=False, collector=sink)
    sink.check()
    return frozenset(row.id for row in rows)


def _bad(message: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint="--output")
