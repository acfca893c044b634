"""What a fleet is decided by once the lock has its files: heads, kinds, drafters, the context, evidence."""

import json
from dataclasses import replace

import pytest

import kv_facts
from fleets import ENGINES, accepted, refusal, refusals, unit
from locks import dense, locked, tiny
from quadgen.facts.record import Facts
from quadgen.pipeline import find
from quadgen.problems import Severity

HOST = "hosts:\n  claw: {{backend: cpu, engine: new, model: m, context: 1024{more}}}\n"
NEW = "  new: {kind: llama.cpp, build: b11434, backends: [cpu], image: 'ghcr.io/ggml-org/llama.cpp:server-b11434'}\n"


def fleet(fields: str = "", more: str = "", *, above: str = "", models: str = "", build: str = "b11434") -> str:
    """A fleet of one host with the model `m`, whose fields are `fields`."""
    named = f"models:\n  m: {{file: m.gguf{fields}}}\n{models}"
    engines = ENGINES.replace("models:\n", NEW.replace("b11434", build) + named)
    return f"{engines}{above}{HOST.format(more=more)}"


def draft(profile: str, *, rows: str) -> tuple[str, dict[str, str]]:
    """A profile with a draft model, and the row that lets it through."""
    setting = f"{{spec_types: [{profile}], draft_model: d}}"
    fields = f"{{spec_types: [{profile}], draft_model: d, workload: copy, against: none}}"
    above = f"measurements: [l.yml]\nprofiles:\n  p: {fields}\n"
    row = (
        "version: 1\nmeasurements:\n- {id: r, engine: llama.cpp, build: b11434, backend: cpu, device: CPU, model: m, "
        f"workload: copy, setting: {setting}, against: {{spec_types: []}}, rate: 2, against_rate: 1, samples: 7, "
        f"source: here{rows}}}\n"
    )
    return above, {"l.yml": row}


def test_a_head_in_the_file_is_used_without_being_declared() -> None:
    files = locked({"m.gguf": tiny("headed")})
    assert "--spec-type draft-mtp" in unit(fleet(), files)
    assert "--spec-type" not in unit(fleet(), locked({"m.gguf": tiny("plain")}))
    assert "--spec-type" not in unit(fleet())


def test_a_head_is_not_used_by_a_build_that_has_no_code_for_it() -> None:
    facts = tiny("headed")
    newer = locked({"m.gguf": replace(facts, architecture="qwen4exp")})
    assert "--spec-type draft-mtp" in unit(fleet(), newer)
    found = accepted(fleet(build="b10715"), newer)
    (service,) = find(found, "claw", None)
    assert service.decision.types == ()
    assert "since b11434" in service.decision.notes[0]


@pytest.mark.parametrize(
    ("name", "mtp", "says"),
    [
        ("plain", "true", "the fleet says that m has an MTP head, and by the lock its file has none"),
        ("headed", "false", "the fleet says that m has no MTP head, and by the lock its file has one"),
    ],
)
def test_a_declaration_that_the_lock_contradicts_is_refused(name: str, mtp: str, says: str) -> None:
    problem = refusal(fleet(f", mtp: {mtp}"), locked({"m.gguf": tiny(name)}))
    assert (problem.code, problem.message) == ("head-conflict", says)


@pytest.mark.parametrize("profile", ["default", "none", "copy"])
def test_a_stripped_file_that_does_not_load_is_refused_for_every_profile(profile: str) -> None:
    problem = refusals(fleet(more=f", profile: {profile}"), locked({"m.gguf": tiny("stripped")}))[0]
    assert problem.code == "head-missing"
    assert "llama.cpp does not load it, not even without speculation" in problem.message


def test_a_projector_is_no_model_to_serve() -> None:
    projector = replace(tiny("plain"), architecture="clip", type="mmproj")
    problem = refusal(fleet(), locked({"m.gguf": projector}))
    assert problem.code == "does-not-compose"
    assert "no model to serve" in problem.message


@pytest.mark.parametrize(
    ("kind", "drafter", "code"),
    [
        ("draft-simple", "draft", None),
        ("draft-simple", "other-special", None),
        ("draft-simple", "larger", "does-not-compose"),
        ("draft-simple", "slightly-larger", "does-not-compose"),
        ("draft-simple", "other-word", "does-not-compose"),
        ("draft-simple", "no-bos", "does-not-compose"),
        ("draft-simple", "eagle3", "does-not-compose"),
        ("draft-simple", "stripped", "does-not-compose"),
        ("draft-eagle3", "draft", "does-not-compose"),
        ("draft-dflash", "draft", "does-not-compose"),
        ("draft-dspark", "dflash", "does-not-compose"),
        ("draft-dflash", "dflash", None),
        ("draft-eagle3", "eagle3", None),
    ],
)
def test_a_drafter_must_be_made_for_its_target(kind: str, drafter: str, code: str | None) -> None:
    above, files = draft(kind, rows="")
    text = fleet(more=", profile: p", above=above, models="  d: {file: d.gguf}\n")
    files = {**files, **locked({"m.gguf": tiny("plain"), "d.gguf": tiny(drafter)})}
    if code is None:
        accepted(text, files)
    else:
        assert {problem.code for problem in refusals(text, files)} == {code}
    accepted(text, {"l.yml": files["l.yml"]})  # without a lock the fleet's word is taken


@pytest.mark.parametrize(("trained", "context"), [(131072, 32768), (2048, 2048)])
def test_a_context_that_nobody_says_is_what_the_model_was_trained_for_up_to_a_bound(trained: int, context: int) -> None:
    text = fleet().replace(", context: 1024", "")
    found = accepted(text, locked({"m.gguf": dense(context_length=trained)}))
    assert not [problem for problem in found.problems if problem.code == "context-unknown"]
    (service,) = find(found, "claw", None)
    assert service.context == context
    assert service.notes == (f"context: nobody says one, so it is {context} tokens; m was trained for {trained}",)


def test_a_context_beyond_what_the_model_was_trained_for_is_a_warning() -> None:
    found = accepted(fleet().replace("1024", "4096"), locked({"m.gguf": dense(context_length=2048)}))
    (problem,) = [each for each in found.problems if each.severity is Severity.WARNING]
    assert problem.message == "`context` is 4096 tokens, and m was trained for 2048: the server gives no more"


def test_a_row_for_one_file_does_not_admit_another_under_the_same_name() -> None:
    facts = {"m.gguf": tiny("plain"), "d.gguf": tiny("draft")}
    for header, code in ((tiny("plain").header, None), ("ab" * 32, "unmeasured-combination")):
        above, files = draft("draft-simple", rows=f", header: {json.dumps(header)}")
        text = fleet(more=", profile: p", above=above, models="  d: {file: d.gguf}\n")
        if code is None:
            accepted(text, {**files, **locked(facts)})
        else:
            assert refusal(text, {**files, **locked(facts)}).code == code


@pytest.mark.parametrize(
    ("facts", "types", "says"),
    [
        (kv_facts.latent(), "{k: q8_0}", "the types of both caches must be the same"),
        (kv_facts.latent(), "q8_0", None),
        (dense(attention__key_length=80), "{k: q8_0}", "needs a multiple of 32"),
        (dense(), "q8_0", None),
    ],
)
def test_a_cache_type_that_the_checkpoint_cannot_have_is_refused(facts: Facts, types: str, says: str | None) -> None:
    text, files = fleet(more=f", cache_type: {types}"), locked({"m.gguf": facts})
    if says is None:
        accepted(text, files)
        return
    problem = refusal(text, files)
    assert problem.code == "does-not-compose"
    assert says in problem.message
