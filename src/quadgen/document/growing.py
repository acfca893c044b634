"""A text with more items in one of its lists, and every character of the rest as it was.

A list in block style gets items in block style, below its last one; a list in flow style, as JSON has it, gets items in
flow style before its bracket. Comments, anchors, line ends and order stay, since nothing is written anew.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from yaml.events import ScalarEvent, SequenceStartEvent

from quadgen.document.nodes import Event, children, entry, events_of, top

_BREAK: Final = re.compile(r"\r\n|\n|\r")
_COMMENT: Final = re.compile(r"#[^\r\n]*")
_ENTRY: Final = re.compile(r"([ ]*)-(?=\s)")
_INDENT: Final = re.compile(r"[ \t]*")
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_STEP: Final = "  "


class Form(StrEnum):
    """How an item is written."""

    BLOCK = "block"
    """Over several lines, the first of which begins with a hyphen and a blank, and the others with two blanks."""
    FLOW = "flow"
    """In brackets, on one line."""
    JSON = "json"
    """The same, as JSON."""


Items = Callable[[Form], Sequence[Sequence[str]]]
"""The items in a form, each as its lines without indentation: a single one where the form is no block."""


@dataclass(frozen=True, slots=True)
class _Edit:
    """What stands in a text instead of the characters from `start` to `end`; several go from its begin to its end."""

    start: int
    end: int
    text: str


def grown(text: str, key: str, items: Items) -> str | None:
    """Return a text that `load` has accepted, with items at the end of the list at `key` of its mapping.

    The list may be empty, null, or an alias of a list. None where it is something else, or is not there: whoever calls
    this reads the result, since there is YAML that nobody writes, and whose meaning an insertion changes.
    """
    events = events_of(text)
    root = top(events)
    found = None if root is None else entry(events, root, key)
    if root is None or found is None:
        return None
    name, at = found
    value = events[at]
    in_flow = events[root].flow_style
    first = events[root + 1]
    form = Form.JSON if in_flow and isinstance(first, ScalarEvent) and first.style == '"' else Form.FLOW
    if isinstance(value, SequenceStartEvent) and not value.flow_style:
        return _edited(text, [_below(text, *_last_line(text, events, at), items)])
    empty = _empty(text, events, at)
    if empty is not None and not in_flow:
        start, end = len(text[: empty[0]].rstrip(" ")), empty[1]
        indent = " " * events[name].start_mark.column + _STEP
        return _edited(text, [_Edit(start, end, ""), _below(text, end, indent, items)])
    lines = [line for (line,) in items(form)]
    if isinstance(value, SequenceStartEvent):
        return _edited(text, _in_brackets(text, events, at, lines))
    if empty is not None:
        start, end = empty
        blank = "" if text[start - 1].isspace() else " "
        return _edited(text, [_Edit(start, end, f"{blank}[{', '.join(lines)}]")])
    return None


def _empty(text: str, events: Sequence[Event], at: int) -> tuple[int, int] | None:
    """The span of a null, or of two brackets without anything in between."""
    event = events[at]
    if isinstance(event, ScalarEvent):
        null = not event.style and event.value in _NULL and event.anchor is None
        return (events[at].start_mark.index, events[at].end_mark.index) if null else None
    end = events[at + 1].end_mark.index
    start = end - len("[]")
    return (start, end) if isinstance(event, SequenceStartEvent) and text[start:end] == "[]" else None


def _last_line(text: str, events: Sequence[Event], at: int) -> tuple[int, str]:
    """Where the last item of a list in block style ends, and the indentation of its hyphens."""
    inside = children(events, at)
    mark = events[at].start_mark
    indent = " " * mark.column
    if text[mark.index] != "-":  # but an anchor, in a line above
        breaks = _BREAK.finditer(text, mark.index)
        indent = next(found[1] for line in breaks if (found := _ENTRY.match(text, line.end())))
    # the end of a collection in block style has no width, and is wherever the next thing begins
    ends = [event.end_mark.index for event in events[at + 1 : inside[-1]] if _is_wide(event)]
    return max(ends), indent


def _is_wide(event: Event) -> bool:
    return isinstance(event, ScalarEvent) or event.start_mark.index != event.end_mark.index


def _below(text: str, end: int, indent: str, items: Items) -> _Edit:
    """Insert items in block style below the line that something ends on, and below the comments of its own."""
    if end and text[end - 1] not in "\r\n":  # text over several lines ends where the next line begins
        found = _BREAK.search(text, end)
        end = found.end() if found else len(text)
    own = re.compile(rf"(?:{indent}[ ]+#[^\r\n]*(?:\r\n|\n|\r|$))*").match(text, end)
    end = own.end() if own else end
    line_end = _line_end(text)
    lines = [f"{indent}{line}{line_end}" for item in items(Form.BLOCK) for line in item]
    return _Edit(end, end, "".join(lines if text[end - 1] in "\r\n" else (line_end, *lines)))


def _in_brackets(text: str, events: Sequence[Event], at: int, lines: Sequence[str]) -> list[_Edit]:
    """Insert items in flow style before the bracket that ends a list."""
    *starts, closing = children(events, at)
    close = events[closing].start_mark.index
    last = events[closing - 1].end_mark.index
    comma = _COMMENT.sub(lambda found: " " * len(found[0]), text[last:close]).find(",") if starts else 0
    edits = [_Edit(last, last, ",")] if comma < 0 else []
    trailing = "," if starts and comma >= 0 else ""
    breaks = list(_BREAK.finditer(text, last, close))
    if not breaks:
        edits.append(_Edit(close, close, f"{' ' if starts else ''}{', '.join(lines)}{trailing}"))
        return edits
    line_end = _line_end(text)
    here = breaks[-1].end()
    indent = _indent(text, events[starts[-1]].start_mark.index) if starts else None
    if indent is None:
        indent = text[here:close] + _STEP
    edits.append(_Edit(here, here, f"{indent}{f',{line_end}{indent}'.join(lines)}{trailing}{line_end}"))
    return edits


def _indent(text: str, start: int) -> str | None:
    """What stands before something on its line; None where that is more than blanks."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    before = text[line:start]
    return before if _INDENT.fullmatch(before) else None


def _line_end(text: str) -> str:
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def _edited(text: str, edits: Sequence[_Edit]) -> str:
    done, at = "", 0
    for edit in edits:
        done, at = done + text[at : edit.start] + edit.text, edit.end
    return done + text[at:]
