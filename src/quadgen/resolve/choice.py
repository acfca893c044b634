"""Which backend, engine and model a service names, looked up in the catalog."""

from collections.abc import Mapping
from typing import Any

from quadgen.engines.registry import ENGINES
from quadgen.fleet.kinds import BACKENDS
from quadgen.resolution import EngineEntry, Model
from quadgen.resolve.catalog import Catalog
from quadgen.resolve.report import Reporter, unknown


def standard_name(fields: Mapping[str, Any], catalog: Catalog) -> str:
    """What a host's only service is called, by its engine; nothing is reported."""
    named = catalog.engines.get(fields.get("engine", ""))
    fitting = [named] if named is not None else _fitting(catalog, fields.get("backend"))
    return ENGINES[fitting[0].kind if len(fitting) == 1 else "llama.cpp"].service


def _fitting(catalog: Catalog, backend: str | None) -> list[EngineEntry]:
    return [each for each in catalog.engines.values() if backend in each.backends]


def backend(ask: Reporter, catalog: Catalog) -> str | None:
    """The backend; None after a refusal."""
    found: str | None = ask.get("backend")
    if found is None and not ask.broken("backend"):
        named = catalog.engines.get(ask.get("engine", ""))
        if named is not None and len(named.backends) == 1:
            return next(iter(named.backends))
        *some, last = [each for each in BACKENDS if named is None or each in named.backends]
        message = f"nobody says which backend {ask.host} has"
        ask.add("missing-key", message, hint=f"add `backend:` to the host: {', '.join(some)} or {last}")
    return found


def _named(ask: Reporter, catalog: Catalog, name: str, wanted: str) -> EngineEntry | None:
    found = catalog.engines.get(name)
    if found is None:
        if name not in (ask.fleet.data.get("engines") or {}):
            message, hint = unknown("engine", name, catalog.engines)
            ask.add("unknown-engine", message, "engine", hint=hint)
        return None
    kind = ENGINES[found.kind]
    if wanted not in kind.backends:
        only = " and ".join(kind.backends)
        ask.add(
            "closed-engine", f"{found.kind} runs on {only} alone", "backend", hint=f"use `backend: {kind.backends[0]}`"
        )
        return None
    if wanted not in found.backends:
        message = f"the engine {name} has no {wanted}: it is built with {', '.join(sorted(found.backends))}"
        ask.add("unknown-engine", message, "engine", hint="choose another engine or backend")
        return None
    return found


def engine(ask: Reporter, catalog: Catalog, wanted: str) -> EngineEntry | None:
    """The engine named, or the only one with the backend `wanted`; None after a refusal."""
    name = ask.get("engine")
    if name is not None:
        return _named(ask, catalog, name, wanted)
    fitting = _fitting(catalog, wanted)
    if len(fitting) == 1:
        return fitting[0]
    declared = ask.fleet.data.get("engines") or {}
    # an engine that is left out because something is wrong with it might have been the one
    if ask.broken("engine") or len(catalog.engines) < len(declared) or ask.fleet.is_broken(("engines",)):
        return None
    if fitting:
        names = ", ".join(each.name for each in fitting)
        ask.add("missing-key", f"several engines have {wanted}: {names}", "backend", hint="add `engine:` to say which")
    else:
        hint = f"add one to `engines`, with backends: [{wanted}]"
        ask.add("unknown-engine", f"no engine has the backend {wanted}", "backend", hint=hint)
    return None


def model(ask: Reporter, catalog: Catalog, key: str = "model") -> Model | None:
    """The model that the field `key` names; None where it names none, or after a refusal."""
    name = ask.get(key)
    if name is None:
        if key == "model" and not ask.broken("model"):
            ask.add("missing-key", "this service has no model", hint="add `model:`, a key of models")
        return None
    if name not in catalog.models:
        if name not in (ask.fleet.data.get("models") or {}) and not ask.fleet.is_broken(("models", name)):
            message, hint = unknown("model", name, catalog.models)
            ask.add("unknown-model", message, key, hint=hint)
        return None
    return catalog.models[name]
