"""Which lines of a log may tell anything at all: nearly all of them do not, and look alike but for their numbers.

A line without its digits, blanks and dots is its shape. A log of a gigabyte has a few dozen: each is judged once.
"""

import re
from typing import Final

from quadgen.server_log.speculating import SPECULATING

KINDS: Final = frozenset({each.kind for each in SPECULATING} | {"starting", "listening"})
"""What is asked of `server_log.events`: what a server says of its drafters, and where a run begins."""
_GONE: Final = b"0123456789. \r"
_DIGITS: Final = bytes.maketrans(b"123456789", b"0" * 9)
_COUNTED: Final = (b"extract layers", b"target_layer_ids_n")
"""In wordings that a digit of theirs makes what they are."""
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


def shape(data: bytes) -> bytes:
    """Return the shapes of lines, which are lines again."""
    return data.translate(None, _GONE)


class Shapes:
    """The shapes that have been met, and whether lines of theirs must be read."""

    def __init__(self) -> None:
        self._met: dict[bytes, bool] = {}
        self._silent: set[bytes] = set()

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

    def spoken(self, lines: list[bytes]) -> list[tuple[int, bytes]]:
        """The lines that must be read, each with its place, from 0."""
        shaped = shape(b"\n".join(lines)).split(b"\n")
        return [
            (at, line)
            for at, (line, each) in enumerate(zip(lines, shaped, strict=True))
            if self.telling(each) and line.translate(_DIGITS) not in self._silent
        ]

    def hush(self, line: bytes) -> None:
        """Remember a line that was read and said nothing: the same with other digits says nothing either."""
        if len(line) <= _KEPT and not any(word in line for word in _COUNTED):
            if len(self._silent) >= _MOST:
                self._silent.clear()
            self._silent.add(line.translate(_DIGITS))

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
