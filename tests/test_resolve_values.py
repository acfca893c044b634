"""Values of fields: what the server, Podman or systemd would not read is refused, at its place and once."""

import pytest

from fleets import CPU, ENGINES, accepted, marked, one, problems, refusal, unit, values
from quadgen.problems import Severity


def words(fields: str) -> list[str]:
    """The server's arguments."""
    ((found,),) = accepted(one(fields)).resolved.hosts.values()
    return [str(word) for argument in found.arguments for word in argument.words]


@pytest.mark.parametrize(
    ("image", "good"),
    [
        ("ghcr.io/ggml-org/llama.cpp:server-b10715", True),
        ("localhost/llama:b10715", True),
        ("h:5000/a/b__c:b10715", True),
        (f"x.io/y:b10715@sha256:{'0' * 64}", True),
        (f"x.io/y@sha256:{'0' * 64}", True),
        ("x.io/y@sha256:0", False),
        ("x.io/y@latest", False),
        ("x.io/Y:b10715", False),
        ("x.io/", False),
        ("x.io/y:", False),
        ("x.io/y:a;b", False),
        ("docker://x.io/y:b10715", False),
        ("oci:/srv/y:b10715", False),
        ("x.io/$A/%h:b10715", False),
        ("y:b10715", False),
    ],
)
def test_an_image_is_a_reference_with_its_registry(image: str, good: bool) -> None:  # noqa: FBT001 - parametrised
    found = [each.code for each in problems(one(f"{CPU}, image: '{image}'}}")) if each.severity is Severity.ERROR]
    assert found == ([] if good else ["unexpected-value"])


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("threads: '8x'", "bad-flag-value"),
        ("threads: 4294967296", "bad-flag-value"),
        ("threads: ''", "bad-flag-value"),
        ("n-gpu-layers: most", "bad-flag-value"),
        ("temp: hot", "bad-flag-value"),
        ("temp: .inf", "bad-flag-value"),
        ("temp: '1 2'", "bad-flag-value"),
        ("temp: {a: 1}", "bad-flag-value"),
        ("threads: []", "bad-flag-value"),
        ("override-kv: []", "bad-flag-value"),
        (f"json-schema: '{'[' * 5000}'", "bad-flag-value"),
        ("'a=b': 1", "unexpected-value"),
        ('"a\\nb": 1', "unexpected-value"),
        ("'': 1", "unexpected-value"),
        ("-c: 1", "unexpected-value"),
    ],
)
def test_a_value_that_the_server_would_not_read_is_refused_once(said: str, code: str) -> None:
    assert refusal(one(f"{CPU}, flags: {{{said}}}}}")).code == code


@pytest.mark.parametrize(
    "said", ["temp: 0.7", "temp: .5", "temp: 1e-3", "seed: 4294967295", "threads: -1", "n-gpu-layers: all"]
)
def test_a_value_that_the_server_reads_goes_through_as_it_is_written(said: str) -> None:
    assert words(f"{CPU}, flags: {{{said}}}}}")[-1] == said.partition(": ")[2]


@pytest.mark.parametrize(
    "said",
    [
        "flags: {api-prefix: /llm}",
        "flags: {api_prefix: /llm}",
        "extra_args: [--api-prefix, /llm]",
        "extra_args: [--api_prefix, /llm]",
    ],
)
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_the_probe_asks_where_the_server_answers_however_the_flag_is_spelled(said: str, runtime: str) -> None:
    text = unit(one(f"{CPU}, runtime: {runtime}, {said}}}"))
    assert "http://127.0.0.1:8080/llm/health" in text


def test_the_probe_speaks_tls_where_the_server_does() -> None:
    text = unit(one(f"{CPU}, extra_args: [--ssl-cert-file, /models/c.pem, --ssl-key-file, /models/k.pem]}}"))
    assert "https://127.0.0.1:8080/health" in text


@pytest.mark.parametrize(
    "said",
    ["flags: {flash-attn: off}", "flags: {flash_attn: off}", "flags: {flash-attn: false}", "extra_args: [-fa, auto]"],
)
def test_a_quantised_cache_is_not_combined_with_attention_that_cannot_read_it(said: str) -> None:
    found = refusal(one(f"{CPU}, cache_type: q8_0, {said}}}"))
    assert found.code == "does-not-compose"


def test_a_context_for_all_slots_together_is_a_number_that_the_server_reads() -> None:
    assert "--ctx-size" in words("{model: plain, backend: cpu, engine: cpu, context: 8388607, slots: 256}")
    found = refusal(one("{model: plain, backend: cpu, engine: cpu, context: 8388608, slots: 256}"))
    assert (found.code, marked(found)) == ("unexpected-value", "8388608")


def test_a_server_has_no_more_slots_than_it_can_tell_apart() -> None:
    for slots in ("257", "2000"):
        found = refusal(one(f"{{model: plain, backend: cpu, engine: cpu, context: 4096, slots: {slots}}}"))
        assert (found.code, marked(found)) == ("unexpected-value", slots)
        assert found.message == "`slots` takes a whole number from 1 to 256"


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ("flags: {api-key: sk-hunter2}", "hunter2"),
        ("flags: {api_key: sk-hunter2}", "hunter2"),
        ("flags: {hf-token: hf_hunter2}", "hunter2"),
        ("extra_args: [--api-key, sk-hunter2]", "hunter2"),
        ("extra_args: [--api-key=sk-hunter2]", "hunter2"),
        ("extra_args: [-hft, hf_hunter2]", "hunter2"),
        ("env: {LLAMA_API_KEY: sk-hunter2}", "hunter2"),
        ("api_key: sk-hunter2", "hunter2"),
        ("api_key: {secret: k, value: sk-hunter2}", "hunter2"),
    ],
)
def test_a_key_in_the_fleet_is_refused_and_not_repeated(said: str, key: str) -> None:
    found = refusal(one(f"{CPU}, {said}}}"))
    assert found.code == "literal-secret"
    assert key not in repr(found)


@pytest.mark.parametrize("url", ["https://u:hunter2@h/x.gguf", "https://h/x.gguf?a=1&X-Token=hunter2"])
def test_a_key_in_an_address_is_one_too(url: str) -> None:
    found = refusal(ENGINES.replace("file: plain.gguf", f"url: '{url}'") + f"hosts:\n  claw: {CPU}}}\n")
    assert (found.code, "hunter2" in repr(found)) == ("literal-secret", False)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (
            'binary: /opt/llama.cpp/llama-server,\n    image: "ghcr.io/ggml-org/llama.cpp:server-b10715"',
            "binary: null",
            "unexpected-value",
        ),
        ('image: "ghcr.io/ggml-org/llama.cpp:server-b10715"', "image: [x]", "unexpected-value"),
        ("build: b10715, backends: [cpu]", "build: 'b10715 x', backends: [cpu]", None),
    ],
)
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_mistake_of_an_engine_is_told_alone(old: str, new: str, code: str | None, runtime: str) -> None:
    text = one(f"{CPU}, runtime: {runtime}}}").replace(old, new, 1)
    found = [each.code for each in problems(text) if each.severity is Severity.ERROR]
    assert found == ([] if code is None else [code])


def test_a_build_that_is_no_tag_makes_no_image() -> None:
    image = 'binary: /opt/llama.cpp/llama-server,\n    image: "ghcr.io/ggml-org/llama.cpp:server-b10715"'
    text = one(f"{CPU}}}").replace(
        f"build: b10715, backends: [cpu], {image}", "build: 'b10715 --privileged', backends: [cpu]"
    )
    found = refusal(text)
    assert (found.code, marked(found)) == ("unexpected-value", "'b10715 --privileged'")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("unit: {Service: {Nice: [1, 2]}}", "unexpected-value"),
        ("unit: {Container: {HostName: [a, b]}}", "unexpected-value"),
        ("unit: {Container: {RunInit: maybe}}", "unexpected-value"),
        ("unit: {Container: {Annotation: a}}", "unsafe-value"),
        ("unit: {Container: {AddDevice: '/dev/a /dev/b'}}", "unsafe-value"),
        ("unit: {Container: {Sysctl: ';'}}", "unsafe-value"),
        ("unit: {Unit: {After: network-online}}", "unsafe-value"),
        ("unit: {Unit: {After: x.container}}", "unsafe-value"),
        ("unit: {Install: {WantedBy: graphical}}", "unsafe-value"),
        ('unit: {Unit: {Description: "a\\x80"}}', "unsafe-value"),
        ("selinux: 'a b'", "unexpected-value"),
        ("labels: {io.containers.autoupdate: registry}", "unexpected-value"),
        ("limits: {memory: 9000000TiB}", "unexpected-value"),
        ("limits: {cpus: '2'}", "unexpected-value"),
        ("limits: {cpus: true}", "unexpected-value"),
    ],
)
def test_what_podman_or_systemd_would_drop_or_not_take_is_refused(said: str, code: str) -> None:
    assert refusal(one(f"{CPU}, {said}}}")).code == code


def test_a_unit_of_quadlet_s_is_named_as_it_is_where_podman_translates_it() -> None:
    text = unit(one(f"{CPU}, podman: '5.5.0', unit: {{Unit: {{After: x.container y.service}}}}}}"))
    assert values(text, "Unit", "After") == ["x.container y.service"]


@pytest.mark.parametrize("version", ["1.0", "true", '"1"', "2", "01"])
def test_the_version_of_the_format_is_the_number_1(version: str) -> None:
    assert refusal(one(f"{CPU}}}").replace("version: 1\n", f"version: {version}\n")).code == "unexpected-value"


def test_a_checkpoint_of_any_size_has_a_timeout_that_systemd_reads() -> None:
    text = unit(one(f"{CPU}}}").replace("file: plain.gguf", "file: plain.gguf, size: 1000TiB"))
    assert values(text, "Service", "TimeoutStartSec") == ["604800"]
