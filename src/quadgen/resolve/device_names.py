"""Engine device names that the fleet writes itself: each must exist for a compiled-in backend, and be seen."""

from quadgen.engines.base import Engine
from quadgen.resolution import Devices, EngineEntry
from quadgen.resolve.report import Reporter

_CPU = ["none"]
"""What a drafter computes on without a device (parse_device_list of llama.cpp's common/arg.cpp)."""


def check(ask: Reporter, engine: EngineEntry, backend: str, seen: Devices, kind: Engine, *, drafts: bool) -> None:
    """Refuse device names of a backend that is not compiled in, or that the service does not see.

    `drafts` says whether the service drafts with a model or a head, which a `draft_device` is for.
    """
    if ask.get("draft_device") and not drafts:
        message = "`draft_device` places a drafter, and this service has none"
        ask.add(
            "unexpected-value", message, "draft_device", hint="leave it out, or choose a profile with a draft-* type"
        )
    positions = any(isinstance(item, int) for item in ask.get("devices") or ())
    add = f"add its card to `{'devices' if positions else 'gpus'}`"
    for key in ("devices", "draft_device") if drafts else ("devices",):
        named = ask.get(key) or ()
        if key == "draft_device" and named == _CPU:
            continue
        for name in named:
            wrong = _refusal(name, engine, backend, seen, kind, own=key == "devices") if isinstance(name, str) else None
            if wrong is not None:
                ask.add("unknown-device", wrong[0], key, hint=wrong[1] or add)


def _refusal(
    name: str, engine: EngineEntry, backend: str, seen: Devices, kind: Engine, *, own: bool
) -> tuple[str, str | None] | None:
    """What is wrong with a name, and a hint; `own` says whether it must be of the service's own backend."""
    found = {each: rules for each in ("cuda", "rocm", "vulkan", "sycl") if (rules := kind.devices(each)) is not None}
    numbers = {backend: number for backend, rules in found.items() if (number := rules.number(name)) is not None}
    if not numbers:
        known = ", ".join(f"{rules.prefix}0" for rules in found.values())
        return f"{name} is no device of llama-server", f"such as {known}"
    ((other, number),) = numbers.items()
    if other not in engine.backends:
        built = ", ".join(sorted(engine.backends))
        message = f"{name} does not exist in the engine {engine.name}: it is built with {built}"
        return message, "choose a device of a compiled-in backend"
    if own and other != backend and backend in found:
        message = f"{name} is a device of {other}, and this service runs on {backend}"
        return message, f"say `backend: {other}`, or name devices of {backend}"
    if other == backend and seen.count is not None and number >= seen.count:
        names = ", ".join(f"{found[backend].prefix}{at}" for at in range(seen.count))
        return f"this service does not see {name}: it has {names}", None
    return None
