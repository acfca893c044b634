"""The real ansible-lint, at its strictest profile, has nothing to say of the collection."""

import os
import shutil
import subprocess
from pathlib import Path

from ansible_run import BIN, COLLECTION
from collection import COLLECTION as SOURCE


def test_ansible_lint_finds_nothing_at_its_production_profile(tmp_path: Path) -> None:
    """In a copy, below the directory where Ansible looks for it: ansible-lint leaves a cache where it runs."""
    place = tmp_path / COLLECTION
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    done = subprocess.run(
        [BIN / "ansible-lint", "--offline", "--profile", "production", "--strict", "--nocolor"],
        cwd=place,
        env={"PATH": os.pathsep.join([str(BIN), os.environ["PATH"]]), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
        | {"ANSIBLE_COLLECTIONS_PATH": str(tmp_path / "collections")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed: 0 failure(s), 0 warning(s)" in done.stderr, done.stderr
    assert "Profile 'production' was required, and it passed" in done.stderr, done.stderr
