"""The one look that a pull begins with says all that is to be done, and changes nothing."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from host_trees import CHAT, EMBED, NATIVE, rendered, service, words
from hosts import snapshot
from plugins.module_utils import placing, recording, state, surveying
from plugins.module_utils.managers import MISSING, Said, Trouble
from plugins.module_utils.starting import PENDING
from plugins.module_utils.surveying import Survey
from plugins.module_utils.tree import read

RUNS = {"LoadState": "loaded", "ActiveState": "active", "SubState": "running"}
RESTS = {"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead"}
ADDRESS = "http://192.0.2.7:8080/health"
"""Whoever connects there breaks the test."""
UNKNOWN = {"LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead"}


@dataclass
class Systemd:
    """Answers `systemctl show` in the words of systemd 257, and nothing else."""

    units: dict[str, dict[str, str]] = field(default_factory=dict)
    broken: bool = False
    calls: list[Sequence[str]] = field(default_factory=list)

    def __call__(self, argv: Sequence[str], user: str | None = None, timeout: float | None = None) -> Said:  # noqa: ARG002 - as run()
        """Answer as the program would."""
        self.calls.append(argv)
        if argv[0] != "systemctl" or "show" not in argv:
            return Said(MISSING, "", f"cannot run {argv[0]}: No such file or directory")
        if self.broken or user is not None:
            return Said(1, "", "Failed to connect to bus: No medium found\n")
        blocks = [self.units.get(unit, UNKNOWN) for unit in argv[argv.index("--") + 1 :]]
        lines = ["".join(f"{key}={value}\n" for key, value in block.items()) for block in blocks]
        return Said(0, "\n".join(lines), "")


@dataclass
class Host:
    """A host, its repository, and what its systemd says."""

    place: Path
    systemd: Systemd = field(default_factory=Systemd)

    @property
    def root(self) -> Path:
        return self.place / "root"

    @property
    def kept(self) -> str:
        return str(self.root / "state")

    def commit(self, files: Mapping[str, bytes], **options: Any) -> str:
        return rendered(self.place / "rendered", files, **options)

    def survey(self, host: str | None = "claw", *, retired: bool = False, retry: bool = False) -> Survey:
        before = snapshot(self.root, times=True)
        found = surveying.survey(
            str(self.place / "rendered"),
            host,
            str(self.root),
            self.kept,
            retired=retired,
            retry=retry,
            run=self.systemd,
        )
        assert snapshot(self.root, times=True) == before
        return found

    def refused(self, host: str | None = "claw", **options: bool) -> str:
        with pytest.raises(Trouble) as trouble:
            self.survey(host, **options)
        return str(trouble.value)

    def install(self, tree: str | None) -> None:
        """Install a tree as a pull does, but for its services."""
        with state.locked(self.kept):
            known = state.read(self.kept)
            placing.carry_out(placing.plan(tree, str(self.root), known), str(self.root), self.kept, known)

    def pulled(self, tree: str) -> None:
        """Let a pull of a tree have gone well: everything that starts with the host runs."""
        self.install(tree)
        known = state.read(self.kept)
        running = {unit: owned.restart for unit, owned in known.services.items()}
        known = replace(known, running=running, stale=())
        state.write(self.kept, known)
        recording.good(tree, self.kept, known, check=False)
        self.systemd.units |= dict.fromkeys(known.services, RUNS)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    (tmp_path / "root/etc").mkdir(parents=True)
    return Host(tmp_path)


def test_a_host_that_is_as_it_was_rendered_has_nothing_to_do_and_systemd_is_asked_once(host: Host) -> None:
    services = [service(CHAT, health=ADDRESS), service(NATIVE, health=ADDRESS)]
    tree = host.commit({CHAT: b"chat", NATIVE: b"rerank"}, services=services)
    host.pulled(tree)
    assert host.survey() == Survey(
        host="claw",
        tree=tree,
        digest=read(tree).sha256,
        root=str(host.root),
        state_dir=host.kept,
        good=f"{host.kept}/good",
        fallback=None,
        changed=False,
        interrupted=False,
        create=[],
        update=[],
        remove=[],
        stop=[],
        restart=[],
        start=[],
        enable=[],
        reload=False,
        pull=[],
        drop=[],
        unmet=[],
        warnings=[],
    )
    assert len(host.systemd.calls) == 1


def test_a_first_pull_installs_and_starts_everything_that_starts_with_the_host(host: Host) -> None:
    services = [service(CHAT, image="i:1"), service(EMBED, autostart=False, image="i:1"), service(NATIVE)]
    tree = host.commit({CHAT: b"chat", EMBED: b"embed", NATIVE: b"rerank"}, services=services)
    found = host.survey()
    assert found.changed
    assert found.tree == tree
    assert found.good is None
    assert found.create == [f"/{path}" for path in (CHAT, EMBED, NATIVE)]
    assert found.start == ["chat.service", "rerank.service"]
    assert found.pull == [{"image": "i:1", "user": None}]


def test_a_change_says_what_stops_what_restarts_in_which_order_and_what_goes(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat", EMBED: b"embed", NATIVE: b"rerank"}))
    state.write(host.kept, replace(state.read(host.kept), images=(("old:1", None), ("ghcr.io/x:1", None))))
    services = [service(CHAT, after=["embed.service"]), service(EMBED)]
    host.commit({CHAT: b"chat new", EMBED: b"embed new"}, services=services)
    found = host.survey()
    assert found.changed
    assert found.update == [f"/{CHAT}", f"/{EMBED}"]
    assert found.remove == [f"/{NATIVE}"]
    assert found.stop == ["rerank.service"]
    assert found.restart == [["embed.service"], ["chat.service"]]
    assert found.start == []
    assert found.drop == [{"image": "old:1", "user": None}]
    assert found.pull == []
    assert found.fallback == f"{host.kept}/good"


def test_new_evidence_replaces_a_file_and_restarts_nothing(host: Host) -> None:
    services = [service(CHAT, health=ADDRESS)]
    host.pulled(host.commit({CHAT: b"# old\nchat"}, services=services))
    host.commit({CHAT: b"# new\nchat"}, services=services)
    found = host.survey()
    assert found.update == [f"/{CHAT}"]
    assert found.restart == []


def test_a_file_that_was_edited_by_hand_is_put_back_and_its_service_restarted(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat", EMBED: b"embed"}))
    (host.root / CHAT).write_text("mine")
    found = host.survey()
    assert found.update == [f"/{CHAT}"]
    assert found.restart == [["chat.service"]]


@pytest.mark.parametrize(
    ("units", "todo"),
    [
        ({"chat.service": RESTS}, {"start": ["chat.service"]}),
        ({"chat.service": {**RUNS, "NeedDaemonReload": "yes"}}, {"reload": True}),
        ({"chat.service": {**RUNS, "UnitFileState": "disabled"}}, {"enable": ["chat.service"]}),
    ],
)
def test_what_drifted_on_the_host_is_to_be_mended(host: Host, units: dict[str, Any], todo: dict[str, Any]) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    host.systemd.units |= units
    found = host.survey()
    assert found.changed
    assert {name: getattr(found, name) for name in todo} == todo


def test_a_service_that_does_not_start_with_the_host_is_left_as_it_is(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat"}, services=[service(CHAT, autostart=False)]))
    host.systemd.units["chat.service"] = RESTS
    assert not host.survey().changed
    host.systemd.units["chat.service"] = RUNS
    assert not host.survey().changed


@pytest.mark.parametrize(
    ("left", "interrupted"),
    [
        ({"pending": {CHAT: "0"}}, True),
        ({"stale": (None,)}, True),
        ({"running": {"chat.service": PENDING}}, True),
        ({"running": {}}, False),
    ],
)
def test_what_a_killed_run_left_is_to_be_finished(host: Host, left: dict[str, Any], *, interrupted: bool) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    state.write(host.kept, replace(state.read(host.kept), **left))
    found = host.survey()
    assert found.changed
    assert found.interrupted == interrupted


@pytest.mark.parametrize("name", [CHAT, "manifest.json"])
def test_a_copy_that_lost_something_is_nothing_to_go_back_to_and_stops_no_pull(host: Host, name: str) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    (host.root / "state/good" / name).write_bytes(b"")
    found = host.survey()
    assert found.changed
    assert (found.good, found.fallback) == (None, None)
    assert found.warnings[0].startswith(f"there is nothing to go back to: {host.kept}/good/")


def test_a_tree_that_was_not_yet_called_good_is_to_be(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    (host.root / "state/good").unlink()
    found = host.survey()
    assert found.changed
    assert found.good is None


def test_a_tree_that_was_rolled_back_is_not_tried_again_by_itself(host: Host) -> None:
    tree = host.commit({CHAT: b"bad"})
    (host.root / "state").mkdir()
    recording.refused(
        read(tree).sha256, host.kept, state.NEW, "chat.service failed (Result=exit-code, status 1)", check=False
    )
    assert host.refused() == (
        "this tree was rolled back before: chat.service failed (Result=exit-code, status 1); "
        "commit another, or try it again with retry (quadgen_retry=true of the role)"
    )
    assert host.survey(retry=True).create == [f"/{CHAT}"]
    host.commit({CHAT: b"better"})
    assert host.survey().create == [f"/{CHAT}"]


def test_a_host_that_left_the_tree_is_refused_by_name_and_loses_nothing(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    (host.place / "rendered/claw").rename(host.place / "rendered/clam")
    assert host.refused() == (
        f"{host.place}/rendered has nothing for claw, but for clam, and this host is not retired; "
        "what it has was rendered for claw"
    )
    assert host.refused("nobody").startswith(f"{host.place}/rendered has nothing for nobody, and this host is not")


def test_a_host_that_is_retired_is_to_have_nothing_whether_it_left_the_tree_or_not(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat", NATIVE: b"rerank"}))
    for _ in range(2):
        found = host.survey(retired=True)
        assert (found.host, found.tree) == ("claw", None)
        assert found.changed
        assert found.remove == [f"/{CHAT}", f"/{NATIVE}"]
        assert sorted(found.stop) == ["chat.service", "rerank.service"]
        assert found.unmet == []
        (host.place / "rendered/claw/manifest.json").unlink(missing_ok=True)
    host.install(None)
    recording.retired(host.kept, state.read(host.kept), check=False)
    assert not host.survey(retired=True).changed


def test_a_machine_does_not_become_another_host_by_itself(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    host.commit({CHAT: b"chat"}, host="forge")
    assert host.refused("forge") == (
        "this machine has what was rendered for claw, and is now called forge: say which it is"
    )


def test_a_directory_that_was_copied_from_another_host_is_refused(host: Host) -> None:
    tree = host.commit({CHAT: b"chat"})
    Path(tree).rename(host.place / "rendered/forge")
    assert host.refused("forge") == (f"{host.place}/rendered/forge has the manifest of claw: render the fleet again")


def test_a_host_is_called_as_its_node_is_or_by_its_first_label(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    node = os.uname()
    named = type(node)((node[0], "claw.example.org", *node[2:]))
    monkeypatch.setattr(os, "uname", lambda: named)
    short = host.commit({CHAT: b"chat"})
    assert host.survey(None).tree == short
    whole = host.commit({CHAT: b"chat"}, host="claw.example.org")
    assert host.survey(None).tree == whole


def test_all_that_stands_in_the_way_is_said_at_once(host: Host) -> None:
    host.commit({CHAT: b"chat", NATIVE: b"rerank"})
    (host.root / NATIVE).parent.mkdir(parents=True)
    (host.root / NATIVE).write_text("mine")
    host.systemd.broken = True
    unmet = host.survey().unmet
    assert f"{host.root}/{NATIVE} is in the way" in unmet[0]
    assert any(each.startswith("Podman is not there") for each in unmet)
    assert unmet[-1].startswith("systemd does not say what its units do")
    assert len(unmet) == len(set(unmet))


def test_a_user_who_is_gone_does_not_keep_a_host_from_being_retired(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat"}))
    known = state.read(host.kept)
    state.write(host.kept, replace(known, services={"chat.service": state.Owned("left", words(b"chat"))}))
    found = host.survey(retired=True)
    assert found.stop == []
    assert found.unmet == []


def test_drop_ins_of_others_are_named(host: Host) -> None:
    host.pulled(host.commit({CHAT: b"chat", NATIVE: b"rerank"}))
    for path in (f"{CHAT}.d/10.conf", "etc/containers/systemd/container.d/x.conf", f"{NATIVE}.d/y.conf"):
        (host.root / path).parent.mkdir(parents=True)
        (host.root / path).write_text("[Service]\n")
    (host.root / f"{CHAT}.d/README").write_text("not read\n")
    (host.root / "etc/systemd/system/chat.service.d").mkdir()
    (host.root / "etc/systemd/system/chat.service.d/z.conf").write_text("[Service]\n")
    found = host.survey()
    assert found.warnings == [
        f"/{CHAT}.d/10.conf changes chat.container, and is not quadgen's",
        "/etc/containers/systemd/container.d/x.conf changes every container there, and is not quadgen's",
        "/etc/systemd/system/chat.service.d/z.conf changes chat.container, and is not quadgen's",
        f"/{NATIVE}.d/y.conf changes rerank.service, and is not quadgen's",
    ]
    assert not found.changed
