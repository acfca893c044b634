"""What a service runs against the unit that is on disk: a file that was replaced and never restarted shows here."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeVar

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.saying import of_file, systemctl
from quadgen.installed.seen import Container, Loaded, Process, Seen
from quadgen.problems import Problem
from quadgen.unitfile import (
    Malformed,
    Spec,
    Word,
    environment_split,
    read_values,
    service_split,
    unpercent,
    unspecify,
)  # fmt: skip

NAME: Final = "--name"
_CIDFILE: Final = "--cidfile"
"""Podman before 5.6 passes it, later ones do not."""
_SHOWN: Final = 8
"""Words that a note has from where two command lines part."""
_SPECIFIER: Final = re.compile(r"%(.)", re.DOTALL)
_PREFIX: Final = "@:+!|-"
"""What may stand in front of a program: systemd.service(5)."""
_SECRET: Final = re.compile(r"(?i)(--(?:api-key|hf-token)=|-?\w*(?:key|token|secret|passw)\w*=).+", re.DOTALL)
_SECRET_NEXT: Final = frozenset({"--api-key", "--hf-token", "-hft"})

_T = TypeVar("_T", bound=Word)


def running(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of code `service-stale`: a service that runs something else than its unit on disk says."""
    for file in declared.units:
        key = (file.user, file.unit or "")
        loaded = seen.loaded.get(key)
        if loaded is None or key not in seen.running:
            continue
        runs = seen.running[key]
        if isinstance(runs, Process):
            found = seen.files.get(file.path)
            notes = _native(file, found.data if found else file.data, runs)
        else:
            notes = _contained(file, seen.generated.get(key, b""), runs)
        notes = (*notes, *_recorded(file, seen))
        if notes:
            message = f"{file.unit} runs something else than its file on this host says"
            yield of_file(
                declared, file, seen, message, code="service-stale", notes=(*notes, *_why(loaded)),
                hint=f"{systemctl(file)} restart {file.unit}",
            )  # fmt: skip


def started_with(data: bytes) -> tuple[str, ...]:
    """The words of the one `ExecStart=` of a service, as they stand there; none where it has not one."""
    lines = _values(data).get(("Service", "ExecStart"), [])
    try:
        return service_split(lines[-1]) if lines else ()
    except Malformed:
        return ()


def container_name(data: bytes, unit: str) -> str:
    """The name of the container that a generated service starts."""
    words = started_with(data)
    for word, following in pairwise(words):
        if word == NAME:
            return following
        if word.startswith(f"{NAME}="):
            return word.removeprefix(f"{NAME}=").replace("%N", unit.removesuffix(".service"))
    return f"systemd-{unit.removesuffix('.service')}"


def _native(file: DeclaredFile, data: bytes, runs: Process) -> tuple[str, ...]:
    words = _meant(started_with(data))
    notes = _parting(words, runs.words, file.unit or "") if words else ()
    return (*notes, *(_variables(data, runs.environment) if runs.environment is not None else ()))


def _contained(file: DeclaredFile, generated: bytes, runs: Container | None) -> tuple[str, ...]:
    unit = file.unit or ""
    if runs is None:
        return (f"there is no container {container_name(generated, unit)}",)
    if runs.unit != unit:
        return (f"the container {runs.name} was started by {runs.unit or 'hand'}",)
    if not runs.running:
        return (f"the container {runs.name} does not run",)
    notes = _launched(generated, runs, unit)
    if not notes and runs.named and runs.named != runs.image:
        notes = (f"{runs.image_name} names the image {runs.named[:12]} now, and it runs {runs.image[:12]}",)
    return notes


def _launched(generated: bytes, runs: Container, unit: str) -> tuple[str, ...]:
    """Compare the options of `podman run` in any order, and the image and all that follows word by word.

    The generator writes the options of several keys in another order each time that it runs, as it goes through maps
    of Go (lookupAndAddString and its kind in Podman's pkg/systemd/quadlet/quadlet.go).
    """
    words = _meant(_without_cidfile(started_with(generated)))
    if not words:
        return ()
    here = _without_cidfile(runs.words)
    start = _image(words, _values(generated).get(("X-Container", "Image"), [])[-1:]) or len(words)
    end = _image(here, [*map(str, words[start : start + 1]), runs.image_name]) or len(here) - len(words) + start
    wanted, held = _options(words[:start]), _options(here[:end])
    lost = []
    for option in wanted:
        same = next((each for each in held if _are(option, each, unit)), None)
        if same is None:
            lost.append(option)
        else:
            held.remove(same)
    return (
        *(f"on disk, and it does not run with it: {_shown(map(str, option))}" for option in lost[:_SHOWN]),
        *(f"it runs with it, and not on disk: {_shown(option)}" for option in held[:_SHOWN]),
        *_parting(words[start:], here[end:], unit),
    )


def _image(words: Sequence[Word], names: Iterable[str]) -> int | None:
    """The position of the first of these images that is there."""
    return next((words.index(name) for name in names if name in words), None)


def _options(words: Sequence[_T]) -> list[tuple[_T, ...]]:
    """Each option with its value, if it has one."""
    found: list[tuple[_T, ...]] = []
    for word in words:
        if found and not str(word).startswith("-") and len(found[-1]) == 1 and str(found[-1][0]).startswith("-"):
            found[-1] = (*found[-1], word)
        else:
            found.append((word,))
    return found


def _recorded(file: DeclaredFile, seen: Seen) -> tuple[str, ...]:
    """What the state says: limits and mounts of a native unit show in no command line."""
    started = seen.state.running.get(file.unit or "") if seen.state else None
    if started is None or file.restart is None or started == file.restart:
        return ()
    return (f"it was last started from an earlier tree: restart {started[:12]}, and this one has {file.restart[:12]}",)


def _why(loaded: Loaded) -> tuple[str, ...]:
    return tuple(f"{path} has a say in it" for path in loaded.drop_ins)


def _parting(meant: Sequence[Word], runs: Sequence[str], unit: str) -> tuple[str, ...]:
    """Where the words on disk and those that run part; nothing where they are the same."""
    same = 0
    while same < min(len(meant), len(runs)) and _is(meant[same], runs[same], unit):
        same += 1
    if same == len(meant) == len(runs):
        return ()
    return (
        f"from word {same + 1} on disk: {_shown(map(str, meant[same:]))}",
        f"and it runs with: {_shown(runs[same:])}",
    )


def _are(meant: Sequence[Word], runs: Sequence[str], unit: str) -> bool:
    return len(meant) == len(runs) and all(_is(one, other, unit) for one, other in zip(meant, runs, strict=True))


def _is(meant: Word, runs: str, unit: str) -> bool:
    """Whether a word became this one; what a specifier stands for is known where it is of the unit's name."""
    if not isinstance(meant, Spec):
        return meant == runs
    stem = unit.removesuffix(".service")
    known = {"n": unit, "N": stem, "p": stem, "%": "%"}
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else re.escape(known[part]) if part in known else ".*"
        for number, part in enumerate(_SPECIFIER.split(meant.text))
    )
    return re.fullmatch(pattern, runs, re.DOTALL) is not None


def _meant(words: Iterable[str]) -> tuple[Word, ...]:
    try:
        found = [unspecify(word) for word in words]
    except Malformed:
        return ()
    if found and isinstance(found[0], str):
        found[0] = found[0].lstrip(_PREFIX)
    return tuple(found)


def _variables(data: bytes, environment: Mapping[str, str]) -> Iterator[str]:
    """The variables of a unit that its process has otherwise."""
    for line in _values(data).get(("Service", "Environment"), []):
        try:
            pairs = [(word.partition("=")[0], unpercent(word.partition("=")[2])) for word in environment_split(line)]
        except Malformed:
            continue
        for name, value in pairs:
            runs = environment.get(name)
            if isinstance(value, str) and value != runs:
                yield (
                    f"on disk {_hidden(f'{name}={value}')}, and it runs with {_hidden(f'{name}={runs}')}"
                    if (runs is not None)
                    else f"on disk {_hidden(f'{name}={value}')}, and it runs without {name}"
                )


def _without_cidfile(words: Sequence[str]) -> list[str]:
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not word.startswith(_CIDFILE) and before != _CIDFILE
    ]


def _values(data: bytes) -> Mapping[tuple[str, str], list[str]]:
    try:
        return read_values(data.decode())
    except (UnicodeDecodeError, Malformed):
        return {}


def _shown(words: Iterable[str]) -> str:
    """Some words as a shell takes them, without the keys that others may have written there."""
    import shlex  # noqa: PLC0415 - only where something differs

    held = [*words]
    hidden = [
        "..." if before in _SECRET_NEXT else _hidden(word)
        for before, word in zip(("", *held), held[:_SHOWN], strict=False)
    ]
    return (shlex.join(hidden) + (" ..." if len(held) > _SHOWN else "")) if hidden else "nothing"


def _hidden(word: str) -> str:
    return _SECRET.sub(r"\1...", word)
