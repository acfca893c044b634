"""Services are stopped before their files go, started in their order, and waited for until they serve."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import file_server
import stand_ins
from ansible_fleets import free_ports
from collection_modules import call
from host_trees import CHAT, EMBED, NATIVE, rendered, service, words
from plugins.module_utils import state, states
from plugins.module_utils.state import Owned, State

pytestmark = [pytest.mark.loopback]

NOTHING: dict[str, Any] = {"stopped": [], "restarted": [], "started": [], "enabled": [], "reloaded": False}
NOBODY = "nobody"
"""A user that is there."""
UNIT = "[Container]\nImage=ghcr.io/x:1\nPublishPort=127.0.0.1:{port}:{port}\nNotify=healthy\n"
SERVICE = "[Service]\nExecStart=/usr/bin/llama-server --port {port} --metrics\n[Install]\nWantedBy=multi-user.target\n"


class Host:
    """A host with a tree that was just installed, as the module `files` leaves it."""

    def __init__(self, place: Path, host: stand_ins.Host, capsys: pytest.CaptureFixture[str]) -> None:
        self.place, self.host, self.capsys = place, host, capsys
        self.tree: str | None = None

    @property
    def state(self) -> State:
        return state.read(str(self.host.root / "q"))

    def keep(self, **changes: Any) -> None:
        place = str(self.host.root / "q")
        with state.locked(place):
            state.write(place, replace(state.read(place), **changes))

    def install(self, files: dict[str, str], **changes: dict[str, Any]) -> None:
        """Install these files in place of those before; `changes` are a service's, by its name."""
        data = {path: text.encode() for path, text in files.items()}
        listed = [service(path, **changes.get(Path(path).stem, {})) for path in sorted(files)]
        for each, path in zip(listed, sorted(files), strict=True):
            each["restart"] = words(data[path])
        number = len(list(self.place.glob("tree-*")))
        self.tree = rendered(self.place / f"tree-{number}", data, services=listed)
        self.place.joinpath(f"tree-{number}").mkdir(exist_ok=True)
        for path in self.state.files:
            (self.host.root / path).unlink()
        self.host.install(files)
        owned = {each["unit"]: Owned(each["user"], each["restart"], tuple(each["after"])) for each in listed}
        self.keep(files=dict.fromkeys(files, "0" * 64), services={**self.state.services, **owned}, stale=(None,))

    def services(self, wanted: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        return call(
            self.capsys,
            "services",
            check=check,
            state=wanted,
            tree=self.tree,
            root=str(self.host.root),
            state_dir="/q",
            **options,
        )

    @staticmethod
    def by_hand(*words: str) -> None:
        assert stand_ins.run(["systemctl", *words]).done

    def started(self, **expected: Any) -> dict[str, Any]:
        said = self.services("started")
        assert not said.get("failed"), said["msg"]
        assert {key: said[key] for key in NOTHING} == NOTHING | expected
        assert said["changed"] == bool(expected)
        return said


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Host]:
    monkeypatch.setattr("plugins.module_utils.starting.STEADY", 0.0)
    with stand_ins.host(tmp_path, monkeypatch) as made:
        yield Host(tmp_path, made, capsys)


def container(version: int = 1) -> str:
    return f"# {version}\n[Container]\nImage=ghcr.io/x:{version}\n"


def test_a_first_start_starts_everything_once_and_a_second_nothing(host: Host) -> None:
    host.install({CHAT: container(), EMBED: container()}, embed={"after": ["chat.service"]})
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    assert host.host.units() == {"chat.service": "active", "embed.service": "active"}
    assert host.host.calls() == [
        ["daemon-reload"],
        ["reset-failed", "chat.service"],
        ["start", "--no-block", "chat.service"],
        ["reset-failed", "embed.service"],
        ["start", "--no-block", "embed.service"],
    ]
    assert not host.state.stale
    host.host.forget()
    host.started()
    assert host.host.calls() == []


def test_the_manager_that_a_service_left_reads_its_units_anew_as_well(host: Host) -> None:
    host.install({CHAT: container()})
    host.keep(stale=(None, NOBODY, "no-such-user"))
    host.started(started=["chat.service"], reloaded=True)
    assert host.host.calls()[:2] == [["daemon-reload"], ["--user", "daemon-reload"]]
    assert host.state.stale == ()


def test_only_what_changed_is_stopped_and_started_and_none_is_restarted(host: Host) -> None:
    host.install({CHAT: container(), EMBED: container()})
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    host.host.forget()
    host.install({CHAT: container(2), EMBED: container().replace("# 1", "# new evidence")})
    host.started(restarted=["chat.service"], reloaded=True)
    assert host.host.calls() == [
        ["daemon-reload"],
        ["stop", "--no-block", "chat.service"],
        ["reset-failed", "chat.service"],
        ["start", "--no-block", "chat.service"],
    ]
    assert host.host.ran("chat.service") == container(2)


def test_all_that_changed_is_stopped_in_the_reverse_order_before_any_of_it_starts(host: Host) -> None:
    later = {"embed": {"after": ["chat.service"]}}
    host.install({CHAT: container(), EMBED: container()}, **later)
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    host.host.forget()
    host.install({CHAT: container(2), EMBED: container(2)}, **later)
    host.started(restarted=["chat.service", "embed.service"], reloaded=True)
    assert [call for call in host.host.calls() if call[0] in ("start", "stop")] == [
        ["stop", "--no-block", "embed.service"],
        ["stop", "--no-block", "chat.service"],
        ["start", "--no-block", "chat.service"],
        ["start", "--no-block", "embed.service"],
    ]


def test_a_service_is_waited_for_until_its_address_answers(host: Host) -> None:
    (port,) = free_ports(1)
    host.install({CHAT: UNIT.format(port=port)}, chat={"health": f"http://127.0.0.1:{port}/health"})
    host.started(started=["chat.service"], reloaded=True)
    assert host.state.running["chat.service"] == host.state.services["chat.service"].restart


def test_a_service_whose_address_somebody_else_answers_is_not_started(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugins.module_utils.ports.FREE", 0.3)
    with file_server.started({"/health": file_server.status(200)}) as other:
        url = other.url("/health")
        host.install({CHAT: UNIT.format(port=url.split(":")[2].partition("/")[0])}, chat={"health": url})
        said = host.services("started")
    me = f"{Path('/proc/self/comm').read_text(encoding='utf-8').strip()}, process {os.getpid()}"
    assert said["msg"] == f"chat.service was not started: another program ({me}) answers at {url}"
    assert [(each["unit"], each["host"]) for each in said["failed_units"]] == [("chat.service", True)]
    assert host.host.calls() == [["daemon-reload"]]
    assert host.state.running == {"chat.service": ""}


def test_a_service_without_an_address_serves_once_it_ran_for_a_while(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugins.module_utils.starting.STEADY", 3600.0)
    monkeypatch.setattr("plugins.module_utils.starting.GRACE", 0.0)
    host.install({CHAT: container()}, chat={"start_timeout": 0})
    said = host.services("started")
    assert said["msg"] == "chat.service does not serve after 0 seconds: is active (running)"
    assert host.state.running == {"chat.service": ""}


def test_a_service_that_is_active_and_never_serves_fails_at_its_start_timeout(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plugins.module_utils.starting.GRACE", 0.0)
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}/health"
    host.install({CHAT: UNIT.format(port=port)}, chat={"health": url, "start_timeout": 0})
    host.host.rules(chat="unwell")
    said = host.services("started")
    assert said["msg"] == f"chat.service does not serve after 0 seconds: {url} answers 503"
    assert host.state.running == {"chat.service": ""}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("exits", "failed (Result=exit-code, status 1)"),
        ("loops", "ended 2 times before it was ready (Result=exit-code, status 1)"),
        ("asserts", "was not started: something that it needs is not there"),
        ("refused", "cannot be started: Failed to start chat.service: Unit mnt-nas.mount not found."),
    ],
)
def test_a_start_that_fails_says_what_systemd_and_the_journal_say_long_before_its_timeout(
    host: Host, how: str, why: str
) -> None:
    host.install({CHAT: container(), EMBED: container()}, embed={"after": ["chat.service"]})
    host.host.rules(chat=how)
    said = host.services("started")
    assert said["failed"]
    (failed,) = said["failed_units"]
    assert (failed["unit"], failed["user"], failed["why"]) == ("chat.service", None, why)
    assert not failed["host"]
    assert failed["journal"] == (["error: cannot load model"] if how == "exits" else failed["journal"])
    assert said["msg"].startswith(f"chat.service {why}")
    assert "embed.service" not in [unit for unit, active in host.host.units().items() if active != "inactive"]


def test_a_failure_quotes_the_line_of_the_journal_that_says_why(host: Host) -> None:
    host.install({CHAT: container()})
    host.host.rules(chat="exits")
    said = host.services("started")
    why = "chat.service failed (Result=exit-code, status 1)"
    assert said["msg"] == f"{why} [error: cannot load model]"


def test_a_unit_that_no_generator_made_fails_before_what_runs_is_stopped(host: Host) -> None:
    host.install({CHAT: container(), EMBED: container()})
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    host.install({CHAT: container(2), EMBED: container(2)})
    (host.host.root / EMBED).unlink()
    said = host.services("started")
    assert said["msg"] == "embed.service is unknown to systemd: no file became this unit"
    assert host.host.ran("chat.service") == container()
    assert host.host.units()["chat.service"] == "active"


def test_what_was_stopped_and_not_started_before_a_kill_is_started_by_the_next_run(host: Host) -> None:
    by_hand = {"chat": {"autostart": False}}
    host.install({CHAT: container()}, **by_hand)
    host.started(reloaded=True)
    host.by_hand("start", "chat.service")
    host.install({CHAT: container(2)}, **by_hand)
    host.host.rules(chat="exits")
    assert host.services("started")["failed"]
    host.host.rules()
    host.started(started=["chat.service"])
    assert host.host.ran("chat.service") == container(2)


def test_a_service_that_is_not_to_start_is_left_as_it_is_found(host: Host) -> None:
    by_hand = {"chat": {"autostart": False}}
    host.install({CHAT: container()}, **by_hand)
    host.started(reloaded=True)
    assert host.host.units() == {"chat.service": "inactive"}
    host.by_hand("start", "chat.service")
    host.started()
    host.install({CHAT: container(2)}, **by_hand)
    host.started(restarted=["chat.service"], reloaded=True)
    host.by_hand("stop", "chat.service")
    host.started()


def test_of_services_in_conflict_the_one_that_runs_goes_on(host: Host) -> None:
    files = {CHAT: container() + "[Unit]\nConflicts=embed.service\n", EMBED: container()}
    apart = {"chat": {"conflicts": ["embed.service"]}}
    host.install(files, **apart)
    host.started(started=["chat.service"], reloaded=True)
    host.by_hand("start", "embed.service")
    assert host.host.units() == {"chat.service": "inactive", "embed.service": "active"}
    host.started()
    host.install({CHAT: files[CHAT] + "Description=x\n", EMBED: container(2)}, **apart)
    host.started(restarted=["embed.service"], reloaded=True)


def test_a_service_that_died_is_started_again_and_one_on_its_way_is_waited_for(host: Host) -> None:
    host.install({CHAT: container()})
    host.started(started=["chat.service"], reloaded=True)
    host.by_hand("stop", "chat.service")
    host.started(started=["chat.service"])
    host.by_hand("stop", "chat.service")
    host.host.rules(chat="loops")
    host.by_hand("start", "chat.service")
    assert host.services("started")["failed_units"][0]["why"].startswith("ended 3 times")


def test_a_native_unit_is_enabled_while_it_is_to_start_and_leaves_no_link_when_it_goes(host: Host) -> None:
    link = host.host.root / "etc/systemd/system/multi-user.target.wants/rerank.service"
    (port,) = free_ports(1)
    host.install({NATIVE: SERVICE.format(port=port)})
    host.started(started=["rerank.service"], reloaded=True, enabled=["rerank.service"])
    assert link.is_symlink()
    host.started()
    host.install({NATIVE: SERVICE.format(port=port).partition("[Install]")[0]}, rerank={"autostart": False})
    host.started(restarted=["rerank.service"], reloaded=True, enabled=["rerank.service"])
    assert not link.is_symlink()
    host.install({NATIVE: SERVICE.format(port=port)})
    host.started(restarted=["rerank.service"], reloaded=True, enabled=["rerank.service"])
    host.tree = None
    assert host.services("stopped")["stopped"] == ["rerank.service"]
    assert not link.is_symlink()
    assert host.host.units() == {"rerank.service": "inactive"}
    assert host.state.running == {}
    (host.host.root / NATIVE).unlink()
    host.keep(stale=(None,))
    host.started(reloaded=True)
    assert (host.state.services, host.host.units()) == ({}, {})


def test_what_leaves_is_stopped_before_its_file_goes_last_in_order_first(host: Host) -> None:
    host.install({CHAT: container(), EMBED: container()}, embed={"after": ["chat.service"]})
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    host.host.forget()
    host.tree = rendered(host.place / "tree-empty", {})
    said = host.services("stopped", check=True)
    assert (said["changed"], said["stopped"]) == (True, ["embed.service", "chat.service"])
    assert host.host.calls() == []
    assert host.services("stopped")["stopped"] == ["embed.service", "chat.service"]
    assert [call for call in host.host.calls() if call[0] == "stop"] == [
        ["stop", "--no-block", "embed.service"],
        ["stop", "--no-block", "chat.service"],
    ]
    assert host.host.units() == {"chat.service": "inactive", "embed.service": "inactive"}
    said = host.services("stopped")
    assert (said["changed"], said["stopped"]) == (False, [])


def test_units_can_be_stopped_that_the_tree_has(host: Host) -> None:
    host.install({CHAT: container(), EMBED: container()})
    host.started(started=["chat.service", "embed.service"], reloaded=True)
    assert host.services("stopped", units=["embed.service"])["stopped"] == ["embed.service"]
    assert host.host.units() == {"chat.service": "active", "embed.service": "inactive"}
    host.started(started=["embed.service"])


def test_a_unit_of_another_kind_ends_as_what_it_was_and_runs_again(host: Host) -> None:
    by_hand = {"chat": {"autostart": False}}
    host.install({CHAT: container()}, **by_hand)
    host.started(reloaded=True)
    host.by_hand("start", "chat.service")
    native = "etc/systemd/system/chat.service"
    before = host.host.root / CHAT
    text = SERVICE.format(port=free_ports(1)[0]).partition("[Install]")[0]
    host.tree = rendered(host.place / "tree-native", {native: text.encode()}, services=[
        service(native, autostart=False, restart=words(text.encode()))
    ])  # fmt: skip
    assert host.services("stopped")["stopped"] == ["chat.service"]
    assert before.exists()
    before.unlink()
    host.host.install({native: text})
    host.keep(stale=(None,))
    host.started(started=["chat.service"], reloaded=True)
    assert host.host.ran("chat.service") == text


def test_check_mode_says_what_would_be_started_and_touches_nothing(host: Host) -> None:
    host.install({CHAT: container()})
    before = host.state
    said = host.services("started", check=True)
    assert (said["changed"], said["started"], said["reloaded"]) == (True, ["chat.service"], False)
    assert host.host.calls() == []
    assert host.state == before


def test_a_unit_that_does_not_end_is_named(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "SLACK", 0.0)
    monkeypatch.setattr(states, "STOPPING", 0.0)
    host.install({CHAT: container()})
    host.host.rules(chat="stubborn")
    host.by_hand("daemon-reload")
    host.by_hand("start", "chat.service")
    host.tree = None
    said = host.services("stopped")
    assert said["msg"] == "chat.service did not stop within 0 seconds"


def test_stops_are_waited_for_as_long_as_systemd_takes_for_them_and_longer_where_nobody_knows() -> None:
    assert states.patience([30]) == 2 * 30 + states.SLACK
    assert states.patience([1800, 30]) == 2 * 1830 + states.SLACK
    assert states.patience([30, None]) == states.STOPPING
    assert states.patience([1800, None]) == 2 * 1800 + states.SLACK
