"""A commit that reaches the checkout while a pull is at work is left to the next pull."""

from pathlib import Path
from typing import Any

import pytest

from collection_modules import call
from host_trees import CHAT, rendered
from plugins.module_utils import tree


@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("files", {"state_dir": "q"}),
        ("images", {"state_dir": "q", "state": "present"}),
        ("images", {"state_dir": "q", "state": "absent"}),
        ("services", {"state_dir": "q", "state": "stopped"}),
        ("services", {"state_dir": "q", "state": "started"}),
        ("record", {"state_dir": "q", "outcome": "good"}),
        ("validate", {}),
    ],
)
def test_every_step_of_a_pull_takes_the_tree_that_it_began_with_or_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], module: str, options: dict[str, Any]
) -> None:
    (tmp_path / "root").mkdir()
    began = rendered(tmp_path / "rendered", {CHAT: b"[Container]\nImage=ghcr.io/x:1\n"})
    digest = tree.read(began).sha256
    rendered(tmp_path / "rendered", {CHAT: b"[Container]\nImage=ghcr.io/x:2\n"})
    said = call(capsys, module, tree=began, digest=digest, root=str(tmp_path / "root"), **options)
    assert said["failed"]
    assert said["msg"] == f"{began} is not the tree any more that this run began with: the next run takes the new one"
    assert not (tmp_path / "root" / CHAT).exists()
