"""Numbers among the keys of a header, or a sentence that says why there are none."""

from collections.abc import Mapping

from quadgen.facts.record import Scalar

Keys = Mapping[str, Scalar | tuple[Scalar, ...]]
BLOCKS = 512
"""llama.cpp loads no file of more blocks (src/llama-hparams.h, LLAMA_MAX_LAYERS)."""
LARGEST = 2**32 - 1
"""Sizes are of 32 bits without a sign in llama.cpp; what is larger is no size."""


class Senseless(Exception):  # noqa: N818 - nothing that a user sees
    """Keys of which no size follows; its text is a sentence without its end."""


def whole(key: str, value: Scalar | tuple[Scalar, ...]) -> int:
    """A value of a key as a size; raises `Senseless`."""
    if type(value) is int and 0 <= value <= LARGEST:
        return value
    raise Senseless(f"the key {key} has a value that is no size")


def number(keys: Keys, key: str, default: int | None = None) -> int:
    """The size that a key has; the default where it is absent, and `Senseless` where there is none either."""
    value = keys.get(key, default)
    if value is None:
        raise Senseless(f"the key {key} is missing")
    return whole(key, value)


def row(keys: Keys, key: str, count: int, default: list[int] | None = None) -> list[int]:
    """The sizes that a key has for each of `count` blocks, whether it lists them or has one for all."""
    value = keys.get(key)
    if value is None:
        if default is None:
            raise Senseless(f"the key {key} is missing")
        return default
    if not isinstance(value, tuple):
        return [whole(key, value)] * count
    if len(value) != count:
        raise Senseless(f"the key {key} has {len(value)} values for {count} blocks")
    return [whole(key, each) for each in value]


def flags(keys: Keys, key: str, least: int, most: int) -> list[bool] | None:
    """What a key lists for each block, False for those that it leaves out; None where it is absent or no list."""
    value = keys.get(key)
    if not isinstance(value, tuple):
        return None
    if not least <= len(value) <= most:
        raise Senseless(f"the key {key} has {len(value)} values for {most} blocks")
    if not all(isinstance(each, int) for each in value):
        raise Senseless(f"the key {key} has values that are no flags")
    return [bool(each) for each in value] + [False] * (most - len(value))
