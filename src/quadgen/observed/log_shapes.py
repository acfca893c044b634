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
_WORDS: Final = (
    b"draft", b"statistics", b"accperpos", b"serve_api:", b"specul", b"vocab", b"contentdiffers", b"targetlayer",
    b"target_layer", b"lookupcache", b"typeMTP", b"MTPcontext", b"routermode", b"initializing\\n", b"verbosity=",
    b"build:", b"loadingmodel", b"listeningon",
)  # fmt: skip
_ENDS: Final = re.compile(rb"(?<!prompt)evaltime|initializing(?:\n|$)")
"""One of these is in the shape of every line that `llama_lines`, `halogen_lines` and `KINDS` know. Words are looked
for one by one, which is much faster than looking for any of them."""
_SEVERAL: Final = 16
"""Shapes of which it is worth asking first whether any tells: bytes at random have new ones without end."""


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
        each = set(of)
        unknown = each - self._met.keys()
        if len(unknown) > _SEVERAL and not _tells(b"\n".join(unknown)):
            each -= unknown
        return any(map(self.telling, each))

    def _judge(self, shape: bytes) -> bool:
        telling = _tells(shape[:_LONGEST])
        if len(self._met) >= _MOST:
            self._met.clear()
        if len(shape) <= _KEPT:
            self._met[shape] = telling
        return telling


def _tells(shape: bytes) -> bool:
    if b"evaltime" in shape or b"initializing" in shape:
        return _ENDS.search(shape) is not None or any(word in shape for word in _WORDS)
    return any(word in shape for word in _WORDS)
