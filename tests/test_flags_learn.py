"""`quadgen flags learn`: what is learned of a program or a text, where it goes, and the status it ends with."""

import os
import stat
from pathlib import Path

import pytest

from command import Done, quadgen
from fleets import CPU, ENGINES, accepted, marked, one, problems, refusal, run, unit
from hosts import snapshot
from quadgen import disk
from quadgen.engines.flags import dump_table, shipped_tables
from quadgen.problems import Severity, Unavailable
from source import PACKAGE, ROOT

HELP = ROOT / "tests" / "data" / "llama-server-help-b11434.txt"
SHIPPED = (PACKAGE / "data" / "flags" / "llama.cpp-b11434.json").read_text(encoding="utf-8")
NO_HELP = """\
error[unreadable-help]: {name} holds no options of a help text
  = hint: save what `llama-server --help` prints on its standard output

quadgen: 1 error
"""


def server(directory: Path, *lines: str) -> Path:
    """A program that stands for a llama-server."""
    path = directory / "llama-server"
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)
    return path


def fork(directory: Path) -> str:
    """The help text of a fork with a flag of its own; gives the name of the file."""
    own = "--own N".ljust(40) + "a flag of its own (default: 1)"
    (directory / "fork.txt").write_text(f"{HELP.read_text(encoding='utf-8')}\n{own}\n", encoding="utf-8")
    return "fork.txt"


@pytest.mark.parametrize("source", ["program", "text"])
def test_what_is_learned_of_a_real_build_is_the_table_that_comes_along(source: str, tmp_path: Path) -> None:
    learned = server(tmp_path, f'[ "$*" = --help ] && exec cat "{HELP}"') if source == "program" else HELP
    assert quadgen("flags", "learn", learned, "--build", "b11434", cwd=tmp_path) == Done(status=0, out=SHIPPED, err="")


def test_a_table_goes_into_a_file_with_a_word_of_what_it_holds(tmp_path: Path) -> None:
    done = quadgen("flags", "learn", HELP, "--build", "b11434", "-o", "b.json", cwd=tmp_path)
    assert done == Done(status=0, out="", err="quadgen: b.json: 256 options of b11434\n")
    assert (tmp_path / "b.json").read_text(encoding="utf-8") == SHIPPED
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_a_fleet_that_names_a_learned_table_renders_by_it(tmp_path: Path) -> None:
    assert quadgen("flags", "learn", fork(tmp_path), "--build", "my fork", "-o", "f.json", cwd=tmp_path).status == 0
    text = one("{model: plain, backend: cpu, engine: cpu, context: 4096, flags: {own: 7}}")
    text = text.replace("build: b10715, backends: [cpu]", "build: my fork, flags: f.json, backends: [cpu]")
    files = {"f.json": (tmp_path / "f.json").read_bytes()}
    assert "--own 7" in unit(text, files)
    (resolution,) = accepted(text, files).resolved.hosts["claw"]
    assert resolution.notes == ()


def test_a_unit_says_when_its_table_is_that_of_another_build() -> None:
    table = dump_table(shipped_tables()["b11434"])
    text = one("{model: plain, backend: cpu, engine: cpu, context: 4096}")
    text = text.replace("build: b10715, backends: [cpu]", "build: b12000, flags: f.json, backends: [cpu]")
    assert "the flags are those of b11434, by f.json" in unit(text, {"f.json": table})


@pytest.mark.parametrize(
    ("build", "hint"),
    [
        ("b11434", "leave `flags` out: the table of b11434 comes with quadgen"),
        ("b12000", "learn it anew with each build: quadgen flags learn BINARY --build b12000 -o f.json"),
    ],
)
def test_a_table_of_another_build_is_warned_of_once_whoever_uses_its_engine(build: str, hint: str) -> None:
    hosts = "".join(f"  h{at}: {CPU}, extra_args: [--no-mmap]}}\n" for at in range(2))
    text = f"{ENGINES}hosts:\n{hosts}"
    text = text.replace("build: b10715, backends: [cpu]", f"build: {build}, flags: f.json, backends: [cpu]")
    table = dump_table(shipped_tables()["b10434"])
    (found,) = [problem for problem in problems(text, {"f.json": table}) if problem.path == ("engines", "cpu", "flags")]
    assert (found.code, found.severity, marked(found)) == ("stale-build", Severity.WARNING, "f.json")
    assert found.message == f"the flag table f.json is of b10434, and the engine is {build}"
    assert found.hint == hint


def test_a_table_of_the_engine_s_own_build_or_of_an_engine_without_one_is_not_stale() -> None:
    table = dump_table(shipped_tables()["b10434"])
    for build in ("build: b10434, ", ""):
        text = one(f"{CPU}}}").replace("build: b10715, backends: [cpu]", f"{build}flags: f.json, backends: [cpu]")
        assert "the flag table" not in " ".join(problem.message for problem in problems(text, {"f.json": table}))


def test_a_flag_that_the_build_has_and_its_stale_table_lacks_leads_to_a_new_table() -> None:
    text = one(f"{CPU}, flags: {{log-jsonl: true}}}}")
    text = text.replace("build: b10715, backends: [cpu]", "build: b11434, flags: f.json, backends: [cpu]")
    found = refusal(text, {"f.json": dump_table(shipped_tables()["b10434"])})
    assert found.hint == "b11434 has it: learn the engine's flag table anew, for b11434"


@pytest.mark.parametrize(
    "text", [b"", b"\x00\xff" * 5000, b"usage: none of the kind\n", b"----- common params -----\n"]
)
def test_a_text_that_is_no_help_text_is_refused(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "help.txt").write_bytes(text)
    done = quadgen("flags", "learn", "help.txt", "--build", "b1", "-o", "b.json", cwd=tmp_path)
    assert done == Done(status=1, out="", err=NO_HELP.format(name="help.txt"))
    assert not (tmp_path / "b.json").exists()


def test_a_line_that_fits_nothing_is_shown_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "help.txt").write_text("----- common params -----\n\n-a\n  odd\x1b[2J\n", encoding="utf-8")
    done = quadgen("flags", "learn", "help.txt", "--build", "b1", cwd=tmp_path)
    assert done == Done(
        status=1,
        out="",
        err="""\
error[unreadable-help]: no option of a help text begins or goes on like this
 --> help.txt:4:1
  |
4 |   odd\ufffd[2J
  | ^^^^^^^^^

quadgen: 1 error
""",
    )


def test_of_a_text_that_is_something_else_only_the_beginning_is_shown(tmp_path: Path) -> None:
    (tmp_path / "help.txt").write_text("----- common params -----\n" + "?\n" * 400_000, encoding="utf-8")
    done = quadgen("flags", "learn", "help.txt", "--build", "b1", cwd=tmp_path)
    assert (done.status, done.err.count("error[unreadable-help]")) == (1, 21)


def test_a_program_that_ignores_help_is_refused_by_what_it_prints(tmp_path: Path) -> None:
    path = server(tmp_path, "echo hello")
    done = quadgen("flags", "learn", path, "--build", "b1", cwd=tmp_path)
    assert done == Done(status=1, out="", err=NO_HELP.format(name=f"{path} --help"))


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("exit 0",), "prints nothing on its standard output"),
        (("echo 'libcuda.so.1: not found' >&2; exit 127",), "ends with status 127: libcuda.so.1: not found"),
        (("exec yes",), "prints more than 1 MiB, which no help text has"),
    ],
)
def test_a_program_that_does_not_help_is_the_environment_s_fault(
    lines: tuple[str, ...], reason: str, tmp_path: Path
) -> None:
    path = server(tmp_path, *lines)
    done = quadgen("flags", "learn", path, "--build", "b1", "-o", "b.json", cwd=tmp_path)
    assert done == Done(status=4, out="", err=f"quadgen: {path} --help {reason}\n")
    assert not (tmp_path / "b.json").exists()


@pytest.mark.parametrize(
    ("name", "reason"), [("none", "No such file or directory"), (".", "Is a directory"), ("loop", "Too many levels")]
)
def test_what_cannot_be_read_is_the_environment_s_fault(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    done = quadgen("flags", "learn", name, "--build", "b1", cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert done.err.startswith(f"quadgen: cannot read {name}: {reason}")


def test_what_may_not_be_read_or_written_is_the_environment_s_fault(tmp_path: Path) -> None:
    (tmp_path / "help.txt").touch(mode=0)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    words = ("flags", "learn", HELP, "--build", "b1", "-o")
    assert quadgen(*words, "none/b.json", cwd=tmp_path).status == 4  # every module is imported now
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65534)  # root reads and writes everything
    try:
        told = [
            quadgen("flags", "learn", tmp_path / "help.txt", "--build", "b1", cwd=Path("/")),
            quadgen("flags", "show", tmp_path / "help.txt", cwd=Path("/")),
        ]
        with pytest.raises(Unavailable, match=f"^cannot write {locked}/b.json: Permission denied$"):
            disk.write_file(f"{locked}/b.json", b"{}")
    finally:
        os.seteuid(uid)
    for done in told:
        assert done == Done(status=4, out="", err=f"quadgen: cannot read {tmp_path}/help.txt: Permission denied\n")
    assert list(locked.iterdir()) == []


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("none/b.json", "No such file or directory"),
        (".", "Is a directory"),
        ("new/", "Is a directory"),
        ("l/b", "Not a directory"),
    ],
)
def test_where_nothing_can_be_written_nothing_is(output: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "l").write_text("", encoding="utf-8")
    before = snapshot(tmp_path)
    done = quadgen("flags", "learn", HELP, "--build", "b1", "-o", output, cwd=tmp_path)
    assert done == Done(status=4, out="", err=f"quadgen: cannot write {output}: {reason}\n")
    assert snapshot(tmp_path) == before


def test_what_is_no_flag_table_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text("version: 1\n", encoding="utf-8")
    done = quadgen("flags", "learn", HELP, "--build", "b1", "-o", "fleet.yml", cwd=tmp_path)
    assert done == Done(
        status=1,
        out="",
        err="""\
error[not-ours]: fleet.yml is there already, and is no flag table
  = hint: name another file, or move this one away

quadgen: 1 error
""",
    )
    assert (tmp_path / "fleet.yml").read_text(encoding="utf-8") == "version: 1\n"


def test_an_older_table_is_replaced_where_its_link_points_and_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    old = tmp_path / "there" / "b.json"
    old.write_text(dump_table(shipped_tables()["b10434"]), encoding="utf-8")
    old.chmod(0o640)
    (tmp_path / "there" / ".b.json.quadgen-new").write_text("half", encoding="utf-8")  # of a process that was killed
    (tmp_path / "b.json").symlink_to("there/b.json")
    (tmp_path / "empty.json").write_text("", encoding="utf-8")
    for output in ("b.json", "empty.json"):
        assert quadgen("flags", "learn", HELP, "--build", "b11434", "-o", output, cwd=tmp_path).status == 0
    assert (tmp_path / "b.json").is_symlink()
    assert old.read_text(encoding="utf-8") == (tmp_path / "empty.json").read_text(encoding="utf-8") == SHIPPED
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert [path.name for path in old.parent.iterdir()] == ["b.json"]


def test_a_table_may_go_to_what_is_no_file(tmp_path: Path) -> None:
    done = run("flags", "learn", str(HELP), "--build", "b11434", "-o", "/dev/stdout", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, SHIPPED)


@pytest.mark.parametrize("build", ["", " ", "a\nb", "\x1b[2J", "\udcff"])
def test_a_build_s_name_is_a_line_of_text(build: str, tmp_path: Path) -> None:
    done = quadgen("flags", "learn", HELP, "--build", build, cwd=tmp_path)
    assert (done.status, done.out) == (2, "")
    assert "a build's name is one line of text" in done.err


def learned(text: str, tmp_path: Path) -> Done:
    (tmp_path / "help.txt").write_text(text, encoding="utf-8")
    return quadgen("flags", "learn", "help.txt", "--build", "b11434", cwd=tmp_path)


def test_a_byte_order_mark_loses_nothing(tmp_path: Path) -> None:
    assert learned("\ufeff" + HELP.read_text(encoding="utf-8"), tmp_path) == Done(status=0, out=SHIPPED, err="")


@pytest.mark.parametrize("lines", [120, 320, 600])
def test_a_help_text_that_is_cut_off_is_refused(lines: int, tmp_path: Path) -> None:
    whole = HELP.read_text(encoding="utf-8").splitlines(keepends=True)
    done = learned("".join(whole[:lines]), tmp_path)
    assert (done.status, done.out) == (1, "")
    assert "help.txt is not the whole help of a llama-server: it has no" in done.err
    assert "--lora-init-without-apply" in done.err


def test_a_help_text_without_its_beginning_is_refused(tmp_path: Path) -> None:
    text = HELP.read_text(encoding="utf-8")
    done = learned(text[text.index("----- sampling params -----") :], tmp_path)
    assert (done.status, "it has no --model" in done.err) == (1, True)


def test_two_help_texts_in_one_file_are_refused_once(tmp_path: Path) -> None:
    done = learned(HELP.read_text(encoding="utf-8") * 2, tmp_path)
    assert (done.status, done.out, done.err.count("error[unreadable-help]")) == (1, "", 1)
    assert "--help" in done.err
    assert "stand twice in help.txt" in done.err
