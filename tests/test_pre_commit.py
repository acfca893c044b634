"""The hooks that this repository offers to pre-commit: what they are called for, and what they do in a repository."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops import EXAMPLE, Repository, clone
from source import ROOT

HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
UNIT = "rendered/claw/etc/containers/systemd/llama-server.container"


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Repository:
    return clone(tmp_path)


def entry(hook: str, *arguments: str) -> str:
    """The command of a hook, as pre-commit splits it, with the `args` of who uses it."""
    return shlex.join([*shlex.split(HOOKS[hook]["entry"]), *arguments])


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_is_passed_no_files_and_installs_quadgen_as_any_python_package(hook: str) -> None:
    assert (HOOKS[hook]["language"], HOOKS[hook]["pass_filenames"]) == ("python", False)


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("fleet.yml", True),
        ("models.lock.yml", True),
        ("measurements/hearth.yml", True),
        ("templates/llama.cpp.container.j2", True),
        ("flags/my-fork.json", True),
        ("site.yml", False),
        ("README.md", False),
        ("collections/ansible_collections/quadgen/fleet/galaxy.yml", False),
    ],
)
def test_a_hook_runs_for_what_a_render_reads(hook: str, name: str, asked: bool) -> None:  # noqa: FBT001 - a table
    assert bool(re.search(HOOKS[hook]["files"], name)) is asked


def test_a_unit_that_was_edited_by_hand_is_rendered_again() -> None:
    assert re.search(HOOKS["quadgen-render"]["files"], UNIT)
    assert not re.search(HOOKS["quadgen-check"]["files"], UNIT)


def test_both_hooks_pass_where_the_tree_is_what_the_fleet_says(repository: Repository) -> None:
    for hook in HOOKS:
        repository.done(entry(hook))
    assert repository.done("git status --porcelain") == ""


def test_both_hooks_fail_where_the_fleet_is_refused_and_write_nothing(repository: Repository) -> None:
    repository.edit("fleet.yml", "    model: qwen3.8-27b\n", "    model: qwen3.8-27b\n    profile: copy\n")
    for hook in HOOKS:
        run = repository.run(entry(hook))
        assert (run.returncode, "error[unmeasured-combination]" in run.stderr) == (1, True)
    assert repository.done("git status --porcelain") == " M fleet.yml\n"


def test_a_render_that_changes_what_git_has_is_left_for_pre_commit_to_see(repository: Repository) -> None:
    repository.edit("fleet.yml", "context: 32768, gpu_reserve", "context: 16384, gpu_reserve")
    repository.done(entry("quadgen-render"))
    assert f" M {UNIT}\n" in repository.done("git status --porcelain")


def test_a_new_host_is_named_until_git_has_its_files_which_pre_commit_would_not_see(repository: Repository) -> None:
    host = "  wren: {backend: cpu, model: gemma-3-270m, context: 8192}\n"
    repository.edit("fleet.yml", "  hearth:\n", f"{host}  hearth:\n")
    for _ in range(2):
        run = repository.run(entry("quadgen-render"))
        new = ["rendered/wren/etc/containers/systemd/llama-server.container", "rendered/wren/manifest.json"]
        assert (run.returncode, run.stdout.splitlines()) == (1, new)
    repository.done("git add rendered")
    repository.done(entry("quadgen-render"))


def test_options_of_the_command_can_be_given_in_args(repository: Repository) -> None:
    repository.done("mkdir below && git mv fleet.yml models.lock.yml measurements below")
    repository.done(entry("quadgen-render", "below/fleet.yml"))
    repository.done(entry("quadgen-check", "below/fleet.yml", "--host", "claw"))


def test_the_example_uses_the_hook_that_renders() -> None:
    config = yaml.safe_load((EXAMPLE / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    assert [hook["id"] for repository in config["repos"] for hook in repository["hooks"]] == ["quadgen-render"]
