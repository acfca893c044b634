"""The values of `unit`: what a key cannot carry, what its reader drops in silence, and what undoes a decision."""

import re
from collections.abc import Iterator
from typing import Final

from quadgen import quadlet_keys, systemd_keys
from quadgen.engines.base import Refusal
from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.resolution import Host
from quadgen.resolve import literals, neighbours, podman_args, privileges, reach
from quadgen.resolve.files import clean, covers
from quadgen.unitfile import Malformed, Unsafe, line, split_args, split_strv

UNIT_NAME: Final = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,240}\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)"
)
UNIT_LISTS: Final = frozenset(
    """
    After Alias Also Before BindsTo Conflicts JoinsNamespaceOf OnFailure OnSuccess PartOf PropagatesReloadTo
    PropagatesStopTo ReloadPropagatedFrom RequiredBy Requires Requisite StopPropagatedFrom UpheldBy Upholds WantedBy
    Wants
    """.split()  # noqa: SIM905 - reads better
)
"""Keys of [Unit] and [Install] that list units; a word that names none is dropped with a line in the log."""
_SPECIFIER: Final = re.compile("%[nNp]")
"""What systemd.unit(5) puts the name of the unit in place of; a service is no instance, so that %p is %N."""
_QUADLET_UNIT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]*\.(container|volume|network|pod|kube|image|build)")
_TRANSLATED: Final = "5.5.0"
"""The first Podman that puts the service in place of a Quadlet unit's name."""
_ON: Final = frozenset({"1", "yes", "true", "on"})
_OFF: Final = frozenset({"0", "no", "false", "off"})


def refusals(
    host: Host, service: str, section: str, key: str, values: tuple[str, ...], program: str | None
) -> Iterator[Refusal]:
    """Everything that is wrong with the values of one key of the unit of `service`.

    `program` is what a native unit runs, where it is known.
    """
    for value in values:
        if value.strip() != value or value.endswith("\\"):
            message = f"{key}= cannot carry {value!r}: outer blanks and a last backslash are lost or join lines"
            yield "unsafe-value", message, None
            return
        try:
            line(value)
        except Unsafe as error:
            yield "unsafe-value", f"{key}= cannot carry {value!r}: {error.reason}", None
            return
    if len(values) > 1 and not _repeats(section, key):
        yield "unexpected-value", f"{key}= takes one value: of several lines the last one counts", "keep one"
    doors = list(podman_args.doors(key, values))
    if doors:
        yield from doors
        return
    if any(map(literals.is_secret, values)):
        yield literals.refusal(f"{key}=")
        return
    if section == "Container":
        yield from _container(host, key, values)
        return
    if key in UNIT_LISTS:
        names = [name for value in values for name in named(service, value).split()]
        yield from _units(host, key, names)
        yield from (each for name in names if (each := neighbours.dependency_refusal(f"{key}=", name)))
    if section == "Service":
        yield from _service(host, service, key, values, program)
    else:
        for value in values:
            yield from neighbours.unit_refusals(key, value)


def _service(host: Host, service: str, key: str, values: tuple[str, ...], program: str | None) -> Iterator[Refusal]:
    for value in values:
        yield from privileges.service_refusals(service, key, value)
    if key in ("BindPaths", "BindReadOnlyPaths"):
        yield from _binds(host, key, values, program)
    elif key == "ReadWritePaths":
        yield from (each for value in values for path in value.split() if (each := _reached(host, key, path)))
    elif key == "DeviceAllow":
        yield from (each for value in values if (each := reach.device_class_refusal(value)))


def _reached(host: Host, key: str, path: str) -> Refusal | None:
    """Why a native service may not have a path; anybody may read what anybody may read."""
    if key == "BindReadOnlyPaths" and host.user != "root":
        return None
    return reach.path_refusal(clean(path.lstrip("-+")), host.home, writable=key != "BindReadOnlyPaths")


def _repeats(section: str, key: str) -> bool:
    if section in ("Container", "Quadlet"):
        return quadlet_keys.repeats(section, key)
    return systemd_keys.repeats(section, key) or key.startswith("X-")


def words(key: str, values: tuple[str, ...]) -> list[str]:
    """What Podman reads in all values of a key of [Container]; a switch is `true` or `false`. Raises `Malformed`."""
    match quadlet_keys.reader(key):
        case "args_all" | "args_last" | "key_val":
            return [word for value in values for word in split_args(value)]
        case "strv":
            return [word for value in values for word in split_strv(value)]
        case "bool":
            return ["true" if value.casefold() in _ON else "false" for value in values]
        case _:
            return list(values)


def _container(host: Host, key: str, values: tuple[str, ...]) -> Iterator[Refusal]:
    reader = quadlet_keys.reader(key)
    try:
        found = words(key, values)
    except Malformed as error:
        yield "unsafe-value", f"{key}={values[0]}: {error.reason}", None
        return
    if reader == "last" and any(value[0] == '"' or value[-1] == '"' for value in values):
        yield "unsafe-value", f"{key}=: double quotes at either end are lost", "leave them out"
    if ";" in found:
        yield "unsafe-value", f"{key}=: a lone ; ends the command in the generated ExecStart=", None
    if reader == "key_val" and any("=" not in word for word in found):
        yield "unsafe-value", f"{key}= takes NAME=value, and the rest is dropped in silence", 'quote it: "NAME=a value"'
    if reader == "bool" and any(value.casefold() not in _ON | _OFF for value in values):
        yield "unexpected-value", f"{key}= takes true or false, and any other word is read as false", None
    unmasked = list(podman_args.unmasked(found)) if key == "Unmask" else ()
    yield from unmasked or (each for word in found if (each := privileges.container_refusal(key, word)))
    if key == "AddDevice":
        yield from _devices(values)
    elif key == "GroupAdd" and host.rootless and any(value != "keep-groups" for value in values):
        message = "keep-groups cannot be combined with other groups"
        yield "unsafe-value", message, "add the user to the group on the host"
    elif key in ("PodmanArgs", "GlobalArgs"):
        yield from podman_args.refusals(key, found, host.podman, rootless=host.rootless is not None)


def _devices(values: tuple[str, ...]) -> Iterator[Refusal]:
    if any(value.startswith("-") for value in values):
        message = "a leading - makes Quadlet drop the device in silence where it is missing"
        yield "unsafe-value", message, "leave the - out"
    elif any(re.search(r"[\s\"']", value) for value in values):
        yield "unsafe-value", "AddDevice= takes one device without blanks and quotes", "write a list, one device each"
    elif any("/by-path/" in value for value in values):
        message = "AddDevice= cannot carry a path with colons, at which Podman takes it apart"
        yield "unsafe-value", message, "name the node that it links to, such as /dev/dri/renderD128"
    else:
        yield from (each for value in values if (each := reach.device_refusal(value)))


def named(service: str, units: str) -> str:
    """A list of units with the specifiers that stand for the unit of `service`, such as notify@%n.service."""
    return _SPECIFIER.sub(lambda found: f"{service}.service" if found[0] == "%n" else service, units)


def _units(host: Host, key: str, names: list[str]) -> Iterator[Refusal]:
    for word in names:
        if UNIT_NAME.fullmatch(word):
            continue
        translated = host.runtime == "podman" and quadlet_keys.at_least(host.podman, _TRANSLATED)
        if not _QUADLET_UNIT.fullmatch(word):
            hint = "name the unit with its suffix, such as network-online.target"
            yield "unsafe-value", f"{word!r} in {key}= names no unit, and systemd drops it", hint
        elif not translated:
            hint = f"write {word.rpartition('.')[0]}.service"
            yield "unsafe-value", f"systemd knows no {word}, and only Podman {_TRANSLATED} translates it", hint


def _binds(host: Host, key: str, values: tuple[str, ...], program: str | None) -> Iterator[Refusal]:
    if host.runtime == "podman":
        yield "unsafe-value", f"{key}= is for Podman's own process, not for the container", "use `volumes`"
        return
    for value in values:
        if re.search(r"[\"'\\]", value):
            message = f"{key}= takes plain paths here: what quotes and backslashes hide cannot be checked"
            yield "unsafe-value", message, "rename the directory"
            continue
        for item in value.split():
            source, _, rest = item.lstrip("-").partition(":")
            target = clean(rest.partition(":")[0] or source).rstrip("/") or "/"
            if reaches_speculation_path(target):
                message = f"{target} is where llama-server reads a config.ini, which reaches speculation"
                yield "speculation-outside-profile", message, None
            elif program is not None and covers(target, program):
                message = f"{target} would hide {program}, which the unit runs"
                yield "unsafe-value", message, "bind something below another directory"
            elif (wrong := _reached(host, key, source)) is not None:
                yield wrong
