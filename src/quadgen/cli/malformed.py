"""What is no checkpoint, as a problem."""

from collections.abc import Sequence
from typing import Final

from quadgen.gguf.source import Malformed
from quadgen.problems import Problem

_HINTS: Final = (
    ("truncated:", "fetch the rest of it: the download broke off"),
    ("more than the", "fetch the rest of it: the download broke off"),
    ("an empty file", "fetch it again"),
    ("git lfs pull", None),
    ("its address is ", None),
    ("web page", "fetch the file and not the page about it: on the hub that is /resolve/ in the place of /blob/"),
    ("shard", "name the first shard; all of them stand beside it under the names that llama-gguf-split gives"),
)
"""What to do where the sentence has these words; the first counts."""
_ANY: Final = "compare its SHA-256 with the one that was published with it"


def malformed(name: str, error: Malformed, shards: Sequence[str] = ()) -> Problem:
    """The problem of a file: its name, what is wrong, and the byte at which the reader stood.

    A sentence that begins with the name of one of the `shards` is about that file.
    """
    about = next((shard for shard in shards if error.message.startswith(f"{shard}: ")), None)
    sentence = error.message if about is not None else f"{name}: {error.message}"
    what = sentence.removeprefix(f"{about or name}: ")
    key = f", at the key {error.key}" if error.key is not None and error.key not in what else ""
    return Problem(
        code="malformed-gguf",
        message=f"{sentence}{key}, at byte {error.offset}",
        hint=next((hint for words, hint in _HINTS if words in what), _ANY),
    )
