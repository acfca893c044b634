"""The role with the real Ansible where something does not work: what stays, what comes back, and what the run says."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_fleets import IMAGE, MODEL, fleet, free_ports
from ansible_run import Site, as_root, open_place

pytestmark = [as_root, pytest.mark.loopback]

CHAT = "etc/containers/systemd/chat.container"
EMBED = "etc/containers/systemd/embed.container"
ME = f"{Path('/proc/self/comm').read_text(encoding='utf-8').strip()}, process {os.getpid()}"


@pytest.fixture
def site() -> Iterator[Site]:
    """A host that has nothing yet, with the play of its repository."""
    with open_place() as place:
        yield Site(place=place).make()


def test_a_service_that_does_not_become_healthy_is_taken_back_once_and_the_next_commit_goes_through(
    site: Site,
) -> None:
    ports, box = free_ports(3), site.box
    stays = {"embed": {"port": ports[1]}}
    site.commit(fleet({"chat": {"port": ports[0]}, **stays}))
    site.play().succeeded()
    good = (box.root / box.kept / "good").resolve()
    box.calls()

    site.commit(fleet({"chat": {"port": ports[0], "context": 2048}, "new": {"port": ports[2]}, **stays}))
    box.rules(**{"ctx-size_2048": "exits"})
    bad = site.play().failed()
    assert bad.reason == (
        "chat.service failed (Result=exit-code, status 1) [error: cannot load model]. "
        "What ran before is back and healthy. This tree is not tried again on claw until it changes; "
        "quadgen_retry=true tries it"
    )
    assert box.faults(good) == []
    assert "systemctl stop new.service" in box.calls()

    again = site.play().failed()
    assert again.actions == ["survey"]
    assert again.reason == (
        "this tree was rolled back before: chat.service failed (Result=exit-code, status 1) "
        "[error: cannot load model]; "
        "commit another, or try it again with retry (quadgen_retry=true of the role)"
    )
    assert box.calls() == []
    assert site.play(quadgen_retry=True).failed().reason == bad.reason
    assert box.faults(good) == []

    tree = site.commit(fleet({"chat": {"port": ports[0], "context": 8192}, **stays}))
    site.play().succeeded()
    assert box.faults(tree) == []


def test_nothing_is_touched_where_the_host_lacks_something_or_does_not_take_the_new_units(site: Site) -> None:
    ports, box = free_ports(2), site.box
    tree = site.commit(fleet({"chat": {"port": ports[0]}}))
    site.play().succeeded()
    (site.repository / "rendered" / site.host).rename(site.place / "old")
    old = site.place / "old"
    box.calls()

    secret = {"secrets": {"HF_TOKEN": "hf-token"}}
    site.commit(fleet({"chat": {"port": ports[0], "context": 2048, **secret}}))
    (box.root / MODEL).rename(box.root / "srv/models/elsewhere.gguf")
    unmet = site.play().failed()
    assert unmet.actions == ["survey", "include_tasks", "fail"]
    lines = unmet.reason.splitlines()
    assert lines[0] == "claw cannot run what was rendered for it, and nothing was changed:"
    assert [line[:2] for line in lines[1:]] == ["- ", "- "]
    assert "/srv/models/plain.gguf" in unmet.reason
    assert "podman secret create hf-token FILE" in unmet.reason
    assert box.calls() == []
    (box.root / "srv/models/elsewhere.gguf").rename(box.root / MODEL)

    site.commit(fleet({"chat": {"port": ports[0], "context": 2048}}))
    site.edit(CHAT, "[Container]\n", "[Container]\nNoSuchKey=yes\n")
    invalid = site.play().failed()
    assert "NoSuchKey" in invalid.reason
    assert invalid.actions == ["survey", "include_tasks", "validate"]
    assert box.calls() == []

    site.commit(fleet({"chat": {"port": ports[0], "context": 2048, "image": "ghcr.io/ggml-org/llama.cpp:gone-b10715"}}))
    box.tell("registry", ["gone"])
    gone = site.play().failed()
    assert gone.actions == ["survey", "include_tasks", "validate", "images"]
    assert "ghcr.io/ggml-org/llama.cpp:gone-b10715" in gone.reason
    assert box.calls() == ["podman pull ghcr.io/ggml-org/llama.cpp:gone-b10715"]
    assert box.images() == [IMAGE]
    assert box.faults(old) == []
    assert tree.is_dir()


def test_a_first_install_that_fails_stops_what_fails_and_is_tried_again(site: Site) -> None:
    ports, box = free_ports(2), site.box
    tree = site.commit(fleet({"chat": {"port": ports[0], "after": "embed"}, "embed": {"port": ports[1]}}))
    box.rules(**{"chat.service": "loops"})
    first = site.play().failed()
    assert first.reason.startswith("chat.service ended 2 times before it was ready (Result=exit-code, status 1)")
    assert first.reason.endswith(
        ". Nothing ran before that could be put back: the files stay, chat.service was stopped, and the next run tries "
        "again"
    )
    assert box.states() == {"chat.service": "inactive", "embed.service": "active"}
    assert box.remembers()["refused"] is None
    assert set(box.units()) == {CHAT, EMBED}
    box.rules()
    site.play().succeeded()
    assert box.faults(tree) == []

    box.rules(**{"chat.service": "exits"})
    (box.root / CHAT).unlink()
    broken = site.play().failed()
    assert broken.reason.endswith(". There is nothing else to put back, and the next run tries again")
    assert box.remembers()["refused"] is None


def test_a_failure_of_the_host_is_taken_back_and_the_tree_tried_again(site: Site) -> None:
    ports, box = free_ports(2), site.box
    site.commit(fleet({"chat": {"port": ports[0]}}))
    site.play().succeeded()
    good = (box.root / box.kept / "good").resolve()
    (box.root / CHAT).write_text("# by hand\n", encoding="utf-8")  # who knows where such a service listens
    tree = site.commit(fleet({"chat": {"port": ports[1]}}))
    with socket.create_server(("127.0.0.1", ports[1])):
        held = site.play().failed()
    assert held.reason == (
        f"chat.service was not started: another program ({ME}) answers at http://127.0.0.1:{ports[1]}/health. "
        "What ran before is back and healthy, and the next run tries again"
    )
    assert box.faults(good) == []
    site.play().succeeded()
    assert box.faults(tree) == []


def test_a_port_that_another_program_holds_is_named_before_anything_stops(site: Site) -> None:
    ports, box = free_ports(4), site.box
    site.commit(fleet({"chat": {"port": ports[0]}, "embed": {"port": ports[1]}, "side": {"port": ports[2]}}))
    site.play().succeeded()
    good = (box.root / box.kept / "good").resolve()
    moved = {"chat": {"port": ports[1]}, "embed": {"port": ports[3]}}
    tree = site.commit(fleet(moved))
    box.calls()
    there = f"http://127.0.0.1:{ports[3]}/health"
    with socket.create_server(("127.0.0.1", ports[3])):
        for options in ([], ["--check"]):
            held = site.play(*options).failed()
            assert held.actions == ["survey", "include_tasks", "fail"]
            assert held.reason.splitlines() == [
                "claw cannot run what was rendered for it, and nothing was changed:",
                f"- another program ({ME}) answers at {there}: embed.service could not listen there",
            ]
    assert box.calls() == []
    assert box.faults(good) == []
    site.play().succeeded()
    assert box.faults(tree) == []


def test_where_the_old_service_does_not_come_back_either_the_run_says_both_reasons(site: Site) -> None:
    ports, box = free_ports(1), site.box
    site.commit(fleet({"chat": {"port": ports[0]}}))
    site.play().succeeded()
    tree = site.commit(fleet({"chat": {"port": ports[0], "context": 2048}}))
    box.rules(**{"ctx-size_2048": "asserts", "ctx-size_4096": "refused"})
    both = site.play().failed()
    assert both.reason == (
        "chat.service was not started: something that it needs is not there [Assertion failed for this unit.]. "
        "What ran before did not come back either: chat.service cannot be started: Failed to start chat.service: "
        "Unit mnt-nas.mount not found. [Assertion failed for this unit.]. The next run tries again; "
        "until then look at claw yourself"
    )
    box.rules()
    site.play().succeeded()
    assert box.faults(tree) == []
