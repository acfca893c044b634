"""`quadgen plan` between revisions: what is read from git, and what cannot be."""

import shutil
import sys
from pathlib import Path

import pytest

from command import quadgen
from fleets import ENGINES
from repositories import FLEET, Fleet, repository, services


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return repository(tmp_path / "fleet")


def words_of(frame: str) -> str:
    """What stands in Typer's frame, on one line."""
    return " ".join(frame.replace("│", " ").split())


def test_two_revisions_are_compared_whatever_stands_in_the_working_copy(fleet: Fleet) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    fleet.commit()
    fleet.write("not a fleet")
    told = fleet.told("--from", "HEAD~1", "--to", "HEAD")
    assert list(services(told)) == ["claw/llama-server", "wren/chat", "wren/embed"]
    assert (told["from"]["revision"], told["from"]["source"]) == ("HEAD~1", "rendered")
    assert (told["to"]["revision"], told["to"]["source"]) == ("HEAD", "fleet")
    assert fleet.told("--from", "HEAD", "--to", "HEAD~1")["summary"]["changed"] == 3


def test_a_revision_is_compiled_with_its_own_ledgers_lock_flags_and_templates(fleet: Fleet) -> None:
    template = Path(__file__).parents[1] / "templates" / "llama.cpp.container.j2"
    own = template.read_text(encoding="utf-8").replace("StopTimeout=", "ReadOnlyTmpfs=true\nStopTimeout=")
    row = (
        "version: 1\nmeasurements:\n- {id: own, engine: llama.cpp, build: b10715, backend: cpu, model: plain,"
        " device: any, samples: 7, workload: copy,"
        " setting: {spec_types: [ngram-simple]}, against: {spec_types: []}, ratio: 2.0, source: here}\n"
    )
    fleet.write(row, "ledgers/deep/own.yml")
    fleet.write(own, "templates/llama.cpp.container.j2")
    fleet.change("groups:\n", "measurements: ['ledgers/**/*.yml']\nprofiles:\n  again: {summary: copies,"
                 " spec_types: [ngram-simple], workload: copy, against: none}\ngroups:\n")  # fmt: skip
    fleet.change("claw: {groups: [desk],", "claw: {groups: [desk], profile: again,")
    fleet.commit()
    for name in ("ledgers", "templates", "rendered"):
        shutil.rmtree(fleet.root / name)
    told = fleet.told("--from", "HEAD~1", "--to", "HEAD")
    changed = services(told)["claw/llama-server"]
    assert {each["name"]: each["new"] for each in changed["arguments"]}["--spec-type"] == ["ngram-simple"]
    assert {each["name"]: each["new"] for each in changed["keys"]} == {"[Container] ReadOnlyTmpfs": ["true"]}
    assert changed["evidence"]["new"][0].endswith("[own]")


def test_a_revision_without_a_rendered_tree_is_compiled(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", render=False)
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    told = fleet.told()
    assert told["from"]["source"] == "fleet"
    assert list(services(told)) == ["claw/llama-server", "wren/chat", "wren/embed"]
    assert fleet.plan().out.startswith("HEAD (")
    assert "), compiled -> the working copy\n" in fleet.plan().out


def test_everything_is_new_where_nothing_is_committed_yet(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", None)
    fleet.write(FLEET)
    told = fleet.told()
    assert told["summary"]["created"] == 4
    assert told["notes"] == ["nothing is committed yet, so everything is new"]
    assert fleet.plan("--from", "HEAD").status == 2


def test_everything_is_new_where_the_revision_has_no_fleet(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", None)
    fleet.commit(render=False)
    fleet.write(FLEET)
    assert fleet.told()["notes"] == ["HEAD has neither rendered nor fleet.yml, so everything is new"]
    fleet.write("hosts: [")
    fleet.commit(render=False)
    fleet.write(FLEET)
    assert fleet.told()["notes"] == ["HEAD has no rendered, and its fleet.yml cannot be read: everything is new"]


def test_a_fleet_in_a_directory_of_a_repository_finds_its_files_from_anywhere(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "top", None)
    inner = Fleet(fleet.root / "sites" / "one")
    inner.write(FLEET)
    inner.commit()
    inner.change("desk: {context: 4096}", "desk: {context: 6144}")
    assert inner.told()["summary"]["changed"] == 3
    words = ("plan", inner.root / "fleet.yml", "-o", inner.root / "rendered")
    assert quadgen(*words, cwd=tmp_path).out.endswith("3 changed (3 restart) on 2 of 3 hosts\n")
    inner.commit()
    assert inner.told("--from", "HEAD~1", "--to", "HEAD")["summary"]["changed"] == 3


def test_a_second_work_tree_is_a_repository_like_any_other(fleet: Fleet) -> None:
    fleet.git("worktree", "add", "--quiet", "../other", "-b", "other")
    other = Fleet(fleet.root.parent / "other")
    other.change("desk: {context: 4096}", "desk: {context: 6144}")
    assert other.told()["summary"]["changed"] == 3
    other.commit()
    assert fleet.told("--to", "other")["summary"]["changed"] == 3


def test_a_repository_without_a_work_tree_has_revisions_to_compare(fleet: Fleet) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    fleet.commit()
    fleet.git("clone", "--quiet", "--bare", ".", "../bare.git")
    bare = Fleet(fleet.root.parent / "bare.git")
    assert bare.told("--from", "HEAD~1", "--to", "HEAD")["summary"]["changed"] == 3
    done = bare.plan()
    assert done.status == 2
    assert "there is no working copy here" in words_of(done.err)


def test_a_hook_whose_git_names_the_repository_is_understood(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    hook = fleet.root / ".git" / "hooks" / "pre-commit"
    source = Path(__file__).parents[1] / "src"
    hook.write_text(f"#!/bin/sh\nPYTHONPATH={source} {sys.executable} -m quadgen plan fleet.yml > ../plan.txt\n")
    hook.chmod(0o755)
    monkeypatch.setenv("GIT_DIR", str(fleet.root / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(fleet.root))
    assert fleet.told()["summary"]["changed"] == 3
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_WORK_TREE")
    fleet.commit(render=False)
    assert (fleet.root.parent / "plan.txt").read_text().endswith("3 changed (3 restart) on 2 of 3 hosts\n")


def test_a_repository_with_other_digests_is_compared_by_them(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", kind="sha256")
    assert fleet.told()["summary"]["touched"] == 0
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    assert fleet.told()["summary"]["touched"] == 2


def test_a_revision_that_there_is_not_is_a_mistake_of_the_command_line(fleet: Fleet) -> None:
    for words, option in ((("--from", "nowhere"), "--from"), (("--to", "nowhere"), "--to")):
        done = fleet.plan(*words)
        assert done.status == 2
        assert option in done.err
        assert "'nowhere' names no commit of this repository" in words_of(done.err)
    for option in ("--from", "--to"):  # as of a variable of CI that is not set
        assert "'' names no commit of this repository" in words_of(fleet.plan(option, "").err)
    assert fleet.plan("--from=--output=/tmp/x").status == 2
    assert fleet.plan("--from", "HEAD:fleet.yml").status == 2


def test_a_shallow_clone_says_how_to_get_what_it_lacks(fleet: Fleet) -> None:
    first = fleet.git("rev-parse", "HEAD").strip()
    fleet.commit("second")
    fleet.git("clone", "--quiet", "--depth=1", f"file://{fleet.root}", "../shallow")
    shallow = Fleet(fleet.root.parent / "shallow")
    assert shallow.told()["summary"]["touched"] == 0
    done = shallow.plan("--from", first)
    assert done.status == 2
    assert "git fetch --unshallow" in words_of(done.err)


def test_no_repository_and_no_git_are_the_environments_business(
    tmp_path: Path, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "fleet.yml").write_text(FLEET)
    done = quadgen("plan", "fleet.yml", cwd=tmp_path / "plain")
    assert done.status == 4
    assert "quadgen: fleet.yml is in no git repository that can be read: not a git repository" in done.err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (fleet.plan().status, fleet.plan().err) == (4, "quadgen: cannot run git: No such file or directory\n")


def test_a_tree_outside_of_the_repository_is_a_mistake_of_the_command_line(fleet: Fleet) -> None:
    done = fleet.plan("-o", "../elsewhere")
    assert done.status == 2
    assert "is not in the repository of the fleet" in words_of(done.err)
    fleet.commit()
    assert "has no none.yml" in quadgen("plan", "none.yml", "--to", "HEAD", cwd=fleet.root).err


def test_files_that_git_lfs_keeps_elsewhere_are_named_and_not_taken_for_their_content(fleet: Fleet) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12\n"
    (fleet.root / "rendered").rename(fleet.root / "kept")
    fleet.write(pointer, "models.lock.yml")
    fleet.commit(render=False)
    done = fleet.plan("--to", "HEAD")
    assert done.status == 4
    assert "cannot read models.lock.yml of " in done.err
    assert "Git LFS" in done.err
    fleet.git("rm", "--quiet", "models.lock.yml")
    (fleet.root / "kept").rename(fleet.root / "rendered")
    fleet.write(pointer, "rendered/claw/manifest.json")
    fleet.commit(render=False)
    done = fleet.plan()
    assert (done.status, "Git LFS keeps files of rendered outside of git" in done.err) == (4, True)


def test_links_of_a_revision_are_followed_within_it(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", None)
    fleet.write(FLEET, "shared/fleet.yml")
    (fleet.root / "fleet.yml").symlink_to("shared/fleet.yml")
    fleet.commit(render=False)
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}", "shared/fleet.yml")
    assert fleet.told()["summary"]["changed"] == 3
    fleet.commit(render=False)
    assert fleet.told("--from", "HEAD~1", "--to", "HEAD")["summary"]["changed"] == 3


def test_what_lies_outside_of_the_repository_is_read_as_it_is(tmp_path: Path) -> None:
    outside = tmp_path / "ledgers"
    outside.mkdir()
    (outside / "own.yml").write_text("version: 1\nmeasurements: []\n")
    host = "hosts:\n  claw: {model: plain, backend: cpu, engine: cpu, context: 4096}\n"
    text = f"measurements: ['{outside}/*.yml', '../ledgers/own.yml']\n{ENGINES}{host}"
    fleet = repository(tmp_path / "fleet", text)
    done = fleet.plan("--to", "HEAD")
    assert done.status == 0, done.out
    (outside / "own.yml").unlink()
    assert "there is no ledger ../ledgers/own.yml" in fleet.plan("--to", "HEAD").out
