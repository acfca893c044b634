"""What a file is, and what drafting with it costs."""

from dataclasses import replace
from typing import Any

import pytest

import tiny_facts
from made_facts import made
from quadgen.engines.drafters import DRAFTERS
from quadgen.facts.kinds import COSTS, NEXTN, TRAITS, Kind, has_trunk, kind, passes, trait
from quadgen.facts.record import Facts, Weights

ALL = {
    "plain": Kind.MODEL, "headed": Kind.MODEL, "stripped": Kind.MODEL, "hy-stripped": Kind.MODEL,
    "keyless": Kind.MODEL, "head": Kind.MTP_HEAD, "hy-head": Kind.MTP_HEAD, "head-bare": Kind.MTP_HEAD,
    "eagle3": Kind.EAGLE3, "dflash": Kind.DFLASH, "dspark": Kind.DSPARK, "projector": Kind.PROJECTOR,
    "adapter": Kind.ADAPTER, "embedder": Kind.EMBEDDING,
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), ALL.items(), ids=ALL)
def test_a_file_is_told_by_its_header(name: str, expected: Kind) -> None:
    assert kind(tiny_facts.of(name)) is expected


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (made(architecture="gemma4-assistant"), Kind.GEMMA4_ASSISTANT),
        (made(architecture="bert"), Kind.ENCODER),
        (made(architecture="nomic-bert-moe"), Kind.ENCODER),
        (made({"attention.causal": False}, architecture="qwen2"), Kind.ENCODER),
        (made({"attention.causal": True}, architecture="qwen2"), Kind.MODEL),
        (made({"pooling_type": 3}, architecture="qwen3"), Kind.EMBEDDING),
        (made({"pooling_type": 0}, architecture="qwen3"), Kind.MODEL),
        (made(architecture="rnd1"), Kind.DIFFUSION),
        (made(architecture="controlvector"), Kind.ADAPTER),
        (made(architecture="llama", type="imatrix"), Kind.STATISTICS),
        (made(architecture="qwen3vl", type="mmproj"), Kind.PROJECTOR),
        (made(architecture="of tomorrow", type="model"), Kind.MODEL),
        (
            made(weights=Weights(input=0, output=0, tied=True, blocks=(), experts=(), other=0)),
            Kind.VOCABULARY,
        ),
    ],
    ids=lambda value: value.architecture if isinstance(value, Facts) else value.value,
)
def test_a_type_or_an_architecture_says_what_a_file_is(facts: Facts, expected: Kind) -> None:
    assert kind(facts) is expected


def test_a_head_without_its_key_or_its_tensors_is_no_head() -> None:
    head = tiny_facts.of("head")
    assert kind(replace(head, heads=())) is Kind.MODEL
    assert kind(replace(head, keys={**head.keys, NEXTN: 0})) is Kind.MODEL


def test_the_blocks_below_a_head_are_looked_for_in_both_ways() -> None:
    assert has_trunk(tiny_facts.of("headed"))
    assert not has_trunk(tiny_facts.of("head"))
    other = Weights(input=8, output=8, tied=False, blocks=(8, 0, 8), experts=(), other=0)
    assert has_trunk(replace(tiny_facts.of("head"), weights=other)), "in architectures without attn_norm too"


def test_every_kind_has_its_trait_and_only_drafters_draft() -> None:
    assert set(TRAITS) == set(Kind)
    drafting = {each.drafts_with for each in TRAITS.values()} - {None}
    assert drafting == {name for name in DRAFTERS if name.startswith("draft-")}
    assert trait(tiny_facts.of("dspark")).drafts_with == "draft-dspark"


def test_every_type_has_its_cost() -> None:
    assert set(COSTS) == set(DRAFTERS)
    assert {name: cost.name for name, cost in COSTS.items() if cost.name != "ngram"} == {
        "draft-simple": "plain", "draft-eagle3": "head", "draft-mtp": "head", "draft-dflash": "block",
        "draft-dspark": "block",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("spec_type", "expected"),
    [("ngram-cache", 0), ("draft-simple", 7), ("draft-eagle3", 7), ("draft-mtp", 7), ("draft-dflash", 1),
     ("draft-dspark", 1)],
)  # fmt: skip
def test_only_a_block_is_drafted_in_one_pass(spec_type: str, expected: Any) -> None:
    assert passes(spec_type, 7) == expected
    assert passes(spec_type, 1) == min(expected, 1)
