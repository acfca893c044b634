"""What systemd ignores in silence: timeouts, limits, keys in the wrong section, and who starts a service at boot."""

import json
import os
from pathlib import Path

import pytest

from fleets import CPU, ENGINES, accepted, generated, marked, one, refusal, render, unit, units, values
from parts import Quadlet, each_quadlet, generators, missing
from quadgen.verify import Generator, find_systemd_analyze, verify_tree
from systemd_words import assignments


# https://github.com/containers/podman/issues/18353
@each_quadlet
@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("15m", 900),
        ("900", 900),
        ('"900"', 900),
        ("900s", 900),
        ("1h30m", 5400),
        ("1h 1m 1s", 3661),
        ("1", 1),
        ("168h", 604800),
    ],
)
def test_a_start_timeout_has_one_meaning_however_it_is_written(
    quadlet: Quadlet, written: str, seconds: int, tmp_path: Path
) -> None:
    for runtime in ("podman", "systemd"):
        text = unit(one(f"{CPU}, start_timeout: {written}, runtime: {runtime}}}"))
        assert values(text, "Service", "TimeoutStartSec") == [str(seconds)]
        if runtime == "podman":
            made = generated(quadlet, tmp_path / "u", u=text).services["u.service"]
            assert assignments(made, "TimeoutStartSec") == [str(seconds)]


@pytest.mark.parametrize(
    "written", ["abc", "-1", "0", "15 minutes", "1.5h", "169h", "015", "true", "[900]", "15M", "''"]
)
def test_a_time_span_that_systemd_would_ignore_in_silence_is_refused(written: str) -> None:
    for field in ("start_timeout", "stop_timeout"):
        problem = refusal(one(f"{CPU}, {field}: {written}}}"))
        assert (problem.code, problem.path, marked(problem)) == ("unexpected-value", ("hosts", "claw", field), written)
        assert problem.message == f"`{field}` takes a time span from 1s to 168h, such as 900, 15m or 1h30m"


@pytest.mark.parametrize("word", ["infinity", "never"])
def test_a_start_that_never_ends_is_refused(word: str) -> None:
    problem = refusal(one(f"{CPU}, start_timeout: {word}}}"))
    assert problem.hint == "a unit that waits for ever is never seen to fail"


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize(
    ("size", "least"), [(None, 900), ("100MiB", 900), ("60GiB", 600 + 60 * 1024 // 50), ("1TiB", 20000)]
)
def test_a_large_model_gets_the_time_to_be_read(runtime: str, size: str | None, least: int) -> None:
    sized = f", size: {size}" if size else ""
    text = one(f"{CPU}, runtime: {runtime}}}").replace("{file: plain.gguf", f"{{file: plain.gguf{sized}")
    (seconds,) = values(unit(text), "Service", "TimeoutStartSec")
    assert int(seconds) >= least
    assert size is not None or int(seconds) == 900


def test_the_timeout_cannot_be_undone_by_hand() -> None:
    for key in ("TimeoutStartSec", "TimeoutSec"):
        problem = refusal(one(f"{CPU}, unit: {{Service: {{{key}: infinity}}}}}}"))
        assert problem.message == f"{key}= is decided by `start_timeout`"


# https://github.com/hivecommons/hive/issues/4489
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_rootless_service_starts_at_boot_and_the_manifest_says_who_must_linger(runtime: str) -> None:
    compiled = accepted(one(f"{CPU}, runtime: {runtime}, rootless: ada}}"))
    ((path, text),) = units(compiled).items()
    assert path.startswith("claw/home/ada/.config/")
    assert values(text, "Install", "WantedBy") == ["default.target"]
    needs = json.loads(compiled.trees[0].manifest)["requires"]
    assert (needs["linger"], needs["users"]) == (["ada"], ["ada"])
    rooted = accepted(one(f"{CPU}, runtime: {runtime}}}"))
    assert json.loads(rooted.trees[0].manifest)["requires"]["linger"] == []
    assert values(next(iter(units(rooted).values())), "Install", "WantedBy") == ["multi-user.target"]


def test_a_service_that_is_started_by_hand_is_wanted_by_nothing() -> None:
    assert "[Install]" not in unit(one(f"{CPU}, autostart: false}}"))


# https://github.com/SigmaUno/omarchy-leecher-plugin/issues/28
RESTARTS = [
    "",
    "restart: always",
    "restart: no",
    "start_timeout: 1h",
    "start_timeout: 10, stop_timeout: 2h",
    "restart: {delay: 5m, tries: 3}",
    "restart: {policy: always, tries: 1, delay: 1}",
    "restart: {tries: 1000, within: 168h}, start_timeout: 60",
]


@each_quadlet
@pytest.mark.parametrize("fields", RESTARTS)
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_the_start_limit_stands_where_systemd_reads_it_and_can_trip(
    quadlet: Quadlet, runtime: str, fields: str, tmp_path: Path
) -> None:
    text = unit(one(f"{CPU}, runtime: {runtime}{', ' if fields else ''}{fields}}}"))
    if runtime == "podman":
        text = generated(quadlet, tmp_path / "u", u=text).services["u.service"]
    (within,), (tries,) = values(text, "Unit", "StartLimitIntervalSec"), values(text, "Unit", "StartLimitBurst")
    (delay,), (start,) = values(text, "Service", "RestartSec"), values(text, "Service", "TimeoutStartSec")
    (stop,) = values(text, "Service", "TimeoutStopSec")
    assert int(within) > int(tries) * (int(start) + int(stop) + int(delay))
    assert not values(text, "Service", "StartLimitIntervalSec") + values(text, "Service", "StartLimitBurst")
    assert int(delay) >= 1


def test_a_server_that_fails_for_ever_is_given_up_after_twenty_slow_tries() -> None:
    text = unit(one(f"{CPU}}}"))
    assert values(text, "Unit", "StartLimitBurst") == ["20"]
    assert (values(text, "Service", "Restart"), values(text, "Service", "RestartSec")) == (["on-failure"], ["10"])


def test_a_start_limit_that_cannot_trip_is_refused_with_the_least_that_can() -> None:
    problem = refusal(
        one(f"{CPU}, start_timeout: 100, runtime: systemd, restart: {{tries: 5, delay: 10, within: 700}}}}")
    )
    assert (problem.code, problem.hint) == ("unexpected-value", "set `within` above 700, or leave it out")
    assert unit(one(f"{CPU}, start_timeout: 100, runtime: systemd, restart: {{tries: 5, delay: 10, within: 701}}}}"))


@pytest.mark.parametrize(
    ("section", "key", "where"),
    [
        ("Service", "StartLimitBurst", "[Unit]"),
        ("Unit", "Restart", "[Service]"),
        ("Unit", "TimeoutStartSec", "[Service]"),
    ],
)
def test_a_key_in_the_wrong_section_which_systemd_ignores_is_refused(section: str, key: str, where: str) -> None:
    problem = refusal(one(f"{CPU}, runtime: systemd, unit: {{{section}: {{{key}: 5}}}}}}"))
    assert (problem.code, marked(problem)) == ("unsupported-key", key)
    assert problem.hint == f"it belongs into {where}"


def judged(directory: Path, text: str) -> list[str]:
    """What both generators and systemd say of a rendered fleet."""
    systemd = find_systemd_analyze(os.environ) or str(missing("systemd-analyze"))
    judges = [
        Generator(version=each.version, path=str(each.program or missing(f"Quadlet {each.version}")))
        for each in generators()
    ]
    root = render(directory, text)
    said = verify_tree(str(root), generators=judges, systemd_analyze=systemd, hosts=None, progress=lambda *_: None)
    return [f"{problem.code}: {problem.message}" for problem in said]


def test_systemd_itself_has_nothing_to_say_of_any_unit(tmp_path: Path) -> None:
    hosts = [
        f"  {backend}-{runtime}{'-own' * own}: {{model: plain, backend: {backend}, engine: {backend}, context: 4096, "
        f"runtime: {runtime}{', rootless: ada' * own}, limits: {{memory: 64g, cpus: 3.5, pids: 100, nofile: 9, "
        f"memlock: unlimited}}, restart: always, env: {{A: 'x \"y\" 100% $z'}}, after: mnt-nas.mount}}\n"
        for backend in ("cpu", "cuda", "vulkan", "rocm", "sycl")
        for runtime in ("podman", "systemd")
        for own in (False, True)
    ]
    assert judged(tmp_path, f"{ENGINES}hosts:\n{''.join(hosts)}") == []


def test_a_share_that_a_fleet_writes_by_hand_is_one_to_systemd(tmp_path: Path) -> None:
    lines = "Service: {MemoryHigh: 80%, IOWeight: 50, MemoryLow: 12.5%}, Unit: {Description: 50% faster}"
    assert judged(tmp_path, one(f"{CPU}, runtime: systemd, unit: {{{lines}}}}}")) == []
    text = (tmp_path / "rendered/claw/etc/systemd/system/llama-server.service").read_text()
    assert values(text, "Service", "MemoryHigh") == ["80%"]
    assert values(text, "Unit", "Description") == ["50%% faster"]


@pytest.mark.parametrize(("cpus", "quota"), [("3.5", "350%"), ("1", "100%"), ("0.001", "1%"), ("4096", "409600%")])
def test_a_limit_of_processors_is_a_share_to_systemd_and_a_number_to_podman(cpus: str, quota: str) -> None:
    fields = f"{CPU}, limits: {{cpus: {cpus}}}"
    assert values(unit(one(f"{fields}, runtime: systemd}}")), "Service", "CPUQuota") == [quota]
    assert values(unit(one(f"{fields}}}")), "Container", "PodmanArgs") == [f"--cpus={cpus}"]


@pytest.mark.parametrize("line", ["Nice: 30", "LimitNPROC: many", "CPUSchedulingPolicy: fast"])
def test_systemd_says_what_it_would_ignore_where_a_fleet_writes_it_by_hand(line: str, tmp_path: Path) -> None:
    (said,) = judged(tmp_path, one(f"{CPU}, runtime: systemd, unit: {{Service: {{{line}}}}}}}"))
    assert said.startswith("systemd-refused: systemd objects to llama-server.service")
