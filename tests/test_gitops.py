"""examples/gitops beside its workflows: who pulls, how they begin to, and what Renovate changes."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from gitops import EXAMPLE
from parts import missing
from quadgen.verify import find_systemd_analyze
from source import ROOT
from systemd_words import assignments, command

FLEET = (EXAMPLE / "fleet.yml").read_text(encoding="utf-8")
RENOVATE = json.loads((EXAMPLE / "renovate.json").read_text(encoding="utf-8"))
UNITS = sorted((EXAMPLE / "bootstrap").iterdir())


def data(name: str) -> Any:
    return yaml.safe_load((EXAMPLE / name).read_text(encoding="utf-8"))


def python(pattern: str) -> str:
    """A pattern of JavaScript's as Python writes it."""
    return re.sub(r"\(\?<(?=\w)", "(?P<", pattern)


def test_every_host_of_the_fleet_may_pull_and_none_is_retired() -> None:
    inventory = data("inventory/hosts.yml")
    assert set(inventory["fleet"]["hosts"]) == set(data("fleet.yml")["hosts"])
    assert inventory["retired"] == {"hosts": {}, "vars": {"quadgen_retired": True}}


@pytest.mark.parametrize("name", ["site.yml", "bootstrap.yml", "push.yml"])
def test_a_play_leaves_out_no_host_that_would_then_be_told_nothing_with_status_0(name: str) -> None:
    (play,) = data(name)
    assert play["hosts"] == "all"
    assert "connection" not in play


def test_the_play_of_a_pull_knows_its_tree_and_its_host() -> None:
    (play,) = data("site.yml")
    (role,) = play["roles"]
    assert role == {
        "role": "quadgen.fleet.host",
        "quadgen_tree": "{{ playbook_dir }}/rendered",
        "quadgen_host": "{{ inventory_hostname }}",
    }


def test_the_variables_of_the_plays_are_options_of_the_role() -> None:
    spec = yaml.safe_load((ROOT / "ansible/roles/host/meta/argument_specs.yml").read_text(encoding="utf-8"))
    told = "".join(
        (EXAMPLE / name).read_text(encoding="utf-8") for name in ("site.yml", "push.yml", "inventory/hosts.yml")
    )
    used = set(re.findall(r"quadgen_\w+(?=:)", told))
    assert {"quadgen_tree", "quadgen_host", "quadgen_retired"} <= used
    assert used <= set(spec["argument_specs"]["main"]["options"])


def test_the_shipped_measurements_and_the_fleet_s_own_each_allow_a_profile() -> None:
    forge, hearth = (
        "".join(path.read_text(encoding="utf-8") for path in EXAMPLE.glob(f"rendered/{host}/**/{pattern}"))
        for host, pattern in (("forge", "chat.service"), ("hearth", "*.container"))
    )
    own = [row["id"] for row in data("measurements/hearth.yml")["measurements"]]
    assert "[rtx3090-cuda-27b-copy-copy]" in forge
    assert any(f"[{name}]" in hearth for name in own)


def images() -> list[tuple[str, str]]:
    """Build and image of each engine that has one, which is what is to be kept up to date."""
    return [(engine["build"], engine["image"]) for engine in data("fleet.yml")["engines"].values() if "image" in engine]


def test_renovate_finds_the_build_and_the_image_of_each_engine_that_has_an_image() -> None:
    (manager,) = RENOVATE["customManagers"]
    (pattern,) = manager["matchStrings"]
    found = list(re.finditer(python(pattern), FLEET))
    assert [
        (
            match[0].splitlines()[0].removeprefix("build: "),
            f"{match['depName']}:{match['currentValue']}"
            + (f"@{match['currentDigest']}" if match["currentDigest"] else ""),
        )
        for match in found
    ] == images()
    assert any(match["currentDigest"] for match in found)


def test_what_renovate_writes_in_their_place_is_found_again_with_the_new_build_in_both_lines() -> None:
    (manager,) = RENOVATE["customManagers"]
    (pattern,) = manager["matchStrings"]
    new, digest = "server-vulkan-b20000", "sha256:" + 64 * "a"
    shown = re.sub(
        r"\{\{\{replace '(.*?)' '' newValue\}\}\}", lambda told: re.sub(told[1], "", new), _template(manager)
    )
    shown = shown.replace("{{{newValue}}}", new).replace("{{{newDigest}}}", digest)
    shown = shown.replace("{{{indentation}}}", "    ").replace("{{{depName}}}", "ghcr.io/ggml-org/llama.cpp")
    shown = shown.replace("{{#if newDigest}}", "").replace("{{/if}}", "")
    assert shown == f"build: b20000\n    image: ghcr.io/ggml-org/llama.cpp:{new}@{digest}"
    match = re.fullmatch(python(pattern), shown)
    assert match is not None
    assert (match["currentValue"], match["currentDigest"]) == (new, digest)


def _template(manager: dict[str, str]) -> str:
    return manager["autoReplaceStringTemplate"]


@pytest.mark.parametrize(
    ("tag", "variant", "build"),
    [
        ("server-b11434", "server", "11434"),
        ("server-vulkan-b11382", "server-vulkan", "11382"),
        ("server-cuda13-b11206", "server-cuda13", "11206"),
        ("server-vulkan", None, None),
        ("light-b11434", None, None),
    ],
)
def test_a_build_is_replaced_by_a_later_one_of_its_variant(tag: str, variant: str | None, build: str | None) -> None:
    (manager,) = RENOVATE["customManagers"]
    kind, _, pattern = manager["versioningTemplate"].partition(":")
    match = re.search(python(pattern), tag)
    assert kind == "regex"
    assert (match and match["compatibility"], match and match["patch"]) == (variant, build)


def test_no_new_build_is_merged_without_a_person_and_no_rendered_unit_is_edited() -> None:
    (rule,) = RENOVATE["packageRules"]
    assert (rule["automerge"], rule["groupName"], rule["pinDigests"]) == (False, "llama.cpp", True)
    assert "rendered/**" in RENOVATE["ignorePaths"]


def unit(name: str) -> str:
    """A unit of bootstrap/ with its continued lines made one."""
    return (EXAMPLE / "bootstrap" / name).read_text(encoding="utf-8").replace("\\\n", " ")


def pull() -> list[str]:
    """The words of the command that a host pulls with."""
    (line,) = assignments(unit("quadgen-pull.service"), "ExecStart")
    return command(line)


def test_systemd_takes_the_units_of_a_host_that_pulls(tmp_path: Path) -> None:
    systemd = find_systemd_analyze(os.environ) or str(missing("systemd-analyze"))
    for path in UNITS:
        text = re.sub(r"(?m)^(ExecStart=)/usr/bin/[\w-]+", r"\1/bin/true", path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [systemd, "verify", "--man=no", *(tmp_path / path.name for path in UNITS)],
        env={"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path), "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_a_failed_pull_is_reported_by_a_unit_that_is_installed() -> None:
    names = {path.name for path in UNITS}
    (failed,) = assignments(unit("quadgen-pull.service"), "OnFailure", "Unit")
    (install, _) = data("bootstrap.yml")[0]["tasks"]
    assert failed in names
    assert set(install["loop"]) == names


def test_what_reports_a_failed_pull_repeats_the_lines_of_that_pull_and_of_no_other(tmp_path: Path) -> None:
    for name, script in {
        "systemctl": 'echo "$*" >&2; echo 5a7d',
        "journalctl": 'echo "$*" >&2; echo "its last lines"',
        "systemd-cat": 'echo "$*" >&2; cat',
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    (line,) = assignments(unit("quadgen-pull-failed.service"), "ExecStart")
    done = subprocess.run(
        command(line),
        env={"PATH": f"{tmp_path}{os.pathsep}{os.defpath}"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "its last lines\n"
    asked, *rest = done.stderr.splitlines()
    assert asked == "show --property=InvocationID --value quadgen-pull.service"
    assert sorted(rest) == [
        "--identifier=quadgen-pull-failed --priority=err",
        "--quiet --output=cat --lines=50 _SYSTEMD_INVOCATION_ID=5a7d + INVOCATION_ID=5a7d",
    ]


def test_a_pull_asks_whether_or_not_the_repository_changed_and_trusts_no_host_key_unseen() -> None:
    words = pull()
    assert words[0].endswith("/ansible-pull")
    assert words[-1] == "site.yml"
    assert {"--clean", "--inventory", "inventory/hosts.yml"} <= set(words)
    assert not {"--only-if-changed", "-o", "--accept-host-key", "--force"} & set(words)


def test_the_readme_s_command_pulls_as_the_unit_does() -> None:
    text = re.sub(r"\\\n", " ", (EXAMPLE / "README.md").read_text(encoding="utf-8"))
    (line,) = re.findall(r"(?m)^ *(ansible-pull .*)$", text)
    assert [word for word in shlex.split(line, comments=True) if word != "bootstrap.yml"][1:] == pull()[1:]
