"""Another program on the port of a service is named before anything stops, and never a service of quadgen's own."""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_fleets import free_ports
from host_trees import CHAT, EMBED, rendered, service
from plugins.module_utils import ports, tree
from plugins.module_utils.listeners import Program
from plugins.module_utils.ports import Host
from plugins.module_utils.starting import PENDING
from plugins.module_utils.state import Owned, State
from plugins.module_utils.states import Seen
from plugins.module_utils.tree import Manifest

pytestmark = [pytest.mark.loopback]

RUNS = Seen({"LoadState": "loaded", "ActiveState": "active", "SubState": "running"})
RESTS = Seen({"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead"})
STOPS = Seen({"LoadState": "loaded", "ActiveState": "deactivating", "SubState": "stop-sigterm"})
STALE = Seen({**RUNS.properties, "NeedDaemonReload": "yes"})
ME = f"{Path('/proc/self/comm').read_text(encoding='utf-8').strip()}, process {os.getpid()}"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plugins.module_utils.ports.FREE", 0.0)


@pytest.fixture
def port() -> Iterator[int]:
    """A port at which another program listens: this one."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        yield held.getsockname()[1]


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/health"


def committed(place: Path, port: int, top: str = "") -> Manifest:
    """The tree in which chat is to listen at this port, and embed at another."""
    services = [service(CHAT, health=url(port)), service(EMBED, health=url(1))]
    return tree.read(rendered(place / "new", {top + CHAT: b"new", top + EMBED: b"embed 1"}, services=services))


def running(place: Path, port: int, top: str = "") -> Host:
    """A host whose chat and embed run, as the last good tree has them, and that is to have chat at this port."""
    more = f"LimitNOFILE=9{port}\nLimitNPROC={port}0\n"  # other numbers, in which that of the port is
    files = {CHAT: b"PublishPort=2:2\n", EMBED: f"PublishPort=1:1\n{more}".encode()}
    for path, data in files.items():
        (place / "root" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "root" / path).write_bytes(data)
    services = [service(CHAT, health=url(2)), service(EMBED, health=url(1))]
    good = tree.read(rendered(place / "good", {top + path: data for path, data in files.items()}, services=services))
    known = State(
        services={each.unit: Owned(None, each.restart) for each in good.services},
        running={each.unit: each.restart for each in good.services},
    )
    seen = {"chat.service": RUNS, "embed.service": RUNS}
    return Host(str(place / "root"), known, good, committed(place, port, top), seen)


def unmet(host: Host, *units: str) -> list[str]:
    named = units or ("chat.service",)
    return ports.unmet([each for each in host.manifest.services if each.unit in named], host)


def sentence(port: int) -> str:
    return f"another program ({ME}) answers at {url(port)}: chat.service could not listen there"


def test_where_nothing_of_ours_runs_whoever_answers_is_another(tmp_path: Path, port: int) -> None:
    manifest = committed(tmp_path, port)
    host = Host("/", State(), tree.NOTHING, manifest, dict.fromkeys(["chat.service", "embed.service"], RESTS))
    assert unmet(host, "chat.service", "embed.service") == [sentence(port)]


def test_a_port_is_another_programs_where_all_of_ours_are_known_to_listen_elsewhere(tmp_path: Path, port: int) -> None:
    assert unmet(running(tmp_path, port)) == [sentence(port)]


def test_files_are_found_from_the_root_of_the_machine_itself(tmp_path: Path, port: int) -> None:
    host = running(tmp_path, port, f"{tmp_path}/root/".lstrip("/"))
    assert unmet(replace(host, root="/")) == [sentence(port)]


def test_nobody_is_in_the_way_where_nobody_answers(tmp_path: Path) -> None:
    assert unmet(running(tmp_path, free_ports(1)[0])) == []


@pytest.mark.parametrize("health", [None, "http://127.0.0.1:port/health", "unix:/run/chat"])
def test_a_service_without_an_address_is_not_asked_for(tmp_path: Path, health: str | None) -> None:
    host = running(tmp_path, 3)
    chat, embed = host.manifest.services
    manifest = replace(host.manifest, services=(replace(chat, health=health), embed))
    assert unmet(replace(host, manifest=manifest)) == []


def test_a_port_that_is_let_go_of_within_a_moment_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plugins.module_utils.ports.FREE", 30.0)
    held = socket.create_server(("127.0.0.1", 0))
    host = running(tmp_path, held.getsockname()[1])
    after = threading.Timer(0.3, held.close)
    after.start()
    assert unmet(host) == []
    after.join()


def _edited(host: Host, path: str, text: bytes) -> Host:
    (Path(host.root) / path).write_bytes(text)
    return host


def _gone(host: Host) -> Host:
    (Path(host.root) / EMBED).unlink()
    return host


def _ran(host: Host, unit: str, digest: str) -> Host:
    return replace(host, known=replace(host.known, running={**host.known.running, unit: digest}))


def _moved(host: Host, unit: str) -> Host:
    owned = {**host.known.services, unit: replace(host.known.services[unit], user="ada")}
    return replace(host, known=replace(host.known, services=owned))


def _adas(manifest: Manifest) -> Manifest:
    """The same tree, in which embed is ada's."""
    chat, embed = manifest.services
    return replace(manifest, services=(chat, replace(embed, user="ada")))


def _disowned(host: Host) -> Host:
    owned = {unit: each for unit, each in host.known.services.items() if unit != "embed.service"}
    return replace(host, known=replace(host.known, services=owned))


def _seen(host: Host, unit: str, seen: Seen | None) -> Host:
    return replace(host, seen={name: each for name, each in {**host.seen, unit: seen}.items() if each is not None})


DOUBTS: dict[str, Callable[[Host], Host]] = {
    "embed runs something that is no tree's": lambda host: _ran(host, "embed.service", "0" * 64),
    "embed was stopped to be replaced, and runs": lambda host: _ran(host, "embed.service", PENDING),
    "the file of embed was edited": lambda host: _edited(host, EMBED, b"PublishPort=3:3\n"),
    "the file of embed is not there": _gone,
    "what is to come was put there and started by hand": lambda host: _edited(host, CHAT, b"new"),
    "the manager of embed has not read it": lambda host: _seen(host, "embed.service", STALE),
    "the manager of embed did not answer": lambda host: _seen(host, "embed.service", None),
    "embed goes to the manager of another": lambda host: _moved(_seen(host, "embed.service", RESTS), "embed.service"),
    "embed goes to another manager than the good tree has": lambda host: replace(
        _moved(host, "embed.service"), good=_adas(host.good)
    ),
    "embed went to another manager than the good tree has": lambda host: replace(
        _moved(host, "embed.service"), manifest=_adas(host.manifest)
    ),
    "embed was not installed by quadgen": _disowned,
    "embed is on its way down, and is not as it was rendered": lambda host: _ran(
        _seen(host, "embed.service", STOPS), "embed.service", "0" * 64
    ),
    "there is no good tree": lambda host: replace(host, good=tree.NOTHING),
}


@pytest.mark.parametrize("why", DOUBTS)
def test_nothing_is_said_in_doubt(tmp_path: Path, port: int, why: str) -> None:
    assert unmet(DOUBTS[why](running(tmp_path, port))) == []


def test_what_is_down_holds_no_port_whatever_it_was(tmp_path: Path, port: int) -> None:
    host = _ran(_seen(running(tmp_path, port), "embed.service", RESTS), "embed.service", PENDING)
    assert unmet(host) == [sentence(port)]


def test_a_service_that_gives_its_port_away_is_no_other_program(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        host = running(tmp_path, port)
        words = f"PublishPort=127.0.0.1:{port}:{port}\n".encode()
        services = [service(EMBED, health=url(port))]
        good = tree.read(rendered(tmp_path / "gives", {EMBED: words}, services=services))
        known = replace(
            host.known,
            services={"embed.service": Owned(None, good.services[0].restart)},
            running={"embed.service": good.services[0].restart},
        )
        given = replace(_edited(host, EMBED, words), good=good, known=known)
        assert unmet(_seen(given, "chat.service", RESTS)) == []
        leaves = replace(given.manifest, services=given.manifest.services[:1])
        assert unmet(_seen(replace(given, manifest=leaves), "chat.service", RESTS)) == []


def test_a_process_in_the_control_group_of_a_service_is_no_other_program(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = Program(1, "conmon", "0::/system.slice/embed.service/runtime\n")  # only systemd could put a process there
    monkeypatch.setattr("plugins.module_utils.listeners.listening", lambda *_: [ours])
    assert unmet(running(tmp_path, port)) == []
