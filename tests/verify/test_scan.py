"""What is looked at in a rendered tree, and that nothing is left out in silence. The programs are stand-ins."""

import os
from pathlib import Path

import pytest

from quadgen.problems import Rejected, Severity, Unavailable
from trees import BARE, CONTENT, FORGE, QUADLETS, UNITS, USER_QUADLETS, USER_UNITS, script, verify, write_host


@pytest.fixture(name="content")
def _content(tmp_path: Path) -> str:
    return script(tmp_path / "quadlet", CONTENT)


@pytest.fixture(name="quiet")
def _quiet(tmp_path: Path) -> str:
    return script(tmp_path / "systemd-analyze", "exit 0")


def test_every_directory_that_a_manager_reads_is_found(tmp_path: Path, content: str, quiet: str) -> None:
    quadlets = (
        QUADLETS,
        USER_QUADLETS,
        f"{QUADLETS}/users",
        f"{QUADLETS}/users/1000",
        "root/.config/containers/systemd",
    )
    units = (UNITS, USER_UNITS, "etc/systemd/user", "var/lib/llm/.config/systemd/user")
    files = {f"{folder}/a{n}.container": BARE.replace("80", "90") for n, folder in enumerate(quadlets)}
    files |= {f"{folder}/b{n}.service": FORGE for n, folder in enumerate(units)}
    write_host(tmp_path / "tree", files)
    differs = [problem for problem in verify(tmp_path / "tree", quadlet=content, systemd=quiet) if problem.place]
    assert {problem.code for problem in differs} == {"generator-differs"}
    assert len(differs) == len(quadlets)
    (unread,) = verify(tmp_path / "tree", quadlet=None, systemd=quiet)
    assert unread.message.startswith("5 Quadlets were")


@pytest.mark.parametrize(
    "path", ["usr/lib/systemd/system/x.service", "usr/share/containers/systemd/x.container", f"{UNITS}/old/x.service"]
)
def test_a_unit_that_no_manager_reads_there_is_named(tmp_path: Path, quiet: str, path: str) -> None:
    write_host(tmp_path / "tree", {path: FORGE, f"{UNITS}/forge.service": FORGE})
    (problem,) = verify(tmp_path / "tree", systemd=quiet)
    assert (problem.code, problem.severity) == ("not-verified", Severity.WARNING)
    assert problem.message == f"{path} was not verified: no manager reads this directory"


def test_links_are_named_and_not_followed_but_for_those_that_enable_a_unit(tmp_path: Path, quiet: str) -> None:
    directory = write_host(tmp_path / "tree", {f"{UNITS}/forge.service": FORGE})
    (directory / UNITS / "night.service").symlink_to("forge.service")
    (directory / "etc/containers").symlink_to("/etc")
    wants = directory / UNITS / "multi-user.target.wants"
    wants.mkdir()
    (wants / "forge.service").symlink_to("../forge.service")
    problems = verify(tmp_path / "tree", systemd=quiet)
    assert [problem.message.partition(" ")[0] for problem in problems] == ["etc/containers", f"{UNITS}/night.service"]
    assert {problem.code for problem in problems} == {"not-verified"}


def test_a_file_that_the_manifest_lists_must_be_there(tmp_path: Path, quiet: str) -> None:
    directory = write_host(tmp_path, {f"{UNITS}/forge.service": FORGE, f"{UNITS}/night.service": FORGE})
    (directory / UNITS / "night.service").unlink()
    (problem,) = verify(tmp_path, systemd=quiet)
    assert (problem.code, problem.message) == (
        "file-missing",
        f"the manifest lists {UNITS}/night.service, which is not there",
    )


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"files": 1}', '{"files": [1]}', '{"files": [{}]}', "\0", "[" * 9999]
)
def test_a_manifest_that_is_none_is_refused_and_the_units_are_still_judged(tmp_path: Path, text: str) -> None:
    directory = write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    (directory / "manifest.json").write_text(text)
    problems = verify(tmp_path, systemd=script(tmp_path / "systemd-analyze", "echo no"))
    assert {problem.code for problem in problems} == {"not-ours", "systemd-refused"}


def test_a_host_without_units_is_no_success(tmp_path: Path, quiet: str) -> None:
    write_host(tmp_path, {})
    (problem,) = verify(tmp_path, systemd=quiet)
    assert (problem.code, problem.severity) == ("not-verified", Severity.WARNING)


def test_a_directory_without_hosts_is_refused(tmp_path: Path, quiet: str) -> None:
    with pytest.raises(Rejected) as raised:
        verify(tmp_path, systemd=quiet)
    assert [problem.code for problem in raised.value.problems] == ["nothing-to-verify"]


def test_a_directory_beside_the_hosts_is_named(tmp_path: Path, quiet: str) -> None:
    write_host(tmp_path / "tree", {f"{UNITS}/forge.service": FORGE})
    (tmp_path / "tree/by-hand/etc").mkdir(parents=True)
    (tmp_path / "tree/.git").mkdir()
    (problem,) = verify(tmp_path / "tree", systemd=quiet)
    assert (problem.severity, problem.message) == (
        Severity.WARNING,
        "by-hand was not verified: it has no manifest.json",
    )
    assert verify(tmp_path / "tree", systemd=quiet, hosts=frozenset({"claw"})) == []


def test_a_name_that_is_not_utf_8_is_named_all_the_same(tmp_path: Path, quiet: str) -> None:
    directory = write_host(tmp_path / "tree", {f"{UNITS}/forge.service": FORGE})
    os.close(os.open(os.fsencode(directory / UNITS) + b"/\xff.service", os.O_CREAT | os.O_WRONLY))
    (problem,) = verify(tmp_path / "tree", systemd=quiet)
    assert problem.message.startswith(f"{UNITS}/\\udcff.service was not verified: ")


def test_a_file_that_cannot_be_read_is_unavailable(tmp_path: Path, quiet: str) -> None:
    directory = write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    (directory / "manifest.json").unlink()
    (directory / "manifest.json").symlink_to("/proc/self/mem")
    with pytest.raises(Unavailable, match=f"cannot read {directory}/manifest.json: "):
        verify(tmp_path, systemd=quiet)


def test_a_directory_that_is_not_there_is_unavailable(tmp_path: Path, quiet: str) -> None:
    with pytest.raises(Unavailable, match=f"cannot read {tmp_path}/none: No such file or directory"):
        verify(tmp_path / "none", systemd=quiet)


def test_only_the_hosts_that_were_asked_for_are_judged(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})).rename(tmp_path / name)
    problems = verify(tmp_path, systemd=script(tmp_path / "systemd-analyze", "echo no"), hosts=frozenset({"b", "z"}))
    assert [(problem.code, problem.host) for problem in problems] == [
        ("nothing-to-verify", "z"),
        ("systemd-refused", "b"),
    ]
