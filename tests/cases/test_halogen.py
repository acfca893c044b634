"""What people met who run halogen-flash-server under Podman: each unit through the real Quadlet."""

from pathlib import Path

import pytest

from fleets import accepted, podman_run, refusal, refusals, unit, values
from parts import Quadlet, each_quadlet

IMAGE = "ghcr.io/peonist-ai/halogen-flash-server:0.13.1"
ENGINE = f"""\
version: 1
engines:
  halogen: {{kind: halogen, build: 0.13.1, backends: [rocm], image: "{IMAGE}"}}
models:
  flash: {{file: qwen38-flash-next-w4b.hgn}}
  other: {{file: other.gguf, mtp: false}}
"""
HALO = "backend: rocm, model: flash"
REASON = "halogen drafts with the head of its own checkpoint, and nothing can be attached to it"
FLAGS = "halogen takes no flags of llama-server: everything is set by `env`, as docs/FLAGS.md of its repository says"


def halo(fields: str = "", *, above: str = "") -> str:
    """A fleet of one halogen host."""
    return f"{ENGINE}{above}hosts:\n  halo: {{{HALO}{', ' if fields else ''}{fields}}}\n"


@each_quadlet
def test_a_rootless_container_has_every_option_that_the_engine_needs(quadlet: Quadlet, tmp_path: Path) -> None:
    # https://github.com/peonist-ai/halogen-flash-server/issues/95
    text = unit(halo("rootless: ada"))
    run = podman_run(quadlet, tmp_path, text)
    assert run.options("--device") == ["/dev/kfd", "/dev/dri"]
    assert run.options("--group-add") == ["keep-groups"]
    assert "seccomp=unconfined" in run.options("--security-opt")
    assert "--ipc=host" in run.podman
    assert run.options("--ulimit") == ["memlock=-1:-1"]
    assert run.options("--publish") == ["127.0.0.1:8731:8731"]
    assert run.server == ["all"]


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ("flags: {model: /m/x.gguf}", "flags"),
        ("flags: {n-gpu-layers: 99}", "flags"),
        ("extra_args: [--spec-type, ngram-cache]", "extra_args"),
        ("extra_args: [-ngl, '99']", "extra_args"),
    ],
)
def test_no_flag_of_llama_server_reaches_it(fields: str, key: str) -> None:
    problem = refusal(halo(fields))
    assert (problem.code, problem.message) == ("closed-engine", f"`{key}`: {FLAGS}")


@pytest.mark.parametrize("backend", ["cuda", "vulkan", "cpu", "sycl"])
def test_it_runs_on_rocm_and_on_nothing_else(backend: str) -> None:
    problem = refusal(f"{ENGINE}hosts:\n  halo: {{backend: {backend}, engine: halogen, model: flash}}\n")
    assert (problem.code, problem.message) == ("closed-engine", "halogen runs on rocm alone")
    problem = refusal(ENGINE.replace("[rocm]", f"[{backend}]") + f"hosts:\n  halo: {{{HALO}}}\n")
    assert (problem.code, problem.message) == (
        "closed-engine",
        "halogen runs on AMD gfx1151 by ROCm, and on nothing else",
    )


def test_keep_groups_is_never_joined_by_another_group() -> None:
    for groups in ("[keep-groups, render]", "video render"):
        problem = refusal(halo(f"rootless: ada, unit: {{Container: {{GroupAdd: {groups}}}}}"))
        assert problem.code == "unsafe-value"
    for argument in ("--group-add render", "--group-add=keep-groups,render"):
        problem = refusal(halo(f"rootless: ada, unit: {{Container: {{PodmanArgs: '{argument}'}}}}"))
        assert (problem.code, problem.message) == ("unsafe-value", "keep-groups cannot be combined with other groups")
    problem = refusal(halo("rootless: ada, unit: {Container: {PodmanArgs: --group-add=keep-groups}}"))
    assert problem.message.endswith("may be given already, and Podman takes it once")
    accepted(halo("rootless: ada, unit: {Container: {GroupAdd: keep-groups}}"))
    accepted(halo("unit: {Container: {PodmanArgs: --group-add=render}}"))


def test_its_own_probe_waits_for_a_load_of_minutes() -> None:
    # https://github.com/peonist-ai/halogen-flash-server/issues/12: a TCP connect says nothing
    text = unit(halo())
    assert values(text, "Container", "HealthCmd") == ['["/usr/local/bin/halogen-healthcheck","api"]']
    assert values(text, "Container", "HealthStartPeriod") == ["1200s"]
    assert values(text, "Container", "HealthTimeout") == ["35s"]
    assert values(text, "Container", "Notify") == ["healthy"]
    assert values(text, "Container", "HealthOnFailure") == []
    (start,) = values(text, "Service", "TimeoutStartSec")
    assert int(start) == 1800


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("start_timeout: 10m", "halogen reads about 68 GB before it answers, and 600 s may kill it while it loads"),
        (
            "health: {timeout: 5s}",
            "halogen answers its probe between two pieces of work, which may take 35 s",
        ),
        ("health: {start_period: 2m}", "halogen loads for minutes, and after 120 s its failures would count"),
    ],
)
def test_a_probe_that_would_kill_a_slow_start_is_refused(fields: str, message: str) -> None:
    problem = refusal(halo(fields))
    assert (problem.code, problem.message) == ("unexpected-value", message)


def test_a_second_large_service_does_not_fit_beside_it() -> None:
    # https://github.com/peonist-ai/halogen-flash-server/issues/41
    pair = f"""\
{ENGINE.replace("other: {file: other.gguf, mtp: false}", "other: {file: other.gguf, mtp: false, size: 16GiB}")}\
hosts:
  halo:
    memory: 128GiB
    services:
      halogen: {{{HALO}}}
      other: {{backend: cpu, engine: cpu, model: other, port: 8080, context: 4096}}
""".replace(
        "models:", '  cpu: {kind: llama.cpp, build: b10715, backends: [cpu], image: "reg.lan/x:b10715"}\nmodels:', 1
    )
    problem = refusal(pair)
    assert problem.code == "does-not-fit"
    assert problem.message == "halo has 128.0 GiB of memory, and its services need at least 139.0 GiB"
    assert problem.notes == (
        "halogen: 68.0 GiB weights",
        "halogen: 14.9 GiB a pool of 524288 positions, 4 slots",
        "halogen: 16.7 GiB a prefill arena for 32768 tokens",
        "halogen: 3.4 GiB scratch",
        "halogen: 20.0 GiB reserve for its lookup table",
        "other: 16.0 GiB weights; its context comes on top",
    )
    assert problem.hint == (
        'move a service to another host, or set for halogen: env: {HALOGEN_KV_POOL_POSITIONS: "262144", '
        'HALOGEN_MAX_TOK: "16384"}'
    )
    accepted(pair.replace("size: 16GiB", "size: 4GiB"))
    accepted(pair.replace(f"{{{HALO}}}", f"{{{HALO}, {problem.hint.partition('for halogen: ')[2]}}}"))
    accepted(pair.replace("port: 8080", "port: 8080, conflicts: halogen"))


@pytest.mark.parametrize(
    ("fields", "key", "message"),
    [
        ("draft_model: other", "draft_model", REASON),
        ("draft_device: ROCm1", "draft_device", f"{REASON}: it routes nothing to devices"),
    ],
)
def test_no_drafter_can_be_attached(fields: str, key: str, message: str) -> None:
    problem = refusal(halo(fields))
    assert (problem.code, problem.message) == ("closed-engine", f"`{key}`: {message}")


@pytest.mark.parametrize(
    "profile",
    [
        "{spec_types: [draft-dflash], draft_model: other, workload: prose}",
        "{spec_types: [draft-mtp, ngram-cache], workload: copy}",
        "{spec_types: [ngram-mod], workload: copy}",
        "{spec_types: [draft-mtp], draft_n_max: 7, workload: prose}",
    ],
)
def test_a_profile_that_it_cannot_run_is_refused_before_any_measurement(profile: str) -> None:
    problem = refusal(halo("profile: mine", above=f"profiles:\n  mine: {profile}\n"))
    assert problem.code == "closed-engine"
    assert problem.message == f"the profile mine: {REASON}; its head has one width"
    problem = refusal(halo("profile: copy"))
    assert (problem.code, problem.hint) == ("closed-engine", "use `profile: default` or `none`")


def test_the_default_is_its_head_and_none_is_serial() -> None:
    for fields, drafter in (("", "1"), ("profile: default", "1"), ("profile: none", "0")):
        assert f"HALOGEN_DRAFTER_DEFAULT={drafter}" in values(unit(halo(fields)), "Container", "Environment")
    problem = refusal(halo('env: {HALOGEN_DRAFTER_DEFAULT: "2"}'))
    assert problem.message == "HALOGEN_DRAFTER_DEFAULT is decided by `profile`"


def test_a_variable_with_a_tilde_or_a_path_that_nothing_is_mounted_at_is_refused() -> None:
    # https://github.com/peonist-ai/halogen-flash-server/issues/71: `~` is never expanded in a variable
    problem = refusal(halo('env: {HALOGEN_CACHE_DIR: "~/halogen-cache"}'))
    assert (problem.code, problem.message) == ("unsafe-value", "HALOGEN_CACHE_DIR: nothing expands ~ in a variable")
    problem = refusal(halo("env: {HALOGEN_CACHE_DIR: /halogen-cache}"))
    assert (
        problem.message == "HALOGEN_CACHE_DIR: nothing that it may write is mounted at /halogen-cache in the container"
    )
    mounted = halo("env: {HALOGEN_CACHE_DIR: /kept/prompts}, volumes: [/srv/kept:/kept:z]")
    assert "HALOGEN_CACHE_DIR=/kept/prompts" in values(unit(mounted), "Container", "Environment")
    assert [problem.message for problem in refusals(halo("env: {HALOGEN_CACHE_DIR: cache}"))] == [
        "HALOGEN_CACHE_DIR takes an absolute path in the container"
    ]
