"""Speculation that died, did nothing or made a server slower, refused before anything is written."""

from pathlib import Path

import pytest

from command import quadgen
from fleets import accepted, after, compile_text, marked, native_words, one, refusal, refusals, unit, units
from hosts import snapshot
from quadgen.observed.log import read_log
from quadgen.observed.state import State
from quadgen.problems import Severity

NATIVE = "runtime: systemd\ncontext: 4096\n"


def words(fields: str, *, above: str = "", ledger: str = "") -> list[str]:
    """The words of the only server of a fleet that must be accepted."""
    text = one(f"{NATIVE}{fields}", above=above + ("measurements: mine.yml\n" if ledger else ""))
    return native_words(unit(text, {"mine.yml": ledger} if ledger else {}))


def notes(fields: str, *, above: str = "") -> list[str]:
    """The comments on top of a unit."""
    text = unit(one(f"{NATIVE}{fields}", above=above))
    return [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]


def row(name: str, **fields: object) -> str:
    """A ledger of one measurement."""
    said = {
        "id": name, "engine": "llama.cpp", "build": "b10715", "backend": "cuda", "device": "any", "model": "plain",
        "workload": "copy", "against": "none", "rate": 30.0, "against_rate": 20.0, "samples": 7, "source": "a test",
        **fields,
    }  # fmt: skip
    return "version: 1\nmeasurements:\n- " + "\n  ".join(f"{key}: {value}" for key, value in said.items()) + "\n"


# https://github.com/ggml-org/llama.cpp/pull/22673
HEADS = {"mtp: false": "has no MTP head", "size: 1GiB": "is not known to have an MTP head"}


@pytest.mark.parametrize("said", HEADS)
@pytest.mark.parametrize("backend", ["cuda", "vulkan"])
def test_without_a_head_the_default_does_not_speculate_and_says_why(said: str, backend: str) -> None:
    above = f"  bare: {{file: bare.gguf, {said}}}\n"
    for profile in ("", "profile: default\n"):
        fields = f"model: bare\nbackend: {backend}\n{profile}"
        assert "--spec-type" not in words(fields, above=above)
        assert f"default: bare {HEADS[said]}, so it runs without speculation" in notes(fields, above=above)


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        ("mtp: false", "the profile copy needs an MTP head, and bare has none", "use `profile: default`"),
        (
            "size: 1GiB",
            "the profile copy needs an MTP head, and bare is not known to have one",
            "declare `mtp: true` in models.bare if its file has one",
        ),
    ],
)
def test_without_a_head_a_profile_that_needs_one_is_refused(said: str, message: str, hint: str, tmp_path: Path) -> None:
    above = f"  bare: {{file: bare.gguf, {said}}}\n"
    text = one("model: bare\nbackend: cuda\nprofile: copy\ncontext: 4096\n", above=above)
    problem = refusal(text)
    assert (problem.code, problem.message, problem.hint, marked(problem)) == ("head-missing", message, hint, "copy")
    (tmp_path / "fleet.yml").write_text(text)
    before = snapshot(tmp_path, times=True)
    assert quadgen("render", cwd=tmp_path).status == 1
    assert snapshot(tmp_path, times=True) == before


def test_a_head_in_the_file_is_used_at_the_engine_s_own_width() -> None:
    found = words("model: headed\nbackend: cuda\n")
    assert after(found, "--spec-type") == "draft-mtp"
    assert not {"--spec-draft-n-max", "--spec-draft-model"} & set(found)


def test_a_head_in_a_file_of_its_own_is_attached() -> None:
    found = words("model: split\nbackend: cuda\n", above="  split: {file: s.gguf, mtp: heads/mtp-s.gguf}\n")
    assert after(found, "--spec-type") == "draft-mtp"
    assert after(found, "--spec-draft-model") == "/srv/models/heads/mtp-s.gguf"


@pytest.mark.parametrize("said", ["yes", "1", "'true'", "head.bin", "[a.gguf]"])
def test_a_head_is_declared_in_one_of_three_ways(said: str) -> None:
    text = one(f"{NATIVE}model: bare\nbackend: cuda\n", above=f"  bare: {{file: bare.gguf, mtp: {said}}}\n")
    problem = refusal(text)
    assert (problem.code, marked(problem)) == ("unexpected-value", said)


def test_no_speculation_means_no_flag_at_all() -> None:
    assert not [word for word in words("model: headed\nbackend: cuda\nprofile: none\n") if "spec" in word]


# https://github.com/ROCmFPX/ROCmFPX/issues/23
BROKEN = "draft acceptance = 0.00112 (    1 accepted /   894 generated), mean acceptance length =  1.00"
MINE = "profiles:\n  mine: {spec_types: [ngram-mod], workload: copy, against: none}\n"


def test_a_drafter_that_agrees_with_nothing_is_no_evidence_however_fast_it_was() -> None:
    read = read_log("server.log", [f"{BROKEN}\n".encode()])
    found = read.drafting
    assert (found.accepted, found.drafted, found.acceptance) == (1, 894, 1 / 894)
    assert read.observation.state is State.NEVER_ACCEPTED
    ledger = row("dead", setting="{spec_types: [ngram-mod]}", accepted=found.accepted, drafted=found.drafted)
    text = one("model: plain\nbackend: cuda\nprofile: mine\ncontext: 1\n", above=f"{MINE}measurements: mine.yml\n")
    problem = refusal(text, {"mine.yml": ledger})
    assert problem.code == "unmeasured-combination"
    assert "dead accepted 0.1% of its drafts: no evidence" in problem.notes
    alive = ledger.replace("accepted: 1\n", "accepted: 600\n")
    assert "--spec-type ngram-mod" in unit(text, {"mine.yml": alive})


@pytest.mark.parametrize("silent", ["accepted: 0", "drafted: 0", "acceptance: 0", "acceptance: 0.004"])
def test_a_row_without_accepted_drafts_decides_nothing(silent: str) -> None:
    ledger = row("dead", setting="{spec_types: [ngram-mod]}") + f"  {silent}\n"
    text = one("model: plain\nbackend: cuda\nprofile: mine\ncontext: 1\n", above=f"{MINE}measurements: mine.yml\n")
    assert refusal(text, {"mine.yml": ledger}).code == "unmeasured-combination"


@pytest.mark.parametrize("evidence", ["model", "backend"])
@pytest.mark.parametrize("backend", ["vulkan", "cuda", "sycl"])
def test_a_measurement_on_one_backend_never_allows_another(backend: str, evidence: str) -> None:
    above = f"{MINE}measurements: mine.yml\npolicy: {{evidence: {evidence}}}\n"
    ledger = row("fast", backend="rocm", setting="{spec_types: [ngram-mod]}")
    fields = "model: plain\nprofile: mine\ncontext: 1\n"
    problem = refusal(one(f"backend: {backend}\n{fields}", above=above), {"mine.yml": ledger})
    assert problem.code == "unmeasured-combination"
    assert problem.notes[-1] == "wins on rocm: 20.0 -> 30.0 tok/s on copy, 1.50x [fast]"
    assert "--spec-type ngram-mod" in unit(one(f"backend: rocm\n{fields}", above=above), {"mine.yml": ledger})


# https://github.com/ggml-org/llama.cpp/issues/27839
@pytest.mark.parametrize(
    "types",
    [
        "[draft-dflash, draft-mtp, ngram-mod]",
        "[draft-mtp, draft-simple]",
        "[ngram-cache, draft-eagle3, draft-mtp]",
        "[draft-dspark, draft-dflash]",
    ],
)
def test_two_drafters_that_share_the_one_draft_context_are_refused_before_anyone_asks(types: str) -> None:
    above = f"profiles:\n  wide: {{spec_types: {types}, draft_model: plain, workload: copy}}\n"
    for used in ("profile: wide\n", ""):
        problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\n{used}", above=above))
        assert (problem.code, problem.path) == ("does-not-compose", ("profiles", "wide", "spec_types"))
        assert problem.message.endswith("cannot run together: the engine has one draft context")


def test_a_draft_model_beside_n_gram_drafting_can_be_loaded_and_still_needs_a_number() -> None:
    above = "profiles:\n  wide: {spec_types: [draft-dflash, ngram-mod], draft_model: plain, workload: copy}\n"
    fields = "model: headed\nbackend: cuda\nprofile: wide\n"
    assert refusal(one(f"{NATIVE}{fields}", above=above)).code == "unmeasured-combination"
    setting = "{spec_types: [ngram-mod, draft-dflash], draft_model: plain}"
    ledger = row("wide", model="qwen3.8-27b", setting=setting, against="default")
    found = words(fields, above=above, ledger=ledger)
    assert (after(found, "--spec-type"), after(found, "--spec-draft-model")) == (
        "draft-dflash,ngram-mod",
        "/srv/models/plain.gguf",
    )


@pytest.mark.parametrize("kind", ["draft-simple", "draft-eagle3", "draft-dflash", "draft-dspark"])
def test_a_drafter_without_its_model_is_refused_since_the_server_would_start_without_it(kind: str) -> None:
    above = f"profiles:\n  wide: {{spec_types: [{kind}, ngram-mod], workload: copy}}\n"
    problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: wide\n", above=above))
    assert (problem.code, problem.hint) == ("does-not-compose", "add `draft_model:`, a key of models")
    (note,) = problem.notes
    beside = "are lost with it" if kind == "draft-simple" else "except by the n-gram types of the same profile"
    assert note.startswith("without one the server starts healthy without speculating, ")
    assert note.endswith(beside)


@pytest.mark.parametrize("old", ["mtp", "draft", "ngram_mod", "none", "eagle3", "DRAFT-MTP"])
def test_a_drafter_that_no_build_knows_is_refused(old: str) -> None:
    above = f"profiles:\n  wide: {{spec_types: [{old}], workload: copy}}\n"
    problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\n", above=above))
    assert (problem.code, problem.message) == ("unexpected-value", f"there is no drafter type named {old}")
    assert problem.hint is not None
    assert "draft-mtp" in problem.hint or "ngram-mod" in problem.hint or "draft-eagle3" in problem.hint


# https://github.com/ggml-org/llama.cpp/pull/23398
@pytest.mark.parametrize("where", ["model", "service"])
def test_a_head_is_not_combined_with_a_projector_and_the_unit_says_so(where: str) -> None:
    above = "  seeing: {file: s.gguf, mtp: true%s}\n" % (", mmproj: mm.gguf" if where == "model" else "")
    fields = "model: seeing\nbackend: cuda\n" + ("mmproj: mm.gguf\n" if where == "service" else "")
    found = words(fields, above=above)
    assert "--spec-type" not in found
    assert after(found, "--mmproj") == "/srv/models/mm.gguf"
    why = "default: an MTP head is not combined with a projector (ggml-org/llama.cpp#23398), so no speculation"
    assert why in notes(fields, above=above)
    assert after(words("model: seeing\nbackend: cuda\nmmproj: false\n", above=above), "--spec-type") == "draft-mtp"


def test_a_profile_with_a_head_is_refused_beside_a_projector_since_it_was_measured_on_text() -> None:
    text = one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\nmmproj: mm.gguf\n")
    problem = refusal(text)
    assert (problem.code, marked(problem)) == ("does-not-compose", "copy")
    assert problem.notes[0].startswith("it was measured on text alone; the first image aborted the server")
    assert "--mmproj" not in unit(text.replace("mmproj: mm.gguf", "mmproj: false"))


# https://github.com/ggml-org/llama.cpp/issues/26475
@pytest.mark.parametrize(
    "split", ["flags: {split-mode: tensor}", "flags: {main-gpu: 0, split_mode: tensor}", "extra_args: [-sm, tensor]"]
)
def test_a_drafter_on_one_card_cannot_follow_a_model_that_is_split_over_all(split: str) -> None:
    fields = f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\ngpus: [{{}}, {{}}]\ndraft_device: CUDA0\n"
    problem = refusal(one(f"{fields}{split}\n"))
    assert (problem.code, marked(problem)) == ("does-not-compose", "CUDA0")
    assert problem.notes == ("the server aborts at load (ggml-org/llama.cpp#26475)",)
    found = native_words(unit(one(f"{fields}flags: {{split-mode: layer}}\n")))
    assert (after(found, "--spec-draft-device"), after(found, "--split-mode")) == ("CUDA0", "layer")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("Vulkan0", "Vulkan0 does not exist in the engine cuda: it is built with cuda"),
        ("ROCm0", "ROCm0 does not exist in the engine cuda: it is built with cuda"),
        ("CUDA2", "this service does not see CUDA2: it has CUDA0, CUDA1"),
        ("GPU0", "GPU0 is no device of llama-server"),
        ("CUDA", "CUDA is no device of llama-server"),
        ("cuda0", "cuda0 is no device of llama-server"),
        ("[CUDA0, Vulkan1]", "Vulkan1 does not exist in the engine cuda: it is built with cuda"),
    ],
)
def test_a_drafter_s_device_must_be_compiled_in_and_seen(device: str, message: str) -> None:
    fields = f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\ngpus: [{{}}, {{}}]\ndraft_device: {device}\n"
    problem = refusal(one(fields))
    assert (problem.code, problem.message) == ("unknown-device", message)


@pytest.mark.parametrize("device", ["none", "[none]"])
def test_a_drafter_may_run_on_the_cpu(device: str) -> None:
    argv = native_words(unit(one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\ndraft_device: {device}\n")))
    assert (after(argv, "--device"), after(argv, "--spec-draft-device")) == ("CUDA0", "none")
    problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\ndraft_device: [none, CUDA0]\n"))
    assert (problem.code, problem.message) == ("unknown-device", "none is no device of llama-server")
    assert problem.hint == "none stands alone"


@pytest.mark.parametrize("device", ["1", "[1]", "[CUDA0, 1]", "[]", "true"])
def test_a_position_is_no_device_of_a_drafter_and_that_is_all_that_is_said_of_it(device: str) -> None:
    problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\ndraft_device: {device}\n"))
    assert (problem.code, marked(problem)) == ("unexpected-value", device)
    assert problem.message == "`draft_device` takes a device name of the engine, or a list of them"
    assert "CUDA1" in (problem.hint or "")
    assert "none" in (problem.hint or "")


@pytest.mark.parametrize(
    ("engine", "hint"),
    [
        ("cuda", "such as CUDA0, or none for the CPU"),
        ("vulkan", "such as Vulkan0, or none for the CPU"),
        ("cpu", "write none, for the CPU"),
    ],
)
@pytest.mark.parametrize("device", ["cpu", "SYCL0"])
def test_the_devices_that_are_proposed_for_a_drafter_are_those_that_its_engine_can_have(
    engine: str, device: str, hint: str
) -> None:
    fields = f"{NATIVE}model: headed\nbackend: {engine}\nengine: {engine}\nprofile: copy\ndraft_device: {device}\n"
    (problem,) = [found for found in refusals(one(fields)) if found.code == "unknown-device"]
    assert problem.hint == hint


@pytest.mark.parametrize(("devices", "found"), [("[CUDA1]", "CUDA1"), ("[1]", None), ("[0, 1]", None)])
def test_a_head_in_a_file_of_its_own_stays_on_the_devices_that_the_service_names(
    devices: str, found: str | None
) -> None:
    above = "  beside: {file: beside.gguf, mtp: head.gguf}\n"
    argv = words(f"model: beside\nbackend: cuda\ngpus: [{{}}, {{}}]\ndevices: {devices}\n", above=above)
    assert after(argv, "--spec-draft-model") == "/srv/models/head.gguf"
    assert (after(argv, "--spec-draft-device") if "--spec-draft-device" in argv else None) == found


@pytest.mark.parametrize("door", ["flags: {spec-draft-device: CUDA0}", "extra_args: [-devd, CUDA0]"])
def test_a_drafter_s_device_has_one_door(door: str) -> None:
    problem = refusal(one(f"{NATIVE}model: headed\nbackend: cuda\nprofile: copy\n{door}\n"))
    assert (problem.code, problem.hint) == ("speculation-outside-profile", "use the service's `draft_device`")


# https://github.com/ikawrakow/ik_llama.cpp/issues/1630
MOE = "  sparse: {file: qwen3-moe.gguf, mtp: true}\n"


def test_a_measurement_of_a_dense_model_does_not_speak_for_a_mixture_of_experts() -> None:
    fields = f"{NATIVE}model: sparse\nbackend: cuda\nprofile: copy\n"
    problem = refusal(one(fields, above=MOE))
    assert (problem.code, problem.message) == (
        "unmeasured-combination",
        "no measurement says that copy wins on cuda for sparse",
    )
    assert problem.label == "draft-mtp,ngram-cache at width 7"
    wins = [note for note in problem.notes if note.startswith("wins on cuda for qwen3.8-27b: ")]
    assert wins == ["wins on cuda for qwen3.8-27b: 94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]"]
    assert problem.hint is not None
    assert problem.hint.endswith("quadgen measure --fleet fleet.yml claw --profile copy")


def test_a_row_of_its_own_allows_it_and_a_losing_one_is_quoted() -> None:
    fields = "model: sparse\nbackend: cuda\nprofile: copy\n"
    setting = "{spec_types: [draft-mtp, ngram-cache], draft_n_max: 7}"
    ledger = row("moe", model="sparse", setting=setting, against="{spec_types: [draft-mtp]}")
    assert "draft-mtp,ngram-cache" in words(fields, above=MOE, ledger=ledger)
    losing = ledger.replace("rate: 30.0\n  against_rate: 20.0", "rate: 10.0\n  against_rate: 20.0")
    problem = refusal(one(f"{NATIVE}{fields}", above=f"{MOE}measurements: mine.yml\n"), {"mine.yml": losing})
    assert (problem.code, problem.message) == ("measured-loss", "copy does not win on cuda for sparse")
    assert problem.notes[0].endswith("20.0 -> 10.0 tok/s on copy, 0.50x [moe]")


def test_evidence_of_any_model_is_enough_only_where_the_policy_says_so() -> None:
    fields = f"{NATIVE}model: sparse\nbackend: cuda\nprofile: copy\n"
    compiled = accepted(one(fields, above=f"{MOE}policy: {{evidence: backend}}\n"))
    assert "[rtx3090-cuda-27b-copy-copy]" in next(iter(units(compiled).values()))


def test_a_loss_of_the_default_itself_is_a_warning_with_the_number() -> None:
    ledger = row("slow", model="sparse", setting="{spec_types: [draft-mtp]}", rate="10.0", workload="prose")
    text = one(f"{NATIVE}model: sparse\nbackend: cuda\n", above=f"{MOE}measurements: mine.yml\n")
    compiled = compile_text(text, {"mine.yml": ledger})
    (problem,) = compiled.problems
    assert (problem.code, problem.severity) == ("measured-loss", Severity.WARNING)
    assert "20.0 -> 10.0 tok/s on prose, 0.50x [slow]" in problem.message
