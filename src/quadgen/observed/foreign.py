"""What is given for a log by mistake: one that was packed or written in another encoding, or one answer of a server.

A log may hold any line, so that such a file would be read to its end and be said to hold nothing that is known.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from quadgen.log_lines import MESSAGE
from quadgen.problems import Problem, Rejected

START: Final = 2**20
"""Bytes of a file by which it is told what it is; /slots of 64 slots has 100 kB."""
_QUOTED: Final = 200
"""Characters of an error that are shown."""
_PACKED: Final = (
    (re.compile(rb"\x1f\x8b\x08"), "is packed by gzip", "zcat"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "is packed by zstd", "zstdcat"),
    (re.compile(rb"\xfd7zXZ\0"), "is packed by xz", "xzcat"),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "is packed by bzip2", "bzcat"),
    (re.compile(rb"\x04\x22\x4d\x18"), "is packed by lz4", "lz4cat"),
    (re.compile(rb"LPKSHHRH"), "is a journal of systemd in its own form", "journalctl -o cat --file"),
    (re.compile(rb"\xff\xfe\0\0|\0\0\xfe\xff"), "is a text in UTF-32", "iconv -f UTF-32 -t UTF-8"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "is a text in UTF-16", "iconv -f UTF-16 -t UTF-8"),
    (re.compile(rb"(?:[^\0]\0){8}"), "is a text in UTF-16", "iconv -f UTF-16LE -t UTF-8"),
    (re.compile(rb"(?:\0[^\0]){8}"), "is a text in UTF-16", "iconv -f UTF-16BE -t UTF-8"),
)
"""How each begins (RFC 1952, RFC 8878, the formats of xz, bzip2, lz4 and systemd's journal), and what unpacks it."""

_STREAM: Final = re.compile(rb"\s*data: ?\{")
"""How server-sent events of llama-server begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is asked for in place of such a file."""

    then: str
    """What stands behind a command that unpacks a file: `| quadgen observe -`."""
    instead: str
    """`the log of the server`."""


def begun(name: str, chunks: Iterator[bytes], wanted: Wanted) -> tuple[bytes, Iterator[bytes]]:
    """The first `START` bytes or more of a file, or all there are, and all of it: a pipe gives what it has.

    Raises `Rejected` with `unreadable-log` where these bytes are those of no log and no text of /metrics. `name` is
    `-` for standard input.
    """
    start = beginning(chunks)
    refuse(name, start, wanted)
    return start, chain((start,), chunks)


def beginning(chunks: Iterator[bytes]) -> bytes:
    """The first `START` bytes or more, or all there are."""
    start = bytearray()
    for chunk in chunks:
        start += chunk
        if len(start) >= START:
            break
    return bytes(start)


def refuse(name: str, start: bytes, wanted: Wanted) -> None:
    """Raise `Rejected` where a file that begins so is no log; fewer than `START` bytes are the whole of it."""
    who, which = ("standard input", "FILE") if name == "-" else (name, shlex.quote(name))
    for begins, what, command in _PACKED:
        if begins.match(start):
            raise _refused(f"{who} {what}", (), f"turn it into text first: {command} {which} {wanted.then}")
    if _STREAM.match(start):
        raise _refused(f"{who} is an answer that a server streamed, and no log", (), f"give {wanted.instead}")
    told = _value(start) if len(start) < START else None
    if told is not None:
        raise _refused(f"{who} is {_answer(told)}, and no log", _words(told), f"give {wanted.instead}")


def _refused(message: str, notes: tuple[str, ...], hint: str) -> Rejected:
    return Rejected([Problem(code="unreadable-log", message=message, notes=notes, hint=hint)])


def _value(data: bytes) -> dict[str, Any] | list[Any] | None:
    """The one JSON value that a file is; None where it is none, or a line of a log that is written as JSON."""
    if not data.lstrip().startswith((b"{", b"[")):
        return None
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(told, dict) and any(key in told for key in MESSAGE) else told


def _answer(told: dict[str, Any] | list[Any]) -> str:
    """What it is, by the keys that only this has (llama.cpp, tools/server/README.md)."""
    if isinstance(told, list):
        slots = all(isinstance(each, dict) and "n_ctx" in each for each in told)
        return "what a server answers at /slots" if slots else "a list of JSON"
    if "error" in told:
        return "an error that a server answered"
    if told.get("kind") == "agreement":
        return "what `quadgen agreement` printed"
    if "default_generation_settings" in told:
        return "what a server answers at /props"
    if "status" in told:
        return "what a server answers at /health"
    return "an object of JSON"


def _words(told: dict[str, Any] | list[Any]) -> tuple[str, ...]:
    """The server's own words of an error."""
    error = told.get("error") if isinstance(told, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    return (f"it says: {said[:_QUOTED]}",) if isinstance(said, str) and said else ()
