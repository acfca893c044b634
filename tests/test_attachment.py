"""Whether a drafter can be attached to a service: what a render would refuse, whatever anybody measured."""

from collections.abc import Mapping
from typing import Any

import pytest

from fleets import ENGINES, NONE, compile_text, marked, one
from locks import LOCK, locked, tiny
from pairings import PAIRS, Pairing
from quadgen.attachment import About, Attachment, Drafter, attachable
from quadgen.problems import Rejected, Severity

HALOGEN = """version: 1
engines: {h: {kind: halogen, build: "0.17.3", backends: [rocm]}}
models: {q: {file: q.hgn}, d: {file: d.gguf}}
hosts:
  claw: {backend: rocm, model: q}
"""
NEW = "  new: {kind: llama.cpp, build: b11434, backends: [cpu], image: 'ghcr.io/ggml-org/llama.cpp:server-b11434'}\n"
VULKAN = "{model: headed, backend: vulkan, context: 4096}"


def asked(
    text: str, types: str, files: Mapping[str, str | bytes] = NONE, *, service: str | None = None, **more: Any
) -> Attachment:
    drafter = Drafter(spec_types=tuple(types.split(",")), **more)
    return attachable(compile_text(text, files), "claw", service, drafter)


def cpu(models: str = "", fields: str = "", *, above: str = "") -> str:
    """A host on the newest build, with the model `m` and enough memory."""
    engines = ENGINES.replace("models:\n", f"{NEW}models:\n  m: {{file: m.gguf}}\n{models}")
    host = f"{{backend: cpu, engine: new, model: m, context: 1024, memory: 64GiB{fields}}}"
    return f"{engines}{above}hosts:\n  claw: {host}\n"


def pair(target: str, drafter: str) -> dict[str, str]:
    return locked({"m.gguf": tiny(target), "d.gguf": tiny(drafter)})


def codes(found: Attachment) -> list[str]:
    return [each.code for each in found.problems if each.severity is Severity.ERROR]


def said(found: Attachment, about: About) -> list[tuple[bool | None, str]]:
    return [(each.holds, each.sentence) for each in found.findings if each.about is about]


def rendered(files: Mapping[str, str], case: Pairing) -> list[str]:
    """The refusals of the same drafter as a profile that a measurement allows."""
    setting = f"{{spec_types: [{case.types}], draft_model: d}}"
    fields = f"{{spec_types: [{case.types}], draft_model: d, workload: copy, against: none}}"
    above = f"measurements: [l.yml]\nprofiles:\n  p: {fields}\n"
    row = (
        "version: 1\nmeasurements:\n- {id: r, engine: llama.cpp, build: b11434, backend: cpu, device: CPU, model: m, "
        f"workload: copy, setting: {setting}, against: {{spec_types: []}}, rate: 2, against_rate: 1, samples: 7, "
        "source: here}\n"
    )
    text = cpu("  d: {file: d.gguf}\n", ", profile: p", above=above)
    found = compile_text(text, {**files, "l.yml": row}).problems
    return [each.code for each in found if each.severity is Severity.ERROR]


PLAIN_PAIRS = [each for each in PAIRS if "draft-mtp" not in each.types and not each.flags]


@pytest.mark.parametrize("case", PLAIN_PAIRS, ids=lambda case: case.title)
def test_what_can_be_attached_is_what_renders_once_it_is_measured(case: Pairing) -> None:
    files = pair(case.target, case.drafter)
    found = asked(cpu("  d: {file: d.gguf}\n"), case.types, files, draft_model="d")
    assert codes(found) == rendered(files, case)
    assert found.attachable is (not codes(found))
    assert (case.error in codes(found)) is (case.error is not None)
    assert [each.code for each in found.evidence] == ([] if not found.attachable else ["unmeasured-combination"])


def test_a_drafter_that_fits_in_every_way_can_be_attached() -> None:
    found = asked(cpu("  d: {file: d.gguf}\n"), "draft-simple", pair("plain", "draft"), draft_model="d")
    assert (found.attachable, found.before, found.problems) == (True, (), ())
    digest = tiny("plain").vocabulary.sha256[:16]  # type: ignore[union-attr]  # it has one
    assert [each.about for each in found.findings] == [About.ENGINE, About.COMPOSITION, About.TOKENIZER, About.MEMORY]
    assert found.reasons[:3] == (
        "llama.cpp b11434 drafts with draft-simple",
        "d is an ordinary model, which draft-simple drafts with",
        f"the two have the same 320 tokens, sha256 {digest}, and split text alike",
    )
    assert found.resolution is not None
    assert found.resolution.decision.draft_model is not None
    assert found.plain is not None
    assert found.plain.decision.types == ()


@pytest.mark.parametrize("types", ["draft-dflash", "draft-simple", "ngram-mod", "draft-mtp,ngram-cache"])
def test_nothing_can_be_attached_to_halogen(types: str) -> None:
    found = asked(HALOGEN, types, draft_model="d" if types.startswith("draft-") and "mtp" not in types else None)
    assert (found.attachable, codes(found), found.resolution) == (False, ["closed-engine"], None)
    assert found.findings[0].about is About.ENGINE
    assert "nothing can be attached to it" in found.reasons[0]


def test_halogen_drafts_with_the_head_of_its_own_checkpoint() -> None:
    found = asked(HALOGEN, "draft-mtp")
    assert (found.attachable, found.problems) == (True, ())
    assert found.reasons == (
        "halogen 0.17.3 drafts with draft-mtp",
        "q has an MTP head in its file",
        "the drafter runs where the model does, on ROCm0",
        "it takes no more memory than the service does without it",
    )


def test_a_drafter_of_halogen_is_placed_on_no_device() -> None:
    found = asked(HALOGEN, "draft-simple", draft_model="d", draft_device=("CUDA0",))
    assert codes(found) == ["closed-engine", "closed-engine"]
    assert any("it routes nothing to devices" in reason for reason in found.reasons)


def test_a_head_that_the_file_does_not_have_cannot_draft() -> None:
    found = asked(cpu(), "draft-mtp", locked({"m.gguf": tiny("plain")}))
    assert (found.attachable, codes(found)) == (False, ["head-missing"])
    assert said(found, About.COMPOSITION) == [
        (False, "the profile draft-mtp needs an MTP head, and m has none by its header")
    ]


def test_a_head_that_nobody_speaks_of_is_unknown() -> None:
    found = asked(cpu(), "draft-mtp")
    assert (found.attachable, codes(found)) == (None, [])
    (finding,) = said(found, About.COMPOSITION)
    assert finding[0] is None
    assert "m is not known to have one" in finding[1]
    assert "quadgen lock" in finding[1]


def test_a_head_in_the_file_can_draft() -> None:
    found = asked(cpu(), "draft-mtp,ngram-cache", locked({"m.gguf": tiny("headed")}), draft_n_max=7)
    assert found.attachable is True
    assert said(found, About.COMPOSITION) == [
        (True, "draft-mtp and ngram-cache can run together"), (True, "m has an MTP head in its file"),
    ]  # fmt: skip
    assert found.resolution is not None
    assert found.resolution.decision.draft_n_max == 7


def test_two_drafters_of_one_context_cannot_run_together() -> None:
    found = asked(cpu("  d: {file: d.gguf}\n"), "draft-dflash,draft-mtp", pair("headed", "dflash"), draft_model="d")
    assert (found.attachable, codes(found), found.resolution) == (False, ["does-not-compose"], None)
    assert said(found, About.COMPOSITION)[0][1].startswith("draft-dflash and draft-mtp cannot run together")


def test_other_tokens_are_told_as_a_matter_of_the_tokenizer() -> None:
    found = asked(cpu("  d: {file: d.gguf}\n"), "draft-simple", pair("plain", "larger"), draft_model="d")
    (finding,) = said(found, About.TOKENIZER)
    assert (found.attachable, finding[0]) == (False, False)
    assert finding[1].startswith("d has other tokens than m")
    assert said(found, About.COMPOSITION) == []


@pytest.mark.parametrize(("drafter", "known"), [("d.gguf", True), ("e.gguf", False), ("d", False)])
def test_a_drafter_need_not_be_a_model_of_the_fleet(drafter: str, known: bool) -> None:  # noqa: FBT001 - a parameter
    found = asked(cpu(), "draft-simple", pair("plain", "draft"), draft_model=drafter)
    assert found.attachable is (True if known else None)
    tokens = "the two have the same" if known else f"whether {drafter} has the tokens of m nobody can say"
    assert said(found, About.TOKENIZER)[0][1].startswith(tokens)


@pytest.mark.parametrize(("recorded", "lacking"), [("m.gguf", "d"), ("d.gguf", "m"), ("", "dm")])
def test_it_is_said_once_of_each_model_that_its_facts_are_not_recorded(recorded: str, lacking: str) -> None:
    files = {name: data for name, data in (("m.gguf", "plain"), ("d.gguf", "draft")) if name == recorded}
    lock = locked({name: tiny(model) for name, model in files.items()})
    found = asked(cpu("  d: {file: d.gguf}\n"), "draft-simple", lock, draft_model="d")
    told = "; ".join(found.reasons)
    for model in "dm":
        assert told.count(f"no facts are recorded of {model}, which quadgen lock does") == (model in lacking)
    assert "whether d has the tokens of m nobody can say; " in told


@pytest.mark.parametrize("name", ["hf:org/repo:Q4_K_M", "org/repo:Q4_K_M"])
def test_a_drafter_of_the_hub_is_known_by_the_lock_and_must_be_fetched(name: str) -> None:
    files = locked({"m.gguf": tiny("plain"), "hf:org/repo:Q4_K_M": tiny("draft")})
    found = asked(cpu(), "draft-simple", files, draft_model=name)
    assert said(found, About.TOKENIZER)[0][0] is True
    assert [each.message for each in found.problems] == [f"the draft model {name} is no local file"]


def test_the_draft_model_and_device_of_the_service_serve_where_no_other_is_named() -> None:
    text = cpu("  d: {file: d.gguf}\n", ", draft_model: d, draft_device: [none]")
    found = asked(text, "draft-simple", pair("plain", "draft"))
    assert found.attachable is True
    assert found.resolution is not None
    words = [str(word) for argument in found.resolution.arguments for word in argument.words]
    assert words[words.index("--spec-draft-device") + 1] == "none"


def test_what_the_service_drafts_with_today_is_no_matter() -> None:
    text = cpu("  d: {file: d.gguf}\n", ", draft_model: d, draft_device: [none], profile: copy")
    found = asked(text, "ngram-mod", pair("plain", "draft"))
    assert (found.attachable, found.before, found.problems) == (True, (), ())


def test_a_device_that_is_not_compiled_in_is_refused() -> None:
    text = one(VULKAN).replace("models:\n", "models:\n  d: {file: d.gguf}\n")
    found = asked(text, "draft-simple", draft_model="d", draft_device=("CUDA0",))
    assert (found.attachable, codes(found)) == (False, ["unknown-device"])
    sentence = "CUDA0 does not exist in the engine vulkan: it is built with vulkan"
    assert said(found, About.DEVICES) == [(False, sentence)]
    there = asked(text, "draft-simple", draft_model="d", draft_device=("Vulkan0",))
    sentence = "the drafter is on Vulkan0, and the engine vulkan is built with vulkan"
    assert said(there, About.DEVICES) == [(True, sentence)]


def test_a_setting_of_a_profile_that_bounds_nothing_is_refused_at_the_service() -> None:
    found = asked(cpu(), "ngram-mod", draft_n_max=4)
    (problem,) = found.problems
    assert problem.message == "`draft_n_max` bounds only draft-* types, and this profile has none"
    assert (problem.host, problem.service, marked(problem)) == ("claw", "llama-server", "claw")


def test_a_drafter_without_its_model_says_what_is_missing() -> None:
    found = asked(cpu(), "draft-eagle3", locked({"m.gguf": tiny("plain")}))
    assert codes(found) == ["does-not-compose"]
    assert "draft-eagle3 needs a draft model" in found.reasons[0]


def test_an_unknown_type_is_named_with_the_nearest() -> None:
    (problem,) = asked(cpu(), "ngram-cahe").problems
    assert (problem.message, problem.hint) == ("there is no drafter type named ngram-cahe", "did you mean ngram-cache?")


@pytest.mark.parametrize(
    ("host", "service", "says"),
    [
        ("clay", None, "there is no host named clay"),
        ("claw", "chat", "there is no service named chat on the host claw"),
    ],
)
def test_a_service_that_is_not_there_is_refused(host: str, service: str | None, says: str) -> None:
    with pytest.raises(Rejected) as rejected:
        attachable(compile_text(cpu()), host, service, Drafter(spec_types=("ngram-mod",)))
    assert [each.message for each in rejected.value.problems] == [says]


def test_one_of_several_services_must_be_named() -> None:
    text = cpu().replace(", model: m, context: 1024", ", model: m, context: 1024, services: {a: {}, b: {port: 9000}}")
    with pytest.raises(Rejected) as rejected:
        asked(text, "ngram-mod")
    assert rejected.value.problems[0].hint == "say which: claw/a, claw/b"
    assert asked(text, "ngram-mod", locked({"m.gguf": tiny("plain")}), service="b").attachable is True


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (", prot: 9000", "unknown-key"),
        (", bind: 0.0.0.0", "exposed"),
        (", flags: {spec-type: ngram-mod}", "speculation-outside-profile"),
        (", image: 'a b'", "unexpected-value"),
        (", podman: '4.3.1'", "unsupported-key"),
    ],
)
def test_a_service_that_is_refused_anyway_says_so_first(fields: str, code: str) -> None:
    found = asked(cpu(fields=fields), "ngram-mod", locked({"m.gguf": tiny("plain")}))
    assert found.attachable is False
    assert [each.code for each in found.before] == [code]
    assert (found.findings[0].about, found.findings[0].sentence) == (About.SERVICE, found.before[0].message)
    assert found.problems == ()
    assert all(each.place is not None for each in found.before)


def test_what_is_wrong_with_others_is_not_told() -> None:
    text = cpu(fields=", services: {a: {}, b: {bind: 0.0.0.0, port: 9000, profile: copy}}")
    text += "  forge: {backend: cpu, engine: new, model: m, profile: copy, flags: {no-such: 1}}\n"
    found = asked(text, "ngram-mod", locked({"m.gguf": tiny("plain")}), service="a")
    assert (found.before, found.problems) == ((), ())
    assert {each.about for each in found.findings if each.holds is not True} == {About.MEMORY}


def test_a_file_that_no_server_loads_is_refused_before_any_drafter() -> None:
    found = asked(cpu(), "ngram-mod", locked({"m.gguf": tiny("stripped")}))
    assert (found.attachable, [each.code for each in found.before]) == (False, ["head-missing"])


@pytest.mark.parametrize("text", ["{", "version: 1\nmeasurements: [{id: a}]\n", "[]"])
def test_a_ledger_that_is_wrong_says_nothing_of_the_service_and_a_lock_does(text: str) -> None:
    fleet = cpu(above="measurements: [l.yml]\n")
    found = asked(fleet, "ngram-mod", {**locked({"m.gguf": tiny("plain")}), "l.yml": text})
    assert (found.attachable, found.before) == (True, ())
    found = asked(fleet, "ngram-mod", {LOCK: text, "l.yml": "version: 1\nmeasurements: []\n"})
    assert found.attachable is False
    assert {each.place.file for each in found.before if each.place} == {LOCK}
