"""A file that was read, and the place of each of its values."""

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from quadgen.document import spans
from quadgen.document.libyaml import compose
from quadgen.problems import Path, Place

_PROPERTIES = re.compile(r"(?:[&!]\S*[ \t]+)+(?=[^\s#])")
"""The anchor and the tag of a value that stands on their line."""

_Entries = dict[str, tuple[Node, Node]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file that was read: its name as the user wrote it, its text without byte order mark, its data.

    Places are found on demand: the first call of `locate` reads the text a second time. A file without
    mistakes, which is nearly every file, pays neither time nor memory for them.
    """

    name: str
    text: str = field(repr=False)
    data: Any
    _trees: list["_Tree"] = field(default_factory=list, init=False, repr=False, compare=False)

    def locate(self, path: Path, *, at: Literal["key", "value"] = "value") -> Place:
        """Return the place of the value at a path, or of its key; never fails.

        Parts of the path that are not there are passed over, so the place is that of the deepest value that
        exists. What an alias stands for is where its anchor is, and what came with `<<` is in the mapping
        that it came from. An item of a list is its own key. A span ends with its line.
        """
        if not self._trees:
            self._trees.append(_Tree(compose(self.text)))
        key, value = self._trees[0].find(path)
        node = key if at == "key" else value
        if node is None:
            return spans.at(self.name, self.text, 0)
        properties = _PROPERTIES.match(self.text, node.start_mark.index, node.end_mark.index)
        place = spans.between(self.name, self.text, node.start_mark, node.end_mark)
        return spans.after(place, len(properties[0])) if properties else place


class _Tree:
    """The nodes of a text that `load` accepted: no recursion, no unknown alias, `<<` where it belongs."""

    __slots__ = ("_mappings", "_root")

    def __init__(self, root: Node | None) -> None:
        self._root = root
        self._mappings: dict[int, tuple[_Entries, list[Node]]] = {}

    def find(self, path: Path) -> tuple[Node | None, Node | None]:
        """Return key and value of the deepest part of a path that exists; both are the root for none."""
        key = value = self._root
        for part in path:
            if isinstance(value, MappingNode) and isinstance(part, str):
                key, value = self._entry(value, part) or (key, value)
            elif isinstance(value, SequenceNode) and isinstance(part, int) and 0 <= part < len(value.value):
                key = value = value.value[part]
        return key, value

    def _entry(self, mapping: Node, name: str) -> tuple[Node, Node] | None:
        """Find a key in a mapping, else in what it merges: each source with its own, the first one first."""
        seen: set[int] = set()
        waiting = [mapping]
        while waiting:
            entries, sources = self._contents(waiting.pop())
            if name in entries:
                return entries[name]
            fresh = [source for source in sources if id(source) not in seen]
            seen.update(map(id, fresh))
            waiting.extend(reversed(fresh))
        return None

    def _contents(self, mapping: Node) -> tuple[_Entries, list[Node]]:
        """Return a mapping's own entries and the mappings that it merges."""
        if id(mapping) not in self._mappings:
            entries: _Entries = {}
            sources: list[Node] = []
            for key, value in mapping.value:
                if key.value == "<<" and not key.style and not key.tag and not isinstance(value, ScalarNode):
                    sources += value.value if isinstance(value, SequenceNode) else [value]
                else:
                    entries[key.value] = (key, value)
            self._mappings[id(mapping)] = (entries, sources)
        return self._mappings[id(mapping)]
