"""What the name of a checkpoint says of its quantisation, and which two words cannot be of one file."""

import pytest

from made_facts import made
from quadgen.facts.quantization import known_apart, named, said
from quadgen.gguf.tensor_types import FILE_TYPES


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("gemma-3-270m-q4_k_m.gguf", "Q4_K_M"),
        ("/srv/models/Qwen3.8-27B-UD-Q4_K_S.gguf", "UD-Q4_K_S"),
        ("UD-Q4_K_XL/Qwen3.8-27B-UD-Q4_K_XL-00001-of-00002.gguf", "UD-Q4_K_XL"),
        ("llama.IQ4_XS.GGUF", "IQ4_XS"),
        ("org/Some-GGUF:Q8_0", "Q8_0"),
        ("org/Some-GGUF/Some-BF16.gguf", "BF16"),
        ("https://host/gpt-oss-20b-mxfp4.gguf?download=true", "MXFP4"),
        ("tiny-F16.gguf", "F16"),
        ("org/Some-GGUF", None),
        ("org/Qwen-Q4_K_M-GGUF", None),
        ("model.gguf", None),
        ("Qwen3.8-27B.gguf", None),
        ("Q4_K_M-of-mine.gguf", None),
        ("iq80-chat.gguf", None),
        ("", None),
    ],
)
def test_a_name_says_its_quantisation_last_or_not_at_all(name: str, word: str | None) -> None:
    assert named(name) == word


def test_a_header_goes_before_a_name() -> None:
    assert said(made(quantization="Q4_K_M"), "model-Q8_0.gguf") == "Q4_K_M"
    assert said(made(quantization=None), "model-Q8_0.gguf") == "Q8_0"
    assert said(None, "model-Q8_0.gguf") == "Q8_0"
    assert said(None, None) is None


@pytest.mark.parametrize("word", sorted(set(FILE_TYPES.values())))
def test_every_word_of_the_engine_is_read_from_a_name_and_is_not_apart_from_itself(word: str) -> None:
    assert named(f"model-{word.lower()}.gguf") == word
    assert not known_apart(word, word.lower())
    assert [other for other in FILE_TYPES.values() if not known_apart(word, other)] == [word]


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("UD-Q4_K_XL", "Q4_K_M", False),
        ("UD-Q4_K_XL", "ud-q4_k_xl", False),
        ("UD-Q4_K_XL", "UD-Q4_K_S", True),
        ("UD-Q4_K_S", "Q4_K_S", False),
        ("UD-Q4_K_XL", "Q8_0", True),
        ("MXFP4", "MXFP4_MOE", False),
        ("MXFP4", "BF16", True),
        ("somebody's own", "Q8_0", False),
    ],
)
def test_a_word_of_a_mixture_is_apart_from_that_of_a_header_only_where_its_bits_are(
    one: str, other: str, *, apart: bool
) -> None:
    assert known_apart(one, other) is known_apart(other, one) is apart
