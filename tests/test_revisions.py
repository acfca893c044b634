"""What is read from a git repository, and what its settings have no part in."""

import os
import subprocess
from pathlib import Path

import pytest

from quadgen.problems import Unavailable
from quadgen.review.state import blob_id
from quadgen.revisions import pointer, repository
from repositories import Fleet
from repositories import repository as made


@pytest.fixture
def tree(tmp_path: Path) -> Fleet:
    tree = made(tmp_path / "tree", None)
    tree.write("one\n", "a/one.txt")
    tree.write("two\n", 'a b/tw"o\n.txt')
    (tree.root / os.fsdecode(b"a/\xff.bin")).write_bytes(bytes(range(256)))
    (tree.root / "link").symlink_to("a/one.txt")
    tree.commit(render=False)
    return tree


def found(tree: Fleet, commit: str = "HEAD") -> dict[str, bytes]:
    place = repository(str(tree.root / "fleet.yml"))
    name = place.commit(commit)
    assert name is not None
    entries = place.listing(name)
    blobs = place.blobs(entry.id for entry in entries.values())
    return {path: blobs[entry.id] for path, entry in entries.items()}


def test_every_file_of_a_revision_is_read_whatever_its_name_and_bytes(tree: Fleet) -> None:
    assert found(tree) == {
        "a/one.txt": b"one\n",
        'a b/tw"o\n.txt': b"two\n",
        os.fsdecode(b"a/\xff.bin"): bytes(range(256)),
        "link": b"a/one.txt",
    }


def test_a_directory_of_a_revision_is_listed_alone_and_no_pattern_is_seen_in_its_name(tree: Fleet) -> None:
    tree.write("x", ":(glob)**/x")
    tree.commit(render=False)
    place = repository(str(tree.root / "x"))
    commit = place.commit("HEAD") or ""
    assert set(place.listing(commit, "a")) == {"a/one.txt", os.fsdecode(b"a/\xff.bin")}
    assert set(place.listing(commit, ":(glob)**")) == {":(glob)**/x"}
    assert place.listing(commit, "*") == {}
    assert place.listing(commit, "nowhere") == {}


def test_links_have_their_targets_and_files_their_modes(tree: Fleet) -> None:
    place = repository(str(tree.root / "x"))
    entries = place.listing(place.commit("HEAD") or "")
    assert (entries["link"].link, entries["a/one.txt"].regular) == (True, True)
    assert place.targets(entries) == {entries["link"].id: "a/one.txt"}


@pytest.mark.parametrize("kind", ["sha1", "sha256"])
def test_a_blob_has_the_id_that_git_gives_it(tmp_path: Path, kind: str) -> None:
    tree = made(tmp_path / "tree", None, kind=kind)
    tree.write("one\n", "one.txt")
    commit = tree.commit(render=False)
    assert tree.git("rev-parse", "HEAD:one.txt").strip() == blob_id(b"one\n", like=commit)


def test_a_revision_names_a_commit_and_nothing_else(tree: Fleet) -> None:
    place = repository(str(tree.root / "x"))
    head = tree.git("rev-parse", "HEAD").strip()
    tree.git("tag", "--annotate", "--message", "v", "v1")
    assert [place.commit(name) for name in ("HEAD", "v1", head, head[:8], "HEAD^{}", "@")] == [head] * 6
    for name in ("", "nowhere", "HEAD:a", "-h", "--all", "HEAD~5", "HEAD --all", "a\0b", "HEAD..HEAD", "0" * 40):
        assert place.commit(name) is None, name


def test_names_are_told_from_the_top_of_the_work_tree(tree: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    place = repository(str(tree.root / "a" / "x"))
    monkeypatch.chdir(tree.root / "a")
    (tree.root.parent / "other").symlink_to(tree.root)
    assert place.path("one.txt") == "a/one.txt"
    assert place.path("../link") == "link"
    assert place.path(str(tree.root.parent / "other" / "a" / "one.txt")) == "a/one.txt"
    assert place.path("..") == "."
    assert (place.path("../../x"), place.path("/etc/passwd")) == (None, None)


def test_no_setting_of_the_repository_runs_a_program(tree: Fleet) -> None:
    mark = tree.root / "ran"
    program = tree.root / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for setting in (
        "core.pager",
        "pager.ls-tree",
        "pager.cat-file",
        "core.fsmonitor",
        "filter.x.smudge",
        "filter.x.clean",
    ):
        tree.git("config", setting, str(program))
    tree.git("config", "diff.x.textconv", str(program))
    tree.git("config", "core.hooksPath", str(tree.root))
    tree.write("* filter=x diff=x\n", ".gitattributes")
    assert found(tree)["a/one.txt"] == b"one\n"
    assert not mark.exists()


def test_an_object_that_was_replaced_is_read_as_it_was_committed(tree: Fleet) -> None:
    one, two = (tree.git("rev-parse", f"HEAD:{name}").strip() for name in ("a/one.txt", 'a b/tw"o\n.txt'))
    tree.git("replace", one, two)
    assert found(tree)["a/one.txt"] == b"one\n"


def test_an_object_that_is_missing_cannot_be_had(tree: Fleet) -> None:
    one = tree.git("rev-parse", "HEAD:a/one.txt").strip()
    (tree.root / ".git" / "objects" / one[:2] / one[2:]).unlink()
    with pytest.raises(Unavailable, match=f"the repository lacks the object {one}"):
        found(tree)


def test_a_submodule_is_left_alone(tree: Fleet) -> None:
    head = tree.git("rev-parse", "HEAD").strip()
    tree.git("update-index", "--add", "--cacheinfo", f"160000,{head},module")
    tree.git("commit", "--quiet", "--message", "module")
    place = repository(str(tree.root / "x"))
    entry = place.listing(place.commit("HEAD") or "")["module"]
    assert (entry.regular, entry.link) == (False, False)


def test_a_repository_that_git_does_not_trust_is_told_in_its_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / ".git").mkdir(parents=True)
    with pytest.raises(Unavailable, match="is in no git repository that can be read: not a git repository"):
        repository(str(broken / "fleet.yml"))
    tree = made(tmp_path / "newer", None)
    subprocess.run(["git", "config", "core.repositoryformatversion", "99"], cwd=tree.root, check=True)  # noqa: S607 - the git of the machine
    with pytest.raises(Unavailable, match="99"):
        repository(str(tree.root / "fleet.yml"))


def test_the_repository_of_another_user_is_told_with_what_trusts_it(
    tree: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(Unavailable, match="dubious ownership") as raised:
        repository(str(tree.root / "fleet.yml"))
    trusts = f"`git config --global --add safe.directory {os.path.realpath(tree.root)}` trusts it"
    assert str(raised.value).endswith(trusts)


def test_a_directory_that_is_gone_is_looked_for_above(tree: Fleet) -> None:
    assert repository(str(tree.root / "no" / "such" / "fleet.yml")).top == os.path.realpath(tree.root)


def test_a_pointer_of_git_lfs_is_known_by_its_first_words_and_its_size() -> None:
    text = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    assert pointer(text)
    assert not pointer(text * 100)
    assert not pointer(b"[Container]\n")
