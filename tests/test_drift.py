"""A server that runs against what the fleet decided: every difference at its field, every silence said."""

from dataclasses import replace
from typing import Any

import pytest

from fleets import CPU, accepted, flow, one
from quadgen.drift import Drift, drift
from quadgen.locating import placed
from quadgen.observed.answers import Health, Model, Properties, Slot
from quadgen.observed.live import Seen
from quadgen.observed.state import Observation, State
from quadgen.pipeline import find
from quadgen.problems import Severity

MTP = "{model: headed, backend: vulkan, context: 4096, slots: 2}"
HALOGEN = """\
version: 1
engines:
  flash: {kind: halogen, build: "0.17", backends: [rocm]}
models:
  next: {file: qwen38-flash-next-w4b.hgn}
hosts:
  strix: {engine: flash, backend: rocm, model: next, memory: 128GiB}
"""
SLOTS = tuple(Slot(id=number, context=4096, speculative=True, requested=("draft-mtp",)) for number in range(2))
PROPERTIES = Properties(alias="headed", model_path="/models/headed.gguf", build="b10715-abcdef1", slots=2, context=4096)


def observation(
    state: State = State.RUNNING, requested: tuple[str, ...] | None = ("draft-mtp",), **more: Any
) -> Observation:
    return Observation(source="http://claw", engine="llama.cpp", state=state, reasons=("so it says",),
                       requested=requested, **more)  # fmt: skip


def compared(
    fields: str = MTP,
    seen: Seen | None = None,
    said: Observation | None = None,
    text: str | None = None,
) -> Drift:
    """Compare a server with the only service of a fleet, and give what differs its places."""
    compiled = accepted(text or one(fields))
    (host,) = compiled.fleet.data["hosts"]
    (service,) = find(compiled, host, None)
    seen = Seen(slots=SLOTS, properties=PROPERTIES) if seen is None else seen
    found = drift(service, compiled.fleet.chain(host, None), seen, said or observation())
    return replace(found, problems=tuple(placed(found.problems, compiled.documents, compiled.name)))


def named(alias: str) -> Seen:
    return Seen(slots=SLOTS, properties=replace(PROPERTIES, alias=alias))


def messages(found: Drift) -> list[str]:
    return [problem.message for problem in found.problems]


def test_a_server_that_is_as_decided_differs_in_nothing_and_all_of_it_is_known() -> None:
    found = compared()
    assert (found.problems, found.unknown, found.differs) == ((), (), False)


def test_a_server_that_says_nothing_is_no_server_that_agrees() -> None:
    found = compared(seen=Seen(), said=replace(observation(State.UNKNOWN, None), engine=None))
    assert found.problems == ()
    assert found.unknown == (
        "its engine: nothing that it answers is of one engine alone",
        "whether it speculates: so it says",
        "its name: the server does not say",
        "its slots: the server does not say how many",
        "its context: the server does not say",
        "its checkpoint: the server does not say which file it reads",
        "its build: the server does not say",
    )


@pytest.mark.parametrize("state", [State.OFF, State.NOT_RUNNING])
def test_a_decided_drafter_that_does_not_run_is_drift_with_what_proves_it(state: State) -> None:
    found = compared(said=observation(state))
    (problem,) = found.problems
    assert problem.message == "the server does not speculate, and default means draft-mtp here"
    assert (problem.code, problem.host, problem.service) == ("server-drift", "claw", "llama-server")
    assert problem.notes == ("so it says",)
    assert problem.hint == "its log says why: journalctl -u llama-server.service | quadgen observe -"
    assert found.differs


@pytest.mark.parametrize("state", [State.RUNNING, State.IDLE, State.NEVER_ACCEPTED])
def test_speculation_that_nobody_decided_is_drift_at_the_profile(state: State) -> None:
    found = compared(fields=MTP.replace("}", ", profile: none}"), said=observation(state, None))
    (problem,) = found.problems
    assert problem.message == "the server speculates, and none means no speculation here"
    assert problem.place is not None
    assert problem.place.text[problem.place.column - 1 :].startswith("none")


def test_a_default_that_came_to_nothing_is_compared_as_nothing() -> None:
    plain = Seen(slots=(Slot(id=0, context=4096, speculative=True),), properties=replace(PROPERTIES, slots=1,
                 alias="plain", model_path="/m/plain.gguf"))  # fmt: skip
    found = compared(f"{CPU}}}", plain, observation(State.IDLE, None))
    assert messages(found) == ["the server speculates, and default means no speculation here"]


def test_types_that_were_given_are_compared_as_a_set() -> None:
    assert messages(compared(said=observation(requested=("ngram-mod", "draft-mtp")))) == [
        "the server was given ngram-mod,draft-mtp, and default means draft-mtp here"
    ]
    assert messages(compared(said=observation(State.OFF, ()))) == [
        "the server does not speculate, and default means draft-mtp here",
        "the server was given no --spec-type, and default means draft-mtp here",
    ]


def test_what_a_server_was_given_is_not_known_before_its_first_request() -> None:
    assert compared(said=observation(State.IDLE, None)).unknown == (
        "which drafters it was given: a server of llama.cpp says so after its first request",
    )


def test_drafts_that_are_never_accepted_are_a_warning_and_no_drift() -> None:
    found = compared(said=observation(State.NEVER_ACCEPTED))
    (problem,) = found.problems
    assert problem.severity is Severity.WARNING
    assert problem.message == "the server speculates as decided, and next to nothing of it is accepted: draft-mtp"
    assert not found.differs


def test_a_name_is_one_of_those_that_were_given() -> None:
    assert messages(compared(seen=named("other"))) == ["the server calls its model other, and `alias` is headed"]
    both = MTP.replace("}", ', alias: "b, a"}')
    assert messages(compared(both, named("a"))) == []
    assert messages(compared(both, named("c"))) == ["the server calls its model c, and `alias` is a or b"]


def test_slots_are_those_that_are_there_or_else_their_number() -> None:
    assert messages(compared(seen=Seen(slots=SLOTS[:1], properties=PROPERTIES))) == [
        "the server has 1 slot, and `slots` is 2"
    ]
    assert messages(compared(seen=Seen(properties=replace(PROPERTIES, slots=4)))) == [
        "the server has 4 slots, and `slots` is 2"
    ]


@pytest.mark.parametrize(
    ("context", "more", "gives"),
    [(4096, "", 4096), (1000, "", 1024), (1000, ", flags: {kv-unified: true}", 2048), (500, "", 512)],
)
def test_a_context_that_the_server_rounds_up_is_the_one_that_was_decided(context: int, more: str, gives: int) -> None:
    fields = f"{{model: headed, backend: vulkan, context: {context}, slots: 2{more}}}"
    assert messages(compared(fields, Seen(properties=replace(PROPERTIES, context=gives)))) == []
    (less,) = compared(fields, Seen(properties=replace(PROPERTIES, context=gives - 256))).problems
    comes = "" if context == gives else f", which comes to {gives} there"
    assert less.message == f"the server gives a slot {gives - 256} tokens, and `context` is {context}{comes}"
    assert less.hint == (
        f"a slot has no more than the model was trained for; where that is {gives - 256}, set `context: {gives - 256}`"
    )


@pytest.mark.parametrize(
    ("context", "more", "trained", "same"),
    [
        (1000, ", flags: {kv-unified: true}", 1500, True),
        (1000, ", flags: {kv-unified: true}", 900, False),
        (4000, "", 4000, True),
        (4096, "", 4000, False),
    ],
)
def test_a_slot_that_has_all_that_the_model_was_trained_for_is_as_decided_where_that_suffices(
    context: int,
    more: str,
    trained: int,
    same: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    fields = f"{{model: headed, backend: vulkan, context: {context}, slots: 2{more}}}"
    properties = replace(PROPERTIES, context=trained)
    models = (Model(id="headed", trained=trained),)
    assert (messages(compared(fields, Seen(properties=properties, models=models))) == []) is same
    assert messages(compared(fields, Seen(properties=properties))) != []


@pytest.mark.parametrize(
    ("slots", "context", "hint"),
    [
        (4, 2048, "the number of slots makes it so: 4 slots of 2048 tokens, which is 2 slots of 4096"),
        (1, 8192, "the number of slots makes it so: 1 slot of 8192 tokens, which is 2 slots of 4096"),
        (3, 2816, "the number of slots makes it so: 3 slots of 2816 tokens, which is 2 slots of 4224"),
        (4, 1024, "a slot has no more than the model was trained for; where that is 1024, set `context: 1024`"),
        (1, 2048, "a slot has no more than the model was trained for; where that is 2048, set `context: 2048`"),
        (1, 4352, "where the unit is newer than the process: systemctl restart llama-server.service"),
    ],
)
def test_a_context_that_other_slots_share_is_said_to_come_of_their_number(slots: int, context: int, hint: str) -> None:
    number, tokens = compared(seen=Seen(properties=replace(PROPERTIES, slots=slots, context=context))).problems
    assert number.message.endswith("and `slots` is 2")
    assert tokens.message == f"the server gives a slot {context} tokens, and `context` is 4096"
    assert tokens.hint == hint


def test_the_smallest_slot_is_what_counts() -> None:
    slots = (SLOTS[0], replace(SLOTS[1], context=2048))
    assert messages(compared(seen=Seen(slots=slots, properties=PROPERTIES))) == [
        "the server gives a slot 2048 tokens, and `context` is 4096"
    ]


def test_a_file_is_compared_by_its_last_part_wherever_the_server_has_it() -> None:
    assert messages(compared(seen=Seen(properties=replace(PROPERTIES, model_path="/srv/x/headed.gguf")))) == []
    (problem,) = compared(seen=Seen(properties=replace(PROPERTIES, model_path="/models/old.gguf"))).problems
    assert problem.message == "the server reads old.gguf, and headed is headed.gguf"
    assert problem.place is not None
    assert "headed: {file: headed.gguf" in problem.place.text


def test_a_file_that_the_server_chose_by_itself_cannot_be_compared() -> None:
    text = one(MTP).replace("headed: {file: headed.gguf", 'headed: {hf: "org/repo:Q4_K_M"')
    found = compared(text=text)
    assert "its checkpoint: the server chooses a file of org/repo:Q4_K_M, and reads headed.gguf" in found.unknown


@pytest.mark.parametrize(
    ("decided", "said", "message", "unknown"),
    [
        ("b10715", "b10715-abcdef1", None, None),
        ("b10715", "b10434-abcdef1", "the server is build b10434-abcdef1, and vulkan is b10715", None),
        ("b10715", "b1-7e4c0a9", None, "its build: the server says b1-7e4c0a9, which cannot be held against b10715"),
        ("b10715", "b0-unknown", None, "its build: the server says b0-unknown, which cannot be held against b10715"),
        ("7e4c0a9f11", "b1-7e4c0a9", None, None),
        ("7e4c0a9f11", "b1-abcdef1", "the server is build b1-abcdef1, and vulkan is 7e4c0a9f11", None),
        (
            "turbo",
            "b10715-abcdef1",
            None,
            "its build: the server says b10715-abcdef1, which cannot be held against turbo",
        ),
    ],
)
def test_a_build_is_compared_as_far_as_the_server_knows_it(
    decided: str, said: str, message: str | None, unknown: str | None
) -> None:
    text = one(MTP).replace(
        "vulkan: {kind: llama.cpp, build: b10715", f"vulkan: {{kind: llama.cpp, build: {flow(decided)}"
    )
    found = compared(text=text, seen=Seen(slots=SLOTS, properties=replace(PROPERTIES, build=said)))
    assert messages(found) == ([] if message is None else [message])
    assert found.unknown == (() if unknown is None else (unknown,))


def test_another_engine_is_drift_at_its_kind() -> None:
    found = compared(said=replace(observation(), engine="halogen"))
    assert messages(found) == ["the server is halogen, and vulkan is llama.cpp"]


def test_of_halogen_its_name_and_its_drafter_are_compared_and_the_rest_as_far_as_it_is_said() -> None:
    health = Health(status="ok", engine="halogen", version="0.17", drafters=("serial", "mtp"), drafter="mtp", slots=4,
                    context=262144)  # fmt: skip
    said = Observation(source="http://strix", engine="halogen", state=State.RUNNING, reasons=("so it says",))
    found = compared(text=HALOGEN, seen=Seen(health=health, models=(Model(id="next"),)), said=said)
    assert messages(found) == []
    off = replace(said, state=State.OFF)
    found = compared(text=HALOGEN, seen=Seen(models=(Model(id="halogen-qwen3.8-flash-next"),)), said=off)
    assert messages(found) == [
        "the server does not speculate, and default means draft-mtp here",
        "the server calls its model halogen-qwen3.8-flash-next, and `alias` is next",
    ]


OTHER = Properties(alias="other", model_path="/models/other.gguf", build="b10434-abcdef1", slots=1, context=4096)
ANOTHER = (
    "this is likely another server: look at its address, and at which service it should be; "
    "claw/llama-server listens on port 8080"
)


def test_a_server_of_which_next_to_nothing_is_as_decided_is_likely_another_and_no_restart_is_advised() -> None:
    found = compared(seen=Seen(properties=OTHER), said=observation(State.OFF, ()))
    assert len(found.problems) == 6
    assert [problem.hint for problem in found.problems if problem.hint] == [ANOTHER]
    halogen = replace(observation(State.UNKNOWN, None), engine="halogen")
    found = compared(seen=Seen(models=(Model(id="next"),)), said=halogen)
    assert [problem.hint for problem in found.problems] == [ANOTHER, None]


@pytest.mark.parametrize("same", ["alias", "model_path", "build"])
def test_a_server_that_has_something_of_what_was_decided_may_be_an_older_one(same: str) -> None:
    properties = replace(OTHER, **{same: getattr(PROPERTIES, same)})
    hints = [problem.hint or "" for problem in compared(seen=Seen(properties=properties)).problems]
    assert len(hints) == 3
    assert all("systemctl restart" in hint for hint in hints)
