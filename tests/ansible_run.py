"""The real ansible-playbook and ansible-pull on a git repository and a root of the test's own.

A `Site` is a repository as a user has it (site.yml, the collection vendored, `rendered/`) beside the root of the host
that it is for. Nothing reaches the machine: systemctl, podman, loginctl and journalctl are stand-ins on PATH, the home
is empty, and the collection is found beside the play alone.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from ansible_box import Box, without_comments
from ansible_fleets import provide
from command import quadgen
from parts import OLDEST, missing, quadlets
from source import ROOT

BIN: Final = Path(sys.executable).parent
STAND_INS: Final = ROOT / "tests" / "ansible_stand_ins"
CALLBACKS: Final = ROOT / "tests" / "ansible_callbacks"
COLLECTION: Final = Path("collections/ansible_collections/quadgen/fleet")
PLAY: Final = """\
- name: Bring this host to its commit
  hosts: all
  gather_facts: false
  vars:
    quadgen_tree: "{{ playbook_dir }}/rendered"
  roles:
    - quadgen.fleet.host
"""
GIT: Final = ("git", "-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one task did: its name without the role's, its action's short name, its outcome and all that it returned."""

    name: str
    action: str
    outcome: str
    result: dict[str, Any]

    @property
    def changed(self) -> bool:
        """Whether it says that it changed something."""
        return bool(self.result.get("changed"))


@dataclass(frozen=True, kw_only=True)
class Ran:
    """How one run of Ansible ended, and what its tasks did."""

    status: int
    out: str
    steps: tuple[Step, ...]
    totals: dict[str, int]
    """What the recap counts, by its words; empty for a run that was killed."""

    def step(self, action: str, **expected: Any) -> Step:
        """The one task of this action that returned these values, or was called with them."""
        found = [
            step
            for step in self.steps
            if step.action == action and all(_holds(step, key, value) for key, value in expected.items())
        ]
        assert len(found) == 1, [(step.name, step.outcome) for step in self.steps]
        return found[0]

    @cached_property
    def actions(self) -> list[str]:
        """The actions that were not skipped, in order, without those that only check arguments or say something."""
        silent = {"validate_argument_spec", "debug"}
        return [step.action for step in self.steps if step.outcome != "skipped" and step.action not in silent]

    @property
    def reason(self) -> str:
        """Why the run failed: the words of the last task that did."""
        failed = [step for step in self.steps if step.outcome == "failed"]
        assert failed, self.out
        return str(failed[-1].result["msg"])

    def succeeded(self) -> "Ran":
        """Hand itself on, where nothing failed."""
        assert self.status == 0, self.out
        return self

    def failed(self) -> "Ran":
        """Hand itself on, where the play failed as plays do, and not of Ansible's own mistakes."""
        assert self.status == 2, self.out
        return self


def _holds(step: Step, key: str, value: Any) -> bool:
    arguments = step.result.get("invocation", {}).get("module_args", {})
    return bool(step.result.get(key, arguments.get(key)) == value)


@dataclass(frozen=True, kw_only=True)
class Site:
    """One host and the repository that it pulls."""

    place: Path
    host: str = "claw"
    user: str | None = None
    """Who runs Ansible: the user of the test, or this one."""
    kept: str = "var/lib/quadgen"
    """The directory of quadgen's state below the root."""

    @property
    def repository(self) -> Path:
        return self.place / "repository"

    @property
    def root(self) -> Path:
        """The root of the host's file system."""
        return self.place / "root"

    @property
    def home(self) -> Path:
        """The home of whoever runs Ansible."""
        return self.place / "home"

    @property
    def box(self) -> Box:
        """The host itself."""
        return Box(root=self.root, machine=self.place / "machine", kept=self.kept)

    def make(self) -> "Site":
        """Lay out an empty root and a repository with the play and the collection."""
        for directory in (self.root, self.home, self.box.machine, self.repository / "rendered"):
            directory.mkdir(parents=True)
        self.box.machine.chmod(0o777)  # users write down their calls there
        provide(self.root)
        ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
        shutil.copytree(ROOT / "ansible", self.repository / COLLECTION, ignore=ignore)
        (self.repository / "site.yml").write_text(PLAY, encoding="utf-8")
        self._git("init", "--quiet")
        return self

    def commit(self, fleet: str) -> Path:
        """Commit a fleet with what quadgen renders of it; returns the rendered directory of the host."""
        (self.repository / "fleet.yml").write_text(fleet, encoding="utf-8")
        done = quadgen("render", "fleet.yml", cwd=self.repository)
        assert done.status == 0, done.err
        self.save()
        return self.tree

    def edit(self, path: str, old: str, new: str) -> Path:
        """Commit a rendered file with other words, and the manifest that lists it so, as quadgen would have it."""
        file = self.tree / path
        before = file.read_text(encoding="utf-8")
        after = before.replace(old, new, 1)
        manifest = (self.tree / "manifest.json").read_text(encoding="utf-8")
        for was, becomes in ((before, after), (without_comments(before), without_comments(after))):
            digests = [sha256(text.encode()).hexdigest() for text in (was, becomes)]
            manifest = manifest.replace(digests[0], digests[1])
        file.write_text(after, encoding="utf-8")
        (self.tree / "manifest.json").write_text(manifest, encoding="utf-8")
        self.save()
        return self.tree

    @property
    def tree(self) -> Path:
        """The rendered directory of the host."""
        return self.repository / "rendered" / self.host

    def save(self) -> None:
        """Commit the working copy."""
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "Change the fleet")

    def _git(self, *words: str) -> None:
        subprocess.run([*GIT, *words], cwd=self.repository, check=True, capture_output=True, env=self._environment())

    def play(self, *options: str, name: str = "site.yml", kill: str | None = None, **variables: Any) -> Ran:
        """Run a play of the working copy; `kill` is a moment that the callback knows."""
        words = [str(BIN / "ansible-playbook"), *self._options(variables), *options, name]
        return self._run(words, cwd=self.repository, kill=kill)

    def pull(self, *options: str, kill: str | None = None, **variables: Any) -> Ran:
        """Pull the repository and run its play, as the timer of a host does."""
        url = f"file://{self.repository}"
        words = [str(BIN / "ansible-pull"), "--url", url, "--directory", str(self.home / "checkout")]
        return self._run([*words, *self._options(variables), *options, "site.yml"], cwd=self.home, kill=kill)

    def _options(self, variables: Mapping[str, Any]) -> list[str]:
        told = {
            "ansible_connection": "local",
            "ansible_python_interpreter": sys.executable,
            "quadgen_host": self.host,
            "quadgen_root": str(self.root),
            **variables,
        }
        return ["--inventory", "localhost,", "--extra-vars", json.dumps(told)]

    def _run(self, words: list[str], *, cwd: Path, kill: str | None) -> Ran:
        log = self.place / "steps"
        log.write_text("", encoding="utf-8")
        log.chmod(0o666)
        extra = {"QUADGEN_TEST_STEPS": str(log), **({"QUADGEN_TEST_KILL": kill} if kill else {})}
        shell = ["sh", "-c", 'QUADGEN_TEST_TOP=$$ exec "$@"', "sh"]  # the callback kills from here down
        done = subprocess.run(
            [*shell, *(become(self.user) if self.user else []), *words],
            cwd=cwd,
            env=self._environment() | extra,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,
            check=False,
            timeout=300,
        )
        lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        totals = [total for line in lines for total in line.get("totals", {}).values()]
        return Ran(
            status=done.returncode,
            out=done.stdout,
            steps=tuple(_step(line) for line in lines if "task" in line),
            totals=totals[-1] if totals else {},
        )

    def _environment(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(STAND_INS), str(BIN), os.environ["PATH"]]),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
            "ANSIBLE_CALLBACKS_ENABLED": "steps",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "ANSIBLE_NOCOLOR": "true",
            "ANSIBLE_PIPELINING": "true",
            "QUADGEN_QUADLET": str(quadlets().get(OLDEST) or missing(f"Quadlet {OLDEST}")),
            "QUADGEN_STAND_INS": str(self.box.machine),
        }


def _step(line: dict[str, Any]) -> Step:
    return Step(
        name=line["task"].rpartition(" : ")[2],
        action=line["action"].rpartition(".")[2],
        outcome=line["outcome"],
        result=line["result"],
    )


def become(user: str) -> list[str]:
    """Words before a command, by which root runs it as a user who may read everything, and no more than that.

    This Python may lie where only its owner can read it.
    """
    entry = pwd.getpwnam(user)
    ids = [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    return ["setpriv", *ids, "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search", "--"]


@contextmanager
def open_place() -> Iterator[Path]:
    """A directory that every user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="quadgen-site-") as place:
        Path(place).chmod(0o755)
        yield Path(place)


as_root: Final = pytest.mark.skipif(os.geteuid() != 0, reason="only root acts for the system and for other users")
"""Marks a test of what root does on a host."""
