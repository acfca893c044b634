"""One line of a server's log without what a journal, a router and the server itself put in front of its words."""

import json
import re
from typing import Final

LONGEST: Final = 16_384
"""Characters of a line that are looked at: no message is that long, and a line of a log may be anything."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_JOURNAL: Final = re.compile(
    r"(?:(?:[A-Z][a-z]{2} )?(?:[A-Z][a-z]{2} [ \d]\d [\d:.]{8,15}|\d{4}-\d\d-\d\d[T ][\d:.]{8,18}\S*(?: [A-Z]{3,5})?)"
    r"|\d{9,11}\.\d{6}|\[ *\d+\.\d{6}\])(?: \S+ (?:\S+\[\d+\]|kernel):| std(?:out|err) [FP])? "
)
"""The text outputs of journalctl(1), `podman logs --timestamps` and dmesg(1), and files of `--log-driver k8s-file`."""
MESSAGE: Final = ("msg", "MESSAGE", "log")
"""Where a line of JSON has the words: `--log-jsonl`, journalctl's, and files of `--log-driver json-file`."""
_CHILD: Final = re.compile(r"\s*\[(\d+)\] ", re.ASCII)
_OWN: Final = re.compile(r"\s*(?:\[\d+\] )?(?:\d+\.\d\d\.\d{3}\.\d{3} [A-Z] )?")
"""What llama-server does: a router the port of its child, and all but the oldest builds time and level."""


def child(line: str) -> str:
    """The port that a router puts before what one of its servers logs; empty before its own lines, or without one."""
    found = _CHILD.match(_logged(line))
    return found[1] if found else ""


def bare(line: str) -> str:
    """Return the words of a line, without its end: what was logged, or the message of a line of JSON.

    Of a line that is longer than `LONGEST` only so much is read; nothing is raised, whatever the line holds.
    """
    text = _logged(line)
    own = _OWN.match(text)
    return text[own.end() if own else 0 :].rstrip()


def _logged(line: str) -> str:
    """A line without colours and what a journal puts in front or around."""
    text = line[:LONGEST]
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    prefix = _JOURNAL.match(text)
    text = text[prefix.end() :] if prefix else text
    return _message(text) if text.startswith('{"') else text


def _message(text: str) -> str:
    """The message of a line of JSON; any other line as it is."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):  # cut off, no JSON, or a hundred thousand brackets
        return text
    return next((said for said in map(record.get, MESSAGE) if isinstance(said, str)), text)
