"""Programs run as whom they must be run, and what systemd says is read as it is."""

import json
import os
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import stand_ins
from ansible_run import as_root
from plugins.module_utils import managers
from plugins.module_utils.managers import Account, Said, Trouble
from plugins.module_utils.states import Seen

ADA = Account("ada", 1000, 1000, (1000, 44), "/home/ada")
NOBODY = "nobody"
ME = pwd.getpwuid(os.geteuid()).pw_name


def test_a_users_program_finds_the_users_manager_and_nothing_of_who_runs_it() -> None:
    environ = {
        "PATH": "/usr/bin",
        "HOME": "/home/eve",
        "https_proxy": "http://proxy:3128",
        "XDG_CONFIG_HOME": "/home/eve/.config",
        "SUDO_USER": "eve",
        "NOTIFY_SOCKET": "/run/systemd/notify",
        "REGISTRY_AUTH_FILE": "/home/eve/auth.json",
        "GIT_TOKEN": "secret",
        "GIT_CONFIG_VALUE_0": "AUTHORIZATION: basic secret",
        "TZ": "Europe/Berlin",
        "LC_TIME": "de_DE.UTF-8",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
        "NO_PROXY": "localhost",
    }
    assert managers.environment(ADA, environ) == {
        "PATH": "/usr/bin",
        "https_proxy": "http://proxy:3128",
        "NO_PROXY": "localhost",
        "SSL_CERT_FILE": "/etc/ssl/own.pem",
        "TZ": "Europe/Berlin",
        "LC_TIME": "de_DE.UTF-8",
        "LC_ALL": "C.UTF-8",
        "SYSTEMD_COLORS": "0",
        "SYSTEMD_PAGER": "",
        "HOME": "/home/ada",
        "USER": "ada",
        "LOGNAME": "ada",
        "XDG_RUNTIME_DIR": "/run/user/1000",
        "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
    }


@as_root
def test_root_runs_a_program_as_a_user_with_all_of_its_groups_from_a_directory_that_is_there() -> None:
    entry = pwd.getpwnam(NOBODY)
    said = managers.run(["sh", "-c", "id -u; id -g; pwd; echo $XDG_RUNTIME_DIR"], user=NOBODY)
    assert said.stdout.split() == [str(entry.pw_uid), str(entry.pw_gid), "/", f"/run/user/{entry.pw_uid}"]


def test_a_user_who_is_not_there_is_named() -> None:
    with pytest.raises(Trouble, match=r"^there is no user no-such-user on this host$"):
        managers.run(["true"], user="no-such-user")


def test_a_program_that_is_not_there_and_one_that_does_not_end_are_told_apart() -> None:
    missing = managers.run(["/nowhere/program"])
    assert (missing.missing, missing.why) == (True, "cannot run /nowhere/program: No such file or directory")
    late = managers.run(["sleep", "60"], timeout=0.05)
    assert (late.status, late.why) == (None, "it did not end in time")


def test_whoever_runs_it_keeps_the_own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/somewhere")
    assert managers.run(["sh", "-c", "echo $HOME"]).stdout == "/somewhere\n"


def test_properties_come_by_unit_one_call_for_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand_ins.host(tmp_path, monkeypatch) as host:
        host.install({"etc/containers/systemd/chat.container": "[Container]\n"})
        shown = managers.show(["chat.service", "gone.service"], ["LoadState", "Job"], run=stand_ins.run)
    assert shown == {
        "chat.service": {"LoadState": "loaded", "Job": ""},
        "gone.service": {"LoadState": "not-found", "Job": ""},
    }


def test_a_systemd_that_does_not_answer_is_said_to_be_whose_it_is() -> None:
    def silent(*_: object, **__: object) -> Said:
        return Said(1, "", "Failed to connect to user scope bus via local transport: No such file or directory\n")

    with pytest.raises(Trouble) as trouble:
        managers.answers("ada", run=silent, within=0.0)
    why = "Failed to connect to user scope bus via local transport: No such file or directory"
    assert str(trouble.value) == f"the systemd of ada does not answer: {why}; loginctl enable-linger ada starts it"


@dataclass
class Coming:
    """A systemd of a user that answers from its `answers`th question on; the system's says how it is meanwhile."""

    state: str
    answers: int = 0

    def run(self, argv: Sequence[str], user: str | None = None, timeout: float | None = None) -> Said:
        """Answer as systemctl does."""
        del timeout
        if user is None:
            return Said(0, f"ActiveState={self.state}\n", "")
        self.answers -= 1
        if self.answers >= 0:
            return Said(1, "", "Failed to connect to user scope bus via local transport: No such file or directory\n")
        return Said(0, "Version=257\n" if "--property=Version" in argv else "ActiveState=activating\n", "")


def test_a_users_systemd_that_is_on_its_way_is_waited_for() -> None:
    shown = managers.show(["chat.service"], ["ActiveState"], user=ME, run=Coming("activating", answers=4).run)
    assert shown == {"chat.service": {"ActiveState": "activating"}}


def test_a_users_systemd_that_nobody_started_is_not_waited_for() -> None:
    absent = Coming("inactive", answers=3)
    with pytest.raises(Trouble, match=f"^the systemd of {ME} does not say what its units do: Failed to connect to "):
        managers.show(["chat.service"], ["ActiveState"], user=ME, run=absent.run)
    assert absent.answers == 1


def test_the_stand_ins_are_programs_of_their_own_and_are_found_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = managers.run
    with stand_ins.host(tmp_path, monkeypatch) as host:
        host.install({"etc/containers/systemd/chat.container": "[Container]\n"})
        assert managers.systemctl("start", "chat.service", run=real).done
        assert host.units() == {"chat.service": "active"}


FAILED = {"LoadState": "loaded", "ActiveState": "failed", "SubState": "failed", "Result": "exit-code"}
LOOPING = {"LoadState": "loaded", "ActiveState": "activating", "SubState": "auto-restart", "Result": "exit-code"}


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({**FAILED, "ExecMainStatus": "3"}, "failed (Result=exit-code, status 3)"),
        ({**FAILED, "Result": "timeout", "ExecMainStatus": "15"}, "failed (Result=timeout, status 15)"),
        ({**FAILED, "Job": "329"}, None),
        ({**LOOPING, "NRestarts": "1"}, None),
        ({**LOOPING, "NRestarts": "2"}, "ended 2 times before it was ready (Result=exit-code)"),
        ({"LoadState": "loaded", "ActiveState": "active", "NRestarts": "9"}, None),
        ({"LoadState": "loaded", "ActiveState": "inactive", "AssertResult": "no", "Job": "12"}, None),
        (
            {"LoadState": "loaded", "ActiveState": "inactive", "AssertResult": "no"},
            "was not started: something that it needs is not there",
        ),
        ({"LoadState": "loaded", "ActiveState": "inactive", "AssertResult": "yes"}, "ended before it was ready"),
        ({"LoadState": "masked"}, "is masked on this host: systemctl unmask it"),
        (
            {
                "LoadState": "bad-setting",
                "LoadError": 'org.freedesktop.systemd1.BadUnitSetting "Unit x.service has a bad unit file setting."',
            },
            "cannot be loaded: Unit x.service has a bad unit file setting.",
        ),
    ],
)
def test_a_unit_is_dead_as_soon_as_systemd_knows_it(properties: dict[str, str], why: str | None) -> None:
    assert Seen(properties).dead(2) == why


def told(*texts: str | tuple[str, str]) -> list[str]:
    """What is quoted of a unit whose server wrote these lines; those of others come with their name."""
    said = [("side", text) if isinstance(text, str) else text for text in texts]
    lines = [json.dumps({"SYSLOG_IDENTIFIER": who, "MESSAGE": text}) for who, text in said]

    def run(*_: object, **__: object) -> Said:
        return Said(0, "\n".join(lines), "")

    return managers.journal("side.service", 0.0, run=run)


def test_a_server_that_has_begun_anew_is_quoted_by_what_ended_it() -> None:
    ended = (
        "0.03.080.949 E llama_model_load: error loading model: tensor 'blk.18.attn_norm.weight' not found",
        "0.05.740.067 E srv    load_model: failed to load model, '/models/gemma-3-270m-q4_k_m.gguf'",
        "0.05.740.080 I srv    operator(): operator(): cleaning up before exit...",
    )
    anew = ("0.00.008.304 I srv  llama_server: initializing ...", "0.00.072.661 I srv    load_model: loading model")
    again = tuple(line.replace("0.05.74", "0.06.13") for line in ended)
    assert told(*anew, *ended, *anew, *again, *anew) == [
        "E llama_model_load: error loading model: tensor 'blk.18.attn_norm.weight' not found",
        "E srv    load_model: failed to load model, '/models/gemma-3-270m-q4_k_m.gguf'",
    ]


def test_a_server_without_a_word_of_failure_is_quoted_by_its_last_lines() -> None:
    assert told("one", "two", "one", "two") == ["one", "two"]


def test_a_unit_that_says_nothing_of_its_end_is_quoted_with_what_systemd_says() -> None:
    """As where a user's container writes to no journal, and only its network speaks."""
    network = "Couldn't get any nameserver address"
    event = ("podman", "2026-11-30 19:56:59.730803297 +0000 UTC m=+0.206190177 container create 54ddf9")
    end = ("systemd", "side.service: Main process exited, code=exited, status=1/FAILURE")
    assert told(network, event, end, network, event, end) == [network, end[1]]
    assert told(("systemd", "Failed to start side.service."), "E it failed") == ["E it failed"]
