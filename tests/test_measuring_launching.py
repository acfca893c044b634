"""How the servers of a measurement are started: as their units would, but for what is listed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import tiny_gguf
from fleets import NONE, accepted, compile_text, one
from parts import llama_server
from quadgen.measuring.arms import arms
from quadgen.measuring.launch import Launch
from quadgen.measuring.launching import launch
from quadgen.pipeline import find
from quadgen.resolution import Resolution
from quadgen.server.client import connected
from quadgen.server.process import running

FIELDS = "model: plain\nbackend: cpu\nengine: cpu\ncontext: 4096\n"
NATIVE = f"runtime: systemd\n{FIELDS}"
MINE = "profiles: {p: {spec_types: [ngram-mod], workload: copy, against: none}}\n"
SERVER = "/opt/mine/llama-server"
NEEDED = ("--cache-ram", "0", "--metrics", "--slots", "--log-verbosity", "4")


def service(fields: str, files: Mapping[str, str | bytes] = NONE) -> Resolution:
    (found,) = find(accepted(one(fields), files), "claw", None)
    return found


def rendered(resolution: Resolution) -> list[str]:
    return [str(word) for argument in resolution.arguments for word in argument.words]


def started(fields: str, server: str | None = None) -> Launch:
    return launch(service(fields), server=server)


def without(words: list[str], *options: str) -> list[str]:
    """The words without these options, each of which has one value."""
    found = list(words)
    for option in options:
        at = found.index(option)
        del found[at : at + 2]
    return found


def test_a_native_server_is_started_as_its_unit_starts_it_but_for_where_it_listens() -> None:
    resolution = service(f"{NATIVE}flags: {{threads: 3, flash-attn: 'on'}}\nextra_args: [--no-warmup]\nslots: 2\n")
    found = launch(resolution)
    own = without(rendered(resolution), "--host", "--port")
    assert list(found.arguments) == [*own, *(word for word in NEEDED if word != "--metrics")]
    assert (found.program, found.container, found.types) == ("/opt/llama.cpp/llama-server", (), ())
    assert found.ready_within == resolution.start_timeout


@pytest.mark.parametrize(
    "said",
    [
        "api_key: {secret: key}\n",
        "flags: {reuse-port: true}\n",
        "flags: {slots: false}\n",
        "extra_args: [--no-slots]\n",
        "flags: {cache-ram: 4096}\n",
        "extra_args: [-cram, '4096']\n",
        "flags: {api-prefix: /v}\n",
        "flags: {log-disable: true}\n",
        "flags: {log-verbosity: 1}\n",
        "extra_args: [-lv, '1']\n",
        "extra_args: [-v]\n",
        "flags: {log-colors: 'on'}\n",
        "flags: {sleep-idle-seconds: 60}\n",
    ],
)
def test_what_would_hide_a_server_or_let_it_rest_is_left_out(said: str) -> None:
    plain, found = started(NATIVE), started(f"{NATIVE}{said}")
    assert (found.arguments, found.environment) == (plain.arguments, plain.environment)


def test_variables_of_the_service_go_along_and_its_home_does_not() -> None:
    found = dict(started(f"{NATIVE}env: {{OMP_NUM_THREADS: '2'}}\n").environment)
    assert found == {"OMP_NUM_THREADS": "2", "XDG_CONFIG_HOME": "/nonexistent"}


def test_another_program_stands_in_for_the_unit_s() -> None:
    assert started(NATIVE, server=SERVER).program == SERVER


def test_a_container_host_is_measured_in_its_container() -> None:
    found = started(FIELDS)
    assert (found.program, found.container[-1], found.environment) == (
        "podman", "ghcr.io/ggml-org/llama.cpp:server-b10715", (),
    )  # fmt: skip
    assert found.arguments[:2] == ("--model", "/models/plain.gguf")
    assert "--port" not in found.arguments


def test_a_program_in_the_place_of_a_container_gets_the_paths_of_the_host() -> None:
    fields = f"{FIELDS}models_dir: /data/llm\nlora: [a.gguf, /other/b.gguf]\nvolumes: ['/srv/x:/texts:ro']\n"
    fields += "flags: {grammar-file: /texts/g.gbnf}\nalias: /modelsque\n"
    found = started(fields, server=SERVER)
    words = list(found.arguments)
    assert (found.program, found.container) == (SERVER, ())
    assert words[words.index("--model") + 1] == "/data/llm/plain.gguf"
    assert words[words.index("--lora") + 1] == "/data/llm/a.gguf,/other/b.gguf"
    assert words[words.index("--grammar-file") + 1] == "/srv/x/g.gbnf"
    assert words[words.index("--alias") + 1] == "/modelsque"
    assert "HOME" not in dict(found.environment)


@pytest.mark.parametrize(
    ("gpus", "devices", "shown"),
    [
        ("[{name: A}, {name: B}]", "[1]", "1"),
        ("[{name: A}, {name: B, id: nvidia.com/gpu=GPU-0a}]", "[1]", "GPU-0a"),
        ("[{name: A}, {name: B}]", "[0, 1]", None),
        ("[{name: A}]", "[0]", None),
    ],
)
def test_a_program_in_the_place_of_a_container_sees_no_card_that_the_container_did_not(
    gpus: str, devices: str, shown: str | None
) -> None:
    fields = f"model: plain\nbackend: cuda\ncontext: 4096\ngpus: {gpus}\ndevices: {devices}\n"
    found = dict(started(fields, server=SERVER).environment)
    assert found.get("CUDA_VISIBLE_DEVICES") == shown


def test_both_arms_differ_by_their_drafters_alone() -> None:
    found = arms(compile_text(one(NATIVE, above=MINE)), "claw", None, "p")
    one_, other = launch(found.candidate), launch(found.comparator)
    assert without(list(one_.arguments), "--spec-type") == list(other.arguments)
    assert (one_.types, other.types) == (("ngram-mod",), ())


@pytest.mark.loopback
@pytest.mark.usefixtures("no_proxies")
def test_the_real_server_takes_what_it_is_started_with(tmp_path: Path) -> None:
    model = tiny_gguf.make(tmp_path, "plain")
    fields = NATIVE.replace("4096", "256")
    (resolution,) = find(accepted(one(f"{fields}slots: 2\n").replace("plain.gguf", str(model))), "claw", None)
    with (
        running(llama_server(), launch(resolution).arguments, environ={}, ready_within=60) as process,
        connected(process.url, environ={}, timeout=60.0) as server,
    ):
        slots = server.get("/slots")
        assert isinstance(slots, list)
        assert [slot["speculative"] for slot in slots] == [False, False]
        assert "llamacpp:" in server.text("/metrics")
