"""The files of a host become those of its tree, and nothing else is touched."""

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from collection_modules import call
from host_trees import CHAT, EMBED, NATIVE, rendered, words
from hosts import snapshot
from plugins.module_utils import managers, state
from plugins.module_utils.placing import temporary

NOTHING_DONE: dict[str, Any] = {"create": [], "update": [], "remove": [], "edited": []}


@dataclass
class Host:
    """A root, and the module called on it."""

    place: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def state(self) -> state.State:
        return state.read(str(self.root / "var/lib/q"))

    def tree(self, files: dict[str, bytes], **options: Any) -> str:
        return rendered(self.place / f"tree-{len(list(self.place.iterdir()))}", files, **options)

    def files(self, tree: str | None, **options: Any) -> dict[str, Any]:
        return call(self.capsys, "files", tree=tree, root=str(self.root), state_dir="/var/lib/q", **options)

    def kept(self) -> dict[str, tuple[object, ...]]:
        """Everything but the root itself and the state."""
        every = snapshot(self.root, times=True)
        return {path: what for path, what in every.items() if path != "." and not path.startswith("var")}


@pytest.fixture
def host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Host:
    made = Host(tmp_path, capsys)
    made.root.mkdir()
    (made.root / "etc").mkdir()
    return made


def done(said: dict[str, Any], **expected: list[str]) -> None:
    assert not said.get("failed"), said["msg"]
    assert {key: said[key] for key in NOTHING_DONE} == NOTHING_DONE | expected
    assert said["changed"] == bool(expected)


def test_files_are_installed_once_with_their_modes_whatever_the_umask(host: Host) -> None:
    tree = host.tree({CHAT: b"chat", NATIVE: b"rerank"}, modes={NATIVE: "0755"})
    umask = os.umask(0o077)
    try:
        done(host.files(tree), create=[f"/{CHAT}", f"/{NATIVE}"])
    finally:
        os.umask(umask)
    assert (host.root / CHAT).read_bytes() == b"chat"
    assert stat.S_IMODE((host.root / CHAT).stat().st_mode) == 0o644
    assert stat.S_IMODE((host.root / NATIVE).stat().st_mode) == 0o755
    assert stat.S_IMODE((host.root / NATIVE).parent.stat().st_mode) == 0o755
    assert host.state.host == "claw"
    assert managers.own() in host.state.stale
    assert set(host.state.files) == {CHAT, NATIVE}
    assert host.state.services["chat.service"].restart == words(b"chat")
    before = snapshot(host.root, times=True)
    done(host.files(tree))
    assert snapshot(host.root, times=True) == before


def test_what_the_tree_has_no_more_goes_with_the_directories_that_were_made_for_it(host: Host) -> None:
    (host.root / "etc/systemd").mkdir()
    host.files(host.tree({CHAT: b"chat", NATIVE: b"rerank"}))
    (host.root / "etc/containers/systemd/mine.network").write_text("mine")
    done(host.files(host.tree({})), remove=[f"/{CHAT}", f"/{NATIVE}"])
    assert sorted(host.kept()) == [
        "etc",
        "etc/containers",
        "etc/containers/systemd",
        "etc/containers/systemd/mine.network",
        "etc/systemd",
    ]
    assert set(host.state.services) == {"chat.service", "rerank.service"}, "they were not stopped yet"
    (host.root / "etc/containers/systemd/mine.network").unlink()
    host.files(None)
    assert sorted(host.kept()) == ["etc", "etc/systemd"]


def test_no_tree_takes_everything_away(host: Host) -> None:
    host.files(host.tree({CHAT: b"chat"}))
    done(host.files(None), remove=[f"/{CHAT}"])
    assert host.state.files == {}
    done(host.files(None))


def test_a_file_of_somebody_else_in_the_way_is_refused_and_nothing_is_changed(host: Host) -> None:
    (host.root / EMBED).parent.mkdir(parents=True)
    (host.root / EMBED).write_text("mine")
    before = host.kept()
    said = host.files(host.tree({CHAT: b"chat", EMBED: b"embed"}))
    assert said["msg"] == (
        f"{host.root}/{EMBED} is in the way: quadgen did not install it, and it is not what it would write; "
        "move it away or delete it"
    )
    assert host.kept() == before


def test_a_file_that_is_as_rendered_already_becomes_quadgens(host: Host) -> None:
    (host.root / CHAT).parent.mkdir(parents=True)
    (host.root / CHAT).write_bytes(b"chat")
    before = host.kept()
    said = host.files(host.tree({CHAT: b"chat"}))
    assert said["changed"]
    assert {key: said[key] for key in NOTHING_DONE} == NOTHING_DONE
    assert host.kept() == before
    assert host.state.owned == {CHAT}
    assert not host.state.stale
    done(host.files(None), remove=[f"/{CHAT}"])


def running(host: Host, tree: str) -> None:
    """Let the state say that what is installed runs."""
    host.files(tree)
    known = host.state
    ran = {unit: owned.restart for unit, owned in known.services.items()}
    state.write(str(host.root / "var/lib/q"), replace(known, running=ran, stale=()))


@pytest.mark.parametrize("edit", [lambda path: path.write_text("mine"), lambda path: path.unlink()], ids=["edit", "rm"])
def test_a_file_that_was_changed_by_hand_is_put_back_and_its_service_forgotten(
    host: Host, edit: Callable[[Path], object]
) -> None:
    tree = host.tree({CHAT: b"chat", EMBED: b"embed"})
    running(host, tree)
    edit(host.root / CHAT)
    said = host.files(tree)
    assert [*said["update"], *said["create"]] == said["edited"] == [f"/{CHAT}"]
    assert set(host.state.running) == {"embed.service"}
    assert managers.own() in host.state.stale


def test_new_evidence_replaces_a_file_and_does_not_forget_what_runs(host: Host) -> None:
    running(host, host.tree({CHAT: b"# old\nchat"}))
    done(host.files(host.tree({CHAT: b"# new\nchat"})), update=[f"/{CHAT}"])
    assert host.state.running == {"chat.service": words(b"chat")}


def test_a_mode_that_was_changed_is_put_back(host: Host) -> None:
    tree = host.tree({CHAT: b"chat"})
    running(host, tree)
    (host.root / CHAT).chmod(0o666)
    said = host.files(tree, diff=True)
    assert said["diff"] == [
        {
            "before": "chat",
            "after": "chat",
            "before_header": f"/{CHAT} (mode 0666)",
            "after_header": f"/{CHAT} (mode 0644)",
        }
    ]
    assert set(host.state.running) == {"chat.service"}
    assert stat.S_IMODE((host.root / CHAT).stat().st_mode) == 0o644


def test_a_check_says_the_same_with_a_diff_for_each_file_and_touches_nothing(host: Host) -> None:
    host.files(host.tree({CHAT: b"old\n", EMBED: b"embed\n"}))
    tree = host.tree({CHAT: b"new\n", NATIVE: b"rerank\n"})
    before = snapshot(host.root, times=True)
    checked = host.files(tree, check=True, diff=True)
    assert snapshot(host.root, times=True) == before
    assert checked["diff"] == [
        {"before": "old\n", "after": "new\n", "before_header": f"/{CHAT}", "after_header": f"/{CHAT}"},
        {"before": "embed\n", "after": "", "before_header": f"/{EMBED}", "after_header": f"/{EMBED}"},
        {"before": "", "after": "rerank\n", "before_header": f"/{NATIVE}", "after_header": f"/{NATIVE}"},
    ]
    real = host.files(tree, diff=True)
    assert real.pop("invocation")
    assert checked.pop("invocation")
    assert real == checked


def test_a_first_check_makes_no_state(host: Host) -> None:
    before = snapshot(host.root, times=True)
    assert host.files(host.tree({CHAT: b"chat"}), check=True)["changed"]
    assert snapshot(host.root, times=True) == before


def link_file(root: Path) -> None:
    (root / "elsewhere").write_text("x")
    (root / CHAT).parent.mkdir(parents=True)
    (root / CHAT).symlink_to(root / "elsewhere")


def link_to_nothing(root: Path) -> None:
    (root / "etc/containers").symlink_to(root / "gone")


def directory(root: Path) -> None:
    (root / CHAT).mkdir(parents=True)


def file_above(root: Path) -> None:
    (root / "etc/containers").write_text("x")


def pipe(root: Path) -> None:
    (root / CHAT).parent.mkdir(parents=True)
    os.mkfifo(root / CHAT)


def link_out(root: Path) -> None:
    (root.parent / "outside").mkdir()
    (root / "etc/containers").symlink_to(root.parent / "outside")


NEITHER = "which quadgen neither writes through nor replaces"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (link_file, f"{CHAT} is in the way: it is a symbolic link, {NEITHER}"),
        (link_to_nothing, "etc/containers is in the way: it is a symbolic link to nothing"),
        (directory, f"{CHAT} is in the way: it is a directory, {NEITHER}"),
        (file_above, "etc/containers is in the way: it is a file, and no directory"),
        (pipe, f"{CHAT} is in the way: it is no file, {NEITHER}"),
        (link_out, "etc/containers is in the way: it leads out of ROOT, to ROOT/../outside"),
    ],
)
def test_what_is_in_the_way_is_named_and_left_alone(host: Host, block: Callable[[Path], None], why: str) -> None:
    block(host.root)
    before = host.kept()
    said = host.files(host.tree({CHAT: b"chat"}))
    said_why = said["msg"].replace(str(host.root), "ROOT").replace(str(host.root.parent), "ROOT/..")
    assert said_why == f"ROOT/{why}"
    assert host.kept() == before


def test_a_directory_that_is_a_link_of_the_owner_is_used_as_it_is(host: Host) -> None:
    (host.root / "data/quadlets").mkdir(parents=True)
    (host.root / "etc/containers").mkdir()
    (host.root / "etc/containers/systemd").symlink_to("../../data/quadlets")
    tree = host.tree({CHAT: b"chat"})
    done(host.files(tree), create=[f"/{CHAT}"])
    assert (host.root / "data/quadlets/chat.container").read_bytes() == b"chat"
    assert (host.root / "etc/containers/systemd").is_symlink()
    done(host.files(None), remove=[f"/{CHAT}"])
    assert (host.root / "etc/containers/systemd").is_symlink()
    assert list((host.root / "data/quadlets").iterdir()) == []


def test_two_trees_of_different_hosts_do_not_meet_on_one_machine(host: Host) -> None:
    host.files(host.tree({CHAT: b"chat"}))
    said = host.files(host.tree({CHAT: b"chat"}, host="forge"))
    assert said["msg"] == "this machine has what was rendered for claw, and the tree is that of forge"


def test_a_tree_that_is_not_what_its_manifest_says_changes_nothing(host: Host) -> None:
    tree = host.tree({CHAT: b"chat", EMBED: b"embed"})
    (Path(tree) / EMBED).write_text("other")
    said = host.files(tree)
    assert said["msg"].startswith(f"{tree}/{EMBED} is not what the manifest beside it says")
    assert not (host.root / CHAT).exists()


def test_a_manifest_without_services_installs_its_files(host: Host) -> None:
    tree = Path(host.tree({CHAT: b"chat"}))
    manifest = json.loads((tree / "manifest.json").read_text())
    del manifest["services"]
    (tree / "manifest.json").write_text(json.dumps(manifest))
    done(host.files(str(tree)), create=[f"/{CHAT}"])
    done(host.files(None), remove=[f"/{CHAT}"])


def test_what_cannot_be_written_is_named_and_the_next_run_goes_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = host.tree({CHAT: b"chat", EMBED: b"embed"})
    rename = os.rename

    def full(source: str, target: str) -> None:
        if target.endswith("embed.container"):
            raise OSError(28, "No space left on device", target)
        rename(source, target)

    monkeypatch.setattr(os, "rename", full)
    said = host.files(tree)
    assert said["msg"] == f"cannot write {host.root}/{EMBED}: No space left on device"
    assert (host.root / CHAT).exists()
    monkeypatch.undo()
    done(host.files(tree), create=[f"/{EMBED}"])
    assert not os.path.lexists(temporary(str(host.root / EMBED)))
