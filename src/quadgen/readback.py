"""The last check before anything is written: the text of a unit, read by quadgen's parser, says what was decided."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from quadgen import quadlet_keys, systemd_keys
from quadgen.unitfile import (
    Word,
    environment_split,
    json_words,
    lookup_last,
    read_values,
    service_split,
    split_args,
    split_exec,
    split_keyval,
    split_strv,
    unpercent,
    unspecify,
)  # fmt: skip
from quadgen.units import ContainerUnit, NativeUnit, Unit

Values = Mapping[tuple[str, str], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One key whose text is not what was decided."""

    key: str
    decided: str
    read: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadKey:
    """A key that nobody knows: Podman drops the whole unit for it, systemd passes over it in silence."""

    section: str
    key: str


def _added(unit: Unit, section: str, key: str) -> list[str]:
    """What the fleet itself adds to a key by `unit:`."""
    if not unit.overrides:
        return []
    return [value for at, name, values in unit.overrides if (at, name) == (section, key) for value in values or ()]


def _words(values: Iterable[str], split: Callable[[str], Iterable[str]]) -> list[Word]:
    found: list[Word] = []
    for value in values:
        found += map(unspecify, split(value)) if "%" in value or "$" in value else split(value)
    return found


def _pairs(values: Iterable[str]) -> list[tuple[str, Word]]:
    found = []
    for value in values:
        for key, word in split_keyval(value):
            found.append((str(unspecify(key)), unspecify(word)))
    return found


def _one(values: list[str]) -> Word | None:
    return unspecify(lookup_last(values[-1])) if values else None


def _container(unit: ContainerUnit, values: Values) -> Iterator[tuple[str, Any, Any]]:
    def raw(key: str) -> list[str]:
        return values.get(("Container", key), [])

    def added(key: str) -> list[str]:
        return _added(unit, "Container", key)

    yield "Exec", list(unit.argv), _words(raw("Exec")[-1:], split_exec)
    yield "Image", unit.image, _one(raw("Image"))
    yield "ContainerName", unit.name, _one(raw("ContainerName"))
    yield "Entrypoint", unit.entrypoint, _one(raw("Entrypoint"))
    if unit.seccomp is not None:
        own = _added(unit, "Container", "SeccompProfile")
        gone = ("Container", "SeccompProfile", None) in unit.overrides
        decided = None if gone else lookup_last(own[-1]) if own else unit.seccomp
        yield "SeccompProfile", decided, _one(raw("SeccompProfile"))
    yield "HealthCmd", [] if unit.health is None else [json_words(unit.health.command)], raw("HealthCmd")
    yield "Notify", [] if unit.notify is None else [unit.notify], raw("Notify")
    yield "Volume", list(unit.mounts), [unspecify(value) for value in raw("Volume")]
    yield "PublishPort", list(unit.ports), [unspecify(value) for value in raw("PublishPort")]
    yield "Network", list(unit.networks), [unspecify(value) for value in raw("Network")]
    yield "AddDevice", [*unit.devices, *added("AddDevice")], _words(raw("AddDevice"), split_strv)
    yield "Environment", list(unit.environment), _pairs(raw("Environment"))
    yield "EnvironmentFile", [], raw("EnvironmentFile")
    yield "Label", list(unit.labels), _pairs(raw("Label"))
    yield "Secret", list(unit.secrets), _words(raw("Secret"), split_args)
    yield (
        "PodmanArgs",
        [*unit.podman_args, *(word for text in added("PodmanArgs") for word in split_args(text))],
        _words(raw("PodmanArgs"), split_args),
    )
    yield (
        "Mask",
        [*unit.masks, *(word for text in added("Mask") for word in split_args(text))],
        _words(raw("Mask"), split_args),
    )
    for key in ("GlobalArgs", "Unmask"):
        yield key, [word for text in added(key) for word in split_args(text)], _words(raw(key), split_args)
    for key in ("Mount", "Tmpfs", "EnvironmentHost", "Pod", "Rootfs", "ContainersConfModule"):
        yield key, [], raw(key)
    for key in ("ExecStart", "Environment", "EnvironmentFile", "PassEnvironment", "BindPaths", "BindReadOnlyPaths"):
        # Podman's own process: its variables and files can give every container others
        yield key, [], values.get(("Service", key), [])


def _native(unit: NativeUnit, values: Values) -> Iterator[tuple[str, Any, Any]]:
    def raw(key: str) -> list[str]:
        return values.get(("Service", key), [])

    yield (
        "ExecStart",
        [list(unit.command)],
        [[unspecify(word) for word in service_split(value)] for value in raw("ExecStart")],
    )
    read_environment = []
    for value in raw("Environment"):
        for word in environment_split(value):
            name, _, rest = word.partition("=")
            read_environment.append((name, unpercent(rest)))
    yield "Environment", list(unit.environment), read_environment
    yield "EnvironmentFile", [], raw("EnvironmentFile")
    yield "PassEnvironment", [], raw("PassEnvironment")
    yield "LoadCredential", list(unit.credentials), [unpercent(value) for value in raw("LoadCredential")]
    yield "User", [unit.user] if unit.user else [], raw("User")
    opened = () if unit.user_manager or unit.computes_on_cpu else unit.device_allow
    yield (
        "DeviceAllow",
        [*opened, *_added(unit, "Service", "DeviceAllow")],
        [str(unpercent(value)) for value in raw("DeviceAllow")],
    )
    for key in ("BindPaths", "BindReadOnlyPaths"):
        yield key, _added(unit, "Service", key), [str(unpercent(value)) for value in raw(key)]
    for key in ("RootDirectory", "RootImage", "MountImages", "ExtensionImages", "ExtensionDirectories", "PAMName"):
        yield key, [], raw(key)


def _both(unit: Unit, values: Values) -> Iterator[tuple[str, Any, Any]]:
    yield (
        "AssertPathExists",
        [*unit.files, *_added(unit, "Unit", "AssertPathExists")],
        [unpercent(value) for value in values.get(("Unit", "AssertPathExists"), [])],
    )
    yield "TimeoutStartSec", [str(unit.start_timeout)], values.get(("Service", "TimeoutStartSec"), [])


def differences(text: str, unit: Unit) -> list[Difference | UnreadKey]:
    """Every decided key that `text` does not say, or says otherwise, and every key that nobody reads.

    Raises `Malformed` where Podman and systemd would not read the text alike.
    """
    values = read_values(text)
    pairs = [
        *(_container(unit, values) if isinstance(unit, ContainerUnit) else _native(unit, values)),
        *_both(unit, values),
    ]
    changed = [
        Difference(key=key, decided=_show(decided), read=_show(found))
        for key, decided, found in pairs
        if decided != found
    ]
    return [*changed, *_unread(tuple(values))]


@lru_cache(maxsize=256)
def _unread(places: tuple[tuple[str, str], ...]) -> tuple[UnreadKey, ...]:
    """The keys that nobody reads among those of one unit; few units differ in their keys."""
    return tuple(
        UnreadKey(section=section, key=key)
        for section, key in places
        if not section.startswith("X-")
        and quadlet_keys.floor(section, key) is None
        and not systemd_keys.known(section, key)
    )


def _show(value: Any) -> str:  # noqa: ANN401 - a text, a list of words or of pairs
    if value is None or value == []:
        return "nothing"
    if isinstance(value, list):
        return " ".join(repr(item) if isinstance(item, str) else str(item) for item in value)
    return repr(value)
