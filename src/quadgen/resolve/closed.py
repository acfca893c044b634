"""What a service says that its engine has nothing for: refused with its reason, and not looked at again."""

from dataclasses import replace

from quadgen.engines.base import Engine
from quadgen.fleet.layers import Chain
from quadgen.problems import Problem
from quadgen.resolution import Host, Model
from quadgen.resolve.report import Reporter

_OF_MODELS = ("mmproj", "chat_template_file")
"""Fields of a service that a model may say for it."""


def left_open(ask: Reporter, host: Host, kind: Engine, model: Model) -> Reporter:
    """`ask` without what the engine has nothing for, each of it refused; to say `false` or nothing is no mistake."""
    if host.runtime not in kind.runtimes:
        only = " and ".join(f"runtime: {runtime}" for runtime in kind.runtimes)
        ask.add("closed-engine", f"{kind.kind} is published as a container image alone", "runtime", hint=f"use {only}")
    if not kind.closed:
        return ask
    shut = {key for key in kind.closed if ask.get(key) not in (None, False, [], {})}
    for key in sorted(shut):
        inherited = ask.chain.origin(key)[0] != "hosts"
        hint = f"say `{key}: null` for this service, which inherits it" if inherited else "leave it out"
        ask.add("closed-engine", f"`{key}`: {kind.closed[key]}", key, hint=hint)
    for key in _OF_MODELS:
        if key in kind.closed and getattr(model, key) and ask.get(key) is None:
            message = f"`{key}` of the model {model.name}: {kind.closed[key]}"
            path = ("models", model.name, key)
            ask.elsewhere(Problem(code="closed-engine", message=message, path=path, hint="leave it out"))
    fields = {key: value for key, value in ask.chain.fields.items() if key not in shut}
    return replace(ask, chain=Chain(ask.chain.layers, fields))


def of_model(ask: Reporter, kind: Engine, model: Model, key: str) -> str | None:
    """A file that the service names, or the model for it; None where the engine has nothing for it."""
    return None if key in kind.closed else ask.get(key, getattr(model, key)) or None
