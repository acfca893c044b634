"""halogen's environment: what the fleet's fields become, what may be set beside them, and what that costs in memory.

Names, defaults and bounds are those of docs/FLAGS.md and deploy/entrypoint.sh of
https://github.com/peonist-ai/halogen-flash-server.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from quadgen.engines.base import Ask, Refusal, Served
from quadgen.engines.halogen_memory import (
    DEFAULT_PREFILL,
    GIB,
    LONGEST_CONTEXT,
    NATIVE_CONTEXT,
    SMALL_PREFILL,
    WEIGHTS,
    memory,
    number,
)
from quadgen.resolution import Resolution, Variable

ENGINE_PORT: Final = 8730
"""HALOGEN_PORT: the engine's own protocol, without authentication."""
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
_READ: Final = frozenset({"HALOGEN_CK_OVERLAY", "HALOGEN_TOKENIZER", "HALOGEN_VISION_TOWER"})
"""Variables that name a file or directory in the container."""
_WRITTEN: Final = frozenset({"HALOGEN_CACHE_DIR", "HALOGEN_CACHE_FILE"})
"""Variables that name what it writes."""
_PASSING: Final = ("/tmp/", "/var/tmp/")  # noqa: S108 - of the container, where it keeps a file for as long as it runs
_CHOICES: Final = {"HALOGEN_PROMPT_CACHE": ("0", "1", "2"), "HALOGEN_KV_POOL_FIT": ("0", "1")}
_WORDS: Final = frozenset({"0", "1", "none", ""})
"""What some of them take instead of a path."""


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


def served(service: Resolution) -> Served:
    """What a server with these variables says of itself."""
    said = {each.name: each.value for each in service.environment}
    slots = said.get("HALOGEN_KV_SLOTS")
    file = said.get("HALOGEN_CHECKPOINT")
    return Served(
        names=frozenset({said["HALOGEN_MODEL_ID"]}), slots=None if slots is None else int(slots),
        context=service.context if "HALOGEN_CTX" in said else None,
        file=None if file is None else file.rpartition("/")[2],
    )  # fmt: skip


def check(ask: Ask) -> None:
    """Report what the variables of the fleet say that the server would refuse, or that means something else."""
    report = ask.report
    env: Mapping[str, str] = report.get("env") or {}
    for name in sorted(env.keys() & _WHOLE):
        if not env[name].isascii() or not env[name].isdigit():
            report.add("unexpected-value", f"{name} takes a whole number, and {env[name]!r} is none", "env", name)
    for name, choices in _CHOICES.items():
        if env.get(name, choices[0]) not in choices:
            hint = f"one of {', '.join(choices)}"
            report.add("unexpected-value", f"{name} does not take {env[name]!r}", "env", name, hint=hint)
    for name in sorted(env.keys() & (_READ | _WRITTEN)):
        _path(ask, name, env[name])
    _context(ask, env)
    _prefill(ask, env)
    _limits(ask, env)
    pool = number(env, "HALOGEN_KV_POOL_POSITIONS", ask.context)
    if pool < ask.context:
        message = f"a pool of {pool} positions is less than one conversation of {ask.context} tokens"
        report.add("unexpected-value", message, "env", "HALOGEN_KV_POOL_POSITIONS", hint="lower `context` with it")
    cap = number(env, "HALOGEN_MAX_TOKENS_CAP", _DEFAULT_CAP)
    patience = number(env, "HALOGEN_QUEUE_TIMEOUT", _DEFAULT_PATIENCE)
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
    factor = env.get("HALOGEN_ROPE_YARN", "")
    if context <= NATIVE_CONTEXT:
        if factor:
            message = f"the RoPE factor changes its answers at any length, and {context} tokens need none"
            report.warn(
                "unexpected-value", message, "env", "HALOGEN_ROPE_YARN", hint="leave it out, or raise `context`"
            )
        return
    most = min(LONGEST_CONTEXT, int(float(factor) * NATIVE_CONTEXT)) if _factor(factor) else 0
    if context > LONGEST_CONTEXT or (most and context > most):
        limit = most or LONGEST_CONTEXT
        report.add(
            "unexpected-value", f"halogen takes at most {limit} tokens here, and {context} are asked for", "context"
        )
    elif not most:
        message = f"past {NATIVE_CONTEXT} tokens halogen needs the RoPE factor, which changes its answers at any length"
        hint = f'say it: env: {{HALOGEN_ROPE_YARN: "{-(-context // NATIVE_CONTEXT)}"}}, or lower `context`'
        report.add("unexpected-value", message, "context", hint=hint)


def _prefill(ask: Ask, env: Mapping[str, str]) -> None:
    """A prefill call as wide as the context does not fit, and one of no tokens reads nothing."""
    width = number(env, "HALOGEN_MAX_TOK", DEFAULT_PREFILL)
    if not 0 < width < NATIVE_CONTEXT:
        message = f"HALOGEN_MAX_TOK is the width of one prefill call, and with {width} the server does not start"
        hint = f"its default is {DEFAULT_PREFILL}, and {SMALL_PREFILL} takes less memory"
        ask.report.add("unexpected-value", message, "env", "HALOGEN_MAX_TOK", hint=hint)


def _limits(ask: Ask, env: Mapping[str, str]) -> None:
    """A bound below what it pins ends it, or makes it several times slower."""
    limits: Mapping[str, Any] = ask.report.get("limits") or {}
    pinned = 0 if env.get("HALOGEN_FLASH_PIN_TRUNK") == "0" else WEIGHTS
    for key, needed in (("memlock", pinned), ("memory", sum(share.size for share in memory(ask) if not share.spare))):
        said = limits.get(key)
        if isinstance(said, int) and said < needed:
            message = f"halogen takes at least {needed / GIB:.1f} GiB, and `{key}` allows {said / GIB:.1f} GiB"
            ask.report.add("does-not-fit", message, "limits", key, hint="raise it, or leave it out")


def _factor(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,2}(?:\.[0-9]{1,4})?", text) is not None


def _path(ask: Ask, name: str, value: str) -> None:
    """A path of the container lies below a mount: its root is thrown away with every container."""
    if value in _WORDS or value.startswith("~"):  # the latter is refused for every engine
        return
    report = ask.report
    volumes = [text.split(":") for text in report.get("volumes") or () if text.count(":")]
    written = name in _WRITTEN
    inside = [parts[1] for parts in volumes if not written or "ro" not in parts[-1].split(",")]
    inside += [ask.paths.models_dir] if not written or ask.model.file is None else []
    if written and value.startswith(_PASSING):
        return
    if not value.startswith("/"):
        report.add("unsafe-value", f"{name} takes an absolute path in the container", "env", name)
    elif not any(value == each or value.startswith(f"{each.rstrip('/')}/") for each in inside):
        what = "nothing that it may write is" if written else "nothing is"
        message = f"{name}: {what} mounted at {value} in the container"
        hint = (
            "mount a directory there by `volumes`" if written else f"a path below {ask.paths.models_dir}, or a volume"
        )
        report.add("unsafe-value", message, "env", name, hint=hint)
