"""What a `.container` says against what the generated `ExecStart=` passes to Podman.

The generator is quiet about much: an empty argument loses all later ones, an unknown escape the whole
`Exec=`, a device behind `-` depends on the machine that runs the generator, and a drop-in overrides what was
written. So the words are compared, not the exit status. `%` and `$` stand in both as they were written.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from quadgen.problems import Problem, Severity
from quadgen.unitfile import (
    Entry,
    Malformed,
    lookup_last,
    read,
    service_split,
    split_args,
    split_exec,
    split_keyval,
    split_strv,
)
from quadgen.verify.generator import Generated
from quadgen.verify.layout import Host, Manager

_Split = Callable[[str], Iterable[str]]


def _pairs(value: str) -> list[str]:
    return [f"{key}={text}" for key, text in split_keyval(value)]


def _capabilities(value: str) -> list[str]:
    return [name.lower() for name in split_strv(value)]


def _one(value: str) -> tuple[str]:
    return (lookup_last(value),)


def _line(value: str) -> tuple[str]:
    return (value,)


_OPTIONS: Final[Mapping[str, tuple[str, _Split]]] = {
    "Environment": ("--env", _pairs),
    "Label": ("--label", _pairs),
    "Annotation": ("--annotation", _pairs),
    "Volume": ("-v", _line),
    "PublishPort": ("--publish", _line),
    "AddDevice": ("--device", split_strv),
    "AddCapability": ("--cap-add", _capabilities),
    "DropCapability": ("--cap-drop", _capabilities),
    "GroupAdd": ("--group-add", _line),
    "Ulimit": ("--ulimit", _line),
    "Secret": ("--secret", split_args),
    "HealthCmd": ("--health-cmd", _one),
    "HealthStartupCmd": ("--health-startup-cmd", _one),
}
"""The option of `podman run` that each line of a key becomes (ConvertContainer in Podman's quadlet.go)."""

_SINGLE: Final = frozenset({"HealthCmd", "HealthStartupCmd"})
_SHOWN: Final = 8
"""How many words a note quotes from where two command lines part."""

_INDIRECT = re.compile(r"[^/]+\.(?:image|build|volume)(?::.*)?|\.\.?/.*")
"""An image or volume that the generator replaces: another Quadlet, or a path beside the unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Difference:
    line: int | None
    message: str
    notes: tuple[str, ...] = ()
    doubt: bool = False
    """Nothing arrived otherwise; it is text that quadgen would not have written."""


def compare(host: Host, manager: Manager, generated: Sequence[Generated]) -> Iterator[Problem]:
    """Problems of code `generator-differs`: containers that would start with other words than theirs."""
    for made in generated:
        if made.source and made.source.name.endswith(".container"):
            notes = tuple(f"{path} is a drop-in of it" for path in manager.drop_ins_of(made.source))
            listed = made.source.path in host.listed
            for found in _differences(made.source.data, made.text):
                yield host.problem(
                    f"{made.source.below}: {found.message}",
                    code="generator-differs",
                    file=made.source,
                    line=found.line,
                    notes=(*found.notes, *notes),
                    severity=Severity.ERROR if listed or not found.doubt else Severity.WARNING,
                )


def _differences(data: bytes, service: str) -> list[_Difference]:
    try:
        entries = [entry for entry in read(data.decode()) if entry.section == "Container"]
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return [_Difference(line=line, message="it is not UTF-8 text")]
    except Malformed as error:
        return [_Difference(line=error.line, message=error.reason, doubt=True)]
    unit = _Unit(entries)
    starts = _exec_starts(service)
    if len(starts) != 1:
        message = f"its service has {len(starts)} lines of ExecStart=, and systemd takes one"
        return [_Difference(line=None, message=message)]
    try:
        argv = service_split(starts[0])
    except Malformed as error:
        return [_Difference(line=unit.line("Exec"), message=f"the generated ExecStart= is broken: {error.reason}")]
    options = _tail(unit, argv)
    if options is not None:
        for key in _OPTIONS:
            _option(unit, key, options)
    return unit.found


class _Unit:
    """The `[Container]` section of one file, its keys split into words, and what was found wrong so far."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.found: list[_Difference] = []
        self._entries: dict[str, list[Entry]] = {}
        for entry in entries:
            held = self._entries.setdefault(entry.key, [])
            if entry.value:
                held.append(entry)
            else:
                held.clear()  # an empty value forgets the earlier lines

    def line(self, key: str) -> int | None:
        """Line of the last entry of a key."""
        held = self._entries.get(key)
        return held[-1].line if held else None

    def words(self, key: str, split: _Split, *, last: bool) -> list[tuple[str, int]] | None:
        """Words of all lines of a key, or of its last one, with their lines; None where one has no sense."""
        words: list[tuple[str, int]] = []
        sensible = True
        for entry in self._entries.get(key, [])[-1 if last else 0 :]:
            try:
                words += [(word, entry.line) for word in split(entry.value)]
            except Malformed as error:
                self.found.append(_Difference(line=entry.line, message=f"{key}=: {error.reason}"))
                sensible = False
        return words if sensible else None


def _tail(unit: _Unit, argv: Sequence[str]) -> Sequence[str] | None:
    """Compare the image and what follows; return the options before it, or None where it is not there."""
    meant = unit.words("Exec", split_exec, last=True)
    images = unit.words("Image", _one, last=True)
    extra = unit.words("PodmanArgs", split_args, last=False)
    if not images or extra is None or _INDIRECT.fullmatch(images[0][0]):
        start, front = len(argv) - len(meant or ()), []
    else:
        front = [word for word, _ in (*extra, images[0])]
        ends = range(len(front), len(argv) + 1)
        start = next((end for end in ends if list(argv[end - len(front) : end]) == front), 0)
        if not start:
            message = f"the service does not run {shlex.join(front)}"
            unit.found.append(_Difference(line=unit.line("Image"), message=message))
            return None
    if meant is not None and (difference := _parting([word for word, _ in meant], argv[start:])):
        message = "Exec= does not arrive as it is written"
        unit.found.append(_Difference(line=unit.line("Exec"), message=message, notes=difference))
    return argv[: max(0, start - len(front))]


def _parting(meant: Sequence[str], arrived: Sequence[str]) -> tuple[str, ...]:
    """Say where two command lines part; nothing where they are the same."""
    same = 0
    while same < min(len(meant), len(arrived)) and meant[same] == arrived[same]:
        same += 1
    if same == len(meant) == len(arrived):
        return ()
    return (
        f"from word {same + 1}, meant: {_shown(meant[same:])}",
        f"and passed on: {_shown(arrived[same:])}",
    )


def _option(unit: _Unit, key: str, options: Sequence[str]) -> None:
    """Compare the lines of one key with the values of its option, as sets."""
    flag, split = _OPTIONS[key]
    words = unit.words(key, split, last=key in _SINGLE)
    if words is None:
        return
    if split is _pairs:
        words = list({word.partition("=")[0]: (word, line) for word, line in words}.values())
    if key == "Label":
        update = unit.words("AutoUpdate", _one, last=True) or ()
        words += [(f"io.containers.autoupdate={word}", line) for word, line in update]
    meant = {word: line for word, line in words if key != "Volume" or not _INDIRECT.fullmatch(word)}
    arrived = {value for name, value in pairwise(options) if name == flag}
    lost = [word for word in meant if word not in arrived]
    extra = sorted(arrived - meant.keys()) if len(meant) == len(words) else []
    if lost or extra:
        notes = [f"meant and not passed on: {flag} {_shown([word])}" for word in lost]
        notes += [f"passed on and not meant: {flag} {_shown([word])}" for word in extra]
        if key == "AddDevice" and any(word.startswith("-") for word in lost):
            notes.append("behind a - the generator passes only what it finds on its own machine")
        line = meant[lost[0]] if lost else unit.line(key)
        unit.found.append(
            _Difference(line=line, message=f"{key}= does not arrive as it is written", notes=tuple(notes))
        )


def _exec_starts(service: str) -> list[str]:
    """Values of `ExecStart=` in `[Service]`; the generator writes each assignment on one line."""
    values: list[str] = []
    section = ""
    for line in service.split("\n"):
        if line.startswith("["):
            section = line
        elif section == "[Service]" and line.startswith("ExecStart="):
            values.append(line.removeprefix("ExecStart="))
    return values


def _shown(words: Sequence[str]) -> str:
    if not words:
        return "nothing"
    return shlex.join(words[:_SHOWN]) + (" ..." if len(words) > _SHOWN else "")
