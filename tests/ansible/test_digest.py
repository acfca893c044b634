"""A commit that reaches the checkout while a pull is at work is left to the next pull."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from collection import COLLECTION
from collection_modules import call
from host_trees import CHAT, rendered
from plugins.module_utils import tree

TASKS = sorted(COLLECTION.glob("roles/*/tasks/*.yml"))
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


def steps(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The options of each step that is one of the collection's, those in blocks as well."""
    for task in tasks:
        for inner in ("block", "rescue", "always"):
            yield from steps(task.get(inner, []))
        yield from (options for name, options in task.items() if name.startswith("quadgen.fleet."))


def test_each_step_of_the_role_is_told_which_tree_the_run_began_with() -> None:
    every = [each for path in TASKS for each in steps(yaml.safe_load(path.read_text(encoding="utf-8")))]
    taken = [each for each in every if "host_survey.tree" in each.get("tree", "")]
    assert len(taken) > 1
    assert [each for each in taken if "host_survey.digest" not in each.get("digest", "")] == []
