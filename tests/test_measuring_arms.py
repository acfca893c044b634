"""The two arms of a measurement: what each is told, what is no measurement, and that the row is the one asked for."""

from collections.abc import Mapping

import pytest

from fleets import NONE, accepted, compile_text, one, refusal
from locks import GIB, LOCK, dense, locked
from quadgen.engines.drafters import CARRYING
from quadgen.evidence import NO_SPECULATION, Setting
from quadgen.measuring.arms import Arms, arms
from quadgen.problems import Problem, Rejected, Severity
from quadgen.resolution import Resolution

FIELDS = "model: plain\nbackend: cpu\nengine: cpu\ncontext: 4096\n"
HEADED = "model: headed\nbackend: vulkan\ncontext: 4096\n"
MINE = "profiles: {p: {spec_types: [ngram-mod], workload: copy, against: none}}\n"
SIMPLE = "spec_types: [draft-simple], workload: x"
SMALL = "  small: {file: small.gguf}\n"


def asked(
    text: str, profile: str = "p", files: Mapping[str, str | bytes] = NONE, *, service: str | None = None
) -> Arms:
    return arms(compile_text(text, files), "claw", service, profile)


def wrong(text: str, profile: str = "p", files: Mapping[str, str | bytes] = NONE) -> Problem:
    with pytest.raises(Rejected) as rejected:
        asked(text, profile, files)
    (found,) = (each for each in rejected.value.problems if each.severity is Severity.ERROR)
    return found


def words(service: Resolution) -> list[str]:
    return [str(word) for argument in service.arguments for word in argument.words]


def with_models(text: str) -> str:
    return text.replace("models:\n", f"models:\n{SMALL}", 1)


def profile(fields: str) -> str:
    return f"profiles: {{p: {{{fields}}}}}\n"


def test_a_service_that_only_lacks_evidence_has_both_arms() -> None:
    text = one(f"{FIELDS}profile: p\n", above=MINE)
    assert refusal(text).code == "unmeasured-combination"
    found = asked(text)
    assert (found.host, found.service, found.spec.name, found.problems) == ("claw", None, "p", ())
    assert words(found.candidate) == [*words(found.comparator), "--spec-type", "ngram-mod"]
    assert found.comparator.decision.setting == NO_SPECULATION


def test_a_service_is_measured_with_a_profile_that_it_does_not_have_yet() -> None:
    there, not_yet = (asked(one(f"{FIELDS}{said}", above=MINE)) for said in ("profile: p\n", ""))
    assert words(there.candidate) == words(not_yet.candidate)
    assert there.request == not_yet.request


def ledger(found: Arms, ratio: float) -> dict[str, str]:
    """The row that answers exactly what was asked."""
    request = found.request

    def said(setting: Setting) -> str:
        width = "" if setting.draft_n_max is None else f", draft_n_max: {setting.draft_n_max}"
        model = "" if setting.draft_model is None else f", draft_model: {setting.draft_model}"
        return f"{{spec_types: [{', '.join(sorted(setting.spec_types))}]{width}{model}}}"

    header = "" if request.header is None else f"header: {request.header}, "
    return {
        "measurements/claw.yml": (
            f"version: 1\nmeasurements:\n- {{id: it, engine: {request.engine}, build: {request.build}, {header}"
            f"backend: {request.backend}, device: {(*request.devices, 'CPU')[0]}, model: {request.model}, "
            f"workload: {request.workload}, setting: {said(request.setting)}, against: {said(request.against)}, "
            f"ratio: {ratio}, samples: 7, source: here}}\n"
        )
    }


ASKING = [
    one(f"{FIELDS}profile: p\n", above=MINE),
    one(f"{FIELDS}profile: p\n", above=profile("spec_types: [ngram-map-k], workload: copy")),
    one(f"{HEADED}profile: p\n", above=profile("spec_types: [draft-mtp, ngram-mod], draft_n_max: 5, workload: prose")),
    one(f"{HEADED}profile: copy\n"),
    with_models(one(f"{FIELDS}profile: p\ndraft_model: small\n", above=profile(SIMPLE))),
    with_models(one(f"{FIELDS}profile: p\n", above=profile(f"{SIMPLE}, draft_model: small"))),
]  # fmt: skip


@pytest.mark.parametrize("text", ASKING)
def test_the_row_that_was_asked_for_decides_the_next_render_either_way(text: str) -> None:
    name = refusal(text).message.removeprefix("no measurement says that ").partition(" ")[0]
    found = asked(text, name)
    won = accepted(text, ledger(found, 1.5)).resolved.hosts["claw"]
    assert [[row.id for row in each.decision.rows] for each in won] == [["it"]]
    assert [words(each) for each in won] == [words(found.candidate)]
    assert refusal(text, ledger(found, 0.5)).code == "measured-loss"


def test_the_request_has_the_header_that_the_lock_has() -> None:
    lock = locked({"plain.gguf": dense()})
    assert asked(one(FIELDS, above=MINE), files=lock).request.header == dense().header


def test_the_comparator_goes_without_the_drafter_of_the_service() -> None:
    fields = f"{FIELDS}draft_model: small\ndraft_device: none\nprofile: p\n"
    found = asked(with_models(one(fields, above=profile("spec_types: [draft-simple], workload: copy"))))
    assert "--spec-draft-model" in words(found.candidate)
    assert not [word for word in words(found.comparator) if word.startswith("--spec")]


def test_what_a_service_drafts_with_today_does_not_stand_in_the_way() -> None:
    simple = "mine: {spec_types: [draft-simple], workload: copy}"
    above = f"profiles: {{p: {{spec_types: [ngram-mod], workload: copy}}, {simple}}}\n"
    found = asked(with_models(one(f"{FIELDS}draft_model: small\nprofile: mine\n", above=above)))
    assert words(found.candidate)[-2:] == ["--spec-type", "ngram-mod"]


def test_a_drafter_of_the_service_that_only_one_arm_can_have_is_no_comparison() -> None:
    above = (
        "profiles: {p: {spec_types: [ngram-mod], workload: copy, against: mine}, "
        "mine: {spec_types: [draft-simple], workload: copy}}\n"
    )
    found = wrong(with_models(one(f"{FIELDS}draft_model: small\n", above=above)))
    assert (found.code, found.hint) == ("unexpected-value", "give the profile mine a `draft_model` of its own")


def test_default_is_measured_against_no_speculation_where_it_speculates() -> None:
    found = asked(one(HEADED), "default")
    assert found.candidate.decision.types == ("draft-mtp",)
    assert found.request.against == found.comparator.decision.setting == NO_SPECULATION


def test_a_loss_of_default_is_what_the_next_render_warns_of() -> None:
    text = one(HEADED.replace("vulkan", "rocm"))
    found = asked(text, "default")
    rows = ledger(found, 0.5)["measurements/claw.yml"].replace("workload: ,", "workload: prose,")
    (warned,) = accepted(text, {"measurements/claw.yml": rows}).problems
    assert (warned.code, warned.hint) == ("measured-loss", "use `profile: none`")


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (one(FIELDS), "none", "the profile none is what others must beat, and there is nothing to measure"),
        (one(FIELDS), "default", "the profile default becomes no speculation here, and there is nothing to measure"),
        (
            one(FIELDS, above=profile("spec_types: [], workload: copy")), "p",
            "the profile p is no speculation here, and there is nothing to measure",
        ),
        (
            one(HEADED, above=profile("spec_types: [draft-mtp], workload: copy")), "p",
            "the profile p and default, which it must beat, are the same here",
        ),
    ],
)  # fmt: skip
def test_what_is_no_comparison_is_refused(text: str, name: str, message: str) -> None:
    found = wrong(text, name)
    assert (found.code, found.message) == ("unexpected-value", message)


def test_a_profile_that_is_not_there_is_refused_with_those_that_are() -> None:
    found = wrong(one(FIELDS, above=MINE), "q")
    assert (found.code, found.message) == ("unknown-profile", "there is no profile named q")
    assert found.hint == "known: copy, default, p"


def test_a_profile_that_is_wrong_itself_is_refused_with_its_own_problem() -> None:
    found = wrong(one(FIELDS, above=profile("spec_types: [ngram-mud], workload: copy")))
    assert (found.code, found.message) == ("unexpected-value", "there is no drafter type named ngram-mud")
    assert found.place is not None


@pytest.mark.parametrize(("host", "service"), [("paw", None), ("claw", "x")])
def test_a_host_or_service_that_is_not_there_is_refused(host: str, service: str | None) -> None:
    with pytest.raises(Rejected) as rejected:
        arms(compile_text(one(FIELDS, above=MINE)), host, service, "p")
    assert rejected.value.problems[0].message.startswith("there is no ")


def test_of_several_services_one_must_be_named() -> None:
    text = one("services: {a: {profile: p}, b: {port: 8081}}\n" + FIELDS, above=MINE)
    with pytest.raises(Rejected, match="the host claw has several services"):
        asked(text)
    assert asked(text, service="a").service == "a"


def test_what_a_render_refuses_beside_evidence_is_refused() -> None:
    needs_head = wrong(one(FIELDS), "copy")
    assert needs_head.code == "head-missing"
    assert wrong(one(f"{FIELDS}flags: {{nonsense: 1}}\n", above=MINE)).code == "unknown-flag"
    assert wrong(one(f"{FIELDS}memory: 4GiB\n", above=MINE), files=locked({"plain.gguf": dense(16 * GIB)})).code == (
        "does-not-fit"
    )


def test_what_is_wrong_with_another_service_is_no_obstacle() -> None:
    text = one("services: {a: {profile: p}, b: {port: 8081, model: lost}}\n" + FIELDS, above=MINE)
    assert asked(text, service="a").service == "a"


def test_warnings_of_the_service_are_handed_on() -> None:
    (found,) = asked(one(FIELDS.replace("context: 4096\n", ""), above=MINE)).problems
    assert (found.code, found.severity) == ("context-unknown", Severity.WARNING)


def test_an_engine_that_cannot_be_asked_is_refused() -> None:
    text = """version: 1
engines: {h: {kind: halogen, build: "0.17.3", backends: [rocm]}}
models: {q: {file: q.hgn}}
hosts: {claw: {backend: rocm, model: q}}
"""
    found = wrong(text, "default")
    assert (found.code, found.message) == (
        "closed-engine", "halogen has no /completion, by which a measurement asks for raw text",
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"])
def test_an_arm_whose_drafter_keeps_something_says_so(kind: str) -> None:
    found = asked(one(FIELDS, above=profile(f"spec_types: [{kind}], workload: copy")))
    assert (found.carries, found.comparator_carries) == (kind in CARRYING, False)


def test_the_fleet_is_decided_as_before_afterwards() -> None:
    compiled = compile_text(one(f"{FIELDS}profile: p\n", above=MINE))
    before = compiled.problems
    arms(compiled, "claw", None, "p")
    assert compiled.problems == before
    assert not compiled.resolved.gate.advisory
    assert compiled.resolved.hosts["claw"] == ()
    assert LOCK not in compiled.documents
