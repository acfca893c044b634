"""Images are pulled before anything stops, and only those that quadgen pulled are removed, last."""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stand_ins
from collection_modules import call
from host_trees import CHAT, EMBED, rendered, service
from plugins.module_utils import imaging, managers, state

OLD, NEW = "ghcr.io/x:1", "ghcr.io/x:2"
Images = Callable[..., dict[str, Any]]


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[stand_ins.Host]:
    with stand_ins.host(tmp_path, monkeypatch) as made:
        yield made


@pytest.fixture
def images(host: stand_ins.Host, capsys: pytest.CaptureFixture[str]) -> Images:
    def called(wanted: str, tree: str | None, *, check: bool = False) -> dict[str, Any]:
        told: dict[str, Any] = {"state": wanted, "tree": tree, "root": str(host.root), "state_dir": "/q"}
        return call(capsys, "images", check=check, **told)

    return called


def tree(host: stand_ins.Host, *images: str, **changes: Any) -> str:
    paths = (CHAT, EMBED)[: len(images)]
    place = host.place / f"tree-{len(list(host.place.iterdir()))}"
    services = [service(path, image=image, **changes) for path, image in zip(paths, images, strict=True)]
    return rendered(place, dict.fromkeys(paths, b"[Container]\n"), services=services)


def named(*images: str, user: str | None = None) -> list[dict[str, Any]]:
    return [{"image": image, "user": user} for image in images]


def good(host: stand_ins.Host, tree: str) -> None:
    (host.root / "q/good").unlink(missing_ok=True)
    (host.root / "q/good").symlink_to(tree)


def test_an_image_is_pulled_once_and_what_was_there_is_left_alone(host: stand_ins.Host, images: Images) -> None:
    host.tell("images", {"": [OLD]})
    both = tree(host, OLD, NEW)
    assert images("present", both, check=True)["pulled"] == named(NEW)
    assert host.images() == [OLD]
    assert images("present", both)["pulled"] == named(NEW)
    assert images("present", both)["changed"] is False
    assert host.calls("podman").count(["pull", NEW]) == 1
    assert state.read(str(host.root / "q")).images == ((NEW, None),)


def test_all_that_cannot_be_pulled_is_named_and_the_rest_pulled(host: stand_ins.Host, images: Images) -> None:
    host.tell("registry", ["nope"])
    said = images("present", tree(host, "ghcr.io/nope:1", NEW))
    why = "initializing source docker://ghcr.io/nope:1: reading manifest 1 in ghcr.io/nope: manifest unknown"
    assert said["msg"] == f"cannot pull ghcr.io/nope:1: Error: {why}"
    assert host.images() == [NEW]
    assert state.read(str(host.root / "q")).images == ((NEW, None),)


def test_a_pull_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "podman").write_text(f"#!/bin/sh\nsleep 600 & echo $! > {tmp_path}/child\nwait\n")
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(imaging, "PULLING", 0.5)
    kept: list[state.State] = []
    with pytest.raises(managers.Trouble) as trouble:
        imaging.Images(state.NEW, kept.append, run=managers.run).pull([(NEW, None)])
    why = f"it did not come within {0.5 / 3600:g} hours, so that Podman was ended"
    assert str(trouble.value) == f"cannot pull {NEW}: {why}"
    assert [each.images for each in kept] == [((NEW, None),), ()]
    stat = Path(f"/proc/{(tmp_path / 'child').read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] in "ZX"


def test_an_image_that_is_never_pulled_must_be_there(host: stand_ins.Host, images: Images) -> None:
    never = tree(host, "localhost/mine:1", pull="never")
    assert images("present", never)["msg"] == (
        "localhost/mine:1: not on this host, and its services are told never to pull"
    )
    host.tell("images", {"": ["localhost/mine:1"]})
    assert images("present", never)["changed"] is False


def test_an_image_goes_once_neither_the_tree_nor_the_last_good_one_needs_it(
    host: stand_ins.Host, images: Images
) -> None:
    before, after = tree(host, OLD), tree(host, NEW)
    images("present", before)
    good(host, before)
    images("present", after)
    assert images("absent", after)["changed"] is False
    good(host, after)
    assert images("absent", after, check=True)["removed"] == named(OLD)
    assert host.images() == [OLD, NEW]
    assert images("absent", after)["removed"] == named(OLD)
    assert host.images() == [NEW]
    assert images("absent", after)["changed"] is False


def test_an_image_that_a_container_uses_stays_for_another_time(host: stand_ins.Host, images: Images) -> None:
    images("present", tree(host, OLD))
    host.tell("used", [OLD])
    said = images("absent", None)
    assert (said["changed"], said["kept"]) == (False, named(OLD))
    host.tell("used", [])
    assert images("absent", None)["removed"] == named(OLD)


def test_an_image_that_is_needed_by_another_name_is_not_removed_by_its_digest(
    host: stand_ins.Host, images: Images
) -> None:
    digest = f"sha256:{'ab' * 32}"
    before, after = tree(host, f"{OLD}@{digest}"), tree(host, f"{NEW}@{digest}")
    images("present", before)
    images("present", after)
    assert images("absent", after)["kept"] == named(f"{OLD}@{digest}")


def test_one_that_somebody_else_removed_is_forgotten(host: stand_ins.Host, images: Images) -> None:
    images("present", tree(host, OLD))
    host.tell("images", {})
    assert images("absent", None)["removed"] == named(OLD)
    assert state.read(str(host.root / "q")).images == ()


def test_an_image_of_a_rootless_service_is_its_users(host: stand_ins.Host, images: Images) -> None:
    assert images("present", tree(host, NEW, user="ada"))["pulled"] == named(NEW, user="ada")
    assert (host.images("ada"), host.images()) == ([NEW], [])


def test_a_run_that_was_killed_while_it_pulled_owns_what_it_pulled(host: stand_ins.Host, images: Images) -> None:
    place = str(host.root / "q")
    os.makedirs(place)  # noqa: PTH103 - as the state does
    state.write(place, replace(state.NEW, images=((NEW, None),)))
    host.tell("images", {"": [NEW]})
    assert images("absent", None)["removed"] == named(NEW)
