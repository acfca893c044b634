"""What a merge request to the fleet file may not bring about: a container that is its host's root."""

import json

import pytest

from doors import DOOR, UNSAFE, codes
from fleets import CPU, accepted, one, refusal, refusals, unit, units, values
from quadgen.problems import Severity

OPTIONS = [
    "--privileged",
    "--privileged=true",
    '--"privileged"',
    "--priv\\x69leged",
    "--device=/dev/sda",
    "--device /dev/mem",
    "--device-cgroup-rule='a *:* rwm'",
    "--gpus=all",
    "--cap-add=ALL",
    "--cap-add all",
    "--cap-add=SYS_ADMIN",
    "--cap-add=CAP_SYS_ADMIN",
    "--cap-add=cap_syslog",
    "--cap-add=SYS_NICE,SYS_MODULE",
    "--cap-add=SYS_RAWIO",
    "--cap-add=DAC_READ_SEARCH",
    "--cap-add=NET_ADMIN",
    "--cap-add=MKNOD",
    "--cap-add=SETFCAP",
    "--cap-add=BPF",
    "--security-opt=label=disable",
    "--security-opt label:disable",
    "--security-opt=label=type:spc_t",
    "--security-opt=no-new-privileges=false",
    "--security-opt=no-new-privileges:0",
    "--security-opt=systempaths=unconfined",
    "--security-opt=unmask=/proc/sysrq-trigger",
    "--security-opt=unmask=/sys/firmware:/proc/kcore",
    "--security-opt=something-new",
    "--pid=host",
    "--pid host",
    "--pid=ns:/proc/1/ns/pid",
    "--pid=container:other",
    "--ipc=ns:/proc/1/ns/ipc",
    "--ipc=container:other",
    "--uts=host",
    "--userns=host",
    "--userns=ns:/proc/1/ns/user",
    "--cgroupns=host",
    "--cgroups=disabled",
    "--cgroup-parent=/",
    "--network=host",
    "--network=pasta:-T,8080",
    "--net=slirp4netns:allow_host_loopback=true",
    "--publish=8080:8080",
    "-p 0.0.0.0:8080:8080",
    "--publish-all",
    "--volume=/:/host",
    "-v /:/host",
    "--mount=type=bind,src=/,dst=/host",
    "--volumes-from=other",
    "--log-opt=path=/etc/cron.d/x",
    "--log-driver=k8s-file --log-opt=path=/etc/passwd",
    "--health-log-destination=/etc/cron.d",
    "--annotation=run.oci.handler=krun",
    "--annotation=io.podman.annotations.privileged=TRUE",
    "--group-add=disk",
    "--group-add=0",
    "--tls-verify=false",
    "--init-path=/srv/x",
    "--runtime=/srv/x",
    "--pidfile=/etc/x",
    "--cidfile=/etc/x",
    "--rootfs",
    "--secret=x,type=mount,target=/etc/shadow",
]


@pytest.mark.parametrize("words", OPTIONS)
def test_no_argument_of_podman_hands_the_host_over(words: str) -> None:
    assert codes(one(f"{CPU}, unit: {{Container: {{PodmanArgs: {json.dumps(words)}}}}}}}")) <= {UNSAFE, DOOR}


@pytest.mark.parametrize(
    "words",
    [
        "--cdi-spec-dir=/srv/models",
        "--network-cmd-path=/srv/x",
        "--out=/etc/cron.d/x",
        "--root=/srv/x",
        "--runroot=/srv/x",
        "--imagestore=/srv/x",
        "--storage-opt=overlay.mount_program=/srv/x",
        "--hooks-dir=/srv/x",
        "--conmon=/srv/x",
        "--runtime=/srv/x",
        "--module=/srv/x.conf",
        "--url=unix:///run/podman/podman.sock",
    ],
)
def test_no_argument_before_run_names_a_program_or_a_file_that_root_writes(words: str) -> None:
    assert codes(one(f"{CPU}, unit: {{Container: {{GlobalArgs: {json.dumps(words)}}}}}}}")) <= {UNSAFE, DOOR}


KEYS = [
    ("AddCapability", "ALL"),
    ("AddCapability", "CAP_SYS_ADMIN"),
    ("AddCapability", "SYS_NICE SYS_ADMIN"),
    ("AddCapability", "dac_read_search"),
    ("UserNS", "host"),
    ("UserNS", "container:x"),
    ("CgroupsMode", "disabled"),
    ("Unmask", "/proc/sys"),
    ("Unmask", "/sys/firmware"),
    ("Annotation", "run.oci.keep_original_groups=1"),
    ("LogOpt", "path=/etc/cron.d/x"),
    ("LogOpt", "path=/var/log/x"),
    ("LogOpt", "path=/var/log/../../etc/x.log"),
    ("HealthLogDestination", "/etc/cron.d"),
    ("GroupAdd", "disk"),
    ("GroupAdd", "root"),
    ("AddDevice", "/dev/sda"),
    ("AddDevice", "/dev"),
    ("AddDevice", "/dev/mem"),
    ("AddDevice", "/dev/sda:/dev/dri/card0"),
    ("AddDevice", "/dev/dri/../sda"),
    ("AddDevice", "/dev/kvm"),
    ("AddDevice", "/etc"),
    ("AddDevice", "-/dev/dri"),
    ("AddDevice", "/dev/dri/by-path/pci-0000:03:00.0-render"),
]


@pytest.mark.parametrize(("key", "value"), KEYS)
def test_no_key_of_a_container_hands_the_host_over(key: str, value: str) -> None:
    assert codes(one(f"{CPU}, unit: {{Container: {{{key}: {json.dumps(value)}}}}}}}")) == {UNSAFE}


def test_the_line_that_hides_a_configuration_cannot_be_taken_out() -> None:
    problem = refusal(one(f"{CPU}, unit: {{Container: {{Mask: null}}}}}}"))
    assert problem.message == "quadgen's own Mask= cannot be taken out"


@pytest.mark.parametrize("key", ["DropCapability", "NoNewPrivileges", "ReadOnly"])
def test_a_layer_of_a_container_may_be_taken_out_and_it_is_said(key: str) -> None:
    compiled = accepted(one(f"{CPU}, unit: {{Container: {{{key}: null}}}}}}"))
    (problem,) = compiled.problems
    assert (problem.code, problem.severity) == ("sandbox-loosened", Severity.NOTE)
    assert values(next(iter(units(compiled).values())), "Container", key) == []


def test_capabilities_are_dropped_whatever_a_fleet_adds() -> None:
    text = unit(one(f"{CPU}, unit: {{Container: {{DropCapability: CHOWN, AddCapability: SYS_NICE IPC_LOCK}}}}}}"))
    assert values(text, "Container", "DropCapability") == ["all", "CHOWN"]
    assert values(text, "Container", "AddCapability") == ["SYS_NICE IPC_LOCK"]
    assert values(text, "Container", "NoNewPrivileges") == ["true"]


SOURCES = [
    "/", "//", "/.", "/etc", "/etc/", "/etc/shadow", "/etc/ssl", "/etc/ssl/private", "/etc/pki", "/etc/cron.d",
    "/etc/systemd/system", "/etc/containers/systemd", "/root", "/proc", "/proc/1/root", "/sys",
    "/sys/fs/cgroup", "/dev", "/dev/sda", "/boot", "/run", "/run/podman/podman.sock", "/run/user/1000", "/var/run",
    "/var/run/docker.sock", "/run/systemd/system", "/var", "/var/lib", "/var/lib/containers", "/var/lib/docker/x",
    "/var/backups", "/var/spool/cron", "/home", "/home/ada",
    "/dev/shm",  # noqa: S108 - a path in a fleet
    "/home/ada/.ssh", "/home/ada/.config", "/home/ada/.config/systemd/user",
    "/home/ada/.bashrc", "/home/ada/.local", "/home/ada/.local/share", "/home/ada/.local/share/containers",
    "/home/ada/.local/bin", "/var/home/ada", "~/.ssh", "/srv/../etc",
]  # fmt: skip


@pytest.mark.parametrize("mode", ["", ":ro", ":ro,z", ":O"])
@pytest.mark.parametrize("source", SOURCES)
def test_no_volume_hands_the_host_over_in_any_mode(source: str, mode: str) -> None:
    assert codes(one(f'{CPU}, volumes: ["{source}:/x{mode}"]}}')) == {UNSAFE}


@pytest.mark.parametrize(
    "source", ["/usr", "/usr/bin", "/bin", "/lib64", "/etc/ssl/certs", "/etc/localtime", "/etc/passwd", "/etc/hosts"]
)
def test_what_the_host_runs_and_trusts_may_be_read_and_not_be_written_to(source: str) -> None:
    for mode in ("", ":rw"):
        problem = refusal(one(f'{CPU}, volumes: ["{source}:/x{mode}"]}}'))
        assert (problem.code, problem.hint) == (UNSAFE, "add `ro`")
    assert f"{source}:/x:ro" in values(unit(one(f'{CPU}, volumes: ["{source}:/x:ro"]}}')), "Container", "Volume")


@pytest.mark.parametrize(
    "source",
    ["/srv/data", "/mnt/nas", "/opt/x", "/media/x", "/run/media/ada/disk", "/home/ada/models", "/var/lib/llm",
     "/home/ada/.cache/huggingface", "/home/ada/.lmstudio/models", "/home/ada/.local/share/models", "/etcetera", "~/m",
     "/dev/shm/models"],  # noqa: S108 - a path in a fleet
)  # fmt: skip
def test_other_directories_may_be_mounted_as_a_fleet_says(source: str) -> None:
    accepted(one(f'{CPU}, volumes: ["{source}:/x:z"]}}'))


@pytest.mark.parametrize(
    "directory", ["/", "/etc", "/root", "/proc", "/home", "/home/bob", "/run", "/var/lib/containers"]
)
def test_neither_does_the_directory_of_the_models(directory: str) -> None:
    problem = refusal(one(f"{CPU}, rootless: ada, models_dir: {directory}}}"))
    assert problem.code == UNSAFE
    assert "of the host" in problem.message or directory == "/"


def test_a_model_may_lie_in_the_home_of_the_user_that_runs_it() -> None:
    text = unit(one(f"{CPU}, rootless: ada, models_dir: /home/ada}}"))
    assert "/home/ada:/models:ro,z" in values(text, "Container", "Volume")
    assert codes(one(f"{CPU}, rootless: ada, volumes: ['/home/ada:/x:z']}}")) == {UNSAFE}


@pytest.mark.parametrize("file", ["~/.ssh/id_rsa", "/home/ada/.ssh/x.jinja", "/home/ada/x.jinja", "/var/run/x.jinja"])
def test_neither_does_the_directory_of_a_file(file: str) -> None:
    assert UNSAFE in codes(one(f"{CPU}, chat_template_file: {file}}}"))


def test_a_card_is_a_card() -> None:
    fleet = "{{model: plain, backend: vulkan, context: 4096, gpus: [{{id: {}}}]}}"
    assert codes(one(fleet.format("/dev/sda"))) == {UNSAFE}
    assert codes(one(fleet.format("/dev/mem"))) == {UNSAFE}
    for node in ("/dev/dri/renderD128", "renderD129"):
        accepted(one(fleet.format(node)))


HOOKS = [
    "/bin/sh -c 'curl x | sh'",
    "/usr/bin/bash /srv/models/x",
    "/srv/models/x",
    "/usr/bin/env sh",
    "/usr/bin/cp /srv/x /etc/cron.d/x",
    "/usr/bin/podman run --privileged x",
    "/usr/sbin/modprobe -C /srv/x nvidia",
    "/usr/sbin/modprobe -C x nvidia",
    "/usr/sbin/modprobe -d x nvidia",
    "/usr/bin/nvidia-smi -f /etc/x",
    "/usr/bin/nvidia-smi -q -f passwd",
    "/usr/bin/nvidia-smi --filename=passwd",
    "/usr/bin/true; /bin/sh",
]


@pytest.mark.parametrize("key", ["ExecStartPre", "ExecStartPost", "ExecStopPost", "ExecCondition", "ExecReload"])
@pytest.mark.parametrize("command", HOOKS)
def test_a_command_that_runs_on_the_host_beside_a_container_is_said(command: str, key: str) -> None:
    compiled = accepted(one(f"{CPU}, unit: {{Service: {{{key}: {json.dumps(command)}}}}}}}"))
    (problem,) = compiled.problems
    assert (problem.code, problem.severity) == ("sandbox-loosened", Severity.NOTE)
    assert values(next(iter(units(compiled).values())), "Service", key) == [command]


@pytest.mark.parametrize(
    "command",
    ["+/usr/bin/true", "!/usr/bin/true", "-+/x", "|/usr/bin/true", "/usr/bin/test 'x", "/usr/bin/true ; /bin/sh"],
)
def test_a_command_with_other_rights_or_half_a_quote_is_refused(command: str) -> None:
    assert UNSAFE in codes(one(f"{CPU}, unit: {{Service: {{ExecStartPre: {json.dumps(command)}}}}}}}"))


@pytest.mark.parametrize(
    "command",
    ["/usr/bin/true", "-/usr/bin/nvidia-smi -pl 300", "/usr/sbin/modprobe nvidia-uvm", "/bin/sleep 5",
     "/usr/bin/test -e /dev/kfd", "/usr/bin/mountpoint -q /srv/models", "/usr/bin/findmnt /srv/models",
     "/usr/bin/test -e '/srv/my models/x'", "/usr/bin/[ -e /dev/kfd ]", "/sbin/modprobe -a nvidia nvidia-uvm"],
)  # fmt: skip
def test_commands_that_only_wait_for_a_driver_or_a_disk_are_let_through(command: str) -> None:
    text = unit(one(f"{CPU}, unit: {{Service: {{ExecStartPre: {json.dumps(command)}}}}}}}"))
    assert values(text, "Service", "ExecStartPre") == [command]


LOOSER = [
    ("Container", "PodmanArgs: --security-opt=seccomp=unconfined"),
    ("Container", "PodmanArgs: --security-opt seccomp=unconfined"),
    ("Container", "PodmanArgs: --ipc=host"),
    ("Container", "PodmanArgs: [--security-opt, seccomp=unconfined]"),
    ("Container", "PodmanArgs: \"--security-opt 'seccomp=unconfined'\""),
    ("Container", "PodmanArgs: --cap-add=SYS_PTRACE"),
    ("Container", "PodmanArgs: '--cap-add SYS_NICE,CAP_SYS_PTRACE'"),
    ("Container", "AddCapability: SYS_NICE CAP_SETUID"),
    ("Container", "AddCapability: dac_override"),
    ("Container", "SeccompProfile: unconfined"),
    ("Container", "AppArmor: unconfined"),
    ("Container", "ReadOnly: false"),
    ("Container", "NoNewPrivileges: false"),
    ("Container", "NoNewPrivileges: no"),
    ("Service", "ExecStartPre: /usr/bin/podman image prune -f"),
    ("Service", "ExecStartPre: [/usr/bin/true, /bin/sh -c date]"),
    ("Service", "ExecStopPost: /usr/bin/logger stopped"),
]


@pytest.mark.parametrize(("section", "line"), LOOSER)
def test_what_only_loosens_the_sandbox_is_let_through_and_said(section: str, line: str) -> None:
    (problem,) = accepted(one(f"{CPU}, unit: {{{section}: {{{line}}}}}}}")).problems
    assert (problem.code, problem.severity) == ("sandbox-loosened", Severity.NOTE)


def test_a_tighter_key_is_not_worth_a_word() -> None:
    lines = (
        "{SeccompProfile: /x.json, AppArmor: mine, ReadOnly: true, Mask: /opt, UserNS: auto,"
        " AddCapability: IPC_LOCK, PodmanArgs: [--pid=private, --cap-add, 'SYS_NICE,cap_ipc_lock']}"
    )
    assert accepted(one(f"{CPU}, unit: {{Container: {lines}}}}}")).problems == ()


def test_every_reason_says_what_and_why() -> None:
    (problem,) = refusals(one(f"{CPU}, unit: {{Container: {{AddCapability: SYS_ADMIN}}}}}}"))
    assert problem.message == "SYS_ADMIN in AddCapability= is power over the host, which no server needs"
    assert problem.hint == (
        "CHOWN, DAC_OVERRIDE, FOWNER, FSETID, IPC_LOCK, KILL, NET_BIND_SERVICE, SETGID, SETUID, SYS_NICE, SYS_PTRACE"
        " may be added"
    )


def test_a_refused_argument_is_said_once_with_what_to_use_instead() -> None:
    problem = refusal(one(f"{CPU}, unit: {{Container: {{PodmanArgs: --cgroup-parent llm.slice}}}}}}"))
    assert problem.message == "--cgroup-parent in PodmanArgs= undoes what was decided"
    assert problem.hint == "use `unit: {Service: {Slice: ...}}`"


def test_whose_hook_it_is_is_said() -> None:
    for user, who in (("", "root"), ("rootless: ada, ", "ada")):
        (problem,) = accepted(one(f"{CPU}, {user}unit: {{Service: {{ExecStartPre: /usr/bin/curl x}}}}}}")).problems
        assert problem.message == f"ExecStartPre= runs on the host as {who}, outside of the container"
