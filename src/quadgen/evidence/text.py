"""Rows into the text of a ledger: every byte of what is there stays, and the result is read before it is believed."""

import codecs
from collections.abc import Container, Sequence
from dataclasses import replace
from typing import Final

from quadgen.document import Form, grown, load
from quadgen.evidence.row import Row
from quadgen.evidence.row_text import block, flow
from quadgen.evidence.shipped import read_ledger
from quadgen.problems import Collector, Problem, Rejected

_HEAD: Final = "# What quadgen measured, a row each. Rows may be added, corrected and deleted by hand.\n"
_START: Final = "version: 1\nmeasurements:\n"
_LINE: Final = "\n"
_ENDS: Final = ("", "\n", "\r")


def free_id(wanted: str, taken: Container[str]) -> str:
    """Return an id that is not taken: itself, or with the lowest number from 2 on behind a hyphen."""
    number, found = 1, wanted
    while found in taken:
        number += 1
        found = f"{wanted}-{number}"
    return found


def listed(rows: Sequence[Row]) -> str:
    """Write rows as a ledger of their own."""
    return _START + "".join(f"  {line}\n" for row in rows for line in block(row))


def appended(name: str, data: bytes | None, rows: Sequence[Row]) -> bytes:
    """Return the bytes of a ledger with rows at its end.

    `data` are its bytes, None where there is no file yet; `name` is the file as problems name it. A row whose id the
    ledger has already gets the next free one of `free_id`. Without rows the bytes are only looked at.

    Raises `Rejected` where the bytes are no ledger, or where it is written in a way that rows cannot be added to.
    """
    if data is None:
        data = _HEAD.encode()
    document, before = load(name, data), rows_of(name, data)
    wanted = _distinct(rows, {row.id for row in before})
    if document.data is None:
        text: str | None = f"{document.text}{'' if document.text[-1:] in _ENDS else _LINE}{listed(wanted)}"
    else:
        text = grown(document.text, "measurements", lambda form: _items(form, wanted))
    if text is None:
        raise Rejected([_unwritable(name)])
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    result = mark + text.encode() if rows else data
    if rows and not _says(name, result, (*before, *wanted)):
        raise Rejected([_unwritable(name)])
    return result


def rows_of(name: str, data: bytes) -> tuple[Row, ...]:
    """Read the rows of a ledger, none of an empty file. Raises `Rejected` where it is none."""
    document = load(name, data)
    return () if document.data is None else _rows(name, document.data)


def _items(form: Form, rows: Sequence[Row]) -> list[list[str]]:
    return [block(row) if form is Form.BLOCK else [flow(row, json=form is Form.JSON)] for row in rows]


def _distinct(rows: Sequence[Row], taken: set[str]) -> list[Row]:
    found = []
    for row in rows:
        fresh = free_id(row.id, taken)
        taken.add(fresh)
        found.append(row if fresh == row.id else replace(row, id=fresh))
    return found


def _rows(name: str, data: object) -> tuple[Row, ...]:
    collector = Collector()
    rows = read_ledger(name, data, shipped=False, collector=collector)
    collector.check()
    return rows


def _says(name: str, data: bytes, rows: Sequence[Row]) -> bool:
    """Whether bytes are a ledger of exactly these rows."""
    try:
        found = _rows(name, load(name, data).data)
    except Rejected:
        return False
    return list(map(_plain, found)) == list(map(_plain, rows))


def _plain(row: Row) -> Row:
    """A row without its place. Text that ended the file before ends with its line now."""
    note, command = (text and text.rstrip("\n") for text in (row.note, row.command))
    return replace(row, file="", index=0, shipped=False, note=note, command=command)


def _unwritable(name: str) -> Problem:
    return Problem(
        code="unexpected-value",
        message="rows cannot be added to `measurements` as it is written here",
        file=name,
        path=("measurements",),
        hint="write it as a plain list, one row below the other",
    )
