"""examples/gitops as its user has it: a git repository, and quadgen among the programs of the shell."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import quadgen
from source import ROOT

EXAMPLE = ROOT / "examples/gitops"
_WHO = {f"GIT_{role}_{what}": "ada@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A clone with its origin, both below `place`, and a shell in which quadgen is a command."""

    place: Path
    tree: Path
    """The work tree, in which scripts are run."""

    def run(self, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a script as GitHub and GitLab do, which ends with the first command that fails."""
        return subprocess.run(
            ["/bin/bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.tree,
            env={
                "PATH": f"{self.place / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
                "HOME": str(self.place / "home"),
                "GIT_CONFIG_NOSYSTEM": "1",
                "LC_ALL": "C.UTF-8",
                **_WHO,
                **variables,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def done(self, script: str, **variables: str) -> str:
        """Run a script that must succeed; what it prints."""
        run = self.run(script, **variables)
        assert run.returncode == 0, run.stderr
        return run.stdout

    def edit(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        path = self.tree / name
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, (name, old)
        path.write_text(text.replace(old, new), encoding="utf-8")


def prepared(place: Path, *, tree: str) -> Repository:
    """A shell for a work tree below `place`, which is empty and stays so but for its programs and its home."""
    for directory in ("bin", "home"):
        (place / directory).mkdir()
    program = place / "bin" / "quadgen"
    source = Path(quadgen.__file__).parents[1]
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{source}" exec "{sys.executable}" -m quadgen "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return Repository(place=place, tree=place / tree)


def clone(place: Path) -> Repository:
    """Make a repository of the example, and clone it into `place`, which is empty."""
    repository = prepared(place, tree="fleet")
    shutil.copytree(EXAMPLE, repository.tree)
    repository.done(
        "git init --quiet --initial-branch main && git add --all && git commit --quiet --message begin"
        " && git clone --quiet --bare . ../origin.git && git remote add origin ../origin.git"
        " && git fetch --quiet origin"
    )
    return repository
