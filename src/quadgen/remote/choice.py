"""Which file of a repository llama-server takes for `-hf org/repo:quant`, and which projector with it.

After common/download.cpp of llama.cpp b11434 (find_best_model, find_best_sibling). The hub's order of the files decides
where several would do, so the names come in that order.
"""

import re
from collections.abc import Sequence
from typing import Final

PRESET: Final = "preset.ini"
"""llama-server takes nothing else from a repository with this file at its top."""
_DEFAULTS: Final = ("Q4_K_M", "Q8_0")
_NO_MODEL: Final = ("mmproj", "imatrix", "mtp-", "eagle3-", "dflash-", "dspark-")
_SHARD: Final = re.compile(r"^(.+)-(\d{5})-of-(\d{5})$", re.IGNORECASE | re.ASCII)
_QUANT: Final = re.compile(r"[-.](\w+)$", re.ASCII)
_DIGITS: Final = re.compile(r"\d+", re.ASCII)


def model(files: Sequence[str], quant: str | None) -> str | None:
    """Choose the model, of one in shards the first; without a quant Q4_K_M, else Q8_0, else the first of all."""
    models = [name for name in files if _is_model(name) and _is_first(name)]
    for wanted in (quant,) if quant else _DEFAULTS:
        fits = re.compile(re.escape(wanted) + "[.-]", re.IGNORECASE)
        for name in models:
            if fits.search(name):
                return name
    return models[0] if models and not quant else None


def projector(files: Sequence[str], of: str) -> str | None:
    """Choose the projector of a model: in the deepest directory above it, then with the next number of bits."""
    where, bits = of.split("/")[:-1], _bits(of)
    best: tuple[int, int, str] | None = None
    for name in files:
        directory = name.split("/")[:-1]
        if not name.endswith(".gguf") or "mmproj" not in name or where[: len(directory)] != directory:
            continue
        found = (-len(directory), abs(_bits(name) - bits), name)
        if best is None or found[:2] < best[:2]:
            best = found
    return best[2] if best else None


def quants(files: Sequence[str]) -> list[str]:
    """List the quants that a repository has, by the names of its models, in the hub's order."""
    return list(dict.fromkeys(found for name in files if _is_model(name) and (found := _quant(name))))


def _is_model(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.endswith(".gguf") and not any(word in last for word in _NO_MODEL)


def _is_first(name: str) -> bool:
    found = _SHARD.match(name.removesuffix(".gguf"))
    return found is None or int(found[3]) <= 1 or int(found[2]) == 1


def _quant(name: str) -> str:
    """`Q4_K_M` of `dir/model-Q4_K_M-00001-of-00002.gguf`: what follows the last hyphen or dot; empty where none is."""
    stem = name.removesuffix(".gguf")
    shard = _SHARD.match(stem)
    found = _QUANT.search(shard[1] if shard else stem)
    return found[1].upper() if found else ""


def _bits(name: str) -> int:
    found = _DIGITS.search(_quant(name))
    return int(found[0]) if found else 0
