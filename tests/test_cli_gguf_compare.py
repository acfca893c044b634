"""`quadgen gguf compare`: what it finds between two tokenizers, what llama.cpp would do, and its exit status."""

import json
from pathlib import Path
from typing import Any

import pytest

import tiny_pairs
from command import Done, quadgen
from pairings import PAIRS, Pairing
from worded import checkpoint, tokens

CHECKS = "llama.cpp takes this vocabulary for draft-simple: it compares no id below 5, and sizes may differ by 128"


@pytest.fixture(scope="session", name="tiny")
def _tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every tiny checkpoint of which a target or a drafter is made."""
    directory = tmp_path_factory.mktemp("tiny")
    for name in {name for pair in PAIRS for name in (pair.target, pair.drafter)}:
        tiny_pairs.make(directory, name)
    return directory


def compare(here: Path, *names: str) -> Done:
    done = quadgen("gguf", "compare", *names, cwd=here)
    assert done.err == ""
    return done


def record(here: Path, *names: str) -> dict[str, Any]:
    done = compare(here, *names, "--format", "json")
    found = json.loads(done.out)
    assert isinstance(found, dict)
    assert done.status == (0 if found["llama_cpp"]["works"] else 1)
    return found


def written(here: Path, target: bytes, draft: bytes) -> tuple[str, str]:
    (here / "target.gguf").write_bytes(target)
    (here / "draft.gguf").write_bytes(draft)
    return "target.gguf", "draft.gguf"


def test_a_pair_that_goes_together_is_told_like_this(tiny: Path) -> None:
    assert compare(tiny, "plain.gguf", "draft.gguf") == Done(status=0, err="", out="""\
                    target            draft
  file              plain.gguf        draft.gguf
  architecture      llama             llama
  kind              model             model
  weights           433.2 KiB         433.2 KiB
  tokenizer         llama (SPM)       llama (SPM)
  pre               -                 -
  tokens            320               320
  padding           0                 0
  merges            0                 0
  before a text     token 1           token 1
  after it          nothing           nothing
  sha256_2000       448dc4d72a668436  448dc4d72a668436
  sha256            448dc4d72a668436  448dc4d72a668436
  add_bos_token     true              true
  bos_token_id      1                 1
  eos_token_id      2                 2
  mask_token_id     0                 0
  unknown_token_id  0                 0

tokens: identical
llama.cpp takes this vocabulary for draft-simple
the pair works with draft-simple, as far as headers tell
a round costs one pass of the whole draft model for each drafted token
over every token that the target reads, it runs besides: the whole draft model
the same tokens are not enough: a drafter has to be cheap and right, which only a measurement shows
""")  # fmt: skip


def test_a_pair_that_llama_cpp_refuses_is_marked_where_it_differs(tiny: Path) -> None:
    done = compare(tiny, "plain.gguf", "other-word.gguf")
    assert done.status == 1
    assert [line for line in done.out.splitlines() if line.startswith("!")] == [
        "! sha256_2000       448dc4d72a668436  27db19513f07f709",
        "! sha256            448dc4d72a668436  27db19513f07f709",
    ]
    assert (
        done.out.partition("\n\n")[2]
        == """\
tokens: different
  the first id that differs is 300: "▁w41" in the target, "▁other" in the draft
llama.cpp refuses this vocabulary for draft-simple
error: the drafter has other tokens than the target: a token from id 5 on has another text: the server starts healthy \
without speculating, and n-gram types of the same profile are lost with it
"""
    )


def test_the_json_form_has_both_files_the_verdict_and_what_llama_cpp_does(tiny: Path) -> None:
    found = record(tiny, "plain.gguf", "other-word.gguf")
    assert list(found) == ["target", "draft", "verdict", "first_difference", "differing", "same", "llama_cpp"]
    assert (found["target"]["file"], found["draft"]["file"]) == ("plain.gguf", "other-word.gguf")
    assert found["target"]["tokenizer"]["sha256_2000"].startswith("448dc4d72a668436")
    assert (found["verdict"], found["differing"]) == ("different", 1)
    assert found["first_difference"] == {"id": 300, "target": "▁w41", "draft": "▁other"}
    assert found["same"] == {
        "model": True, "size": True, "special": True, "sha256_2000": False, "sha256": False, "pre": True,
        "merges": True,
    }  # fmt: skip
    engine = found["llama_cpp"]
    assert (engine["spec_type"], engine["accepts"], engine["works"]) == ("draft-simple", False, False)
    assert engine["cost"]["class"] == "plain"
    assert [(each["severity"], each["code"]) for each in engine["objections"]] == [("error", "does-not-compose")]


@pytest.mark.parametrize(
    ("draft", "judged", "words"),
    [
        ("other-special", (True, True), CHECKS),
        ("no-bos", (False, False), "llama.cpp refuses this vocabulary for draft-simple"),
        ("larger", (False, False), "the one has 320 tokens and the other 449"),
        ("slightly-larger", (True, False), "the server aborts once a draft has a token from 320 on"),
        ("slightly-smaller", (True, False), "the server aborts at a request with a token from 280 on"),
    ],
)
def test_what_llama_cpp_takes_is_told_from_what_works(
    tiny: Path, draft: str, judged: tuple[bool, bool], words: str
) -> None:
    found = record(tiny, "plain.gguf", f"{draft}.gguf")["llama_cpp"]
    assert (found["accepts"], found["works"]) == judged
    assert words in compare(tiny, "plain.gguf", f"{draft}.gguf").out


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if not pair.flags], ids=lambda pair: pair.title)
def test_the_status_is_that_of_the_real_server_for_what_the_drafter_is_made_for(tiny: Path, pair: Pairing) -> None:
    """`tests/real/test_real_pairing.py` runs each of these pairs."""
    found = record(tiny, f"{pair.target}.gguf", f"{pair.drafter}.gguf")["llama_cpp"]
    if found["spec_type"] == pair.types:
        assert found["works"] is (pair.error is None)
        assert found["objections"] or pair.error is None


def test_pairs_of_every_kind_of_drafter_are_among_these(tiny: Path) -> None:
    every = {record(tiny, f"{pair.target}.gguf", f"{pair.drafter}.gguf")["llama_cpp"]["spec_type"] for pair in PAIRS}
    assert every == {None, "draft-simple", "draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"}


@pytest.mark.parametrize(
    ("target", "draft", "words"),
    [
        ("plain", "projector", "the drafter is a multimodal projector, and drafts nothing"),
        ("projector", "plain", "the target is a multimodal projector, which llama-server does not serve as a model"),
        ("plain", "stripped", "the drafter announces an MTP head and has no tensor of it: llama.cpp does not load it"),
        ("stripped", "plain", "the target announces an MTP head and has no tensor of it: llama.cpp does not load it"),
        ("plain", "eagle3-wide", "the drafter reads hidden states of 128, and the target has 64"),
        ("headed", "head-bare", "the drafter is an MTP head without token_embd.weight"),
    ],
)
def test_a_file_that_cannot_take_its_part_is_refused_with_the_reason(
    tiny: Path, target: str, draft: str, words: str
) -> None:
    done = compare(tiny, f"{target}.gguf", f"{draft}.gguf")
    assert (done.status, f"error: {words}" in done.out) == (1, True)
    assert "the pair works" not in done.out


def test_a_drafter_of_hidden_states_is_compared_as_well(tiny: Path) -> None:
    done = compare(tiny, "plain.gguf", "eagle3.gguf")
    assert done.status == 0
    assert "\nllama.cpp compares no tokens for draft-eagle3\nthe pair works with draft-eagle3" in done.out


# https://github.com/ggml-org/llama.cpp/issues/7724
def test_the_same_tokens_with_another_pre_are_interchangeable_and_not_called_identical(tmp_path: Path) -> None:
    one, other = (checkpoint(tokens("a", "b"), pre=pre, add_bos_token=False) for pre in ("llama-bpe", "smaug-bpe"))
    names = written(tmp_path, one, other)
    found = record(tmp_path, *names)
    assert (found["verdict"], found["same"]["pre"], found["same"]["sha256"]) == ("same-tokens", False, True)
    assert found["llama_cpp"]["accepts"]
    out = compare(tmp_path, *names).out
    assert "  pre differs: ids are interchangeable, but the two may take a prompt apart in two ways\n" in out
    assert "\n! pre " in out


def test_the_pre_alone_can_make_llama_cpp_refuse_the_same_tokens(tmp_path: Path) -> None:
    """Where no key says it, `pre` decides whether every text begins with a token."""
    many = tokens(*map(str, range(20)))
    found = record(tmp_path, *written(tmp_path, checkpoint(many, pre="llama-bpe"), checkpoint(many, pre="qwen2")))
    assert (found["verdict"], found["llama_cpp"]["accepts"]) == ("same-tokens", False)
    assert (found["target"]["tokenizer"]["begins_with"], found["draft"]["tokenizer"]["begins_with"]) == (11, None)


def test_merges_and_pre_that_both_differ_are_both_named(tmp_path: Path) -> None:
    one = checkpoint(tokens("a"), pre="qwen2", merges=["a b"])
    names = written(tmp_path, one, checkpoint(tokens("a"), pre="qwen35", merges=["b a"]))
    assert "  pre and merges differ: ids" in compare(tmp_path, *names).out


def test_a_target_that_is_filled_up_is_equal_up_to_padding(tmp_path: Path) -> None:
    filled = checkpoint(tokens("a", "b", *(f"[PAD{number}]" for number in range(7, 27))))
    names = written(tmp_path, filled, checkpoint(tokens("a", "b")))
    found = record(tmp_path, *names)
    assert (found["verdict"], found["llama_cpp"]["works"]) == ("equal-up-to-padding", True)
    assert found["first_difference"] == {"id": 7, "target": "[PAD7]", "draft": None}
    out = compare(tmp_path, *names).out
    assert '  the first id that differs is 7: "[PAD7]" in the target, nothing in the draft\n' in out
    assert "note: the drafter has only 7 of the 27 tokens of the target, all but its padding" in out


def test_a_token_is_shown_so_that_it_moves_no_cursor_and_fills_no_screen(tmp_path: Path) -> None:
    names = written(tmp_path, checkpoint(tokens(b"\x1b[31m\xff\n")), checkpoint(tokens("ü" * 5000)))
    line = compare(tmp_path, *names).out.partition("\n  the first")[2].partition("\n")[0]
    assert line == f' id that differs is 5: "\\x1b[31m\\xff\\n" in the target, "{"ü" * 60}..." in the draft'
    found = record(tmp_path, *names)["first_difference"]
    assert found == {"id": 5, "target": "\x1b[31m\\xff\n", "draft": f"{'ü' * 60}..."}


def test_how_many_tokens_differ_is_told(tmp_path: Path) -> None:
    names = written(tmp_path, checkpoint(tokens("a", "b", "c")), checkpoint(tokens("x", "b", "y")))
    assert "  2 ids that both have differ\n" in compare(tmp_path, *names).out


def test_a_file_without_tokens_leaves_nothing_to_compare(tmp_path: Path) -> None:
    names = written(tmp_path, checkpoint(tokens("a")), checkpoint(None))
    found = record(tmp_path, *names)
    assert (found["verdict"], found["same"], found["draft"]["tokenizer"]) == (None, None, None)
    done = compare(tmp_path, *names)
    assert (done.status, "tokens: nothing to compare: draft.gguf has none\n" in done.out) == (1, True)
    both = compare(tmp_path, "draft.gguf", "draft.gguf").out
    assert "tokens: nothing to compare: draft.gguf and draft.gguf have none\n" in both


def test_a_long_name_is_shown_by_its_end(tmp_path: Path) -> None:
    name = f"{'deep' * 20}/model.gguf"
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_bytes(checkpoint(tokens("a")))
    (line,) = [line for line in compare(tmp_path, name, name).out.splitlines() if line.startswith("  file ")]
    assert line.split() == ["file", *[f"...{name[-45:]}"] * 2]
