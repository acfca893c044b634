"""Fleets that somebody got wrong: a good one in which almost every field is said, changed at random places by junk.

The junk is of every kind that YAML has, and of every kind that a unit file, a shell or a path gives a meaning.
"""

import math
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import yaml
from hypothesis import strategies as st

FLEET: dict[str, Any] = yaml.safe_load(
    """
    version: 1
    policy: {evidence: model, min_gain: 1.0, build: warn, device: warn, exposed: warn, digest: ignore}
    measurements: [rows.yml]
    engines:
      gpu: {kind: llama.cpp, build: b10715, backends: [vulkan], entrypoint: [/app/llama-server],
            image: "ghcr.io/ggml-org/llama.cpp:server-vulkan-b10715", binary: /opt/llama.cpp/llama-server}
      cpu: {kind: llama.cpp, build: b10434, backends: [cpu], binary: /opt/llama.cpp/llama-server,
            image: "ghcr.io/ggml-org/llama.cpp:server-b10434"}
    models:
      headed: {file: headed-00001-of-00002.gguf, id: qwen3.8-27b, mtp: true, size: 15.9GiB}
      plain: {file: /srv/other/plain.gguf, mtp: false, chat_template_file: chat.jinja}
      drafter: {file: drafter.gguf, mtp: false}
      fetched: {hf: "org/repo:Q4_K_M", mtp: false}
    profiles:
      rewrite: {summary: lookup, spec_types: [ngram-mod], flags: {spec-ngram-mod-n-max: 48}, workload: copy,
                against: none}
      pair: {spec_types: [draft-simple, ngram-cache], draft_n_max: 5, draft_model: drafter, workload: prose,
             against: default, needs_mtp: false}
    defaults: {models_dir: /srv/models, context: 8192, env: {GGML_LOG: "1"}, labels: {owner: "a team"}}
    groups:
      desk: {slots: 2, gpu_reserve: 2.4GiB, flags: {temp: 0.7, top-k: 40}, unit: {Service: {Nice: 5}}}
    hosts:
      claw:
        groups: [desk]
        backend: vulkan
        selinux: relabel
        gpus: [{name: NVIDIA GeForce RTX 3090, vram: 24GiB, id: renderD128, reserve: 1GiB}, {id: renderD129}]
        memory: 64GiB
        services:
          chat: {model: headed, profile: default, port: 8080, devices: [0], alias: chat, cache_type: {k: q8_0, v: q8_0},
                 network: [llm.network], bind: 127.0.0.1, restart: {policy: on-failure, delay: 5s, tries: 3},
                 health: {interval: 20s, timeout: 5s, retries: 2, start_period: 5m}, after: [embed, mnt-nas.mount],
                 limits: {memory: 32GiB, cpus: 4, pids: 500, shm: 1GiB, memlock: unlimited, nofile: 4096},
                 volumes: ["/srv/data:/data:ro,z"], secrets: {HF_TOKEN: hf-token, /run/keys/x: x}, pull: newer,
                 api_key: {secret: llama-key}, auto_update: registry, extra_args: [--threads, "8"]}
          embed: {model: plain, profile: none, port: 8081, flags: {embeddings: true, pooling: cls}, stop_timeout: 20,
                  start_timeout: 10m, conflicts: [chat], lora: [a.gguf], publish: false, autostart: false,
                  unit: {Container: {PodmanArgs: ["--cap-add=SYS_NICE"]}, Unit: {After: network-online.target}}}
          hub: {model: fetched, backend: cpu, port: 8082, health: false, bind: "::1", pull: missing}
      hearth:
        backend: cpu
        runtime: systemd
        user: llama
        model: plain
        profile: rewrite
        address: hearth.lan
        env: {OMP_NUM_THREADS: "4"}
        limits: {memory: 8GiB, cpus: 2.5}
        flags: {chat-template-kwargs: {enable_thinking: false}}
      nook: {backend: cpu, podman: "5.8.2", rootless: ada, home: /home/ada, model: drafter, port: 8090, restart: always}
    """
)
ROWS = """\
version: 1
measurements:
- {id: r1, engine: llama.cpp, build: b10434, backend: cpu, device: a CPU, model: plain, workload: copy,
   setting: {spec_types: [ngram-mod], flags: {spec-ngram-mod-n-max: 48}}, against: none, ratio: 1.4, samples: 5,
   source: a test}
"""
Path_ = tuple[str | int, ...]

WORDS = [
    "", " ", "x", "~", "..", "/", "//", "/etc", "/etc/llama.cpp", "/nonexistent/llama.cpp", "~/x", "../x", "a/../b",
    "a b", "a,b", "a:b", "-", "--", "-md", "--spec-type", "--spec-type=ngram-mod", "LLAMA_ARG_SPEC_TYPE=ngram-mod",
    "ngram-mod", "draft-mtp", "copy", "default", "none", "null", "on", "off", "yes", "010", "0x10", "1e5", "1.10",
    "08080", "22:22", "8080", "127.0.0.2", "::", "[::1]", "localhost", "5.4.2", "4.3", "x.volume:/data", "/srv/a:/b:Z",
    "x.service", "x.container", "chat", "embed", "headed", "plain", "gpu", "cpu", "vulkan", "llm.network", "host",
    "${HOME}", "$HOME", "%h", "%", "$", ";", "\\", 'a"b', "a'b", '"', "a\\", "a;b", "a\nb", "\t", "\x07", "\x1b[31m",
    "\x7f", "\x85", "\xa0", "\u2028", "\u202e", "\ufeff", "\U0001f600", "\ufffe", "é" * 300, "k" * 4000,
    "15m", "infinity", "24GiB", "24", "sha256:0", "a@b", "https://user:pass@h/x", "https://h/x.gguf", "org/repo",
    "{}", "[]", "{{ x }}", "{% x %}", "#x", "!x", "&x", "*x", "? x", "- x", "x: y", "|", ">", "@x", "`x",
]  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=12),
    st.text(alphabet="ab/:=-_.,%$;{}\"\\' \n~@#é\u2028", max_size=12),
    st.text(alphabet="ab/:=-_.", min_size=1, max_size=12).map(lambda text: f"/srv/{text}"),
)
OPEN = ["log-file", "grammar", "chat-template", "override-kv", "samplers", "api-prefix", "rpc", "tools", "temp", "seed"]
"""Flags that take text of any kind, a list or a number."""
LINES = {
    "Unit": ["Description", "Documentation", "After", "X-A"],
    "Service": ["Nice", "ExecStartPre", "X-A", "BindPaths"],
    "Install": ["WantedBy", "Alias"],
    "Container": [
        "AddCapability",
        "AddDevice",
        "AddHost",
        "Annotation",
        "DNS",
        "GlobalArgs",
        "GroupAdd",
        "HostName",
        "LogOpt",
        "Mask",
        "PodmanArgs",
        "Sysctl",
        "Timezone",
        "Ulimit",
        "Unmask",
        "WorkingDir",
    ],
}
"""Keys of units to which a fleet may add."""
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 3, 63, 64, 8080, 65536, 2**31, 2**63, 10**40]),
    st.sampled_from([0.0, -0.5, 1.0, 0.001, 1e-300, 1e300, math.inf, -math.inf, math.nan]),
    TEXTS,
)
KEYS = st.one_of(
    st.sampled_from([*WORDS, "model", "Exec", "Service", "Container", "spec-type", "PodmanArgs"]), st.text()
)
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=5
)


def paths(value: object, at: Path_ = ()) -> Iterator[Path_]:
    """Every place of a value, the value itself included."""
    yield at
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from paths(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from paths(inner, (*at, index))


PLACES = [path for path in paths(FLEET) if path]


def found_at(fleet: Any, path: Path_) -> Any:
    for part in path:
        fleet = fleet[part]
    return fleet


@st.composite
def fleets(draw: st.DrawFn) -> Any:
    """The good fleet with a few changes; a change of a place that an earlier one took away does nothing."""
    fleet = deepcopy(FLEET)
    for _ in range(draw(st.integers(0, 3))):
        change(draw, fleet, draw(st.sampled_from(PLACES)))
    for _ in range(draw(st.integers(0, 2))):
        try:
            add(draw, fleet["hosts"][draw(st.sampled_from(["hearth", "nook"]))])
        except (KeyError, TypeError, AttributeError):
            continue
    return fleet


def change(draw: st.DrawFn, fleet: Any, path: Path_) -> None:
    """Take something out, put something else in its place, or give it another name."""
    kind = draw(st.sampled_from(["delete", "junk", "junk", "text", "key", "copy", "repeat", "rename"]))
    try:
        above, last = found_at(fleet, path[:-1]), path[-1]
        if kind == "delete":
            del above[last]
        elif kind == "junk":
            above[last] = draw(JUNK)
        elif kind == "text" and isinstance(above[last], str):
            above[last] = draw(TEXTS)
        elif kind == "key" and isinstance(above[last], dict):
            above[last][draw(KEYS)] = draw(JUNK)
        elif kind == "copy":
            above[last] = deepcopy(found_at(fleet, draw(st.sampled_from(PLACES))))
        elif kind == "repeat" and isinstance(above[last], list):
            above[last].extend(deepcopy(above[last]))
        elif kind == "rename" and isinstance(above, dict):
            above[draw(KEYS)] = above.pop(last)
    except (KeyError, IndexError, TypeError):
        return


def add(draw: st.DrawFn, host: Any) -> None:
    """Say something in a field that takes almost any text, so that much of it is accepted."""
    kind = draw(st.sampled_from(["env", "labels", "flags", "alias", "extra_args", "unit"]))
    if kind == "env":
        host.setdefault("env", {})["A"] = draw(TEXTS)
    elif kind == "labels":
        host.setdefault("labels", {})[draw(TEXTS)] = draw(TEXTS)
    elif kind == "flags":
        host.setdefault("flags", {})[draw(st.sampled_from(OPEN))] = draw(TEXTS | st.lists(TEXTS, max_size=3))
    elif kind == "alias":
        host["alias"] = draw(TEXTS)
    elif kind == "extra_args":
        host["extra_args"] = ["--log-file", draw(TEXTS)]
    else:
        section = draw(st.sampled_from(list(LINES)))
        key = draw(st.sampled_from(LINES[section]))
        host["unit"] = {section: {key: draw(TEXTS | st.lists(TEXTS, max_size=2))}}


def scalar(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan" if math.isnan(value) else repr(value))
    if isinstance(value, int):
        return str(value)
    return '"' + "".join(map(character, str(value))) + '"'


def character(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08X}"


def written(value: object, indent: int = 0) -> str:
    """The value as YAML, in blocks, so that problems stand on lines of their own."""
    start = "\n" + "  " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{start}{scalar(key)}: {written(inner, indent + 1)}" for key, inner in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{start}- {written(inner, indent + 1)}" for inner in value)
    return "{}" if isinstance(value, dict) else "[]" if isinstance(value, list) else scalar(value)
