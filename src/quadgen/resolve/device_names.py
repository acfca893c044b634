"""Engine device names that the fleet writes itself: each must exist for a compiled-in backend, and be seen."""

from quadgen.engines.base import Engine
from quadgen.resolution import Devices, EngineEntry
from quadgen.resolve.report import Reporter


def check(ask: Reporter, engine: EngineEntry, seen: Devices | None, kind: Engine) -> None:
    """Refuse device names of a backend that is not compiled in, or that the service does not see."""
    flags = ask.get("flags") or {}
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
    if ask.get("draft_device") and flags.get("split-mode") == "tensor":
        ask.add(
            "does-not-compose",
            "a drafter on one device cannot follow a target that is tensor-split",
            "draft_device",
            notes=("the server aborts at load (ggml-org/llama.cpp#26475)",),
            hint="leave `draft_device` or `split-mode: tensor` out",
        )
