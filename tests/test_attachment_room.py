"""Whether a drafter fits beside its model, what the ledger has for it, and that no unit comes of the question."""

from typing import Any, Final

import pytest

from fleets import ENGINES, accepted, compile_text, marked, one, refusal
from locks import GIB, dense, locked
from quadgen.attachment import About, Attachment, Drafter, attachable
from quadgen.pipeline import find
from quadgen.problems import Severity
from quadgen.units import build
from source import modules

SMALL: Final = GIB * 3
LARGE: Final = GIB * 9
LOCK: Final = locked({"m.gguf": dense(12 * GIB), "small.gguf": dense(SMALL), "large.gguf": dense(LARGE)})
COPY: Final = ("draft-mtp", "ngram-cache")


RTX: Final = "{name: NVIDIA GeForce RTX 3090, vram: 24GiB}"


def card(fields: str = ", context: 8192, memory: 64GiB", gpu: str = RTX, above: str = "") -> str:
    models = "models:\n  m: {file: m.gguf}\n  small: {file: small.gguf}\n  large: {file: large.gguf}\n"
    engines = ENGINES.replace("models:\n", models)
    return f"{engines}{above}hosts:\n  claw: {{backend: cuda, model: m, gpus: [{gpu}]{fields}}}\n"


def asked(text: str, *types: str, lock: bool = True, **more: Any) -> Attachment:
    found = compile_text(text, LOCK if lock else {})
    return attachable(found, "claw", None, Drafter(spec_types=types, **more))


def of_memory(found: Attachment) -> list[tuple[bool | None, str]]:
    return [(each.holds, each.sentence) for each in found.findings if each.about is About.MEMORY]


def test_a_drafter_that_has_room_beside_the_model_says_what_it_takes_and_what_is_free() -> None:
    found = asked(card(), "draft-simple", draft_model="small")
    assert (found.attachable, found.problems) == (True, ())
    assert found.resolution is not None
    assert found.plain is not None
    added, there = (
        sum(share.size for share in service.memory if share.card == 0) for service in (found.resolution, found.plain)
    )
    more, free = (added - there) / GIB, (23 * GIB - there) / GIB
    sentence = f"it takes {more:.1f} GiB more of card 0, where {free:.1f} GiB are free without it"
    assert (True, sentence) in of_memory(found)


def test_a_drafter_that_has_no_room_does_not_fit_and_both_figures_say_so() -> None:
    found = asked(card(), "draft-simple", draft_model="large")
    (problem,) = found.problems
    assert (found.attachable, problem.code, marked(problem)) == (False, "does-not-fit", "24GiB")
    assert any("draft model: weights" in note for note in problem.notes)
    refused = [sentence for holds, sentence in of_memory(found) if holds is False]
    assert len(refused) == 1
    assert refused[0].startswith("it takes 10.")
    assert "more of card 0, where 9." in refused[0]
    assert found.resolution is not None  # as it would run, had the card more memory


def test_a_drafter_on_the_cpu_takes_of_the_hosts_memory_alone() -> None:
    found = asked(card(), "draft-simple", draft_model="large", draft_device=("none",))
    ((fits, sentence),) = of_memory(found)
    assert (found.attachable, fits) == (True, True)
    assert sentence.startswith("it takes 10.")
    assert sentence.endswith(" more of the host's memory, where 63.0 GiB are free without it")


def test_a_drafter_on_a_device_of_another_backend_is_on_a_card_that_nobody_knows() -> None:
    text = card().replace("backends: [cuda]", "backends: [cuda, vulkan]").replace("  vulkan: {", "  other: {")
    text = text.replace("backend: cuda,", "backend: cuda, engine: cuda,")
    found = asked(text, "draft-simple", draft_model="small", draft_device=("Vulkan0",))
    assert (found.attachable, found.problems) == (None, ())
    assert of_memory(found) == [(None, "draft model: all: nobody says which card Vulkan0 is")]


def test_a_context_that_nobody_said_gives_way_and_that_is_told() -> None:
    found = asked(card(", memory: 64GiB"), "draft-simple", draft_model="large")
    assert (found.attachable, found.problems) == (True, ())
    assert found.resolution is not None
    context = found.resolution.context
    assert context < 32768
    sentence = f"the context of llama-server gives way to it: {context} tokens instead of 32768"
    assert of_memory(found)[-1] == (True, sentence)


def test_an_n_gram_drafter_takes_no_memory_of_a_card() -> None:
    found = asked(card(), "ngram-simple")
    assert found.attachable is True
    assert of_memory(found) == [(True, "it takes no more memory than the service does without it")]


@pytest.mark.parametrize(
    ("fields", "gpu", "says"),
    [
        (", context: 8192", "{name: A, vram: 24GiB}", "nobody says how much there is: `memory` of the host"),
        (", context: 8192, memory: 64GiB", "{name: A}", "nobody says how much there is: `vram` of its entry in `gpus`"),
    ],
)
def test_a_size_that_nobody_says_leaves_the_answer_open(fields: str, gpu: str, says: str) -> None:
    found = asked(card(fields, gpu), "draft-simple", draft_model="small")
    assert (found.attachable, found.problems) == (None, ())
    assert [sentence.endswith(says) for holds, sentence in of_memory(found) if holds is None] == [True]


def test_what_nobody_recorded_leaves_the_answer_open() -> None:
    found = asked(card(), "draft-simple", lock=False, draft_model="small")
    assert (found.attachable, found.problems) == (None, ())
    unknown = [each for each in found.findings if each.holds is None]
    assert {each.about for each in unknown} == {About.COMPOSITION, About.TOKENIZER, About.MEMORY}
    assert "quadgen lock" in unknown[0].sentence


def test_a_neighbour_is_counted_although_nobody_measured_what_it_drafts_with() -> None:
    mine = "profiles: {mine: {spec_types: [ngram-mod], workload: copy}}\n"
    services = ", services: {a: {}, b: {port: 9000, model: small, profile: mine}}"
    found = compile_text(card(f", context: 8192, memory: 64GiB{services}", above=mine), LOCK)
    assert [each.code for each in found.problems] == ["unmeasured-combination"]
    answer = attachable(found, "claw", "a", Drafter(spec_types=("draft-simple",), draft_model="small"))
    alone = asked(card(), "draft-simple", draft_model="small")
    assert (alone.attachable, answer.attachable, answer.before) == (True, True, ())
    assert of_memory(alone)[1][1].partition(", where ")[0] == of_memory(answer)[1][1].partition(", where ")[0]
    assert of_memory(alone) != of_memory(answer)


@pytest.mark.parametrize(("drafter", "fits"), [("small", True), ("large", False)])
def test_a_neighbour_that_never_runs_at_the_same_time_takes_no_room(drafter: str, fits: bool) -> None:  # noqa: FBT001 - a parameter
    services = ", services: {a: {}, b: {port: 9000, context: 40960, conflicts: [a]}}"
    found = compile_text(card(f", context: 8192, memory: 64GiB{services}"), LOCK)
    answer = attachable(found, "claw", "a", Drafter(spec_types=("draft-simple",), draft_model=drafter))
    alone = asked(card(), "draft-simple", draft_model=drafter)
    assert (answer.attachable, alone.attachable) == (fits, fits)
    assert of_memory(answer)[-1] == of_memory(alone)[-1]
    assert [each.code for each in answer.problems] == ([] if fits else ["does-not-fit"])


def test_a_neighbours_context_gives_way_too_where_nobody_said_it() -> None:
    services = ", services: {a: {context: 4096}, b: {port: 9000, model: small}}"
    found = compile_text(card(f", memory: 64GiB{services}"), LOCK)
    answer = attachable(found, "claw", "a", Drafter(spec_types=("draft-simple",), draft_model="small"))
    assert (answer.attachable, answer.problems) == (True, ())
    assert of_memory(answer)[-1][1].startswith("the context of b gives way to it: ")


def test_a_neighbour_that_is_refused_leaves_open_what_is_free() -> None:
    services = ", services: {a: {}, b: {port: 9000, model: small, profile: copy}}"
    found = compile_text(card(f", context: 8192, memory: 64GiB{services}"), LOCK)
    answer = attachable(found, "claw", "a", Drafter(spec_types=("draft-simple",), draft_model="small"))
    assert (answer.attachable, answer.before, answer.problems) == (None, (), ())
    assert of_memory(answer)[0] == (None, "what b takes nobody can say, since it is refused itself")


def test_a_measured_loss_is_evidence_and_no_obstacle() -> None:
    text = one("{model: headed, backend: vulkan, context: 4096}")
    found = attachable(compile_text(text), "claw", None, Drafter(spec_types=COPY, draft_n_max=7))
    assert found.attachable is not False
    (told,) = found.evidence
    refused = refusal(one("{model: headed, backend: vulkan, context: 4096, profile: copy}"))
    assert (told.code, told.message, told.notes) == (refused.code, refused.message, refused.notes)
    assert told.severity is Severity.NOTE
    assert any("loses" in note for note in told.notes)
    assert (told.hint, found.measured) == (refused.hint, ())


def test_a_measured_win_is_told_with_its_cost() -> None:
    found = attachable(
        compile_text(one("{model: headed, backend: cuda, context: 4096}")), "claw", None,
        Drafter(spec_types=COPY, draft_n_max=7),
    )  # fmt: skip
    (rendered,) = find(accepted(one("{model: headed, backend: cuda, context: 4096, profile: copy}")), "claw", None)
    assert found.resolution == rendered
    assert found.evidence == ()
    assert rendered.decision.rows[0].id in found.measured[0]
    assert len(found.measured) == len(rendered.decision.rows) + len(rendered.decision.costs)


def test_what_was_measured_on_another_build_is_told_as_that() -> None:
    text = one("{model: headed, backend: cuda, context: 4096}", above="policy: {build: refuse}\n")
    text = text.replace("build: b10715, backends: [cuda]", "build: b11434, backends: [cuda]")
    found = attachable(compile_text(text), "claw", None, Drafter(spec_types=COPY, draft_n_max=7))
    assert found.attachable is not False
    assert [each.code for each in found.evidence] == ["stale-build"]


def test_a_drafter_that_is_no_profile_yet_is_to_become_one() -> None:
    (told,) = asked(card(), "draft-simple", draft_model="small").evidence
    assert told.hint == (
        "add `draft-simple: {spec_types: [draft-simple], draft_model: small, workload: prose}` to `profiles`, and "
        "bring a number: quadgen measure --fleet fleet.yml claw --profile draft-simple"
    )
    headed = compile_text(one("{model: headed, backend: rocm, context: 4096}"))
    (told,) = attachable(headed, "claw", None, Drafter(spec_types=("draft-mtp",))).evidence
    assert told.hint == "`profile: default` drafts so where nobody measured it"


def test_no_unit_can_be_built_of_what_nobody_measured() -> None:
    found = asked(card(), "draft-simple", draft_model="small")
    assert found.resolution is not None
    assert found.plain is not None
    assert build(found.plain).unit == "llama-server.service"
    with pytest.raises(ValueError, match="no measurement allows draft-simple with draft model small"):
        build(found.resolution)


def test_the_fleet_is_refused_as_before_after_the_question() -> None:
    text = one("{model: headed, backend: vulkan, context: 4096, profile: copy}")
    compiled = compile_text(text)
    before = compiled.problems
    assert attachable(compiled, "claw", None, Drafter(spec_types=COPY, draft_n_max=7)).resolution is not None
    assert compiled.refused
    assert compiled.problems == before
    assert find(compiled, "claw", None) == []
    assert not compiled.resolved.gate.advisory
    assert compiled.resolved.gate._decided == {}  # noqa: SLF001 - what a gate keeps must not come from another


def test_only_the_question_opens_a_gate() -> None:
    opened = [module.name for module in modules() if "advisory=True" in module.text]
    assert opened == ["attachment.deciding", "cli.measure_plan", "measuring.alone"]
