"""Facts made by hand, as a strategy, and as plain values that can be compared."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import strategies as st

from quadgen.facts.record import MARKS, Facts, Scalar, Vocabulary, Weights

WORDS = (
    "", " ", "a ", " a", "a: b", "a #b", "#a", "- a", "? a", "&a", "*a", "!a", "%a", "@a", "`a", "|", ">", "'",
    '"', "\\", "\\n", "a\nb", "\n", "\t", "\r\n", "0x1F", "0o17", "010", "1e3", "1_000", "12:30", "22:22", ".5",
    ".inf", "-.inf", ".nan", "+1", "-1", "1.", "on", "Off", "yes", "NO", "y", "true", "False", "null", "Null", "~",
    "<<", "=", "---", "...", "--- a", "[a]", "{a: b}", "a, b", "x-y", "2026-09-01", "\0", "\x1b[31m", "\x7f",
    "\x85", "\u2028", "\u200b", "\u202e", "\ufeff", "\ufffe", "\U0001f999", "日本語", "Qwen3.8 27B", "<<<<<<< HEAD",
    "hf:org/repo:Q4_K_M", "https://host/a.gguf", "a" * 1500, "\n" * 400, "version", "files", "x",
)  # fmt: skip
"""What a reader of YAML may take for something else."""

texts = st.one_of(st.sampled_from(WORDS), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
wholes = st.integers(0, 2**63 - 1)
numbers = st.one_of(st.integers(-(2**63), 2**64 - 1), st.floats(allow_nan=True), st.booleans())
scalars = st.one_of(texts, numbers)
digests = st.text("0123456789abcdef", min_size=64, max_size=64) | st.just("1" * 64) | st.just(f"12e{'3' * 61}")
rows = st.lists(st.one_of(wholes, st.sampled_from([4, 301989888])), max_size=12).map(tuple)
patterns = st.lists(st.lists(numbers, min_size=1, max_size=4), max_size=3).map(
    lambda groups: tuple(item for group in groups for item in group * 3)
)
vocabularies = st.builds(
    Vocabulary,
    model=texts, pre=st.none() | texts, size=wholes, merges=wholes, padding=wholes, sha256_2000=digests, sha256=digests,
    tail=st.integers(0, 129).flatmap(lambda count: st.text("0123456789abcdef", min_size=8 * count, max_size=8 * count)),
    special=st.dictionaries(texts, scalars, max_size=3),
)  # fmt: skip
weights = st.builds(
    Weights, input=wholes, output=wholes, tied=st.booleans(), blocks=rows, experts=rows, other=wholes
)  # fmt: skip
every = st.builds(
    Facts,
    size=wholes, shards=st.integers(1, 99), header=digests, architecture=texts, name=st.none() | texts,
    type=st.none() | texts, quantization=st.none() | texts,
    keys=st.dictionaries(texts, st.one_of(scalars, patterns), max_size=4), heads=rows,
    marks=st.lists(st.sampled_from(MARKS), unique=True).map(lambda marks: tuple(sorted(marks))),
    vocabulary=st.none() | vocabularies, weights=weights,
)  # fmt: skip


def made(
    keys: Mapping[str, Scalar | tuple[Scalar, ...]] | None = None,
    *,
    size: int = 4096,
    header: str = "ab" * 32,
    **more: Any,
) -> Facts:
    """Facts of a small model without a vocabulary; what matters is said."""
    told: dict[str, Any] = {
        "size": size, "shards": 1, "header": header, "architecture": "llama", "name": None, "type": None,
        "quantization": "F16", "keys": keys or {}, "heads": (), "marks": (), "vocabulary": None,
        "weights": Weights(input=1024, output=0, tied=True, blocks=(512, 512), experts=(), other=0),
    }  # fmt: skip
    return Facts(**told | more)


def plain(value: Any) -> Any:
    """A value in which everything that it is shows, types and not-a-numbers included."""
    if is_dataclass(value):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return (type(value).__name__, repr(value))
