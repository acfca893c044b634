"""The tree that a host is given is input: what could lead out of it, or is not whole, is refused before it is used."""

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from plugins.module_utils import tree
from plugins.module_utils.managers import Trouble
from source import ROOT

ENTRY = {
    "mode": "0644",
    "path": "etc/containers/systemd/chat.container",
    "restart": "r1",
    "service": "chat",
    "sha256": sha256(b"chat").hexdigest(),
    "unit": "chat.service",
}
SERVICE: dict[str, Any] = {
    "after": ["mnt-nas.mount"],
    "autostart": True,
    "conflicts": [],
    "health": "http://127.0.0.1:8080/health",
    "image": "ghcr.io/x:1",
    "pull": "missing",
    "start_timeout": 900,
    "stop_timeout": 30,
    "unit": "chat.service",
    "user": None,
}
RENDERED = sorted((*ROOT.glob("rendered/*/manifest.json"), *ROOT.glob("examples/*/rendered/*/manifest.json")))


def manifest(**changes: Any) -> dict[str, Any]:
    return {"files": [ENTRY], "host": "claw", "requires": {}, "services": [SERVICE], "version": 1, **changes}


def service(unit: str, *after: str) -> tree.Service:
    files = [{**ENTRY, "unit": unit}]
    services = [{**SERVICE, "unit": unit, "after": list(after)}]
    return tree.parsed(json.dumps(manifest(files=files, services=services)).encode(), "m").services[0]


@pytest.mark.parametrize("path", RENDERED, ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_every_manifest_that_quadgen_renders_is_read(path: Path) -> None:
    read = tree.read(str(path.parent))
    assert read.host == path.parent.name
    assert read.files
    for file in read.files:
        assert tree.content(str(path.parent), file)


def test_a_manifest_without_services_still_says_what_to_install() -> None:
    older = manifest()
    del older["services"]
    read = tree.parsed(json.dumps(older).encode(), "m")
    assert read.paths == {ENTRY["path"]}
    assert read.services == ()
    assert read.user_of(read.files[0]) is None


def test_no_tree_is_one_of_nothing() -> None:
    assert tree.read(None) == tree.NOTHING


def with_file(**changes: Any) -> dict[str, Any]:
    return manifest(files=[{**ENTRY, **changes}])


def with_service(**changes: Any) -> dict[str, Any]:
    return manifest(services=[{**SERVICE, **changes}])


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (with_file(path="/etc/passwd"), "a path is not plain and relative: '/etc/passwd'"),
        (with_file(path="etc/../../x"), "a path is not plain and relative: 'etc/../../x'"),
        (with_file(path="etc//x"), "a path is not plain and relative: 'etc//x'"),
        (with_file(path="manifest.json"), "a path is not plain and relative: 'manifest.json'"),
        (with_file(path=7), "a path is not plain and relative: 7"),
        (with_file(mode="4755"), "a mode is neither 0644 nor 0755: '4755'"),
        (with_file(sha256="abc"), "'abc' is not what it should be"),
        (with_file(unit="--now.service"), "'--now.service' is not what it should be"),
        (with_service(unit="other.service"), "no file becomes other.service"),
        (with_file(restart=""), "no file becomes chat.service"),
        (with_service(stop_timeout=float("inf")), "cannot convert float infinity to integer"),
        (with_service(unit="chat"), "'chat' is not what it should be"),
        (with_service(user="-x"), "'-x' is not what it should be"),
        (with_service(image="--privileged"), "an image is an option: '--privileged'"),
        (with_service(after=["a b.service"]), "'a b.service' is not what it should be"),
        (manifest(files=[ENTRY, ENTRY]), "it lists a path twice"),
        (manifest(services=[SERVICE, SERVICE]), "it lists a unit twice"),
        (manifest(files=[{}]), "there is no 'path'"),
        (manifest(version=2), "it is not `version: 1` with a list of `files`"),
    ],
)
def test_a_manifest_that_could_do_harm_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(Trouble) as trouble:
        tree.parsed(json.dumps(wrong).encode(), "claw/manifest.json")
    assert str(trouble.value) == f"claw/manifest.json is no manifest of quadgen: {why}"


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 100_000])
def test_what_is_not_json_is_no_manifest(data: bytes) -> None:
    with pytest.raises(Trouble, match=r"^m is not JSON$"):
        tree.parsed(data, "m")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda path: path.write_bytes(b"other"), "is not what the manifest beside it says"),
        (lambda path: path.unlink(), "No such file"),
        (lambda path: (path.unlink(), path.mkdir()), "it is not a file"),
        (lambda path: os.truncate(path, 1 << 40), f"it has more than {tree.LARGEST} bytes"),
    ],
)
def test_a_file_that_is_not_the_one_of_the_manifest_is_refused(
    tmp_path: Path, spoil: Callable[[Path], object], why: str
) -> None:
    read = tree.parsed(json.dumps(manifest()).encode(), "m")
    path = tmp_path / str(ENTRY["path"])
    path.parent.mkdir(parents=True)
    path.write_bytes(b"chat")
    assert tree.content(str(tmp_path), read.files[0]) == b"chat"
    spoil(path)
    with pytest.raises(Trouble, match=why):
        tree.content(str(tmp_path), read.files[0])


def test_services_come_in_the_order_of_after_and_by_name_within() -> None:
    services = [
        service("c.service", "b.service", "elsewhere.mount"),
        service("b.service", "a.service"),
        service("z.service"),
        service("a.service"),
    ]
    assert tree.units(tree.levels(services)) == [["a.service", "z.service"], ["b.service"], ["c.service"]]


def test_services_that_wait_for_one_another_still_come() -> None:
    services = [service("a.service", "b.service"), service("b.service", "a.service"), service("c.service", "c.service")]
    assert tree.units(tree.levels(services)) == [["c.service"], ["a.service", "b.service"]]
