"""Switches that said how a model is loaded, which a build took back: spelled for the build, warned of, or refused."""

import json
from pathlib import Path

import pytest

from command import quadgen
from fleets import after, native_words, one, problems, refusal, refusals, unit
from quadgen.problems import Severity

NATIVE = "runtime: systemd\ncontext: 4096\n"


def on(build: str, fields: str) -> str:
    """A fleet of one native server of a build."""
    text = one(f"{NATIVE}model: plain\nbackend: cpu\nengine: cpu\n{fields}")
    return text.replace("build: b10715, backends: [cpu]", f"build: {build}, backends: [cpu]")


def words(build: str, fields: str) -> list[str]:
    """The words of the only server of a fleet that must be accepted."""
    return native_words(unit(on(build, fields)))


# https://github.com/NousResearch/hermes-agent/pull/111328
BUILDS = ["b10434", "b10715", "b10724", "b11000", "b11434"]
MODES = {
    "mmap: false": "none", "no-mmap: true": "none", "mmap: true": "mmap", "mlock: true": "mlock",
    "mmap: false, mlock: true": "mlock", "mmap: true, mlock: true": "mmap+mlock", "direct-io: true": "dio",
    "dio: true, mmap: false": "dio", "direct_io: true, mlock: false": "dio", "direct-io: false": "auto",
    "mlock: false, mmap: true": "mmap", "load-mode: mmap+mlock": "mmap+mlock",
}  # fmt: skip


@pytest.mark.parametrize("build", BUILDS)
@pytest.mark.parametrize("said", MODES)
def test_how_a_model_is_loaded_is_said_in_the_words_of_the_build_and_without_a_warning(said: str, build: str) -> None:
    fields = f"flags: {{{said}}}\n"
    found = words(build, fields)
    assert after(found, "--load-mode") == MODES[said]
    assert not {"--mmap", "--no-mmap", "--mlock", "--direct-io", "--no-direct-io"} & set(found)
    assert [problem.code for problem in problems(on(build, fields))] == []


RAW = {
    "[--mlock]": "mlock", "[--no-mmap]": "none", "[--mmap]": "mmap", "[-dio]": "dio", "[--direct-io]": "dio",
    "[--no_mmap]": "none", "[--no-mmap, --mlock]": "mlock", "[--mmap, --mlock]": "mmap+mlock",
}  # fmt: skip


@pytest.mark.parametrize("build", ["b10434", "b10705", "b10715", "b10724"])
@pytest.mark.parametrize("extra", RAW)
def test_an_old_switch_of_loading_is_warned_of_while_the_build_still_takes_it(extra: str, build: str) -> None:
    text = on(build, f"extra_args: {extra}\n")
    found = problems(text)
    assert {(problem.code, problem.severity) for problem in found} == {("deprecated-flag", Severity.WARNING)}
    assert [problem.message for problem in found] == [
        f"llama-server {build} deprecates {name}" for name in extra[1:-1].split(", ")
    ]
    assert {problem.hint for problem in found} == {f"use --load-mode {RAW[extra]}"}
    assert native_words(unit(text))[-len(found) :] == extra[1:-1].split(", ")


HAS_NOT = {"b11000": "is not known to have", "b11434": "has no"}


@pytest.mark.parametrize("build", HAS_NOT)
@pytest.mark.parametrize("extra", RAW)
def test_an_old_switch_of_loading_is_refused_once_the_build_has_it_no_more(extra: str, build: str) -> None:
    found = refusals(on(build, f"extra_args: {extra}\n"))
    assert [(problem.code, problem.message) for problem in found] == [
        ("removed-flag", f"llama-server {build} {HAS_NOT[build]} {name} any more") for name in extra[1:-1].split(", ")
    ]
    assert {problem.hint for problem in found} == {f"use --load-mode {RAW[extra]}"}
    assert {problem.host for problem in found} == {"claw"}


def test_two_old_switches_of_which_the_build_takes_the_last_alone_are_told_apart() -> None:
    (first, _) = problems(on("b10434", "extra_args: [--mlock, --no-mmap]\n"))
    assert first.notes == ("as it stands, b10434 loads with --load-mode none",)
    assert first.hint == "use --load-mode mlock"


@pytest.mark.parametrize(
    ("fields", "code", "message"),
    [
        (
            "flags: {direct-io: true, mlock: true}",
            "does-not-compose",
            "direct-io does not go with mlock: a model is loaded in one way",
        ),
        (
            "flags: {dio: true, mmap: true, mlock: true}",
            "does-not-compose",
            "dio does not go with mlock and mmap: a model is loaded in one way",
        ),
        ("flags: {load-mode: none, mmap: true}", "duplicate-flag", "mmap and load-mode are one option"),
        ("flags: {load_mode: none, mlock: false}", "duplicate-flag", "mlock and load_mode are one option"),
        ("flags: {mmap: true, no-mmap: true}", "duplicate-flag", "no-mmap and mmap are one option"),
        ("flags: {mlock: maybe}", "bad-flag-value", "mlock is a switch and takes no value"),
        (
            "flags: {mlock: true}\nextra_args: [--no-mmap]",
            "duplicate-flag",
            "--no-mmap is given already: --load-mode mlock",
        ),
        (
            "flags: {mlock: true}\nextra_args: [-lm, none]",
            "duplicate-flag",
            "-lm is given already: --load-mode mlock",
        ),
        (
            "extra_args: [--mlock, --load-mode, none]",
            "duplicate-flag",
            "--mlock is given already: --load-mode none",
        ),
    ],
)
def test_a_model_is_loaded_in_one_way(fields: str, code: str, message: str) -> None:
    problem = refusal(on("b10715", f"{fields}\n"))
    assert (problem.code, problem.message) == (code, message)


@pytest.mark.parametrize("extra", ["[--no-mmap, --log-file, load-mode]", "[--no-mmap, --load-mode]"])
def test_a_way_of_loading_that_nobody_says_is_none_that_an_old_switch_could_contradict(extra: str) -> None:
    found = {problem.code: problem.hint for problem in problems(on("b10434", f"extra_args: {extra}\n"))}
    assert found["deprecated-flag"] == "use --load-mode none"
    assert "duplicate-flag" not in found


@pytest.mark.parametrize("extra", ["[--mlock]", "[-lm, mlock]", "[--no-mmap, --mlock]", "[--load_mode, mlock]"])
def test_the_same_way_of_loading_under_two_names_is_said_once(extra: str) -> None:
    found = words("b10715", f"flags: {{mlock: true}}\nextra_args: {extra}\n")
    assert found[-2:] == ["--load-mode", "mlock"]
    assert len([word for word in found if word == "mlock"]) == 1


def test_explain_names_each_key_that_made_the_way_of_loading(tmp_path: Path) -> None:
    fields = "{model: plain, backend: cpu, engine: old, context: 4096, flags: {mlock: true}}"
    (tmp_path / "fleet.yml").write_text(one(fields, above="defaults: {flags: {mmap: false}}\n"))
    done = quadgen("explain", "fleet.yml", "claw", "--format", "json", cwd=tmp_path)
    (service,) = json.loads(done.out)["services"]
    (argument,) = [each for each in service["arguments"] if each["words"][0] == "--load-mode"]
    assert argument == {"words": ["--load-mode", "mlock"], "from": "hosts.claw.flags.mlock, defaults.flags.mmap"}


OLDEST = {
    "mmap: false": ["--no-mmap"], "mlock: true": ["--mlock"], "load-mode: none": ["--no-mmap"],
    "load_mode: mmap+mlock": ["--mmap", "--mlock"], "mlock: true, mmap: false": ["--no-mmap", "--mlock"],
    "direct-io: true, no_mmap: true": ["--no-mmap", "--direct-io"],
    "mmap: true, direct_io: false": ["--no-direct-io", "--mmap"],
    "load-mode: auto": [], "direct-io: true": ["--direct-io"],
}  # fmt: skip


@pytest.mark.parametrize("build", ["b9310", "b9702", "b10433"])
@pytest.mark.parametrize("said", OLDEST)
def test_a_build_before_the_first_table_is_told_by_the_switches_that_it_surely_has(said: str, build: str) -> None:
    found = words(build, f"flags: {{{said}}}\n")
    switches = {"--mmap", "--no-mmap", "--mlock", "--direct-io", "--no-direct-io", "--load-mode", "-lm"}
    assert [word for word in found if word in switches] == OLDEST[said]


def test_an_old_switch_is_not_warned_of_where_nothing_took_its_place() -> None:
    text = on("b9702", "extra_args: [--mlock, --no-mmap]\n")
    assert problems(text) == []
    assert native_words(unit(text))[-2:] == ["--mlock", "--no-mmap"]


@pytest.mark.parametrize(
    "said", ["load-mode: none, mmap: false", "load_mode: mlock, mmap: true", "mlock: true, load-mode: none"]
)
def test_a_build_without_the_mode_takes_it_or_its_switches_and_not_both(said: str) -> None:
    found = refusal(on("b9702", f"flags: {{{said}}}\n"))
    assert found.code == "duplicate-flag"
    assert found.message.endswith(" are one option")


def test_a_mode_of_a_host_beside_a_switch_of_the_defaults_is_reported_at_the_host() -> None:
    fields = "{model: plain, backend: cpu, engine: old, context: 4096, flags: {load-mode: mlock}}"
    found = refusal(one(fields, above="defaults: {flags: {mmap: false}}\n"))
    assert (found.message, found.path) == ("load-mode and mmap are one option", ("hosts", "claw", "flags", "load-mode"))
    assert found.hint == "add `mmap: null` beside it, since defaults.flags says mmap"
