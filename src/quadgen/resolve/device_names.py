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
    for key in ("devices", "draft_device") if drafts else ("devices",):
        named = ask.get(key) or ()
        if key == "draft_device" and named == _CPU:
            continue
        for name in named:
            if isinstance(name, str):
                wrong = _refusal(ask, name, engine, backend, seen, kind, own=key == "devices")
                if wrong is not None:
                    ask.add("unknown-device", wrong[0], key, hint=wrong[1])


def _refusal(
    ask: Reporter, name: str, engine: EngineEntry, backend: str, seen: Devices, kind: Engine, *, own: bool
) -> tuple[str, str] | None:
    """What is wrong with a name, and a hint; `own` says whether it must be of the service's own backend."""
    found = {each: rules for each in ("cuda", "rocm", "vulkan", "sycl") if (rules := kind.devices(each)) is not None}
    numbers = {backend: number for backend, rules in found.items() if (number := rules.number(name)) is not None}
    fitting = {backend} if own else engine.backends
    names = [f"{rules.prefix}0" for each, rules in found.items() if each in fitting]
    such = f"such as {', '.join(names)}{'' if own else ', or none for the CPU'}" if names else "write none, for the CPU"
    if not numbers:
        return f"{name} is no device of llama-server", "none stands alone" if [name] == _CPU and not own else such
    ((other, number),) = numbers.items()
    if other not in engine.backends:
        built = ", ".join(sorted(engine.backends))
        return f"{name} does not exist in the engine {engine.name}: it is built with {built}", such
    if own and other != backend and backend in found:
        message = f"{name} is a device of {other}, and this service runs on {backend}"
        return message, f"say `backend: {other}`, or name devices of {backend}"
    if other == backend and seen.count is not None and number >= seen.count:
        seeing = ", ".join(f"{found[backend].prefix}{at}" for at in range(seen.count))
        return f"this service does not see {name}: it has {seeing}", f"add its card to {_lacking(ask, number)}"
    return None


def _lacking(ask: Reporter, number: int) -> str:
    """The fields that a card must be added to before a service sees so many."""
    chosen = any(isinstance(item, int) for item in ask.get("devices") or ())
    there = number < len(ask.get("gpus") or (None,))
    return "`devices`" if chosen and there else "`gpus` and `devices`" if chosen else "`gpus`"
