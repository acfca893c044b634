"""What systemd and Podman are asked on a host, and what becomes of their answers; stand-ins answer as captured."""

import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from installed_hosts import AT_HOME, CAPTURED, NATIVE, QUADLET, SERVICE, host, seen
from quadgen.installed.declared import Declared
from quadgen.installed.places import Account
from quadgen.installed.running import started_with
from quadgen.installed.seen import Container, Process, Seen, State
from quadgen.onhost.asking import Asking
from trees import script

IMAGE = "115d37362fd6049bac5f967c14f9bfbd1800bffffe541aaef1211745eec992de"
ME = pwd.getpwuid(os.getuid())
OWN = Account(name=ME.pw_name, uid=ME.pw_uid, gid=ME.pw_gid, home=ME.pw_dir.strip("/"))
OTHER = Account(name="other", uid=os.getuid() + 1, gid=os.getgid(), home="home/other")


def asked(
    place: Path, one: Declared, account: Account | None = None, *, state: State | None = None, **programs: str
) -> Seen:
    """What was seen of a host whose programs are these scripts."""
    folder = place / "bin"
    folder.mkdir()
    for name, text in programs.items():
        script(folder / name, text)
    accounts = {account.name: account} if account else {}
    asking = Asking(declared=one, accounts=accounts, environ={"PATH": str(folder)})
    return asking.services(replace(seen(one, root="/", state=state), accounts=accounts))


def shows(place: Path, name: str = "show.txt", **changed: str) -> str:
    """A `systemctl` that answers for `chat.service` as captured, but for these properties."""
    block = next(each for each in (CAPTURED / name).read_text().split("\n\n") if "Id=chat.service" in each)
    lines = [line for line in block.split("\n") if line.partition("=")[0] not in changed]
    (place / "shown").write_text("\n".join([*lines, *(f"{key}={value}" for key, value in changed.items())]) + "\n")
    return f'echo "$@" >> {place}/asked; cat {place}/shown'


def answers(place: Path) -> str:
    """A `podman` that has the captured container and its image."""
    return (
        f'echo "$@" >> {place}/asked; case $1 in container) cat {CAPTURED}/container-inspect.json ;; '
        f"image) echo sha256:{IMAGE} ;; esac"
    )


def generated(place: Path) -> str:
    """Where the generated service is."""
    path = place / "generator" / "chat.service"
    path.parent.mkdir()
    shutil.copy(CAPTURED / "generated-chat.service", path)
    return str(path)


def said(what: Seen) -> list[str]:
    assert {problem.code for problem in what.problems} <= {"not-verified"}
    return [problem.message for problem in what.problems]


def test_a_user_s_container_is_asked_for_by_the_name_in_its_service_and_its_image_by_name(tmp_path: Path) -> None:
    one = host(AT_HOME, user=OWN.name)
    systemctl = shows(tmp_path, FragmentPath=generated(tmp_path))
    what = asked(tmp_path, one, OWN, systemctl=systemctl, podman=answers(tmp_path))
    assert said(what) == []
    runs = what.running[OWN.name, "chat.service"]
    assert isinstance(runs, Container)
    assert (runs.name, runs.unit, runs.running, runs.named) == ("chat", "chat.service", True, IMAGE)
    assert runs.words[:2] == ("/usr/bin/podman", "run")
    assert started_with(what.generated[OWN.name, "chat.service"])[2:4] == ("--name", "chat")
    systemd, *podman = (tmp_path / "asked").read_text().splitlines()
    assert systemd.startswith("--user show --property=Id,LoadState,")
    assert systemd.endswith(" -- chat.service")
    assert podman == ["container inspect chat", "image inspect --format={{.Id}} -- localhost/llama-server:test"]


def test_a_container_that_is_gone_is_none_and_no_failure(tmp_path: Path) -> None:
    one = host(AT_HOME, user=OWN.name)
    systemctl = shows(tmp_path, FragmentPath=generated(tmp_path))
    what = asked(tmp_path, one, OWN, systemctl=systemctl, podman='echo "[]"; echo no such container >&2; exit 125')
    assert (what.running, said(what)) == ({(OWN.name, "chat.service"): None}, [])


def test_the_main_process_of_a_native_service_is_looked_at(tmp_path: Path) -> None:
    one = host(NATIVE, SERVICE)
    with subprocess.Popen(["/bin/sleep", "60"], env={"GREETING": "100% of it"}) as process:
        systemctl = shows(tmp_path, MainPID=str(process.pid), FragmentPath=f"/{NATIVE}")
        what = asked(tmp_path, one, systemctl=systemctl)
        process.kill()
    expected = Process(words=("/bin/sleep", "60"), environment={"GREETING": "100% of it"})
    assert (what.running, said(what)) == ({(None, "chat.service"): expected}, [])


@pytest.mark.parametrize("process", ["0", "4194305"])
def test_a_process_that_ended_meanwhile_is_not_compared(tmp_path: Path, process: str) -> None:
    what = asked(tmp_path, host(NATIVE, SERVICE), systemctl=shows(tmp_path, MainPID=process))
    assert (what.running, said(what)) == ({}, [])


def test_a_service_that_does_not_run_has_nothing_to_look_at(tmp_path: Path) -> None:
    what = asked(tmp_path, host(), systemctl=shows(tmp_path, "show-masked.txt"), podman="exit 99")
    assert (what.running, said(what)) == ({}, [])
    assert what.loaded[None, "chat.service"].load == "masked"


def test_the_services_that_the_state_has_are_asked_for_as_well(tmp_path: Path) -> None:
    state = State(path="s", host="claw", services=(("old.service", None),))
    shows(tmp_path, ActiveState="inactive")
    text = f"cat {tmp_path}/shown; echo; sed s/chat/old/ {tmp_path}/shown"
    what = asked(tmp_path, host(), state=state, systemctl=text)
    assert sorted(unit for _, unit in what.loaded) == ["chat.service", "old.service"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'System has not been booted with systemd' >&2; exit 1",
            "systemd does not answer: System has not been booted with systemd",
        ),
        ("exit 0", "systemd does not answer: status 0, and no word"),
    ],
)
def test_a_systemd_that_does_not_answer_is_said(tmp_path: Path, script: str, message: str) -> None:
    what = asked(tmp_path, host(), systemctl=script)
    assert (what.loaded, said(what)) == ({}, [message])


def test_without_systemctl_nothing_is_asked_and_that_is_said(tmp_path: Path) -> None:
    message = "no systemctl on PATH: what systemd loaded and runs was not compared"
    assert said(asked(tmp_path, host())) == [message]


def test_without_podman_or_with_one_that_fails_the_rest_is_compared(tmp_path: Path) -> None:
    one = host(AT_HOME, user=OWN.name)
    systemctl = shows(tmp_path, FragmentPath=generated(tmp_path))
    what = asked(tmp_path, one, OWN, systemctl=systemctl)
    assert said(what) == ["no podman on PATH: what the containers run was not compared"]
    assert what.loaded[OWN.name, "chat.service"].active == "active"
    shutil.rmtree(tmp_path / "bin")
    what = asked(tmp_path, one, OWN, systemctl=systemctl, podman="echo cannot open the database >&2; exit 125")
    assert said(what) == [f"Podman of {OWN.name} does not answer: cannot open the database"]


def test_a_user_that_is_not_there_or_not_oneself_cannot_be_asked(tmp_path: Path) -> None:
    one = host(AT_HOME, user="other")
    what = asked(tmp_path, one, systemctl="exit 0")
    assert said(what) == ["this machine has no user other: systemd of other cannot be asked"]
    if os.geteuid() != 0:
        shutil.rmtree(tmp_path / "bin")
        assert said(asked(tmp_path, one, OTHER, systemctl="exit 0")) == ["only root and other can ask systemd of other"]


def test_only_root_asks_for_the_containers_of_the_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    systemctl = shows(tmp_path, FragmentPath=generated(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    what = asked(tmp_path, host(QUADLET), systemctl=systemctl, podman=answers(tmp_path))
    assert said(what) == ["only root can ask for the containers of the system: what they run was not compared"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_root_asks_as_the_user_in_the_user_s_own_surroundings() -> None:
    nobody = pwd.getpwnam("nobody")
    account = Account(name="nobody", uid=nobody.pw_uid, gid=nobody.pw_gid, home="home/nobody")
    with tempfile.TemporaryDirectory() as folder:  # what pytest makes is closed to other users
        place = Path(folder)
        place.chmod(0o777)
        text = f"{{ id -u; id -G; env; }} > {place}/surroundings; {shows(place, ActiveState='inactive')}"
        what = asked(place, host(AT_HOME, user="nobody"), account, systemctl=text)
        uid, groups, *variables = (place / "surroundings").read_text().splitlines()
    assert said(what) == []
    assert uid == str(nobody.pw_uid)
    assert "0" not in groups.split()
    assert {
        "HOME=/home/nobody", "USER=nobody", f"XDG_RUNTIME_DIR=/run/user/{uid}",
        f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{uid}/bus",
    } <= set(variables)  # fmt: skip


@pytest.mark.parametrize(("text", "version"), [("echo podman version 5.4.2", "5.4.2"), ("exit 1", None)])
def test_podman_says_its_version_where_a_quadlet_needs_it(tmp_path: Path, text: str, version: str | None) -> None:
    script(tmp_path / "podman", text)
    environ = {"PATH": str(tmp_path)}
    assert Asking(declared=host(), accounts={}, environ=environ).version() == version
    assert Asking(declared=host(NATIVE, SERVICE), accounts={}, environ=environ).version() is None
