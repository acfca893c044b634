"""What a merge request to the fleet file may not bring about: a native unit that is root, or the machine's end."""

import json

import pytest

from doors import DOOR, UNSAFE, codes
from fleets import CPU, accepted, one, refusal, unit, values
from quadgen.problems import Severity

NATIVE = f"{CPU}, runtime: systemd"

SERVICE = [
    ("User", "root"),
    ("Group", "root"),
    ("DynamicUser", "no"),
    ("CapabilityBoundingSet", "CAP_SYS_ADMIN"),
    ("CapabilityBoundingSet", "~CAP_CHOWN"),
    ("CapabilityBoundingSet", "CAP_SYS_PTRACE"),
    ("CapabilityBoundingSet", "CAP_SYS_NICE CAP_DAC_OVERRIDE"),
    ("AmbientCapabilities", "CAP_SYS_ADMIN"),
    ("AmbientCapabilities", "CAP_DAC_READ_SEARCH"),
    ("SupplementaryGroups", "docker"),
    ("SupplementaryGroups", "video disk"),
    ("SupplementaryGroups", "shadow"),
    ("DeviceAllow", "/dev/sda rw"),
    ("DeviceAllow", "block-* rw"),
    ("DeviceAllow", "char-mem r"),
    ("BindPaths", "/etc"),
    ("BindPaths", "/run/podman/podman.sock"),
    ("BindPaths", "/var/lib/containers:/x"),
    ("ReadWritePaths", "/etc"),
    ("ReadWritePaths", "-/usr"),
    ("ReadWritePaths", "/"),
    ("StandardOutput", "file:/etc/cron.d/x"),
    ("StandardError", "append:/etc/passwd"),
    ("StandardError", "append:/var/log/../../etc/x.log"),
    ("StandardError", "append:/var/log/wtmp"),
    ("StandardInput", "file:/etc/shadow"),
    ("OpenFile", "/etc/shadow:x"),
    ("PIDFile", "/etc/passwd"),
    ("PermissionsStartOnly", "yes"),
    ("Sockets", "sshd.socket"),
    ("BusName", "org.example.x"),
    ("USBFunctionDescriptors", "/etc/shadow"),
    ("NetworkNamespacePath", "/proc/1/ns/net"),
    ("ImportCredential", "*"),
    ("LoadCredential", "x:/etc/shadow"),
    ("LoadCredentialEncrypted", "x:/etc/shadow"),
    ("TTYPath", "/dev/tty1"),
    ("StateDirectory", "containers"),
    ("CacheDirectory", "../x"),
    ("RuntimeDirectory", "podman"),
    ("LogsDirectory", "llama-server journal"),
    ("ExecStartPre", "+/usr/bin/true"),
    ("ExecStartPre", "!/usr/bin/true"),
    ("ExecStartPost", "-+/bin/sh -c x"),
    ("ExecReload", "!!/usr/bin/true"),
    ("ExecCondition", "|x"),
    ("ExecStart", "+/bin/sh"),
    ("ExecStopPost", "+/bin/sh"),
]


@pytest.mark.parametrize(("key", "value"), SERVICE)
def test_no_key_of_a_native_unit_makes_it_root(key: str, value: str) -> None:
    assert codes(one(f"{NATIVE}, unit: {{Service: {{{key}: {json.dumps(value)}}}}}}}")) <= {
        UNSAFE, DOOR, "unexpected-value",
    }  # fmt: skip


def test_the_line_that_hides_a_configuration_cannot_be_taken_out() -> None:
    problem = refusal(one(f"{NATIVE}, unit: {{Service: {{InaccessiblePaths: null}}}}}}"))
    assert problem.message == "quadgen's own InaccessiblePaths= cannot be taken out"


@pytest.mark.parametrize(
    "line",
    ["ProtectSystem: no", "ProtectHome: null", "SystemCallFilter: null", "PrivateUsers: no", "DevicePolicy: auto",
     "RestrictAddressFamilies: null", "IPAddressDeny: null", "MemoryDenyWriteExecute: null",
     "NoNewPrivileges: null", "NoNewPrivileges: no", "CapabilityBoundingSet: null"],
)  # fmt: skip
def test_one_layer_of_the_sandbox_may_go_and_it_is_said_unless_the_service_is_root(line: str) -> None:
    fields = f"unit: {{Service: {{{line}}}}}"
    (problem,) = accepted(one(f"{NATIVE}, {fields}}}")).problems
    assert (problem.code, problem.severity) == ("sandbox-loosened", Severity.NOTE)
    assert problem.message.startswith(line.partition(":")[0])
    assert codes(one(f"{NATIVE}, user: root, {fields}}}")) == {UNSAFE}


def test_a_service_that_is_root_on_purpose_has_no_capability_and_reads_no_secret_through_a_bind() -> None:
    text = unit(one(f"{NATIVE}, user: root}}"))
    assert values(text, "Service", "CapabilityBoundingSet") == [""]
    assert codes(one(f"{NATIVE}, user: root, unit: {{Service: {{BindReadOnlyPaths: /etc}}}}}}")) <= {UNSAFE, DOOR}
    assert codes(one(f"{NATIVE}, user: root, unit: {{Service: {{BindReadOnlyPaths: /root}}}}}}")) == {UNSAFE}


def test_a_server_that_fetches_its_model_writes_into_no_directory_of_the_system() -> None:
    fleet = one(f"{NATIVE.replace('plain', 'far')}, user: root, models_dir: /etc/cron.d}}").replace(
        "models:\n", 'models:\n  far: {url: "https://example.org/x.gguf", mtp: false}\n', 1
    )
    assert UNSAFE in codes(fleet)


@pytest.mark.parametrize(
    "line",
    ["AmbientCapabilities: CAP_IPC_LOCK", "SupplementaryGroups: audio", "DeviceAllow: char-drm rw", "Nice: 5",
     "DeviceAllow: /dev/dri/renderD128 rw", "ReadWritePaths: /srv/x", "StandardOutput: journal",
     "StateDirectory: llama-server", "CacheDirectory: llama-server/x", "ExecStartPre: /bin/sh -c true",
     "BindReadOnlyPaths: /srv/x", "OOMScoreAdjust: -500", "StandardOutput: 'append:/var/log/llm/chat.log'",
     "ExecStopPost: /usr/bin/logger down"],
)  # fmt: skip
def test_what_gives_it_nothing_of_root_s_is_let_through(line: str) -> None:
    accepted(one(f"{NATIVE}, unit: {{Service: {{{line}}}}}}}"))


UNITS = [
    ("Unit", "OnFailure", "reboot.target"),
    ("Unit", "OnSuccess", "poweroff.target"),
    ("Unit", "OnFailure", "debug-shell.service"),
    ("Unit", "Wants", "emergency.target"),
    ("Unit", "Requires", "rescue.service"),
    ("Unit", "Upholds", "x.service systemd-reboot.service"),
    ("Unit", "Conflicts", "sshd.service"),
    ("Unit", "Conflicts", "dbus.service"),
    ("Unit", "Conflicts", "multi-user.target"),
    ("Unit", "PropagatesStopTo", "sshd.service"),
    ("Unit", "FailureAction", "reboot-force"),
    ("Unit", "SuccessAction", "poweroff"),
    ("Unit", "StartLimitAction", "reboot-immediate"),
    ("Unit", "JobTimeoutAction", "halt"),
    ("Install", "Alias", "sshd.service"),
    ("Install", "RequiredBy", "sshd.service"),
]


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize(("section", "key", "value"), UNITS)
def test_no_unit_ends_the_machine_or_what_it_is_lost_without(section: str, key: str, value: str, runtime: str) -> None:
    fleet = one(f"{CPU}, runtime: {runtime}, unit: {{{section}: {{{key}: {value}}}}}}}")
    assert codes(fleet) == {UNSAFE}


@pytest.mark.parametrize(
    ("field", "name"),
    [("conflicts", "sshd.service"), ("conflicts", "systemd-logind.service"), ("after", "reboot.target"),
     ("after", "debug-shell.service")],
)  # fmt: skip
def test_neither_do_the_neighbours_that_a_service_names(field: str, name: str) -> None:
    assert codes(one(f"{CPU}, {field}: {name}}}")) == {UNSAFE}


@pytest.mark.parametrize("name", ["gdm.service", "other.service", "mnt-nas.mount", "nvidia-persistenced.service"])
def test_other_units_may_be_neighbours(name: str) -> None:
    accepted(one(f"{CPU}, conflicts: {name}, after: {name}, unit: {{Unit: {{OnFailure: {name}}}}}}}"))


@pytest.mark.parametrize(
    "line",
    ["Unit: {Conflicts: sleep.target, Before: sleep.target}", "Unit: {After: suspend.target}",
     "Unit: {Before: shutdown.target}", "Install: {WantedBy: suspend.target}", "Unit: {Conflicts: graphical.target}"],
)  # fmt: skip
def test_a_service_may_end_before_the_machine_sleeps_and_come_back_with_it(line: str) -> None:
    accepted(one(f"{CPU}, unit: {{{line}}}}}"))


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_unit_of_another_s_may_be_named_by_the_service_s_own_name(runtime: str) -> None:
    said = "unit: {Unit: {OnFailure: 'notify@%n.service mail@%N.service failed@%n'}}"
    text = unit(one(f"{CPU}, runtime: {runtime}, services: {{chat: {{}}}}, {said}}}"))
    assert values(text, "Unit", "OnFailure") == ["notify@chat.service.service mail@chat.service failed@chat.service"]
    problem = refusal(one(f"{CPU}, unit: {{Unit: {{OnFailure: notify@%i.service}}}}}}"))
    assert problem.message == "'notify@%i.service' in OnFailure= names no unit, and systemd drops it"
    assert UNSAFE in codes(one(f"{CPU}, services: {{debug-shell: {{}}}}, unit: {{Unit: {{Wants: '%n'}}}}}}"))


@pytest.mark.parametrize("spelled", ["chat", "chat.service", "chat.container"])
@pytest.mark.parametrize("field", ["after", "conflicts"])
def test_a_service_is_no_neighbour_of_its_own(field: str, spelled: str) -> None:
    fields = f"services: {{chat: {{{field}: {spelled}}}}}"
    assert refusal(one(f"{CPU}, {fields}}}")).message == f"`{field}` names the service itself"


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize(
    "name", ["sshd", "ssh", "dbus", "systemd-logind", "NetworkManager", "cron", "rescue", "firewalld"]
)
def test_no_service_takes_the_place_of_one_of_the_system_s_own(name: str, runtime: str) -> None:
    """A unit in /etc/systemd/system, or one that a generator makes, hides that of the same name in /usr/lib."""
    assert codes(one(f"{CPU}, runtime: {runtime}, services: {{{name}: {{}}}}}}")) == {"name-clash"}
