"""The identity of a tokenizer, taken while a reader passes over its tokens: none is kept for long."""

import hashlib
import re
from collections.abc import Mapping
from typing import Final

from quadgen.facts.record import Scalar, Vocabulary
from quadgen.gguf.header import Array, Value
from quadgen.gguf.values import Numbers, Texts

PREFIX: Final = "tokenizer.ggml."
FIRST: Final = 2000
"""Tokens of the shorter digest."""
CHECKED: Final = 5
"""The first id that llama.cpp compares (common/speculative.cpp, SPEC_VOCAB_CHECK_START_TOKEN_ID)."""
TOLERANCE: Final = 128
"""By how many tokens two sizes may differ (SPEC_VOCAB_MAX_SIZE_DIFFERENCE)."""
UNUSED: Final = 5
"""Type of a token that fills up (include/llama.h, LLAMA_TOKEN_TYPE_UNUSED)."""
_PADDING: Final = re.compile(rb"\[PAD\d+\]")


class Listening:
    """What the tokens and their types come to; `listeners` and `numbers` are for one reading."""

    def __init__(self) -> None:
        self._size = 0
        self._all, self._checked = hashlib.sha256(), hashlib.sha256()
        self._first: str | None = None
        self._held: list[bytes] = []
        """The last tokens, from the id 5 on, which `_checked` does not have yet."""
        self._filling, self._unused = bytearray(), bytearray()
        """Of each token whether it is spelled as padding, and whether its type says so."""
        self.listeners: Mapping[str, Texts] = {f"{PREFIX}tokens": self._tokens}
        self.numbers: Mapping[str, Numbers] = {f"{PREFIX}token_type": self._types}

    def vocabulary(self, metadata: Mapping[str, Value]) -> Vocabulary | None:
        """What was heard, and what the metadata says besides; None without tokens."""
        tokens = metadata.get(f"{PREFIX}tokens")
        if not isinstance(tokens, Array) or tokens.kind != "string":
            return None
        model, pre = (metadata.get(f"{PREFIX}{key}") for key in ("model", "pre"))
        merges = metadata.get(f"{PREFIX}merges")
        digest = self._all.hexdigest()
        return Vocabulary(
            model=model if isinstance(model, str) else "none", pre=pre if isinstance(pre, str) else None,
            size=self._size, merges=merges.count if isinstance(merges, Array) else 0, padding=self._padding(),
            sha256_2000=self._first or digest, sha256=digest, tail=self._tail(), special=_special(metadata),
        )  # fmt: skip

    def _tokens(self, tokens: list[bytes]) -> None:
        cut = FIRST - self._size
        if 0 < cut <= len(tokens):
            self._feed(tokens[:cut])
            self._first = self._all.hexdigest()
            tokens = tokens[cut:]
        self._feed(tokens)

    def _feed(self, tokens: list[bytes]) -> None:
        if not tokens:
            return
        joined = _joined(tokens)
        self._all.update(joined)
        self._held += tokens[max(0, CHECKED - self._size) :]
        if len(self._held) > TOLERANCE:
            self._checked.update(_joined(self._held[:-TOLERANCE]))
            self._held = self._held[-TOLERANCE:]
        self._size += len(tokens)
        if b"[PAD" in joined:
            self._filling += b"\0" * (self._size - len(tokens) - len(self._filling))
            self._filling += bytes([_PADDING.fullmatch(token) is not None for token in tokens])

    def _types(self, types: tuple[int | float, ...]) -> None:
        self._unused += bytes([type_ == UNUSED for type_ in types])

    def _tail(self) -> str:
        digest, found = self._checked.copy(), []
        if self._size > CHECKED + TOLERANCE:
            found.append(digest.hexdigest()[:8])
        for token in self._held:
            digest.update(token + b"\0")
            found.append(digest.hexdigest()[:8])
        return "".join(found)

    def _padding(self) -> int:
        position = self._size
        while position and any(flags[position - 1 : position] == b"\1" for flags in (self._filling, self._unused)):
            position -= 1
        return self._size - position


def _joined(tokens: list[bytes]) -> bytes:
    return b"\0".join(tokens) + b"\0"


def _special(metadata: Mapping[str, Value]) -> Mapping[str, Scalar]:
    found: dict[str, Scalar] = {}
    for key, value in sorted(metadata.items()):
        name = key.removeprefix(PREFIX)
        if name != key and (name.endswith("_token_id") or name.startswith("add_")) and not isinstance(value, Array):
            found[name] = value
    return found
