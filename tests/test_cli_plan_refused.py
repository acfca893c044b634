"""`quadgen plan` of a fleet that is refused: what is new about that, and what becomes of the rest."""

from pathlib import Path

import pytest

from repositories import FLEET, Fleet, repository, services

REFUSED = "forge: {groups: [rack], model: headed, backend: vulkan"
ALLOWED = "forge: {groups: [rack], model: headed, backend: cuda"


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return repository(tmp_path / "fleet")


def test_a_service_that_is_newly_refused_is_told_with_code_sentence_place_and_hint(fleet: Fleet) -> None:
    fleet.change(ALLOWED, REFUSED)
    done = fleet.plan()
    assert (done.status, done.err) == (1, "")
    assert "! refused, unmeasured-combination: no measurement says that copy wins on vulkan" in done.out
    line = (fleet.root / "fleet.yml").read_text().partition("profile: copy")[0].count("\n") + 1
    assert f"    at fleet.yml:{line}:" in done.out
    assert "    for forge/llama-server\n" in done.out
    assert "    hint: use `profile: default`" in done.out
    assert "stopped" not in done.out
    assert done.out.endswith("1 refused on 1 of 3 hosts\n")


def test_the_plan_of_a_refused_fleet_still_tells_what_changes_elsewhere(fleet: Fleet) -> None:
    fleet.change(ALLOWED, REFUSED)
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    told = fleet.told()
    assert list(services(told)) == ["claw/llama-server", "wren/chat", "wren/embed"]
    assert (told["summary"]["changed"], told["summary"]["refused"], told["summary"]["touched"]) == (3, 1, 3)


def test_a_service_that_was_refused_before_is_no_news_whatever_the_sentence(fleet: Fleet) -> None:
    fleet.change(ALLOWED, REFUSED)
    fleet.commit("refused", render=False)
    told = fleet.told()
    (refusal,) = told["refused"]
    assert (refusal["new"], refusal["newly"]) == (False, [])
    assert refusal["services"] == [{"host": "forge", "service": "llama-server"}]
    assert (told["summary"]["refused"], told["summary"]["touched"]) == (0, 0)
    done = fleet.plan()
    assert done.status == 1
    assert "refused before, and still\n    unmeasured-combination: no measurement says" in done.out
    assert done.out.endswith("nothing else changes on 3 hosts\n")
    fleet.change("backend: vulkan", "backend: rocm")
    assert [each["new"] for each in fleet.told()["refused"]] == [False]


def test_a_service_that_is_no_longer_refused_is_told_by_what_it_becomes(tmp_path: Path) -> None:
    fleet = repository(tmp_path / "fleet", FLEET.replace(ALLOWED, REFUSED), render=False)
    fleet.change(REFUSED, ALLOWED)
    told = fleet.told()
    assert (fleet.plan().status, told["refused"]) == (0, [])
    assert told["from"]["source"] == "fleet"
    assert services(told)["forge/llama-server"]["change"] == "created"
    assert told["notes"] == ["HEAD has no rendered, and its fleet.yml is refused: what was refused there counts as new"]


def test_the_same_mistake_on_many_hosts_is_one_refusal(fleet: Fleet) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 4096, flags: {flash-atn: on}}")
    told = fleet.told()
    (refusal,) = told["refused"]
    assert refusal["code"] == "unknown-flag"
    assert [f"{each['host']}/{each['service']}" for each in refusal["newly"]] == [
        "claw/llama-server",
        "wren/chat",
        "wren/embed",
    ]
    assert told["summary"]["refused"] == 3
    assert "    for 3 services (claw/llama-server, wren/chat and wren/embed)\n" in fleet.plan().out


def test_one_service_of_a_host_is_refused_and_the_other_is_told(fleet: Fleet) -> None:
    fleet.change("embed: {model: plain, port: 8081,", "embed: {model: nothing, port: 8081,")
    fleet.change("chat: {model: plain, port: 8080}", "chat: {model: plain, port: 9080}")
    told = fleet.told()
    assert {name: each["change"] for name, each in services(told).items()} == {"wren/chat": "changed"}
    assert [each["newly"] for each in told["refused"]] == [[{"host": "wren", "service": "embed"}]]


def test_a_fleet_that_cannot_be_read_is_a_plan_with_the_reason(fleet: Fleet) -> None:
    fleet.write("hosts: [")
    done = fleet.plan()
    assert (done.status, done.err) == (1, "")
    assert "! refused, yaml-syntax: " in done.out
    assert "nothing else is said of its hosts" in done.out
    told = fleet.told()
    assert (told["hosts"], told["summary"]["refused"], told["summary"]["removed"]) == ([], 1, 0)
    assert fleet.plan("--format", "markdown").out.startswith("### quadgen plan: 1 refused on 0 of 3 hosts\n")


def test_a_mistake_of_the_whole_file_says_nothing_of_its_hosts(fleet: Fleet) -> None:
    fleet.change("groups:\n", "grups: {}\ngroups:\n")
    told = fleet.told()
    assert (told["hosts"], [each["code"] for each in told["refused"]]) == ([], ["unknown-key"])
    fleet.commit("wrong", render=False)
    assert [each["new"] for each in fleet.told()["refused"]] == [False]


def test_refusals_of_hosts_that_nobody_asked_about_do_not_count(fleet: Fleet) -> None:
    fleet.change(ALLOWED, REFUSED)
    assert fleet.plan("--host", "claw").status == 0
    assert fleet.told("--host", "claw")["refused"] == []
    assert fleet.plan("--host", "forge").status == 1
