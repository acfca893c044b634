"""What a pull leaves for the next one: a whole tree to go back to, or why one is not tried again."""

import os
import shutil
import stat
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from collection_modules import call
from host_trees import CHAT, EMBED, rendered, words
from hosts import snapshot
from plugins.module_utils import state, tree
from plugins.module_utils.starting import PENDING


@dataclass
class Host:
    """A root, and the module called on it."""

    place: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def kept(self) -> str:
        return str(self.root / "q")

    def tree(self, files: dict[str, bytes]) -> str:
        return rendered(self.place / f"tree-{len(list(self.place.iterdir()))}", files)

    def files(self, directory: str | None) -> dict[str, Any]:
        return call(self.capsys, "files", tree=directory, root=str(self.root), state_dir="q")

    def record(self, outcome: str, directory: str | None = None, **options: Any) -> dict[str, Any]:
        told = {"outcome": outcome, "tree": directory, "root": str(self.root), "state_dir": "q", **options}
        return call(self.capsys, "record", **told)


@pytest.fixture
def host(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Host:
    made = Host(tmp_path, capsys)
    made.root.mkdir()
    return made


def test_nobody_else_can_read_or_change_the_copies_of_good_trees(host: Host) -> None:
    directory = host.tree({CHAT: b"chat"})
    host.files(directory)
    before = os.umask(0)
    try:
        host.record("good", directory)
    finally:
        os.umask(before)
    trees = host.root / "q/trees"
    assert {stat.S_IMODE(path.stat().st_mode) for path in (trees, *trees.iterdir())} == {0o700}


def test_a_good_tree_is_kept_whole_and_another_one_takes_its_place(host: Host) -> None:
    for files in ({CHAT: b"chat", EMBED: b"embed"}, {CHAT: b"chat 2"}):
        directory = host.tree(files)
        host.files(directory)
        said = host.record("good", directory)
        assert said["changed"]
        assert said["good"] == f"{host.kept}/good"
        manifest = tree.read(said["good"])
        assert manifest == tree.read(directory)
        assert {file.path: tree.content(said["good"], file) for file in manifest.files} == files
        assert [path.name for path in (host.root / "q/trees").iterdir()] == [manifest.sha256]
        before = snapshot(host.root, times=True)
        assert not host.record("good", directory)["changed"]
        assert snapshot(host.root, times=True) == before


def test_a_good_tree_can_be_gone_back_to(host: Host) -> None:
    good = host.tree({CHAT: b"chat", EMBED: b"embed"})
    host.files(good)
    kept = host.record("good", good)["good"]
    before = snapshot(host.root / "etc")
    host.files(host.tree({CHAT: b"bad"}))
    said = host.files(kept)
    assert (said["update"], said["create"]) == ([f"/{CHAT}"], [f"/{EMBED}"])
    assert snapshot(host.root / "etc") == before


def test_what_was_stopped_is_forgotten_with_a_good_tree(host: Host) -> None:
    host.files(host.tree({CHAT: b"chat", EMBED: b"embed"}))
    known = state.read(host.kept)
    state.write(host.kept, replace(known, running={"chat.service": words(b"chat"), "embed.service": "x"}))
    directory = host.tree({CHAT: b"chat"})
    host.files(directory)
    host.record("good", directory)
    assert set(state.read(host.kept).services) == {"chat.service"}
    assert state.read(host.kept).running == {"chat.service": words(b"chat")}


def test_a_refused_tree_is_remembered_with_its_reason_until_one_is_good(host: Host) -> None:
    bad = host.tree({CHAT: b"bad"})
    said = host.record("refused", bad, reason="chat.service failed")
    assert said["changed"]
    assert said["good"] is None
    known = state.read(host.kept)
    assert (known.refused, known.reason) == (tree.read(bad).sha256, "chat.service failed")
    assert not host.record("refused", bad, reason="chat.service failed")["changed"]
    host.files(bad)
    assert host.record("good", bad)["changed"]
    assert state.read(host.kept).refused is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"outcome": "good"}, "outcome is good but all of the following are missing: tree"),
        ({"outcome": "good", "tree": None}, "there is no tree that is good"),
        ({"outcome": "refused", "tree": "x"}, "outcome is refused but all of the following are missing: reason"),
    ],
)
def test_an_outcome_without_what_it_is_of_is_refused(host: Host, options: dict[str, Any], why: str) -> None:
    said = call(host.capsys, "record", root=str(host.root), state_dir="q", **options)
    assert said["msg"] == why


def test_a_retired_host_is_forgotten_once_its_files_are_gone(host: Host) -> None:
    directory = host.tree({CHAT: b"chat"})
    host.files(directory)
    host.record("good", directory)
    assert host.record("retired")["msg"] == f"/{CHAT} is still installed"
    host.files(None)
    assert host.record("retired", check=True)["changed"]
    assert host.record("retired")["changed"]
    assert list(host.root.iterdir()) == []
    assert not host.record("retired")["changed"]
    assert list(host.root.iterdir()) == []


def test_a_tree_that_is_not_whole_never_becomes_the_good_one(host: Host) -> None:
    first = host.tree({CHAT: b"chat"})
    host.files(first)
    host.record("good", first)
    second = host.tree({CHAT: b"chat 2"})
    host.files(second)
    (Path(second) / CHAT).write_text("mine")
    assert "is not what the manifest beside it says" in host.record("good", second)["msg"]
    assert tree.read(f"{host.kept}/good") == tree.read(first)


def test_a_tree_that_came_while_another_one_was_started_is_not_called_good(host: Host) -> None:
    first = host.tree({CHAT: b"chat"})
    host.files(first)
    newer = host.tree({CHAT: b"chat 2"})
    said = host.record("good", newer)
    assert said["msg"] == f"{newer} is not what this host runs now: it was changed meanwhile, and the next run goes on"
    state.write(host.kept, replace(state.read(host.kept), running={"chat.service": PENDING}))
    assert "is not what this host runs now" in host.record("good", first)["msg"]
    assert state.good(host.kept) is None


def test_a_commit_that_came_meanwhile_is_neither_good_nor_refused_but_what_was_tried_is(host: Host) -> None:
    tried = host.tree({CHAT: b"bad"})
    digest = tree.read(tried).sha256
    host.files(tried)
    rendered(Path(tried).parent, {CHAT: b"newer"})
    gone = f"{tried} is not the tree any more that this run began with: the next run takes the new one"
    kept = f"{gone}; what this run started is healthy and stays, with no copy to go back to"
    assert host.record("good", tried, digest=digest)["msg"] == kept
    host.record("refused", tried, digest=digest, reason="chat.service failed")
    assert state.read(host.kept).refused == digest


def test_a_host_that_left_the_tree_meanwhile_is_told_what_became_of_its_services(host: Host) -> None:
    tried = host.tree({CHAT: b"chat"})
    digest = tree.read(tried).sha256
    host.files(tried)
    shutil.rmtree(tried)
    gone = f"cannot read {tried}/manifest.json: No such file or directory"
    assert host.record("good", tried, digest=digest)["msg"] == (
        f"{gone}; what this run started is healthy and stays, with no copy to go back to"
    )
    assert state.good(host.kept) is None


@pytest.mark.parametrize("name", [CHAT, "manifest.json"])
def test_a_copy_that_lost_something_is_made_again(host: Host, name: str) -> None:
    directory = host.tree({CHAT: b"chat"})
    host.files(directory)
    host.record("good", directory)
    (host.root / "q/good" / name).write_bytes(b"")
    assert host.record("good", directory)["changed"]
    assert (host.root / "q/good" / name).read_bytes()
    assert not host.record("good", directory)["changed"]


def test_a_check_remembers_nothing(host: Host) -> None:
    directory = host.tree({CHAT: b"chat"})
    assert host.record("good", directory, check=True)["changed"]
    assert host.record("refused", directory, reason="x", check=True)["changed"]
    assert list(host.root.iterdir()) == []
