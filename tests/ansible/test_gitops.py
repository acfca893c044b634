"""The play, the inventory and the settings of examples/gitops with the real ansible-pull."""

import platform
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ansible_fleets import fleet, free_ports
from ansible_run import Site, as_root, open_place
from gitops import EXAMPLE
from hosts import snapshot

HOSTS = "inventory/hosts.yml"
UNIT = "etc/containers/systemd/chat.container"


@dataclass(frozen=True, kw_only=True)
class Listed(Site):
    """A host that pulls for whom the inventory of the repository lists, as the unit of a host does."""

    def _options(self, variables: Mapping[str, Any]) -> list[str]:
        words = super()._options(variables)
        return [HOSTS if word == "localhost," else word for word in words]


@pytest.fixture(name="site")
def _site() -> Iterator[Site]:
    """A host whose repository has what the example has for Ansible, and a fleet of its own."""
    with open_place() as place:
        site = Listed(place=place).make()
        for name in ("site.yml", "ansible.cfg"):
            shutil.copy(EXAMPLE / name, site.repository / name)
        shutil.copytree(EXAMPLE / "inventory", site.repository / "inventory")
        yield site


def commit(site: Site) -> None:
    site.commit(fleet({"chat": {"port": free_ports(1)[0]}}))


def rename(site: Site, old: str) -> None:
    """Call a host of the inventory as this machine is called."""
    path = site.repository / HOSTS
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, old.replace("claw", platform.node())), encoding="utf-8")


@pytest.mark.loopback
def test_a_machine_that_the_inventory_does_not_have_is_told_so_and_loses_nothing(site: Site) -> None:
    commit(site)
    before = snapshot(site.root, times=True)
    ran = site.pull("--clean")
    assert (ran.status, ran.steps[1:]) == (1, ()), ran.out
    assert "leaves us with no hosts to target" in ran.out
    assert snapshot(site.root, times=True) == before


@as_root
@pytest.mark.loopback
def test_a_host_installs_what_was_rendered_for_it_and_gives_it_back_when_it_is_retired(site: Site) -> None:
    rename(site, "    claw:\n")
    commit(site)
    assert "services" in site.pull("--clean").succeeded().actions
    assert (site.root / UNIT).exists()
    assert "chat.service" in site.box.runs()

    path = site.repository / HOSTS
    text = path.read_text(encoding="utf-8").replace(f"    {platform.node()}:\n", "")
    path.write_text(text.replace("  hosts: {}\n", f"  hosts: {{{platform.node()}: }}\n"), encoding="utf-8")
    commit(site)
    shutil.rmtree(site.repository / "rendered" / site.host)
    site.pull("--clean").succeeded()
    assert not (site.root / UNIT).exists()
    assert not site.box.runs()
