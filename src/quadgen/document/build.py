"""libyaml's events -> data, in one pass and without a graph of nodes.

The graph is what makes PyYAML slow and large: every node and both its marks live to the end, and the garbage
collector walks them again and again. Events die at once.
"""

from collections.abc import Callable
from sys import intern
from typing import Any, Final

from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from quadgen.document.anchors import Anchor, Anchors, Stop
from quadgen.document.libyaml import CParser
from quadgen.document.notes import Notes
from quadgen.document.scalars import Scalar, plain, tagged
from quadgen.document.spans import show

Data = dict[str, Any] | list[Any] | Scalar
_Beginning = ScalarEvent | AliasEvent | CollectionStartEvent

MAX_DEPTH: Final = 100
"""Levels of mappings and lists: libyaml 0.2.5 has no bound, and a caller needs Python's stack too."""

_STANDARD: Final = "tag:yaml.org,2002:"
_SCALAR_KINDS: Final = ("str", "int", "float", "bool", "null")
_KINDS: Final = (*_SCALAR_KINDS, "map", "seq")
_MERGE: Final = object()
"""The key that a plain `<<` is; no text equals it."""


class Builder:
    """Builds one document. What is wrong with it is noted, and building goes on where it can."""

    __slots__ = ("_anchors", "_next", "_notes")

    def __init__(self, text: str, notes: Notes) -> None:
        self._next: Callable[[], Any] = CParser(text).get_event
        self._notes = notes
        self._anchors = Anchors(notes, characters=len(text))

    def document(self) -> Data:
        """Return the data; None for a text without any.

        Raises `Stop` where a bound is passed, and `yaml.error.MarkedYAMLError` where libyaml cannot go on.
        """
        self._next()
        if isinstance(self._next(), StreamEndEvent):
            return None
        data = self._node(self._next(), 1)
        self._next()
        after = self._next()
        if not isinstance(after, StreamEndEvent):
            self._notes.add(after, "a second document begins here", hint="a file holds one: take out the `---`")
        return data

    def _node(self, event: _Beginning, depth: int) -> Data:
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if isinstance(event, AliasEvent):
            anchor = self._anchors.resolve(event)
            return anchor.data if anchor else None
        if depth > MAX_DEPTH:
            self._notes.add(event, f"this is nested deeper than {MAX_DEPTH} levels")
            raise Stop
        before = self._anchors.size
        if event.anchor is not None:
            self._anchors.declare(event.anchor, event)
        data: Data
        if isinstance(event, MappingStartEvent):
            self._check_tag(event, kind="map", noun="a mapping")
            data = self._mapping(depth)
        else:
            self._check_tag(event, kind="seq", noun="a list")
            data = self._sequence(depth)
        if event.anchor is not None:
            size = self._anchors.size - before
            self._anchors.complete(event.anchor, Anchor(data=data, text=None, size=size))
        return data

    def _sequence(self, depth: int) -> list[Any]:
        data = []
        while (event := self._next()).__class__ is not SequenceEndEvent:
            data.append(self._node(event, depth + 1))
        self._anchors.size += len(data)
        return data

    def _mapping(self, depth: int) -> dict[str, Any]:
        take = self._next
        data: dict[str, Any] = {}
        given: dict[Any, Any] = {}
        repeats: dict[Any, list[Any]] = {}
        merges: list[dict[str, Any]] = []
        while (event := take()).__class__ is not MappingEndEvent:
            key: Any
            if event.__class__ is ScalarEvent and event.tag is None and event.anchor is None:
                key = _MERGE if event.value == "<<" and not event.style else intern(event.value)
            else:
                key = self._key(event, depth)
            first = given.setdefault(key, event)
            if first is not event and key is not None:
                repeats.setdefault(key, [first]).append(event)
            event = take()
            if key is _MERGE:
                merges += self._merge(event, depth)
            elif event.__class__ is ScalarEvent and event.tag is None and event.anchor is None:
                data[key] = event.value if event.style else plain(event.value)
            else:
                data[key] = self._node(event, depth + 1)
        self._anchors.size += 2 * len(given)
        for key, events in repeats.items():
            self._notes.repeated("<<" if key is _MERGE else key, events, code="duplicate-key")
        return _merged(data, merges) if merges else data

    def _key(self, event: _Beginning, depth: int) -> str | None:
        """Return the text of a key with an anchor, a tag or an alias; None where a problem was noted."""
        if isinstance(event, ScalarEvent):
            self._scalar(event)
            return event.value
        if isinstance(event, AliasEvent):
            anchor = self._anchors.resolve(event)
            if anchor is None:
                return None
            if anchor.text is not None:
                return anchor.text
        else:
            self._node(event, depth + 1)
        self._notes.add(event, "a key is text, and this is a mapping or a list")
        return None

    def _merge(self, event: _Beginning, depth: int) -> list[dict[str, Any]]:
        """Return what `<<` takes in, the first the strongest; nothing where a problem was noted."""
        noted = len(self._notes)
        value = self._node(event, depth + 1)
        sources = value if isinstance(value, list) else [value]
        mappings = [source for source in sources if isinstance(source, dict)]
        if len(mappings) == len(sources):
            return mappings
        if len(self._notes) == noted:
            self._notes.add(event, "`<<` takes a mapping or a list of mappings", hint="write `<<: *name`")
        return []

    def _scalar(self, event: ScalarEvent) -> Scalar:
        if event.tag is not None:
            data = self._tagged(event, event.tag)
        else:
            data = event.value if event.style else plain(event.value)
        if event.anchor is not None:
            self._anchors.declare(event.anchor, event)
            self._anchors.complete(event.anchor, Anchor(data=data, text=event.value, size=0))
        return data

    def _tagged(self, event: ScalarEvent, tag: str) -> Scalar:
        kind = tag.removeprefix(_STANDARD)
        if kind == tag or kind not in _SCALAR_KINDS:
            self._check_tag(event, kind="str", noun="a scalar")
            return None
        try:
            return tagged(kind, event.value)
        except ValueError:
            self._notes.add(event, f"`!!{kind}` does not fit {show(event.value)}")
            return None

    def _check_tag(self, event: ScalarEvent | CollectionStartEvent, *, kind: str, noun: str) -> None:
        tag = event.tag
        if tag is None or tag == _STANDARD + kind:
            return
        if tag.removeprefix(_STANDARD) in _KINDS and tag not in _KINDS:
            self._notes.add(event, f"`{tag.replace(_STANDARD, '!!')}` does not fit {noun}")
            return
        known = ", ".join(f"!!{name}" for name in _KINDS)
        self._notes.add(
            event,
            f"the tag {show(tag.replace(_STANDARD, '!!'))} is not known",
            hint=f"quote a value that begins with `!`; the tags are {known}",
        )


def _merged(data: dict[str, Any], sources: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for source in reversed(sources):
        merged.update(source)
    merged.update(data)
    return merged
