"""`quadgen inventory`: what it prints, and the status that it ends with."""

import json
from pathlib import Path

import pytest

from command import quadgen
from fleets import CPU, one


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "fleet.yml").write_text(one(CPU + ", address: 10.0.0.7}"), encoding="utf-8")
    return tmp_path


def test_the_list_is_one_json_object_and_nothing_else(place: Path) -> None:
    done = quadgen("inventory", "--list", cwd=place)
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["quadgen"] == {"hosts": ["claw"]}


def test_the_variables_of_one_host_are_those_of_the_list(place: Path) -> None:
    done = quadgen("inventory", "fleet.yml", "--host", "claw", cwd=place)
    assert (done.status, done.err) == (0, "")
    shown = json.loads(done.out)
    assert shown["ansible_host"] == "10.0.0.7"
    assert shown == json.loads(quadgen("inventory", "--list", cwd=place).out)["_meta"]["hostvars"]["claw"]


def test_a_host_that_is_not_there_is_refused_with_one_that_is(place: Path) -> None:
    done = quadgen("inventory", "--host", "clwa", cwd=place)
    assert (done.status, done.out) == (1, "")
    assert done.err == (
        "error[unexpected-value]: there is no host clwa in the fleet\n  = hint: did you mean claw?\n\n"
        "quadgen: 1 error\n"
    )


@pytest.mark.parametrize("options", [[], ["--list", "--host", "claw"]], ids=["neither", "both"])
def test_either_the_list_or_a_host_is_asked_for(place: Path, options: list[str]) -> None:
    done = quadgen("inventory", *options, cwd=place)
    assert (done.status, done.out) == (2, "")
    assert "say either --list or --host H" in done.err


def test_no_half_of_an_inventory_is_printed(place: Path) -> None:
    (place / "fleet.yml").write_text(one(CPU + ", ports: 80}"), encoding="utf-8")
    done = quadgen("inventory", "--list", cwd=place)
    assert (done.status, done.out) == (1, "")
    assert "error[unknown-key]: `ports` is not a key of a host" in done.err
    (place / "fleet.yml").write_text("hosts: {", encoding="utf-8")
    done = quadgen("inventory", "--list", cwd=place)
    assert (done.status, done.out) == (1, "")
    assert "error[yaml-syntax]" in done.err


def test_a_fleet_that_is_not_there_is_no_fleet_without_hosts(place: Path) -> None:
    done = quadgen("inventory", "other.yml", "--list", cwd=place)
    assert (done.status, done.out) == (4, "")
    assert done.err == "quadgen: cannot read other.yml: No such file or directory\n"


def test_neither_a_ledger_nor_a_lock_is_read(place: Path) -> None:
    (place / "measurements").mkdir()
    (place / "measurements" / "broken.yml").write_text("{", encoding="utf-8")
    (place / "models.lock.yml").write_text("{", encoding="utf-8")
    assert quadgen("inventory", "--list", cwd=place).status == 0
