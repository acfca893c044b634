"""A pull that is killed at any task of the role is finished by the next one, as if nothing had been.

The callback of the tests kills everything from the started program down, with SIGKILL. Nothing runs between two tasks,
so the end of one is as good as the start of the next. Kills within a task are those of the modules' own tests.
"""

import os
from collections.abc import Iterator
from itertools import count

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


def moments(few: tuple[str, ...]) -> Iterator[str]:
    """Moments to kill at, as the callback knows them; every start, and with it every end but the last."""
    return (f"start {number}" for number in count(1)) if ALL else iter(few)


def killed(ran: Ran) -> bool:
    """Whether a run was ended by the kill; one that came to its end counted what it did."""
    assert (ran.status < 0) == (not ran.totals), ran.out
    return ran.status < 0


def test_an_update_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    """One service changes, one comes and one goes, to and fro."""
    ports, box = free_ports(3), site.box
    fleets = [
        fleet({"chat": {"port": ports[0]}, "leaves": {"port": ports[1]}}),
        fleet({"chat": {"port": ports[0], "context": 2048, "after": "joins"}, "joins": {"port": ports[2]}}),
    ]
    site.commit(fleets[1])
    site.play().succeeded()
    kills = 0
    # before anything starts, and before it is remembered
    for number, moment in enumerate(moments(("start 10", "start 11"))):
        tree = site.commit(fleets[number % 2])
        there = killed(site.play(kill=moment))
        site.play().succeeded()
        assert box.faults(tree) == [], moment
        if not there:
            break
        kills += 1
    assert kills == (13 if ALL else 2)


def test_a_roll_back_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    """The next pull may try once more what did not work, and then goes back for good."""
    ports, box = free_ports(2), site.box
    chat = {"port": ports[0]}
    site.commit(fleet({"chat": chat}))
    site.play().succeeded()
    good = (box.root / box.kept / "good").resolve()
    box.rules(**{"ctx-size_2048": "exits"})
    kills = 0
    # before what ran before starts, and before the tree is refused
    for number, moment in enumerate(moments(("start 15", "start 17"))):
        site.commit(fleet({"chat": {**chat, "context": 2048, "alias": f"x{number}"}, "new": {"port": ports[1]}}))
        there = killed(site.play(kill=moment))
        site.play().failed()
        assert box.faults(good) == [], moment
        assert site.play().failed().actions == ["survey"], moment
        if not there:
            break
        kills += 1
    assert kills == (18 if ALL else 2)


def test_a_farewell_that_is_killed_is_finished_by_the_next_pull(site: Site) -> None:
    ports, box = free_ports(1), site.box
    site.commit(fleet({"chat": {"port": ports[0]}}))
    kills = 0
    for moment in moments(("start 10",)):  # its files are gone
        site.play().succeeded()
        there = killed(site.play(kill=moment, quadgen_retired=True))
        site.play(quadgen_retired=True).succeeded()
        assert (box.units(), box.states(), (box.root / box.kept).exists()) == ({}, {}, False), moment
        assert box.images() == [], moment
        if not there:
            break
        kills += 1
    assert kills == (13 if ALL else 1)
