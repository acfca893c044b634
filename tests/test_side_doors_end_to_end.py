"""No way past the gate: each way to speculation that a fleet has is refused by the whole compiler, and nothing is made.

What could come after them is tried as well: another program, image, model or file in the place of the decided one.
"""

import pytest

from doors import DOOR, UNSAFE, codes
from fleets import CPU, ENGINES, accepted, one, unit, values
from quadgen.engines.flags import FlagTable, Option, dump_table, shipped_tables
from quadgen.problems import Severity

FLAGS = [
    "flags: {spec-type: ngram-mod}",
    "flags: {spec_type: ngram-mod}",
    "flags: {spec-default: true}",
    "flags: {no-spec-draft-backend-sampling: true}",
    "flags: {spec-ngram-mod-n-max: 8}",
    "flags: {model-draft: d.gguf}",
    "flags: {md: d.gguf}",
    "flags: {hfd: org/repo}",
    "flags: {lookup-cache-dynamic: x}",
    "flags: {lcs: x}",
    "flags: {ctkd: q8_0}",
    "flags: {fim-qwen-7b-spec: true}",
    "flags: {models-dir: /models}",
    "flags: {models-preset: /models/p.ini}",
    # a value that another build would read as a flag
    "flags: {log-file: --spec-type}",
    "flags: {grammar: -md}",
    "flags: {override-kv: [--spec-default]}",
    "flags: {control-vector-layer-range: [--spec-type, ngram-mod]}",
    "alias: --spec-type",
]
ARGUMENTS = [
    "[--spec-type, ngram-mod]",
    "[--spec_type, ngram-mod]",
    "[--spec-type=ngram-mod]",
    "[---spec-type, ngram-mod]",
    "[--threads, '8', --spec-default]",
    "[-md, d.gguf]",
    "[-devd, CUDA0]",
    "[-lcd, x]",
    "[--model-draft, d.gguf]",
    "[--log-file, --spec-type, ngram-mod]",
    "[--log-file, --spec-default]",
    "[--log-file, x, --, --spec-type, ngram-mod]",
    "[--log-file, -md]",
    "[--models-preset, /models/p.ini]",
    "[--models-dir, /models]",
    "[--fim-qwen-30b-default, --fim-qwen-7b-spec]",
]
VARIABLES = [
    "env: {LLAMA_ARG_SPEC_TYPE: ngram-mod}",
    "env: {LLAMA_ARG_NO_SPEC_DRAFT_BACKEND_SAMPLING: '1'}",
    "env: {LLAMA_ARG_SPEC_DRAFT_MODEL: /models/d.gguf}",
    "env: {LLAMA_ARG_HF_REPO: org/repo}",
    "env: {LLAMA_ARG_MODELS_DIR: /models}",
    "env: {LLAMA_ARG_MODELS_PRESET: /models/p.ini}",
    "env: {LLAMA_ARG_LOOKUP_CACHE_STATIC: x}",
    "env: {XDG_CONFIG_HOME: /models}",
]


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize("said", [*FLAGS, *(f"extra_args: {words}" for words in ARGUMENTS), *VARIABLES])
def test_flags_arguments_and_variables_do_not_reach_speculation(said: str, runtime: str) -> None:
    assert DOOR in codes(one(f"{CPU}, runtime: {runtime}, {said}}}"))


@pytest.mark.parametrize(
    "said", ["flags: {draft-max: 8}", "extra_args: [--draft-n, '8']", "env: {LLAMA_ARG_DRAFT_MAX: '8'}"]
)
def test_what_reached_speculation_once_and_ends_the_server_now_is_refused_as_removed(said: str) -> None:
    assert codes(one(f"{CPU}, {said}}}")) == {"removed-flag"}


@pytest.mark.parametrize("layer", ["defaults", "groups", "services"])
def test_no_layer_is_a_way_around_it(layer: str) -> None:
    said = "{flags: {spec-type: ngram-mod}, env: {LLAMA_ARG_SPEC_TYPE: ngram-mod}}"
    above = {"defaults": f"defaults: {said}\n", "groups": f"groups: {{g: {said}}}\n"}.get(layer, "")
    fields = {"groups": "groups: [g]", "services": f"services: {{s: {said}}}"}.get(layer, "")
    assert codes(one(f"{CPU}, {fields}}}", above=above)) == {DOOR}


MOUNTS = [
    "/srv/x:/etc",
    "/srv/x:/etc/llama.cpp",
    "/srv/x:/etc//llama.cpp/",
    "/srv/x:/etc/./llama.cpp:ro,z",
    "/srv/config.ini:/etc/llama.cpp/config.ini",
    "x.volume:/etc/llama.cpp",
    "x.volume:/",
    "/srv/x:/cache",
    "x.volume:/cache/.config",
    "/srv/x:/cache/.config/llama.cpp",
    "/srv/x:/nonexistent",
    "x.volume:/nonexistent/",
    "/srv/x:/nonexistent/llama.cpp",
    "/srv/x:/nonexistent/llama.cpp/config.ini",
]


@pytest.mark.parametrize("mount", MOUNTS)
def test_nothing_is_mounted_where_llama_server_reads_its_own_configuration(mount: str) -> None:
    assert codes(one(f'{CPU}, volumes: ["{mount}"]}}')) == {DOOR}


@pytest.mark.parametrize(
    "target",
    [
        "/etc/llama.cpp/config.ini",
        "/etc/llama.cpp",
        "/etc//llama.cpp/./config.ini",
        "/cache/.config/llama.cpp/config.ini",
        "/nonexistent/llama.cpp/config.ini",
        "LLAMA_ARG_SPEC_TYPE",
        "LLAMA_ARG_HF_REPO",
        "XDG_CONFIG_HOME",
    ],
)
def test_no_secret_is_a_configuration_or_a_variable_of_speculation(target: str) -> None:
    assert codes(one(f'{CPU}, secrets: {{"{target}": s}}}}')) == {DOOR}


def test_the_directory_of_a_model_file_is_no_configuration_either() -> None:
    fleet = one(f"{CPU}}}").replace("file: plain.gguf", "file: /nonexistent/llama.cpp/plain.gguf")
    assert codes(fleet) == {DOOR}


def test_a_mount_of_a_file_beside_these_is_fine() -> None:
    volumes = '["/srv/ca.pem:/etc/ssl/ca.pem:ro", "x.volume:/cache/mesa", "/srv/y:/nonexist"]'
    assert values(unit(one(f"{CPU}, volumes: {volumes}}}")), "Container", "Volume")[1:4] == [
        "/srv/ca.pem:/etc/ssl/ca.pem:ro",
        "x.volume:/cache/mesa",
        "/srv/y:/nonexist",
    ]


REPLACED = [
    # the program, the files that the service was given, Podman's secrets
    ('volumes: ["/srv/x:/app"]', UNSAFE),
    ('volumes: ["/srv/wrapper:/app/llama-server"]', UNSAFE),
    ('volumes: ["/srv/x:/usr"]', UNSAFE),
    ('volumes: ["/srv/x:/usr/lib"]', UNSAFE),
    ('volumes: ["/srv/x:/lib64"]', UNSAFE),
    ('volumes: ["/srv/x:/run/secrets"]', UNSAFE),
    ('volumes: ["/srv/other.gguf:/models/plain.gguf"]', UNSAFE),
    ('volumes: ["/srv/x:/models"]', "unexpected-value"),
    ('secrets: {"/app/llama-server": s}', UNSAFE),
    ('secrets: {"/usr/lib": s}', UNSAFE),
    ("secrets: {HOME: s}", "unexpected-value"),
    ("api_key: {secret: k}, secrets: {/run/secrets/k: other}", "unexpected-value"),
    # the model
    ("extra_args: [-hf, org/repo]", "duplicate-flag"),
    ("extra_args: [--hf-repo, org/repo]", "duplicate-flag"),
    ("extra_args: [-m, /models/other.gguf]", "duplicate-flag"),
    ("extra_args: [-mu, 'https://x/y.gguf']", "duplicate-flag"),
    ("extra_args: [--docker-repo, x]", "duplicate-flag"),
    ("extra_args: [--fim-qwen-7b-default]", "duplicate-flag"),
    ("flags: {fim-qwen-30b-default: true}", "duplicate-flag"),
    ("flags: {gpt-oss-20b-default: true}", "duplicate-flag"),
    ("extra_args: [--lora, x.gguf]", "duplicate-flag"),
    ("extra_args: [--mmproj, x.gguf]", "duplicate-flag"),
    # the server itself
    ("extra_args: [--version]", "does-not-compose"),
    ("flags: {help: true}", "does-not-compose"),
    ("flags: {list-devices: true}", "does-not-compose"),
]


@pytest.mark.parametrize(("said", "code"), REPLACED)
def test_what_was_decided_is_not_replaced_by_another_field(said: str, code: str) -> None:
    assert codes(one(f"{CPU}, {said}}}")) == {code}


LEARNED = FlagTable(
    build="fork",
    options=(
        *(option for option in shipped_tables()["b11434"].options if option.canonical != "--log-file"),
        Option(canonical="--log-file", names=("--log-file",), section="common", arity=0),
        Option(canonical="--turbo", names=("-tb2", "--turbo"), section="speculative", arity=1, env="FORK_TURBO"),
        Option(canonical="--quick", names=("--quick", "--spec-quick"), section="common", arity=0),
    ),
)
"""A fork's table: drafters under names of its own, and a flag without the value that it has elsewhere."""


@pytest.mark.parametrize(
    "said",
    [
        "flags: {turbo: 2}",
        "flags: {quick: true}",
        "extra_args: [-tb2, '2']",
        "extra_args: [--quick]",
        "extra_args: [--log-file, --spec-type, ngram-mod]",
        "env: {FORK_TURBO: '2'}",
        "secrets: {FORK_TURBO: s}",
    ],
)
def test_a_learned_table_tells_what_reaches_speculation_in_a_fork(said: str) -> None:
    fleet = one(f"{{model: plain, backend: cpu, engine: fork, context: 4096, {said}}}").replace(
        "\nmodels:",
        "\n  fork: {kind: llama.cpp, build: fork, backends: [cpu], image: x.io/y:fork, flags: t.json}\nmodels:",
    )
    assert codes(fleet, {"t.json": dump_table(LEARNED)}) == {DOOR}


PROFILES = [
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-type: draft-mtp}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-draft-model: d.gguf}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-draft-hf: org/repo}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-draft-device: CUDA1}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-default: true}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-synth-len: 2.5}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {spec-synth-rates: [0.9]}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {md: d.gguf}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy, flags: {threads: 8}}", "unexpected-value"),
    ("{spec_types: [], flags: {spec-ngram-mod-n-max: 8}}", "unexpected-value"),
    ("{spec_types: [ngram-mod], workload: copy}", "unmeasured-combination"),
    ("{spec_types: [none, ngram-mod], workload: copy}", "unexpected-value"),
    ("{spec_types: [draft-mtp], workload: copy, needs_mtp: false}", "head-missing"),
]


@pytest.mark.parametrize(("profile", "code"), PROFILES)
def test_a_profile_of_the_fleet_s_own_is_no_way_around_its_measurements(profile: str, code: str) -> None:
    assert codes(one(f"{CPU}, profile: mine}}", above=f"profiles: {{mine: {profile}}}\n")) == {code}


@pytest.mark.parametrize("name", ["default", "none", "copy"])
def test_the_names_of_the_built_in_profiles_keep_their_meaning(name: str) -> None:
    above = f"profiles: {{{name}: {{spec_types: [ngram-mod], workload: copy}}}}\n"
    assert "name-clash" in codes(one(f"{CPU}}}", above=above))


@pytest.mark.parametrize(
    "fetched",
    ["hf: '--spec-type/x'", "hf: 'a/b --spec-default'", "hf: '../x'", "url: 'https://h/..'", "url: 'file:///x'"],
)
def test_the_place_of_a_checkpoint_is_a_place_and_nothing_else(fetched: str) -> None:
    found = codes(ENGINES.replace("file: plain.gguf", fetched) + f"hosts:\n  h: {CPU}}}\n")
    assert found - {DOOR} == {"unexpected-value"}


def test_a_fleet_without_any_of_it_speculates_by_its_profile_alone() -> None:
    fleet = one("{model: headed, backend: cuda, gpus: [{name: NVIDIA GeForce RTX 3090}], profile: copy, context: 4096}")
    assert [problem for problem in accepted(fleet).problems if problem.severity is Severity.ERROR] == []
    (exec_,) = values(unit(fleet), "Container", "Exec")
    assert exec_.endswith("--spec-type draft-mtp,ngram-cache --spec-draft-n-max 7")
