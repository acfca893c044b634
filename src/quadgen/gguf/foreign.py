"""What a file is that is no GGUF: the downloads that went wrong, and the formats that people mistake for it."""

import re
from typing import Final

HEAD: Final = 512
"""Bytes of a file that are looked at."""
_PAGE: Final = re.compile(rb"(?:\xEF\xBB\xBF)?\s*<(?:!doctype\s+html|html)\b", re.IGNORECASE)
_SAFETENSORS: Final = re.compile(rb'.{4}\0{4}\{\s*"', re.DOTALL)
_OLD: Final = frozenset({b"ggml", b"ggmf", b"ggjt", b"ggla", b"ggsn"})
"""Magics of what llama.cpp wrote before August 2023, as numbers in either order."""
_KNOWN: Final = (
    (b"version https://git-lfs", "a Git LFS pointer; `git lfs pull` fetches the file itself"),
    (b"PK\x03\x04", "a ZIP archive, which is how PyTorch writes checkpoints"),
    (b"\x80\x02", "a Python pickle, which is how PyTorch wrote checkpoints"),
    (b"\x1f\x8b", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (b"\x93NUMPY", "a NumPy array"),
)


def looks_like_page(head: bytes) -> bool:
    """Whether a file that begins so is a web page, which servers send in the place of a file."""
    return _PAGE.match(head) is not None


def guess(head: bytes) -> str:
    """Say that a file which begins so is no GGUF, and what it looks like."""
    if not head:
        return "an empty file"
    if looks_like_page(head):
        return "not a GGUF file but a web page"
    if head[:4] in _OLD or head[3::-1] in _OLD:
        return "not a GGUF file but a GGML one, the older format, which llama.cpp reads no more"
    if _SAFETENSORS.match(head):
        return "not a GGUF file but safetensors"
    for magic, what in _KNOWN:
        if head.startswith(magic):
            return f"not a GGUF file but {what}"
    if b"GGUF".startswith(head[:4]):
        return f"its header needs more than the {len(head)} bytes that the file has"
    return f"not a GGUF file: it begins with the bytes {head[:4].hex(' ')}, not with 47 47 55 46"
