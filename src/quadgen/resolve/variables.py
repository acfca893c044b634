"""`env` of the fleet: no variable may undo a decision, open a side door to speculation, or hold a secret."""

from collections.abc import Mapping
from typing import Final

from quadgen.engines.side_doors import reaches_speculation_env
from quadgen.resolve.report import Reporter

_LITERAL_KEYS: Final = frozenset({"LLAMA_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
_LLAMA_ARG: Final = "LLAMA_ARG_"


def check(ask: Reporter, name: str, value: str, decided: Mapping[str, str], *, field: str = "env") -> None:
    """Refuse a variable that undoes a decision, or that is a secret in git. `field` is where the fleet says it."""
    if reaches_speculation_env(name):
        ask.add(
            "speculation-outside-profile",
            f"{name} reaches speculation, which only a profile may",
            "env",
            name,
            at_key=True,
            hint="make it a profile: profiles.NAME with spec_types, then `profile: NAME`",
        )
    elif name in _LITERAL_KEYS and field == "env":
        ask.add(
            "literal-secret",
            f"{name} in `env` is a key in git",
            field,
            name,
            hint=f"use `secrets: {{{name}: NAME}}`, or `api_key: {{secret: NAME}}`",
            at_key=True,
        )
    elif name.startswith(_LLAMA_ARG):
        ask.add(
            "duplicate-flag",
            f"{name} doubles a flag of llama-server",
            field,
            name,
            hint="write it under `flags`",
            at_key=True,
        )
    elif name in decided and decided[name] != value:
        ask.add(
            "unexpected-value",
            f"{name} is decided already: {decided[name]}",
            field,
            name,
            hint="leave it out",
            at_key=True,
        )
    if value.startswith("~"):
        ask.add("unsafe-value", f"{name}: nothing expands ~ in a variable", "env", name, hint="write the whole path")
