"""What a refused flag is answered with: a way that the next run does not refuse."""

import pytest

from fleets import CPU, accepted, after, marked, native_words, one, problems, refusal, refusals, unit
from quadgen.engines.side_doors import A_PROFILE

NATIVE = CPU + ", runtime: systemd"


def on(build: str, fields: str) -> str:
    text = one(f"{NATIVE}, {fields}}}")
    return text.replace("build: b10715, backends: [cpu]", f"build: {build}, backends: [cpu]")


NEAR = {
    "ctx-siz: 1": "did you mean --ctx-size? it is decided by `context`",
    "temperatur: 1": "did you mean --temperature?",
    "versio: true": "see `llama-server --help` of that build",
    "hf-tokn: x": "see `llama-server --help` of that build",
}


@pytest.mark.parametrize("said", NEAR)
def test_what_was_meant_is_proposed_with_its_field_and_never_what_ends_the_server_or_holds_a_key(said: str) -> None:
    assert refusal(one(f"{NATIVE}, flags: {{{said}}}}}")).hint == NEAR[said]


@pytest.mark.parametrize(
    ("key", "hint"),
    [("-c", "use `context`"), ("--ctx-size", "use `context`"), ("-t", "write threads"), ("--temp", "write temp"),
     ("--no-warmup", "write no-warmup"), ("-nocb", "write no-cont-batching"), ("--new-one", "write new-one")],
)  # fmt: skip
def test_a_key_with_dashes_leads_in_one_step_to_what_the_fleet_calls_it(key: str, hint: str) -> None:
    found = refusal(one(f'{NATIVE}, flags: {{"{key}": 1}}}}'))
    assert (found.message, found.hint) == (f"{key} is written without its dashes here", hint)


@pytest.mark.parametrize(
    ("key", "field"), [("-md", "use the service's `draft_model`"), ("--spec-type", A_PROFILE), ("-td", A_PROFILE)]
)
def test_a_key_with_dashes_that_speculates_is_told_where_that_is_said(key: str, field: str) -> None:
    found = refusal(one(f'{NATIVE}, flags: {{"{key}": x}}}}'))
    assert (found.code, found.hint) == ("speculation-outside-profile", field)


@pytest.mark.parametrize(
    ("item", "hint"),
    [("--temp 1", "write two items: '--temp', then '1'"), ("-b 512", "write two items: '-b', then '512'"),
     ("--api-key sk-hunter2", "keep the key out of git: api_key: {secret: NAME}")],
)  # fmt: skip
def test_a_flag_and_its_value_in_one_item_are_taken_apart_in_the_hint(item: str, hint: str) -> None:
    found = refusal(one(f'{NATIVE}, extra_args: ["{item}"]}}'))
    assert found.hint == hint
    assert "hunter2" not in found.message


def test_a_value_of_a_switch_is_no_flag_of_its_own() -> None:
    found = refusal(one(f"{NATIVE}, extra_args: [--jinja, 'true']}}"))
    assert (found.message, found.hint) == ("--jinja takes no value, and 'true' is no flag", "leave 'true' out")


def test_one_option_under_two_names_in_two_layers_is_undone_in_the_higher_one() -> None:
    fields = f"{NATIVE}, flags: {{temperature: .7}}}}"
    for temp in ("temp", "temperature"):
        found = problems(one(fields, above=f"defaults: {{flags: {{{temp}: .5}}}}\n"))
        if temp == "temperature":
            assert found == []
            continue
        (problem,) = found
        assert (problem.code, problem.message) == ("duplicate-flag", "temperature and temp are one option")
        assert problem.hint == "add `temp: null` beside it, since defaults.flags says temp"
        assert problem.path == ("hosts", "claw", "flags", "temperature")
    cured = f"{NATIVE}, flags: {{temperature: .7, temp: null}}}}"
    assert after(native_words(unit(one(cured, above="defaults: {flags: {temp: .5}}\n"))), "--temperature") == ".7"


def test_the_same_value_of_an_option_that_adds_up_is_given_once() -> None:
    fields = "flags: {logit-bias: [1-inf, 2-inf]}, extra_args: [--logit-bias, 2-inf, --logit-bias, 3-inf]"
    found = native_words(unit(one(f"{NATIVE}, {fields}}}")))
    assert [word for word in found if word.endswith("-inf")] == ["1-inf", "2-inf", "3-inf"]


@pytest.mark.parametrize(
    ("build", "message", "note"),
    [
        ("b12000", "llama-server b12000 is not known to have --mlock any more", "newer than the newest flag table"),
        (
            "b11000",
            "llama-server b11000 is not known to have --mlock any more",
            "those that b10724 and b11434 both have",
        ),
        ("my-fork", "llama-server my-fork is not known to have --mlock any more", "those of b11434, the newest table"),
    ],
)
def test_a_build_without_a_table_is_named_with_what_is_known_of_it(build: str, message: str, note: str) -> None:
    (found,) = [one for one in refusals(on(build, "extra_args: [--mlock]")) if one.code == "removed-flag"]
    assert found.message == message
    assert any(note in each for each in found.notes)


def test_a_variable_of_a_build_without_a_table_is_refused_with_what_is_known_of_it() -> None:
    found = refusal(on("b12000", "env: {LLAMA_ARG_MLOCK: '1'}"))
    assert (found.code, marked(found)) == ("removed-flag", "LLAMA_ARG_MLOCK")
    assert found.notes == ("b12000 is newer than the newest flag table: the flags are those of b11434",)


def test_a_flag_of_the_builds_table_needs_no_note() -> None:
    accepted(on("b12000", "flags: {temp: 1}"))
    assert refusal(on("b11434", "extra_args: [--mlock]")).notes == ()
