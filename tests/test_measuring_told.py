"""Two servers that run: whether comparing them says anything of their drafters."""

from dataclasses import replace
from typing import Any

import pytest

from quadgen.evidence import Setting
from quadgen.measuring.told import Told, compared, setting
from quadgen.problems import Severity

CANDIDATE = Told(
    url="http://a:1", build="b11434-abcdef1", model="g", file="g.gguf", parameters=268098176, size=246587904,
    vocabulary=262144, quantization="Q4_K - Medium", context=1024, slots=1, speculative=True,
    requested=("ngram-cache",),
)  # fmt: skip
COMPARATOR = replace(CANDIDATE, url="http://b:2", speculative=False, requested=())


def said(candidate: Told = CANDIDATE, comparator: Told = COMPARATOR) -> list[tuple[str, str, str]]:
    """Code, severity and message of all that is said of two servers."""
    return [(each.code, each.severity.value, each.message) for each in compared(candidate, comparator)]


def test_two_servers_of_one_build_and_model_can_be_compared() -> None:
    assert said() == []


def test_a_server_is_not_compared_with_itself() -> None:
    message = "http://a:1 is given twice: a server is compared with itself"
    assert said(CANDIDATE, replace(COMPARATOR, url=CANDIDATE.url)) == [("unlike-servers", "error", message)]


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"build": "b10434-7e4c0a9"}, "build: b11434-abcdef1 and b10434-7e4c0a9"),
        ({"parameters": 1}, "parameters: 268098176 and 1"),
        ({"size": 291000000}, "bytes of tensors: 246587904 and 291000000"),
        ({"vocabulary": 32000}, "tokens of the vocabulary: 262144 and 32000"),
        ({"quantization": "Q8_0"}, "quantisation: Q4_K - Medium and Q8_0"),
    ],
)
def test_builds_models_and_quantisations_must_be_the_same(changes: dict[str, Any], note: str) -> None:
    (problem,) = compared(CANDIDATE, replace(COMPARATOR, **changes))
    assert (problem.code, problem.severity) == ("unlike-servers", Severity.ERROR)
    assert problem.message == "http://a:1 and http://b:2 differ in more than their drafters"
    assert problem.notes == (note,)


def test_what_a_server_does_not_say_contradicts_nothing() -> None:
    assert said(CANDIDATE, Told(url="http://b:2", speculative=False)) == []


def test_the_candidate_must_speculate() -> None:
    ((code, severity, message),) = said(replace(CANDIDATE, speculative=False), COMPARATOR)
    assert (code, severity) == ("not-speculating", "error")
    assert message == "http://a:1, which is to be measured, does not speculate: its /slots say so"
    (changed,) = compared(COMPARATOR, CANDIDATE)
    assert (
        changed.message
        == "http://b:2, which is to be measured, does not speculate, and the other does: its /slots say so"
    )
    assert changed.hint == "change the two addresses round"


def test_two_that_speculate_alike_differ_in_nothing_that_is_known() -> None:
    ((code, severity, message),) = said(CANDIDATE, replace(CANDIDATE, url="http://b:2"))
    assert (code, severity) == ("unlike-servers", "error")
    assert message == "both speculate with ngram-cache: what they differ in, no server says"
    assert said(CANDIDATE, replace(CANDIDATE, url="http://b:2", requested=("draft-mtp",))) == []


def test_servers_that_do_not_know_their_build_are_not_proven_to_be_of_one() -> None:
    unknown = "b0-unknown"
    ((code, severity, message),) = said(replace(CANDIDATE, build=unknown), replace(COMPARATOR, build=unknown))
    assert (code, severity) == ("unlike-servers", "note")
    assert message == "http://a:1 does not know its own build, so that nothing proves that both are one"
    assert said(replace(CANDIDATE, build="b1-7e4c0a9"), replace(COMPARATOR, build="b1-7e4c0a9")) == []


def test_slots_and_contexts_that_differ_are_said() -> None:
    (problem,) = compared(CANDIDATE, replace(COMPARATOR, slots=4, context=256))
    assert (problem.code, problem.severity) == ("unlike-servers", Severity.NOTE)
    assert problem.notes == ("slots: 1 and 4", "tokens of a slot: 1024 and 256")


@pytest.mark.parametrize(
    ("build", "number", "commit"),
    [("b11434-abcdef1", "b11434", "abcdef1"), ("b1-7e4c0a9", None, "7e4c0a9"), ("b0-unknown", None, None),
     (None, None, None), ("b11434", "b11434", None), ("a fork", None, None)],
)  # fmt: skip
def test_a_build_is_read_as_version_has_it(build: str | None, number: str | None, commit: str | None) -> None:
    told = replace(CANDIDATE, build=build)
    assert (told.number, told.commit) == (number, commit)


def test_the_setting_is_what_the_server_says_it_speculates_with() -> None:
    assert setting(CANDIDATE) == (Setting.of(["ngram-cache"]), ())
    assert setting(replace(CANDIDATE, requested=("draft-mtp",)), draft_n_max=7) == (
        Setting.of(["draft-mtp"], draft_n_max=7), (),
    )  # fmt: skip
    assert setting(replace(CANDIDATE, requested=()), named=("ngram-mod",)) == (Setting.of(["ngram-mod"]), ())


def test_a_width_that_nobody_says_is_taken_for_the_engine_s_own_and_that_is_said() -> None:
    found, (problem,) = setting(replace(CANDIDATE, requested=("draft-mtp",)))
    assert found == Setting.of(["draft-mtp"])
    assert (problem.code, problem.severity) == ("unlike-servers", Severity.NOTE)
    assert problem.message == "no server says its draft width, so http://a:1 is recorded with the engine's own"


def test_types_that_were_named_must_be_those_that_run() -> None:
    _, (problem,) = setting(CANDIDATE, named=("draft-mtp", "ngram-cache"))
    assert problem.severity is Severity.ERROR
    assert problem.message == "http://a:1 speculates with ngram-cache, and draft-mtp,ngram-cache was named"
