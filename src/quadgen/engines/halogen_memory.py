"""What halogen takes of its machine's memory, which is also its GPU's, as its own documentation reckons it.

Sizes and defaults are those of README.md and deploy/entrypoint.sh of
https://github.com/peonist-ai/halogen-flash-server, measured there on a machine of 128 GB.
"""

from collections.abc import Mapping
from typing import Any, Final

from quadgen.engines.base import Ask, Lever
from quadgen.resolution import Resolution, Share

NATIVE_CONTEXT: Final = 262144
"""Tokens that the model was trained for, and HALOGEN_CTX where nobody says."""
LONGEST_CONTEXT: Final = 1048576
_DEFAULT_SLOTS: Final = 4
DEFAULT_PREFILL: Final = 32768
"""HALOGEN_MAX_TOK, tokens of one prefill call."""
SMALL_PREFILL: Final = 16384
"""What costs it about a tenth of its prefill speed; past the native context the server takes no more by itself."""
GIB: Final = 2**30
WEIGHTS: Final = 68 * GIB
"""Pinned (README, "Give it a machine of its own")."""
_POSITION: Final = 29500
"""Bytes of the pool for one position, block scratch included (deploy/entrypoint.sh)."""
_SLOT: Final = 115 * 2**20
"""Bytes of one conversation's own state."""
_ARENA: Final = round(16.7 * GIB)
"""Bytes of the prefill arena at `DEFAULT_PREFILL`; it goes with HALOGEN_MAX_TOK (deploy/entrypoint.sh)."""
_REST: Final = round(35.0 * GIB) - 2 * NATIVE_CONTEXT * _POSITION - _DEFAULT_SLOTS * _SLOT - _ARENA
"""Bytes that the README's 35.0 GB of the default layout are beyond the parts above."""
_RESERVE: Final = 20
"""HALOGEN_HOST_RESERVE_GIB, for the lookup table that is read through the file cache."""


def number(env: Mapping[str, Any], name: str, otherwise: int) -> int:
    """A variable that is a whole number; what is none counts as not said."""
    text = env.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else otherwise  # noqa: PLR2004 - digits


def _pool(env: Mapping[str, Any], context: int) -> int:
    return number(env, "HALOGEN_KV_POOL_POSITIONS", max(context, min(2 * context, LONGEST_CONTEXT)))


def _prefill(env: Mapping[str, Any], context: int) -> int:
    """Tokens of one prefill call, which is never longer than a conversation."""
    width = min(number(env, "HALOGEN_MAX_TOK", DEFAULT_PREFILL), context)
    return min(width, SMALL_PREFILL) if context > NATIVE_CONTEXT else width


def _arena(prefill: int) -> int:
    return _ARENA * prefill // DEFAULT_PREFILL


def memory(ask: Ask) -> tuple[Share, ...]:
    """What the server takes of the machine's memory, which is also its GPU's: estimates of its own documentation."""
    env: Mapping[str, str] = ask.report.get("env") or {}
    prefill, pool = _prefill(env, ask.context), _pool(env, ask.context)
    slots: int = ask.report.get("slots", _DEFAULT_SLOTS)
    return (
        Share("weights", WEIGHTS),
        Share(f"a pool of {pool} positions, {slots} slots", pool * _POSITION + slots * _SLOT),
        Share(f"a prefill arena for {prefill} tokens", _arena(prefill)),
        Share("scratch", _REST),
        Share("reserve for its lookup table", number(env, "HALOGEN_HOST_RESERVE_GIB", _RESERVE) * GIB, spare=True),
    )


def levers(service: Resolution) -> tuple[Lever, ...]:
    """What is left to set so that it takes less; its documentation names no other (README, "will not start")."""
    env = {variable.name: variable.value for variable in service.environment}
    context = number(env, "HALOGEN_CTX", NATIVE_CONTEXT)
    pool, least, prefill = _pool(env, context), max(context, NATIVE_CONTEXT), _prefill(env, context)
    found = []
    if pool > least:
        found.append(Lever("HALOGEN_KV_POOL_POSITIONS", str(least), (pool - least) * _POSITION))
    if prefill > SMALL_PREFILL:
        found.append(Lever("HALOGEN_MAX_TOK", str(SMALL_PREFILL), _arena(prefill) - _arena(SMALL_PREFILL)))
    return tuple(found)
