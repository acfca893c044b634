"""What a checkpoint is quantised to, by the name that people gave its file, and when two such words tell two files."""

import re
from typing import Final

from quadgen.facts.record import Facts
from quadgen.gguf.tensor_types import FILE_TYPES

_SHARD: Final = re.compile(r"-\d{5}-of-\d{5}$", re.ASCII)
_WORD: Final = re.compile(
    r"(?:^|[-./:])(?P<word>(?:UD-)?(?:(?:I?Q|TQ)[1-9](?:_[A-Z0-9]+)*|B?F16|F32|(?:MX|NV)FP4(?:_MOE)?))$", re.ASCII
)
_UNSLOTH: Final = "UD-"
_BITS: Final = re.compile(r"\d+", re.ASCII)
_EXACT: Final = frozenset(FILE_TYPES.values())


def named(name: str) -> str | None:
    """Read it off a file, an address, or what stands after `hf`: Q4_K_M, UD-Q4_K_XL; None where the name has none.

    It is what stands last, behind a hyphen, a dot or a colon, before the number of a shard and `.gguf`.
    """
    stem = re.split(r"[?#]", name, maxsplit=1)[0].rpartition("/")[2]
    bare = re.sub(r"\.gguf$", "", stem, flags=re.IGNORECASE)
    found = _WORD.search(_SHARD.sub("", bare).upper())
    return found["word"] if found else None


def said(facts: Facts | None, name: str | None) -> str | None:
    """What a checkpoint is quantised to, as its header says, else its name; None where neither does."""
    return facts.quantization if facts is not None and facts.quantization is not None else named(name or "")


def known_apart(one: str, other: str) -> bool:
    """Whether two words are of two files for certain.

    Words of `general.file_type` are, as soon as they differ. Others are names of somebody's own mixture: the header of
    a UD-Q4_K_XL says Q4_K_M, so that only the bits of both tell. Two of Unsloth's, which no header says, are of two
    files as well.
    """
    one, other = one.upper(), other.upper()
    if {one, other} <= _EXACT or (one.startswith(_UNSLOTH) and other.startswith(_UNSLOTH)):
        return one != other
    bits = [found[0] if (found := _BITS.search(word)) else None for word in (one, other)]
    return None not in bits and bits[0] != bits[1]
