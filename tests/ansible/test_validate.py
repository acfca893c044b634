"""The real generators of a host judge a tree before anything is replaced."""

import shutil
from pathlib import Path

import pytest

from collection_modules import call
from host_trees import CHAT, EMBED, NATIVE, rendered
from parts import Quadlet, each_quadlet, missing
from plugins.module_utils import validating
from source import ROOT

GOOD = b"[Container]\nImage=ghcr.io/x:1\n"
ROOTLESS = "home/ada/.config/containers/systemd/chat.container"
HOSTS = sorted(path.parent for path in ROOT.glob("examples/*/rendered/*/manifest.json"))


@pytest.fixture
def _real(quadlet: Quadlet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUADGEN_QUADLET", str(quadlet.program or missing(f"Quadlet {quadlet.version}")))


@each_quadlet
@pytest.mark.usefixtures("_real")
def test_what_quadgen_rendered_is_taken(capsys: pytest.CaptureFixture[str]) -> None:
    for host in HOSTS:
        said = call(capsys, "validate", tree=str(host))
        assert not said.get("failed"), said["msg"]


@each_quadlet
@pytest.mark.usefixtures("_real")
@pytest.mark.parametrize("path", [CHAT, ROOTLESS])
def test_a_unit_that_the_generator_drops_is_named_with_its_words(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = rendered(tmp_path, {path: b"[Container]\nImage=ghcr.io/x:1\nVolumes=/a:/b\n", EMBED: GOOD})
    said = call(capsys, "validate", tree=tree, check=True)
    assert said["failed"]
    assert f"Quadlet makes no service of {path}" in said["faults"]
    assert any("unsupported key 'Volumes'" in fault for fault in said["faults"])
    assert not any("embed" in fault for fault in said["faults"])


@each_quadlet
@pytest.mark.usefixtures("_real")
def test_a_network_that_the_host_has_of_somebody_else_is_no_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = rendered(tmp_path, {CHAT: GOOD + b"Network=llm.network\n"})
    assert not call(capsys, "validate", tree=tree).get("failed")


def test_a_native_unit_that_systemd_warns_about_is_refused_and_a_missing_program_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("systemd-analyze") is None:
        missing("systemd-analyze")
    unit = b"[Service]\nExecStart=/opt/none/llama-server --port 1\n"
    good = rendered(tmp_path / "good", {NATIVE: unit})
    assert not call(capsys, "validate", tree=good).get("failed")
    bad = rendered(tmp_path / "bad", {NATIVE: unit + b"Restrat=always\n"})
    said = call(capsys, "validate", tree=bad)
    assert said["failed"]
    assert [fault for fault in said["faults"] if "Restrat" in fault] == said["faults"]


def test_a_check_that_cannot_be_made_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(validating, "GENERATORS", ("/nowhere/quadlet",))
    said = call(capsys, "validate", tree=rendered(tmp_path, {CHAT: GOOD}))
    assert said["unchecked"] == ["there is no Quadlet generator (/nowhere/quadlet), so no container's unit was judged"]
    assert said["changed"] is False


def test_a_file_that_is_not_the_manifests_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tree = rendered(tmp_path, {CHAT: GOOD})
    (Path(tree) / CHAT).write_bytes(GOOD + b"Exec=sh\n")
    assert "is not what the manifest beside it says" in call(capsys, "validate", tree=tree)["msg"]


def test_a_host_that_is_to_have_nothing_has_nothing_to_judge(capsys: pytest.CaptureFixture[str]) -> None:
    assert call(capsys, "validate")["changed"] is False
