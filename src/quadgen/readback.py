"""The last check before anything is written: the text of a unit, read by quadgen's parser, says what was decided."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from quadgen.unitfile import (
    Malformed,
    Word,
    environment_split,
    gather,
    lookup_last,
    read,
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


def _added(unit: Unit, section: str, key: str) -> list[str]:
    """What the fleet itself adds to a key by `unit:`."""
    return [value for at, name, values in unit.overrides if (at, name) == (section, key) for value in values or ()]


def _words(values: Iterable[str], split: Callable[[str], Iterable[str]]) -> list[Word]:
    return [unspecify(word) for value in values for word in split(value)]


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
    for key in ("Mount", "EnvironmentHost", "Pod", "Rootfs", "ContainersConfModule"):
        yield key, added(key), raw(key)


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


def _both(unit: Unit, values: Values) -> Iterator[tuple[str, Any, Any]]:
    yield (
        "AssertPathExists",
        [*unit.files, *_added(unit, "Unit", "AssertPathExists")],
        [unpercent(value) for value in values.get(("Unit", "AssertPathExists"), [])],
    )
    yield "TimeoutStartSec", [str(unit.start_timeout)], values.get(("Service", "TimeoutStartSec"), [])


def differences(text: str, unit: Unit) -> list[Difference]:
    """Every decided key that `text` does not say, or says otherwise."""
    try:
        values = gather(read(text))
        pairs = [
            *(_container(unit, values) if isinstance(unit, ContainerUnit) else _native(unit, values)),
            *_both(unit, values),
        ]
    except Malformed as error:
        return [Difference(key="the unit", decided="text that Podman and systemd read alike", read=str(error))]
    return [
        Difference(key=key, decided=_show(decided), read=_show(found))
        for key, decided, found in pairs
        if decided != found
    ]


def _show(value: Any) -> str:  # noqa: ANN401 - a text, a list of words or of pairs
    if value is None or value == []:
        return "nothing"
    if isinstance(value, list):
        return " ".join(repr(item) if isinstance(item, str) else str(item) for item in value)
    return repr(value)
