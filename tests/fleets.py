"""A fleet in, files or problems out: the whole chain in memory, and the command line as a process."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from textwrap import indent
from types import MappingProxyType
from typing import Any

import quadgen
from command import quadgen as command_line
from parts import DryRun, Quadlet
from quadgen import disk
from quadgen.pipeline import Compiled, compile_fleet
from quadgen.problems import Problem, Rejected, Severity, Unavailable
from quadgen.tree import Template
from systemd_words import assignments, command, specified, words_of

NONE: Mapping[str, str | bytes] = MappingProxyType({})
REGISTRY = "ghcr.io/ggml-org/llama.cpp"
ENGINES = f"""\
version: 1
engines:
  cpu: {{kind: llama.cpp, build: b10715, backends: [cpu], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-b10715"}}
  cuda: {{kind: llama.cpp, build: b10715, backends: [cuda], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-cuda-b10715"}}
  vulkan: {{kind: llama.cpp, build: b10715, backends: [vulkan], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-vulkan-b10715"}}
  rocm: {{kind: llama.cpp, build: b10715, backends: [rocm], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-rocm-b10715"}}
  sycl: {{kind: llama.cpp, build: b10715, backends: [sycl], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-intel-b10715"}}
  old: {{kind: llama.cpp, build: b10434, backends: [cpu], binary: /opt/llama.cpp/llama-server,
    image: "{REGISTRY}:server-b10434"}}
models:
  plain: {{file: plain.gguf, mtp: false}}
  headed: {{file: headed.gguf, id: qwen3.8-27b, mtp: true}}
"""
"""What the fleets of tests choose from; `headed` is the model of the shipped measurements."""
CPU = "{model: plain, backend: cpu, engine: cpu, context: 4096"
"""The beginning of a host without a GPU; what a test is about follows, and a closing brace."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The files around a fleet, by name; see `quadgen.pipeline.Files`."""

    files: Mapping[str, bytes]

    def read(self, name: str) -> bytes:
        if name not in self.files:
            raise Unavailable(f"cannot read {name}: No such file or directory")
        return self.files[name]

    def matching(self, pattern: str) -> list[str]:
        return sorted(name for name in self.files if fnmatch(name, pattern))

    def templates(self) -> Mapping[str, Template]:
        own = {name: data for name, data in self.files.items() if name.startswith("templates/")}
        return shipped() | {
            name.removeprefix("templates/"): Template(data.decode(), name, own=True) for name, data in own.items()
        }


@cache
def shipped() -> dict[str, Template]:
    """The templates that come with quadgen, wherever the tests are run."""
    return disk.templates(os.devnull)


def one(fields: str, *, host: str = "claw", above: str = "") -> str:
    """A fleet of one host: its fields as a block or in braces; `above` stands before `hosts:`."""
    body = f" {fields}\n" if fields.startswith("{") else "\n" + indent(fields, "    ")
    return f"{ENGINES}{above}hosts:\n  {host}:{body}"


def flow(value: Any) -> str:
    """A value as YAML on one line: JSON whose every character beyond ASCII is escaped, as YAML does it."""
    return re.sub("[^ -~]", lambda char: f"\\U{ord(char[0]):08X}", json.dumps(value, ensure_ascii=False))


def compile_text(
    text: str | bytes,
    files: Mapping[str, str | bytes] = NONE,
    *,
    only: frozenset[str] | None = None,
    about: str | None = None,
) -> Compiled:
    """Compile a fleet file with these others beside it. Raises `Rejected` where it is no YAML."""
    whole = {name: data.encode() if isinstance(data, str) else data for name, data in files.items()}
    whole["fleet.yml"] = text.encode() if isinstance(text, str) else text
    return compile_fleet("fleet.yml", Memory(whole), only=only, about=about)


def problems(text: str | bytes, files: Mapping[str, str | bytes] = NONE) -> list[Problem]:
    """Everything that is said of a fleet."""
    try:
        return list(compile_text(text, files).problems)
    except Rejected as rejected:
        return list(rejected.problems)


def refusals(text: str | bytes, files: Mapping[str, str | bytes] = NONE) -> list[Problem]:
    """The errors of a fleet that must have some."""
    found = [problem for problem in problems(text, files) if problem.severity is Severity.ERROR]
    assert found, "the fleet was accepted"
    return found


def refusal(text: str | bytes, files: Mapping[str, str | bytes] = NONE) -> Problem:
    """The only error of a fleet."""
    (found,) = refusals(text, files)
    return found


def marked(problem: Problem) -> str:
    """What the carets of a problem stand under."""
    place = problem.place
    assert place is not None
    return place.text[place.column - 1 : place.column - 1 + place.length]


def accepted(text: str | bytes, files: Mapping[str, str | bytes] = NONE) -> Compiled:
    """Compile a fleet that must be accepted; it may be warned of."""
    compiled = compile_text(text, files)
    assert not compiled.refused, [f"{problem.code}: {problem.message}" for problem in compiled.problems]
    return compiled


def units(compiled: Compiled) -> dict[str, str]:
    """The text of each rendered unit, by host and path."""
    return {f"{tree.host}/{file.path}": file.data.decode() for tree in compiled.trees for file in tree.files}


def unit(text: str | bytes, files: Mapping[str, str | bytes] = NONE) -> str:
    """The text of the only unit of a fleet that must be accepted."""
    (found,) = units(accepted(text, files)).values()
    return found


def values(unit_text: str, section: str, key: str) -> list[str]:
    """What a unit says after a key, line by line, as it is written."""
    return assignments(unit_text, key, section)


def generated(quadlet: Quadlet, directory: Path, **texts: str) -> DryRun:
    """What a real generator makes of these units, by their names, and of nothing else."""
    directory.mkdir(exist_ok=True)
    for name, text in texts.items():
        (directory / f"{name.replace('_', '-')}.container").write_bytes(text.encode())
    return quadlet.run(directory)


@dataclass(frozen=True, slots=True)
class Started:
    """The command line that systemd gives to Podman: what is Podman's own, and the server's arguments."""

    podman: list[str]
    server: list[str]

    def options(self, name: str) -> list[str]:
        """The values of an option of Podman's, each given as a word of its own."""
        return [self.podman[index + 1] for index, word in enumerate(self.podman[:-1]) if word == name]


def started(service: str, image: str) -> Started:
    """What the text of a generated service starts, by systemd's rules."""
    (line,) = assignments(service, "ExecStart")
    words = command(line)
    position = words.index(image)
    return Started(words[:position], words[position + 1 :])


def podman_run(quadlet: Quadlet, directory: Path, unit_text: str) -> Started:
    """What a `.container` starts, by a real generator and systemd's rules."""
    run = generated(quadlet, directory, u=unit_text)
    assert (run.status, run.messages, list(run.services)) == (0, [], ["u.service"])
    (image,) = values(unit_text, "Container", "Image")
    return started(run.services["u.service"], image)


def native_words(unit_text: str) -> list[str]:
    """The program of a `.service` and its arguments, by systemd's rules."""
    (line,) = values(unit_text, "Service", "ExecStart")
    return command(line)


def native_environment(unit_text: str) -> dict[str, str]:
    """The variables of a `.service`, by systemd's rules."""
    words = [word for line in values(unit_text, "Service", "Environment") for word in words_of(line)]
    return dict(specified(word.encode()).decode().split("=", 1) for word in words)


def after(words: list[str], flag: str) -> str:
    """The word that follows a flag, which must stand there once."""
    assert words.count(flag) == 1, (flag, words)
    return words[words.index(flag) + 1]


def run(*arguments: str, cwd: Path, under: Sequence[str] = (), **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, in the directory `cwd`; by the program `under`, if any."""
    return subprocess.run(
        [*under, sys.executable, "-m", "quadgen", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(Path(quadgen.__file__).parents[1]), **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


def render(directory: Path, text: str) -> Path:
    """Write a fleet, render it without a complaint on standard output, and give the directory of what was made."""
    directory.mkdir(exist_ok=True)
    (directory / "fleet.yml").write_text(text, encoding="utf-8")
    done = command_line("render", cwd=directory)
    assert (done.status, done.out) == (0, ""), done.err
    return directory / "rendered"
