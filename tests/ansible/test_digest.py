"""A commit that reaches the checkout while a pull is at work is left to the next pull."""

from pathlib import Path
from typing import Any

import pytest

from collection_modules import call
from host_trees import CHAT, rendered
from plugins.module_utils import tree

HOST = {"root": "root", "state_dir": "q"}


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("files", HOST),
        ("images", {**HOST, "state": "present"}),
        ("images", {**HOST, "state": "absent"}),
        ("services", {**HOST, "state": "stopped"}),
        ("services", {**HOST, "state": "started"}),
        ("record", {**HOST, "outcome": "good"}),
        ("validate", {}),
    ],
)
def test_every_step_of_a_pull_takes_the_tree_that_it_began_with_or_none(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    module: str,
    options: dict[str, Any],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "root").mkdir()
    began = rendered(tmp_path / "rendered", {CHAT: b"[Container]\nImage=ghcr.io/x:1\n"})
    digest = tree.read(began).sha256
    rendered(tmp_path / "rendered", {CHAT: b"[Container]\nImage=ghcr.io/x:2\n"})
    said = call(capsys, module, tree=began, digest=digest, **options)
    assert said["failed"]
    why = f"{began} is not the tree any more that this run began with: the next run takes the new one"
    assert said["msg"].startswith(why)
    assert not (tmp_path / "root" / CHAT).exists()
