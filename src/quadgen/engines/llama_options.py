"""What is known of llama-server's options beyond their help: who decides them here, and what their handlers take.

The handlers are those of common/arg.cpp at b10435 and b11434 (https://github.com/ggml-org/llama.cpp), where nothing
else is said. Options are named by their canonical long name.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

OWNED: Final[Mapping[str, str]] = {
    "--model": "model", "--hf-repo": "model", "--hf-file": "model", "--model-url": "model", "--docker-repo": "model",
    "--alias": "alias", "--host": "bind", "--port": "port", "--ctx-size": "context", "--parallel": "slots",
    "--cache-type-k": "cache_type", "--cache-type-v": "cache_type", "--device": "devices", "--mmproj": "mmproj",
    "--mmproj-url": "mmproj", "--chat-template-file": "chat_template_file", "--lora": "lora",
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

BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "--checkpoint-min-step": (0, LARGEST),
    "--dry-penalty-last-n": (0, LARGEST),
    "--n-cpu-ffn": (0, LARGEST),
    "--n-cpu-moe": (0, LARGEST),
    "--poll": (0, 100),  # the hint of its help; nothing refuses another
    "--prio": (-1, 3),
    "--prio-batch": (0, 3),
    "--reasoning-budget": (-1, LARGEST),
    "--repeat-last-n": (0, LARGEST),
    "--seed": (-LARGEST - 1, 2**32 - 1),  # std::stoul into 32 bits
    "--sleep-idle-seconds": (-1, LARGEST),
    "--spec-draft-n-cpu-moe": (0, LARGEST),
    "--spec-draft-n-max": (0, LARGEST),
    "--spec-draft-prio": (0, 3),
    "--spec-draft-prio-batch": (0, 3),
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
}
"""Lowest and highest value of a whole number, where that is not what 32 bits hold."""

NEVER: Final[Mapping[str, int]] = {"--parallel": 0, "--sleep-idle-seconds": 0}
"""The one value within its bounds that an option's handler refuses."""


class Shape(NamedTuple):
    """How a value is written that is neither a word of a list nor one number."""

    matches: re.Pattern[str]
    what: str
    """Goes after `takes`."""


_FRACTION: Final = r"(?:[0-9]{1,9}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:[eE][-+]?[01]?[0-9])?"
"""A number that std::stof takes: larger and smaller ones than a float holds end the server."""
_CPU: Final = "(?:[0-9]{1,2}|[1-4][0-9]{2}|50[0-9]|51[01])"
_SCALED: Final = rf'[^:,"]+:-?{_FRACTION}'
_KV: Final = (
    r'(?:[^=,"]{1,127}=(?:(?:int|float):[^,"]*|str:[^,"]{0,127}|bool:(?:true|false))'
    r'|"[^=,"]{1,127}=str:[^"]{0,127}")'
)
"""An override of one key; one that holds a comma stands in quotes."""
_MASK: Final = Shape(re.compile("(?:0x)?[0-9a-fA-F]{1,128}"), "a mask of hexadecimal digits, such as 0xff")
_RANGE: Final = Shape(re.compile(f"{_CPU}?-{_CPU}?"), "a range of CPUs up to 511, such as 0-7")
_FILE: Final = Shape(re.compile(".+", re.DOTALL), "the path of a file")
_DIRECTORY: Final = Shape(re.compile(".+", re.DOTALL), "the path of a directory")
_FACTORS: Final = Shape(re.compile(f"{_SCALED}(?:,{_SCALED})*"), "FILE:SCALE, with commas between several")
_BUFFERS: Final = Shape(
    re.compile("[^=,]+=[^=,]+(?:,[^=,]+=[^=,]+)*"), "PATTERN=BUFFER, where no pattern holds a comma"
)

SHAPES: Final[Mapping[str, Shape]] = {
    "--control-vector-scaled": _FACTORS,
    "--control-vector-layer-range": Shape(re.compile("-?[0-9]{1,9}"), "two whole numbers"),
    "--cpu-mask": _MASK,
    "--cpu-mask-batch": _MASK,
    "--cpu-range": _RANGE,
    "--cpu-range-batch": _RANGE,
    "--fit-target": Shape(re.compile("[0-9]{1,9}(?:[,/][0-9]{1,9}){0,14}"), "whole numbers of MiB with commas between"),
    "--grammar-file": _FILE,
    "--json-schema-file": _FILE,
    "--logit-bias": Shape(
        re.compile(rf"[0-9]{{1,9}}[-+](?:{_FRACTION}|inf)"), "a token and its bias, such as 15043-1 or 15043-inf"
    ),
    "--lora-scaled": _FACTORS,
    "--media-path": _DIRECTORY,
    "--mmproj-device": Shape(re.compile("[^=,]+"), "one device"),
    "--override-kv": Shape(
        re.compile(f"{_KV}(?:,{_KV})*"),
        "KEY=TYPE:VALUE, where TYPE is int, float, bool or str",
    ),
    "--override-tensor": _BUFFERS,
    "--rpc": Shape(re.compile("[^,]+(?:,[^,]+)*"), "HOST:PORT, with commas between several"),
    "--slot-save-path": _DIRECTORY,
    "--spec-draft-override-tensor": _BUFFERS,
    "--tensor-split": Shape(re.compile(f"{_FRACTION}(?:[,/]{_FRACTION}){{0,14}}"), "numbers with commas between"),
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
