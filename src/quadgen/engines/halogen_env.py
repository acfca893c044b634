"""halogen's environment: what the fleet's fields become, what may be set beside them, and what that costs in memory.

Names, defaults and bounds are those of docs/FLAGS.md and deploy/entrypoint.sh of
https://github.com/peonist-ai/halogen-flash-server.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from quadgen.engines.base import Ask, Refusal
from quadgen.resolution import Share, Variable

ENGINE_PORT: Final = 8730
"""HALOGEN_PORT: the engine's own protocol, without authentication."""
NATIVE_CONTEXT: Final = 262144
"""Tokens that the model was trained for, and HALOGEN_CTX where nobody says."""
_LONGEST_CONTEXT: Final = 1048576
_DEFAULT_SLOTS: Final = 4
_DEFAULT_PREFILL: Final = 32768
"""HALOGEN_MAX_TOK, tokens of one prefill call; past the native context the server itself takes half."""
_DEFAULT_CAP: Final = 65536
"""HALOGEN_MAX_TOKENS_CAP, tokens."""
_DEFAULT_PATIENCE: Final = 3600
"""HALOGEN_QUEUE_TIMEOUT, seconds."""

_OWNED: Final[Mapping[str, str]] = {
    "HALOGEN_CHECKPOINT": "models.NAME.file",
    "HALOGEN_DOWNLOAD": "models.NAME.hf",
    "HALOGEN_MODEL_ID": "alias",
    "HALOGEN_API_PORT": "port",
    "HALOGEN_CTX": "context",
    "HALOGEN_KV_SLOTS": "slots",
    "HALOGEN_DRAFTER_DEFAULT": "profile",
    "HIP_VISIBLE_DEVICES": "devices",
    "ROCR_VISIBLE_DEVICES": "devices",
}
"""Variables that a field of the fleet decides."""
_INSIDE: Final = frozenset({"HALOGEN_BIND", "HALOGEN_PORT", "HALOGEN_ENGINE"})
"""Variables that open the engine's port, or look for it elsewhere."""
_SECRET: Final = re.compile(r"(?:_|^)(?:TOKEN|KEY|PASSWORD|SECRET)$").search
_WHOLE: Final = frozenset({
    "HALOGEN_KV_POOL_POSITIONS", "HALOGEN_MAX_TOK", "HALOGEN_MAX_TOKENS_CAP", "HALOGEN_QUEUE_TIMEOUT",
    "HALOGEN_HOST_RESERVE_GIB",
})  # fmt: skip
"""Variables that quadgen reckons with, all whole numbers."""
_PATHS: Final = frozenset({
    "HALOGEN_CACHE_DIR", "HALOGEN_CACHE_FILE", "HALOGEN_CK_OVERLAY", "HALOGEN_TOKENIZER", "HALOGEN_VISION_TOWER",
})  # fmt: skip
"""Variables that name a file or directory in the container."""
_WORDS: Final = frozenset({"0", "1", "none", ""})
"""What some of them take instead of a path."""

_GIB: Final = 2**30
_WEIGHTS: Final = 68 * _GIB
"""Pinned (README, "Give it a machine of its own")."""
_POSITION: Final = 29500
"""Bytes of the pool for one position, block scratch included (deploy/entrypoint.sh)."""
_SLOT: Final = 115 * 2**20
"""Bytes of one conversation's own state."""
_ARENA: Final = round(16.7 * _GIB)
"""Bytes of the prefill arena at `_DEFAULT_PREFILL`; it goes with HALOGEN_MAX_TOK (deploy/entrypoint.sh)."""
_REST: Final = round(35.0 * _GIB) - 2 * NATIVE_CONTEXT * _POSITION - _DEFAULT_SLOTS * _SLOT - _ARENA
"""Bytes that the README's 35.0 GB of the default layout are beyond the parts above."""
_RESERVE: Final = 20
"""HALOGEN_HOST_RESERVE_GIB, for the lookup table that is read through the file cache."""


def refusal(name: str, *, secret: bool) -> Refusal | None:
    """Why the fleet may not set `name`; `secret` says whether a secret of the host holds its value."""
    if name in _OWNED:
        return "unexpected-value", f"{name} is decided by `{_OWNED[name]}`", f"use `{_OWNED[name]}`"
    if name in _INSIDE:
        message = f"{name}: the engine's port has no authentication, and stays inside the container"
        return "closed-engine", message, "leave it out"
    if name.startswith("LLAMA_"):
        return "closed-engine", f"{name} is read by llama-server, and by nothing in halogen", "leave it out"
    if _SECRET(name) and not secret:
        return "literal-secret", f"{name} in `env` is a key in git", f"use `secrets: {{{name}: NAME}}`"
    return None


def decided(ask: Ask, standard_port: int) -> tuple[Variable, ...]:
    """The variables that say what the fleet decided; a default of the server's stays the server's."""
    report, model = ask.report, ask.model
    said = [
        Variable("HALOGEN_DRAFTER_DEFAULT", "1" if ask.decision.types else "0", "profile"),
        Variable("HALOGEN_MODEL_ID", str(report.get("alias", model.name)), "alias"),
    ]
    if model.hf is not None:
        org, repository, *path = model.hf.split("/")
        said.append(Variable("HALOGEN_DOWNLOAD", f"{org}/{repository}", "model"))
        if path:
            said.append(Variable("HALOGEN_CHECKPOINT", f"{ask.paths.models_dir}/{'/'.join(path)}", "model"))
    else:
        said.append(Variable("HALOGEN_CHECKPOINT", ask.paths.model, "model"))
    if report.get("context") is not None:
        said.append(Variable("HALOGEN_CTX", str(ask.context), "context"))
    if report.get("slots") is not None:
        said.append(Variable("HALOGEN_KV_SLOTS", str(report.get("slots")), "slots"))
    if ask.port != standard_port:
        said.append(Variable("HALOGEN_API_PORT", str(ask.port), "port"))
    return tuple(said)


def check(ask: Ask) -> None:
    """Report what the variables of the fleet say that the server would refuse, or that means something else."""
    report = ask.report
    env: Mapping[str, str] = report.get("env") or {}
    for name in sorted(env.keys() & _WHOLE):
        if not env[name].isascii() or not env[name].isdigit():
            report.add("unexpected-value", f"{name} takes a whole number, and {env[name]!r} is none", "env", name)
    for name in sorted(env.keys() & _PATHS):
        _path(ask, name, env[name])
    _context(ask, env)
    pool = _number(env, "HALOGEN_KV_POOL_POSITIONS", ask.context)
    if pool < ask.context:
        message = f"a pool of {pool} positions is less than one conversation of {ask.context} tokens"
        report.add("unexpected-value", message, "env", "HALOGEN_KV_POOL_POSITIONS", hint="lower `context` with it")
    cap = _number(env, "HALOGEN_MAX_TOKENS_CAP", _DEFAULT_CAP)
    patience = _number(env, "HALOGEN_QUEUE_TIMEOUT", _DEFAULT_PATIENCE)
    needed = -(-cap * _DEFAULT_PATIENCE // _DEFAULT_CAP)
    if patience < needed:
        which = "HALOGEN_QUEUE_TIMEOUT" if "HALOGEN_QUEUE_TIMEOUT" in env else "HALOGEN_MAX_TOKENS_CAP"
        message = (
            f"a request of {cap} tokens can outlast a queue timeout of {patience} s, and those behind it get a 503"
        )
        hint = f"set HALOGEN_QUEUE_TIMEOUT to {needed}, the server's own proportion, or lower HALOGEN_MAX_TOKENS_CAP"
        report.warn("unexpected-value", message, "env", which, hint=hint)


def _context(ask: Ask, env: Mapping[str, str]) -> None:
    """Past the native context the server wants the RoPE factor, and takes no more than the factor allows."""
    report, context = ask.report, ask.context
    if context <= NATIVE_CONTEXT:
        return
    factor = env.get("HALOGEN_ROPE_YARN", "")
    most = min(_LONGEST_CONTEXT, int(float(factor) * NATIVE_CONTEXT)) if _factor(factor) else 0
    if context > _LONGEST_CONTEXT or (most and context > most):
        limit = most or _LONGEST_CONTEXT
        report.add(
            "unexpected-value", f"halogen takes at most {limit} tokens here, and {context} are asked for", "context"
        )
    elif not most:
        message = f"past {NATIVE_CONTEXT} tokens halogen needs the RoPE factor, which changes its answers at any length"
        hint = f'say it: env: {{HALOGEN_ROPE_YARN: "{-(-context // NATIVE_CONTEXT)}"}}, or lower `context`'
        report.add("unexpected-value", message, "context", hint=hint)


def _factor(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]{1,4})?", text) is not None


def _path(ask: Ask, name: str, value: str) -> None:
    """A path of the container lies below a mount: its root is thrown away with every container."""
    if value in _WORDS or value.startswith("~"):  # the latter is refused for every engine
        return
    report = ask.report
    inside = [text.split(":")[1] for text in report.get("volumes") or () if text.count(":")]
    if not value.startswith("/"):
        report.add("unsafe-value", f"{name} takes an absolute path in the container", "env", name)
    elif not any(value == each or value.startswith(f"{each.rstrip('/')}/") for each in (ask.paths.models_dir, *inside)):
        message = f"{name}: nothing is mounted at {value} in the container"
        hint = f"name a path below {ask.paths.models_dir}, or mount one by `volumes`"
        report.add("unsafe-value", message, "env", name, hint=hint)


def _number(env: Mapping[str, Any], name: str, otherwise: int) -> int:
    text = env.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else otherwise  # noqa: PLR2004 - digits


def memory(ask: Ask) -> tuple[Share, ...]:
    """What the server takes of the machine's memory, which is also its GPU's: estimates of its own documentation."""
    env: Mapping[str, str] = ask.report.get("env") or {}
    prefill = min(_number(env, "HALOGEN_MAX_TOK", _DEFAULT_PREFILL), ask.context)
    if ask.context > NATIVE_CONTEXT:
        prefill = min(prefill, _DEFAULT_PREFILL // 2)
    pool = _number(env, "HALOGEN_KV_POOL_POSITIONS", max(ask.context, min(2 * ask.context, _LONGEST_CONTEXT)))
    slots: int = ask.report.get("slots", _DEFAULT_SLOTS)
    return (
        Share("weights", _WEIGHTS),
        Share(f"a pool of {pool} positions, {slots} slots", pool * _POSITION + slots * _SLOT),
        Share(f"a prefill arena for {prefill} tokens", _ARENA * prefill // _DEFAULT_PREFILL),
        Share("scratch", _REST),
        Share("reserve for its lookup table", _number(env, "HALOGEN_HOST_RESERVE_GIB", _RESERVE) * _GIB),
    )


LEVERS: Final = 'env: {HALOGEN_KV_POOL_POSITIONS: "262144", HALOGEN_MAX_TOK: "16384"}'
"""The two variables that give memory back (README, "If the server will not start")."""
