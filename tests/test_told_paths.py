"""Files and directories that the fleet's own arguments name: seen by the server, writable where it writes, asserted."""

from typing import Any

import pytest

from fleets import CPU, accepted, flow, marked, one, refusal, refusals, unit, values
from quadgen.engines.flags import shipped_tables
from quadgen.engines.llama_paths import PATHS
from quadgen.problems import Problem

READ = sorted(PATHS.keys() - {"--slot-save-path"})
SCALED = ("--control-vector-scaled", "--lora-scaled")
PAIR = {"--ssl-cert-file": "--ssl-key-file", "--ssl-key-file": "--ssl-cert-file"}


def told(option: str, path: str, **fields: Any) -> str:
    """A fleet whose one service is given a path by an option."""
    value = f"{path}:0.5" if option in SCALED else path
    flags = {option[2:]: value, **({PAIR[option][2:]: "/models/other.pem"} if option in PAIR else {})}
    said = "".join(f", {key}: {flow(each)}" for key, each in {"flags": flags, **fields}.items())
    return one(f"{CPU}{said}}}")


def asserted(text: str) -> list[str]:
    return values(unit(text), "Unit", "AssertPathExists")


@pytest.mark.parametrize("option", READ)
def test_a_file_below_the_models_is_there_before_a_container_starts(option: str) -> None:
    assert "/srv/models/sub/x" in asserted(told(option, "/models/sub/x"))
    assert "/data/m/x" in asserted(told(option, "/models/x", models_dir="/data/m"))


@pytest.mark.parametrize("option", READ)
def test_a_file_that_nothing_mounts_is_refused_and_says_what_would(option: str) -> None:
    problem = refusal(told(option, "/opt/x"))
    assert (problem.code, problem.message) == (
        "unsafe-value",
        f"{option}: nothing is mounted at /opt/x in the container",
    )
    assert problem.hint == "a path below /models, or mount a directory there by `volumes`"
    assert problem.place is not None
    assert marked(problem).startswith('"/opt/x')


def test_a_path_of_the_host_is_told_as_the_container_sees_it() -> None:
    assert refusal(told("--control-vector", "/srv/models/cv.gguf")).hint == "write /models/cv.gguf"


def test_a_file_may_be_below_a_volume_in_a_secret_or_beside_the_program() -> None:
    below = told("--grammar-file", "/grammars/a/json.gbnf", volumes=["/srv/grammars/:/grammars:ro"])
    assert "/srv/grammars/a/json.gbnf" in asserted(below)
    kept = {"/run/secrets/tls.key": "tls"}
    assert asserted(told("--ssl-key-file", "/run/secrets/tls.key", secrets=kept))[1:] == ["/srv/models/other.pem"]
    assert asserted(told("--path", "/app/public")) == ["/srv/models/plain.gguf"]


def test_each_of_several_files_is_looked_at() -> None:
    several = told("--control-vector", '/models/a.gguf,"/models/b,c.gguf"')
    assert asserted(several)[1:] == ["/srv/models/a.gguf", "/srv/models/b,c.gguf"]
    listed = one(f"{CPU}, flags: {{lora-scaled: ['/models/a.gguf:1', '/x.gguf:2']}}}}")
    assert refusal(listed).message == "--lora-scaled: nothing is mounted at /x.gguf in the container"


@pytest.mark.parametrize("path", ["x.gguf", "./x.gguf", "~/x.gguf", "/models/../x"])
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_path_is_absolute_since_nothing_expands_it(path: str, runtime: str) -> None:
    problem = refusal(told("--control-vector", path, runtime=runtime))
    assert (problem.code, problem.message) == (
        "unsafe-value",
        f"--control-vector takes an absolute path without .. here, and {path!r} is none",
    )
    inside = "/models" if runtime == "podman" else "/srv/models"
    assert problem.hint == (f"such as {inside}/x.gguf" if path.endswith("x.gguf") and "~" not in path else WHOLE)


WHOLE = "write the whole path"


def test_arguments_and_other_names_of_an_option_are_looked_at_too() -> None:
    problem: Problem = refusal(one(f"{CPU}, extra_args: [-jf, /x.json]}}"))
    assert problem.message == "-jf: nothing is mounted at /x.json in the container"
    assert asserted(one(f"{CPU}, extra_args: [-jf, /models/x.json]}}"))[1:] == ["/srv/models/x.json"]
    assert refusal(one(f"{CPU}, flags: {{webui-config-file: /x.json}}}}")).message.startswith("--ui-config-file: ")


def test_a_native_service_may_read_anywhere_and_finds_the_file_at_its_start() -> None:
    text = told("--grammar-file", "/home/ada/json.gbnf", runtime="systemd")
    assert asserted(text)[1:] == ["/home/ada/json.gbnf"]
    assert values(unit(text), "Service", "ProtectHome") == ["read-only"]


@pytest.mark.parametrize(
    ("volumes", "message"),
    [
        ([], "--slot-save-path: nothing is mounted at /slots in the container"),
        (["/srv/slots:/slots:ro,z"], "--slot-save-path: /slots is mounted read-only"),
        (["/srv/slots:/slots:O"], "--slot-save-path: /slots is mounted read-only"),
        (["/srv/slots:/slots:z"], None),
        (["/srv/slots:/slots"], None),
        (["slots.volume:/slots"], None),
    ],
)
def test_a_container_saves_its_slots_where_it_may_write(volumes: list[str], message: str | None) -> None:
    text = told("--slot-save-path", "/slots", volumes=volumes)
    if message is None:
        assert asserted(text) == ["/srv/models/plain.gguf"]  # Podman itself looks for a mount
    else:
        assert [problem.message for problem in refusals(text)] == [message]


def test_a_container_writes_to_no_model() -> None:
    assert refusal(told("--slot-save-path", "/models/slots")).message == (
        "--slot-save-path: /models is mounted read-only"
    )
    accepted(told("--slot-save-path", "/tmp"))  # noqa: S108 - of the container


def test_a_native_service_saves_its_slots_where_it_may_write() -> None:
    problem = refusal(told("--slot-save-path", "/srv/slots", runtime="systemd"))
    assert (problem.code, problem.message, problem.hint) == (
        "unsafe-value",
        "--slot-save-path: this service may not write to /srv/slots",
        "add unit: {Service: {ReadWritePaths: /srv/slots}}",
    )
    for lines in ("/srv/slots", ["-/srv/other /srv"]):
        accepted(told("--slot-save-path", "/srv/slots", runtime="systemd", unit={"Service": {"ReadWritePaths": lines}}))
    accepted(told("--slot-save-path", "/var/cache/llama-server", runtime="systemd"))


def test_every_option_that_is_looked_at_is_one_of_the_newest_build() -> None:
    table = shipped_tables()["b11434"]
    assert {name for name in PATHS if table.find(name) is None} == set()
