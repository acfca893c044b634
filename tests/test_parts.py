"""What a test is told of a real part that is missing, and where another one may be named."""

from pathlib import Path

import pytest

import fetch_gemma
import fetch_llama
import parts


@pytest.fixture(autouse=True)
def _nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "HOME", tmp_path / "parts")
    monkeypatch.setattr(parts, "REQUIRED", False)
    monkeypatch.delenv("QUADGEN_LLAMA_SERVER", raising=False)
    monkeypatch.delenv("QUADGEN_GEMMA", raising=False)


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_server_that_is_missing_skips_with_one_line_that_says_how_to_get_it() -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        parts.llama_server()
    assert str(skipped.value) == "real part missing: llama-server b11434 (make parts builds it)"


def test_a_server_that_is_missing_fails_where_parts_are_required(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "REQUIRED", True)
    with pytest.raises(pytest.fail.Exception, match="real part missing: llama-server b11434"):
        parts.llama_server()


def test_a_server_that_make_parts_built_is_taken_and_one_of_another_recipe_is_not(tmp_path: Path) -> None:
    home = tmp_path / "parts"
    server = program(fetch_llama.program(home))
    stamp = home / "llama-server" / f"{fetch_llama.BUILD}.stamp"
    stamp.write_text(f"{fetch_llama.STAMP}\n", encoding="ascii")
    assert parts.llama_server() == server
    stamp.write_text("another\n", encoding="ascii")
    with pytest.raises(pytest.skip.Exception):
        parts.llama_server()


def test_a_server_may_be_named_and_must_then_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUADGEN_LLAMA_SERVER", str(tmp_path / "mine"))
    with pytest.raises(pytest.skip.Exception):
        parts.llama_server()
    server = program(tmp_path / "mine")
    assert parts.llama_server() == server


def test_a_checkpoint_is_taken_from_where_it_was_brought_or_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(pytest.skip.Exception) as skipped:
        parts.gemma()
    assert str(skipped.value) == "real part missing: Gemma 3 270M (make parts fetches it)"
    brought = program(fetch_gemma.checkpoint(tmp_path / "parts"))
    with pytest.raises(pytest.skip.Exception):
        parts.gemma()
    brought.with_name(f"{brought.name}.stamp").write_text(f"{fetch_gemma.SHA256}\n", encoding="ascii")
    assert parts.gemma() == brought
    monkeypatch.setenv("QUADGEN_GEMMA", str(tmp_path / "mine"))
    with pytest.raises(pytest.skip.Exception):
        parts.gemma()
    mine = program(tmp_path / "mine")
    assert parts.gemma() == mine
