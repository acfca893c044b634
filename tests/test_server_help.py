"""A help text comes from a file or from a program, and neither can hang the command, flood it or be run unasked."""

import os
import time
from pathlib import Path

import pytest

from quadgen import server_help
from quadgen.problems import Rejected, Unavailable
from quadgen.server_help import read_help

ENVIRON = {"PATH": os.defpath}


def program(directory: Path, *lines: str) -> str:
    path = directory / "llama-server"
    path.write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def unavailable(path: str, timeout: float = 20) -> str:
    """Why no help text can be had."""
    with pytest.raises(Unavailable) as found:
        read_help(path, environ=ENVIRON, timeout=timeout)
    return str(found.value)


def test_a_program_is_run_with_help_and_nothing_else(tmp_path: Path) -> None:
    path = program(tmp_path, 'echo "$# $1"', "echo unheard >&2")
    assert read_help(path, environ=ENVIRON) == ("1 --help\n", f"{path} --help")


def test_a_program_sees_nothing_that_would_set_options_of_a_server(tmp_path: Path) -> None:
    path = program(tmp_path, 'echo "[$LLAMA_ARG_MODEL] [$LLAMA_API_KEY] [$LD_LIBRARY_PATH] [$LC_ALL]"')
    environ = ENVIRON | {"LLAMA_ARG_MODEL": "m", "LLAMA_API_KEY": "k", "LD_LIBRARY_PATH": "/lib", "LC_ALL": "de_DE"}
    assert read_help(path, environ=environ)[0] == "[] [] [/lib] [C]\n"


def test_a_program_has_no_standard_input(tmp_path: Path) -> None:
    assert read_help(program(tmp_path, "cat; echo done"), environ=ENVIRON)[0] == "done\n"


def test_a_program_is_the_file_of_that_name_and_none_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, "echo mine")
    (tmp_path / "bin").mkdir()
    other = program(tmp_path / "bin", "echo other")
    monkeypatch.chdir(tmp_path)
    assert read_help("llama-server", environ={"PATH": str(Path(other).parent)})[0] == "mine\n"


@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_a_text_is_never_run_whatever_its_mode(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "help.txt"
    path.write_text(f"touch {tmp_path}/ran\n", encoding="utf-8")
    path.chmod(mode)
    assert read_help(str(path), environ=ENVIRON) == (f"touch {tmp_path}/ran\n", str(path))
    assert not (tmp_path / "ran").exists()


def test_a_script_that_may_not_be_executed_is_a_text(tmp_path: Path) -> None:
    path = Path(program(tmp_path, "echo ran"))
    path.chmod(0o644)
    assert read_help(str(path), environ=ENVIRON)[0] == "#!/bin/sh\necho ran\n"


def test_a_text_that_is_not_utf_8_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "help.txt"
    path.write_bytes(b"\xff\n")
    assert read_help(str(path), environ=ENVIRON)[0] == "\ufffd\n"


def test_a_help_text_may_come_through_a_pipe_and_is_not_run_then() -> None:
    out, into = os.pipe()
    os.write(into, b"#!/bin/sh\n")
    os.close(into)
    assert read_help(f"/dev/fd/{out}", environ=ENVIRON)[0] == "#!/bin/sh\n"
    os.close(out)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (("exit 0",), "prints nothing on its standard output"),
        (("echo; echo '  '",), "prints nothing on its standard output"),
        (("echo usage >&2",), "prints nothing on its standard output: usage"),
        (("echo; echo libcuda.so.1: no >&2; exit 127",), "ends with status 127: libcuda.so.1: no"),
        (("printf '\\n\\n  first \\nsecond' >&2; exit 3",), "ends with status 3: first"),
        (("kill -ILL $$",), "ends with SIGILL"),
        (("kill -40 $$",), "ends with signal 40"),
        (("exec yes",), "prints more than 1 MiB, which no help text has"),
    ],
)
def test_a_program_that_does_not_help_is_quoted(lines: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    path = program(tmp_path, *lines)
    assert unavailable(path) == f"{path} --help {reason}"


@pytest.mark.parametrize(
    "lines",
    [
        ("echo loading >&2; exec sleep 600",),
        ("echo loading >&2; sleep 600 & exit 0",),  # what it started holds the pipes
        ("echo loading >&2; exec 1>&- 2>&-; exec sleep 600",),
    ],
)
def test_a_program_that_never_ends_is_ended(lines: tuple[str, ...], tmp_path: Path) -> None:
    path = program(tmp_path, *lines)
    start = time.monotonic()
    assert unavailable(path, timeout=0.5) == f"{path} --help is not done after 0.5 seconds: loading"
    assert time.monotonic() - start < 20


def test_what_a_program_complains_is_read_to_its_end_but_not_kept(tmp_path: Path) -> None:
    path = program(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' x >&2", "echo text")
    assert read_help(path, environ=ENVIRON)[0] == "text\n"


def test_a_program_of_another_machine_cannot_be_run(tmp_path: Path) -> None:
    path = tmp_path / "llama-server"
    path.write_bytes(b"\x7fELF" + bytes(64))
    assert unavailable(str(path)) == f"cannot run {path}: Permission denied"
    path.chmod(0o755)
    assert unavailable(str(path)) == f"cannot run {path}: Exec format error"


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert unavailable(str(tmp_path)) == f"cannot read {tmp_path}: Is a directory"
    assert unavailable(f"{tmp_path}/none") == f"cannot read {tmp_path}/none: No such file or directory"


def test_a_file_without_end_is_no_help_text() -> None:
    with pytest.raises(Rejected) as refused:
        read_help("/dev/zero", environ=ENVIRON)
    (problem,) = refused.value.problems
    assert (problem.code, problem.message) == (
        "unreadable-help",
        "/dev/zero has more than 1 MiB, which no help text has",
    )


def test_a_program_has_a_minute_unless_told_otherwise() -> None:
    assert server_help.TIMEOUT == 60
