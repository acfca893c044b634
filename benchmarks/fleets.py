"""Prints a fleet file with any number of hosts: `python -m benchmarks.fleets 1000 --revision 2 > fleet.yml`.

Five kinds of host take turns, and no two services are alike: each has an alias and a port of its own, so that
nothing can be rendered once and used again. Another revision changes every alias, and with it every file. A fleet
declares only what its hosts use. The text depends on the two numbers alone.
"""

import argparse
import sys
from collections.abc import Callable

_ENGINES = {
    "vulkan": """\
  vulkan:
    kind: llama.cpp
    build: b10715
    backends: [vulkan]
    image: ghcr.io/ggml-org/llama.cpp:server-vulkan-b10715
""",
    "cuda": """\
  cuda:
    kind: llama.cpp
    build: b10715
    backends: [cuda]
    binary: /opt/llama.cpp/b10715-cuda-sm86/llama-server
    image: ghcr.io/ggml-org/llama.cpp:server-cuda-b10715
""",
    "cpu": """\
  cpu:
    kind: llama.cpp
    build: b10434
    backends: [cpu]
    image: ghcr.io/ggml-org/llama.cpp:server-b10434
""",
}
_MODELS = {
    "qwen3.8-27b": "  qwen3.8-27b: {file: Qwen3.8-27B-UD-Q4_K_S.gguf, mtp: true, size: 15.9GiB}\n",
    "bge-m3": "  bge-m3: {file: bge-m3-Q8_0.gguf, mtp: false, size: 0.6GiB}\n",
    "gemma-3-270m": "  gemma-3-270m: {file: gemma-3-270m-q4_k_m.gguf, mtp: false, size: 241MiB}\n",
}
_PROFILE = """\
profiles:
  rewrite:
    summary: n-gram lookup for a small model that repeats its input
    spec_types: [ngram-simple]
    workload: copy
    against: none
"""
_LAYERS = """\
defaults:
  models_dir: /srv/models
  selinux: disable
groups:
  desk: {context: 32768, gpu_reserve: 2.4GiB}
  rack:
    context: 16384
    bind: 0.0.0.0
    api_key: {secret: llama-key}
    labels: {site: rack, tier: inference}
  quiet: {env: {GGML_LOG_PREFIX: "0", GGML_LOG_TIMESTAMPS: "0"}, flags: {log-verbosity: 1}}
"""
_CARD = "gpus: [{name: NVIDIA GeForce RTX 3090, vram: 24GiB}]"


def _desk(name: str, alias: str, port: int) -> str:
    return f"""\
  {name}:
    groups: [desk]
    backend: vulkan
    {_CARD}
    model: qwen3.8-27b
    profile: default
    alias: {alias}
    port: {port}
"""


def _rack(name: str, alias: str, port: int) -> str:
    return f"""\
  {name}:
    groups: [rack]
    backend: cuda
    {_CARD}
    model: qwen3.8-27b
    profile: copy
    alias: {alias}
    port: {port}
"""


def _small(name: str, alias: str, port: int) -> str:
    return f"""\
  {name}:
    groups: [quiet]
    backend: cpu
    model: gemma-3-270m
    profile: rewrite
    context: 8192
    slots: 2
    alias: {alias}
    port: {port}
"""


def _native(name: str, alias: str, port: int) -> str:
    return f"""\
  {name}:
    backend: cuda
    runtime: systemd
    {_CARD}
    services:
      chat:
        model: qwen3.8-27b
        profile: copy
        alias: {alias}-chat
        port: {port}
        context: 32768
      embed:
        model: bge-m3
        profile: none
        alias: {alias}-embed
        port: {port + 1}
        context: 8192
        flags: {{embeddings: true, pooling: cls}}
"""


def _lab(name: str, alias: str, port: int) -> str:
    return f"""\
  {name}:
    groups: [desk, quiet]
    backend: vulkan
    {_CARD}
    model: qwen3.8-27b
    alias: {alias}
    port: {port}
    flags: {{flash-attn: "on", cache-reuse: 256}}
    env: {{GGML_VK_PREFER_HOST_MEMORY: "0"}}
    labels: {{owner: lab}}
    after: [network-online.target]
    stop_timeout: 45s
"""


_KINDS: tuple[tuple[Callable[[str, str, int], str], tuple[str, ...], tuple[str, ...]], ...] = (
    (_desk, ("vulkan",), ("qwen3.8-27b",)),
    (_rack, ("cuda",), ("qwen3.8-27b",)),
    (_small, ("cpu",), ("gemma-3-270m",)),
    (_native, ("cuda",), ("qwen3.8-27b", "bge-m3")),
    (_lab, ("vulkan",), ("qwen3.8-27b",)),
)
"""Each kind of host, with the engines and the models that it uses."""


def fleet(hosts: int, *, revision: int = 1) -> str:
    """The text of a fleet of `hosts` hosts, at least 1."""
    kinds = _KINDS[:hosts]
    engines = {name for _, names, _ in kinds for name in names}
    models = {name for _, _, names in kinds for name in names}
    head = [
        "version: 1\nengines:\n",
        *(text for name, text in _ENGINES.items() if name in engines),
        "models:\n",
        *(text for name, text in _MODELS.items() if name in models),
        _PROFILE if "cpu" in engines else "",
        _LAYERS,
        "hosts:\n",
    ]
    body = (
        _KINDS[index % len(_KINDS)][0](f"edge-{index:05d}", f"model-{index:05d}-r{revision}", 10000 + 2 * index % 50000)
        for index in range(hosts)
    )
    return "".join((*head, *body))


def main() -> None:
    """Print the fleet that the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("hosts", type=int)
    parser.add_argument("--revision", type=int, default=1)
    asked = parser.parse_args()
    sys.stdout.write(fleet(asked.hosts, revision=asked.revision))


if __name__ == "__main__":
    main()
