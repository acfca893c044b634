"""llama-server's own argument parser is the judge of the names that quadgen knows: flags and variables."""

import re
from collections.abc import Iterator

import pytest

from arguments import Form, Parser, good, said
from asked import CPU, OPTIONS, REMOVED, TABLE, Fields, compiled
from parts import llama_server
from quadgen.engines.flags import COMPILED_IN, Option, shipped_tables
from quadgen.engines.llama_options import ENDING


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return Parser(llama_server(), tmp_path_factory.mktemp("parser"))


def names(option: Option) -> Iterator[Form]:
    """Every name of an option, with a value where it takes one."""
    form = said(option, next(iter(good(option))))
    for name in option.names:
        yield (name, *form[1:])
        if name.startswith("--"):
            yield (f"--{name[2:].replace('-', '_')}", *form[1:])
    yield from ((name,) for name in option.negations)


def test_the_real_parser_knows_every_name_of_the_table(parser: Parser) -> None:
    known = [form for option in OPTIONS if option.canonical not in ENDING for form in names(option)]
    placed = [tuple(map(parser.placed, form)) for form in known]
    assert {
        form[0]: why for form, why in parser.refused(placed).items() if "not supported in this build" not in why
    } == {}


def extra(*items: str) -> Fields:
    return {**CPU, "extra_args": list(items)}


def test_a_name_that_the_real_parser_does_not_know_is_refused_by_quadgen(parser: Parser) -> None:
    older = {
        name for build in shipped_tables().values() for one in build.options for name in (*one.names, *one.negations)
    }
    unknown = sorted(
        {f"--no-{one.canonical[2:]}" for one in TABLE.options}.union(
            older, ("--no-such-flag", "--ctx-size=1", "-np4", "word")
        )
        - {name for one in TABLE.options for name in (*one.names, *one.negations)}
    )
    complaints = {name: parser.complaint(name) or "" for name in unknown}
    assert {name: why for name, why in complaints.items() if why != f"error: invalid argument: {name}"} == {}
    made = compiled([extra(name) for name in unknown])
    refusals = {"unknown-flag", "removed-flag", "speculation-outside-profile"}
    assert {name: each for name, each in zip(unknown, made, strict=True) if not set(each) & refusals} == {}


def test_an_option_that_was_removed_is_refused_by_both_with_its_successor(parser: Parser) -> None:
    removed = [(name, option) for option in REMOVED for name in option.names]
    assert len(removed) == 8
    for name, option in removed:
        _, removal, successor = (parser.complaint(name, "1") or "").partition("the argument has been removed. ")
        assert removal
        assert (option.removed or "").startswith(successor)
    made = compiled([extra(name, "1") for name, _ in removed])
    assert all(isinstance(each, set) for each in made)


def test_an_option_at_the_end_without_its_value_is_refused_by_both(parser: Parser) -> None:
    done = parser.run(["--threads"])
    assert (done.returncode, "expected value for argument" in done.stderr) == (1, True)
    assert compiled([extra("--threads")]) == [{"bad-flag-value"}]


@pytest.mark.parametrize(
    ("fields", "form"),
    [
        (extra("--threads", "1", "-t", "2"), ("--threads", "1", "-t", "2")),
        (extra("-c", "4096", "-c", "8192"), ("-c", "4096", "-c", "8192")),
        ({**CPU, "flags": {"api-key": ""}}, ("--api-key", "")),
        ({**CPU, "flags": {"no-mmproj": True, "mmproj-auto": True}}, ("--no-mmproj", "--mmproj-auto")),
    ],
    ids=["two names", "twice", "an empty key", "on and off"],
)
def test_quadgen_alone_refuses_what_the_parser_settles_silently(parser: Parser, fields: Fields, form: Form) -> None:
    assert parser.complaint(*form) is None
    assert isinstance(compiled([fields])[0], set)


def test_each_variable_of_the_table_belongs_to_its_option_in_the_real_parser(parser: Parser) -> None:
    having = [option for option in OPTIONS if option.env is not None and option.canonical not in COMPILED_IN]
    forms = [tuple(map(parser.placed, said(option, next(iter(good(option)))))) for option in having]
    env = {option.env or "": (*form[1:], "1")[0] for option, form in zip(having, forms, strict=True)}
    done = parser.run([word for form in forms for word in form], env)
    assert done.returncode == 0, done.stderr
    assert OVERWRITTEN.findall(done.stderr) == [(option.env, option.canonical) for option in having]
    assert len(env) == len(having) > 140


OVERWRITTEN = re.compile(
    r"^warn: (\w+) environment variable is set, but will be overwritten by command line argument (\S+)$", re.MULTILINE
)


def test_a_variable_with_no_in_it_is_heard_where_the_table_says_so_and_only_there(parser: Parser) -> None:
    prefix = "LLAMA_ARG_"
    having = [one for one in OPTIONS if (one.env or "").startswith(prefix) and one.canonical not in COMPILED_IN]
    off = {(one.env or "").replace(prefix, f"{prefix}NO_"): one for one in having}
    del off["LLAMA_ARG_NO_HOST"]  # of an option of its own, --no-host
    forms = [tuple(map(parser.placed, said(one, next(iter(good(one)))))) for one in having]
    done = parser.run([word for form in forms for word in form], dict.fromkeys(off, "whatever"))
    heard = {env for env, _ in OVERWRITTEN.findall(done.stderr)}
    assert done.returncode == 0, done.stderr
    assert heard == {one.env for name, one in off.items() if TABLE.by_env(name) is one}
    assert heard == {one.env for one in having if one.negations}
    assert heard


def test_a_variable_of_a_removed_option_ends_the_real_server_and_one_that_is_gone_does_nothing(parser: Parser) -> None:
    for option in REMOVED:
        if option.env is not None:
            assert "has been removed" in (parser.complaint(env={option.env: "1"}) or "")
    older = {one.env for table in shipped_tables().values() for one in table.options if one.env is not None}
    gone = {name: "whatever" for name in older if TABLE.by_env(name) is None}
    assert gone.keys() == {"LLAMA_ARG_MLOCK", "LLAMA_ARG_MMAP", "LLAMA_ARG_DIO"}
    assert parser.complaint(env=gone) is None


def test_quadgen_lets_no_variable_of_the_table_through() -> None:
    variables = sorted({option.env for option in TABLE.options if option.env is not None})
    made = compiled([{**CPU, "env": {name: "1"}} for name in variables])
    refusals = {"duplicate-flag", "speculation-outside-profile", "literal-secret", "removed-flag"}
    assert {name: each for name, each in zip(variables, made, strict=True) if not set(each) & refusals} == {}
