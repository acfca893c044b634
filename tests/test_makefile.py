"""What `make` promises a newcomer: a first run installs, a second does not, and what is lacking is named."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from source import ROOT

MAKE = shutil.which("make") or ""
PYTHON = """\
#!/bin/sh
echo "python $*" >>log
case "$*" in
  *version_info*) exit "${OLD:-0}" ;;
  *ensurepip*) exit "${BARE:-0}" ;;
  *"-m venv"*)
    for last; do :; done
    mkdir -p "$last/bin"
    cp "$0" "$last/bin/python"
    printf '#!/bin/sh\\necho "quadgen $*" >>log\\n' >"$last/bin/quadgen"
    chmod +x "$last/bin/quadgen"
    ;;
esac
"""
"""Stands in for Python: notes what it is asked, and makes environments of stand-ins."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if not MAKE:
        pytest.skip("make is not on this machine")
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "python").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def make(checkout: Path, target: str, **environment: str) -> tuple[int, str, list[str]]:
    """Run one target; return its status, its errors and what was called."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    (checkout / "log").write_text("", encoding="utf-8")
    done = subprocess.run(
        [MAKE, "PYTHON=./python", "VENV=.venv", "FLEET=fleet.yml", target],
        cwd=checkout,
        env={**outer, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, (checkout / "log").read_text(encoding="utf-8").splitlines()


def age(path: Path) -> None:
    """Make a file older than every other of the checkout."""
    os.utime(path, (0, 0))


def test_a_first_run_makes_an_environment_installs_and_renders(checkout: Path) -> None:
    status, errors, called = make(checkout, "render")
    assert (status, errors) == (0, "")
    assert called[-3:] == [
        "python -m venv --clear .venv",
        "python -m pip install --quiet --editable .",
        "quadgen render fleet.yml",
    ]


def test_a_second_run_installs_nothing(checkout: Path) -> None:
    make(checkout, "render")
    assert make(checkout, "render") == (0, "", ["quadgen render fleet.yml"])


def test_a_new_time_stamp_alone_installs_nothing(checkout: Path) -> None:
    make(checkout, "render")
    age(checkout / ".venv" / ".installed")
    assert make(checkout, "render") == (0, "", ["quadgen render fleet.yml"])


def test_another_pyproject_is_installed_into_the_environment_that_is_there(checkout: Path) -> None:
    make(checkout, "render")
    age(checkout / ".venv" / ".installed")
    with (checkout / "pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("# another\n")
    _, _, called = make(checkout, "render")
    assert called == [
        "python -m pip --version",
        "python -m pip install --quiet --editable .",
        "quadgen render fleet.yml",
    ]


def test_a_python_that_is_too_old_is_named(checkout: Path) -> None:
    status, errors, called = make(checkout, "render", OLD="1")
    assert status == 2
    assert "quadgen needs Python 3.11 or later, and ./python is none" in errors
    assert not any("install" in line for line in called)


def test_a_python_that_cannot_make_environments_is_told_how(checkout: Path) -> None:
    status, errors, _ = make(checkout, "render", BARE="1")
    assert status == 2
    assert "install python3-venv (on Debian: apt-get install python3-venv)" in errors
    assert not (checkout / ".venv").exists()


def test_parts_are_brought_by_the_environments_python_where_there_is_one(checkout: Path) -> None:
    assert make(checkout, "parts") == (0, "", ["python tests/fetch_parts.py"])
    environment = checkout / ".venv" / "bin" / "python"
    environment.parent.mkdir(parents=True)
    environment.write_text(PYTHON.replace("python $*", "its python $*"), encoding="utf-8")
    environment.chmod(0o755)
    assert make(checkout, "parts", REFRESH="1") == (0, "", ["its python tests/fetch_parts.py --refresh"])


def test_help_lists_every_target(checkout: Path) -> None:
    done = subprocess.run([MAKE, "help"], cwd=checkout, capture_output=True, text=True, check=True)
    listed = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("  make ")}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    declared = next(line for line in makefile.splitlines() if line.startswith(".PHONY:")).split()[1:]
    assert listed == set(declared)
