"""The workflows of examples/gitops: each step that calls quadgen is run in a clone, on fleets that are fine and not."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops import EXAMPLE, Repository, clone
from parts import OLDEST, generators, missing
from quadgen.verify import find_systemd_analyze

GITHUB = ".github/workflows/fleet.yml"
FORGEJO = ".forgejo/workflows/fleet.yml"
GITLAB = ".gitlab-ci.yml"
ACTIONS = (GITHUB, FORGEJO)
UNIT = "rendered/claw/etc/containers/systemd/llama-server.container"
each_workflow = pytest.mark.parametrize("name", [*ACTIONS, GITLAB])


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of a job that is a script."""

    job: str
    script: str

    def calls(self, command: str) -> bool:
        """Whether it runs a command of quadgen's, which `pipx install` is not."""
        return re.search(rf"(?m)^ *quadgen {command}\b", self.script) is not None


def workflow(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load((EXAMPLE / name).read_text(encoding="utf-8"))
    return found


def jobs(name: str) -> dict[str, Any]:
    found = workflow(name)
    if name in ACTIONS:
        listed: dict[str, Any] = found["jobs"]
        return listed
    return {job: told for job, told in found.items() if job not in {"workflow", "default", "variables"}}


def steps(name: str) -> Iterator[Step]:
    """The scripts of a workflow, in order; of a job of GitLab's each command, but those of a plan, which are one."""
    for job, told in jobs(name).items():
        if name in ACTIONS:
            yield from (Step(job=job, script=step["run"]) for step in told["steps"] if "run" in step)
        else:
            yield from (Step(job=job, script=line) for line in told["before_script"])
            together = ["\n".join(told["script"])] if job == "plan" else told["script"]
            yield from (Step(job=job, script=script) for script in together)


def that_call(command: str) -> list[str]:
    """Every script of any workflow that runs this command of quadgen's, each once."""
    return list(
        dict.fromkeys(step.script for name in [*ACTIONS, GITLAB] for step in steps(name) if step.calls(command))
    )


@pytest.fixture(name="repository")
def _repository(tmp_path: Path) -> Repository:
    return clone(tmp_path)


def judges() -> dict[str, str]:
    """The generator of the Podman that the jobs install, for `quadgen verify`."""
    (oldest,) = [each for each in generators() if each.version == OLDEST]
    if find_systemd_analyze(os.environ) is None:
        missing("systemd-analyze")
    return {"QUADGEN_QUADLET": str(oldest.program or missing(f"Quadlet {OLDEST}"))}


@each_workflow
def test_every_workflow_checks_compares_verifies_and_plans(name: str) -> None:
    found = list(steps(name))
    assert [step.job for step in found if step.calls("check fleet.yml")] == ["check"]
    assert [step.job for step in found if step.calls("render fleet.yml --check")] == ["check"]
    assert [step.job for step in found if step.calls("verify rendered")] == ["check"]
    assert [step.job for step in found if step.calls("plan fleet.yml --from")] == ["plan"]


def test_github_gets_annotations() -> None:
    assert any("--format github" in step.script for step in steps(GITHUB) if step.calls("check"))


@pytest.mark.parametrize("script", that_call("(?:check|render)"))
def test_a_step_of_the_check_passes_on_the_example(script: str, repository: Repository) -> None:
    repository.done(script)
    assert repository.done("git status --porcelain") == ""


@pytest.mark.parametrize("script", that_call("(?:check|render)"))
def test_a_step_of_the_check_fails_on_a_fleet_that_is_refused(script: str, repository: Repository) -> None:
    repository.edit("fleet.yml", "    model: qwen3.8-27b\n", "    model: qwen3.8-27b\n    profile: copy\n")
    run = repository.run(script)
    assert (run.returncode, "unmeasured-combination" in run.stdout + run.stderr) == (1, True)


@pytest.mark.parametrize("script", that_call("render"))
def test_a_step_fails_where_somebody_did_not_render(script: str, repository: Repository) -> None:
    repository.edit("fleet.yml", "context: 32768, gpu_reserve", "context: 16384, gpu_reserve")
    run = repository.run(script)
    assert (run.returncode, f"quadgen: update {UNIT}" in run.stderr.splitlines()) == (3, True)


@pytest.mark.parametrize("script", that_call("verify"))
def test_a_step_fails_on_a_unit_that_podman_does_not_take(script: str, repository: Repository) -> None:
    variables = judges()
    assert repository.run(script, **variables).returncode == 0
    repository.edit(UNIT, "\nReadOnly=", "\nReadonly=")
    run = repository.run(script, **variables)
    assert (run.returncode, "error[generator-refused]" in run.stderr) == (1, True)


@pytest.mark.parametrize("script", that_call("plan"))
def test_the_plan_says_what_a_branch_changes(script: str, repository: Repository) -> None:
    plan = planned(script, repository, "context: 32768, gpu_reserve", "context: 16384, gpu_reserve")
    assert "claw" in plan
    assert "16384" in plan
    assert "forge" not in plan


@pytest.mark.parametrize("script", that_call("plan")[-1:])
def test_the_plan_of_a_fleet_that_is_refused_says_so_and_is_posted_too(script: str, repository: Repository) -> None:
    plan = planned(script, repository, "    model: qwen3.8-27b\n", "    model: qwen3.8-27b\n    profile: copy\n")
    assert "no measurement says that copy wins on vulkan" in plan


@pytest.mark.parametrize("script", that_call("plan")[-1:])
def test_a_plan_that_cannot_be_made_fails(script: str, repository: Repository) -> None:
    run = repository.run(script, GITHUB_BASE_REF="gone", CI_MERGE_REQUEST_DIFF_BASE_SHA="gone")
    assert run.returncode not in (0, 3), run.stderr


def planned(script: str, repository: Repository, old: str, new: str) -> str:
    """What a job leaves for the next one to post, of a branch with one change."""
    base = repository.done("git rev-parse HEAD").strip()
    repository.edit("fleet.yml", old, new)
    repository.done(
        "git switch --quiet --create change && (quadgen render || true) && git commit --quiet --all -m change"
    )
    summary = repository.place / "summary.md"
    repository.done(
        script, GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY=str(summary), CI_MERGE_REQUEST_DIFF_BASE_SHA=base
    )
    plan = (repository.tree / "plan.md").read_text(encoding="utf-8")
    if "GITHUB_STEP_SUMMARY" in script:
        assert summary.read_text(encoding="utf-8") == plan
    return plan


@each_workflow
def test_the_token_that_writes_is_not_where_the_files_of_a_request_are_read(name: str) -> None:
    for job, told in jobs(name).items():
        holds = "token" in str(told).lower().replace("credentials", "")
        assert holds is (job == "comment"), job
    assert not any("quadgen" in step.script for step in steps(name) if step.job == "comment")


def test_github_s_token_can_do_nothing_that_a_job_does_not_ask_for() -> None:
    assert workflow(GITHUB)["permissions"] == {}
    assert {job: told["permissions"] for job, told in jobs(GITHUB).items()} == {
        "check": {"contents": "read"},
        "plan": {"contents": "read"},
        "comment": {"pull-requests": "write"},
    }


@pytest.mark.parametrize("name", ACTIONS)
def test_nothing_that_a_stranger_can_name_becomes_a_part_of_a_script(name: str) -> None:
    assert not [step.script for step in steps(name) if "${{" in step.script]
    assert set(workflow(name)[True]) == {"pull_request", "push"}, "`on:` is true to YAML 1.1"
    checkouts = [
        step["with"] for told in jobs(name).values() for step in told["steps"] if "checkout" in step.get("uses", "")
    ]
    assert len(checkouts) == 2
    assert all(told["persist-credentials"] is False for told in checkouts)


@each_workflow
def test_a_branch_s_name_is_one_word_of_a_command_whatever_it_holds(name: str) -> None:
    (script,) = [step.script for step in steps(name) if step.calls("plan")]
    named = re.findall(r".?[\w/]*\$\{?(?:GITHUB_BASE_REF|CI_MERGE_REQUEST_DIFF_BASE_SHA|base)\b.?", script)
    assert named
    assert all(re.fullmatch(r'"(?:origin/)?\$\w+"', word) for word in named), named


def test_every_action_is_pinned() -> None:
    used = re.findall(r"uses: (\S+)(.*)", (EXAMPLE / GITHUB).read_text(encoding="utf-8"))
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), action
    for action in re.findall(r"uses: (\S+)", (EXAMPLE / FORGEJO).read_text(encoding="utf-8")):
        assert re.fullmatch(r"https://data\.forgejo\.org/[\w/-]+@v\d+", action), action
