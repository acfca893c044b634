"""Where the outside programs are looked for, and that none of them can hang or surprise a run."""

import os
import time
from pathlib import Path

import pytest

from quadgen.problems import Unavailable
from quadgen.verify import Generator, find_generators, find_systemd_analyze, programs


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_the_variable_wins_over_the_usual_places_and_takes_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = script(tmp_path / "usual", "echo 4.9.3")
    old, new = script(tmp_path / "old", "echo 5.4.2"), script(tmp_path / "new", "echo v5.8.0-rc1")
    monkeypatch.setattr(programs, "GENERATORS", (str(usual),))
    assert find_generators({"QUADGEN_QUADLET": f"{old}{os.pathsep}{new}"}) == (
        Generator(version="5.4.2", path=str(old)),
        Generator(version="5.8.0-rc1", path=str(new)),
    )
    assert find_generators({"QUADGEN_QUADLET": ""}) == (Generator(version="4.9.3", path=str(usual)),)


def test_one_generator_under_both_its_names_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = script(tmp_path / "quadlet", "echo 5.4.2")
    (tmp_path / "link").symlink_to(real)
    monkeypatch.setattr(programs, "GENERATORS", (str(real), str(tmp_path / "link"), str(tmp_path / "none")))
    assert [generator.version for generator in find_generators({})] == ["5.4.2"]


def test_no_generator_is_no_error_of_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "GENERATORS", ("/nowhere/quadlet",))
    assert find_generators({}) == ()


def test_a_generator_that_was_named_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path in (tmp_path / "none", tmp_path / "text", tmp_path):
        with pytest.raises(Unavailable, match=f"QUADGEN_QUADLET names {path}, which is not a program"):
            find_generators({"QUADGEN_QUADLET": str(path)})


@pytest.mark.parametrize("text", ["exit 1", "echo hello", "echo 5.4.2; exit 3", "echo 5.4.2 and more"])
def test_a_program_that_does_not_say_its_version_is_no_generator(tmp_path: Path, text: str) -> None:
    program = script(tmp_path / "quadlet", text)
    with pytest.raises(Unavailable, match="does not say its version"):
        find_generators({"QUADGEN_QUADLET": str(program)})


def test_a_program_that_this_machine_cannot_start_is_unavailable(tmp_path: Path) -> None:
    program = tmp_path / "quadlet"
    program.write_bytes(b"\x7fELF of another kind")
    program.chmod(0o755)
    with pytest.raises(Unavailable, match=rf"cannot run {program}: Exec format error"):
        find_generators({"QUADGEN_QUADLET": str(program)})


def test_systemd_analyze_is_looked_for_on_the_path_alone(tmp_path: Path) -> None:
    program = script(tmp_path / "systemd-analyze", "exit 0")
    assert find_systemd_analyze({"PATH": f"/nowhere{os.pathsep}{tmp_path}"}) == str(program)
    assert find_systemd_analyze({"PATH": "/nowhere"}) is None


def test_a_program_sees_nothing_of_the_environment_of_quadgen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    said = programs.run(["/usr/bin/env"], environ={"MINE": "y"}, timeout=10)
    assert sorted(said.stdout.split()) == ["LC_ALL=C.UTF-8", "MINE=y", f"PATH={os.defpath}"]


def test_bytes_that_are_not_utf_8_do_not_stop_the_run() -> None:
    said = programs.run(["/usr/bin/printf", r"a\377b"], environ={}, timeout=10)
    assert (said.status, said.stdout, said.stderr) == (0, r"a\xffb", "")


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    left = tmp_path / "left"
    program = script(tmp_path / "hung", f"(sleep 0.6; touch {left}) & sleep 60")
    began = time.monotonic()
    assert programs.run([str(program)], environ={}, timeout=0.2).status is None
    assert time.monotonic() - began < 10
    time.sleep(0.9)
    assert not left.exists()


@pytest.mark.parametrize(
    ("version", "podman", "speaks"),
    [
        ("5.4.2", None, True),
        ("5.4.2", "5.4.2", True),
        ("5.10.0", "5.9.1", True),
        ("5.4.2", "5.4", True),
        ("5.4.2", "5.5", False),
        ("5.8.0-rc1", "5.8.0", False),
        ("main", "5.8.0", True),
    ],
)
def test_a_generator_speaks_for_hosts_whose_podman_it_is_not_older_than(
    version: str,
    podman: str | None,
    speaks: bool,  # noqa: FBT001 - a column of the table
) -> None:
    assert Generator(version=version, path="").speaks_for(podman) is speaks
