"""Which lines of a log may tell anything at all: nearly all of them do not, and look alike but for their numbers.

A line without its digits, blanks and dots is its shape. A log of a gigabyte has a few dozen: each is judged once.
"""

import re
from typing import Final

from quadgen.server_log.speculating import SPECULATING

KINDS: Final = frozenset({each.kind for each in SPECULATING} | {"starting", "listening"})
"""What is asked of `server_log.events`: what a server says of its drafters, and where a run begins."""
_GONE: Final = b"0123456789. \r"
_LONGEST: Final = 65_536
"""Bytes of a line that are looked at: as many characters as `log_lines.bare` reads, whatever they are."""
_KEPT: Final = 512
"""Bytes of a shape that is worth remembering."""
_MOST: Final = 8192
"""Shapes that are remembered."""
_TELLING: Final = re.compile(
    rb"draft|statistics|(?<!prompt)evaltime|accperpos|serve_api:"
    rb"|specul|vocab|contentdiffers|targetlayer|target_layer|lookupcache|typeMTP|MTPcontext|routermode"
    rb"|initializing(?:\n|$)|initializing\\n|verbosity=|build:|loadingmodel|listeningon"
)
"""One of these is in the shape of every line that `llama_lines`, `halogen_lines` and `KINDS` know."""


def shapes(data: bytes) -> list[bytes]:
    """Return the shape of each line."""
    return data.translate(None, _GONE).split(b"\n")


class Shapes:
    """The shapes that have been met, and whether lines of theirs must be read."""

    def __init__(self) -> None:
        self._met: dict[bytes, bool] = {}

    def telling(self, shape: bytes) -> bool:
        """Whether a line of this shape must be read."""
        met = self._met.get(shape)
        return self._judge(shape) if met is None else met

    def any_telling(self, of: list[bytes]) -> bool:
        """Whether any line of these shapes must be read."""
        return any(map(self.telling, set(of)))

    def _judge(self, shape: bytes) -> bool:
        telling = _TELLING.search(shape, 0, _LONGEST) is not None
        if len(self._met) >= _MOST:
            self._met.clear()
        if len(shape) <= _KEPT:
            self._met[shape] = telling
        return telling
