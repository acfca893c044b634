"""The help text of llama-server is read as its own code writes it."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.engines.flags import SHIPPED, FlagTable, Option, dump_table
from quadgen.engines.help_text import parse
from quadgen.problems import Rejected
from source import PACKAGE, ROOT

HELP = {build: ROOT / "tests" / "data" / f"llama-server-help-{build}.txt" for build in SHIPPED}
EVERY_BUILD = pytest.mark.parametrize("build", SHIPPED)


def options(build: str) -> tuple[Option, ...]:
    return parse(HELP[build].read_text(encoding="utf-8"))


def block(*lines: str) -> Option:
    """The one option of a help text that holds nothing else."""
    found = parse("\n".join(("----- common params -----", "", *lines, "")))
    assert len(found) == 1
    return found[0]


def below(text: str) -> str:
    return " " * 40 + text


@pytest.mark.parametrize(
    ("build", "count", "names", "variables"),
    [("b10434", 248, 405, 135), ("b10705", 256, 416, 143), ("b11434", 256, 413, 149)],
)
def test_nothing_of_a_real_help_text_is_lost(build: str, count: int, names: int, variables: int) -> None:
    found = options(build)
    assert len(found) == count
    assert sum(len(option.names) + len(option.negations) for option in found) == names
    assert len({option.env for option in found} - {None}) == variables


@EVERY_BUILD
def test_the_shipped_table_is_the_help_text_read_again(build: str) -> None:
    shipped = (PACKAGE / "data" / "flags" / f"llama.cpp-{build}.json").read_text(encoding="utf-8")
    assert dump_table(FlagTable(build=build, options=options(build))) == shipped


@EVERY_BUILD
def test_each_name_and_each_variable_of_a_build_belongs_to_one_option(build: str) -> None:
    found = options(build)
    names = [name for option in found for name in (*option.names, *option.negations)]
    variables = [option.env for option in found if option.env]
    assert len(names) == len(set(names))
    assert len(variables) == len(set(variables))
    assert all(re.fullmatch(r"--?[a-zA-Z][\w.-]*", name) for name in names)
    assert all(option.canonical in option.names and option.canonical.startswith("--") for option in found)


@EVERY_BUILD
def test_a_value_is_asked_for_exactly_where_an_argument_follows(build: str) -> None:
    for option in options(build):
        takes = option.values or option.words or option.number or option.commas
        assert not (option.arity == 0 and takes), option.canonical
        assert not (option.arity > 0 and option.negations), option.canonical


def test_the_sections_are_told_apart() -> None:
    found = {option.canonical: option.section for option in options("b11434")}
    assert found["--ctx-size"] == "common"
    assert found["--temperature"] == "sampling"
    assert found["--spec-type"] == "speculative"
    assert found["--port"] == "example-specific"


@pytest.mark.parametrize(
    ("canonical", "expected"),
    [
        ("--n-gpu-layers", ("-ngl", "--gpu-layers", "--n-gpu-layers")),
        ("--n-predict", ("-n", "--predict", "--n-predict")),
        ("--ui", ("--ui", "--webui")),
        ("--ctx-checkpoints", ("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints")),
        ("--spec-draft-model", ("--spec-draft-model", "-md", "--model-draft")),
        ("--embeddings", ("--embedding", "--embeddings")),
        ("--no-host", ("--no-host",)),
    ],
)
def test_the_name_that_quadgen_writes_is_the_present_one(canonical: str, expected: tuple[str, ...]) -> None:
    assert {option.canonical: option.names for option in options("b11434")}[canonical] == expected


@pytest.mark.parametrize(
    ("canonical", "negations"),
    [
        ("--kv-offload", ("-nkvo", "--no-kv-offload")),
        ("--repack", ("-nr", "--no-repack")),
        ("--kv-unified", ("-no-kvu", "--no-kv-unified")),
        ("--mmproj-auto", ("--no-mmproj", "--no-mmproj-auto")),
        ("--ui", ("--no-ui", "--no-webui")),
        ("--no-host", ()),
        ("--spec-draft-cpu-moe", ()),
    ],
)
def test_names_that_turn_an_option_off_are_told_from_those_that_turn_it_on(
    canonical: str, negations: tuple[str, ...]
) -> None:
    assert {option.canonical: option.negations for option in options("b11434")}[canonical] == negations


@pytest.mark.parametrize(
    ("canonical", "values"),
    [
        ("--flash-attn", ("on", "off", "auto")),
        ("--rope-scaling", ("none", "linear", "yarn")),
        ("--cpu-strict", ("0", "1")),
        ("--cache-type-k", ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")),
        ("--load-mode", ("auto", "none", "mmap", "mlock", "mmap+mlock", "dio")),
        ("--split-mode", ("none", "layer", "row", "tensor")),
        ("--reasoning-format", ("none", "deepseek", "deepseek-legacy", "auto")),
        ("--log-verbosity", ()),
        ("--chat-template", ()),
        ("--poll", ()),
    ],
)
def test_the_words_that_an_option_takes_are_found_in_each_of_their_forms(
    canonical: str, values: tuple[str, ...]
) -> None:
    assert {option.canonical: option.values for option in options("b11434")}[canonical] == values


def test_the_types_of_speculation_are_a_list_of_known_words() -> None:
    found = {option.canonical: option for option in options("b11434")}["--spec-type"]
    assert found.commas
    assert found.values[0] == "none"
    assert {"draft-mtp", "ngram-cache", "ngram-map-k4v"} < set(found.values)


@pytest.mark.parametrize(
    ("canonical", "number", "words"),
    [
        ("--ctx-size", "int", ()),
        ("--temperature", "float", ()),
        ("--n-gpu-layers", "int", ("auto", "all")),
        ("--seed", "int", ()),
        ("--rope-scale", "float", ()),
        ("--n-cpu-moe", "int", ()),
        ("--host", None, ()),
        ("--tensor-split", None, ()),
        ("--logit-bias", None, ()),
    ],
)
def test_numbers_are_told_from_text(canonical: str, number: str | None, words: tuple[str, ...]) -> None:
    found = {option.canonical: option for option in options("b11434")}[canonical]
    assert (found.number, found.words) == (number, words)


@pytest.mark.parametrize(
    ("canonical", "default"),
    [
        ("--ctx-size", "0"),
        ("--flash-attn", "auto"),
        ("--split-mode", "layer"),
        ("--fit-ctx", "4096"),
        ("--cpu-mask", ""),
        ("--path", ""),
        ("--cors-methods", "GET, POST, DELETE, OPTIONS"),
        ("--threads-batch", "same as --threads"),
        ("--reasoning", "auto"),
        ("--spec-draft-n-max", "3"),
        ("--host", "127.0.0.1"),
        ("--model", None),
    ],
)
def test_the_default_is_the_value_and_not_its_explanation(canonical: str, default: str | None) -> None:
    assert {option.canonical: option.default for option in options("b11434")}[canonical] == default


def test_lists_are_found_by_their_hint_or_by_their_help() -> None:
    old = {option.canonical: option.commas for option in options("b10434")}
    new = {option.canonical: option.commas for option in options("b11434")}
    assert new["--device"]
    assert new["--lora"]
    assert new["--override-kv"]
    assert not new["--samplers"]
    assert not new["--logit-bias"]
    assert (old["--host"], new["--host"]) == (False, True)


def test_removed_and_deprecated_options_say_what_to_use() -> None:
    found = {option.canonical: option for option in options("b10434")}
    assert found["--draft-max"].removed == "use --spec-draft-n-max or --spec-ngram-mod-n-max"
    assert found["--mlock"].deprecated == "use --load-mode"
    assert found["--defrag-thold"].deprecated == "leave it out: the engine names nothing instead"
    assert [option.canonical for option in found.values() if option.removed] == [
        "--draft-max",
        "--draft-min",
        "--spec-ngram-size-n",
        "--spec-ngram-size-m",
        "--spec-ngram-min-hits",
    ]


def test_two_hints_are_two_arguments_and_blanks_inside_brackets_are_none() -> None:
    assert block("--range START END", below("a range")).arity == 2
    assert block("-ot,   --override <tensor name pattern>=<buffer type>,...", below("x")).arity == 1
    assert block("--repo [<repo>/]<model>[:quant]", below("x")).arity == 1
    assert block("--switch                                turn it on").arity == 0


def written(names: list[str], hints: list[str], body: str) -> str:
    """One option as `common_arg::to_string` writes it."""
    first = f"{names[0]}, ".ljust(7) if len(names) > 1 else names[0]
    head = " ".join((first + ", ".join(names[1:]), *hints))
    return f"{head.ljust(40)}{body}" if len(head) <= 37 else f"{head}\n{below(body)}"


LONG = st.from_regex(r"--[a-mo-z][a-z0-9.-]{0,40}", fullmatch=True)
SHORT = st.from_regex(r"-[a-zA-Z][a-z]{0,5}", fullmatch=True)
HINT = st.sampled_from(
    ["N", "FNAME", "<0|1>", "{none,some}", "[on|off|auto]", "<a b>=<c d>,...", "lo-hi", "[<x>/]<y>[:z]"]
)


@given(
    names=st.lists(LONG | SHORT, min_size=1, max_size=4, unique=True),
    hints=st.lists(HINT, max_size=2),
    body=st.from_regex(r"[a-z][a-z ,;'\"`.()/-]{0,80}", fullmatch=True),
)
def test_whatever_the_engine_writes_is_read_as_it_was_meant(names: list[str], hints: list[str], body: str) -> None:
    found = block(written(names, hints, body))
    assert found.names == tuple(names)
    assert found.negations == ()
    assert found.arity == len(hints)
    assert found.canonical in names


@given(kind=st.from_regex(r"[a-mo-z][a-z-]{0,30}", fullmatch=True), short=SHORT, off=SHORT)
def test_whatever_turns_off_what_the_engine_turns_on_is_a_negation(kind: str, short: str, off: str) -> None:
    found = block(written([short, f"--{kind}", off, f"--no-{kind}"], [], "whether to"))
    assert (found.names, found.negations) == ((short, f"--{kind}"), (off, f"--no-{kind}"))
    assert found.negation == f"--no-{kind}"


def test_an_option_without_help_is_still_one() -> None:
    assert block("--bare").names == ("--bare",)


def test_what_a_server_logs_before_its_help_is_no_part_of_it() -> None:
    text = "load_backend: loaded CPU backend\n\n" + HELP["b11434"].read_text(encoding="utf-8")
    assert parse(text) == options("b11434")


def test_line_ends_of_other_systems_change_nothing() -> None:
    text = HELP["b11434"].read_text(encoding="utf-8")
    assert parse(text.replace("\n", "\r\n")) == options("b11434")


def test_each_line_that_fits_no_rule_is_refused_with_its_place() -> None:
    text = "----- common params -----\n\n--good                                  help\nstray\n  --indented\n"
    with pytest.raises(Rejected) as refused:
        parse(text, file="help.txt")
    assert [(one.code, one.place and one.place.line) for one in refused.value.problems] == [
        ("unreadable-help", 4),
        ("unreadable-help", 5),
    ]
    assert {one.place and one.place.file for one in refused.value.problems} == {"help.txt"}


@pytest.mark.parametrize("text", ["", "usage: something else\n", "----- common params -----\n"])
def test_a_text_without_options_is_refused(text: str) -> None:
    with pytest.raises(Rejected, match=r"unreadable-help: other\.txt holds no options of a help text"):
        parse(text, file="other.txt")


def test_every_help_text_that_is_kept_is_used() -> None:
    kept = {path.name for path in Path(HELP["b11434"]).parent.glob("llama-server-help-*")}
    assert kept == {path.name for path in HELP.values()}
