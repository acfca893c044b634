"""The values of `unit`: what a key cannot carry, what its reader drops in silence, and what undoes a decision."""

import re
from collections.abc import Iterator
from typing import Final

from quadgen import quadlet_keys, systemd_keys
from quadgen.engines.side_doors import reaches_speculation_path
from quadgen.resolution import Host
from quadgen.resolve import podman_args
from quadgen.resolve.files import clean, covers
from quadgen.resolve.podman_args import Refusal
from quadgen.unitfile import Malformed, Unsafe, line, split_args, split_strv

UNIT_NAME: Final = re.compile(
    r"[A-Za-z0-9:_.\\@-]{1,240}\.(service|socket|device|mount|automount|swap|target|path|timer|slice|scope)"
)
_UNIT_LISTS: Final = frozenset(
    """
    After Alias Also Before BindsTo Conflicts JoinsNamespaceOf OnFailure OnSuccess PartOf PropagatesReloadTo
    PropagatesStopTo ReloadPropagatedFrom RequiredBy Requires Requisite StopPropagatedFrom UpheldBy Upholds WantedBy
    Wants
    """.split()  # noqa: SIM905 - reads better
)
"""Keys of [Unit] and [Install] that list units; a word that names none is dropped with a line in the log."""
_QUADLET_UNIT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]*\.(container|volume|network|pod|kube|image|build)")
_TRANSLATED: Final = "5.5.0"
"""The first Podman that puts the service in place of a Quadlet unit's name."""
_ON: Final = frozenset({"1", "yes", "true", "on"})
_OFF: Final = frozenset({"0", "no", "false", "off"})


def refusals(host: Host, section: str, key: str, values: tuple[str, ...], program: str | None) -> Iterator[Refusal]:
    """Everything that is wrong with the values of one key. `program` is what a native unit runs, where it is known."""
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
    yield from podman_args.doors(key, values)
    if section == "Container":
        yield from _container(host, key, values)
    elif key in _UNIT_LISTS:
        yield from _units(host, key, values)
    elif section == "Service" and key in ("BindPaths", "BindReadOnlyPaths"):
        yield from _binds(host, key, values, program)


def _repeats(section: str, key: str) -> bool:
    if section in ("Container", "Quadlet"):
        return quadlet_keys.repeats(section, key)
    return systemd_keys.repeats(section, key) or key.startswith("X-")


def _container(host: Host, key: str, values: tuple[str, ...]) -> Iterator[Refusal]:
    reader = quadlet_keys.reader(key)
    words: list[str] = []
    for value in values:
        try:
            words += (
                split_args(value)
                if reader in ("args_all", "args_last", "key_val")
                else split_strv(value)
                if reader == "strv"
                else [value]
            )
        except Malformed as error:
            yield "unsafe-value", f"{key}={value}: {error.reason}", None
            return
    if ";" in words:
        yield "unsafe-value", f"{key}=: a lone ; ends the command in the generated ExecStart=", None
    if reader == "key_val" and any("=" not in word for word in words):
        yield "unsafe-value", f"{key}= takes NAME=value, and the rest is dropped in silence", 'quote it: "NAME=a value"'
    if reader == "bool" and any(word.casefold() not in _ON | _OFF for word in words):
        yield "unexpected-value", f"{key}= takes true or false, and any other word is read as false", None
    if key == "AddDevice":
        yield from _devices(values)
    elif key == "GroupAdd" and host.rootless and any(value != "keep-groups" for value in values):
        message = "keep-groups cannot be combined with other groups"
        yield "unsafe-value", message, "add the user to the group on the host"
    elif key == "Unmask":
        yield from podman_args.unmasked(words)
    elif key in ("PodmanArgs", "GlobalArgs"):
        yield from podman_args.refusals(key, words)


def _devices(values: tuple[str, ...]) -> Iterator[Refusal]:
    if any(value.startswith("-") for value in values):
        message = "a leading - makes Quadlet drop the device in silence where it is missing"
        yield "unsafe-value", message, "leave the - out"
    elif any(re.search(r"[\s\"']", value) for value in values):
        yield "unsafe-value", "AddDevice= takes one device without blanks and quotes", "write a list, one device each"


def _units(host: Host, key: str, values: tuple[str, ...]) -> Iterator[Refusal]:
    for word in (word for value in values for word in value.split()):
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
