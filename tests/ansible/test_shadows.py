"""A file that Podman or systemd finds before a rendered one would run in its place."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from good_hosts import ADA, Host, good
from host_trees import CHAT, rendered
from plugins.module_utils import shadows, surveying
from plugins.module_utils.managers import MISSING, Said
from source import ROOT

CLAW = ROOT / "examples/two-backends/rendered/claw"
STUDIO = ROOT / "examples/rootless/rendered/studio"
NATIVE = ROOT / "rendered/forge"
OURS = "/etc/containers/systemd/llama-server.container"
HERS = "/home/ada/.config/containers/systemd/chat.container"
INSTEAD = "and would run in its place; take it away, or rename one of the two"


@pytest.fixture
def at(tmp_path: Path) -> Callable[[Path], Host]:
    return lambda tree: good(tmp_path / "root", tree)


def unmet(host: Host, *leaving: str) -> list[str]:
    return shadows.unmet(host.manifest, str(host.root), leaving)


@pytest.mark.parametrize(
    ("tree", "path", "after"),
    [
        (CLAW, "/etc/systemd/system/llama-server.service", OURS),
        (CLAW, "/run/systemd/system/llama-server.service", OURS),
        (CLAW, "/run/containers/systemd/llama-server.container", OURS),
        (STUDIO, "/home/ada/.config/systemd/user/chat.service", HERS),
        (STUDIO, "/etc/systemd/user/chat.service", HERS),
        (STUDIO, f"/run/user/{ADA}/containers/systemd/chat.container", HERS),
    ],
)
def test_a_file_that_is_found_first(tree: Path, path: str, after: str, at: Callable[[Path], Host]) -> None:
    host = at(tree)
    assert unmet(host) == []
    host.put(path)
    assert unmet(host) == [f"{path} comes before {after}, {INSTEAD}"]
    assert unmet(host, path) == []  # it goes with this change


def test_a_unit_that_is_masked(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.put("/home/ada/.config/systemd/user/chat.service").unlink()
    host.at("/home/ada/.config/systemd/user/chat.service").symlink_to("/dev/null")
    host.put("/run/systemd/user/embed.service").unlink()
    host.at("/run/systemd/user/embed.service").symlink_to("/dev/null")
    assert unmet(host) == [
        "/home/ada/.config/systemd/user/chat.service masks chat.service; systemctl --user unmask chat.service",
        "/run/systemd/user/embed.service masks embed.service; systemctl --user unmask --runtime embed.service",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "/usr/lib/systemd/system/llama-server.service",  # which the generator's comes before
        "/etc/systemd/system/llama-server.service.d/10.conf",
        "/etc/systemd/system/multi-user.target.wants/llama-server.service",
        "/usr/share/containers/systemd/llama-server.container",
    ],
)
def test_a_file_that_is_found_later_or_is_none(path: str, at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.put(path)
    assert unmet(host) == []


def test_a_native_unit_is_not_before_itself(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    for entry in host.manifest["files"]:
        host.put(f"/{entry['path']}")
    assert unmet(host) == []


def test_an_older_manifest_does_not_tell_whose_its_units_are(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    del host.manifest["services"]
    host.put("/etc/systemd/system/llama-server.service")
    assert unmet(host) == []


def silent(argv: Sequence[str], user: str | None = None, timeout: float | None = None) -> Said:  # noqa: ARG001 - as run()
    """A systemd that knows no unit, and nothing else."""
    if "show" in argv:
        return Said(0, "LoadState=not-found\nActiveState=inactive\nSubState=dead\n", "")
    return Said(MISSING, "", f"cannot run {argv[0]}: No such file or directory")


def test_a_pull_changes_nothing_where_another_file_would_run(tmp_path: Path) -> None:
    rendered(tmp_path / "rendered", {CHAT: b"[Container]\nImage=ghcr.io/x:1\n"})
    other = tmp_path / "root/etc/systemd/system/chat.service"
    other.parent.mkdir(parents=True)
    other.touch()
    roots = (str(tmp_path / "rendered"), "claw", str(tmp_path / "root"), str(tmp_path / "state"))
    found = surveying.survey(*roots, retired=False, retry=False, run=silent)
    assert f"/etc/systemd/system/chat.service comes before /{CHAT}, {INSTEAD}" in found.unmet
