"""What is built is what was tested: wheel, sdist and editable install find all that they need."""

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import quadgen
from source import ROOT, tracked

VERSION = quadgen.__version__
NOT_SHIPPED = {".ci", ".editorconfig", ".gitattributes"}
"""What only a checkout needs."""
EXAMPLE = "examples/one-host"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def unpacked_sdist(sdist: Path) -> Path:
    with tarfile.open(sdist) as archive:
        held = {name: archive.extractfile(name) for name in archive.getnames()}
        unpack({name: data.read() for name, data in held.items() if data}, sdist.parent)
    return sdist.parent / f"quadgen-{VERSION}"


@pytest.fixture(scope="module")
def unpacked_wheel(wheel: Path) -> Path:
    return unpack(members(wheel), wheel.parent / "site")


def build(root: Path, target: str, out: Path) -> Path:
    """Build one target with the hatchling of this environment, without a network."""
    done = run([sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(out)], root)
    assert done.returncode == 0, done.stderr
    (built,) = out.iterdir()
    return built


def run(command: list[str], directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with nothing of the checkout on its path but what `environment` says."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command,
        cwd=directory,
        env={**clean, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def tree(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def unpack(held: Mapping[str, bytes], directory: Path) -> Path:
    for name, data in held.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(data)
    return directory


def members(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_package_its_data_and_the_templates_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"quadgen-{VERSION}-py3-none-any.whl"
    source = {path.relative_to("src").as_posix() for path in tracked() if path.is_relative_to("src/quadgen")}
    templates = {f"quadgen/{path.as_posix()}" for path in tracked() if path.parts[0] == "templates"}
    assert templates
    assert {name for name in members(wheel) if ".dist-info/" not in name} == {
        *source,
        *templates,
        "quadgen/data/errors.md",
    }


def test_the_wheel_declares_the_command_and_carries_the_licence(wheel: Path) -> None:
    held = members(wheel)
    info = f"quadgen-{VERSION}.dist-info"
    assert b"quadgen = quadgen.cli:main" in held[f"{info}/entry_points.txt"]
    assert held[f"{info}/licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()


def test_the_sdist_holds_what_git_tracks_so_that_its_tests_run(
    unpacked_sdist: Path,
) -> None:
    expected = {path.as_posix() for path in tracked() if path.parts[0] not in NOT_SHIPPED}
    assert set(tree(unpacked_sdist)) == {*expected, "PKG-INFO"}


def test_a_wheel_from_the_source_distribution_is_the_wheel(wheel: Path, unpacked_sdist: Path, tmp_path: Path) -> None:
    assert members(build(unpacked_sdist, "wheel", tmp_path)) == members(wheel)


def test_the_unpacked_wheel_runs_without_the_checkout(unpacked_wheel: Path, tmp_path: Path) -> None:
    where = run(
        [sys.executable, "-c", "import quadgen; print(quadgen.__file__)"],
        tmp_path,
        PYTHONPATH=str(unpacked_wheel),
    )
    assert Path(where.stdout.strip()).is_relative_to(unpacked_wheel), where.stderr
    done = run([sys.executable, "-m", "quadgen", "--version"], tmp_path, PYTHONPATH=str(unpacked_wheel))
    assert (done.returncode, done.stderr) == (0, "")
    assert VERSION in done.stdout


def test_the_unpacked_wheel_renders_an_example_byte_for_byte(unpacked_wheel: Path, tmp_path: Path) -> None:
    fleet = str(ROOT / EXAMPLE / "fleet.yml")
    command = [sys.executable, "-m", "quadgen", "render", fleet, "-o", "out"]
    done = run(command, tmp_path, PYTHONPATH=str(unpacked_wheel))
    assert done.returncode == 0, done.stderr
    assert tree(tmp_path / "out") == tree(ROOT / EXAMPLE / "rendered")


def test_the_unpacked_wheel_explains_a_code(unpacked_wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "quadgen", "explain", "--code", "unmeasured-combination"]
    done = run(command, tmp_path, PYTHONPATH=str(unpacked_wheel))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_an_editable_install_finds_source_templates_and_the_error_index(tmp_path: Path) -> None:
    program = f"import hatchling.build; print(hatchling.build.build_editable({str(tmp_path)!r}))"
    done = run([sys.executable, "-c", program], ROOT)
    assert done.returncode == 0, done.stderr
    site = unpack(members(tmp_path / done.stdout.split()[-1]), tmp_path / "site")
    enter = f"import site, sys; site.addsitedir({str(site)!r}); "
    asked = f"{enter}import quadgen.disk as disk; print(disk.__file__, disk.template_root())"
    found = run([sys.executable, "-c", asked], tmp_path)
    expected = [str(ROOT / "src" / "quadgen" / "disk" / "__init__.py"), str(ROOT / "templates")]
    assert found.stdout.split() == expected, found.stderr
    command = [sys.executable, "-c", f"{enter}from quadgen.cli import main; main()"]
    done = run([*command, "explain", "--code", "unmeasured-combination"], tmp_path)
    assert done.returncode == 0, done.stderr
