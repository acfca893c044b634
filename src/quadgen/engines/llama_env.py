"""Variables that a fleet may not give llama-server: they would undo a decision, or be a key in git."""

from typing import Final

from quadgen.engines.base import Refusal
from quadgen.engines.flag_table import FlagTable
from quadgen.engines.side_doors import is_speculative, reaches_speculation_env

_LITERAL_KEYS: Final = frozenset({"LLAMA_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
_LLAMA_ARG: Final = "LLAMA_ARG_"


def refusal(name: str, table: FlagTable, *, secret: bool) -> Refusal | None:
    """Why `name` may not be set; `secret` says whether a secret of the host holds its value."""
    option = table.by_env(name)
    if reaches_speculation_env(name) or (option is not None and is_speculative(option)):
        hint = "make it a profile: profiles.NAME with spec_types, then `profile: NAME`"
        return "speculation-outside-profile", f"{name} reaches speculation, which only a profile may", hint
    if name in _LITERAL_KEYS:
        hint = f"use `secrets: {{{name}: NAME}}`, or `api_key: {{secret: NAME}}`"
        return None if secret else ("literal-secret", f"{name} in `env` is a key in git", hint)
    if name.startswith(_LLAMA_ARG) or option is not None:
        return "duplicate-flag", f"{name} doubles a flag of llama-server", "write it under `flags`"
    return None
