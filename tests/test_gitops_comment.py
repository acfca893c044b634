"""The scripts of examples/gitops that post a plan, run against a forge: one comment a request, renewed by each push."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from forges import KINDS, NUMBER, TOKEN, Forge, started
from gitops import EXAMPLE
from parts import missing

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

MARK = "<!-- quadgen plan -->"
PLAN = "### quadgen plan: 1 changed\n\n✏️ **`chat.service` restarts on `claw`**\n"


def step(workflow: str) -> tuple[str, dict[str, str]]:
    """The script that posts, and its variables: those of the last step of the job, of GitLab's the job's own."""
    told: dict[str, Any] = yaml.safe_load((EXAMPLE / workflow).read_text(encoding="utf-8"))
    if "jobs" not in told:
        return "\n".join(told["comment"]["script"]), told["comment"]["variables"]
    last = told["jobs"]["comment"]["steps"][-1]
    return last["run"], last["env"]


@pytest.fixture(name="forge", params=["github", "forgejo", "gitlab"])
def _forge(request: pytest.FixtureRequest) -> Iterator[Forge]:
    for program in ("curl", "jq"):
        if shutil.which(program) is None:
            missing(program, "does not bring")
    with started(request.param) as forge:
        yield forge


def post(
    forge: Forge, place: Path, plan: str = PLAN, *, commit: str = "c0ffee", program: str = "bash"
) -> subprocess.CompletedProcess[str]:
    """Run the script as a runner does, in a directory that has the plan."""
    (place / "plan.md").write_text(plan, encoding="utf-8")
    server = f"http://127.0.0.1:{forge.port}"
    script, variables = step(forge.kind.workflow)
    known = {
        "github.token": TOKEN,
        "github.event.pull_request.number": NUMBER,
        "github.event.pull_request.head.sha": commit,
    }
    return subprocess.run(
        [f"/bin/{program}", "-e", "-c", script],
        cwd=place,
        env={
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(place),
            "PLAN_TOKEN": TOKEN,
            "GITHUB_API_URL": f"{server}/api/v3",
            "GITHUB_SERVER_URL": server,
            "GITHUB_REPOSITORY": "ada/fleet",
            "CI_API_V4_URL": f"{server}/api/v4",
            "CI_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_IID": NUMBER,
            "CI_COMMIT_SHA": commit,
            **{name: re.sub(r"\$\{\{ (\S+) \}\}", lambda one: known[one[1]], text) for name, text in variables.items()},
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def posted(forge: Forge, place: Path, plan: str = PLAN, **options: str) -> None:
    run = post(forge, place, plan, **options)
    assert (run.returncode, run.stderr) == (0, ""), run.stdout


def bodies(forge: Forge) -> list[str]:
    return [comment["body"] for comment in forge.comments]


def comment(plan: str = PLAN, commit: str = "c0ffee") -> str:
    return f"{MARK}\n{plan}\nOf commit {commit}.\n"


each_kind = pytest.mark.parametrize("forge", KINDS, indirect=True)
"""Those too whose API or user is a little other."""


@each_kind
def test_the_first_push_posts_a_comment_and_the_next_ones_renew_it(forge: Forge, tmp_path: Path) -> None:
    posted(forge, tmp_path)
    assert bodies(forge) == [comment()]
    posted(forge, tmp_path, "### another\n", commit="decaf", program="sh")
    posted(forge, tmp_path, "### a third\n", commit="facade")
    assert bodies(forge) == [comment("### a third\n", "facade")]


@each_kind
@pytest.mark.parametrize("position", [0, 260])
def test_the_comment_is_found_among_many(forge: Forge, tmp_path: Path, position: int) -> None:
    for number in range(260):
        forge.say(f"comment {number}", own=number % 2 == 0)
    forge.comments.insert(position, forge.say("", own=True) | {"body": comment("old\n")})
    del forge.comments[-1]
    posted(forge, tmp_path)
    assert bodies(forge)[position] == comment()
    assert len([body for body in bodies(forge) if body.startswith(MARK)]) == 1
    assert len(forge.comments) == 261


@each_kind
@pytest.mark.parametrize("number", [50, 100])
def test_many_comments_of_which_none_is_its_own_come_to_an_end(forge: Forge, tmp_path: Path, number: int) -> None:
    for position in range(number):
        forge.say(f"comment {position}", own=False)
    posted(forge, tmp_path)
    assert len(forge.comments) == number + 1
    assert bodies(forge)[-1] == comment()


def test_a_comment_of_somebody_else_is_never_written_over(forge: Forge, tmp_path: Path) -> None:
    forge.say(comment("approve this\n"), own=False)
    forge.say("coverage: 97%", own=True)  # another workflow's, of the same user
    forge.say(f"see {MARK}", own=True)
    before = bodies(forge)
    posted(forge, tmp_path)
    posted(forge, tmp_path, "### another\n")
    assert bodies(forge) == [*before, comment("### another\n")]


HOSTILE = "$(touch hit) `touch hit` \"'\\ ${TOKEN}\n'; touch hit; '\n\\n\t@plan.md &amp; <!-- \u202e \x7f é\n"


def test_what_a_plan_says_arrives_as_it_is_and_is_run_by_nobody(forge: Forge, tmp_path: Path) -> None:
    posted(forge, tmp_path, HOSTILE)
    posted(forge, tmp_path, HOSTILE)
    assert bodies(forge) == [comment(HOSTILE)]
    assert not (tmp_path / "hit").exists()


def test_the_longest_plan_has_room(forge: Forge, tmp_path: Path) -> None:
    from quadgen.review.markdown import MOST  # noqa: PLC0415 - what this test is about

    commit = "f" * 64
    posted(forge, tmp_path, "x" * MOST, commit=commit)
    assert len(bodies(forge)[0]) < 65_536


def test_a_step_that_cannot_post_fails_and_says_what_the_forge_said(forge: Forge, tmp_path: Path) -> None:
    forge.faults["GET"] = [403]
    run = post(forge, tmp_path)
    assert run.returncode == 1
    assert "no such luck" in run.stdout
    assert "403" in run.stderr
    assert forge.comments == []


def test_of_a_forge_that_is_not_there_no_older_answer_is_shown(forge: Forge, tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text("old", encoding="utf-8")
    forge.port = 9  # where nobody listens
    run = post(forge, tmp_path)
    assert (run.returncode, run.stdout) == (1, "")
    assert "curl: (7)" in run.stderr


def test_what_can_be_asked_twice_is_tried_again(forge: Forge, tmp_path: Path) -> None:
    forge.say(comment("old\n"), own=True)
    forge.faults["GET"] = [503]
    forge.faults[forge.kind.edit] = [502]
    assert post(forge, tmp_path).returncode == 0
    assert bodies(forge) == [comment()]


def test_a_new_comment_is_not_tried_again_since_it_may_have_arrived(forge: Forge, tmp_path: Path) -> None:
    forge.faults["POST"] = [503]
    assert post(forge, tmp_path).returncode == 1
    assert [each for each in forge.asked if each.startswith("POST")] == [f"POST {forge.kind.where}"]


@pytest.mark.parametrize("name", sorted({kind.workflow for kind in KINDS.values()}))
def test_nothing_waits_for_the_comment(name: str) -> None:
    told: dict[str, Any] = yaml.safe_load((EXAMPLE / name).read_text(encoding="utf-8"))
    listed = told.get("jobs", told)
    assert listed["comment"]["needs"] in ("plan", ["plan"])
    assert not [job for job, each in listed.items() if isinstance(each, dict) and "comment" in each.get("needs", "")]
    if "jobs" not in told:
        assert listed["comment"]["allow_failure"] is True, "GitLab merges when the whole pipeline has passed"
