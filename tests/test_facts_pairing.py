"""Whether a drafter works with a target, from what is recorded of both."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import made_facts
import tiny_facts
from made_facts import made
from pairings import PAIRS, WIDTHS, Pairing
from quadgen.facts.agreement import beginning, end, prefix, refused, same_texts, same_words, vocabulary_kind
from quadgen.facts.hidden import GIVES_LAYERS
from quadgen.facts.objection import Objection
from quadgen.facts.pairing import objections, own_head, widest
from quadgen.facts.record import Facts, Vocabulary
from quadgen.problems import Severity

TYPES = ("draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark")
CALLED = ("big", "small")


def codes(found: list[Objection], severity: Severity) -> list[str]:
    return sorted({each.code for each in found if each.severity is severity})


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: row.title)
def test_the_facts_of_two_files_foretell_what_a_server_does_with_them(row: Pairing) -> None:
    p_min = row.flags.get("spec-draft-p-min", 0)
    found = list(objections(tiny_facts.of(row.target), tiny_facts.of(row.drafter), row.types, p_min=p_min))
    assert codes(found, Severity.ERROR) == ([] if row.error is None else [row.error])
    assert codes(found, Severity.WARNING) == ([] if row.warning is None else [row.warning])
    assert (row.error is None or row.poor) == (row.then == "drafts"), "what drafts is refused only where it is said why"


@pytest.mark.parametrize(
    ("then", "part"),
    [("aborts", "aborts at load"), ("exits", "ends at load"), ("crashes", "crashes at load"),
     ("fails", "every request"), ("idle", "drafts nothing"), ("dies", "aborts")],
)  # fmt: skip
def test_a_note_says_what_the_server_would_do(then: str, part: str) -> None:
    for row in PAIRS:
        found = list(objections(tiny_facts.of(row.target), tiny_facts.of(row.drafter), row.types))
        notes = [each.note or each.sentence for each in found if each.severity is Severity.ERROR]
        if row.then == then and notes and not row.flags:
            assert any(part in note or "MTP layers, and ends" in note for note in notes), row.title


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: row.title)
def test_an_objection_is_a_sentence_about_the_two(row: Pairing) -> None:
    for each in objections(tiny_facts.of(row.target), tiny_facts.of(row.drafter), row.types, called=CALLED):
        assert each.sentence.startswith(CALLED)
        assert not each.sentence.endswith(".")
        assert each.sentence != each.note


@pytest.mark.parametrize(("spec_type", "drafter", "most"), WIDTHS)
def test_a_wider_draft_than_a_drafter_can_make_is_noted(spec_type: str, drafter: str, most: int) -> None:
    target, block = tiny_facts.of("plain"), tiny_facts.of(drafter)
    (found,) = objections(target, block, spec_type, width=20, called=CALLED)
    assert (found.severity, found.sentence) == (Severity.NOTE, f"small drafts {most} tokens and not 20")
    assert found.hint == f"`draft_n_max: {most}`"
    assert list(objections(target, block, spec_type, width=most)) == []


def test_heads_that_are_run_in_turn_bound_a_draft() -> None:
    (found,) = own_head(tiny_facts.of("hy-two"), width=3, called="big")
    assert (found.severity, found.sentence) == (Severity.NOTE, "big drafts 2 tokens and not 3")
    assert list(own_head(tiny_facts.of("hy-two"), width=2)) == []
    assert widest(tiny_facts.of("headed"), "draft-mtp") is None
    assert widest(tiny_facts.of("draft"), "draft-simple") is None


def test_a_block_that_nobody_states_has_16_tokens() -> None:
    drafter = tiny_facts.of("dflash")
    keys = {key: value for key, value in drafter.keys.items() if key != "block_size"}
    assert widest(replace(drafter, keys=keys), "draft-dflash") == 15


def test_an_n_gram_type_needs_no_drafter() -> None:
    assert list(objections(tiny_facts.of("plain"), tiny_facts.of("projector"), "ngram-cache")) == []


def test_a_hint_names_the_type_that_a_drafter_was_made_for() -> None:
    (found,) = objections(tiny_facts.of("plain"), tiny_facts.of("dspark"), "draft-dflash", called=CALLED)
    assert found.sentence == "small is a DSpark drafter, and draft-dflash needs a DFlash drafter"
    assert found.hint == "use draft-dspark"


def test_a_gemma4_assistant_is_only_for_gemma4_of_its_width() -> None:
    marks = ("nextn.pre_projection.weight", "output_norm.weight", "token_embd.weight")
    keys = {"block_count": 4, "nextn_predict_layers": 4, "embedding_length": 256, "embedding_length_out": 1536}
    head = made(keys, architecture="gemma4-assistant", marks=marks)
    right = made({"embedding_length": 1536, "block_count": 35}, architecture="gemma4")
    wide = made({"embedding_length": 2560, "block_count": 42}, architecture="gemma4")
    other = made({"embedding_length": 1536, "block_count": 26}, architecture="gemma3")
    assert list(objections(right, head, "draft-mtp")) == []
    (found,) = objections(wide, head, "draft-mtp", called=CALLED)
    assert found.sentence == "small is the head of a model with hidden states of 1536, and big has 2560"
    (found,) = objections(other, head, "draft-mtp", called=CALLED)
    assert found.sentence == "small is the head of a gemma4 model, and big is gemma3"


def test_streams_make_a_hidden_state_wider() -> None:
    target = made({"embedding_length": 64, "hyper_connection.count": 4, "block_count": 4}, architecture="deepseek4")
    layers = {"block_count": 4, "nextn_predict_layers": 1, "embedding_length": 64}
    head = replace(
        tiny_facts.of("head"), architecture="deepseek4", heads=(3,), keys={**layers, "hyper_connection.count": 2}
    )
    head = replace(head, weights=replace(head.weights, blocks=(0, 0, 0, 8)))
    assert [each.code for each in objections(target, head, "draft-mtp")] == ["does-not-compose"]
    same = replace(head, keys={**layers, "hyper_connection.count": 4})
    assert list(objections(target, same, "draft-mtp")) == []


def test_what_a_later_build_may_learn_says_how_far_it_was_read() -> None:
    eagle3 = tiny_facts.of("eagle3")
    known = made({"embedding_length": 64, "block_count": 2}, architecture="gemma3")
    (found,) = objections(known, eagle3, "draft-eagle3")
    assert found.build == 11434
    for architecture in GIVES_LAYERS:
        target = made({"embedding_length": 64, "block_count": 2}, architecture=architecture)
        assert list(objections(target, eagle3, "draft-eagle3")) == []


LETTERS = [f"t{number}" for number in range(3000)]


def words(texts: list[str] = LETTERS, **more: Any) -> Vocabulary:
    return tiny_facts.vocabulary(texts, **{"special": {}, "model": "gpt2", "pre": "qwen2", **more})


def changed(at: int, size: int = 3000) -> list[str]:
    return [*LETTERS[:at], "other", *LETTERS[at + 1 : size]]


def test_sizes_that_differ_are_never_taken_for_the_same_from_the_first_2000_tokens() -> None:
    ours, theirs = words(), words(LETTERS[:2900])
    assert ours.sha256_2000 == theirs.sha256_2000
    assert same_texts(ours, theirs), "here they are the same"
    assert refused(ours, theirs) is None
    (found,) = same_words(ours, theirs, CALLED)
    assert (found.severity, found.sentence) == (Severity.ERROR, "small has only 2900 of the 3000 tokens of big")
    late = words(changed(2800, 2900))
    assert late.sha256_2000 == ours.sha256_2000
    assert refused(ours, late) == "a token from id 5 on has another text"


@pytest.mark.parametrize("size", [2872, 2900, 2999, 3000])
@pytest.mark.parametrize("at", [5, 6, 1999, 2000, 2871])
def test_any_token_from_id_5_on_counts_whatever_the_sizes(size: int, at: int) -> None:
    assert refused(words(), words(LETTERS[:size])) is None
    assert refused(words(), words(changed(at, size))) == "a token from id 5 on has another text"
    assert refused(words(changed(at, size)), words()) == "a token from id 5 on has another text"


@pytest.mark.parametrize("at", range(5))
def test_the_first_five_are_not_compared(at: int) -> None:
    assert refused(words(), words(changed(at))) is None
    assert list(same_words(words(), words(changed(at)), CALLED)) == []


def test_more_than_128_tokens_apart_is_refused_by_number() -> None:
    assert refused(words(), words(LETTERS[:2871])) == "the one has 3000 tokens and the other 2871"
    assert refused(words(LETTERS[:100]), words(LETTERS[:300])) == "the one has 100 tokens and the other 300"


def test_a_tiny_vocabulary_is_compared_too() -> None:
    assert refused(words(LETTERS[:5]), words(["x"] * 4)) is None
    assert refused(words(LETTERS[:6]), words([*LETTERS[:5], "x"])) is not None
    assert prefix(words(LETTERS[:5]), 5) is None


def test_padding_that_a_drafter_lacks_is_only_noted() -> None:
    ours = words([*LETTERS[:2950], *(f"[PAD{number}]" for number in range(2950, 3000))], padding=50)
    (found,) = same_words(ours, words(LETTERS[:2950]), CALLED)
    assert (found.severity, found.sentence) == (
        Severity.NOTE, "small has only 2950 of the 3000 tokens of big, all but its padding",
    )  # fmt: skip
    (found,) = same_words(words(LETTERS[:2950]), ours, CALLED)
    assert (found.severity, found.sentence) == (Severity.ERROR, "small has 3000 tokens, and big only 2950")


def test_a_drafter_of_hidden_states_may_differ_in_a_late_token_and_not_in_all() -> None:
    (found,) = same_words(words(), words(changed(2500)), CALLED)
    assert (found.severity, found.sentence) == (
        Severity.WARNING, "small and big have different texts for some tokens",
    )  # fmt: skip
    (found,) = same_words(words(), words(changed(1000)), CALLED)
    assert found.sentence == "small was made for another tokenizer than that of big"
    (found,) = same_words(words(), words(model="llama"), CALLED)
    assert found.sentence == "small was made for another tokenizer than that of big"


@pytest.mark.parametrize(
    ("more", "begins", "ends"),
    [
        ({"pre": "llama-bpe"}, 11, None),
        ({"pre": "qwen2"}, None, None),
        ({"pre": None}, None, None),
        ({"pre": "tekken", "special": {"bos_token_id": 1}}, 1, None),
        ({"pre": "llama-bpe", "special": {"add_bos_token": False}}, None, None),
        ({"pre": "qwen2", "special": {"add_bos_token": True, "bos_token_id": 7}}, 7, None),
        ({"pre": "qwen2", "special": {"add_bos_token": True, "bos_token_id": 5000}}, 11, None),
        ({"pre": "glm4", "special": {"add_bos_token": True}}, -1, None),
        ({"pre": "qwen2", "special": {"add_eos_token": True, "eos_token_id": 9}}, None, 9),
        ({"model": "llama"}, 1, None),
        ({"model": "llama", "special": {"add_eos_token": True}}, 1, 2),
        ({"model": "bert"}, 101, None),
        ({"model": "t5"}, None, 1),
        ({"model": "rwkv"}, None, None),
        ({"model": "gemma4", "special": {"add_bos_token": False, "bos_token_id": 2}}, 2, None),
        ({"model": "gemma4"}, -1, None),
        ({"model": "of tomorrow"}, None, None),
    ],
    ids=str,
)  # fmt: skip
def test_what_surrounds_a_text_is_derived_as_the_engine_does(
    more: dict[str, Any], begins: int | None, ends: int | None
) -> None:
    assert (beginning(words(**more)), end(words(**more))) == (begins, ends)


def test_a_pre_tokenizer_alone_can_tell_two_vocabularies_apart() -> None:
    why = refused(words(pre="llama-bpe"), words(pre="qwen2"))
    assert why == "the one begins every text with token 11 and the other with no token"
    assert refused(words(model="gpt2"), words(model="gemma4", pre="qwen2")) is not None
    assert vocabulary_kind(words(model="gemma4")) == vocabulary_kind(words(model="gpt2")) == "BPE"
    assert refused(words(model="gpt2"), words(model="llama")) == (
        "the one has a vocabulary of the type BPE and the other of SPM"
    )


def test_files_without_tokens_are_refused_only_where_the_other_has_some() -> None:
    bare = made({"block_count": 2})
    (found,) = objections(tiny_facts.of("plain"), bare, "draft-simple", called=CALLED)
    assert found.sentence == "small has no tokens, and the two must have the same"
    assert list(objections(bare, bare, "draft-simple")) == []


SIZES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=180)


@given(SIZES, SIZES)
def test_the_digests_decide_as_the_engine_does_from_all_texts(ours: list[str], theirs: list[str]) -> None:
    common = min(len(ours), len(theirs))
    accepted = abs(len(ours) - len(theirs)) <= 128 and ours[5:common] == theirs[5:common]
    assert (refused(words(ours), words(theirs)) is None) == accepted


@given(made_facts.every, made_facts.every, st.sampled_from(TYPES), st.integers(1, 99))
def test_any_two_files_can_be_asked(target: Facts, drafter: Facts, spec_type: str, width: int) -> None:
    for each in (*objections(target, drafter, spec_type, width=width, p_min=0.5), *own_head(target, width=width)):
        assert each.code in {"does-not-compose", "head-missing"}
        assert each.sentence


@pytest.mark.parametrize("name", ["plain", "headed", "hy"])
def test_a_model_drafts_for_itself(name: str) -> None:
    facts = tiny_facts.of(name)
    assert list(objections(facts, facts, "draft-simple")) == []
