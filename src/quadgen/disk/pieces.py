"""Reading a file piece by piece, however large it is."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from quadgen.disk.reading import unavailable

PIECE: Final = 2**20
"""Bytes that are read at once."""


def pieces(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The bytes of a file in their order. Raises `Unavailable` with the path and the reason, at the first piece."""
    try:
        with Path(path).open("rb", buffering=0) as file:
            while piece := file.read(PIECE):
                yield piece
    except OSError as error:
        raise unavailable("read", os.fspath(path), error) from error
