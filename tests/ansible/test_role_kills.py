"""A pull that is killed at any task of the role is finished by the next one, as if nothing had been.

The callback of the tests kills everything from the started program down, with SIGKILL. Nothing runs between two tasks,
so the end of one is as good as the start of the next. Kills within a task are those of the modules' own tests.
Where a kill leaves the host as it was before, the next one follows at once.
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from ansible_fleets import fleet, free_ports
from ansible_run import Ran, Site, as_root, open_place

pytestmark = [as_root, pytest.mark.loopback]

ALL = bool(os.environ.get("CI"))
"""Whether every task is killed at; else those after which a host is half one thing and half the other."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A host that has nothing yet, with the play of its repository."""
    with open_place() as place:
        yield Site(place=place).make()


def killed(ran: Ran) -> bool:
    """Whether a run was ended by the kill; one that came to its end counted what it did."""
    assert (ran.status < 0) == (not ran.totals), ran.out
    return ran.status < 0


@dataclass(kw_only=True)
class Killing:
    """Kills pulls one after another, and lets a whole one finish what they left where they changed anything."""

    site: Site
    finish: Callable[[str], None]
    """A whole pull, and what must hold after it; called with the moment."""
    prepare: Callable[[], None] = lambda: None
    """What comes before a pull that is killed, once the one before is finished."""
    options: dict[str, Any] = field(default_factory=dict)

    def at(self, first: int, last: int, few: tuple[int, ...]) -> None:
        """Kill at the start of these tasks, each of which there is; with `ALL` there is none after the last."""
        self.prepare()
        before = self._host()
        for number in range(first, last + 1) if ALL else few:
            moment = f"start {number}"
            assert killed(self.site.play(kill=moment, **self.options)), moment
            if self._host() != before:
                self.finish(moment)
                self.prepare()
                before = self._host()
        if ALL:
            assert not killed(self.site.play(kill=f"start {last + 1}", **self.options))

    def _host(self) -> object:
        """The files of the host and what its systemd knows, but for the numbers of processes."""
        root, path = self.site.root, self.site.box.machine / "units.json"
        files = {str(each): each.read_bytes() for each in root.rglob("*") if each.is_file()}
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return files, [{**each, "pid": 0} for units in known.values() for each in units.values()]


def test_an_update_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    """One service changes, one comes and one goes, to and fro."""
    ports, box = free_ports(3), site.box
    fleets = [
        fleet({"chat": {"port": ports[0]}, "leaves": {"port": ports[1]}}),
        fleet({"chat": {"port": ports[0], "context": 2048, "after": "joins"}, "joins": {"port": ports[2]}}),
    ]
    site.commit(fleets[1])
    site.play().succeeded()

    def prepare() -> None:
        fleets.reverse()
        site.commit(fleets[1])

    def finish(moment: str) -> None:
        site.play().succeeded()
        assert box.faults(site.tree) == [], moment

    # before anything starts, and before it is remembered
    Killing(site=site, finish=finish, prepare=prepare).at(1, 13, (10, 11))


def test_a_roll_back_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    """The next pull may try once more what did not work, and then goes back for good."""
    ports, box = free_ports(2), site.box
    chat = {"port": ports[0]}
    site.commit(fleet({"chat": chat}))
    site.play().succeeded()
    good = (box.root / box.kept / "good").resolve()
    box.rules(**{"ctx-size_2048": "exits"})
    count = iter(range(100))

    def prepare() -> None:
        alias = f"x{next(count)}"
        site.commit(fleet({"chat": {**chat, "context": 2048, "alias": alias}, "new": {"port": ports[1]}}))

    def finish(moment: str) -> None:
        site.play().failed()
        assert box.faults(good) == [], moment
        assert box.remembers()["refused"] is not None, moment

    # Until the start that fails it is an update. Before what ran before starts, and before the tree is refused.
    Killing(site=site, finish=finish, prepare=prepare).at(11, 18, (15, 17))


def test_a_farewell_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    ports, box = free_ports(1), site.box
    site.commit(fleet({"chat": {"port": ports[0]}}))
    retired: dict[str, Any] = {"quadgen_retired": True}

    def finish(moment: str) -> None:
        site.play(**retired).succeeded()
        assert (box.units(), box.states(), (box.root / box.kept).exists()) == ({}, {}, False), moment
        assert box.images() == [], moment

    def prepare() -> None:
        site.play().succeeded()

    # Until services stop it is an update. Its files are gone.
    Killing(site=site, finish=finish, prepare=prepare, options=retired).at(9, 13, (10,))
