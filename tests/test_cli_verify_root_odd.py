"""`quadgen verify --root` with trees that nobody rendered, and hosts on which odd things stand."""

import json
import os
from pathlib import Path

import pytest

from command import quadgen
from fleets import run
from root_hosts import CHAT, PLAIN, codes, laid, verify


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    return laid(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("mode", "rw", f"the mode of {CHAT} is not four octal digits"),
        ("mode", 420, f"the mode of {CHAT} is not four octal digits"),
        ("unit", ["chat.service"], f"the unit of {CHAT} is not the name of one"),
        ("unit", "../chat.service", f"the unit of {CHAT} is not the name of one"),
        ("unit", "--now.service", f"the unit of {CHAT} is not the name of one"),
        ("restart", 1, f"the service or the digest of {CHAT} is not text"),
    ],
)
def test_a_manifest_that_says_odd_things_of_a_file_is_refused(place: Path, key: str, value: object, why: str) -> None:
    manifest = place / "rendered/claw/manifest.json"
    whole = json.loads(manifest.read_text())
    whole["files"][0][key] = value
    manifest.write_text(json.dumps(whole))
    done = verify(place)
    assert done.status == 1
    assert done.err.startswith(
        f"error[not-ours]: rendered/claw/manifest.json is no manifest that quadgen wrote for claw: {why}\n"
    )


@pytest.mark.parametrize(
    ("services", "why"),
    [
        (None, "`services` is not a list of objects"),
        ({}, "`services` is not a list of objects"),
        ([1], "`services` is not a list of objects"),
        ([{}], "the unit of service 1 is not the name of one"),
        ([{"unit": "chat.service", "user": [1]}], "the user of service 1 is not the name of one"),
        ([{"unit": "chat.service", "user": "a\0b"}], "the user of service 1 is not the name of one"),
        ([{"unit": "chat.service", "autostart": "yes"}], "`autostart` of service 1 is neither true nor false"),
        ([{"unit": "chat.service", "conflicts": None}], "`conflicts` of service 1 is not a list of units"),
        ([{"unit": "chat.service", "conflicts": [{}]}], "`conflicts` of service 1 is not a list of units"),
    ],
)
def test_a_manifest_that_says_odd_things_of_services_is_refused(place: Path, services: object, why: str) -> None:
    manifest = place / "rendered/claw/manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "services": services}))
    done = verify(place)
    assert (done.status, f"for claw: {why}\n" in done.err) == (1, True)


@pytest.mark.parametrize("kind", ["fifo", "link", "link above", "directory"])
def test_what_is_no_file_of_the_tree_is_none_that_was_rendered(place: Path, kind: str) -> None:
    file = place / "rendered/claw" / CHAT
    moved = place / "moved"
    if kind == "link above":
        (place / "rendered/claw/etc").rename(moved)
        (place / "rendered/claw/etc").symlink_to(moved)
    else:
        file.rename(moved)
        {"fifo": os.mkfifo, "link": lambda path: path.symlink_to(moved), "directory": Path.mkdir}[kind](file)
    done = verify(place)
    assert (done.status, f"[file-missing]: the manifest lists {CHAT}, which is not there" in done.err) == (1, True)


@pytest.mark.parametrize("name", ["x" * 300, "/".join("y" * 3000)])
def test_a_path_longer_than_any_file_has_is_one_that_is_not_there(place: Path, name: str) -> None:
    manifest = place / "rendered/claw/manifest.json"
    whole = json.loads(manifest.read_text())
    whole["files"][0]["path"] = name
    manifest.write_text(json.dumps(whole))
    done = verify(place)
    assert (done.status, f"[file-missing]: the manifest lists {name}, which is not there" in done.err) == (1, True)


@pytest.mark.parametrize("locked", [CHAT, "etc/containers"])
def test_a_tree_that_cannot_be_read_is_not_called_incomplete(place: Path, locked: str) -> None:
    (place / "rendered/claw" / locked).chmod(0)
    done = run("verify", "rendered", "--root", "root", "--host", "claw", cwd=place, under=PLAIN)
    (place / "rendered/claw" / locked).chmod(0o755)  # or nobody could clear it away
    assert (done.returncode, done.stderr) == (4, f"quadgen: cannot read rendered/claw/{CHAT}: Permission denied\n")


def test_a_huge_file_without_a_line_end_is_shown_from_its_start(place: Path) -> None:
    os.truncate(place / "root" / CHAT, 2**40)
    done = verify(place)
    assert done.status == 3
    assert max(map(len, done.err.splitlines())) < 5000
    assert "\\x00\\x00 ...\n" in done.err


def test_what_differs_at_the_end_of_a_long_command_is_shown(place: Path) -> None:
    installed = place / "root" / CHAT
    more = "--no-mmap " * 30 + "--verbose"
    installed.write_text(installed.read_text().replace("--parallel 1", f"--parallel 1 {more}"))
    done = verify(place)
    assert (done.status, f"--parallel 1 {more}" in done.err) == (3, True)


@pytest.mark.parametrize("name", ["a\ud800", "a\nb", "/".join("y" * 300), "x" * 300])
def test_a_state_with_names_that_no_tree_has_is_read_without_them(place: Path, name: str) -> None:
    state = place / "root/var/lib/quadgen/state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps({"version": 1, "host": "claw", "files": {name: "", "etc/old": ""}}))
    (place / "root/etc/old").touch()
    assert codes(verify(place, "claw", "--format", "json")) == [("left-over", "etc/old")]


def test_a_state_is_read_behind_a_link_as_a_pull_reads_it(place: Path) -> None:
    state = place / "root/var/lib/quadgen/state.json"
    state.parent.mkdir(parents=True)
    (place / "root/srv").mkdir()
    (place / "root/srv/state.json").write_text('{"version": 1, "host": "nook"}')
    state.symlink_to("/srv/state.json")
    assert codes(verify(place, "claw", "--format", "json")) == [("not-ours", "var/lib/quadgen/state.json")]


@pytest.mark.parametrize("text", [None, "", "ada:x:\u00b2:1::/home/ada:\nada:x:1\n:::::::\n"])
def test_a_user_that_an_image_does_not_have_leaves_something_unlooked_at(place: Path, text: str | None) -> None:
    passwd = place / "root/etc/passwd"
    passwd.unlink()
    if text is not None:
        passwd.write_text(text)
    done = verify(place, "nook")
    said = f"{passwd} has no user ada: what else changes the units of ada was not looked at\n"
    assert (done.status, f"warning[not-verified]: {said}" in done.err) == (4, True)


@pytest.mark.parametrize("name", ["CLAW", "Claw"])
def test_a_name_in_other_letters_is_another_name_and_the_near_one_is_named(place: Path, name: str) -> None:
    done = verify(place, name)
    assert (done.status, "hint: did you mean --host claw?\n" in done.err) == (1, True)


def test_an_empty_root_is_no_root(place: Path) -> None:
    done = quadgen("verify", "rendered", "--root", "", "--host", "claw", cwd=place)
    assert (done.status, "it is empty" in done.err) == (2, True)
