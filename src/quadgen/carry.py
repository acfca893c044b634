"""Which field of the fleet holds a value that its key in the unit cannot carry; asked after a render has failed."""

from collections.abc import Callable, Iterator
from functools import partial

from quadgen import unitfile
from quadgen.fleet.load import Fleet
from quadgen.problems import Problem
from quadgen.resolution import Resolution
from quadgen.unitfile import Unsafe
from quadgen.units import ContainerUnit, Unit


def _tries(resolution: Resolution, unit: Unit) -> Iterator[tuple[tuple[str, ...], str, Callable[[], object]]]:
    """Every carried value: the field that says it, what it is, and its encoding."""
    podman = isinstance(unit, ContainerUnit)
    for argument in resolution.arguments:
        keys = ("model",) if argument.why.startswith("rule") else tuple(argument.why.split(".", 1))
        words = argument.words if podman else ("/program", *argument.words)
        yield keys, str(argument.words[0]), partial(unitfile.exec_words if podman else unitfile.service_words, words)
    for name, value, _ in resolution.environment:
        yield ("env", name), name, partial(unitfile.key_value if podman else unitfile.service_environment, name, value)
    for file in resolution.files:
        yield ("model",), file, partial(unitfile.path_line, file)
    if not podman:
        yield ("engine",), resolution.binary, partial(unitfile.service_words, (resolution.binary,))
        return
    yield ("image",), resolution.image, partial(unitfile.last, resolution.image)
    for name, value in resolution.labels:
        yield ("labels", name), f"the label {name}", partial(unitfile.key_value, name, value)
    for mount in resolution.mounts:
        key = "models_dir" if mount.target in ("/models", "/cache") else "volumes"
        yield (key,), mount.text, partial(unitfile.raw, mount.text)


def culprits(resolution: Resolution, unit: Unit, fleet: Fleet, reason: str) -> list[Problem]:
    """Every value of the service that cannot be carried; the service itself, with `reason`, where none is found."""
    chain = (
        fleet.chain(resolution.host.name, resolution.name)
        if resolution.name in _named(fleet, resolution)
        else fleet.chain(resolution.host.name, None)
    )
    found = []
    for keys, what, encode in _tries(resolution, unit):
        try:
            encode()
        except Unsafe as error:
            kind = "Quadlet" if isinstance(unit, ContainerUnit) else "systemd"
            message = f"{what} cannot stand in a {kind} unit: {error.reason}"
            found.append(_problem(resolution, message, (chain.origin(*keys))))
    return found or [_problem(resolution, f"a value cannot stand in the unit: {reason}", chain.layers[-1].path)]


def _named(fleet: Fleet, resolution: Resolution) -> tuple[str, ...]:
    return tuple((fleet.data["hosts"][resolution.host.name] or {}).get("services") or ())


def _problem(resolution: Resolution, message: str, path: tuple[str | int, ...]) -> Problem:
    return Problem(code="unsafe-value", message=message, path=path, host=resolution.host.name, service=resolution.name)
