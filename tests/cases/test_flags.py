"""Flags with which servers did not start, or started as something else, refused or spelled for the build."""

from pathlib import Path

import pytest

from command import quadgen
from fleets import CPU, accepted, after, marked, native_words, one, problems, refusal, refusals, unit
from hosts import snapshot
from quadgen.engines.flags import known_in, shipped_tables
from quadgen.engines.llama_options import ALWAYS, ENDING, KEYS, OWNED
from quadgen.fleet.schema import SYNONYMS
from quadgen.problems import Severity

NATIVE = "runtime: systemd\ncontext: 4096\n"
SUCCESSOR = {
    "max": "use --spec-draft-n-max or --spec-ngram-mod-n-max; it belongs in a profile: `draft_n_max`, or its `flags`",
    "min": "use --spec-draft-n-min or --spec-ngram-mod-n-min; it belongs in a profile: its `flags`",
}


def on(build: str, fields: str) -> str:
    """A fleet of one native server of a build."""
    text = one(f"{NATIVE}model: plain\nbackend: cpu\nengine: cpu\n{fields}")
    return text.replace("build: b10715, backends: [cpu]", f"build: {build}, backends: [cpu]")


def words(build: str, fields: str) -> list[str]:
    """The words of the only server of a fleet that must be accepted."""
    return native_words(unit(on(build, fields)))


# https://github.com/Mesh-LLM/mesh-llm/issues/571
REMOVED = {"draft": "max", "draft-n": "max", "draft-max": "max", "draft-min": "min", "draft-n-min": "min"}


@pytest.mark.parametrize("build", ["b10434", "b10715", "b11434"])
@pytest.mark.parametrize("name", REMOVED)
def test_a_removed_flag_of_speculation_is_refused_with_its_successor_and_the_profile_it_belongs_in(
    name: str, build: str
) -> None:
    for fields, place in ((f"extra_args: ['--{name}', '7']\n", f"'--{name}'"), (f"flags: {{{name}: 7}}\n", name)):
        problem = refusal(on(build, fields))
        assert (problem.code, problem.message) == ("removed-flag", f"llama-server {build} removed --{name}")
        assert (problem.hint, problem.host, marked(problem)) == (SUCCESSOR[REMOVED[name]], "claw", place)


def test_a_removed_flag_stops_the_render_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(on("b10715", "extra_args: [--draft-max, '7']\n"))
    before = snapshot(tmp_path, times=True)
    assert quadgen("render", cwd=tmp_path).status == 1
    assert snapshot(tmp_path, times=True) == before


def test_the_variable_of_a_removed_flag_is_refused_too_since_it_ends_the_server() -> None:
    problem = refusal(on("b11434", "env: {LLAMA_ARG_DRAFT_MAX: '7'}\n"))
    message = "LLAMA_ARG_DRAFT_MAX ends llama-server b11434, which removed --draft-max"
    assert (problem.code, problem.message, problem.hint) == ("removed-flag", message, SUCCESSOR["max"])


@pytest.mark.parametrize("build", ["b10434", "b10715", "b11434"])
def test_a_profile_says_the_width_in_the_words_of_the_build(build: str) -> None:
    above = "profiles: {wide: {spec_types: [draft-mtp], draft_n_max: 7, workload: copy, against: none}}\n"
    ledger = (
        "version: 1\nmeasurements:\n- {id: a, engine: llama.cpp, build: b10715, backend: cpu, device: any, "
        "model: qwen3.8-27b, workload: copy, setting: {spec_types: [draft-mtp], draft_n_max: 7}, against: none, "
        "rate: 3.0, against_rate: 2.0, samples: 3, source: a test}\n"
    )
    text = one(f"{NATIVE}model: headed\nbackend: cpu\nengine: cpu\nprofile: wide\n", above=above)
    text = text.replace("version: 1\n", "version: 1\nmeasurements: mine.yml\n", 1)
    text = text.replace("build: b10715, backends: [cpu]", f"build: {build}, backends: [cpu]")
    found = native_words(unit(text, {"mine.yml": ledger}))
    assert after(found, "--spec-draft-n-max") == "7"
    assert not [word for word in found if word.startswith("--draft")]


# https://github.com/yazon/flexllama/issues/15
@pytest.mark.parametrize(("said", "word"), [("true", "on"), ("false", "off"), ('"auto"', "auto"), ("on", "on")])
@pytest.mark.parametrize("flag", ["flash-attn", "reasoning", "log-colors"])
def test_a_switch_with_three_positions_always_has_its_word(flag: str, said: str, word: str) -> None:
    found = words("b10715", f"flags: {{{flag}: {said}, main-gpu: 0}}\n")
    assert found[-4:] == [f"--{flag}", word, "--main-gpu", "0"]


@pytest.mark.parametrize("said", ["maybe", "yes", "1", "''", "[on, off]", "{a: 1}"])
@pytest.mark.parametrize("flag", ["flash-attn", "reasoning", "log-colors"])
def test_a_switch_with_three_positions_takes_no_other_word(flag: str, said: str) -> None:
    problem = refusal(on("b10715", f"flags: {{{flag}: {said}}}\n"))
    assert problem.code == "bad-flag-value"
    assert problem.message.startswith(f"--{flag} takes one value" if said[0] == "[" else f"--{flag} does not take ")


def test_a_word_that_the_switch_does_not_take_is_answered_with_those_that_it_does() -> None:
    problem = refusal(on("b10715", "flags: {flash-attn: maybe}\n"))
    assert (problem.message, problem.hint) == ("--flash-attn does not take 'maybe'", "one of on, off, auto")


@pytest.mark.parametrize("extra", ["[-fa, --main-gpu, '0']", "[--main-gpu, '0', -fa]"])
def test_a_flag_that_would_swallow_the_next_one_lacks_its_value(extra: str) -> None:
    problem = refusal(on("b10715", f"extra_args: {extra}\n"))
    assert (problem.code, problem.message) == ("bad-flag-value", "-fa lacks its value")
    assert problem.hint == "one of on, off, auto; the engine would take the next flag for it"
    assert words("b10715", "extra_args: [-fa, auto, --main-gpu, '0']\n")[-4:] == ["-fa", "auto", "--main-gpu", "0"]


def test_what_follows_an_unknown_flag_is_taken_for_its_value_and_not_refused_as_well() -> None:
    problem = refusal(on("b10715", "extra_args: [--thread, '8', --jinja]\n"))
    assert (problem.message, problem.hint) == ("llama-server b10715 has no --thread", "did you mean --threads?")
    assert len(refusals(on("b10715", "extra_args: [--thread, '8', '9']\n"))) == 2


def test_a_key_in_one_argument_with_its_flag_is_sent_out_of_git_and_not_into_a_second_argument() -> None:
    problem = refusal(on("b10715", "extra_args: [--api-key=abc]\n"))
    hint = "keep the key out of git: api_key: {secret: NAME}"
    assert (problem.code, problem.hint) == ("literal-secret", hint)


SEEN = [
    ("cuda", "CUDA0", None),
    ("cuda", "none", None),
    ("cuda", "CUDA1", "--mmproj-device names CUDA1, and this service has CUDA0"),
    ("cuda", "Vulkan0", "--mmproj-device names Vulkan0, and this service has CUDA0"),
    ("cpu", "CUDA0", "--mmproj-device names CUDA0, and this service has no device"),
    ("cpu", "none", None),
]


@pytest.mark.parametrize(("backend", "device", "message"), SEEN)
def test_a_projector_is_put_on_a_device_that_the_service_has(backend: str, device: str, message: str | None) -> None:
    service = f"{NATIVE}model: plain\nbackend: {backend}\nengine: {backend}\n"
    for said in (f"flags: {{mmproj-device: {device}}}\n", f"extra_args: [-mmdev, {device}]\n"):
        found = [
            (problem.code, problem.message.replace("-mmdev", "--mmproj-device"))
            for problem in problems(one(service + said))
        ]
        assert found == ([] if message is None else [("unknown-device", message)])


TENSORS = [
    ("cuda", "a=CPU,b=CUDA0", None),
    ("cuda", "a=CUDA0,b=Vulkan0", "--override-tensor names Vulkan0, and this service has CUDA0"),
    ("cuda", "a=CUDA1", "--override-tensor names CUDA1, and this service has CUDA0"),
    ("vulkan", "a=Vulkan1", None),  # nobody says how many there are, and nothing hides them
    ("vulkan", "a=Vulkan01", "--override-tensor names Vulkan01, and this service has Vulkan0"),
    ("cpu", "a=CUDA0", "--override-tensor names CUDA0, and this service has no device"),
    ("cpu", "a=none", "--override-tensor names none, and this service has no device"),
    ("cpu", "a=RPC[127.0.0.1:1]", None),
]


@pytest.mark.parametrize(("backend", "said", "message"), TENSORS)
def test_a_tensor_is_put_on_a_device_that_the_service_has(backend: str, said: str, message: str | None) -> None:
    flags = f"flags: {{override-tensor: '{said}'}}\n"
    found = problems(one(f"{NATIVE}model: plain\nbackend: {backend}\nengine: {backend}\n{flags}"))
    assert [(problem.code, problem.message, problem.hint) for problem in found] == (
        [] if message is None else [("unknown-device", message, "name one that it has, or CPU")]
    )


def test_a_projector_may_be_put_on_a_device_of_another_backend_that_is_compiled_in() -> None:
    text = one(f"{NATIVE}model: plain\nbackend: cuda\nengine: cuda\nflags: {{mmproj-device: Vulkan0}}\n")
    accepted(text.replace("backends: [cuda]", "backends: [cuda, vulkan]"))


# https://github.com/ggml-org/llama.cpp/issues/10378
def test_a_quantised_v_cache_turns_flash_attention_on_and_is_refused_where_it_is_off() -> None:
    assert after(words("b10715", "cache_type: {v: q8_0}\n"), "--flash-attn") == "on"
    assert "--flash-attn" not in words("b10715", "cache_type: {k: q8_0}\n")
    problem = refusal(on("b10715", "cache_type: {v: q8_0}\nflags: {flash-attn: off}\n"))
    message = "a quantised V cache needs flash attention, and `flash-attn` is not on"
    assert (problem.code, problem.message, marked(problem)) == ("does-not-compose", message, "off")
    assert refusal(on("b10715", "flags: {cache-type-v: q8_0, flash-attn: off}\n")).hint == "use `cache_type`"


# https://github.com/gpustack/gpustack/issues/1455
def test_a_context_said_twice_is_refused_and_the_same_one_is_said_once() -> None:
    problem = refusal(on("b10715", "extra_args: [-c, '16384']\n"))
    assert (problem.code, problem.message) == ("duplicate-flag", "-c is given already: --ctx-size 4096")
    assert (problem.hint, problem.host) == ("use `context`", "claw")
    found = words("b10715", "extra_args: [-c, '4096', --metrics]\n")
    assert [found.count(word) for word in ("-c", "--ctx-size", "--metrics")] == [0, 1, 1]


# https://github.com/containers/ramalama/issues/2707
def test_layers_are_put_on_a_card_by_a_rule_only_where_there_is_one() -> None:
    assert "--n-gpu-layers" not in words("b10715", "")
    found = native_words(unit(one(f"{NATIVE}model: plain\nbackend: cuda\n")))
    assert (after(found, "--n-gpu-layers"), after(found, "--fit")) == ("all", "off")
    found = native_words(unit(one(f"{NATIVE}model: plain\nbackend: cuda\nflags: {{n-gpu-layers: 40, fit: on}}\n")))
    assert (after(found, "--n-gpu-layers"), after(found, "--fit")) == ("40", "on")
    problem = refusal(one(f"{NATIVE}model: plain\nbackend: cuda\nextra_args: [-ngl, '40']\n"))
    assert (problem.code, problem.message) == ("duplicate-flag", "-ngl is given already: --n-gpu-layers all")
    assert problem.hint == "write it under `flags`, where it takes the place of what a rule decides"


# https://github.com/unslothai/unsloth/issues/7886
@pytest.mark.parametrize("build", ["b10434", "b10705", "b10715", "b11434"])
@pytest.mark.parametrize(
    ("fields", "hint", "place"),
    [
        ("flags: {chat-template-kwargs: {enable_thinking: true}}", "use --reasoning on", "enable_thinking"),
        ("flags: {chat_template_kwargs: {enable_thinking: false}}", "use --reasoning off", "enable_thinking"),
        (
            "extra_args: [--chat-template-kwargs, '{\"enable_thinking\": 1}']",
            "use --reasoning on or --reasoning off",
            "'{\"enable_thinking\": 1}'",
        ),
    ],
)
def test_a_key_that_became_an_option_is_warned_of_and_still_said(
    fields: str, hint: str, place: str, build: str
) -> None:
    text = on(build, f"{fields}\n")
    (problem,) = problems(text)
    message = f"llama-server {build} deprecates enable_thinking in --chat-template-kwargs"
    assert (problem.code, problem.severity, problem.message) == ("deprecated-flag", Severity.WARNING, message)
    assert (problem.hint, marked(problem)) == (hint, place)
    assert "enable_thinking" in after(native_words(unit(text)), "--chat-template-kwargs")


def test_a_key_is_warned_of_by_the_builds_that_warn_of_it_alone() -> None:
    fields = "flags: {chat-template-kwargs: {preserve_reasoning: false, preserve_thinking: false}}\n"
    assert problems(on("b10724", fields)) == []
    (problem,) = problems(on("b11434", fields))
    assert problem.message == "llama-server b11434 deprecates preserve_reasoning in --chat-template-kwargs"
    assert problem.hint == "use --no-reasoning-preserve"
    assert accepted(on("b11434", "flags: {reasoning-preserve: false, reasoning: off}\n")).problems == ()


UNDER_FLAGS = "write it under `flags` of the host or service"


@pytest.mark.parametrize("key", ["mmap", "mlock", "direct-io", "load_mode", "threads", "flash_attn", "temp", "jinja"])
def test_a_flag_that_is_written_as_a_key_is_led_to_the_flags(key: str) -> None:
    problem = refusal(on("b11434", f"{key}: true\n"))
    assert (problem.code, problem.hint) == ("unknown-key", UNDER_FLAGS)
    service = f"model: plain\nbackend: cpu\nengine: cpu\nservices:\n  s: {{{key}: true}}\n"
    assert refusal(one(f"{NATIVE}{service}")).hint == UNDER_FLAGS


def test_every_key_that_is_led_to_the_flags_is_a_long_name_that_a_fleet_may_give() -> None:
    led = [key for key, meant in SYNONYMS.items() if meant == UNDER_FLAGS]
    assert len(led) > 50
    for key in led:
        _, option = known_in(shipped_tables(), f"--{key}")[-1]
        assert option.canonical not in OWNED.keys() | KEYS.keys() | ALWAYS | ENDING, key


@pytest.mark.parametrize(("value", "hint"), [("[true]", "write true"), ("[false, 1]", "write false")])
def test_a_truth_value_in_a_list_is_told_to_stand_by_itself(value: str, hint: str) -> None:
    problem = refusal(on("b11434", f"flags: {{mmap: {value}}}\n"))
    assert (problem.code, problem.hint) == ("unexpected-value", hint)
    assert problem.message == "`mmap` takes true or false by itself, not in a list"


VARIABLES = [
    ("LLAMA_ARG_CTX_SIZE", "doubles --ctx-size of llama-server", "use `context`"),
    ("LLAMA_ARG_HOST", "doubles --host of llama-server", "use `bind`"),
    ("LLAMA_ARG_THREADS", "doubles --threads of llama-server", "write it as flags: {threads: …}"),
    ("LLAMA_ARG_JINJA", "doubles --jinja of llama-server", "write it as flags: {jinja: true}"),
    ("LLAMA_ARG_NO_JINJA", "doubles --jinja of llama-server", "write it as flags: {jinja: false}"),
    ("LLAMA_ARG_NO_MMAP", "doubles --mmap of llama-server", "write it as flags: {mmap: false}"),
    ("LLAMA_ARG_NO_HOST", "doubles --no-host of llama-server", "write it as flags: {no-host: true}"),
]


@pytest.mark.parametrize(("name", "message", "hint"), VARIABLES)
def test_a_variable_that_doubles_a_flag_is_refused_and_says_where_to_write_it(
    name: str, message: str, hint: str
) -> None:
    problem = refusal(on("b10715", f"env: {{{name}: '1'}}\n"))
    assert (problem.code, problem.message, problem.hint) == ("duplicate-flag", f"{name} {message}", hint)
    assert marked(problem) == name


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("LLAMA_ARG_JINJA: '0'", "{jinja: false}"),
        ("LLAMA_ARG_JINJA: disabled", "{jinja: false}"),
        ("LLAMA_ARG_JINJA: enabled", "{jinja: true}"),
        ("LLAMA_ARG_NO_JINJA: '0'", "{jinja: false}"),
        ("LLAMA_ARG_THREADS: '0'", "{threads: …}"),
    ],
)
def test_a_variable_of_a_switch_is_told_the_flag_that_means_the_same(said: str, hint: str) -> None:
    assert refusal(on("b11434", f"env: {{{said}}}\n")).hint == f"write it as flags: {hint}"


@pytest.mark.parametrize(("value", "said"), [("false", "false"), ("off", "false"), ("1", "true")])
def test_so_is_the_variable_of_a_switch_that_the_build_has_no_more(value: str, said: str) -> None:
    problem = refusal(on("b11434", f"env: {{LLAMA_ARG_MMAP: '{value}'}}\n"))
    assert problem.hint == f"write it as flags: {{mmap: {said}}}"


def test_the_variable_of_the_types_is_refused_because_it_adds_up() -> None:
    problem = refusal(on("b10715", "env: {LLAMA_ARG_SPEC_TYPE: ngram-mod}\n"))
    message = "LLAMA_ARG_SPEC_TYPE adds its types to those of --spec-type, and only a profile may say them"
    assert (problem.code, problem.message) == ("speculation-outside-profile", message)


@pytest.mark.parametrize(("name", "code"), [("LLAMA_ARG_MLOCK", "removed-flag"), ("LLAMA_ARG_FOO", "unknown-flag")])
def test_a_variable_that_the_build_ignores_in_silence_is_refused(name: str, code: str) -> None:
    problem = refusal(on("b11434", f"env: {{{name}: '1'}}\n"))
    message = f"llama-server b11434 does not read {name}, and says nothing of it"
    assert (problem.code, problem.message) == (code, message)


DECIDED = [
    ("CUDA_VISIBLE_DEVICES", "devices"),
    ("NVIDIA_VISIBLE_DEVICES", "devices"),
    ("HIP_VISIBLE_DEVICES", "devices"),
    ("ROCR_VISIBLE_DEVICES", "devices"),
    ("GGML_VK_VISIBLE_DEVICES", "devices"),
    ("ONEAPI_DEVICE_SELECTOR", "devices"),
    ("GGML_DISABLE_VULKAN", "devices"),
    ("AIP_MODE", "port"),
    ("AIP_HTTP_PORT", "port"),
]


@pytest.mark.parametrize("runtime", ["podman", "systemd"])
@pytest.mark.parametrize(("name", "field"), DECIDED)
def test_a_variable_that_hides_a_card_or_moves_the_port_belongs_to_a_field(name: str, field: str, runtime: str) -> None:
    text = one(f"model: plain\nbackend: cuda\nengine: cuda\nruntime: {runtime}\ncontext: 1\nenv: {{{name}: '1'}}\n")
    problem = refusal(text)
    assert (problem.code, problem.message) == ("unexpected-value", f"{name} is decided by `{field}`")
    assert (problem.hint, marked(problem)) == (f"use `{field}`", name)


def test_a_server_is_no_child_of_a_router() -> None:
    problem = refusal(one(f"{CPU}, env: {{LLAMA_SERVER_ROUTER_PORT: '1'}}}}"))
    assert problem.message == "LLAMA_SERVER_ROUTER_PORT makes llama-server the child of a router"


def test_other_variables_are_the_fleet_s_own() -> None:
    assert accepted(one(f"{CPU}, env: {{GGML_CUDA_ENABLE_UNIFIED_MEMORY: '1', NO_COLOR: '1'}}}}")).problems == ()
