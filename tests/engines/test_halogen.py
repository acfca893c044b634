"""halogen: what its fields become, what it has nothing for, and what its own documentation bounds."""

from typing import get_args

import pytest

from fleets import accepted, compile_text, refusal, refusals, unit, units, values
from quadgen.engines.registry import ENGINES
from quadgen.fleet.entries import EngineFields
from quadgen.problems import Severity

IMAGE = "ghcr.io/peonist-ai/halogen-flash-server:0.17.0"
TOP = f"""\
version: 1
engines:
  halogen: {{kind: halogen, build: 0.17.0, backends: [rocm], image: "{IMAGE}"}}
models:
  flash: {{file: flash/qwen38-flash-next-w4b.hgn}}
  hub: {{hf: peonist-ai/halogen-qwen3.8-flash-next}}
  whole: {{hf: peonist-ai/halogen-qwen3.8-flash-next/w4b.hgn}}
"""


def halo(fields: str = "", *, model: str = "flash", top: str = TOP) -> str:
    return f"{top}hosts:\n  halo: {{backend: rocm, model: {model}{', ' if fields else ''}{fields}}}\n"


def environment(text: str) -> list[str]:
    return values(unit(text), "Container", "Environment")


def test_a_fleet_may_name_every_engine_that_there_is() -> None:
    kind = EngineFields.__annotations__["kind"]
    assert set(get_args(get_args(kind)[0])) == set(ENGINES)


def test_only_what_the_fleet_says_is_set() -> None:
    assert environment(halo()) == [
        "HALOGEN_CHECKPOINT=/models/flash/qwen38-flash-next-w4b.hgn",
        "HALOGEN_DRAFTER_DEFAULT=1",
        "HALOGEN_MODEL_ID=flash",
    ]
    said = "port: 9000, context: 65536, slots: 8, alias: big, profile: none, env: {HALOGEN_VERBOSE: '1'}"
    assert environment(halo(said)) == [
        "HALOGEN_API_PORT=9000",
        "HALOGEN_CHECKPOINT=/models/flash/qwen38-flash-next-w4b.hgn",
        "HALOGEN_CTX=65536",
        "HALOGEN_DRAFTER_DEFAULT=0",
        "HALOGEN_KV_SLOTS=8",
        "HALOGEN_MODEL_ID=big",
        "HALOGEN_VERBOSE=1",
    ]


def test_its_only_service_is_called_halogen_and_its_container_is_its_own() -> None:
    compiled = accepted(halo())
    assert list(units(compiled)) == ["halo/etc/containers/systemd/halogen.container"]
    (text,) = units(compiled).values()
    assert values(text, "Container", "Volume") == ["/srv/models:/models:ro,z"]
    for key in ("ReadOnly", "Mask"):
        assert values(text, "Container", key) == []
    assert "Pull=missing" in text
    assert [problem.code for problem in compiled.problems] == []


def test_the_sidecar_and_the_tokenizer_must_be_there_unless_others_are_named() -> None:
    beside = "/srv/models/flash"
    checkpoint = f"{beside}/qwen38-flash-next-w4b.hgn"
    sidecar = f"{beside}/qwen38-flash-next-w4b.overlay.hgn"
    tokenizer = f"{beside}/tokenizer/tokenizer.json"
    for fields, files in (
        ("", [checkpoint, sidecar, tokenizer]),
        ("env: {HALOGEN_CK_OVERLAY: none}", [checkpoint, tokenizer]),
        ("env: {HALOGEN_TOKENIZER: /models/tok}", [checkpoint, sidecar]),
    ):
        assert values(unit(halo(fields)), "Unit", "AssertPathExists") == files


def test_a_repository_of_the_hub_is_fetched_into_a_writable_store() -> None:
    text = unit(halo(model="hub"))
    assert values(text, "Container", "Volume") == ["/srv/models:/models:z"]
    assert values(text, "Container", "Environment") == [
        "HALOGEN_DOWNLOAD=peonist-ai/halogen-qwen3.8-flash-next",
        "HALOGEN_DRAFTER_DEFAULT=1",
        "HALOGEN_MODEL_ID=hub",
    ]
    assert "HALOGEN_CHECKPOINT=/models/w4b.hgn" in environment(halo(model="whole"))


def test_its_image_is_derived_from_its_release_and_from_nothing_else() -> None:
    derived = TOP.replace(f', image: "{IMAGE}"', "")
    compiled = accepted(halo(top=derived))
    assert f"Image={IMAGE}\n" in next(iter(units(compiled).values()))
    assert [problem.code for problem in compiled.problems] == ["image-unverified"]
    problem = refusal(halo(top=derived.replace(" build: 0.17.0,", "")))
    assert problem.message == ("nobody says which build of halogen the engine halogen is, so its image is not known")


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        ("cache_type: q8_0", "closed-engine", "`cache_type`: halogen has one KV cache type"),
        ("lora: [a.gguf]", "closed-engine", "`lora`: halogen loads no adapters"),
        ("chat_template_file: a.jinja", "closed-engine",
         "`chat_template_file`: halogen has the chat template of its tokenizer"),
        ("mmproj: a.gguf", "closed-engine", "`mmproj`: halogen reads images by HALOGEN_VISION_TOWER in `env`"),
        ("devices: [ROCm0]", "closed-engine",
         "halogen computes on the one GPU of its machine, and routes nothing to devices"),
        ("api_key: {secret: k}", "closed-engine",
         "`api_key`: halogen's API has no keys: put a proxy before it, and publish it on loopback"),
        ("runtime: systemd", "closed-engine", "halogen is published as a container image alone"),
        ("network: host", "closed-engine",
         "halogen's API listens on every address there, and its engine's port 8730 has no authentication"),
        ("port: 8730", "unexpected-value",
         "8730 is the port of halogen's engine, which has no authentication and is never published"),
        ("slots: 65", "unexpected-value", "halogen takes at most 64 slots"),
        ("context: 262145", "unexpected-value",
         "past 262144 tokens halogen needs the RoPE factor, which changes its answers at any length"),
        ("context: 1048577", "unexpected-value",
         "halogen takes at most 1048576 tokens here, and 1048577 are asked for"),
        ("context: 1048576, env: {HALOGEN_ROPE_YARN: '2'}", "unexpected-value",
         "halogen takes at most 524288 tokens here, and 1048576 are asked for"),
        ("env: {HALOGEN_PORT: '8731'}", "closed-engine",
         "HALOGEN_PORT: the engine's port has no authentication, and stays inside the container"),
        ("env: {HALOGEN_BIND: 0.0.0.0}", "closed-engine",
         "HALOGEN_BIND: the engine's port has no authentication, and stays inside the container"),
        ("env: {HALOGEN_CTX: '4096'}", "unexpected-value", "HALOGEN_CTX is decided by `context`"),
        ("env: {LLAMA_ARG_CTX_SIZE: '1'}", "closed-engine",
         "LLAMA_ARG_CTX_SIZE is read by llama-server, and by nothing in halogen"),
        ("env: {HF_TOKEN: hf_x}", "literal-secret", "HF_TOKEN in `env` is a key in git"),
        ("env: {HALOGEN_MAX_TOK: '0'}", "unexpected-value",
         "HALOGEN_MAX_TOK is the width of one prefill call, and with 0 the server does not start"),
        ("env: {HALOGEN_MAX_TOK: '262144'}", "unexpected-value",
         "HALOGEN_MAX_TOK is the width of one prefill call, and with 262144 the server does not start"),
        ("env: {HALOGEN_PROMPT_CACHE: '3'}", "unexpected-value", "HALOGEN_PROMPT_CACHE does not take '3'"),
        ("env: {HALOGEN_CACHE_FILE: /models/snap}", "unsafe-value",
         "HALOGEN_CACHE_FILE: nothing that it may write is mounted at /models/snap in the container"),
        ("limits: {memlock: 1GiB}", "does-not-fit", "halogen takes at least 68.0 GiB, and `memlock` allows 1.0 GiB"),
        ("limits: {memory: 32GiB}", "does-not-fit", "halogen takes at least 103.0 GiB, and `memory` allows 32.0 GiB"),
        ("env: {HALOGEN_MAX_TOK: 16k}", "unexpected-value", "HALOGEN_MAX_TOK takes a whole number, and '16k' is none"),
        ("env: {HALOGEN_KV_POOL_POSITIONS: '131072'}", "unexpected-value",
         "a pool of 131072 positions is less than one conversation of 262144 tokens"),
        ("bind: 0.0.0.0", "exposed", "0.0.0.0 is reached from other machines, and the server has no API key"),
    ],
)  # fmt: skip
def test_what_it_has_nothing_for_is_refused_with_its_reason(fields: str, code: str, message: str) -> None:
    problem = refusal(halo(fields))
    assert (problem.code, problem.message) == (code, message)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("{file: a.gguf}", "halogen's checkpoint is an .hgn file, and a.gguf is none"),
        ("{url: 'https://example.org/a.hgn'}", "halogen fetches its checkpoint from a repository of the hub alone"),
        ("{hf: 'org/repo:Q4'}", "halogen's repositories hold one checkpoint, so there is nothing to choose by `:`"),
        ("{file: a.hgn, mtp: false}", "every checkpoint of halogen has its MTP head in the file"),
        ("{file: a.hgn, mtp: head.gguf}", "every checkpoint of halogen has its MTP head in the file"),
        ("{file: a.hgn, mmproj: p.gguf}",
         "`mmproj` of the model flash: halogen reads images by HALOGEN_VISION_TOWER in `env`"),
    ],
)  # fmt: skip
def test_a_model_that_is_none_of_its_own_is_refused(model: str, message: str) -> None:
    top = TOP.replace("{file: flash/qwen38-flash-next-w4b.hgn}", model)
    problem = refusal(halo(top=top))
    assert (problem.code, problem.message) == ("closed-engine", message)


def test_everything_wrong_with_a_service_is_said_in_one_run() -> None:
    found = refusals(halo("flags: {jinja: true}, lora: [a.gguf], slots: 99, port: 8730, start_timeout: 1m"))
    assert [problem.code for problem in found].count("closed-engine") == 2
    assert len(found) == 5


def test_a_long_context_is_taken_with_its_factor() -> None:
    said = environment(halo("context: 1048576, env: {HALOGEN_ROPE_YARN: '4'}"))
    assert {"HALOGEN_CTX=1048576", "HALOGEN_ROPE_YARN=4"} <= set(said)


def test_a_queue_that_gives_up_before_a_full_request_ends_is_warned_of() -> None:
    for env, which in (
        ("HALOGEN_MAX_TOKENS_CAP: '131072'", "HALOGEN_MAX_TOKENS_CAP"),
        ("HALOGEN_QUEUE_TIMEOUT: '60'", "HALOGEN_QUEUE_TIMEOUT"),
    ):
        (problem,) = compile_text(halo(f"env: {{{env}}}")).problems
        assert (problem.severity, problem.path) == (Severity.WARNING, ("hosts", "halo", "env", which))
    both = "env: {HALOGEN_MAX_TOKENS_CAP: '131072', HALOGEN_QUEUE_TIMEOUT: '7200'}"
    assert compile_text(halo(both)).problems == ()


def test_an_engine_entry_that_is_no_halogen_is_refused() -> None:
    for old, new, message in (
        ("[rocm]", "[rocm, vulkan]", "halogen runs on AMD gfx1151 by ROCm, and on nothing else"),
        ("backends:", "flags: t.json, backends:", "halogen has no flags, so it has no flag table"),
    ):
        problem = refusal(halo(top=TOP.replace(old, new)), {"t.json": '{"format": 1, "build": "x", "options": []}'})
        assert (problem.code, problem.message) == ("closed-engine", message)


def test_an_open_halogen_is_told_of_what_it_has() -> None:
    problem = refusal(halo("bind: 0.0.0.0"))
    assert problem.hint == "put a proxy before it, or `api_key: false` if it is open on purpose"
    assert "PublishPort=0.0.0.0:8731:8731" in unit(halo("bind: 0.0.0.0, api_key: false"))


def test_a_podman_that_is_too_old_for_it_has_no_way_out_by_systemd() -> None:
    assert refusal(halo('podman: "4.6.0"')).hint == (
        "use Podman 4.7.0 or newer, or `health: false` to start without waiting for the server"
    )


def test_a_network_that_is_none_is_refused_for_itself_alone() -> None:
    assert refusal(halo("network: none")).message == "'none' names no Podman network"


def test_a_fleet_may_have_a_seccomp_profile_of_its_own_for_it() -> None:
    for said, written in (("/etc/halogen.json", ["/etc/halogen.json"]), ("null", [])):
        text = unit(halo(f"unit: {{Container: {{SeccompProfile: {said}}}}}"))
        assert values(text, "Container", "SeccompProfile") == written


def test_its_own_template_cannot_loosen_what_was_decided() -> None:
    template = "[Container]\nImage={{ unit.image | last }}\nSeccompProfile=/etc/other.json\nExec=all\n"
    found = refusals(halo(), {"templates/halogen.container.j2": template})
    assert {problem.code for problem in found} == {"unit-changed-by-template"}
    assert any("SeccompProfile=" in problem.message for problem in found)


def test_limits_of_the_fleet_win_over_the_engines() -> None:
    assert values(unit(halo("limits: {memlock: 96GiB}")), "Container", "Ulimit") == [
        "memlock=103079215104:103079215104"
    ]


def test_its_checkpoint_is_nothing_for_llama_server() -> None:
    top = TOP.replace("kind: halogen", "kind: llama.cpp")
    problem = refusal(halo("context: 4096", top=top))
    assert problem.code == "unexpected-value"
    assert problem.message == (
        "flash/qwen38-flash-next-w4b.hgn is a checkpoint of halogen, and llama-server reads GGUF files"
    )


def test_a_user_who_may_not_lock_memory_ends_the_start_with_a_reason() -> None:
    # rootless Podman 5.4.2 and 5.8.6 lower `memlock=-1:-1` to the user's own limit and say nothing
    compiled = accepted(halo("rootless: ada"))
    (text,) = units(compiled).values()
    checks = [line for line in values(text, "Service", "ExecStartPre") if "ulimit" in line]
    (check,) = checks
    assert check.startswith('/bin/sh -c "test \\"$$(ulimit -Hl)\\" = unlimited || { echo ')
    assert b'"memlock": ["ada"]' in compiled.trees[0].manifest
    for fields in ("", "rootless: ada, limits: {memlock: 96GiB}"):
        compiled = accepted(halo(fields))
        assert "ulimit" not in next(iter(units(compiled).values()))
        assert b'"memlock": []' in compiled.trees[0].manifest


def test_a_machine_of_its_own_takes_the_context_that_its_documentation_measured_there() -> None:
    # README, "1M context": started and served on 128 GB, where the reserve for other things is none
    whole = "memory: 128GiB, context: 1048576, env: {HALOGEN_ROPE_YARN: '4'}"
    assert units(accepted(halo(whole)))
    problem = refusal(halo(whole.replace("128GiB", "96GiB")))
    assert problem.code == "does-not-fit"
    assert problem.hint == TOO_SMALL


TOO_SMALL = "the machine is too small for halogen as the fleet sets it"


def test_only_what_is_left_to_set_is_proposed_where_it_does_not_fit() -> None:
    pool, prefill = 'HALOGEN_KV_POOL_POSITIONS: "262144"', 'HALOGEN_MAX_TOK: "16384"'
    for memory, env, proposed in (
        (90, "", f"{pool}, {prefill}"),
        (100, "", pool),
        (90, prefill, pool),
        (90, pool, prefill),
    ):
        problem = refusal(halo(f"memory: {memory}GiB, env: {{{env}}}"))
        assert problem.hint == f"set for halogen: env: {{{proposed}}}"
        both = ", ".join(filter(None, (env, proposed)))
        assert units(accepted(halo(f"memory: {memory}GiB, env: {{{both}}}")))


@pytest.mark.parametrize(
    "fields",
    [
        "memory: 64GiB",
        "memory: 80GiB",
        "memory: 80GiB, context: 16384",
        'memory: 80GiB, env: {HALOGEN_KV_POOL_POSITIONS: "262144", HALOGEN_MAX_TOK: "16384"}',
    ],
)
def test_nothing_is_proposed_where_nothing_makes_it_fit(fields: str) -> None:
    assert refusal(halo(fields)).hint == TOO_SMALL


def test_a_factor_that_no_context_needs_is_warned_of() -> None:
    (problem,) = compile_text(halo("env: {HALOGEN_ROPE_YARN: '4'}")).problems
    assert problem.severity is Severity.WARNING
    assert problem.message == "the RoPE factor changes its answers at any length, and 262144 tokens need none"


def test_a_snapshot_may_lie_where_the_container_keeps_it_for_as_long_as_it_runs() -> None:
    assert "HALOGEN_CACHE_FILE=/var/tmp/halogen-cache.snapshot" in environment(
        halo("env: {HALOGEN_CACHE_FILE: /var/tmp/halogen-cache.snapshot}")
    )
    problem = refusal(halo("env: {HALOGEN_CACHE_DIR: /kept}, volumes: ['/srv/kept:/kept:ro,z']"))
    assert problem.message == "HALOGEN_CACHE_DIR: nothing that it may write is mounted at /kept in the container"


def test_a_field_that_a_whole_fleet_says_is_taken_back_for_its_service() -> None:
    (problem,) = refusals(
        f"{TOP}defaults: {{flags: {{jinja: true}}}}\nhosts:\n  halo: {{backend: rocm, model: flash}}\n"
    )
    assert problem.hint == "say `flags: null` for this service, which inherits it"
    assert units(accepted(halo("flags: null").replace("hosts:", "defaults: {flags: {jinja: true}}\nhosts:")))


def test_the_sum_is_what_its_own_documentation_measured() -> None:
    # README, "Context and memory": 27.8, 35.0 and 42.2 GB of the device at three pools, 68 GiB of weights
    for pool, device in (("262144", 27.8), ("524288", 35.0), ("786432", 42.2)):
        compiled = accepted(halo(f"env: {{HALOGEN_KV_POOL_POSITIONS: '{pool}', HALOGEN_HOST_RESERVE_GIB: '7'}}"))
        (service,) = compiled.resolved.hosts["halo"]
        sizes = [share.size / 2**30 for share in service.memory]
        assert (sizes[0], sizes[-1]) == (68, 7)
        assert abs(sum(sizes[1:-1]) - device) < 0.1
