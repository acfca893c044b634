"""Options that need each other, or of which only the last one counts; and what a batch must hold."""

import json
from typing import Any

import pytest

from fleets import CPU, accepted, marked, one, refusal

NATIVE = CPU + ", runtime: systemd"
CUDA = "{model: plain, backend: cuda, context: 4096, gpus: [{name: A}, {name: B}]"

LAST: list[tuple[dict[str, Any], str, str]] = [
    ({"flags": {"grammar": "root ::= x", "json-schema": "{}"}}, "--json-schema", "`flags.grammar`"),
    ({"flags": {"grammar-file": "/g"}, "extra_args": ["-j", "{}"]}, "--json-schema", "`flags.grammar-file`"),
    ({"extra_args": ["--grammar", "x", "-jf", "/s"]}, "--json-schema-file", "--grammar"),
    (
        {"chat_template_file": "t.jinja", "flags": {"chat-template": "chatml"}},
        "--chat-template",
        "`chat_template_file`",
    ),
    ({"flags": {"samplers": "top_k", "sampling-seq": "k"}}, "--sampling-seq", "`flags.samplers`"),
    ({"flags": {"ui-config": {}, "ui-config-file": "/u"}}, "--ui-config-file", "`flags.ui-config`"),
]


@pytest.mark.parametrize(("fields", "name", "other"), LAST)
def test_of_two_options_for_one_thing_none_is_lost_in_silence(fields: dict[str, Any], name: str, other: str) -> None:
    found = refusal(one(f"{NATIVE}, {json.dumps(fields)[1:-1]}}}"))
    assert found.code == "does-not-compose"
    assert found.message == f"{name} takes the place of {other}: only the last of them counts"


def test_a_certificate_without_its_key_is_refused_and_so_is_a_key_without_its_certificate() -> None:
    for name, other in (("--ssl-cert-file", "--ssl-key-file"), ("--ssl-key-file", "--ssl-cert-file")):
        found = refusal(one(f"{NATIVE}, flags: {{{name[2:]}: /c.pem}}}}"))
        assert (found.code, found.hint, marked(found)) == ("does-not-compose", f"add {other}", name[2:])
    accepted(one(f"{NATIVE}, flags: {{ssl-cert-file: /c.pem}}, extra_args: [--ssl-key-file, /k.pem]}}"))


def test_a_tensor_split_needs_a_gpu() -> None:
    found = refusal(one(f"{NATIVE}, flags: {{split-mode: tensor}}}}"))
    assert (found.code, marked(found)) == ("does-not-compose", "tensor")
    accepted(one(f"{CUDA}, flags: {{split-mode: tensor}}}}"))


@pytest.mark.parametrize(
    ("ratios", "message"),
    [
        ("1", "--tensor-split has 1 numbers, and this service has CUDA0, CUDA1"),
        ("1,2,3", "--tensor-split has 3 numbers, and this service has CUDA0, CUDA1"),
        ("0,0.0", "--tensor-split gives no device anything, and the server would split by what is free"),
    ],
)
def test_a_tensor_split_has_a_number_for_each_device(ratios: str, message: str) -> None:
    for fields in (f"flags: {{tensor-split: '{ratios}'}}", f"extra_args: [-ts, '{ratios}']"):
        found = refusal(one(f"{CUDA}, {fields}}}"))
        assert (found.code, found.message) == ("bad-flag-value", message)
    accepted(one(f"{CUDA}, flags: {{tensor-split: [3, 1]}}}}"))
    accepted(one(f"{CUDA}, extra_args: [-ts, '0/1']}}"))
    accepted(one(f"{NATIVE}, flags: {{tensor-split: '1,2,3'}}}}"))


@pytest.mark.parametrize("number", [-1, 2, 7])
def test_the_only_gpu_of_a_model_that_is_not_split_is_one_of_the_services(number: int) -> None:
    found = refusal(one(f"{CUDA}, flags: {{split-mode: none, main-gpu: {number}}}}}"))
    message = f"main-gpu {number} is none of the 2 devices of this service, CUDA0, CUDA1"
    assert (found.code, found.message, found.hint) == ("does-not-compose", message, "0 to 1, in their order")
    accepted(one(f"{CUDA}, flags: {{split-mode: none, main-gpu: 1}}}}"))


def test_a_batch_has_a_token_of_each_slot() -> None:
    found = refusal(one(f"{NATIVE}, slots: 3, flags: {{batch_size: 2}}}}"))
    assert (found.code, found.hint, marked(found)) == ("does-not-compose", "at least 3", "2")
    accepted(one(f"{NATIVE}, slots: 3, flags: {{batch-size: 3}}}}"))


def test_a_quantised_cache_beside_a_word_that_is_none_is_one_problem() -> None:
    assert refusal(one(f"{NATIVE}, cache_type: q8_0, flags: {{flash-attn: 'ON'}}}}")).code == "bad-flag-value"


def test_whether_a_projector_is_fetched_and_the_context_of_a_slot_are_decided_by_fields() -> None:
    for flag, field in (("mmproj-auto: true", "mmproj"), ("no-mmproj: false", "mmproj"),
                        ("no-mmproj: true", "mmproj"), ("kv-unified-per-slot: 512", "context")):  # fmt: skip
        found = refusal(one(f"{NATIVE}, flags: {{{flag}}}}}"))
        assert (found.code, found.hint) == ("duplicate-flag", f"use `{field}`")


def test_a_device_for_a_drafter_that_is_not_there_is_one_problem() -> None:
    found = refusal(one(f"{NATIVE}, profile: none, draft_device: [CUDA0]}}"))
    assert (found.code, found.message) == (
        "unexpected-value",
        "`draft_device` places a drafter, and this service has none",
    )
