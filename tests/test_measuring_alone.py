"""A checkpoint and a program without a fleet: what is decided of the options, and how they are refused."""

from typing import Any

import pytest

from locks import dense, tiny
from quadgen.engines.flags import shipped_tables
from quadgen.evidence import NO_SPECULATION, Setting
from quadgen.measuring import alone
from quadgen.measuring.arms import Arms
from quadgen.measuring.launching import launch
from quadgen.problems import Problem, Rejected, Severity

MODEL = "/m/my-model-Q4_K_M.gguf"
DRAFT = "/m/small.gguf"
SERVER = "/opt/x/llama-server"
TABLE = shipped_tables()["b11434"]


def asked(profile: str, words: str = "", *, facts: Any = None, **more: Any) -> Arms:
    fields = {"model": MODEL, "server": SERVER, "backend": "cpu", "profile": profile} | more
    options = alone.Alone(server_args=tuple(words.split()), **fields)
    _, found = alone.arms(options, facts={MODEL: dense()} if facts is None else facts, table=TABLE)
    return found


def refused(profile: str, words: str = "", **more: Any) -> Problem:
    with pytest.raises(Rejected) as rejected:
        asked(profile, words, **more)
    (found,) = (each for each in rejected.value.problems if each.severity is Severity.ERROR)
    assert (found.file, found.path, found.place, found.host) == (None, None, None, None)
    return found


def words(found: Arms) -> list[str]:
    return list(launch(found.candidate).arguments)


def after(found: Arms, option: str) -> str:
    said = words(found)
    return said[said.index(option) + 1]


def test_types_are_measured_against_what_default_becomes() -> None:
    found = asked("ngram-map-k", "-t 1")
    started = launch(found.candidate)
    assert (started.program, started.types) == (SERVER, ("ngram-map-k",))
    assert found.request.setting == Setting.of(["ngram-map-k"])
    assert found.request.against == found.comparator.decision.setting == NO_SPECULATION
    assert (found.request.model, found.request.header) == ("my-model-Q4_K_M", dense().header)
    assert after(found, "-t") == "1"


def test_the_name_in_ledgers_and_the_build_are_as_they_are_said() -> None:
    found = asked("ngram-mod", model_id="qwen", build="b11434")
    assert (found.request.model, found.request.build) == ("qwen", "b11434")


def test_shards_do_not_name_a_checkpoint() -> None:
    name = "/m/big-00001-of-00003.gguf"
    assert asked("ngram-mod", model=name, facts={name: dense()}).request.model == "big"


def test_context_is_what_the_model_was_trained_for_unless_it_is_said() -> None:
    trained = {MODEL: dense(context_length=2048)}
    assert after(asked("ngram-mod", facts=trained), "--ctx-size") == "2048"
    assert after(asked("ngram-mod", facts=trained, context=512), "--ctx-size") == "512"


def test_a_head_decides_what_default_is() -> None:
    found = asked("default", facts={MODEL: tiny("headed")})
    assert found.candidate.decision.types == ("draft-mtp",)
    assert asked("ngram-mod", facts={MODEL: tiny("headed")}).request.against == Setting.of(["draft-mtp"])
    assert asked("draft-mtp", facts={MODEL: tiny("headed")}).request.against == NO_SPECULATION


def test_a_draft_model_is_a_file() -> None:
    facts = {MODEL: tiny("plain"), DRAFT: tiny("draft")}
    found = asked("draft-simple", facts=facts, draft_model=DRAFT, draft_n_max=5)
    assert (after(found, "--spec-draft-model"), after(found, "--spec-draft-n-max")) == (DRAFT, "5")
    assert found.request.setting == Setting.of(["draft-simple"], draft_n_max=5, draft_model="small")


def test_it_is_measured_against_other_types_where_they_are_named() -> None:
    assert asked("ngram-mod", against="ngram-cache").request.against == Setting.of(["ngram-cache"])
    assert asked("ngram-mod", against="none").request.against == NO_SPECULATION


def test_a_setting_is_measured_against_itself_where_that_is_said() -> None:
    found = asked("ngram-mod", against="ngram-mod")
    assert words(found) == list(launch(found.comparator).arguments)


@pytest.mark.parametrize(
    ("backend", "said", "expected"),
    [
        ("cpu", "", ["--device", "none"]),
        ("cuda", "", ["--n-gpu-layers", "all", "--fit", "off", "--device", "CUDA0"]),
        ("cuda", "-ngl 20 -dev CUDA1,CUDA2", ["--fit", "off", "--device", "CUDA1,CUDA2"]),
        ("vulkan", "--fit on", ["--n-gpu-layers", "all", "--device", "Vulkan0"]),
    ],
)
def test_where_it_computes_is_said_by_the_backend_and_the_arguments(
    backend: str, said: str, expected: list[str]
) -> None:
    found = words(asked("ngram-mod", said, backend=backend))
    start = found.index("--metrics") + 1
    assert found[start : start + len(expected)] == expected
    assert ("20" in found, "on" in found) == ("20" in said, "on" in said.split())


def test_arguments_that_fields_of_a_fleet_say_are_taken_all_the_same() -> None:
    found = asked("ngram-mod", "-np 2 -ctk q8_0 --no-warmup", context=1024)
    assert (after(found, "--parallel"), after(found, "--ctx-size")) == ("2", "2048")
    assert (after(found, "--cache-type-k"), "--no-warmup" in words(found)) == ("q8_0", True)


@pytest.mark.parametrize(
    ("profile", "said", "more", "code", "message", "hint"),
    [
        (
            "ngram-mud", "", {}, "unexpected-value",
            "--profile: 'ngram-mud' is neither a built-in profile nor a drafter type", None,
        ),
        (
            "draft-simple", "", {}, "unexpected-value", "draft-simple needs a draft model",
            "name its file with --draft-model",
        ),
        (
            "ngram-mod", "", {"draft_n_max": 4}, "unexpected-value",
            "--draft-n-max is for draft-* types, and ngram-mod has none", "leave it out",
        ),
        (
            "copy", "", {"against": "none"}, "unexpected-value", "--against: the profile copy says that itself",
            "name its types instead: --profile draft-mtp,ngram-cache",
        ),
        (
            "copy", "", {}, "head-missing",
            "--profile: the profile copy needs an MTP head, and my-model-Q4_K_M has none by its header", None,
        ),
        ("ngram-mod,ngram-mod", "", {}, "unexpected-value", "--profile names a type twice", None),
        ("ngram-mod", "--nonsense", {}, "unknown-flag", "llama-server b11434 has no --nonsense", None),
        (
            "ngram-mod", "-np 3x", {}, "unexpected-value",
            "--parallel takes a whole number from 1 to 256, in plain decimal digits", None,
        ),
        ("ngram-mod", "--api-key x", {}, "literal-secret", "a key in --server-args is a key in git", None),
        ("ngram-mod", "-c 512", {}, "duplicate-flag", "-c is given already: --ctx-size 32768", "use --context"),
        (
            "ngram-mod", "--spec-draft-n-max 3", {}, "speculation-outside-profile",
            "--spec-draft-n-max reaches speculation, which only a profile may", None,
        ),
        (
            "ngram-mod", "", {"context": -1}, "unexpected-value",
            "--context takes a whole number from 1 to 2147483647", None,
        ),
        (
            "ngram-mod", "", {"server": "llama-server"}, "unexpected-value",
            "--server takes an absolute path, or one below ~/", None,
        ),
    ],
)  # fmt: skip
def test_a_refusal_speaks_of_the_options(
    profile: str, said: str, more: dict[str, Any], code: str, message: str, hint: str | None
) -> None:
    found = refused(profile, said, **more)
    assert (found.code, found.message.removeprefix("--server-args: ")) == (code, message)
    assert hint is None or found.hint == hint
    assert "{" not in (found.hint or "")
    assert "`" not in f"{found.message} {found.hint}"


def test_what_is_only_warned_of_speaks_of_the_options_too() -> None:
    (found,) = asked("ngram-mod", context=200_000).problems
    assert (found.severity, found.place) == (Severity.WARNING, None)
    assert found.message.startswith("--context is 200000 tokens, and my-model-Q4_K_M was trained for 131072")
