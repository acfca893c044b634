"""`quadgen verify --root` on the files of a host that is made below a temporary directory."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from command import quadgen
from fleets import run
from root_hosts import CHAT, NOOK, PLAIN, codes, laid, verify


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    return laid(tmp_path)


@pytest.mark.parametrize(("host", "files"), [("claw", "2 files"), ("nook", "1 file")])
def test_a_host_that_has_its_tree_is_as_rendered_and_no_service_was_asked_for(
    place: Path, host: str, files: str
) -> None:
    done = verify(place, host)
    assert (done.status, done.out) == (0, "")
    assert done.err == (
        "quadgen: root is not the root of this machine: files were compared, and no service was asked for\n"
        f"quadgen: {host}: {files} as rendered\n"
    )


def test_every_difference_is_reported_in_one_run_with_status_3(place: Path) -> None:
    root = place / "root"
    (root / CHAT).write_text((root / CHAT).read_text().replace("4096", "8192"))
    (root / "etc/containers/systemd/embed.container").unlink()
    (root / f"{CHAT}.d").mkdir()
    (root / f"{CHAT}.d/10.conf").write_text("[Container]\nTimezone=local\n")
    (root / "usr/share/containers/systemd/container.d").mkdir(parents=True)
    (root / "usr/share/containers/systemd/container.d/site.conf").write_text("[Container]\nTimezone=local\n")
    (root / "etc/systemd/system/service.d").mkdir(parents=True)
    (root / "etc/systemd/system/service.d/x.conf").write_text("[Service]\nNice=5\n")
    (root / "etc/systemd/system/embed.service").symlink_to("/dev/null")
    done = verify(place, "claw", "--format", "json")
    assert done.status == 3
    assert sorted(codes(done)) == [
        ("file-changed", CHAT),
        ("file-missing", "etc/containers/systemd/embed.container"),
        ("foreign-drop-in", f"{CHAT}.d/10.conf"),
        ("foreign-drop-in", "etc/systemd/system/service.d/x.conf"),
        ("foreign-drop-in", "usr/share/containers/systemd/container.d/site.conf"),
        ("unit-shadowed", "etc/systemd/system/embed.service"),
    ]
    assert "service.d/x.conf changes chat.service, embed.service, and no manifest lists it" in done.out
    assert done.err.endswith("quadgen: claw: not as it was rendered\n")


def test_a_drop_in_of_the_distribution_for_all_services_is_no_difference(place: Path) -> None:
    folder = place / "root/usr/lib/systemd/system/service.d"
    folder.mkdir(parents=True)
    (folder / "10-timeout-abort.conf").write_text("[Service]\nTimeoutStopFailureMode=abort\n")
    done = verify(place)
    assert done.status == 0
    assert "note[foreign-drop-in]: " in done.err
    assert "= note: [Service] TimeoutStopFailureMode=abort\n" in done.err


@pytest.mark.parametrize(
    ("folder", "read"),
    [
        ("etc/containers/systemd/users", True),
        ("etc/containers/systemd/users/1234", True),
        ("etc/containers/systemd/users/everybody/sub", True),
        ("etc/containers/systemd/users/1000", False),
        ("run/user/1234/containers/systemd", True),
        ("run/user/1000/containers/systemd", False),
        ("etc/containers/systemd", False),
        ("home/ada/.config/containers/systemd/sub", True),
    ],
)
def test_the_directories_of_a_user_are_those_that_the_user_s_generator_reads(
    place: Path, folder: str, *, read: bool
) -> None:
    dropped = place / "root" / folder / "llama-server.container.d"
    dropped.mkdir(parents=True)
    (dropped / "x.conf").write_text("[Container]\nTimezone=local\n")
    assert verify(place, "nook").status == (3 if read else 0)
    assert verify(place, "claw").status == 0


def test_a_quadlet_of_the_name_that_podman_finds_first_takes_its_place(place: Path) -> None:
    first = place / "root/run/containers/systemd/chat.container"
    first.parent.mkdir(parents=True)
    first.write_text("[Container]\nImage=x\n")
    done = verify(place, "claw", "--format", "json")
    assert codes(done) == [("unit-shadowed", "run/containers/systemd/chat.container")]


def test_links_of_an_image_are_followed_inside_of_it(place: Path) -> None:
    root = place / "root"
    (root / "var").mkdir()
    (root / "home").rename(root / "var/home")
    (root / "home").symlink_to("/var/home")
    assert verify(place, "nook").status == 0
    (root / "home").unlink()
    (root / "home").symlink_to("../../../../var/home")
    assert verify(place, "nook").status == 0
    (root / "home").unlink()
    (root / "home").symlink_to("home")
    done = verify(place, "nook")
    assert (done.status, "Too many levels of symbolic links" in done.err) == (4, True)


def test_a_link_in_the_place_of_a_file_is_a_difference_wherever_it_leads(place: Path) -> None:
    file = place / "root" / CHAT
    file.rename(place / "root/elsewhere")
    file.symlink_to("/elsewhere")
    done = verify(place)
    assert done.status == 3
    assert "chat.container is a symbolic link to /elsewhere, and should be a file\n" in done.err


def test_a_fifo_in_the_way_stops_nobody(place: Path) -> None:
    file = place / "root" / CHAT
    file.unlink()
    os.mkfifo(file)
    (file.parent / "chat.container.d").mkdir()
    os.mkfifo(file.parent / "chat.container.d/x.conf")
    done = verify(place, "claw", "--format", "json")
    assert sorted(codes(done)) == [("file-changed", CHAT), ("foreign-drop-in", f"{CHAT}.d/x.conf")]


@pytest.mark.parametrize("home", ["", "home/ada/.local/state/quadgen/"])
def test_what_an_earlier_tree_left_is_found_by_the_state(place: Path, home: str) -> None:
    state = place / "root" / (home or "var/lib/quadgen/") / "state.json"
    state.parent.mkdir(parents=True)
    old = f"{Path(NOOK).parent}/old.container"
    state.write_text(json.dumps({"version": 1, "host": "nook", "files": {old: "", NOOK: ""}}))
    assert verify(place, "nook").status == 0
    (place / "root" / old).write_text("[Container]\n")
    assert codes(verify(place, "nook", "--format", "json")) == [("left-over", old)]
    state.write_text("{")
    done = verify(place, "nook")
    assert (done.status, "is no state of version 1" in done.err) == (4, True)


def test_what_cannot_be_read_is_said_and_the_rest_is_compared(place: Path) -> None:
    (place / "root" / CHAT).chmod(0)
    done = run("verify", "rendered", "--root", "root", "--host", "claw", cwd=place, under=PLAIN)
    assert (done.returncode, "error" in done.stderr) == (4, False)
    assert f"{CHAT}: Permission denied" in done.stderr


def test_without_a_host_it_is_the_one_that_is_called_as_the_machine(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def named(node: str) -> Callable[[], os.uname_result]:
        return lambda: os.uname_result(("Linux", node, "1", "1", "x86_64"))

    words = ("verify", "rendered", "--root", "root")
    for node in ("claw", "claw.example.org"):
        monkeypatch.setattr(os, "uname", named(node))
        assert quadgen(*words, cwd=place).err.endswith("quadgen: claw: 2 files as rendered\n")
    monkeypatch.setattr(os, "uname", named("forge.example.org"))
    assert "quadgen: forge.example.org: not as it was rendered" in quadgen(*words, cwd=place).err
    monkeypatch.setattr(os, "uname", named("clew"))
    done = quadgen(*words, cwd=place)
    assert done.status == 1
    assert done.err == (
        "error[nothing-to-verify]: rendered holds no host called as this machine is: clew\n"
        "  = note: it has claw, forge.example.org, nook\n"
        "  = hint: did you mean --host claw?\n\nquadgen: 1 error\n"
    )


def test_a_host_that_is_not_there_is_refused_with_the_names_that_are(place: Path) -> None:
    done = verify(place, "nowhere")
    assert done.status == 1
    assert done.err == (
        "error[nothing-to-verify]: rendered holds no rendered host nowhere\n"
        "  = host: nowhere\n"
        "  = note: it has claw, forge.example.org, nook\n"
        "  = hint: name one of them with --host\n\nquadgen: 1 error\n"
    )


def test_one_host_s_directory_is_a_tree_as_well(place: Path) -> None:
    done = quadgen("verify", "rendered/claw", "--root", "root", "--host", "claw", cwd=place)
    assert (done.status, done.err.splitlines()[-1]) == (0, "quadgen: claw: 2 files as rendered")


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--root", "root", "--host", "claw", "--host", "nook"), 2, "with --root there is one host"),
        (("--root", "nowhere", "--host", "claw"), 4, "cannot read nowhere: it is no directory"),
        (("--root", "fleet.yml", "--host", "claw"), 4, "cannot read fleet.yml: it is no directory"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(
    place: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    done = quadgen("verify", "rendered", *words, cwd=place)
    assert (done.status, said in done.err) == (status, True)


def test_a_tree_that_lost_a_file_is_refused_before_anything_is_compared(place: Path) -> None:
    (place / "rendered/claw" / CHAT).unlink()
    done = verify(place)
    assert (done.status, f"[file-missing]: the manifest lists {CHAT}, which is not there" in done.err) == (1, True)


def test_differences_are_annotations_and_sarif_as_other_problems_are(place: Path) -> None:
    (place / "root" / CHAT).chmod(0o600)
    assert verify(place, "claw", "--format", "github").out.startswith("::error file=")
    (result,) = json.loads(verify(place, "claw", "--format", "sarif").out)["runs"][0]["results"]
    assert result["ruleId"] == "file-changed"
