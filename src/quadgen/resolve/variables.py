"""`env` of the fleet: no variable may undo a decision, open a side door to speculation, or hold a secret."""

from collections.abc import Mapping

from quadgen.engines.registry import ENGINES
from quadgen.resolution import EngineEntry
from quadgen.resolve import literals
from quadgen.resolve.report import Reporter


def check(
    ask: Reporter, name: str, value: str | None, decided: Mapping[str, str], engine: EngineEntry, *, field: str = "env"
) -> None:
    """Refuse a variable that undoes a decision, or that is a secret in git.

    `value` is None where a secret holds it, and `field` is where the fleet says it.
    """
    refused = ENGINES[engine.kind].variable(name, engine.table, value)
    if refused is not None:
        unsure = engine.table_note if refused[0] in ("unknown-flag", "removed-flag") else None
        notes = () if unsure is None else (unsure,)
        ask.add(refused[0], refused[1], field, name, hint=refused[2], notes=notes, at_key=True)
    elif name in decided and decided[name] != value:
        message = f"{name} is decided already: {decided[name]}"
        ask.add("unexpected-value", message, field, name, hint="leave it out", at_key=True)
    elif value is not None and (literals.is_secret(value) or literals.names_secret(name, value)):
        code, message, hint = literals.refusal(f"{name} in `env`")
        ask.add(code, message, field, name, hint=hint, at_key=True)
    if value is not None and value.startswith("~"):
        message = f"{name}: nothing expands ~ in a variable"
        ask.add("unsafe-value", message, field, name, hint="write the whole path")
