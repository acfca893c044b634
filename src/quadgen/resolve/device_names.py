"""Engine device names that the fleet writes itself: each must exist for a compiled-in backend, and be seen."""

from itertools import pairwise

from quadgen.engines.base import Engine
from quadgen.resolution import Devices, EngineEntry
from quadgen.resolve.report import Reporter


def check(ask: Reporter, engine: EngineEntry, seen: Devices | None, kind: Engine, *, drafts: bool) -> None:
    """Refuse device names of a backend that is not compiled in, or that the service does not see.

    `drafts` says whether the service drafts with a model or a head, which a `draft_device` is for.
    """
    if ask.get("draft_device") and not drafts:
        message = "`draft_device` places a drafter, and this service has none"
        ask.add(
            "unexpected-value", message, "draft_device", hint="leave it out, or choose a profile with a draft-* type"
        )
    prefixes = {
        rules.prefix: backend for backend in ("cuda", "rocm", "vulkan", "sycl") if (rules := kind.devices(backend))
    }
    for key in ("devices", "draft_device"):
        names = [name for name in ask.get(key) or () if isinstance(name, str)]
        for name in names:
            backend = prefixes.get(name.rstrip("0123456789"))
            if backend is None or name[-1:].isalpha():
                known = ", ".join(f"{prefix}0" for prefix in prefixes)
                ask.add("unknown-device", f"{name} is no device of llama-server", key, hint=f"such as {known}")
            elif backend not in engine.backends:
                built = ", ".join(sorted(engine.backends))
                ask.add(
                    "unknown-device",
                    f"{name} does not exist in the engine {engine.name}: it is built with {built}",
                    key,
                    hint="choose a device of a compiled-in backend",
                )
            elif (
                key == "draft_device"
                and seen is not None
                and seen.names
                and name not in seen.names
                and name.startswith(seen.names[0].rstrip("0123456789"))
            ):
                ask.add(
                    "unknown-device",
                    f"this service does not see {name}: it has {', '.join(seen.names)}",
                    key,
                    hint="add its card to `devices`",
                )
    if ask.get("draft_device") and "tensor" in _split_modes(ask, engine):
        ask.add(
            "does-not-compose",
            "a drafter on one device cannot follow a target that is tensor-split",
            "draft_device",
            notes=("the server aborts at load (ggml-org/llama.cpp#26475)",),
            hint="leave `draft_device` or `split-mode: tensor` out",
        )


def _split_modes(ask: Reporter, engine: EngineEntry) -> list[object]:
    """What `flags` and `extra_args` say of --split-mode, whichever its spelling."""
    option = engine.table.find("--split-mode")
    flags, items = ask.get("flags") or {}, ask.get("extra_args") or ()
    return [value for key, value in flags.items() if option and engine.table.find(f"--{key}") == option] + [
        value for item, value in pairwise(items) if option and engine.table.find(item) == option
    ]
