"""docs/gitops.md: its commands are run from the first to the last, but those that are for a host and its servers."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from gitops import EXAMPLE, Repository, prepared
from pages import fences
from source import ROOT

PAGE = "docs/gitops.md"
HERE = {"cd", "cp", "git", "grep", "quadgen"}
"""Programs that the page has run on the machine of who edits the fleet."""
THERE = {"gpg", "journalctl", "loginctl", "ssh-keygen", "ssh-keyscan", "systemctl"}
"""Programs that change a host, or ask a server."""
SETUP = {"pipx", "pre-commit"}
"""What puts programs on the machine of who edits the fleet."""
ANSIBLE = {"ansible-galaxy", "ansible-playbook", "ansible-pull"}
WHOLE_HOST = "--root /"
UNIT = "rendered/claw/etc/containers/systemd/llama-server.container"


def commands() -> list[str]:
    """The lines of the page's shell fences, continued ones made one."""
    texts = [fence.text.replace("\\\n", " ") for fence in fences(PAGE) if fence.language == "sh"]
    return [line for text in texts for line in text.splitlines() if line.strip()]


def program(line: str) -> str:
    return line.split(maxsplit=1)[0]


def runnable(line: str) -> bool:
    return program(line) in HERE and WHOLE_HOST not in line


def test_every_program_of_the_page_is_known_here() -> None:
    assert {program(line) for line in commands()} == HERE | THERE | SETUP | ANSIBLE


def test_the_commands_of_the_page_do_what_it_says_one_after_the_other(tmp_path: Path) -> None:
    repository = prepared(tmp_path, tree=".")
    (tmp_path / "quadgen").symlink_to(ROOT)
    before = {
        # what happens elsewhere, before a command of the page
        "git add collections": "mkdir --parents collections/ansible_collections/quadgen/fleet"
        " && cp -r ../quadgen/ansible/galaxy.yml collections/ansible_collections/quadgen/fleet",
        "git push --set-upstream origin main": "git init --quiet --bare ../fleet.git"
        " && git config url.$PWD/../.insteadOf https://git.home.arpa/",
        "git revert --no-edit HEAD": "sed -i s/32768/16384/ fleet.yml && quadgen render"
        " && git commit --quiet --all --message less && git push --quiet",
        "git switch renovate/llama.cpp": "git switch --quiet --create renovate/llama.cpp"
        " && sed -i 's/b11382/b11434/; s/@sha256:[0-9a-f]*//' fleet.yml && git commit --quiet --all --message new"
        " && git switch --quiet main",
    }
    script: list[str] = []
    for line in filter(runnable, commands()):
        script += [before.pop(line, ":"), line]
    assert not before
    repository.done("\n".join([*script, "git status --porcelain | (! grep .)", "quadgen render fleet.yml --check"]))
    fleet = Repository(place=tmp_path, tree=tmp_path / "fleet")
    assert not re.search(r"git\.example\.org|v0\.1\.0", "".join(texts(fleet.tree)))
    assert fleet.done("git log --format=%s main").splitlines() == [
        "Go to quadgen v0.2.0", 'Revert "less"', "less", "Take in the role of the hosts", "Begin the fleet",
    ]  # fmt: skip
    assert "context: 32768, gpu_reserve" in fleet.done("git show origin/main:fleet.yml")
    assert "b11434" in fleet.done(f"git show renovate/llama.cpp:{UNIT}")


def texts(tree: Path) -> list[str]:
    """The files of a repository, without what git and Python keep there."""
    files = (path for path in tree.rglob("*") if path.is_file())
    return [path.read_text(encoding="utf-8") for path in files if not {".git", "__pycache__"} & set(path.parts)]


def test_what_a_pull_is_said_to_say_is_what_it_says() -> None:
    table = (ROOT / PAGE).read_text(encoding="utf-8").partition("| the pull says |")[2].partition("\n\n")[0]
    quoted = [re.findall('"(.+?)"', row.split(" | ")[0]) for row in table.splitlines()[2:]]
    said = " ".join(" ".join(texts(ROOT / "ansible")).split())
    assert all(quoted)
    assert [words for row in quoted for words in row if words not in said] == ["leaves us with no hosts to target"]


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("name", sorted(ANSIBLE))
def test_the_options_of_an_ansible_command_exist(name: str) -> None:
    used = {
        word
        for line in commands()
        if program(line) == name
        for word in shlex.split(line)
        if re.match(r"--?[a-z]", word)
    }
    sub = ["collection", "install"] if name == "ansible-galaxy" else []
    done = subprocess.run(
        [Path(sys.executable).with_name(name), *sub, "--help"], capture_output=True, text=True, check=True, timeout=60
    )
    assert used
    assert used <= set(re.findall(r"(?<![\w-])--?[\w-]+", done.stdout))


def test_the_page_pulls_as_the_unit_does() -> None:
    text = (EXAMPLE / "bootstrap/quadgen-pull.service").read_text(encoding="utf-8").replace("\\\n", " ")
    (unit,) = re.findall(r"(?m)^ExecStart=\S+(.*)$", text)
    pulls = [shlex.split(line) for line in commands() if program(line) == "ansible-pull"]
    assert [
        [word for word in words[1:] if word not in {"bootstrap.yml", "--extra-vars", "quadgen_retry=true"}]
        for words in pulls
    ] == 2 * [shlex.split(unit)]


def test_yaml_of_the_page_is_like_the_file_that_it_shows() -> None:
    shown = {fence.words[1]: yaml.safe_load(fence.text) for fence in fences(PAGE) if fence.words[:1] == ("gitops",)}
    hooks, inventory = ".pre-commit-config.yaml", "inventory/hosts.yml"
    assert shown.keys() == {hooks, inventory}
    assert shown[hooks] == yaml.safe_load((EXAMPLE / hooks).read_text(encoding="utf-8"))
    example = yaml.safe_load((EXAMPLE / inventory).read_text(encoding="utf-8"))
    assert {group: set(told) for group, told in shown[inventory].items()} == {
        group: set(told) for group, told in example.items()
    }
    hosts = [set(told["hosts"]) for told in shown[inventory].values()]
    assert set.union(*hosts) == set(example["fleet"]["hosts"])
    assert not set.intersection(*hosts)
    assert shown[inventory]["retired"]["vars"] == example["retired"]["vars"]
