"""The door to libyaml: a parser of events for reading, a composer of nodes for places."""

from operator import is_

from yaml.nodes import Node

from quadgen.problems import Unavailable

try:
    from yaml._yaml import CParser
except ImportError as error:
    # PyYAML builds from source without its C part, and without a word, where libyaml's headers are missing.
    # Its own parser is no way out: it disagrees with libyaml about tabs, columns and what is an error.
    raise Unavailable("PyYAML was built without libyaml: install libyaml's headers and build PyYAML again") from error

__all__ = ["CParser", "compose"]


class _Composer(CParser):
    """Composes nodes and resolves nothing: a node's tag is empty unless the file gives one."""

    def resolve(self, _kind: type[Node], _value: object, _implicit: object) -> str:
        return ""

    # libyaml's binding calls both around every node; these two builtins do nothing, at the least cost.
    descend_resolver = is_
    ascend_resolver = bool


def compose(text: str) -> Node | None:
    """Return the root node of a text that `load` has accepted; None where it is empty."""
    return _Composer(text).get_single_node()
