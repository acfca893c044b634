"""A host of a test's own, whose systemd and Podman are those of ansible_stand_ins."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from ansible_stand_ins.entry import told
from ansible_stand_ins.machine import Machine
from plugins.module_utils import managers
from plugins.module_utils.managers import Said
from source import ROOT

BIN = ROOT / "tests" / "ansible_stand_ins"


@dataclass(frozen=True, slots=True)
class Host:
    """What it was told, and what became of it."""

    place: Path

    @property
    def root(self) -> Path:
        """The root of its file system."""
        return self.place / "root"

    @property
    def machine(self) -> Path:
        """Where its stand-ins keep what they know."""
        return self.place / "machine"

    def install(self, files: dict[str, str]) -> None:
        """Put files below its root."""
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text, encoding="utf-8")

    def rules(self, **how: str) -> None:
        """Say how the starts of units go, by a word of their text or the name without `.service`."""
        rules = [{"match": f"{name}.service", "how": word} for name, word in how.items()]
        texts = [{"match": name, "how": word} for name, word in how.items()]
        self.tell("rules", [*rules, *texts])

    def tell(self, name: str, value: Any) -> None:
        """Write one of the files that tests write."""
        Machine(self.machine).write(name, value)

    def calls(self, program: str = "systemctl") -> list[list[str]]:
        """What a program was told, in order, without what it was asked or how to print."""
        lines = (self.machine / "calls").read_text(encoding="utf-8").splitlines() if self.told else []
        calls = [json.loads(line) for line in lines]
        words = [[word for word in call["words"] if word not in QUIET] for call in calls if call["program"] == program]
        return [each for each in words if each[:1] != ["show"] and each[:2] != ["--user", "show"]]

    @property
    def told(self) -> bool:
        """Whether any program was called."""
        return (self.machine / "calls").exists()

    def forget(self) -> None:
        """Forget the calls so far."""
        (self.machine / "calls").unlink(missing_ok=True)

    def units(self, user: str | None = None) -> dict[str, str]:
        """The state of every unit of a manager."""
        known = Machine(self.machine).read("units", {}).get(user or "", {})
        return {unit: record["active"] for unit, record in known.items()}

    def ran(self, unit: str, user: str | None = None) -> str | None:
        """The text of which a unit runs."""
        text: str | None = Machine(self.machine).read("units", {})[user or ""][unit]["ran"]
        return text

    def images(self, user: str | None = None) -> list[str]:
        """The images of a user, or of the system."""
        found: list[str] = Machine(self.machine).read("images", {}).get(user or "", [])
        return found


def run(argv: Sequence[str], user: str | None = None, timeout: float | None = None) -> Said:
    """What `managers.run` does, with the stand-ins in this process: nothing is started but what services serve."""
    del timeout
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        status = told(argv[0], list(argv[1:]), user)
    return Said(status, out.getvalue(), err.getvalue())


QUIET = frozenset(("--no-pager", "--no-ask-password", "--quiet"))


@contextmanager
def host(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Host]:
    """A host whose programs this process and the modules in it find; what its services serve ends with it."""
    made = Host(place)
    made.root.mkdir()
    made.machine.mkdir()
    made.machine.chmod(0o777)
    monkeypatch.setenv("QUADGEN_STAND_INS", str(made.machine))
    monkeypatch.setenv("PATH", os.pathsep.join([str(BIN), str(Path(sys.executable).parent), os.environ["PATH"]]))
    monkeypatch.setattr(managers, "run", run)
    try:
        yield made
    finally:
        made.machine.rename(made.place / "machine-that-was")
