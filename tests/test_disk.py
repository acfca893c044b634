"""Surveys and writes on a real directory: what changes, what stays, what is refused."""

import os
from pathlib import Path

import pytest

from hosts import CHAT, EMBED, snapshot, tree
from quadgen.disk import apply, read_file, reading, survey, template_root
from quadgen.plan import Plan
from quadgen.problems import Unavailable
from quadgen.tree import HostTree

FORGE = tree({CHAT: b"forge\n"}, host="forge")
CLAW = tree({CHAT: b"chat\n", EMBED: b"embed\n"})


def write(root: Path, *trees: HostTree, only: frozenset[str] | None = None) -> Plan:
    return apply(str(root), trees, only=only, texts=True, notify=pytest.fail)


def look(root: Path, *trees: HostTree, only: frozenset[str] | None = None) -> Plan:
    return survey(str(root), trees, only=only, texts=True)


def kinds(plan: Plan) -> list[tuple[str, str]]:
    return [(change.kind.value, change.path) for change in plan.changes]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "rendered"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077], ids=oct)
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "a" / "b", CLAW)
        assert os.umask(umask) == umask
    finally:
        os.umask(before)
    modes = {path: mode for path, (mode, *_) in snapshot(tmp_path).items() if path != "."}
    assert {mode for path, mode in modes.items() if (tmp_path / path).is_dir()} == {"0o40755"}
    assert {mode for path, mode in modes.items() if (tmp_path / path).is_file()} == {"0o100644"}


def test_a_first_render_writes_every_file_and_leaves_nothing_else(root: Path) -> None:
    plan = write(root, CLAW, FORGE)
    assert {kind for kind, _ in kinds(plan)} == {"create"}
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert files == {
        f"claw/{CHAT}": b"chat\n",
        f"claw/{EMBED}": b"embed\n",
        "claw/manifest.json": CLAW.manifest,
        f"forge/{CHAT}": b"forge\n",
        "forge/manifest.json": FORGE.manifest,
    }


def test_a_second_render_touches_nothing_not_even_a_time(root: Path) -> None:
    write(root, CLAW, FORGE)
    before = snapshot(root, times=True)
    assert write(root, CLAW, FORGE).empty
    assert look(root, CLAW, FORGE).empty
    assert snapshot(root, times=True) == before


def test_the_unchanged_files_of_a_changed_host_are_not_touched(root: Path) -> None:
    write(root, CLAW, FORGE)
    before = snapshot(root, times=True)
    plan = write(root, tree({CHAT: b"chat 2\n", EMBED: b"embed\n"}), FORGE)
    assert kinds(plan) == [("update", f"claw/{CHAT}")]
    after = snapshot(root, times=True)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {".", f"claw/{CHAT}", "claw/etc/containers/systemd"}


def test_a_survey_of_a_missing_directory_plans_everything_and_makes_nothing(root: Path) -> None:
    plan = look(root, CLAW)
    assert {kind for kind, _ in kinds(plan)} == {"create"}
    assert not root.exists()


def test_an_empty_fleet_and_an_empty_choice_make_no_directory(root: Path) -> None:
    assert write(root).empty
    assert write(root, CLAW, only=frozenset()).empty
    assert not root.exists()


def test_files_and_hosts_that_left_go_with_the_directories_that_this_empties(root: Path) -> None:
    write(root, CLAW, FORGE)
    plan = write(root, tree({CHAT: b"chat\n"}))
    assert kinds(plan) == [
        ("remove", f"claw/{EMBED}"),
        ("update", "claw/manifest.json"),
        ("remove", f"forge/{CHAT}"),
        ("remove", "forge/manifest.json"),
    ]
    assert sorted(path.name for path in root.rglob("*")) == sorted(
        ["claw", "etc", "containers", "systemd", "chat.container", "manifest.json"]
    )


def test_a_host_whose_files_somebody_deleted_is_pruned_with_its_empty_directories(root: Path) -> None:
    write(root, CLAW, FORGE)
    (root / "claw" / CHAT).unlink()
    (root / "claw" / EMBED).unlink()
    write(root, FORGE)
    assert not (root / "claw").exists()


def test_hand_written_files_and_their_directories_stay(root: Path) -> None:
    write(root, CLAW, FORGE)
    mine = [root / "forge/etc/containers/systemd/mine.network", root / "README"]
    mine += [root / "other/notes.txt", root / ".cache/manifest.json"]
    for path in mine:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    (root / "claw/home/llm/empty").mkdir()
    before = {path: path.stat() for path in mine}
    write(root, tree({CHAT: b"chat\n"}))
    assert {path: path.stat() for path in mine} == before
    assert (root / "claw/home/llm/empty").is_dir()
    assert not (root / "forge/manifest.json").exists()


def test_a_choice_of_hosts_leaves_every_other_host_alone(root: Path) -> None:
    write(root, CLAW, FORGE, tree({CHAT: b"old\n"}, host="gone"))
    before = snapshot(root / "forge", times=True), snapshot(root / "gone", times=True)
    new = tree({CHAT: b"new\n"}), tree({CHAT: b"new\n"}, host="forge")
    assert {path.split("/")[0] for _, path in kinds(look(root, *new, only=frozenset({"claw"})))} == {"claw"}
    write(root, *new, only=frozenset({"claw"}))
    assert (snapshot(root / "forge", times=True), snapshot(root / "gone", times=True)) == before
    assert not (root / "claw" / EMBED).exists()


def test_a_wrong_mode_is_a_difference_and_is_put_right_in_place(root: Path) -> None:
    write(root, CLAW)
    (root / "claw/manifest.json").chmod(0o664)
    assert kinds(look(root, CLAW)) == [("mode", "claw/manifest.json")]
    (root / "claw" / CHAT).chmod(0o600)
    times = (root / "claw" / CHAT).stat().st_mtime_ns
    assert kinds(look(root, CLAW)) == [("mode", f"claw/{CHAT}"), ("mode", "claw/manifest.json")]
    write(root, CLAW)
    assert (root / "claw" / CHAT).stat().st_mtime_ns == times
    assert look(root, CLAW).empty


def test_an_executable_file_gets_its_mode(root: Path) -> None:
    write(root, tree({"usr/local/bin/x": b"#!/bin/sh\n"}, mode=0o775))
    assert (root / "claw/usr/local/bin/x").stat().st_mode & 0o7777 == 0o775


def test_files_as_rendered_are_adopted_where_the_manifest_is_missing(root: Path) -> None:
    write(root, CLAW)
    (root / "claw/manifest.json").unlink()
    assert kinds(write(root, CLAW)) == [("create", "claw/manifest.json")]


def test_a_linked_output_directory_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "rendered").symlink_to("real")
    write(tmp_path / "rendered", CLAW)
    assert look(tmp_path / "real", CLAW).empty
    assert (tmp_path / "rendered").is_symlink()


def test_a_stale_temporary_file_is_written_over_not_into(root: Path, tmp_path: Path) -> None:
    write(root, CLAW)
    (tmp_path / "victim").write_text("mine")
    (root / "claw/etc/containers/systemd/.chat.container.quadgen-new").symlink_to(tmp_path / "victim")
    new = tree({CHAT: b"new\n", EMBED: b"embed\n"})
    write(root, new)
    assert (tmp_path / "victim").read_text() == "mine"
    assert look(root, new).empty
    assert [path.name for path in (root / "claw" / CHAT).parent.iterdir()] == ["chat.container"]


def test_what_a_dead_render_left_is_a_difference_and_is_cleared(root: Path) -> None:
    write(root, CLAW)
    (root / "fresh/etc").mkdir(parents=True)
    (root / "fresh/etc/.x.container.quadgen-new").write_text("ha")
    (root / ".quadgen-writing").write_text('["fresh/etc/x.container"]')
    plan = look(root, CLAW)
    assert (plan.empty, plan.interrupted, kinds(plan)) == (False, True, [])
    assert write(root, CLAW).empty
    assert sorted(path.name for path in root.iterdir()) == ["claw"]


def test_a_journal_that_was_cut_short_names_nothing_to_clear(root: Path) -> None:
    write(root, CLAW)
    (root / "claw/etc/.x.container.quadgen-new").write_text("mine")
    (root / ".quadgen-writing").write_text('["claw/etc/x.container"')
    write(root, CLAW)
    assert not (root / ".quadgen-writing").exists()
    assert (root / "claw/etc/.x.container.quadgen-new").exists()


def test_what_a_dead_render_left_is_not_looked_for_behind_a_link(root: Path, tmp_path: Path) -> None:
    write(root, CLAW)
    (tmp_path / "outside/empty").mkdir(parents=True)
    (tmp_path / "outside/.x.container.quadgen-new").write_text("mine")
    (root / "fresh").mkdir()
    (root / "fresh/etc").symlink_to(tmp_path / "outside")
    (root / ".quadgen-writing").write_text('["fresh/etc/x.container", "fresh/etc/empty/y.container"]')
    write(root, CLAW)
    assert (tmp_path / "outside/.x.container.quadgen-new").exists()
    assert (tmp_path / "outside/empty").exists()


def test_the_old_bytes_are_kept_only_for_a_diff(root: Path) -> None:
    write(root, CLAW)
    new = tree({CHAT: b"new\n"})
    assert {change.old for change in look(root, new).changes} == {b"chat\n", b"embed\n", CLAW.manifest}
    plan = survey(str(root), [new], only=None, texts=False)
    assert {change.old for change in plan.changes} == {None}


def test_a_file_is_read_whole_or_the_reason_is_said(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_bytes(b"version: 1\r\n\xff")
    assert read_file(tmp_path / "fleet.yml") == b"version: 1\r\n\xff"
    with pytest.raises(Unavailable) as missing:
        read_file(str(tmp_path / "none.yml"))
    assert str(missing.value) == f"cannot read {tmp_path}/none.yml: No such file or directory"
    with pytest.raises(Unavailable) as directory:
        read_file(tmp_path)
    assert str(directory.value) == f"cannot read {tmp_path}: Is a directory"


@pytest.mark.parametrize(
    ("module", "templates"),
    [("site/quadgen/disk/reading.py", "site/quadgen/templates"), ("src/quadgen/disk/reading.py", "templates")],
    ids=["installed", "checkout"],
)
def test_the_templates_are_found_in_the_package_and_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, templates: str
) -> None:
    monkeypatch.setattr(reading, "__file__", str(tmp_path / module))
    with pytest.raises(Unavailable, match="install it again"):
        template_root()
    (tmp_path / templates).mkdir(parents=True)
    assert template_root() == tmp_path / templates
