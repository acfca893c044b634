"""What llama.cpp keeps between two tokens, by architecture.

Read in llama.cpp b11434 (https://github.com/ggml-org/llama.cpp): what each architecture's `load_arch_hparams` in
src/models/ makes of its keys, and which memory `llama_model::create_memory` builds of that (src/llama-model.cpp:2358).
What is not in `ARCHITECTURES` was not read, or has a memory of its own kind.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple


class Recurrent(StrEnum):
    """Which layers keep a state in place of keys and values."""

    NONE = "none"
    ALL = "all"
    BESIDE = "beside"
    """All, and each keeps keys and values as well."""
    HEADLESS = "headless"
    """Those without heads of keys and values."""
    NARROW = "narrow"
    """Those with neither heads of keys and values nor a feed-forward; one that has only the latter keeps nothing."""
    INTERVAL = "interval"
    """All but each n-th one, or those that a list names."""


class State(StrEnum):
    """How large the state of a recurrent layer is (llama-hparams.cpp:185-251)."""

    NONE = "none"
    SSM = "ssm"
    """A convolution over the inner size and two groups of states; the state itself."""
    KDA = "kda"
    """Three convolutions over all heads; a square for each."""
    SHORTCONV = "shortconv"
    """A convolution alone."""
    WKV = "wkv"
    """The tokens before, and a square for each head."""
    LINEAR = "linear"
    """A square for each head alone."""


class Window(NamedTuple):
    """Which layers see only the last tokens, and how many."""

    period: int | None
    """Of each so many layers one sees all, where the file has no pattern of its own; None where it must have a list."""
    dense_first: bool = False
    """Whether the one that sees all is the first of a period, or the last."""
    absent: int | None = None
    """The window where the file has no key for it; 0 for none, None where the key is required."""
    fixed: int = 0
    """The window whatever the key says, unless that is 0."""
    blocks: int = 0
    """The number of blocks at which there is a window at all; 0 for any."""
    attending: bool = False
    """Whether it is all layers that are not recurrent, without a pattern."""


class Architecture(NamedTuple):
    """What one architecture keeps."""

    source: str
    """Where its keys are read, below src/models/."""
    window: Window | None = None
    recurrent: Recurrent = Recurrent.NONE
    state: State = State.NONE
    interval: int = 0
    """The default of `full_attention_interval`; 0 where that key is not read."""
    latent: bool | None = False
    """Whether keys and values are one latent row (MLA): None where the file decides."""
    owners: int = -1
    """The first layers that have keys and values of their own, the later ones share them; -1 for all, 0 where
    `attention.shared_kv_layers` says how many do not."""
    keeps: bool = True
    """False where nothing is kept, since the whole text is read at once."""
    head: bool = True
    """Whether llama.cpp builds a context for the MTP blocks alone."""
    lengths: bool = False
    """Whether a head's lengths are read even where the first block has no heads."""
    known: frozenset[str] = frozenset()
    """More keys that are read, or known to be ignored, below those that every architecture has."""


_PLAIN: Final = (
    # every layer keeps its keys and values, and nothing else is kept (llama-model.cpp:2864)
    "apertus.cpp:3 arcee.cpp:3 arctic.cpp:3 baichuan.cpp:3 bailingmoe.cpp:3 bailingmoe2.cpp:3 bitnet.cpp:3 "
    "bloom.cpp:3 chameleon.cpp:4 chatglm.cpp:3 codeshell.cpp:3 cogvlm.cpp:3 command-r.cpp:3 dbrx.cpp:3 deci.cpp:3 "
    "deepseek.cpp:3 dots1.cpp:3 exaone.cpp:3 falcon.cpp:3 gemma.cpp:3 glm4.cpp:3 gpt2.cpp:3 gptneox.cpp:3 "
    "granite.cpp:5 grok.cpp:3 grovemoe.cpp:3 hunyuan-moe.cpp:3 internlm2.cpp:3 jais.cpp:3 jais2.cpp:3 llama.cpp:3 "
    "maincoder.cpp:3 minicpm.cpp:3 minimax-m2.cpp:3 mistral3.cpp:3 mpt.cpp:3 nemotron.cpp:3 olmo.cpp:3 olmoe.cpp:3 "
    "openelm.cpp:3 orion.cpp:3 phi2.cpp:3 phimoe.cpp:3 plamo.cpp:3 qwen.cpp:3 qwen2.cpp:3 qwen2moe.cpp:3 "
    "qwen2vl.cpp:3 qwen3.cpp:3 qwen3moe.cpp:3 qwen3vl.cpp:3 qwen3vlmoe.cpp:3 refact.cpp:3 smollm3.cpp:3 "
    "stablelm.cpp:3 starcoder.cpp:3 starcoder2.cpp:3 talkie.cpp:3 xverse.cpp:3"
)
_PLAIN_ELSEWHERE: Final[Mapping[str, str]] = MappingProxyType({
    "deepseek2-ocr": "deepseek2ocr.cpp:3", "eagle3": "eagle3.cpp:3", "ernie4_5": "ernie4-5.cpp:3",
    "ernie4_5-moe": "ernie4-5.cpp:3", "glm4moe": "glm4-moe.cpp:3", "granitemoe": "granite-moe.cpp:3",
    "hrm_text": "hrm-text.cpp:6", "hunyuan-dense": "hunyuan-vl.cpp:3", "hunyuan_vl": "hunyuan-vl.cpp:3",
    "hy_v3": "hy-v3.cpp:3", "llama-embed": "llama.cpp:3", "paddleocr": "ernie4-5.cpp:3",
    "pangu-embedded": "pangu-embed.cpp:3", "seed_oss": "seed-oss.cpp:3",
})  # fmt: skip
"""The same, where the file is not called as the architecture is."""
_WHOLE: Final = (
    # create_memory gives them none (llama-model.cpp:2364-2382)
    "bert clef dream eurobert gemma-embedding jina-bert-v2 jina-bert-v3 llada llada-moe modern-bert neo-bert "
    "nomic-bert nomic-bert-moe rnd1"
)

_LORA: Final = frozenset({"attention.kv_lora_rank"})
_MLA: Final = frozenset({"attention.kv_lora_rank", "attention.key_length_mla", "attention.value_length_mla"})
_SLIDING: Final = frozenset({"attention.sliding_window", "attention.sliding_window_pattern"})
_SSM: Final = frozenset(
    {"ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank", "ssm.group_count", "ssm.dt_b_c_rms"}
)
_KDA: Final = _MLA | {"ssm.conv_kernel", "kda.head_dim", "kda.safe_gate", "kda.gate_lower_bound"}
_EVERY: Final = frozenset({"full_attention_interval", "attention.recurrent_layers"})
_WKV: Final = frozenset({
    "wkv.head_size", "token_shift_count", "attention.decay_lora_rank", "attention.iclr_lora_rank",
    "attention.value_residual_mix_lora_rank", "attention.gate_lora_rank",
})  # fmt: skip
_CONVOLUTION: Final = frozenset({"shortconv.l_cache"})


def _windows(
    source: str, period: int | None, *, first: bool = False, absent: int | None = None, fixed: int = 0, blocks: int = 0
) -> Architecture:
    return Architecture(source, Window(period, first, absent, fixed, blocks), known=_SLIDING)


def _ssm(
    source: str, recurrent: Recurrent = Recurrent.HEADLESS, *, head: bool = False, lengths: bool = False
) -> Architecture:
    return Architecture(source, None, recurrent, State.SSM, head=head, lengths=lengths, known=_SSM)


def _interval(source: str) -> Architecture:
    return Architecture(source, None, Recurrent.INTERVAL, State.SSM, interval=4, known=_SSM | _EVERY)


def _kda(source: str, *, head: bool = False) -> Architecture:
    return Architecture(source, None, Recurrent.HEADLESS, State.KDA, latent=True, head=head, known=_KDA)


def _wkv(source: str) -> Architecture:
    return Architecture(source, None, Recurrent.ALL, State.WKV, head=False, known=_WKV)


ARCHITECTURES: Final[Mapping[str, Architecture]] = MappingProxyType({
    **{each.partition(".")[0]: Architecture(each) for each in _PLAIN.split()},
    **{name: Architecture(source) for name, source in _PLAIN_ELSEWHERE.items()},
    **{name: Architecture("../llama-model.cpp:2364", keeps=False, head=False) for name in _WHOLE.split()},
    "minicpm3": Architecture("minicpm3.cpp:3", known=_LORA),
    "plm": Architecture("plm.cpp:3", known=_LORA),
    "nanbeige": Architecture("nanbeige.cpp:3", known=frozenset({"num_loops"})),
    "phi3": Architecture("phi3.cpp:3", known=_SLIDING),  # reads the window and does without it
    # keys and values in one row: K alone is kept (llama-kv-cache.cpp:231)
    "deepseek2": Architecture("deepseek2.cpp:3", latent=None, known=_MLA),
    "mistral4": Architecture("deepseek2.cpp:3", latent=None, known=_MLA),
    # sliding windows
    "afmoe": _windows("afmoe.cpp:3", 4, absent=0),
    "cohere2": _windows("cohere2.cpp:3", 4),
    "cohere2moe": _windows("cohere2moe.cpp:3", 4, first=True),
    "dflash": _windows("dflash.cpp:7", None, absent=0),
    "exaone-moe": _windows("exaone-moe.cpp:3", 4),
    "exaone4": _windows("exaone4.cpp:3", 4, absent=4096, blocks=64),
    "gemma2": _windows("gemma2.cpp:3", 2, absent=4096),
    "gemma3": _windows("gemma3.cpp:3", 6, absent=0),
    "gemma3n": Architecture(
        "gemma3n.cpp:3", Window(5), owners=20, known=_SLIDING | {"attention.shared_kv_layers"}
    ),
    "gemma4": Architecture(
        "gemma4.cpp:4", Window(None), owners=0, known=_SLIDING | {"attention.shared_kv_layers"}
    ),
    "gpt-oss": _windows("openai-moe.cpp:3", 2),
    "granite_swa": _windows("granite-swa.cpp:5", None),
    "laguna": _windows("laguna.cpp:9", 4, first=True, absent=0),
    "llama4": _windows("llama4.cpp:3", 4, absent=8192, fixed=8192),
    "maple": _windows("maple.cpp:3", None),
    "mellum": _windows("mellum.cpp:3", 4, absent=0),
    "mimo2": _windows("mimo2.cpp:3", None),
    "muse-glimmer": _windows("muse-glimmer.cpp:3", 4),
    "olmo2": _windows("olmo2.cpp:3", 4, absent=0),
    "plamo3": _windows("plamo3.cpp:3", 8, absent=0),
    "smallthinker": _windows("smallthinker.cpp:3", 4, first=True, absent=0, fixed=4096),
    "spark2_5": _windows("spark2-5.cpp:3", None),
    "step35": _windows("step35.cpp:3", None),
    # recurrent layers, alone or among others
    "arwkv7": _wkv("arwkv7.cpp:3"),
    "rwkv6": _wkv("rwkv6.cpp:3"),
    "rwkv6qwen2": _wkv("rwkv6qwen2.cpp:3"),
    "rwkv7": _wkv("rwkv7.cpp:3"),
    "mamba": _ssm("mamba.cpp:3", Recurrent.ALL),
    "mamba2": _ssm("mamba2.cpp:3", Recurrent.ALL),
    "falcon-h1": _ssm("falcon-h1.cpp:3", Recurrent.BESIDE),
    "granitehybrid": _ssm("granite-hybrid.cpp:3"),
    "jamba": _ssm("jamba.cpp:3"),
    "plamo2": _ssm("plamo2.cpp:4", lengths=True),
    "nemotron_h": _ssm("nemotron-h.cpp:5", Recurrent.NARROW),
    "nemotron_h_moe": _ssm("nemotron-h.cpp:5", Recurrent.NARROW, head=True),
    "qwen3next": _interval("qwen3next.cpp:4"),
    "qwen35": _interval("qwen35.cpp:4"),
    "qwen35moe": _interval("qwen35moe.cpp:4"),
    "minimax-01": Architecture(
        "minimax-01.cpp:4", None, Recurrent.INTERVAL, State.LINEAR, interval=8, head=False, known=_EVERY
    ),
    "bailingmoe3": _kda("bailingmoe3.cpp:6", head=True),
    "kimi-k3": _kda("kimi-k3.cpp:16"),
    "kimi-linear": _kda("kimi-linear.cpp:4"),
    "lfm2": Architecture(
        "lfm2.cpp:7", Window(None, absent=0, attending=True), Recurrent.HEADLESS, State.SHORTCONV, head=False,
        known=_CONVOLUTION | {"attention.sliding_window"},
    ),
    "lfm2moe": Architecture(
        "lfm2moe.cpp:5", None, Recurrent.HEADLESS, State.SHORTCONV, head=False, known=_CONVOLUTION
    ),
})  # fmt: skip
"""By `general.architecture`."""

COMMON: Final = frozenset({
    "attention.causal", "attention.clamp_kqv", "attention.head_count", "attention.head_count_kv",
    "attention.key_length", "attention.key_length_swa", "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon", "attention.max_alibi_bias", "attention.output_scale",
    "attention.q_lora_rank", "attention.rope_pattern", "attention.scale", "attention.temperature_length",
    "attention.temperature_scale", "attention.value_length", "attention.value_length_swa", "attention.value_scale",
})  # fmt: skip
"""Keys that are read for every architecture, or that change nothing of what is kept."""
TELLING: Final = (
    "attention.", "decoder_", "full_attention_interval", "hash_layer_count", "hyper_connection.", "kda.", "num_loops",
    "ple.", "recurrent", "shortconv.", "sliding_window", "ssm.", "token_shift_count", "wkv.",
)  # fmt: skip
"""How keys begin that may change what is kept: one of them that nobody knows makes a number a guess."""
INDEXED: Final = frozenset(
    {"deepseek32", "deepseek4", "dots3note", "glm-dsa", "glm5-next", "hy_v4", "minimax-m3", "qwen4exp"}
)
"""Architectures with caches of an indexer besides, each of its own class (llama-model.cpp:2383-2655)."""
ROLLS_BACK: Final[Mapping[str, int]] = MappingProxyType({
    **dict.fromkeys(("deepseek4", "nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe"), 10434),
    **dict.fromkeys(("bailingmoe3", "glm5-next", "kimi-k3", "lfm2", "lfm2moe", "qwen4exp"), 11434),
})  # fmt: skip
"""Architectures that keep earlier states, so that a refused draft needs no checkpoint, by the build at which that was
read (llama-arch.cpp, llm_arch_supports_rs_rollback): the older ones of b10434 may do so in earlier builds too."""
