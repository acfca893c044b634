"""Every way to speculation but a profile is known, and nothing else is taken for one."""

import pytest

from quadgen.engines.flags import SHIPPED, Option, shipped_tables
from quadgen.engines.side_doors import (
    ROUTER,
    SHORT,
    doors_in,
    field_for,
    is_speculative,
    reaches_speculation_env,
    reaches_speculation_flag,
    reaches_speculation_path,
)

TABLES = shipped_tables()
OPTIONS = [(build, option) for build in SHIPPED for option in TABLES[build].options]
ALL = pytest.mark.parametrize("build", SHIPPED)

ELSEWHERE = {
    "--fim-qwen-7b-spec", "--fim-qwen-14b-spec", "--lookup-cache-static", "--lookup-cache-dynamic",
    "--models-dir", "--models-preset", "--spec-default", "--spec-draft-type-k", "--spec-draft-type-v",
}  # fmt: skip
"""Options outside the section `speculative` whose handlers in common/arg.cpp touch speculation, or a router."""


@ALL
def test_the_doors_of_a_build_are_its_speculative_options_and_those_that_hide_elsewhere(build: str) -> None:
    found = {option.canonical for option in TABLES[build].options if is_speculative(option)}
    section = {option.canonical for option in TABLES[build].options if option.section == "speculative"}
    assert found == section | ELSEWHERE
    assert len(section) >= 40


def test_every_name_of_a_door_is_one_and_no_other_name_is() -> None:
    for build, option in OPTIONS:
        for name in (*option.names, *option.negations):
            assert reaches_speculation_flag(name) is is_speculative(option), (build, name)


def test_every_variable_of_a_door_is_one_and_no_other_variable_is() -> None:
    others = {"LLAMA_ARG_HF_REPO"}
    for build, option in OPTIONS:
        if option.env is not None:
            expected = is_speculative(option) or option.env in others
            assert reaches_speculation_env(option.env) is expected, (build, option.env)


def test_the_short_names_are_those_of_the_tables() -> None:
    names = {name[1:] for _, option in OPTIONS if is_speculative(option) for name in option.names if name[1] != "-"}
    assert names == SHORT


def test_the_router_s_own_ways_are_options_of_every_build() -> None:
    assert all(TABLES[build].find(name) is not None for build in SHIPPED for name in ROUTER)


@pytest.mark.parametrize(
    "name",
    [
        "--spec-type", "--spec_type", "spec-type", "spec_type", "--spec-type=draft-mtp", "-md", "md", "-hfd",
        "-lcs", "-lcd", "--draft", "--draft-max", "--draft_n", "--spec-default", "--fim-qwen-14b-spec",
        "--no-spec-draft-backend-sampling", "--models-preset=x.ini", "--mtp", "--eagle3", "--spec-yet-to-come",
        "-devd=CUDA0",
    ],
)  # fmt: skip
def test_a_flag_is_seen_through_each_spelling(name: str) -> None:
    assert reaches_speculation_flag(name)


@pytest.mark.parametrize(
    "name",
    [
        "--ctx-size", "--special", "-m", "--device", "-dev", "--model", "--threads", "-t", "--cache-ram",
        "--inspect", "--drafty", "", "-", "--", "=--spec-type",
    ],
)  # fmt: skip
def test_other_flags_are_left_alone(name: str) -> None:
    assert not reaches_speculation_flag(name)


@pytest.mark.parametrize(
    "name",
    [
        "LLAMA_ARG_SPEC_TYPE", "LLAMA_ARG_DRAFT_MAX", "LLAMA_ARG_N_GPU_LAYERS_DRAFT", "LLAMA_ARG_MODELS_PRESET",
        "LLAMA_ARG_NO_SPEC_DRAFT_BACKEND_SAMPLING", "LLAMA_ARG_SPEC_YET_TO_COME", "XDG_CONFIG_HOME",
        "LLAMA_ARG_HF_REPO",
    ],
)  # fmt: skip
def test_a_variable_is_seen_through(name: str) -> None:
    assert reaches_speculation_env(name)


@pytest.mark.parametrize(
    "name", ["LLAMA_ARG_CTX_SIZE", "HF_TOKEN", "SPEC_TYPE", "DRAFT", "LLAMA_SPEC", "llama_arg_spec_type", ""]
)
def test_other_variables_are_left_alone(name: str) -> None:
    assert not reaches_speculation_env(name)


@pytest.mark.parametrize(
    ("path", "home", "reaches"),
    [
        ("/etc/llama.cpp", None, True),
        ("/etc/llama.cpp/config.ini", None, True),
        ("//etc/./x/../llama.cpp/", None, True),
        ("/etc", None, True),
        ("/", None, True),
        ("/etc/llama.cpp-certs", None, False),
        ("/etc/ssl", None, False),
        ("/models", None, False),
        ("/cache/.config", "/cache", True),
        ("/cache", "/cache/", True),
        ("/cache/.config", None, False),
        ("/cache/.cache", "/cache", False),
    ],
)
def test_a_mount_is_a_door_where_it_can_bring_the_file_that_every_server_reads(
    path: str, home: str | None, *, reaches: bool
) -> None:
    assert reaches_speculation_path(path, home=home) is reaches


@pytest.mark.parametrize(
    ("text", "doors"),
    [
        ("--env=LLAMA_ARG_SPEC_TYPE=ngram-cache", ("LLAMA_ARG_SPEC_TYPE",)),
        ("--env 'LLAMA_ARG_SPEC_TYPE=x' --env XDG_CONFIG_HOME=/y", ("LLAMA_ARG_SPEC_TYPE", "XDG_CONFIG_HOME")),
        ('["/app/llama-server","--spec_type","ngram-mod"]', ("--spec_type",)),
        ("--spec-type=draft-mtp", ("--spec-type",)),
        ("-td --memory=4g --env LLAMA_ARG_THREADS=2 --label a=b", ()),
        ("", ()),
    ],
)
def test_doors_are_found_in_free_text(text: str, doors: tuple[str, ...]) -> None:
    assert doors_in(text) == doors


def test_a_fork_s_unknown_short_name_is_a_door_by_its_section() -> None:
    assert is_speculative(Option(canonical="-xyz", names=("-xyz",), section="speculative", arity=1))
    assert not is_speculative(Option(canonical="-xyz", names=("-xyz",), section="common", arity=1))


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("--spec-draft-device", "draft_device"),
        ("-devd", "draft_device"),
        ("device_draft", "draft_device"),
        ("-md", "draft_model"),
        ("LLAMA_ARG_SPEC_DRAFT_MODEL", "draft_model"),
        ("LLAMA_ARG_SPEC_DRAFT_HF_REPO", "draft_model"),
        ("--models-preset", "model"),
        ("--spec-type", None),
        ("--draft-max", None),
        ("-lcs", None),
        ("--ctx-size", None),
    ],
)
def test_a_door_that_a_service_has_a_field_for_is_answered_with_it(name: str, field: str | None) -> None:
    assert field_for(name) == field


def test_each_flag_that_has_a_field_is_a_door_or_the_model_s() -> None:
    for _, option in OPTIONS:
        if field_for(option.canonical) is not None:
            assert is_speculative(option) or option.canonical == "--hf-repo"
