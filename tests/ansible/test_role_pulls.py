"""The role with the real Ansible on a host of the system: from the first pull to the last, where all goes well."""

from collections.abc import Iterator

import pytest

from ansible_fleets import IMAGE, fleet, free_ports
from ansible_run import Ran, Site, as_root, open_place

pytestmark = [as_root, pytest.mark.loopback]

CHAT = "etc/containers/systemd/chat.container"
EMBED = "etc/containers/systemd/embed.container"
CHANGE = ["validate", "images", "services", "files", "services", "record", "images"]
"""What a run does that has something to do, after it has looked and before it ends."""


@pytest.fixture
def site() -> Iterator[Site]:
    """A host that has nothing yet, with the play of its repository."""
    with open_place() as place:
        yield Site(place=place).make()


def services(*, chat: int = 4096, embed: int = 4096, ports: list[int]) -> str:
    """Two services: chat starts after embed."""
    return fleet({
        "chat": {"port": ports[0], "context": chat, "after": "embed"},
        "embed": {"port": ports[1], "context": embed},
    })  # fmt: skip


def changed(ran: Ran) -> list[str]:
    """The actions that changed something, but for the look at what there is to change."""
    return [step.action for step in ran.steps if step.changed and step.action != "survey"]


def test_a_host_is_installed_left_alone_updated_mended_and_emptied_again(site: Site) -> None:
    ports, box = free_ports(2), site.box
    tree = site.commit(services(ports=ports))
    first = site.pull().succeeded()
    assert first.actions == ["survey", "include_tasks", *CHANGE]
    assert box.faults(tree) == []
    assert box.images() == [IMAGE]
    starts = [call for call in box.calls() if " start " in call]
    assert starts == ["systemctl start embed.service", "systemctl start chat.service"]

    again = site.pull().succeeded()
    assert (again.actions, again.totals["changed"]) == (["survey"], 0)
    assert box.calls() == []

    tree = site.commit(services(chat=8192, ports=ports))
    files = box.units()
    told = site.play("--check", "--diff").succeeded()
    assert changed(told) == ["files", "services", "record"]
    assert (box.units(), box.calls()) == (files, [])
    assert "+Exec=" in told.out
    assert "--ctx-size 8192" in told.out
    assert told.step("debug").result["msg"] == {"update": [f"/{CHAT}"], "restart": [["chat.service"]]}
    assert told.step("services", state="started").result["restarted"] == ["chat.service"]
    site.play().succeeded()
    assert box.faults(tree) == []
    assert [call for call in box.calls() if "embed" in call] == []

    tree = site.commit(services(chat=2048, embed=2048, ports=ports))
    both = site.play().succeeded()
    assert both.step("services", state="started").result["restarted"] == ["embed.service", "chat.service"]
    moves = [call.removeprefix("systemctl ") for call in box.calls() if " start " in call or " stop " in call]
    assert moves == ["stop chat.service", "stop embed.service", "start embed.service", "start chat.service"]
    assert box.faults(tree) == []


def test_new_evidence_restarts_nothing_and_what_was_edited_by_hand_is_put_back(site: Site) -> None:
    ports, box = free_ports(2), site.box
    site.commit(services(ports=ports))
    site.play().succeeded()
    box.calls()

    tree = site.edit(CHAT, "# ", "# measured again: ")
    (box.root / f"{CHAT}.d").mkdir()
    (box.root / f"{CHAT}.d" / "mine.conf").write_text("[Service]\nNice=5\n", encoding="utf-8")
    evidence = site.play().succeeded()
    assert evidence.step("files").result["update"] == [f"/{CHAT}"]
    assert box.calls() == ["systemctl daemon-reload"]
    assert box.faults(tree) == []
    assert f"[WARNING]: /{CHAT}.d/mine.conf changes chat.container, and is not quadgen's" in evidence.out

    (box.root / EMBED).write_text("[Container]\nImage=mine\n", encoding="utf-8")
    told = site.play("--check", "--diff").succeeded()
    assert "-Image=mine" in told.out
    assert (box.root / EMBED).read_text(encoding="utf-8") == "[Container]\nImage=mine\n"
    mended = site.play().succeeded()
    assert mended.step("files").result["edited"] == [f"/{EMBED}"]
    assert "systemctl start embed.service" in box.calls()
    assert box.faults(tree) == []


def test_a_service_that_leaves_is_stopped_before_its_file_goes_and_so_are_all_of_a_host_that_is_retired(
    site: Site,
) -> None:
    ports, box = free_ports(2), site.box
    site.commit(services(ports=ports))
    site.play().succeeded()
    box.calls()

    tree = site.commit(fleet({"chat": {"port": ports[0]}}))
    mine = box.root / "etc/containers/systemd/mine.network"
    mine.write_text("[Network]\n", encoding="utf-8")
    told = site.play("--check", "--diff").succeeded()
    assert told.step("services", state="stopped").result["stopped"] == ["embed.service"]
    assert told.step("files").result["remove"] == [f"/{EMBED}"]
    assert box.calls() == []
    left = site.play().succeeded()
    assert left.step("services", state="stopped").result["stopped"] == ["embed.service"]
    calls = box.calls()
    assert calls.index("systemctl stop embed.service") < calls.index("systemctl daemon-reload")
    assert box.faults(tree) == []

    site.commit(fleet({"chat": {}}, host="claws"))
    missing = site.play().failed()
    assert missing.reason == (
        f"{site.repository}/rendered has nothing for claw, but for claws, and this host is not retired; "
        "what it has was rendered for claw"
    )
    assert box.faults((box.root / box.kept / "good").resolve()) == []
    told = site.play("--check", "--diff", quadgen_retired=True).succeeded()
    assert told.step("services", state="stopped").result["stopped"] == ["chat.service"]
    assert box.states() == {"chat.service": "active"}
    retired = site.play(quadgen_retired=True).succeeded()
    assert retired.step("files").result["remove"] == [f"/{CHAT}"]
    assert box.states() == {}
    assert box.images() == []
    assert mine.exists()
    assert not (box.root / box.kept).exists()
    again = site.play(quadgen_retired=True).succeeded()
    assert (again.actions, again.totals["changed"]) == (["survey"], 0)


def test_a_machine_that_was_renamed_says_so_and_loses_nothing(site: Site) -> None:
    ports, box = free_ports(1), site.box
    tree = site.commit(fleet({"chat": {"port": ports[0]}}))
    site.play().succeeded()
    site.commit(fleet({"chat": {"port": ports[0]}}, host="paw"))
    renamed = site.play(quadgen_host="paw").failed()
    assert renamed.reason == ("this machine has what was rendered for claw, and is now called paw: say which it is")
    assert box.states() == {"chat.service": "active"}
    assert (box.root / CHAT).read_bytes() == (box.root / box.kept / "good" / CHAT).read_bytes()
    site.play(quadgen_retired=True).succeeded()
    site.play(quadgen_host="paw").succeeded()
    assert box.faults(tree.with_name("paw")) == []
