"""Models of a few keys, and what `quadgen.facts.kv` says of them."""

from typing import Any

from made_facts import made
from quadgen.facts import kv
from quadgen.facts.kv import Cache, Context, Unknown
from quadgen.facts.record import Facts

MIB = 2**20


def of(architecture: str, blocks: int = 4, **keys: Any) -> Facts:
    """A model of an architecture, with `__` for a dot in its keys; `None` takes one out."""
    told = {
        "block_count": blocks, "context_length": 4096, "embedding_length": 256, "attention__head_count": 8,
        "attention__head_count_kv": 2, "attention__key_length": 64, "attention__value_length": 64, **keys,
    }  # fmt: skip
    return made(
        {name.replace("__", "."): value for name, value in told.items() if value is not None}, architecture=architecture
    )


def hybrid(**keys: Any) -> Facts:
    """A hybrid of 64 blocks, of which each fourth attends."""
    told = {
        "attention__head_count": 24, "attention__head_count_kv": 4, "attention__key_length": 256,
        "attention__value_length": 256, "full_attention_interval": 4, "ssm__conv_kernel": 4, "ssm__inner_size": 6144,
        "ssm__state_size": 128, "ssm__group_count": 16, "ssm__time_step_rank": 48,
    }  # fmt: skip
    return of("qwen35", 64, **{**told, **keys})


def latent(**keys: Any) -> Facts:
    """DeepSeek V3, without its head."""
    told = {
        "attention__head_count": 128, "attention__head_count_kv": 1, "attention__key_length": 576,
        "attention__value_length": 512, "attention__key_length_mla": 192, "attention__value_length_mla": 128,
        "attention__kv_lora_rank": 512, "attention__q_lora_rank": 1536,
    }  # fmt: skip
    return of("deepseek2", 61, **{**told, **keys})


def known(found: tuple[Cache, ...] | Unknown) -> tuple[Cache, ...]:
    """The caches, which are known."""
    assert not isinstance(found, Unknown), found.reason
    return found


def sizes(facts: Facts, context: Context) -> list[tuple[str, int, float]]:
    """Of each cache what it is, its cells and its MiB."""
    return [(each.what, each.cells, each.size / MIB) for each in known(kv.caches(facts, context))]


def reason(facts: Facts, context: Context | None = None) -> str:
    """Why there are no caches."""
    found = kv.caches(facts, context or Context(4096, 1))
    assert isinstance(found, Unknown), found
    return found.reason


def kept(facts: Facts) -> dict[str, list[int]]:
    """Which blocks are in which cache."""
    return {each.what: [block for block, _ in each.layers] for each in known(kv.caches(facts, Context(512, 1)))}
