"""The role with the real Ansible where others are concerned: rootless services, native units, a user of its own."""

import os
import pwd
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_fleets import IMAGE, fleet, free_ports
from ansible_run import Site, as_root, open_place

pytestmark = [as_root, pytest.mark.loopback]

USER = "nobody"
"""A user that is there and may nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A host with a home for the user."""
    with open_place() as place:
        site = Site(place=place).make()
        for home in (site.root / "home" / USER, site.home):
            home.mkdir(parents=True, exist_ok=True)
        lingering = site.root / "var/lib/systemd/linger" / USER
        lingering.parent.mkdir(parents=True)
        lingering.touch()
        give(site.root / "home" / USER)
        yield site


def give(path: Path) -> None:
    """Make a directory the user's."""
    entry = pwd.getpwnam(USER)
    os.chown(path, entry.pw_uid, entry.pw_gid)


def owners(paths: list[Path]) -> set[str]:
    return {pwd.getpwuid(path.lstat().st_uid).pw_name for path in paths}


def test_root_brings_the_rootless_services_of_a_user_to_its_systemd_and_its_podman(site: Site) -> None:
    ports, box = free_ports(2), site.box
    tree = site.commit(fleet({"chat": {"port": ports[0]}, "embed": {"port": ports[1]}}, rootless=USER))
    site.play().succeeded()
    assert box.faults(tree, user=USER) == []
    assert (box.images(USER), box.images()) == ([IMAGE], [])
    assert owners(list((site.root / "home" / USER).rglob("*"))) == {USER}
    assert site.play().succeeded().actions == ["survey"]

    good = (box.root / box.kept / "good").resolve()
    site.commit(fleet({"chat": {"port": ports[0], "context": 2048}}, rootless=USER))
    box.rules(**{"ctx-size_2048": "exits"})
    assert "What ran before is back and healthy." in site.play().failed().reason
    assert box.faults(good, user=USER) == []

    site.play(quadgen_retired=True).succeeded()
    assert list((site.root / "home" / USER).rglob("*")) == []
    assert (box.states(USER), box.images(USER)) == ({}, [])


def test_native_units_start_with_the_host_and_go_without_a_trace(site: Site) -> None:
    ports, box = free_ports(1), site.box
    for program in ("opt/llama.cpp/llama-server", "usr/bin/curl"):
        (site.root / program).parent.mkdir(parents=True, exist_ok=True)
        (site.root / program).write_text("#!/bin/sh\n", encoding="utf-8")
        (site.root / program).chmod(0o755)
    link = site.root / "etc/systemd/system/multi-user.target.wants/chat.service"
    tree = site.commit(fleet({"chat": {"port": ports[0]}}, runtime="systemd"))
    site.play().succeeded()
    assert box.faults(tree) == []
    assert link.is_symlink()
    assert site.play().succeeded().actions == ["survey"]

    moved = site.commit(fleet({"chat": {"port": ports[0]}}, runtime="systemd", rootless=USER))
    site.play().succeeded()
    assert box.faults(moved, user=USER) == []
    assert (box.runs(), link.is_symlink()) == ({}, False)
    site.play(quadgen_retired=True).succeeded()
    assert (box.states(USER), box.units()) == ({}, {})


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not there")
def test_a_user_runs_it_for_services_of_its_own_and_for_nothing_else(site: Site) -> None:
    ports = free_ports(1)
    mine = Site(place=site.place, user=USER, kept=f"home/{USER}/state")
    give(site.home)
    told = {"quadgen_state": f"/{mine.kept}"}
    tree = mine.commit(fleet({"chat": {"port": ports[0]}}, rootless=USER))
    mine.play(**told).succeeded()
    assert mine.box.faults(tree, user=USER) == []
    assert mine.play(**told).succeeded().actions == ["survey"]

    good = (site.root / mine.kept / "good").resolve()
    mine.commit(fleet({"chat": {"port": ports[0]}}))
    refused = mine.play(**told).failed()
    assert f"\n- {site.root} is in the way: {USER} may not write there" in refused.reason
    assert mine.box.faults(good, user=USER) == []
