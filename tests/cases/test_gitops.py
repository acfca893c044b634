"""What went wrong between a commit and a running service, through the command line and the real judges."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import quadgen as package
from command import quadgen
from fleets import CPU, ENGINES, accepted, generated, marked, one, refusal, render, unit, values
from hosts import snapshot
from parts import Quadlet, each_quadlet
from quadgen.ownership import temporary
from quadgen.problems import Severity

CHAT = "etc/containers/systemd/chat.container"
EMBED = "etc/containers/systemd/embed.container"
TWO = f"""\
{ENGINES}defaults: {{backend: cpu, engine: cpu, context: 4096, model: plain}}
hosts:
  claw: {{services: {{chat: {{}}, embed: {{port: 8081}}}}}}
  forge: {{runtime: systemd, rootless: ada}}
"""
ONE = TWO.replace(", embed: {port: 8081}", "")


# https://github.com/Goldziher/ai-rulez/issues/115
def test_a_second_render_touches_nothing(tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    before = snapshot(root, times=True)
    done = quadgen("render", cwd=tmp_path)
    assert (done.status, done.err) == (0, "quadgen: rendered: 2 hosts, nothing to change\n")
    assert snapshot(root, times=True) == before
    assert quadgen("render", "--check", cwd=tmp_path).status == 0


def test_the_output_says_nothing_of_when_where_and_by_whom_it_was_made(tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    text = "".join(path.read_text() for path in sorted(root.rglob("*")) if path.is_file())
    for word in (str(tmp_path), tmp_path.name, os.uname().nodename, package.__version__, "fleet.yml"):
        assert word not in text
    assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}", text)


# https://github.com/containers/ansible-podman-collections/issues/739
def test_a_service_that_left_the_fleet_is_listed_by_check_and_then_removed(tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    before = snapshot(root, times=True)
    (tmp_path / "fleet.yml").write_text(ONE)
    checked = quadgen("render", "--check", cwd=tmp_path)
    assert checked.status == 3
    assert f"quadgen: remove rendered/claw/{EMBED}\n" in checked.err
    assert snapshot(root, times=True) == before
    assert quadgen("render", cwd=tmp_path).status == 0
    assert not (root / "claw" / EMBED).exists()
    listed = json.loads((root / "claw/manifest.json").read_text())["files"]
    assert [entry["path"] for entry in listed] == [CHAT]


def test_a_host_that_left_the_fleet_goes_with_its_directories(tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    render(tmp_path, TWO.partition("  forge:")[0])
    assert sorted(path.name for path in root.iterdir()) == ["claw"]


def test_what_somebody_else_put_there_stays_whatever_leaves(tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    mine = [root / "claw/etc/containers/systemd/mine.container", root / "forge/home/ada/.config/systemd/user/x.service"]
    for path in mine:
        path.write_text("# by hand\n")
    render(tmp_path, ONE.partition("  forge:")[0])
    assert [path.read_text() for path in mine] == ["# by hand\n"] * 2
    assert not (root / "forge/manifest.json").exists()


def test_a_hand_written_unit_of_the_same_name_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "rendered/claw" / CHAT).parent.mkdir(parents=True)
    (tmp_path / "rendered/claw" / CHAT).write_text("# by hand\n")
    (tmp_path / "fleet.yml").write_text(TWO)
    before = snapshot(tmp_path, times=True)
    done = quadgen("render", cwd=tmp_path)
    assert done.status == 1
    assert done.err.startswith(f"error[not-ours]: rendered/claw/{CHAT} is in the way: ")
    assert snapshot(tmp_path, times=True) == before


# https://github.com/containers/podman/issues/21190
DIGEST = f"@sha256:{'5' * 64}"


def test_an_image_with_a_digest_is_never_updated_by_itself() -> None:
    image = f"'ghcr.io/ggml-org/llama.cpp:server-b10715{DIGEST}'"
    problem = refusal(one(f"{CPU}, image: {image}, auto_update: registry}}"))
    assert (problem.code, marked(problem)) == ("unexpected-value", "registry")
    assert problem.message == "an image with a digest never updates, and podman-auto-update fails on it"
    text = unit(one(f"{CPU}, image: {image}, auto_update: local}}"))
    assert values(text, "Container", "AutoUpdate") == ["local"]


@pytest.mark.parametrize("tag", [":server", "", ":latest", ":12.4", ":server-cuda12.4", ":sub10715"])
@pytest.mark.parametrize("update", ["", ", auto_update: registry"])
def test_a_tag_that_may_be_another_build_is_said_to_float(tag: str, update: str) -> None:
    compiled = accepted(one(f"{CPU}, image: 'ghcr.io/ggml-org/llama.cpp{tag}'{update}}}"))
    (problem,) = compiled.problems
    assert (problem.code, problem.severity) == ("stale-build", Severity.WARNING)
    assert problem.message.endswith("floats: what runs may be another build than b10715")


@pytest.mark.parametrize("build", ["b10714", "b107150"])
def test_a_tag_of_another_build_is_said_to_be_of_that_build(build: str) -> None:
    image = f"ghcr.io/ggml-org/llama.cpp:server-cuda12.4-{build}"
    (problem,) = accepted(one(f"{CPU}, image: '{image}'}}")).problems
    assert (problem.code, problem.severity) == ("stale-build", Severity.WARNING)
    assert problem.message == f"the image {image} is of {build}, and the engine cpu says build b10715"
    assert problem.hint == "let `image` and `build` name the same build"


def test_a_tag_of_the_build_and_a_digest_do_not_float() -> None:
    for tag in (":server-b10715", ":b10715_cuda", ":b10715", DIGEST, f":server{DIGEST}"):
        assert not accepted(one(f"{CPU}, image: 'ghcr.io/ggml-org/llama.cpp{tag}'}}")).problems


@pytest.mark.parametrize(("policy", "codes"), [("ignore", []), ("warn", ["image-not-pinned"])])
def test_an_image_without_a_digest_is_judged_by_the_policy(policy: str, codes: list[str]) -> None:
    above = f"policy: {{digest: {policy}}}\n"
    assert [problem.code for problem in accepted(one(f"{CPU}}}", above=above)).problems] == codes
    strict = refusal(one(f"{CPU}}}", above="policy: {digest: refuse}\n"))
    assert strict.code == "image-not-pinned"


def test_a_short_name_is_refused_with_and_without_auto_update() -> None:
    for update in ("", ", auto_update: registry"):
        assert refusal(one(f"{CPU}, image: 'llama:latest'{update}}}")).code == "unexpected-value"


# https://github.com/containers/podman/issues/29004
def test_two_renders_at_once_leave_the_tree_of_one_of_them(tmp_path: Path) -> None:
    names = ("one", "two")
    for name in names:
        hosts = "".join(f"  h{at}: {CPU}, alias: {name}{at}}}\n" for at in range(40))
        (tmp_path / f"{name}.yml").write_text(f"{ENGINES}hosts:\n{hosts}  only-{name}: {CPU}}}\n")
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}
    command = [sys.executable, "-m", "quadgen", "render"]
    runs = [
        subprocess.Popen([*command, f"{name}.yml"], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
        for name in names
    ]
    for process in runs:
        assert process.communicate()[1].startswith(b"quadgen: ")
    assert [process.returncode for process in runs] == [0, 0]
    checks = [quadgen("render", f"{name}.yml", "--check", cwd=tmp_path).status for name in names]
    assert sorted(checks) == [0, 3]


@each_quadlet
def test_a_file_in_the_making_is_nothing_to_the_generator(quadlet: Quadlet, tmp_path: Path) -> None:
    text = unit(one(f"{CPU}}}"))
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / temporary("chat.container")).write_text("[Container]\nIma")
    made = generated(quadlet, tmp_path / "u", chat=text)
    assert (made.status, made.messages, list(made.services)) == (0, [], ["chat.service"])


# https://github.com/containers/podman/issues/25215
def test_modes_are_the_same_under_any_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        root = render(tmp_path / "strict", TWO)
    finally:
        os.umask(before)
    modes = {(path.is_dir(), path.stat().st_mode & 0o7777) for path in [root, *root.rglob("*")]}
    assert modes == {(True, 0o755), (False, 0o644)}


def test_a_link_to_the_output_directory_stays_and_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "rendered").symlink_to("real")
    render(tmp_path, TWO)
    assert (tmp_path / "rendered").is_symlink()
    assert (tmp_path / "real/claw/manifest.json").is_file()
    assert quadgen("render", "--check", cwd=tmp_path).status == 0


def test_a_link_that_leads_nowhere_is_no_place_to_write_to(tmp_path: Path) -> None:
    (tmp_path / "rendered").symlink_to("nowhere")
    (tmp_path / "fleet.yml").write_text(TWO)
    done = quadgen("render", cwd=tmp_path)
    assert (done.status, done.err) == (4, "quadgen: cannot write rendered: No such file or directory\n")
    assert (tmp_path / "rendered").is_symlink()


@pytest.mark.parametrize("target", ["real", "nowhere"])
def test_a_link_inside_of_the_tree_is_named_and_left_alone(target: str, tmp_path: Path) -> None:
    root = render(tmp_path, TWO)
    (tmp_path / "real").mkdir()
    shutil.move(root / "claw/etc/containers", tmp_path / "real/containers")
    (root / "claw/etc/containers").symlink_to(f"../../../{target}/containers")
    before = snapshot(tmp_path, times=True)
    done = quadgen("render", cwd=tmp_path)
    assert done.status == 1
    assert "rendered/claw/etc/containers is in the way: it is a symbolic link" in done.err
    assert snapshot(tmp_path, times=True) == before
