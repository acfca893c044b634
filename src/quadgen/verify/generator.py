"""Podman's own generator over one manager's Quadlets: what it makes of them, and what it says.

It ends with status 0 and says little when it drops a unit: one file that it cannot parse costs every unit
of that directory, a second unit of one name is passed over in silence, and a relative directory yields
nothing at all. So the services that come out are counted against the units that went in, by their
`SourcePath=`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quadgen.problems import Problem
from quadgen.verify.layout import QUADLETS, Host, Manager, UnitFile
from quadgen.verify.programs import Finished, Generator, run

_SERVICE = re.compile(r"^---(.+\.service)---\n", re.MULTILINE)
_SOURCE = re.compile(r"^SourcePath=(.*)$", re.MULTILINE)
_PREFIX = re.compile(r"quadlet-generator\[\d+\]: ")
_EXPECTED: Final = ("Loading source unit file ", "Loading source drop-in file ")
_SUMMARIES: Final = ("processing encountered some errors", "No files parsed from ")
"""What the generator adds where it has said more already."""
_NETWORK = re.compile(r"^[ \t]*Network[ \t]*=[ \t]*([^\s/:]+\.network)[ \t\r]*(?::.*)?$", re.MULTILINE)
_KEY = re.compile(r"\bkey '?(\w+)'? in ")
_LINE = re.compile(r"\bcontains line (\d+):")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """A service that the generator made, and the unit it came from (None: a stand-in network)."""

    name: str
    text: str
    source: UnitFile | None


def generate(
    host: Host, manager: Manager, *, generator: Generator, stage: Path, timeout: float
) -> tuple[list[Generated], list[Problem]]:
    """Run one generator over a copy of the Quadlets below `stage`, an absolute, empty directory.

    Networks that the units name and the tree does not hold are stood in for. The problems are of code
    `generator-refused`, with the generator's own words as notes.
    """
    units = {f"{stage}/quadlets/{file.below}": file for file in manager.quadlets}
    for path, file in units.items():
        _write(Path(path), file.data)
    for network in _missing_networks(manager.quadlets):
        _write(stage / "networks" / network, b"[Network]\n")
    directories = f"{stage}/quadlets:{stage}/networks"
    command = [generator.path, "-dryrun", *(["-user"] if manager.user else [])]
    said = run(command, environ={"QUADLET_UNIT_DIRS": directories, "HOME": str(stage)}, timeout=timeout)
    if said.status is None:
        message = f"the Quadlet generator did not end within {timeout:g} seconds"
        return [], [host.problem(message, code="generator-refused")]
    generated = _services(said.stdout, units)
    return generated, list(_judge(host, manager, generated, said, f"{stage}/quadlets/"))


def _judge(
    host: Host, manager: Manager, generated: Sequence[Generated], said: Finished, prefix: str
) -> Iterator[Problem]:
    units = [file for file in manager.quadlets if file.name.endswith(QUADLETS)]
    made = {service.source.path: service for service in generated if service.source}
    # The directory itself is read before those in it.
    first: dict[str, UnitFile] = {}
    for file in sorted(units, key=lambda file: (file.path not in made, file.below.count("/"), file.below)):
        first.setdefault(file.name, file)
    named, others = _attribute(_words(said.stderr, prefix), units)
    refused = False
    for file in units:
        words = named.get(file.path, [])
        if file.path in made and not words:
            continue
        refused = True
        line = next((number for word in words if (number := _line(word, file))), None)
        if file.path in made:
            message = f"the Quadlet generator warns about {file.below}"
        elif file is not first[file.name]:
            message = f"the Quadlet generator passes over {file.below}: {first[file.name].below} comes first"
        else:
            message = f"the Quadlet generator makes no service of {file.below}"
            # One file that cannot be loaded takes its neighbours with it, unnamed.
            if not words:
                words, others = [*others, *(word for said in named.values() for word in said)], []
        yield host.problem(message, code="generator-refused", file=file, line=line, notes=tuple(words))
    if others:
        refused = True
        yield host.problem("the Quadlet generator complains", code="generator-refused", notes=tuple(others))
    if said.status != 0 and not refused:
        message = f"the Quadlet generator ended with status {said.status} and gave no reason"
        yield host.problem(message, code="generator-refused")


def _services(stdout: str, units: dict[str, UnitFile]) -> list[Generated]:
    _, *parts = _SERVICE.split(stdout)
    return [
        Generated(
            name=name,
            text=text,
            source=next((units[path] for path in reversed(_SOURCE.findall(text)) if path in units), None),
        )
        for name, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def _words(stderr: str, prefix: str) -> list[str]:
    """Keep what the generator said beyond the expected, a line each; summaries only where alone."""
    lines = [_PREFIX.sub("", line, count=1).replace(prefix, "") for line in stderr.split("\n")]
    said = [line for line in lines if line and not line.startswith(_EXPECTED)]
    return [line for line in said if not line.startswith(_SUMMARIES)] or said


def _attribute(words: Sequence[str], units: Sequence[UnitFile]) -> tuple[dict[str, list[str]], list[str]]:
    """Words by the path of the unit that they name, and the words that name none."""
    named: dict[str, list[str]] = {}
    others: list[str] = []
    names = sorted(
        ((name, file.path) for file in units for name in {file.below, file.name}),
        key=lambda pair: (-len(pair[0]), pair),
    )
    patterns = [(re.compile(rf"(?<![\w.@-]){re.escape(name)}(?![\w-])"), path) for name, path in names]
    for word in words:
        path = next((path for pattern, path in patterns if pattern.search(word)), None)
        others.append(word) if path is None else named.setdefault(path, []).append(word)
    return named, others


def _line(word: str, file: UnitFile) -> int | None:
    """Find the line of the file that these words speak of."""
    if number := _LINE.search(word):
        return int(number[1])
    if key := _KEY.search(word):
        text = file.data.decode("utf-8", "replace")
        if found := re.search(rf"^[ \t]*{key[1]}[ \t]*=", text, re.MULTILINE):
            return text.count("\n", 0, found.start()) + 1
    return None


def _missing_networks(files: Sequence[UnitFile]) -> list[str]:
    held = {file.name for file in files}
    asked = {name for file in files for name in _NETWORK.findall(file.data.decode("utf-8", "replace"))}
    return sorted(asked - held)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
