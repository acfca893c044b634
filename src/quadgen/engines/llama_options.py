"""What is known of llama-server's options beyond their help: who decides them here, and what their handlers take.

The handlers are those of common/arg.cpp at b10435 and b11434 (https://github.com/ggml-org/llama.cpp), where nothing
else is said. Options are named by their canonical long name.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

OWNED: Final[Mapping[str, str]] = {
    "--model": "model", "--hf-repo": "model", "--hf-file": "model", "--model-url": "model", "--docker-repo": "model",
    "--alias": "alias", "--host": "bind", "--port": "port", "--ctx-size": "context", "--parallel": "slots",
    "--cache-type-k": "cache_type", "--cache-type-v": "cache_type", "--device": "devices", "--mmproj": "mmproj",
    "--mmproj-url": "mmproj", "--mmproj-auto": "mmproj", "--chat-template-file": "chat_template_file", "--lora": "lora",
    "--kv-unified-per-slot": "context",  # a slot has no more: n_ctx_slot in tools/server/server-context.cpp
    "--api-key-file": "api_key", "--api-key": "api_key",
}  # fmt: skip
"""Options that a field of the fleet decides."""

ALWAYS: Final = frozenset({"--metrics"})
"""Options of quadgen's own that no flag turns off: without them nothing can be observed."""

ENDING: Final = frozenset({"--cache-list", "--completion-bash", "--help", "--list-devices", "--usage", "--version"})
"""Options that make a server print something and end."""

KEYS: Final[Mapping[str, str]] = {"--api-key": "api_key: {secret: NAME}", "--hf-token": "secrets: {HF_TOKEN: NAME}"}
"""Options whose value is a key, with the field that keeps it out of git."""

JSON: Final = frozenset({"--chat-template-kwargs", "--json-schema", "--mcp-servers-json", "--ui-config"})
"""Options that take a JSON object. Of a list, --chat-template-kwargs would take the positions for names."""

QUANTISED: Final = frozenset({"q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"})
"""Types of a cache that, for its values, need flash attention (src/llama-context.cpp:3849 of b11434)."""

PLACING: Final[Mapping[str, str]] = {
    "--mmproj-device": "none", "--override-tensor": "CPU", "--spec-draft-override-tensor": "CPU",
}  # fmt: skip
"""Options that name devices, with the word for the CPU; the server ends at one that it does not see."""

LARGEST: Final = 2**31 - 1
"""Of a whole number that llama-server reads with std::stoi; beyond it the server ends at once."""

_LAYERS: Final = 1024
"""Twice as many as a model may have (LLAMA_MAX_LAYERS of src/llama-hparams.h). The server notes each; with all that is
placed so, one list of 4096 must not be full (llama_max_tensor_buft_overrides of src/llama.cpp), or it aborts at load.
"""

_THREADS: Final = 512
"""GGML_MAX_N_THREADS of ggml/include/ggml.h; with many more a server dies at load, or at the first request."""

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "--batch-size": (2, LARGEST),  # with 0 and 1 the server aborts at load, below 0 it reads a huge one
    "--checkpoint-min-step": (0, LARGEST),
    "--dry-penalty-last-n": (0, LARGEST),
    "--mirostat": (0, 2),  # GGML_ASSERT in common/sampling.cpp
    "--n-cpu-ffn": (0, _LAYERS),
    "--n-cpu-moe": (0, _LAYERS),
    "--poll": (0, 100),  # the hint of its help; nothing refuses another
    "--prio": (-1, 3),
    "--prio-batch": (0, 3),
    "--reasoning-budget": (-1, LARGEST),
    "--repeat-last-n": (0, LARGEST),
    "--seed": (-LARGEST - 1, 2**32 - 1),  # std::stoul into 32 bits
    "--sleep-idle-seconds": (-1, LARGEST),
    "--spec-draft-n-cpu-moe": (0, _LAYERS),
    "--spec-draft-n-max": (0, LARGEST),
    "--spec-draft-prio": (0, 3),
    "--spec-draft-prio-batch": (0, 3),
    "--spec-draft-threads": (-1, _THREADS),
    "--spec-draft-threads-batch": (-1, _THREADS),
    "--spec-ngram-map-k-min-hits": (1, LARGEST),
    "--spec-ngram-map-k-size-m": (1, 1024),
    "--spec-ngram-map-k-size-n": (1, 1024),
    "--spec-ngram-map-k4v-min-hits": (1, LARGEST),
    "--spec-ngram-map-k4v-size-m": (1, 1024),
    "--spec-ngram-map-k4v-size-n": (1, 1024),
    "--spec-ngram-mod-n-match": (1, 1024),
    "--spec-ngram-mod-n-max": (0, 1024),
    "--spec-ngram-mod-n-min": (0, 1024),
    "--spec-ngram-simple-min-hits": (1, LARGEST),
    "--spec-ngram-simple-size-m": (1, 1024),
    "--spec-ngram-simple-size-n": (1, 1024),
    "--threads": (-1, _THREADS),
    "--threads-batch": (-1, _THREADS),
    "--ubatch-size": (1, LARGEST),  # 0 and less are read as one that is larger than any batch
}
"""Lowest and highest value of a whole number, where that is not what 32 bits hold."""

POSITIVE: Final = frozenset({"--repeat-penalty"})
"""Numbers that must be above 0: 0 and less end the server."""

_SAMPLERS: Final = (
    "dry", "top_k", "top_p", "top_n_sigma", "typ_p", "min_p", "temperature", "xtc", "infill", "penalties", "adaptive_p",
)  # fmt: skip

NAMED: Final[Mapping[str, tuple[str | None, frozenset[str]]]] = {
    "--samplers": (";", frozenset(name.replace("_", sign) for name in _SAMPLERS for sign in "_-")
                   | {name.replace("_", "") for name in _SAMPLERS} | {"nucleus", "temp", "typ"}),
    "--sampling-seq": (None, frozenset("dkypsmtxiea")),
}  # fmt: skip
"""Options whose value is a list of names: what stands between them, and all that common/sampling.cpp knows beside those
of the help. The server warns of others and goes on without them.
"""

NEVER: Final[Mapping[str, int]] = {"--parallel": 0, "--sleep-idle-seconds": 0}
"""The one value within its bounds that an option's handler refuses."""


class Shape(NamedTuple):
    """How a value is written that is neither a word of a list nor one number."""

    pattern: str
    """Of all of it; `re` compiles what is asked for, as few fleets say any of these options."""
    what: str
    """Goes after `takes`."""
    hint: Callable[[str], str | None] = lambda _: None
    """What to write for a value that has not this shape."""


_FRACTION: Final = r"(?:[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[01]?[0-9])?"
"""A number that std::stof takes: larger and smaller ones than a float holds end the server."""
_CPU: Final = "(?:[0-9]{1,2}|[1-4][0-9]{2}|50[0-9]|51[01])"
_SCALED: Final = rf'[^:,"]+:-?{_FRACTION}'
_KV: Final = (
    r'(?:[^=,"]{1,127}=(?:(?:int|float):[^,"]*|str:[^,"]{0,127}|bool:(?:true|false))'
    r'|"[^=,"]{1,127}=str:[^"]{0,127}")'
)
"""An override of one key; one that holds a comma stands in quotes."""
_MASK: Final = Shape("(?:0x)?[0-9a-fA-F]{1,128}", "a mask of hexadecimal digits, such as 0xff")
_RANGE: Final = Shape(f"{_CPU}?-{_CPU}?", "a range of CPUs up to 511, such as 0-7")
_FILE: Final = Shape("(?s:.+)", "the path of a file")
_DIRECTORY: Final = Shape("(?s:.+)", "the path of a directory")
_FACTORS: Final = Shape(f"{_SCALED}(?:,{_SCALED})*", "FILE:SCALE, with commas between several")
_BUFFERS: Final = Shape("[^=,]+=[^=,]+(?:,[^=,]+=[^=,]+)*", "PATTERN=BUFFER, where no pattern holds a comma")


def _prefix(value: str) -> str:
    path = value.strip("/")
    return f"write /{path}" if re.fullmatch(r"[\w.~/-]+", path, re.ASCII) else "letters, digits and ._~/- after a slash"


SHAPES: Final[Mapping[str, Shape]] = {
    # tools/server/server-http.cpp puts it in front of each path as it is; neither curl nor a shell may read it as more
    "--api-prefix": Shape(r"(?:/[A-Za-z0-9._~-]+)+", "a path such as /v1, without a slash at its end", _prefix),
    "--control-vector-scaled": _FACTORS,
    "--control-vector-layer-range": Shape("-?[0-9]{1,9}", "two whole numbers"),
    "--cpu-mask": _MASK,
    "--cpu-mask-batch": _MASK,
    "--cpu-range": _RANGE,
    "--cpu-range-batch": _RANGE,
    "--fit-target": Shape("[0-9]{1,9}(?:[,/][0-9]{1,9}){0,14}", "whole numbers of MiB with commas between"),
    "--grammar-file": _FILE,
    "--json-schema-file": _FILE,
    "--logit-bias": Shape(
        rf"[0-9]{{1,9}}[-+](?:{_FRACTION}|inf)", "a token and its bias, such as 15043-1 or 15043-inf"
    ),
    "--lora-scaled": _FACTORS,
    "--media-path": _DIRECTORY,
    "--mmproj-device": Shape("[^=,]+", "one device"),
    "--override-kv": Shape(
        f"{_KV}(?:,{_KV})*",
        "KEY=TYPE:VALUE, where TYPE is int, float, bool or str",
    ),
    "--override-tensor": _BUFFERS,
    "--rpc": Shape("[^,]+(?:,[^,]+)*", "HOST:PORT, with commas between several"),
    "--slot-save-path": _DIRECTORY,
    "--spec-draft-override-tensor": _BUFFERS,
    "--tensor-split": Shape(f"{_FRACTION}(?:[,/]{_FRACTION}){{0,14}}", "numbers with commas between"),
    "--ui-config-file": _FILE,
}
"""What anything else ends the server at; each of several values of an option has this shape."""


class Superseded(NamedTuple):
    """A key of an option's JSON that became an option of its own."""

    option: str
    key: str
    successor: str
    """The option; the table of a build says whether it is there."""
    use: Mapping[object, str]
    """What to write instead, by the key's value."""
    since: int
    """The first build that is known to warn of the key; 0 where each that has the successor does."""


SUPERSEDED: Final = (
    # common/arg.cpp of 9310, 9702, 10435, 10705, 10724 and 11434 warns of it, and unslothai/unsloth#7526
    Superseded(
        option="--chat-template-kwargs", key="enable_thinking", successor="--reasoning",
        use={True: "--reasoning on", False: "--reasoning off"}, since=0,
    ),
    # common/arg.cpp of 11434 warns of it, those of 10724 and before do not
    Superseded(
        option="--chat-template-kwargs", key="preserve_reasoning", successor="--reasoning-preserve",
        use={True: "--reasoning-preserve", False: "--no-reasoning-preserve"}, since=11434,
    ),
)  # fmt: skip
