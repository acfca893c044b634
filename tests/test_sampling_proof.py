"""What the log and /slots of a server say of its drafters, before anything of it is timed."""

import re
from collections.abc import Sequence

import pytest

import file_server
from file_server import Reply
from pages import fences
from quadgen.measuring.launch import Launch
from quadgen.measuring.sample import Arm
from quadgen.problems import Rejected, Unavailable
from quadgen.sampling.opening import Opened
from quadgen.sampling.proof import prove
from quadgen.server.client import connected
from sampled import NOTHING, Logged

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

ON, OFF = '[{"id": 0, "speculative": true}]', '[{"id": 0, "speculative": false}]'


def proven(slots: str, log: str | None, types: Sequence[str], arm: Arm = Arm.CANDIDATE) -> None:
    answers = {"/slots": lambda _: Reply(200, NOTHING, slots.encode())}
    with file_server.started(answers) as there, connected(there.url(), environ={}) as server:
        process = None if log is None else Logged(log)
        launch = Launch(program="s", arguments=(), types=tuple(types))
        prove(Opened(server=server, process=process, launch=launch), arm)


def refused(slots: str, log: str | None, types: Sequence[str]) -> str:
    with pytest.raises(Rejected) as caught:
        proven(slots, log, types)
    (problem,) = caught.value.problems
    assert problem.code == "not-speculating"
    return "\n".join((problem.message, *problem.notes, problem.hint or ""))


def added(*types: str) -> str:
    return "".join(f"0.00.000.001 I spec common_specu: adding speculative implementation '{each}'\n" for each in types)


def test_drafters_that_run_and_arms_that_have_none_are_let_through() -> None:
    proven(ON, added("ngram-simple", "ngram-cache"), ["ngram-cache", "ngram-simple"])
    proven(OFF, "", [], Arm.COMPARATOR)
    proven(ON, None, ["ngram-cache", "ngram-simple"])


def test_one_drafter_that_runs_is_believed_where_the_log_names_none() -> None:
    proven(ON, "listening\n", ["ngram-cache"])
    assert "runs without ngram-cache" in refused(ON, added("ngram-simple"), ["ngram-cache"])


def test_of_several_drafters_each_must_be_named_in_the_log() -> None:
    assert refused(ON, "one\ntwo\nlistening\n", ["ngram-cache", "ngram-mod"]) == (
        "the server of the candidate runs without ngram-cache and ngram-mod, and nothing of it is measured\n"
        "it said: two\nit said: listening\nlook into the log of its start, at --log-verbosity 4"
    )


def test_a_drafter_that_nobody_asked_for_is_not_measured_along() -> None:
    assert refused(ON, added("ngram-mod", "ngram-cache"), ["ngram-mod"]) == (
        "the server of the candidate runs ngram-cache as well, which its profile does not have\n"
        "leave LLAMA_ARG_SPEC_TYPE out of the image, or have these types in the profile"
    )


def test_every_slot_must_speculate_and_none_where_nothing_may() -> None:
    mixed = '[{"id": 0, "speculative": true}, {"id": 1, "speculative": false}]'
    assert "runs without ngram-mod" in refused(mixed, None, ["ngram-mod"])
    assert "the server of the candidate speculates, and its profile does not" in refused(mixed, None, [])


@pytest.mark.parametrize("slots", ["[]", '[{"id": 0}]', '[{"speculative": true}]', "{}"])
def test_slots_that_say_nothing_prove_nothing(slots: str) -> None:
    with pytest.raises(Unavailable, match=r"/slots"):
        proven(slots, added("ngram-mod"), ["ngram-mod"])


def test_the_log_of_the_error_index_is_refused_by_what_it_says() -> None:
    (fence,) = [fence for fence in fences("docs/errors.md") if fence.words == ("not-speculating",)]
    types = re.findall(r"--spec-type (\S+)", fence.text)
    assert refused(OFF, fence.text, types).startswith(
        "the server of the candidate runs without draft-simple, and nothing of it is measured: "
        "target and draft model do not have the same tokens\n"
    )
