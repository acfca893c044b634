"""`quadgen lock`: what is read, what is kept, what is said, and what the command ends with."""

import io
import json
import shutil
import sys
from pathlib import Path

import pytest

import file_server
import tiny_gguf
from command import Done, quadgen
from hosts import snapshot
from quadgen.cli.progress import step
from quadgen.disk import windows
from quadgen.document import load
from quadgen.facts.lock_file import parse
from quadgen.facts.record import Lock
from quadgen.problems import Collector

FLEET = """\
version: 1
models:
  chat: {file: plain.gguf}
  coder: {file: coder/headed.gguf, mtp: true}
hosts:
  claw: {backend: vulkan, model: chat}
"""
LOCK = "models.lock.yml"


@pytest.fixture(scope="session", name="tiny")
def _tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("tiny")
    for name in ("plain", "draft", "headed", "head"):
        tiny_gguf.make(directory, name)
    return directory


@pytest.fixture(name="here")
def _here(tmp_path: Path, tiny: Path) -> Path:
    """A fleet of two models, and both files in `models`."""
    (tmp_path / "fleet.yml").write_text(FLEET, encoding="utf-8")
    (tmp_path / "models" / "coder").mkdir(parents=True)
    shutil.copy(tiny / "plain.gguf", tmp_path / "models")
    shutil.copy(tiny / "headed.gguf", tmp_path / "models" / "coder")
    return tmp_path


def lock(here: Path, *words: str | Path, directory: str | Path = "models") -> Done:
    return quadgen("lock", "fleet.yml", "--models-dir", directory, *words, cwd=here)


def recorded(here: Path) -> Lock:
    collector = Collector()
    found = parse(LOCK, load(LOCK, (here / LOCK).read_bytes()).data, collector)
    assert collector.problems == []
    return found


def names(here: Path) -> list[str]:
    return list(recorded(here).files)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def codes(done: Done) -> list[str]:
    return [problem["code"] for problem in json.loads(done.out)]


def test_what_is_found_is_recorded_and_a_second_run_touches_nothing(here: Path) -> None:
    done = lock(here)
    assert done == Done(status=0, out="", err=f"quadgen: {LOCK}: 2 files, 2 recorded\n")
    found = recorded(here).files
    assert {name: facts.architecture for name, facts in found.items()} == {
        "coder/headed.gguf": "qwen35", "plain.gguf": "llama",
    }  # fmt: skip
    assert found["plain.gguf"].size == (here / "models/plain.gguf").stat().st_size
    assert found["coder/headed.gguf"].heads == (2,)
    before = snapshot(here, times=True)
    assert lock(here) == Done(status=0, out="", err=f"quadgen: {LOCK}: 2 files, nothing to change\n")
    assert snapshot(here, times=True) == before


def test_the_directories_of_the_fleet_are_those_of_this_machine(here: Path) -> None:
    edit(here / "fleet.yml", "hosts:", f"defaults: {{models_dir: {here}/models}}\nhosts:")
    assert quadgen("lock", cwd=here).status == 0
    assert names(here) == ["coder/headed.gguf", "plain.gguf"]


def test_the_directories_that_are_named_stand_in_for_those_of_the_fleet(here: Path) -> None:
    edit(here / "fleet.yml", "hosts:", f"defaults: {{models_dir: {here}/models}}\nhosts:")
    (here / "empty").mkdir()
    done = lock(here, directory="empty")
    assert done.status == 4
    assert done.err.count("error[not-recorded]") == 2


def test_an_absolute_file_is_looked_for_by_its_last_part_elsewhere(here: Path) -> None:
    edit(here / "fleet.yml", "file: plain.gguf", "file: /srv/far/away/plain.gguf")
    assert lock(here).status == 0
    assert names(here) == ["/srv/far/away/plain.gguf", "coder/headed.gguf"]


def test_a_lock_stands_where_the_fleet_says_beside_the_fleet(here: Path) -> None:
    edit(here / "fleet.yml", "models:\n", "lock: facts/known.yml\nmodels:\n")
    (here / "facts").mkdir()
    (here / "elsewhere").mkdir()
    done = quadgen("lock", "../fleet.yml", "--models-dir", "../models", cwd=here / "elsewhere")
    assert (done.status, done.err) == (0, "quadgen: ../facts/known.yml: 2 files, 2 recorded\n")
    assert (here / "facts/known.yml").exists()
    assert not (here / LOCK).exists()


def test_what_is_not_here_keeps_its_entry(here: Path) -> None:
    lock(here)
    before = snapshot(here / LOCK, times=True)
    (here / "models/plain.gguf").unlink()
    done = lock(here)
    assert done.status == 0
    assert done.err == (
        "quadgen: plain.gguf: kept as the lock has it: there is no models/plain.gguf\n"
        f"quadgen: {LOCK}: 2 files, nothing to change\n"
    )
    assert snapshot(here / LOCK, times=True) == before


def test_what_is_not_here_and_was_never_recorded_is_missed_and_the_rest_is_written(here: Path) -> None:
    (here / "models/plain.gguf").unlink()
    done = lock(here)
    assert done.status == 4
    assert (
        done.err
        == f"""\
error[not-recorded]: plain.gguf cannot be recorded
 --> fleet.yml:3:16
  |
3 |   chat: {{file: plain.gguf}}
  |                ^^^^^^^^^^
  = note: there is no models/plain.gguf
  = hint: run quadgen lock where the file is, or name its directory with --models-dir

quadgen: 1 error
quadgen: {LOCK}: 2 files, 1 recorded, 1 not to be had
"""
    )
    assert names(here) == ["coder/headed.gguf"]


def test_a_file_that_changed_is_recorded_anew_and_what_the_fleet_no_longer_names_goes(here: Path, tiny: Path) -> None:
    lock(here)
    shutil.copy(tiny / "draft.gguf", here / "models/coder/headed.gguf")
    edit(here / "fleet.yml", "file: plain.gguf", "file: other.gguf")
    shutil.copy(tiny / "head.gguf", here / "models/other.gguf")
    assert lock(here).err == f"quadgen: {LOCK}: 2 files, 1 recorded, 1 renewed, 1 taken out\n"
    assert {name: facts.architecture for name, facts in recorded(here).files.items()} == {
        "coder/headed.gguf": "llama", "other.gguf": "qwen35",
    }  # fmt: skip


def test_one_model_alone_is_renewed_and_nothing_else_goes(here: Path, tiny: Path) -> None:
    lock(here)
    shutil.copy(tiny / "draft.gguf", here / "models/coder/headed.gguf")
    shutil.copy(tiny / "head.gguf", here / "models/plain.gguf")
    edit(here / "fleet.yml", "coder/headed.gguf", "headed.gguf")
    assert lock(here, "--model", "chat").err == f"quadgen: {LOCK}: 1 file, 1 renewed\n"
    assert {name: facts.architecture for name, facts in recorded(here).files.items()} == {
        "coder/headed.gguf": "qwen35", "plain.gguf": "qwen35",
    }  # fmt: skip


def test_one_model_that_is_asked_for_must_be_here(here: Path) -> None:
    lock(here)
    (here / "models/plain.gguf").unlink()
    done = lock(here, "--model", "chat", "--format", "json")
    assert (done.status, codes(done)) == (4, ["not-recorded"])
    assert names(here) == ["coder/headed.gguf", "plain.gguf"]


def test_a_model_that_the_fleet_does_not_have_is_a_mistake_of_the_command_line(here: Path) -> None:
    done = lock(here, "--model", "caht")
    assert done.status == 2
    assert "caht" in done.err
    assert "chat" in done.err


def test_heads_and_projectors_are_recorded_and_adapters_are_not(here: Path, tiny: Path) -> None:
    edit(here / "fleet.yml", "{file: plain.gguf}", "{file: plain.gguf, mtp: head.gguf, mmproj: eye.gguf}")
    edit(here / "fleet.yml", "model: chat}", "model: chat, lora: [style.gguf]}")
    shutil.copy(tiny / "head.gguf", here / "models/head.gguf")
    shutil.copy(tiny / "draft.gguf", here / "models/eye.gguf")
    assert lock(here).status == 0
    assert names(here) == ["coder/headed.gguf", "eye.gguf", "head.gguf", "plain.gguf"]


def test_nothing_is_recorded_of_halogens_files_and_that_is_said(here: Path) -> None:
    edit(here / "fleet.yml", "plain.gguf", "flash.hgn")
    assert lock(here).err == (
        f"quadgen: flash.hgn: nothing is recorded of a checkpoint of halogen's\nquadgen: {LOCK}: 1 file, 1 recorded\n"
    )


def test_a_fleet_without_models_gets_no_lock(here: Path) -> None:
    (here / "fleet.yml").write_text("version: 1\nhosts: {}\n", encoding="utf-8")
    assert lock(here) == Done(status=0, out="", err=f"quadgen: {LOCK}: 0 files, nothing to change\n")
    assert not (here / LOCK).exists()


def test_a_file_that_is_no_checkpoint_refuses_everything(here: Path) -> None:
    lock(here)
    before = (here / LOCK).read_bytes()
    (here / "models/plain.gguf").write_bytes(b"<!DOCTYPE html>")
    (here / "models/coder/headed.gguf").write_bytes((here / "models/coder/headed.gguf").read_bytes()[:-100])
    done = lock(here, "--format", "json")
    assert (done.status, codes(done)) == (1, ["malformed-gguf", "malformed-gguf"])
    assert {message["message"].partition(":")[0] for message in json.loads(done.out)} == {
        "models/plain.gguf", "models/coder/headed.gguf",
    }  # fmt: skip
    assert "nothing was written" in done.err
    assert (here / LOCK).read_bytes() == before


def test_what_cannot_be_opened_is_not_to_be_had(here: Path) -> None:
    (here / "models/plain.gguf").unlink()
    (here / "models/plain.gguf").mkdir()
    done = lock(here)
    assert done.status == 4
    assert "error[not-recorded]: plain.gguf cannot be recorded" in done.err
    assert names(here) == ["coder/headed.gguf"]


def test_two_directories_with_one_file_agree(here: Path) -> None:
    shutil.copytree(here / "models", here / "copies")
    assert lock(here, "--models-dir", "copies").status == 0


def test_a_file_that_has_two_names_is_read_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = windows.opened

    def counted(path: str) -> object:
        opened.append(path)
        return real(path)

    monkeypatch.setattr(windows, "opened", counted)
    edit(here / "fleet.yml", "coder/headed.gguf", "alias.gguf")
    (here / "models/alias.gguf").symlink_to("plain.gguf")
    assert lock(here, "--models-dir", here / "models").status == 0
    assert len(opened) == 1
    assert names(here) == ["alias.gguf", "plain.gguf"]


def test_two_directories_with_two_files_of_one_name_are_a_mistake(here: Path, tiny: Path) -> None:
    (here / "old").mkdir()
    shutil.copy(tiny / "headed.gguf", here / "old/plain.gguf")
    done = lock(here, "--models-dir", "old")
    assert done.status == 1
    assert (
        "error[ambiguous-file]: models/plain.gguf and old/plain.gguf are not the same file, and the fleet calls both "
        "plain.gguf\n --> fleet.yml:3:16"
    ) in done.err
    assert not (here / LOCK).exists()


def test_a_check_of_what_agrees_writes_nothing(here: Path) -> None:
    lock(here)
    before = snapshot(here, times=True)
    assert lock(here, "--check") == Done(
        status=0, out="", err=f"quadgen: {LOCK} agrees with the fleet and its files: 2 of 2 compared\n"
    )
    assert snapshot(here, times=True) == before


def test_a_check_counts_no_file_that_is_elsewhere(here: Path) -> None:
    lock(here)
    (here / "models/plain.gguf").unlink()
    assert lock(here, "--check") == Done(
        status=0,
        out="",
        err="quadgen: plain.gguf: not compared: there is no models/plain.gguf\n"
        f"quadgen: {LOCK} agrees with the fleet and its files: 1 of 2 compared\n",
    )


def test_a_check_names_each_file_that_is_another_one_and_what_changed(here: Path, tiny: Path) -> None:
    lock(here)
    was = recorded(here).files["plain.gguf"]
    shutil.copy(tiny / "headed.gguf", here / "models/plain.gguf")
    now = recorded(here).files["coder/headed.gguf"]
    before = snapshot(here, times=True)
    done = lock(here, "--check")
    assert snapshot(here, times=True) == before
    line = (here / LOCK).read_text(encoding="utf-8").split("\n").index("  plain.gguf:") + 1
    margin = " " * len(str(line))
    assert done == Done(status=3, out="", err=f"""\
error[lock-differs]: plain.gguf is not what the lock has
{margin}--> {LOCK}:{line}:3
{margin} |
{line} |   plain.gguf:
{margin} |   ^^^^^^^^^^
{margin} = note: size: {was.size} bytes in the lock, {now.size} in the file
{margin} = note: header: {was.header[:16]}... in the lock, {now.header[:16]}... in the file
{margin} = hint: run quadgen lock where the file is, and review what changes

quadgen: 1 error
quadgen: {LOCK} differs from the fleet and its files: 2 of 2 compared
""")  # fmt: skip


def test_a_check_finds_what_is_missing_in_the_lock_and_what_is_too_much(here: Path) -> None:
    lock(here)
    edit(here / "fleet.yml", "file: plain.gguf", "file: new.gguf")
    done = lock(here, "--check", "--format", "json")
    assert (done.status, codes(done)) == (3, ["lock-differs", "lock-differs"])
    assert [problem["message"] for problem in json.loads(done.out)] == [
        f"{LOCK} has nothing of new.gguf", "the fleet does not name plain.gguf",
    ]  # fmt: skip


def test_a_check_of_a_fleet_without_a_lock_differs(here: Path) -> None:
    assert (lock(here, "--check").status, (here / LOCK).exists()) == (3, False)


def test_a_check_finds_a_lock_that_somebody_edited(here: Path) -> None:
    lock(here)
    edit(here / LOCK, "heads: [2]", "heads: [1]")
    done = lock(here, "--check")
    assert done.status == 3
    assert "the header is the same, and the lock says something else of it than this quadgen" in done.err
    lock(here)
    assert lock(here, "--check").status == 0


def test_a_lock_that_is_none_is_never_written_over(here: Path) -> None:
    (here / "notes.yml").write_text("- buy milk\n", encoding="utf-8")
    edit(here / "fleet.yml", "models:\n", "lock: notes.yml\nmodels:\n")
    done = lock(here)
    assert (done.status, "a lock is a mapping" in done.err) == (1, True)
    assert (here / "notes.yml").read_text(encoding="utf-8") == "- buy milk\n"


def test_the_fleet_itself_is_no_lock(here: Path) -> None:
    edit(here / "fleet.yml", "models:\n", "lock: fleet.yml\nmodels:\n")
    before = (here / "fleet.yml").read_bytes()
    assert lock(here).status == 1
    assert (here / "fleet.yml").read_bytes() == before


def test_a_lock_that_a_merge_tore_apart_is_refused_with_its_place(here: Path) -> None:
    lock(here)
    edit(here / LOCK, "files:\n", "<<<<<<< HEAD\nfiles:\n")
    before = (here / LOCK).read_bytes()
    done = lock(here, "--format", "json")
    assert (done.status, codes(done), json.loads(done.out)[0]["file"]) == (1, ["yaml-syntax"], LOCK)
    assert (here / LOCK).read_bytes() == before


@pytest.mark.parametrize(
    "address", ["https://user:hunter2@example.org/a.gguf", "https://example.org/a.gguf?token=hunter2"]
)
def test_an_address_that_holds_a_key_is_neither_asked_nor_shown_nor_recorded(here: Path, address: str) -> None:
    edit(here / "fleet.yml", "file: plain.gguf", f'url: "{address}"')
    done = lock(here)
    assert (done.status, "error[literal-secret]" in done.err, "hunter2" in done.err) == (1, True, False)
    assert not (here / LOCK).exists()


def test_nothing_is_read_over_the_network_where_that_is_not_wanted(here: Path) -> None:
    edit(here / "fleet.yml", "file: plain.gguf", "hf: org/repo:Q4_K_M")
    done = lock(here, "--offline")
    assert done.status == 4
    assert "error[not-recorded]: hf:org/repo:Q4_K_M cannot be recorded" in done.err
    assert "note: nothing is read over the network" in done.err


def test_a_fleet_that_is_wrong_in_its_models_is_refused_before_anything_is_read(here: Path) -> None:
    edit(here / "fleet.yml", "{file: plain.gguf}", "{fiel: plain.gguf}")
    done = lock(here, "--format", "json")
    assert (done.status, set(codes(done))) == (1, {"unknown-key", "missing-key"})
    assert not (here / LOCK).exists()


def test_a_lock_that_cannot_be_written_is_an_obstacle_outside(here: Path) -> None:
    edit(here / "fleet.yml", "models:\n", "lock: nowhere/known.yml\nmodels:\n")
    done = lock(here)
    assert done.status == 4
    assert "cannot write nowhere/known.yml" in done.err


class Terminal(io.StringIO):
    """A text that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_which_file_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    step(1, 2, "plain\x1b.gguf")
    step(2, 2, "")
    step(0, 0, "")
    assert terminal.getvalue() == f"\r[{'#' * 15}{'.' * 15}] 1/2 {'plain?.gguf':<30}\r[{'#' * 30}] 2/2 {'':<30}\n"


def test_what_ends_work_before_its_bar_is_full_is_said_on_a_line_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", Terminal())
        step(1, 2, "plain.gguf")
    one, other = (quadgen("gguf", "show", "nowhere.gguf", cwd=tmp_path).err for _ in range(2))
    assert one == f"\n{other}"


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_what_an_engine_fetches_is_read_where_it_is_fetched_from(here: Path, tiny: Path) -> None:
    data = (tiny / "plain.gguf").read_bytes()
    with file_server.started({"/plain.gguf": file_server.ranged(data)}) as server:
        edit(here / "fleet.yml", "file: plain.gguf", f"url: {server.url('/plain.gguf')}")
        assert lock(here).status == 0
        assert lock(here, "--check").status == 0
        found = recorded(here).files[server.url("/plain.gguf")]
        assert (found.architecture, found.size) == ("llama", len(data))
        server.answers["/plain.gguf"] = file_server.ranged((tiny / "headed.gguf").read_bytes())
        assert lock(here, "--check").status == 3
        server.answers["/plain.gguf"] = file_server.ranged(b"<!DOCTYPE html>")
        assert lock(here, "--check").status == 1
    done = lock(here, "--check")
    assert (done.status, "not compared: cannot read http://127.0.0.1" in done.err) == (0, True)
