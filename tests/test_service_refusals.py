"""Fields of a service that contradict each other, or would give a secret away."""

import json

import pytest

from fleets import accepted, one, refusal, refusals, unit
from quadgen.cli import console

CUDA = "{backend: cuda, model: plain, context: 4096"


def test_a_draft_device_without_a_drafter_is_refused() -> None:
    problem = refusal(one(f"{CUDA}, draft_device: CUDA0}}"))
    assert (problem.code, problem.message) == (
        "unexpected-value",
        "`draft_device` places a drafter, and this service has none",
    )


@pytest.mark.parametrize(("period", "refused"), [("14m", False), ("15m", True), ("2h", True)])
def test_a_start_period_ends_before_the_start_timeout_kills_the_unit(period: str, *, refused: bool) -> None:
    """https://github.com/containers/podman/issues/27290"""
    fleet = one(f"{CUDA}, health: {{start_period: {period}}}}}")
    if refused:
        assert "outlasts the start timeout of 900 s" in refusal(fleet).message
    else:
        assert accepted(fleet).trees


@pytest.mark.parametrize("key", ["apikey", "api_token", "llama_secret", "password"])
def test_the_value_of_a_misspelt_key_for_a_secret_is_not_shown(key: str) -> None:
    problem = refusal(one(f"{CUDA}, {key}: sk-very-secret}}"))
    assert problem.code == "unknown-key"
    shown = console.text(problem)
    assert "sk-very-secret" not in shown
    assert f"{key} ***" in shown


@pytest.mark.parametrize("repository", ["org/repo:Q4_K_M", "org/repo/model.gguf"])
def test_a_model_of_the_hub_brings_no_projector_that_nobody_asked_for(repository: str) -> None:
    """An MTP head and a projector abort the server at the first image: ggml-org/llama.cpp#23398."""
    fleet = one("{backend: cuda, model: hub, context: 4096}").replace(
        "models:\n", f'models:\n  hub: {{hf: "{repository}", mtp: true}}\n', 1
    )
    text = unit(fleet)
    assert " --no-mmproj " in text
    assert " --spec-type draft-mtp" in text


@pytest.mark.parametrize("prefix", ["/x' ; touch /tmp/x ; '", "/x[1-3]", "/{a,b}", "no/slash", "/a b", "/$(id)"])
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_an_api_prefix_is_a_path_that_neither_a_shell_nor_curl_reads_as_more(prefix: str, runtime: str) -> None:
    flags = f"{{api-prefix: {json.dumps(prefix)}}}"
    fleet = one(f"{{backend: cpu, engine: cpu, runtime: {runtime}, model: plain, context: 4096, flags: {flags}}}")
    assert "bad-flag-value" in {problem.code for problem in refusals(fleet)}


def test_a_group_named_twice_is_refused() -> None:
    fleet = one(f"{CUDA}, groups: [g, g]}}", above="groups: {g: {port: 8081}}\n")
    assert refusal(fleet).message == "`groups` names g twice"


def test_a_native_service_keeps_its_home() -> None:
    fleet = one("{backend: cpu, engine: cpu, runtime: systemd, model: plain, context: 4096, env: {HOME: /srv}}")
    assert refusal(fleet).message.startswith("HOME is decided already")


def test_the_devices_of_a_native_unit_cannot_be_taken_out() -> None:
    fleet = one(
        "{backend: vulkan, runtime: systemd, model: plain, context: 4096, unit: {Service: {DeviceAllow: null}}}"
    )
    assert any("DeviceAllow" in problem.message for problem in refusals(fleet))
