"""`env` of the fleet: no variable may undo a decision, open a side door to speculation, or hold a secret."""

from collections.abc import Mapping
from typing import Final

from quadgen.engines.flags import FlagTable
from quadgen.engines.side_doors import is_speculative, reaches_speculation_env
from quadgen.resolve.report import Reporter

_LITERAL_KEYS: Final = frozenset({"LLAMA_API_KEY", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"})
_LLAMA_ARG: Final = "LLAMA_ARG_"


def check(
    ask: Reporter,
    name: str,
    value: str | None,
    decided: Mapping[str, str],
    *,
    table: FlagTable,
    field: str = "env",
) -> None:
    """Refuse a variable that undoes a decision, or that is a secret in git.

    `value` is None where a secret holds it, `table` has the variables of the engine's build, and `field` is where
    the fleet says it.
    """
    option = table.by_env(name)
    if reaches_speculation_env(name) or (option is not None and is_speculative(option)):
        hint = "make it a profile: profiles.NAME with spec_types, then `profile: NAME`"
        message = f"{name} reaches speculation, which only a profile may"
        ask.add("speculation-outside-profile", message, field, name, hint=hint, at_key=True)
    elif name in _LITERAL_KEYS and value is not None:
        hint = f"use `secrets: {{{name}: NAME}}`, or `api_key: {{secret: NAME}}`"
        ask.add("literal-secret", f"{name} in `env` is a key in git", field, name, hint=hint, at_key=True)
    elif (name.startswith(_LLAMA_ARG) or option is not None) and name not in _LITERAL_KEYS:
        message = f"{name} doubles a flag of llama-server"
        ask.add("duplicate-flag", message, field, name, hint="write it under `flags`", at_key=True)
    elif name in decided and decided[name] != value:
        message = f"{name} is decided already: {decided[name]}"
        ask.add("unexpected-value", message, field, name, hint="leave it out", at_key=True)
    if value is not None and value.startswith("~"):
        message = f"{name}: nothing expands ~ in a variable"
        ask.add("unsafe-value", message, field, name, hint="write the whole path")
