"""What a container's unit decides, and on what: each line with the fleets that bring it about and those that do not."""

import pytest

from fleets import CPU, NONE, one, unit, values
from quadgen import quadlet_keys

OWN = "rootless: ada"
FETCHED = """
models:
  fetched: {hf: "org/repo:Q4_K_M", mtp: false}
"""


def service(fields: str, section: str, key: str) -> list[str]:
    """What the unit of a cpu host says after a key."""
    return values(unit(one(f"{CPU}, {fields}}}")), section, key)


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (OWN, ["false"]),
        (f"{OWN}, publish: false", ["false"]),
        (f"{OWN}, bind: '::1'", ["false"]),
        (f"{OWN}, podman: 5.3.0", ["false"]),
        (f"{OWN}, podman: 5.2.5", []),
        (f"{OWN}, bind: 0.0.0.0, api_key: {{secret: k}}", []),
        (f"{OWN}, bind: 10.1.2.3, api_key: false", []),
        (f"{OWN}, network: host, bind: 0.0.0.0, api_key: {{secret: k}}", []),
        ("port: 8080", []),
    ],
)
def test_only_a_user_s_container_that_others_cannot_reach_starts_without_the_network(
    fields: str, line: list[str]
) -> None:
    assert service(fields, "Quadlet", "DefaultDependencies") == line


def test_a_container_that_fetches_its_model_waits_for_the_network() -> None:
    fleet = one(f"{CPU.replace('plain', 'fetched')}, {OWN}, models_dir: /home/ada/models}}")
    text = unit(fleet.replace("models:\n", FETCHED.lstrip("\n"), 1))
    assert values(text, "Quadlet", "DefaultDependencies") == []


def test_waiting_for_the_network_can_be_asked_for() -> None:
    asked = f"{OWN}, unit: {{Quadlet: {{DefaultDependencies: true}}}}"
    assert service(asked, "Quadlet", "DefaultDependencies") == ["true"]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (OWN, ["-/usr/bin/podman unshare true"]),
        (f"{OWN}, bind: 0.0.0.0, api_key: false", ["-/usr/bin/podman unshare true"]),
        (f"{OWN}, health: false", []),
        ("port: 8080", []),
    ],
)
def test_a_user_s_namespace_is_there_before_a_container_that_reports_its_own_health(
    fields: str, line: list[str]
) -> None:
    assert service(fields, "Service", "ExecStartPre") == line


def test_a_command_of_the_fleet_runs_after_quadgen_s_own() -> None:
    hook = f"{OWN}, unit: {{Service: {{ExecStartPre: /usr/bin/true}}}}"
    assert service(hook, "Service", "ExecStartPre") == ["-/usr/bin/podman unshare true", "/usr/bin/true"]


@pytest.mark.parametrize("fields", ["port: 8080", OWN, f"{OWN}, health: false"])
def test_the_server_is_not_process_1_which_obeys_no_signal_while_it_loads(fields: str) -> None:
    assert service(fields, "Container", "RunInit") == ["true"]


@pytest.mark.parametrize(
    ("fields", "target"),
    [
        ("port: 8080", ["multi-user.target"]),
        (OWN, ["default.target"]),
        ("autostart: false", []),
        (f"{OWN}, autostart: false", []),
    ],
)
def test_boot_starts_it_by_the_target_of_its_manager(fields: str, target: list[str]) -> None:
    assert service(fields, "Install", "WantedBy") == target


@pytest.mark.parametrize(("stop", "seconds"), [("30s", 30), ("5s", 5), ("10m", 600)])
def test_podman_kills_before_systemd_does(stop: str, seconds: int) -> None:
    assert service(f"stop_timeout: {stop}", "Container", "StopTimeout") == [str(seconds)]
    assert service(f"stop_timeout: {stop}", "Service", "TimeoutStopSec") == [str(seconds + 15)]


def test_a_stop_by_signal_is_no_failure() -> None:
    assert service("port: 8080", "Service", "SuccessExitStatus") == ["143"]


@pytest.mark.parametrize(
    ("fields", "lines"),
    [
        ("port: 8080", {"Interval": ["30s"], "Timeout": ["10s"], "Retries": ["3"], "StartPeriod": []}),
        (
            "health: {interval: 1m, timeout: 4s, retries: 9, start_period: 2m}",
            {"Interval": ["60s"], "Timeout": ["4s"], "Retries": ["9"], "StartPeriod": ["120s"]},
        ),
    ],
)
def test_the_probe_has_the_times_of_the_fleet_and_asks_every_second_until_it_is_ready(
    fields: str, lines: dict[str, list[str]]
) -> None:
    text = unit(one(f"{CPU}, {fields}}}"))
    assert {name: values(text, "Container", f"Health{name}") for name in lines} == lines
    assert values(text, "Container", "HealthStartupInterval") == ["1s"]
    assert values(text, "Container", "HealthStartupTimeout") == lines["Timeout"]
    assert values(text, "Container", "HealthStartupCmd") == values(text, "Container", "HealthCmd") != []
    assert values(text, "Container", "Notify") == ["healthy"]


@pytest.mark.parametrize(
    ("bind", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:9/health"),
        ("0.0.0.0", "http://127.0.0.1:9/health"),  # noqa: S104 - a text in a fleet
        ("'::'", "http://127.0.0.1:9/health"),
        ("10.1.2.3", "http://127.0.0.1:9/health"),
    ],
)
def test_the_probe_asks_inside_the_container_whatever_address_others_dial(bind: str, url: str) -> None:
    (probe,) = service(f"port: 9, bind: {bind}, api_key: false", "Container", "HealthCmd")
    assert f'"{url}"' in probe


@pytest.mark.parametrize(("bind", "url"), [("10.1.2.3", "http://10.1.2.3:9/health"), ("'::'", "http://[::1]:9/health")])
def test_the_probe_asks_the_host_s_own_address_on_the_host_s_network(bind: str, url: str) -> None:
    (probe,) = service(f"port: 9, network: host, bind: {bind}, api_key: false", "Container", "HealthCmd")
    assert f'"{url}"' in probe


KEYS = {"Memory": "--memory=1048576", "PidsLimit": "--pids-limit=7", "ShmSize": "--shm-size=2097152"}


@pytest.mark.parametrize("podman", ["5.4.2", "5.8.0"])
def test_a_limit_that_the_host_s_podman_has_no_key_for_is_its_argument(podman: str) -> None:
    text = unit(one(f"{CPU}, podman: {podman}, limits: {{memory: 1MiB, pids: 7, shm: 2MiB}}}}"))
    arguments = values(text, "Container", "PodmanArgs")
    for key, argument in KEYS.items():
        known = quadlet_keys.at_least(podman, quadlet_keys.floor("Container", key) or "99")
        said = values(text, "Container", key)
        assert (said, argument in arguments) == ([argument.partition("=")[2]] if known else [], not known)


def test_evidence_is_comment_and_stands_above_everything_else() -> None:
    head, _, rest = unit(one("{model: plain, backend: cpu, engine: cpu, context: 4096}"), NONE).partition("\n\n")
    assert all(line.startswith("# ") for line in head.split("\n"))
    assert "#" not in rest
