"""Which head a file has, by its key and its tensors, and what llama.cpp does with it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_facts
import tiny_facts
from compositions import FILES
from made_facts import made
from pairings import ALONE, Alone
from quadgen.facts.heads import State, head
from quadgen.facts.kinds import NEXTN, Kind, has_trunk, kind, trunk
from quadgen.facts.pairing import objections, own_head
from quadgen.facts.record import Facts, Weights
from quadgen.problems import Severity

LOADS = ("plain", "drafts")


def announced(architecture: str, count: int, heads: tuple[int, ...] = (), *, blocks: int = 3, **more: Any) -> Facts:
    """A model of some blocks that announces heads in the last of them."""
    weights = Weights(input=8, output=8, tied=False, blocks=(8,) * blocks, experts=(), other=0)
    keys = {"block_count": blocks, NEXTN: count}
    marks = ("blk.0.attn_norm.weight", "output_norm.weight", "token_embd.weight")
    told = {"architecture": architecture, "heads": heads, "weights": weights, "marks": marks}
    return made(keys, **{**told, **more})


@pytest.mark.parametrize("row", ALONE, ids=lambda row: row.file)
def test_the_facts_foretell_what_a_server_does_with_a_head(row: Alone) -> None:
    found = head(tiny_facts.of(row.file))
    assert found.state is row.state
    assert found.loads == (row.plain in LOADS)
    assert found.drafts == (row.drafting == "drafts")
    assert [each.code for each in own_head(tiny_facts.of(row.file))] == ([] if found.drafts else ["head-missing"])


@pytest.mark.parametrize("row", ALONE, ids=lambda row: row.file)
def test_what_is_wrong_with_a_head_is_one_sentence(row: Alone) -> None:
    found = head(tiny_facts.of(row.file))
    assert (found.wrong is None) == (found.drafts or found.state is State.NONE)
    if found.wrong is not None:
        assert found.wrong[0].islower()
        assert not found.wrong.endswith(".")
        assert ("does not load" in found.wrong) == (not found.loads) or found.state is State.MISPLACED


def test_a_file_without_key_and_tensors_has_no_head_and_no_fault() -> None:
    facts = made({"block_count": 40}, architecture="qwen35moe")
    assert (head(facts).state, head(facts).loads, head(facts).wrong) == (State.NONE, True, None)
    (found,) = own_head(facts, called="big")
    assert found.sentence == "big has no MTP head"
    assert found.note == "llama.cpp reports that the model does not contain MTP layers, and ends"


def test_a_key_of_0_is_as_good_as_none() -> None:
    assert head(announced("qwen35", 0)) == head(made({}, architecture="qwen35"))
    assert head(announced("qwen35", 0, (2,))).state is State.KEYLESS


def test_a_stripped_head_has_its_own_sentence() -> None:
    found = head(announced("qwen35", 1))
    assert found.wrong == (
        "announces an MTP head and has no tensor of it: llama.cpp does not load it, not even without speculation"
    )
    assert head(announced("step35", 3, blocks=6)).wrong == (
        "announces 3 MTP heads and has no tensor of them: "
        "it serves without speculation, and draft-mtp ends the server at load"
    )


@pytest.mark.parametrize(
    "architecture",
    ["bailingmoe3", "cohere2moe", "deepseek2", "deepseek32", "dots3note", "glm-dsa", "glm4moe", "hy_v3", "mimo2",
     "mistral4", "step35"],
)  # fmt: skip
def test_some_architectures_load_without_the_head_that_they_announce(architecture: str) -> None:
    found = head(announced(architecture, 1))
    assert (found.state, found.loads, found.drafts) == (State.STRIPPED, True, False)


@pytest.mark.parametrize(
    "architecture",
    ["bailingmoe2", "exaone-moe", "exaone4", "glm4", "glm5-next", "nemotron_h", "nemotron_h_moe", "qwen35",
     "qwen35moe", "qwen3next", "qwen4exp"],
)  # fmt: skip
def test_the_others_do_not(architecture: str) -> None:
    assert not head(announced(architecture, 1)).loads


def test_deepseek4_takes_ordinary_blocks_for_what_they_are() -> None:
    assert head(announced("deepseek4", 1)).loads, "the key counts a block that the file does not count"
    gone = Weights(input=8, output=8, tied=False, blocks=(8, 8), experts=(), other=0)
    assert not head(announced("deepseek4", 1, weights=gone)).loads


def test_of_several_heads_each_must_be_there() -> None:
    assert head(announced("step35", 2, (1, 2))).drafts
    first, second = head(announced("step35", 2, (1,))), head(announced("step35", 2, (2,)))
    assert (first.state, first.loads) == (State.PARTIAL, False)
    assert (second.state, second.loads) == (State.PARTIAL, True), "only the first decides whether it loads"
    assert (first.drafts, second.drafts) == (False, False)


def test_a_draft_is_as_long_as_there_are_heads() -> None:
    assert [head(announced("step35", count, tuple(range(6 - count, 6)), blocks=6)).widest for count in (1, 2, 3)] == [
        None, 2, 3,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("architecture", "since"), [("qwen35", 10435), ("glm4moe", 10705), ("qwen4exp", 11434), ("nobody-knows", None)]
)
def test_a_head_knows_since_which_build_it_is_used(architecture: str, since: int | None) -> None:
    found = head(announced(architecture, 1, (2,)))
    assert (found.drafts, found.since) == (True, since)


def test_a_head_that_is_only_kept_is_no_drafter() -> None:
    found = head(announced("bailingmoe2", 1, (2,)))
    assert (found.state, found.loads, found.drafts) == (State.COMPLETE, True, False)


def test_a_router_is_no_head() -> None:
    found = head(announced("graniteswitch", 1))
    assert (found.state, found.loads, found.drafts, found.announced) == (State.NONE, True, False, 0)
    assert found.wrong == "has no MTP head: `nextn_predict_layers` counts a router in the architecture graniteswitch"


def test_more_heads_than_blocks_abort_the_server() -> None:
    assert head(announced("hy_v3", 4)).wrong == (
        "announces 4 MTP heads, more than its 3 blocks: llama.cpp does not load it, not even without speculation"
    )


def sidecar(architecture: str, *marks: str, **keys: Any) -> Facts:
    """The third of three blocks alone, with its head."""
    weights = Weights(input=8, output=8, tied=False, blocks=(0, 0, 8), experts=(), other=0)
    facts = announced(
        architecture, 1, (2,), weights=weights, marks=marks or ("output_norm.weight", "token_embd.weight")
    )
    return replace(facts, keys={**facts.keys, **keys})


def test_a_head_alone_must_be_of_an_architecture_that_loads_it() -> None:
    assert kind(sidecar("qwen35")) is Kind.MTP_HEAD
    assert head(sidecar("qwen35")).drafts
    assert head(sidecar("bailingmoe2")).wrong == (
        "has only the MTP head of a model, and llama.cpp loads no such file of bailingmoe2"
    )


def test_a_head_alone_needs_embeddings_of_its_own() -> None:
    bare, shared = sidecar("qwen35", "output_norm.weight"), sidecar("qwen4exp", "x", nextn_shared_target_tensors=True)
    assert (head(bare).loads, head(bare).wrong) == (
        False, "is an MTP head without token_embd.weight, so that llama.cpp does not load it",
    )  # fmt: skip
    assert "ggml-org/llama.cpp#28243" in (head(shared).wrong or "")
    assert head(sidecar("qwen4exp", "token_embd.weight")).drafts, "its norm is in another tensor"


def assistant(**keys: Any) -> Facts:
    """A Gemma 4 assistant of two heads."""
    told = {"block_count": 2, NEXTN: 2, "embedding_length": 256, "embedding_length_out": 1536, **keys}
    marks = ("nextn.pre_projection.weight", "output_norm.weight", "token_embd.weight")
    return made(
        {key: value for key, value in told.items() if value is not None}, architecture="gemma4-assistant", marks=marks
    )


def test_a_gemma4_assistant_is_made_of_heads_and_says_the_width_of_its_model() -> None:
    assert kind(assistant()) is Kind.GEMMA4_ASSISTANT
    assert (head(assistant()).drafts, head(assistant()).widest) == (True, None)
    assert not head(assistant(embedding_length_out=None)).loads
    assert not head(assistant(embedding_length_out=256)).loads
    assert not head(replace(assistant(), marks=("output_norm.weight", "token_embd.weight"))).loads
    assert not head(assistant(**{NEXTN: None})).drafts


@given(made_facts.every)
def test_any_facts_have_a_kind_and_a_head(facts: Facts) -> None:
    found = head(facts)
    assert isinstance(kind(facts), Kind)
    assert trunk(facts) >= 0
    assert has_trunk(facts) in (True, False)
    assert found.loads or not found.drafts, "what does not load does not draft"
    assert not found.drafts or (found.announced and found.wrong is None)
    assert found.widest is None or found.widest > 1


@given(
    st.sampled_from(["qwen35", "step35", "deepseek4", "glm4", "new"]), st.integers(0, 5), st.integers(0, 5), st.data()
)
def test_a_head_drafts_only_where_every_announced_one_is_there(
    architecture: str, count: int, blocks: int, data: st.DataObject
) -> None:
    heads = tuple(sorted(data.draw(st.sets(st.integers(0, 5)))))
    found = head(announced(architecture, count, heads, blocks=blocks))
    if found.drafts:
        assert heads == tuple(range(blocks - count, blocks))
        assert count >= 1
    if heads and not count:
        assert not found.loads


@pytest.mark.parametrize("row", [row for row in FILES if row.drafter != "missing"], ids=lambda row: row.title)
def test_the_facts_know_what_only_the_files_say(row: Any) -> None:
    spec_type = row.types.split(",")[0]
    target = tiny_facts.of(row.target)
    found = own_head(target) if row.drafter is None else objections(target, tiny_facts.of(row.drafter), spec_type)
    errors = [each for each in found if each.severity is Severity.ERROR]
    assert bool(errors) == (row.then != "drafts")
