"""Git repositories that hold a fleet: states of it are committed, and `quadgen plan` says what lies between them."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from command import Done, quadgen
from fleets import ENGINES

WHO = ("-c", "user.name=tests", "-c", "user.email=tests@localhost", "-c", "init.defaultBranch=main")

FLEET = f"""\
{ENGINES}groups:
  desk: {{context: 4096}}
  rack: {{context: 8192}}
hosts:
  claw: {{groups: [desk], model: plain, backend: cpu, engine: cpu}}
  forge: {{groups: [rack], model: headed, backend: cuda, profile: copy, podman: "5.4.2"}}
  wren:
    groups: [desk]
    backend: cpu
    engine: cpu
    runtime: systemd
    services:
      chat: {{model: plain, port: 8080}}
      embed: {{model: plain, port: 8081, flags: {{embeddings: true, pooling: cls}}}}
"""
"""Three hosts: one container on the CPU, one with a measured profile, and one with two native services."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet in a git repository of its own."""

    root: Path

    def git(self, *words: str) -> str:
        git = ["git", *WHO, *words]
        done = subprocess.run(git, cwd=self.root, capture_output=True, text=True, check=True)
        return done.stdout

    def write(self, text: str, name: str = "fleet.yml") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def change(self, old: str, new: str, name: str = "fleet.yml") -> None:
        text = (self.root / name).read_text(encoding="utf-8")
        assert old in text
        self.write(text.replace(old, new), name)

    def commit(self, subject: str = "state", *, render: bool = True) -> str:
        """Commit what stands there, rendered or not; the id of the commit."""
        if render:
            done = quadgen("render", "fleet.yml", cwd=self.root)
            assert done.status == 0, done.err
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", subject)
        return self.git("rev-parse", "HEAD").strip()

    def plan(self, *words: str | Path) -> Done:
        return quadgen("plan", "fleet.yml", *words, cwd=self.root)

    def told(self, *words: str) -> dict[str, Any]:
        """The plan as data, whatever its status."""
        done = self.plan("--format", "json", *words)
        found: dict[str, Any] = json.loads(done.out)
        return found


def repository(root: Path, text: str | None = FLEET, *, render: bool = True, kind: str = "sha1") -> Fleet:
    """A repository, with one commit that holds the fleet unless there is none."""
    root.mkdir(parents=True, exist_ok=True)
    fleet = Fleet(root)
    fleet.git("init", "--quiet", f"--object-format={kind}")
    if text is not None:
        fleet.write(text)
        fleet.commit(render=render)
    return fleet


def services(told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The services of a plan, by host and name."""
    return {f"{host['host']}/{each['service']}": each for host in told["hosts"] for each in host["services"]}
