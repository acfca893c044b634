"""`PodmanArgs=` and `GlobalArgs=` of the fleet: which arguments of podman leave alone what was decided.

They are listed and not the others: podman-run(1) has new ones every year, and a word that is no option at all is
taken for the image, with everything after it for the server's arguments. Names are podman-run(1)'s and podman(1)'s
of Podman 5.8.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from quadgen import quadlet_keys
from quadgen.engines.base import Refusal
from quadgen.engines.side_doors import doors_in, reaches_speculation_path
from quadgen.resolve import privileges

_SWITCHES: Final = frozenset(
    "--http-proxy --init --no-hostname --no-hosts --oom-kill-disable --read-only-tmpfs --tls-verify".split()  # noqa: SIM905 - reads better
)
_VALUES: Final = frozenset(
    """
    --add-host --annotation --arch --authfile --blkio-weight --blkio-weight-device --cap-add --cap-drop --cert-dir
    --cgroup-conf --cgroupns --cgroups --cpu-period --cpu-quota --cpu-rt-period --cpu-rt-runtime
    --cpu-shares --cpuset-cpus --cpuset-mems --creds --decryption-key --device-read-bps
    --device-read-iops --device-write-bps --device-write-iops --dns --dns-option --dns-search --expose --gidmap
    --group-add --health-log-destination --health-max-log-count --health-max-log-size --health-on-failure --hostname
    --hostuser --ip --ip6 --ipc --log-driver --log-opt --mac-address --memory-reservation --memory-swap
    --memory-swappiness --network-alias --oom-score-adj --os --personality --pid --platform --rdt-class --retry
    --retry-delay --security-opt --shm-size-systemd --stop-signal --subgidname --subuidname --sysctl --systemd
    --timezone --tz --uidmap --ulimit --umask --user --userns --uts --variant
    """.split()  # noqa: SIM905 - reads better
)
_GLOBAL_SWITCHES: Final = frozenset({"--syslog", "--transient-store"})
_GLOBAL_VALUES: Final = frozenset({"--cgroup-manager", "--events-backend", "--log-level", "--storage-driver"})
"""Not among them: what names a program that Podman runs (--network-cmd-path, --runtime, --hooks-dir, --cdi-spec-dir,
the mount_program of --storage-opt), a file that it writes (--out), or where it keeps what it runs (--root)."""
_SINCE: Final = {
    "--cert-dir": "5.7.0", "--creds": "5.7.0", "--health-log-destination": "5.3.0", "--health-max-log-count": "5.3.0",
    "--health-max-log-size": "5.3.0", "--no-hostname": "5.4.0", "--rdt-class": "4.8.0", "--retry": "5.0.0",
    "--retry-delay": "5.0.0", "--shm-size-systemd": "4.5.0",
}  # fmt: skip
"""The first Podman with an option that 4.4.0 does not have, by its cmd/podman/common at each release."""
_FIELDS: Final = {
    "--entrypoint": "engines.NAME.entrypoint", "--env": "env", "--env-file": "env", "--env-host": "env",
    "--env-merge": "env", "--unsetenv": "env", "--unsetenv-all": "env", "--secret": "secrets",
    "--volume": "volumes", "--mount": "volumes", "--tmpfs": "volumes", "--volumes-from": "volumes",
    "--image-volume": "volumes", "--device": "devices", "--device-cgroup-rule": "devices", "--gpus": "devices",
    "--label": "labels",
    "--label-file": "labels", "--memory": "limits", "--cpus": "limits", "--pids-limit": "limits",
    "--shm-size": "limits", "--name": "services", "--network": "network", "--net": "network", "--pod": "network",
    "--pod-id-file": "network", "--publish": "port", "--publish-all": "port", "--pull": "pull", "--restart": "restart",
    "--stop-timeout": "stop_timeout", "--health-cmd": "health", "--health-interval": "health",
    "--health-retries": "health", "--health-start-period": "health", "--health-timeout": "health",
    "--health-startup-cmd": "health", "--health-startup-interval": "health", "--health-startup-retries": "health",
    "--health-startup-success": "health", "--health-startup-timeout": "health", "--no-healthcheck": "health",
    "--requires": "after", "--read-only": "unit: {Container: {ReadOnly: ...}}",
    "--workdir": "unit: {Container: {WorkingDir: ...}}", "--cgroup-parent": "unit: {Service: {Slice: ...}}",
    "--privileged": "devices",
}  # fmt: skip
"""Arguments that a field of the fleet decides."""


def refusals(key: str, words: Iterable[str], podman: str, *, rootless: bool) -> Iterator[Refusal]:
    """What is wrong with the words of all lines of `key`, PodmanArgs or GlobalArgs, for a Podman of this version.

    `rootless` says whether a user's Podman runs the container.
    """
    switches, values = (_SWITCHES, _VALUES) if key == "PodmanArgs" else (_GLOBAL_SWITCHES, _GLOBAL_VALUES)
    rest = iter(words)
    refused = False
    for word in rest:
        if refused and not word.startswith("-"):  # most likely the value of what was refused
            refused = False
            continue
        name, equals, value = word.partition("=")
        refused = name not in switches and name not in values
        if refused:
            yield _undecided(key, word, name)
            continue
        if name in values and not equals:
            following = next(rest, None)
            if following is None:
                yield "unsafe-value", f"{name} in {key}= lacks its value, and takes the next argument for it", None
                return
            value = following
        if name == "--group-add" and rootless:
            yield _grouped(key, value)
        else:
            yield from _given(name, value, podman)


def _given(name: str, value: str, podman: str) -> Iterator[Refusal]:
    since = _SINCE.get(name)
    if since is not None and not quadlet_keys.at_least(podman, since):
        yield "unsupported-key", f"Podman {podman} has no {name} (new in {since})", "leave it out"
    if name == "--security-opt" and value.startswith("unmask") and _unmasks(value[7:]):
        message = f"{name}={value} shows llama-server a config.ini of the image, which reaches speculation"
        yield "speculation-outside-profile", message, None
    elif (refusal := privileges.option_refusal(name, value)) is not None:
        yield refusal


def _grouped(key: str, value: str) -> Refusal:
    """Podman takes no other group, and no second `--group-add`, beside the keep-groups of a container with a GPU."""
    if value == "keep-groups":
        hint = "write unit: {Container: {GroupAdd: keep-groups}}, which stands once"
        return "unsafe-value", f"--group-add=keep-groups in {key}= may be given already, and Podman takes it once", hint
    return "unsafe-value", "keep-groups cannot be combined with other groups", "add the user to the group on the host"


def _undecided(key: str, word: str, name: str) -> Refusal:
    if name in _FIELDS:
        return "unsafe-value", f"{name} in {key}= undoes what was decided", f"use `{_FIELDS[name]}`"
    if not word.startswith("-"):
        hint = "write --name=value, or an option and its value one after the other"
        return "unsafe-value", f"{word!r} in {key}= is no option, so Podman would take it for another word", hint
    if not word.startswith("--") and len(name) > 1:
        return (
            "unsafe-value",
            f"{word} in {key}= is a short option, and several of them can be one word",
            "write --name",
        )
    hint = "use a field of the fleet, or a key of [Container] in `unit`"
    return "unsafe-value", f"{word} in {key}= may undo what was decided", hint


def unmasked(values: Iterable[str]) -> Iterator[Refusal]:
    """What is wrong with `Unmask=`, whose paths the container sees again."""
    for value in values:
        if _unmasks(value):
            message = f"Unmask={value} shows llama-server a config.ini of the image, which reaches speculation"
            yield "speculation-outside-profile", message, "name the paths that the server needs"


def _unmasks(paths: str) -> bool:
    return any(
        path.upper() == "ALL" or set(path) & set("*?[") != set() or reaches_speculation_path(path)
        for path in paths.replace(":", " ").split()
    )


def doors(key: str, values: Iterable[str]) -> Iterator[Refusal]:
    """Every way to speculation that stands in the values of a key of `unit`."""
    for value in values:
        for door in doors_in(value):
            message = f"{door} in {key}= reaches speculation, which only a profile may"
            yield "speculation-outside-profile", message, "make it a profile: profiles.NAME with spec_types"
