"""What a running server's answers prove of its speculation, and what of them proves nothing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import captures
from quadgen.observed import answers
from quadgen.observed.answers import Health, Misshapen, Model, Properties, Slot
from quadgen.observed.live import Seen, observation
from quadgen.observed.metrics import Scrape, parse
from quadgen.observed.state import ENOUGH, Observation, State

STILL = Scrape(engine="llama.cpp", generated=0, seconds=0.0, drafted=0, accepted=0, rounds=0)
DRAFTED = replace(STILL, generated=1000, seconds=10.0, drafted=400, accepted=300, rounds=50)


def slot(*, speculative: bool | None, requested: tuple[str, ...] | None = None) -> Slot:
    return Slot(id=0, context=1024, speculative=speculative, requested=requested)


def seen(build: str, configuration: str, *, slots: str = "slots") -> Seen:
    """A server as it was captured."""
    scrapes = [parse("m", captures.metrics(build, configuration, when)) for when in ("before", "after")]
    return Seen(
        slots=answers.slots(captures.answer(build, configuration, slots)),
        properties=answers.properties(captures.answer(build, configuration, "props")),
        models=answers.listed(captures.answer(build, configuration, "models")),
        health=answers.health(captures.answer(build, configuration, "health")),
        scrapes=tuple(scrapes),
        seconds=60.0,
    )


def judge(**said: Any) -> Observation:
    return observation("here", Seen(**said))


@pytest.mark.parametrize("build", captures.BUILDS)
def test_the_captured_server_that_speculates_is_running(build: str) -> None:
    found = observation("here", seen(build, "ngram-cache"))
    assert (found.state, found.engine, found.requested) == (State.RUNNING, "llama.cpp", ("ngram-cache",))
    assert found.total == found.window
    assert found.total is not None
    assert found.window_seconds == 60.0
    assert found.reasons == (
        "/slots says that an implementation of speculation runs",
        f"{found.total.accepted} of {found.total.drafted} drafted tokens were accepted in this window",
    )


@pytest.mark.parametrize("build", captures.BUILDS)
def test_the_captured_server_without_speculation_is_off_although_it_counts_drafts(build: str) -> None:
    found = observation("here", seen(build, "nospec"))
    assert (found.state, found.requested) == (State.OFF, ())
    assert found.reasons == (
        "/slots says that nothing speculates, and that nothing was asked to",
        "it drafted nothing since it started",
    )
    assert found.total is not None
    assert found.total.acceptance is None


@pytest.mark.parametrize("build", captures.BUILDS)
def test_a_server_that_has_served_nothing_says_whether_it_speculates_but_not_whether_it_should(build: str) -> None:
    quiet = (("default", "slots"), ("nospec", "slots-before"), ("ngram-cache", "slots-before"))
    slots = [answers.slots(captures.answer(build, name, which)) for name, which in quiet]
    found = [judge(slots=each, scrapes=(STILL,)) for each in slots]
    assert [one.state for one in found] == [State.OFF, State.OFF, State.IDLE]
    assert {one.requested for one in found} == {None}
    why = "/slots says that nothing speculates; whether it was asked to is said by a slot after its first task"
    assert found[0].reasons[0] == why


def test_props_are_read_but_not_for_their_types_which_are_always_none() -> None:
    said = answers.properties(captures.answer("b11434", "ngram-cache", "props"))
    assert said == Properties(
        alias="g270", model_path="/models/gemma3-270m.gguf", build="b0-unknown", slots=2, context=1024,
        is_sleeping=False,
    )  # fmt: skip


def test_models_are_listed_with_their_names() -> None:
    said = captures.answer("b11434", "nospec", "models")
    assert answers.listed(said) == (Model(id="g270", aliases=("g270",), owner="llamacpp", context=1024, trained=32768),)
    assert answers.models(said) == ("g270",)
    router = {"data": [{"id": "a", "aliases": ["b"], "status": {"value": "unloaded", "args": []}}]}
    assert answers.listed(router) == (Model(id="a", aliases=("b",), status="unloaded"),)
    assert answers.models(router) == ("a", "b")


def test_a_router_is_known_and_its_made_up_names_are_not_taken() -> None:
    said = {"role": "router", "model_alias": "llama-server", "model_path": "none", "build_info": "b11434-x",
            "default_generation_settings": {"params": None, "n_ctx": 0}}  # fmt: skip
    assert answers.properties(said) == Properties(build="b11434-x", is_router=True)


def test_what_was_asked_for_and_does_not_run_is_told_with_its_name() -> None:
    found = judge(slots=(slot(speculative=False), slot(speculative=False, requested=("draft-simple",))))
    assert found.state is State.NOT_RUNNING
    why = "/slots says that nothing of it runs; the log of its start says why"
    assert found.reasons == (f"--spec-type draft-simple was asked for, and {why}",)


def test_a_drafter_of_which_nothing_is_accepted_is_told_apart() -> None:
    running = (slot(speculative=True, requested=("draft-mtp",)),)
    found = judge(slots=running, scrapes=(replace(DRAFTED, drafted=633, accepted=1),))
    assert found.state is State.NEVER_ACCEPTED
    assert found.reasons[1] == "1 of 633 drafted tokens were accepted since it started"
    few = judge(slots=running, scrapes=(replace(DRAFTED, drafted=8, accepted=0),))
    assert few.reasons[1] == "0 of 8 drafted tokens were accepted since it started, which is too few to say much"
    good = judge(slots=running, scrapes=(replace(DRAFTED, drafted=8, accepted=7),))
    assert good.reasons[1] == "7 of 8 drafted tokens were accepted since it started"


def test_a_window_counts_once_it_has_drafted_enough() -> None:
    running = (slot(speculative=True),)
    short = replace(DRAFTED, generated=1100, drafted=400 + ENOUGH - 1)
    assert judge(slots=running, scrapes=(DRAFTED, short), seconds=1.0).state is State.RUNNING
    long = replace(short, drafted=400 + ENOUGH)
    found = judge(slots=running, scrapes=(DRAFTED, long), seconds=1.0)
    assert found.state is State.NEVER_ACCEPTED
    assert found.reasons[1] == f"0 of {ENOUGH} drafted tokens were accepted in this window"


def test_without_metrics_a_server_that_speculates_runs_and_more_is_not_known() -> None:
    found = judge(slots=(slot(speculative=True),), missing=("/metrics is switched off (501)",))
    assert found.state is State.RUNNING
    assert found.reasons[0].endswith("what it drafts and how much of it is accepted is not known without its counters")
    assert found.notes == ("/metrics is switched off (501)",)
    assert found.total is None


def test_without_slots_drafts_prove_speculation_and_zeros_prove_nothing() -> None:
    assert judge(scrapes=(DRAFTED,)).state is State.RUNNING
    found = judge(scrapes=(STILL,))
    assert found.state is State.UNKNOWN
    assert found.reasons[0] == "it has drafted nothing, which a server without speculation says too; /slots would tell"
    older = judge(scrapes=(Scrape(engine="llama.cpp", generated=9, seconds=1.0),))
    assert (older.state, older.total and older.total.acceptance) == (State.UNKNOWN, None)
    assert "this build does not count what it drafts (llama-server does since b10434)" in older.notes
    nothing = judge(properties=Properties(build="b1-x"))
    assert (nothing.state, nothing.engine) == (State.UNKNOWN, "llama.cpp")
    assert judge(scrapes=(Scrape(engine=None),)).notes == (
        "what /metrics answers are not the counters of llama-server or halogen",
    )


def test_a_server_that_was_started_anew_between_the_readings_has_no_window() -> None:
    found = judge(slots=(slot(speculative=True),), scrapes=(DRAFTED, replace(DRAFTED, generated=5)), seconds=3.0)
    assert (found.window, found.window_seconds) == (None, None)
    assert found.notes[0].startswith("it was started anew between the readings")


def test_what_a_short_window_cannot_show_is_named() -> None:
    first = replace(DRAFTED, generated=5_123_460, steps={"generated": 10.0})
    last = replace(first, generated=5_123_500, processing=1)
    found = judge(slots=(slot(speculative=True),), scrapes=(first, last), seconds=3.0)
    assert found.window is not None
    assert found.window.generated is None
    told = "the server prints its counters in six digits, too few for so short a window: not known are generated tokens"
    assert found.notes[:2] == (told, "requests are being answered (1); a request is counted when it has ended")


def test_engine_figures_are_called_that() -> None:
    rates = [note for note in judge(scrapes=(DRAFTED,)).notes if "the engine's own" in note]
    assert rates == ["rates are the engine's own, without prompts, waiting and delivery: a client sees less"]


def test_which_of_several_types_run_is_said_to_be_unknown_where_one_could_be_passed_over() -> None:
    part = judge(slots=(slot(speculative=True, requested=("draft-dflash", "ngram-cache")),))
    assert "which of draft-dflash, ngram-cache run cannot be told from outside" in part.notes[0]
    assert judge(slots=(slot(speculative=True, requested=("ngram-mod", "ngram-cache")),)).notes == ()


def test_a_server_that_sleeps_is_said_to() -> None:
    assert judge(properties=Properties(is_sleeping=True)).notes == (
        "it sleeps: its model is loaded again by the next request",
    )


HALOGEN = Health(status="ok", engine="halogen", drafters=("serial", "mtp"), drafter="mtp")


@pytest.mark.parametrize(
    ("health", "scrapes", "state"),
    [
        (HALOGEN, (), State.UNKNOWN),
        (HALOGEN, (Scrape(engine="halogen", generated=9, seconds=1.0),), State.UNKNOWN),
        (HALOGEN, (Scrape(engine="halogen", drafted=0, accepted=0),), State.IDLE),
        (HALOGEN, (Scrape(engine="halogen", drafted=334, accepted=282),), State.RUNNING),
        (replace(HALOGEN, drafter="serial"), (), State.OFF),
        (replace(HALOGEN, drafter="serial"), (Scrape(engine="halogen", drafted=334, accepted=282),), State.RUNNING),
        (None, (Scrape(engine="halogen", requests=1),), State.UNKNOWN),
    ],
)
def test_halogen_is_judged_by_its_counters_then_by_its_health(
    health: Health | None, scrapes: tuple[Scrape, ...], state: State
) -> None:
    found = judge(health=health, scrapes=scrapes)
    assert (found.engine, found.state) == ("halogen", state)
    if state is State.UNKNOWN:
        assert "its lines `serve_api:`" in found.reasons[0]


def test_halogens_health_is_read() -> None:
    said = {"status": "ok", "version": {"api": "0.16.2", "engine": "0.16.2"}, "checkpoint_format": "hgn", "slots": 4,
            "slot_ctx": 262144, "drafters_available": ["serial", "mtp"], "drafter_default": "mtp"}  # fmt: skip
    assert answers.health(said) == replace(HALOGEN, version="0.16.2", slots=4, context=262144)
    assert answers.health({"status": "ok"}) == Health(status="ok")
    assert observation("h", Seen(models=(Model(id="m", owner="halogen"),))).engine == "halogen"


@pytest.mark.parametrize(
    ("read", "said", "why"),
    [
        (answers.slots, {"error": 1}, "with a table where the slots should be"),
        (answers.slots, [1], "with a number where a slot should be"),
        (answers.slots, [{}], "a slot without id"),
        (answers.slots, [{"id": True}], "with true or false for id"),
        (answers.slots, [{"id": 0, "n_ctx": -1}], "with a number for n_ctx"),
        (answers.slots, [{"id": 0, "speculative": 1}], "with a number for speculative"),
        (answers.slots, [{"id": 0, "params": []}], "with a list where params should be"),
        (answers.slots, [{"id": 0, "params": {"speculative.types": ["a"]}}], "with a list for speculative.types"),
        (answers.properties, None, "with nothing where the properties should be"),
        (
            answers.properties,
            {"default_generation_settings": "x"},
            "with text where default_generation_settings should be",
        ),
        (answers.listed, {}, "with nothing where the models should be"),
        (answers.listed, {"data": [{}]}, "a model without id"),
        (answers.listed, {"data": [{"id": "a", "aliases": "b"}]}, "with text for aliases"),
        (answers.health, [], "with a list where its health should be"),
        (answers.health, {"drafters_available": [1]}, "with a list for drafters_available"),
    ],
)
def test_an_answer_of_another_shape_is_refused_with_what_it_is(read: Any, said: object, why: str) -> None:
    with pytest.raises(Misshapen) as refused:
        read(said)
    assert str(refused.value) == why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["id", "n_ctx", "speculative", "params", "speculative.types", "data", "status", "version",
                         "meta", "aliases", "default_generation_settings", "total_slots", "role"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_answer_is_worse_than_misshapen(said: object) -> None:
    for read in (answers.slots, answers.properties, answers.listed, answers.models, answers.health):
        try:
            read(said)
        except Misshapen as error:
            assert str(error)  # noqa: PT017 - most are, and none may be anything else


def test_names_that_a_terminal_would_obey_are_written_out() -> None:
    assert answers.properties({"model_alias": "a\x1b[2Jé\u202e"}).alias == "a\\u001b[2Jé\\u202e"
