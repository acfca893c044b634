"""Builds whose flags are other ones: learned tables of forks and old builds, and every variable of every table."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fleets import native_words, one, problems, refusal, refusals, unit
from quadgen.engines.flags import SHIPPED, FlagTable, Option, dump_table, shipped_tables
from quadgen.engines.llama_env import refusal as refused
from quadgen.engines.side_doors import is_speculative, reaches_speculation_env

NEWEST = shipped_tables()["b11434"]
SWITCHES = (
    Option(canonical="--mlock", names=("--mlock",), section="common", arity=0),
    Option(canonical="--mmap", names=("--mmap",), negations=("--no-mmap",), section="common", arity=0),
    Option(
        canonical="--direct-io", names=("-dio", "--direct-io"), negations=("-ndio", "--no-direct-io"),
        section="common", arity=0,
    ),
)  # fmt: skip
"""As b9702 has them, beside nothing else."""


def without(*names: str) -> FlagTable:
    return FlagTable(build="b9702", options=tuple(one for one in NEWEST.options if one.canonical not in names))


OLD = FlagTable(build="b9702", options=(*without("--load-mode").options, *SWITCHES))


def changed(canonical: str, how: Callable[[Option], Option]) -> FlagTable:
    """The newest table with one option that is another one."""
    options = tuple(how(one) if one.canonical == canonical else one for one in NEWEST.options)
    return FlagTable(build="b9702", options=options)


def fleet(fields: str, *, backend: str = "cpu") -> str:
    text = one(f"{{model: plain, backend: {backend}, engine: fork, context: 4096, runtime: systemd{fields}}}")
    engine = f"kind: llama.cpp, build: b9702, backends: [{backend}], binary: /opt/s/llama-server, flags: t.json"
    return text.replace("\nmodels:", f"\n  fork: {{{engine}}}\nmodels:", 1)


def words(fields: str, table: FlagTable, *, backend: str = "cpu") -> list[str]:
    return native_words(unit(fleet(fields, backend=backend), {"t.json": dump_table(table)}))


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("mmap: false", ["--no-mmap"]),
        ("mlock: true, mmap: false", ["--no-mmap", "--mlock"]),
        ("direct-io: true", ["--direct-io"]),
        ("mlock: false", []),
        ("load-mode: none", ["--no-mmap"]),
        ("load_mode: mlock", ["--no-mmap", "--mlock"]),
        ("load-mode: mmap+mlock", ["--mmap", "--mlock"]),
        ("load-mode: dio", ["--direct-io"]),
        ("load-mode: auto", []),
    ],
)
def test_a_build_with_the_switches_alone_is_told_by_them(said: str, found: list[str]) -> None:
    assert words(f", flags: {{{said}, jinja: true}}", OLD)[-len(found) - 1 :] == [*found, "--jinja"]


def test_a_build_with_the_switches_alone_takes_them_as_arguments_without_a_word() -> None:
    text = fleet(", extra_args: [--mlock, --no-mmap, -dio]")
    assert problems(text, {"t.json": dump_table(OLD)}) == []


@pytest.mark.parametrize("said", ["load-mode: sometimes", "load-mode: [none]", "load-mode: true"])
def test_a_build_with_the_switches_alone_has_no_other_way_of_loading(said: str) -> None:
    problem = refusal(fleet(f", flags: {{{said}}}"), {"t.json": dump_table(OLD)})
    assert (problem.code, problem.message) == ("unknown-flag", "llama-server b9702 has no --load-mode")


def test_a_build_without_any_of_it_is_told_of_none() -> None:
    found = refusals(fleet(", flags: {load-mode: none}"), {"t.json": dump_table(without("--load-mode"))})
    assert [(problem.code, problem.hint) for problem in found] == [("unknown-flag", "b10434 has it")]


def test_a_build_that_takes_no_words_for_layers_is_given_a_number() -> None:
    table = changed("--n-gpu-layers", lambda option: replace(option, words=()))
    found = words("", table, backend="cuda")
    assert found[found.index("--n-gpu-layers") + 1] == "999"
    problem = refusal(fleet(", flags: {n-gpu-layers: all}", backend="cuda"), {"t.json": dump_table(table)})
    assert problem.message == "--n-gpu-layers takes a whole number of 32 bits, and 'all' is none"


def test_a_build_that_cannot_fit_by_itself_is_not_told_to_leave_it() -> None:
    assert "--fit" in words("", NEWEST, backend="cuda")
    assert "--fit" not in words("", without("--fit"), backend="cuda")


def test_what_every_service_needs_is_missed_where_a_build_lacks_it() -> None:
    problem = refusal(fleet(""), {"t.json": dump_table(without("--metrics"))})
    message = "llama-server b9702 has no --metrics, which this service needs"
    assert (problem.code, problem.message) == ("unknown-flag", message)
    problem = refusal(fleet(", alias: a"), {"t.json": dump_table(without("--alias"))})
    assert problem.path == ("hosts", "claw", "alias")


def test_a_type_that_the_build_does_not_know_is_missed() -> None:
    table = changed("--spec-type", lambda option: replace(option, values=("none", "ngram-mod")))
    text = fleet("").replace("model: plain", "model: headed")
    problem = refusal(text, {"t.json": dump_table(table)})
    message = "--spec-type of llama-server b9702 does not take draft-mtp"
    assert (problem.code, problem.message, problem.hint) == ("bad-flag-value", message, "one of none, ngram-mod")
    assert words("", table)


def test_a_fork_in_which_an_old_name_still_works_reaches_speculation_by_it() -> None:
    table = changed("--draft-max", lambda option: replace(option, removed=None, number="int"))
    problem = refusal(fleet(", flags: {draft-max: 7}"), {"t.json": dump_table(table)})
    assert problem.code == "speculation-outside-profile"


def test_a_fork_that_never_had_an_old_name_is_told_what_became_of_it_in_one_problem() -> None:
    for fields in (", extra_args: [--draft-max, '7']", ", flags: {draft-max: 7}"):
        problem = refusal(fleet(fields), {"t.json": dump_table(without("--draft-max"))})
        assert (problem.code, problem.message) == ("removed-flag", "llama-server b9702 removed --draft-max")


def test_a_flag_of_a_later_build_is_unknown_and_the_build_that_has_it_is_named() -> None:
    text = one("{model: plain, backend: cpu, engine: old, context: 4096, flags: {log-jsonl: true}}")
    problem = refusal(text)
    assert (problem.code, problem.hint) == ("unknown-flag", "b11434 has it")


@pytest.mark.parametrize("build", SHIPPED)
def test_every_variable_of_a_build_is_refused_with_the_name_of_its_option(build: str) -> None:
    table = shipped_tables()[build]
    variables = {option.env: option for option in table.options if option.env is not None}
    negated = {
        name.replace("LLAMA_ARG_", "LLAMA_ARG_NO_", 1): option
        for name, option in variables.items()
        if option.negations and name.startswith("LLAMA_ARG_")
    }
    assert (len(variables) > 130, len(negated) > 15) == (True, True)
    for name, option in (variables | negated).items():
        found = refused(name, table, "1")
        assert found is not None, name
        code, message, hint = found
        assert hint, name
        if option.removed:
            assert (code, option.canonical in message) == ("removed-flag", True)
        elif is_speculative(option) or reaches_speculation_env(name):
            assert code == "speculation-outside-profile", name
        elif name in ("LLAMA_API_KEY", "HF_TOKEN"):
            assert code == "literal-secret"
            assert refused(name, table, None) is None
        else:
            assert (code, option.canonical in message) == ("duplicate-flag", True), name
            assert option.canonical.removeprefix("--") in hint or hint.startswith("use `"), name
