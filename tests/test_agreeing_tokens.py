"""Whether two models have the same tokens, as their servers tell it."""

from dataclasses import replace

import pytest

from lettered import WORDS, counts
from lettered import Lettered as Model
from quadgen.agreeing.asking import Agreement, Setting, agreement
from quadgen.agreeing.prompts import Prompt
from quadgen.agreeing.vocabulary import CHUNK, RAW, Compared, compared

MANY = tuple(WORDS) + tuple(chr(0x4E00 + at) for at in range(CHUNK + 200))

ENDS = ": a server ends at a draft of the others"


def agreed(target: Model, draft: Model) -> Agreement:
    asked = [Prompt(name="one", text="hello"), Prompt(name="two", text="a")]
    return agreement(target, draft, asked, Setting(width=3, tokens=12), lambda *_: None)


def other(words: tuple[str, ...] = WORDS, **changed: str) -> tuple[str, ...]:
    """The words with others at some ids, by `w3="x"`."""
    return tuple(changed.get(f"w{at}", word) for at, word in enumerate(words))


def tokens(one: Model, two: Model) -> Compared:
    return compared(one, two, (len(one.words), len(two.words)), (one.kind, two.kind))


@pytest.mark.parametrize(
    ("draft", "why"),
    [
        (Model(words=other(w9="H")), 'token 9 is "h" to the target and "H" to the drafter'),
        (
            Model(words=other(w9="H", w4="C", w20="!")),
            'token 9 is "h" to the target and "H" to the drafter, the first of 3 that differ',
        ),
        (
            Model(words=(*WORDS, "ä")),
            f"the drafter has {len(WORDS) + 1} tokens and the target only {len(WORDS)}{ENDS}",
        ),
        (Model(words=(*WORDS, *"ä" * 129)), f"the target has {len(WORDS)} tokens and the drafter {len(WORDS) + 129}"),
        (Model(kind=1), "they are tokenizers of two types"),
        (
            Model(begin=()),
            "the target puts token 0 around every text and the drafter nothing, and llama.cpp refuses to draft then",
        ),
    ],
)
def test_other_tokenizers_give_no_number_and_a_reason(draft: Model, why: str) -> None:
    found = agreed(Model(), draft)
    assert found.refusal == f"the tokenizers differ: {why}"
    assert draft.asked == []
    assert found.texts == ()


def test_a_drafter_without_the_last_tokens_drafts_with_a_note() -> None:
    found = agreed(Model(words=(*WORDS, *"äöü")), Model())
    assert (found.refusal, found.tokens.same) == (None, False)
    assert found.notes[0] == (
        f"the target has {len(WORDS) + 3} tokens and the drafter {len(WORDS)}: llama.cpp takes a difference of 128, "
        "and the server aborts at a request that holds one of the last 3"
    )


def test_a_text_is_counted_up_to_a_token_that_the_drafter_does_not_have() -> None:
    beyond = len(WORDS)
    target = Model(words=(*WORDS, "ä"), following=lambda tokens: beyond if len(tokens) > 8 else counts(tokens))
    found = agreed(target, Model())
    assert [(text.prompt, len(text.written), text.cut) for text in found.texts] == [("one", 3, True), ("two", 7, True)]
    assert found.notes[1] == "2 of 2 texts were counted up to a token that the drafter does not have"
    left = agreed(Model(words=(*WORDS, "ä"), template="ä{}"), Model(words=WORDS))
    assert left.refusal == "no prompt can be drafted for"
    assert left.notes[1] == "2 of 2 prompts hold a token that the drafter does not have, and were left out"


def test_a_token_that_llama_cpp_does_not_compare_is_a_note() -> None:
    found = agreed(Model(), Model(words=other(w1="<end>")))
    assert (found.refusal, found.tokens.differing, found.tokens.first) == (None, (1,), (1, '"</s>"', '"<end>"'))
    assert found.notes[0].startswith("the two differ in token 1, of those below 5 that llama.cpp does not compare")


@pytest.mark.parametrize("at", [5, CHUNK - 1, CHUNK, len(MANY) - 1])
def test_a_difference_is_found_wherever_it_is(at: int) -> None:
    found = tokens(Model(words=MANY), Model(words=other(MANY, **{f"w{at}": "else"})))
    assert (found.differing, found.first) == ((at,), (at, f'"{MANY[at]}"', '"else"'))


def test_a_difference_that_a_text_of_both_hides_is_found() -> None:
    one, two = other(w9="x", w10="xx"), other(w9="xx", w10="x")
    assert "".join(one) == "".join(two)
    assert tokens(Model(words=one), Model(words=two)).differing == (9, 10)


def test_a_token_that_holds_the_mark_is_compared_by_itself() -> None:
    one, two = other(w9="a⟦|⟧b"), other(w9="a⟦|⟧b", w10="c")
    assert tokens(Model(words=one), Model(words=one)).same
    assert tokens(Model(words=one), Model(words=two)).differing == (10,)


def test_what_is_no_text_is_compared_by_its_bytes() -> None:
    words = other(w9="\ufffd", w10="\ufffd", w11="\ufffd")
    one = Model(words=words, octets={9: b"\xc3", 10: b"\xe2\x82", 11: b"\xff"})
    assert tokens(one, one).same
    found = tokens(one, replace(one, octets={**one.octets, 10: b"\xe2\x83"}))
    assert (found.differing, found.first) == ((10,), (10, '"\\xe2\\x82"', '"\\xe2\\x83"'))


def test_bytes_that_a_server_does_not_tell_are_said_to_be_unknown() -> None:
    words = other(w9="\ufffd", w10="\ufffd")
    found = tokens(Model(words=words, octets={9: b"\xc3", 10: b"\xc4"}), Model(words=words, octets={9: b"\xc3"}))
    assert (found.same, found.unread) == (True, 1)
    assert list(found.notes) == ["the bytes of 1 token that is no text alone are not told, and were not compared"]


def test_bytes_are_asked_for_in_bounded_requests() -> None:
    words = (*WORDS, *"\ufffd" * (RAW + 5))
    octets = {at: bytes([128 + at % 100, at // 256]) for at in range(len(WORDS), len(words))}
    assert tokens(Model(words=words, octets=octets), Model(words=words, octets=octets)).unread == 0


def test_prompts_that_are_taken_apart_in_two_ways_are_noted() -> None:
    found = agreed(Model(), Model(joins=True))
    assert found.refusal is None
    assert found.notes[0] == (
        "the two take 1 of 2 prompts apart in different ways; both were given the target's tokens, as a drafter is"
    )
