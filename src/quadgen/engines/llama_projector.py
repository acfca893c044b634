"""What reading one image takes besides the projector itself: an estimate, from the header of the projector.

The encoder reads all patches of an image at once (tools/mtmd/clip.cpp of llama.cpp b11434,
https://github.com/ggml-org/llama.cpp), and its buffer grows to the largest image that was sent.
"""

from typing import Final

from quadgen.facts.record import Facts

_ROWS: Final = 5
"""Rows of the embedding length beside the feed-forward, as in a block of a language model."""
_LARGEST: Final = 4096
"""Tokens of the largest image where the encoder takes any size (set_limit_image_tokens, for the most of them)."""
_NUMBER: Final = 4


def patches(projector: Facts, tokens: int | None) -> int | None:
    """Patches of the largest image; None where the header does not say. `tokens` is --image-max-tokens."""
    side, size = projector.number("vision.patch_size"), projector.number("vision.image_size")
    merged = projector.number("vision.spatial_merge_size")
    if merged is not None and tokens is None and projector.number("vision.image_max_pixels") is None:
        tokens = _LARGEST
    if tokens is not None:
        return tokens * max(1, merged or 1) ** 2
    pixels = projector.number("vision.image_max_pixels") or (size or 0) ** 2
    return -(-pixels // side**2) if side and pixels else None


def encoding(projector: Facts, tokens: int | None, *, flash: bool) -> int | None:
    """Bytes that encoding the largest image takes; None where the header does not say."""
    count = patches(projector, tokens)
    width, inner = projector.number("vision.embedding_length"), projector.number("vision.feed_forward_length")
    if count is None or width is None or inner is None:
        return None
    scores = 0 if flash else (projector.number("vision.attention.head_count") or 1) * count
    return count * _NUMBER * (_ROWS * width + max(3 * inner, 4 * width + scores))
