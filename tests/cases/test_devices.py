"""Images, programs and devices that other generators left out or guessed, through the real Quadlet."""

from pathlib import Path

import pytest

from fleets import (
    CPU,
    accepted,
    after,
    compile_text,
    one,
    podman_run,
    problems,
    refusal,
    refusals,
    run,
    unit,
    units,
    values,
)
from hosts import snapshot
from parts import Quadlet, each_quadlet
from quadgen.problems import Severity

# https://github.com/Glyndor/podup/issues/800
MIXED = """\
version: 1
engines:
  mixed: {kind: llama.cpp, build: b10715, backends: [cuda, vulkan]}
models:
  plain: {file: plain.gguf}
hosts:
  good: {model: plain, backend: vulkan, context: 4096, image: "registry.lan/llama:b10715"}
  one: {model: plain, backend: vulkan, context: 4096}
  two: {model: plain, backend: cuda, context: 4096}
  native: {model: plain, backend: cuda, context: 4096, runtime: systemd}
"""


def test_every_service_without_an_image_or_a_program_is_named_in_one_run() -> None:
    found = [(problem.code, problem.host, problem.message) for problem in refusals(MIXED)]
    assert found == [
        ("missing-key", "one", "no published image has the backends cuda, vulkan together"),
        ("missing-key", "two", "no published image has the backends cuda, vulkan together"),
        ("missing-key", "native", "the engine mixed has no `binary`, which runtime: systemd needs"),
    ]


def test_nothing_of_a_fleet_is_written_when_one_host_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(MIXED)
    before = snapshot(tmp_path, times=True)
    done = run("render", "fleet.yml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("quadgen: 3 errors\nquadgen: nothing was written\n")
    assert snapshot(tmp_path, times=True) == before


def test_an_image_is_derived_where_the_backend_has_one_and_said_to_be_unverified() -> None:
    for backend, tag in (
        ("cuda", "server-cuda"),
        ("vulkan", "server-vulkan"),
        ("cpu", "server"),
        ("sycl", "server-intel"),
    ):
        text = MIXED.partition("hosts:")[0].replace("cuda, vulkan", backend)
        compiled = accepted(f"{text}hosts:\n  a: {{model: plain, backend: {backend}, context: 1}}\n")
        (rendered,) = units(compiled).values()
        assert values(rendered, "Container", "Image") == [f"ghcr.io/ggml-org/llama.cpp:{tag}-b10715"]
        assert [problem.code for problem in compiled.problems] == ["image-unverified"]


@pytest.mark.parametrize(
    "image",
    ["llama:latest", "llama", "ggml-org/llama.cpp:server", "-v/etc:/etc", "reg.lan/a b", 'reg.lan/"a"b', "x.image"],
)
def test_an_image_that_podman_would_guess_about_is_refused(image: str) -> None:
    for text in (
        one(f"{CPU}, image: '{image}'}}"),
        one(f"{CPU}}}").replace("ghcr.io/ggml-org/llama.cpp:server-b10715", image.replace('"', '\\"')),
    ):
        problem = refusal(text)
        assert (problem.code, problem.hint) == (
            "unexpected-value",
            "write REGISTRY/PATH:TAG, with @sha256:... to pin it",
        )


# https://github.com/containers/ramalama/pull/1631
PASSED = {
    "cuda": ["nvidia.com/gpu=0"],
    "rocm": ["/dev/kfd", "/dev/dri"],
    "vulkan": ["/dev/dri"],
    "sycl": ["/dev/dri"],
    "cpu": [],
}
IDS = {
    "cuda": ("GPU-5b1f", ["nvidia.com/gpu=GPU-5b1f"]),
    "rocm": ("renderD129", ["/dev/kfd", "/dev/dri/renderD129"]),
    "vulkan": ("/dev/dri/renderD129", ["/dev/dri/renderD129"]),
    "sycl": ("renderD128", ["/dev/dri/renderD128"]),
}
PREFIX = {"cuda": "CUDA", "rocm": "ROCm", "vulkan": "Vulkan", "sycl": "SYCL"}


def gpu(backend: str, fields: str = "") -> str:
    engine = "old" if backend == "cpu" else backend
    return one(f"model: plain\nbackend: {backend}\nengine: {engine}\ncontext: 4096\n{fields}")


@each_quadlet
@pytest.mark.parametrize("backend", PASSED)
def test_each_backend_gets_its_devices_and_the_label_that_lets_it_use_them(
    quadlet: Quadlet, backend: str, tmp_path: Path
) -> None:
    text = unit(gpu(backend))
    words = podman_run(quadlet, tmp_path / "u", text)
    assert words.options("--device") == PASSED[backend]
    assert ("label=disable" in words.options("--security-opt")) == (backend != "cpu")
    assert "--security-opt=no-new-privileges" in words.podman
    assert words.options("--cap-drop") == ["all"]
    assert not [value for value in values(text, "Container", "AddDevice") if value.startswith("-")]
    argv = words.server
    if backend == "cpu":
        assert not {"--device", "--n-gpu-layers", "--fit"} & set(argv)
    else:
        assert (after(argv, "--device"), after(argv, "--n-gpu-layers"), after(argv, "--fit")) == (
            f"{PREFIX[backend]}0",
            "all",
            "off",
        )


@each_quadlet
@pytest.mark.parametrize("backend", PASSED)
def test_a_rootless_container_keeps_the_groups_of_its_user_and_adds_none(
    quadlet: Quadlet, backend: str, tmp_path: Path
) -> None:
    words = podman_run(quadlet, tmp_path / "u", unit(gpu(backend, "rootless: ada\n")))
    assert words.options("--group-add") == ([] if backend == "cpu" else ["keep-groups"])
    assert words.options("--device") == PASSED[backend]


@pytest.mark.parametrize("backend", IDS)
def test_a_card_with_an_id_is_passed_alone(backend: str) -> None:
    name, passed = IDS[backend]
    text = unit(gpu(backend, f"gpus: [{{}}, {{id: {name}}}]\ndevices: [1]\n"))
    assert values(text, "Container", "AddDevice") == passed
    assert f"--device {PREFIX[backend]}0" in values(text, "Container", "Exec")[0]


@pytest.mark.parametrize(
    ("word", "lines"),
    [
        ("disable", {"SecurityLabelDisable": ["true"], "SecurityLabelType": []}),
        ("relabel", {"SecurityLabelDisable": [], "SecurityLabelType": []}),
        ("container_t", {"SecurityLabelDisable": [], "SecurityLabelType": ["container_t"]}),
    ],
)
def test_selinux_is_left_on_where_the_fleet_says_so(word: str, lines: dict[str, list[str]]) -> None:
    text = unit(gpu("cuda", f"selinux: {word}\n"))
    assert {key: values(text, "Container", key) for key in lines} == lines
    assert not [volume for volume in values(text, "Container", "Volume") if "Z" in volume]


@pytest.mark.parametrize("backend", PREFIX)
@pytest.mark.parametrize("fields", ["gpus: [{id: '-/dev/dri'}]\n", "unit: {Container: {AddDevice: -/dev/dri}}\n"])
def test_a_device_that_may_be_missing_is_refused(backend: str, fields: str) -> None:
    problem = refusal(gpu(backend, fields))
    assert problem.hint == "a leading - makes Quadlet drop the device in silence where it is missing" or (
        problem.message == "a leading - makes Quadlet drop the device in silence where it is missing"
    )


@pytest.mark.parametrize("backend", PASSED)
def test_a_native_unit_sees_the_devices_of_its_backend_and_no_others(backend: str) -> None:
    text = unit(gpu(backend, "runtime: systemd\n"))
    allowed = values(text, "Service", "DeviceAllow")
    if backend == "cpu":
        assert (allowed, values(text, "Service", "PrivateDevices")) == ([], ["yes"])
    else:
        assert allowed
        assert (values(text, "Service", "DevicePolicy"), values(text, "Service", "PrivateDevices")) == (["closed"], [])
        assert values(text, "Service", "SupplementaryGroups") == ["render", "video"]
    assert (values(text, "Service", "MemoryDenyWriteExecute") == ["yes"]) == (backend == "cpu")


def test_an_engine_that_can_do_both_is_told_to_leave_the_gpu_alone_on_cpu() -> None:
    text = MIXED.partition("hosts:")[0].replace("cuda, vulkan]", "vulkan, cpu], image: registry.lan/llama:b10715")
    compiled = compile_text(f"{text}hosts:\n  a: {{model: plain, backend: cpu, context: 1}}\n")
    (rendered,) = units(compiled).values()
    assert "--device none" in values(rendered, "Container", "Exec")[0]


NAMED = [
    ("podman", "cuda", "devices: [CUDA0]", None),
    ("podman", "cuda", "devices: [CUDA1]", "this service does not see CUDA1: it has CUDA0"),
    ("systemd", "cuda", "devices: [CUDA1]", None),  # nobody says how many there are, and nothing hides them
    ("podman", "cuda", "gpus: [{}, {}]\ndevices: [CUDA1]", None),
    ("podman", "cuda", "gpus: [{}, {}]\ndevices: [CUDA2]", "this service does not see CUDA2: it has CUDA0, CUDA1"),
    ("systemd", "cuda", "gpus: [{}, {}]\ndevices: [CUDA2]", "this service does not see CUDA2: it has CUDA0, CUDA1"),
    ("podman", "cuda", "devices: [CUDA00]", "CUDA00 is no device of llama-server"),
    ("podman", "vulkan", "devices: [Vulkan1]", None),
    ("podman", "vulkan", "gpus: [{}]\ndevices: [Vulkan1]", "this service does not see Vulkan1: it has Vulkan0"),
]


@pytest.mark.parametrize(("runtime", "backend", "fields", "message"), NAMED)
def test_a_device_that_is_named_is_one_that_the_service_sees(
    runtime: str, backend: str, fields: str, message: str | None
) -> None:
    text = gpu(backend, f"runtime: {runtime}\n{fields}\n")
    if message is None:
        accepted(text)
    else:
        assert (refusal(text).code, refusal(text).message) == ("unknown-device", message)


@pytest.mark.parametrize(
    ("fields", "key"), [("gpus: [{}]\ndevices: [CUDA1]", "gpus"), ("gpus: [{}, {}]\ndevices: [0]", "devices")]
)
def test_a_device_that_is_not_seen_says_where_to_add_its_card(fields: str, key: str) -> None:
    drafting = "profile: copy\nmodel: headed\ndraft_device: CUDA1\n" if key == "devices" else "model: plain\n"
    text = one(f"backend: cuda\nengine: cuda\ncontext: 4096\n{drafting}{fields}\n")
    assert refusal(text).hint == f"add its card to `{key}`"


def test_a_card_that_the_host_does_not_have_is_to_be_added_to_it_first() -> None:
    fields = "gpus: [{}, {}]\ndevices: [0, 1]\nprofile: copy\nmodel: headed\ndraft_device: CUDA2\n"
    text = one(f"backend: cuda\nengine: cuda\ncontext: 4096\n{fields}")
    assert refusal(text).hint == "add its card to `gpus` and `devices`"


def test_a_device_is_one_of_the_backend_by_which_profiles_are_measured() -> None:
    both = one("model: plain\nbackend: cuda\nengine: cuda\ncontext: 4096\ndevices: [Vulkan0]\n").replace(
        "backends: [cuda]", "backends: [cuda, vulkan]"
    )
    problem = refusal(both)
    assert (problem.code, problem.message, problem.hint) == (
        "unknown-device",
        "Vulkan0 is a device of vulkan, and this service runs on cuda",
        "say `backend: vulkan`, or name devices of cuda",
    )
    accepted(both.replace("backend: cuda", "backend: vulkan").replace("backends: [vulkan]", "backends: [sycl]"))


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize(("devices", "accepts"), [("[CUDA0]", True), ("[0]", True), ("[CUDA1]", False), ("[1]", False)])
def test_a_profile_is_measured_on_the_card_that_the_service_names(runtime: str, devices: str, *, accepts: bool) -> None:
    cards = "gpus: [{name: NVIDIA GeForce RTX 3090}, {name: T400}]"
    text = one(
        f"model: headed\nbackend: cuda\ncontext: 4096\nprofile: copy\n"
        f"runtime: {runtime}\n{cards}\ndevices: {devices}\n",
        above="policy: {device: refuse}\n",
    )
    found = [problem.code for problem in problems(text) if problem.severity is Severity.ERROR]
    assert found == ([] if accepts else ["other-device"])


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_devices_that_are_named_are_counted_as_the_cards_are(runtime: str) -> None:
    rendered = unit(gpu("cuda", f"runtime: {runtime}\ngpus: [{{}}, {{}}]\ndevices: [CUDA1]\n"))
    section = "Container" if runtime == "podman" else "Service"
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in values(rendered, section, "Environment")
