"""llama-server's own argument parser is the judge of the values that quadgen emits, and of those it refuses."""

import re
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from arguments import FILE, Form, Parser, bad, good, said
from asked import CPU, CUDA, NGRAMS, OPTIONS, TABLE, Fields, Made, compiled, tried
from command import quadgen
from fetch_llama import BUILD
from parts import llama_server
from quadgen.engines.drafters import DRAFTERS, UNREAD
from quadgen.engines.flags import COMPILED_IN, Option
from quadgen.engines.help_text import parse
from quadgen.engines.llama_options import ENDING, KEYS, NAMED, SHAPES
from quadgen.engines.side_doors import ROUTER
from source import PACKAGE


@pytest.fixture(scope="module")
def parser(tmp_path_factory: pytest.TempPathFactory) -> Parser:
    return Parser(llama_server(), tmp_path_factory.mktemp("parser"))


@pytest.fixture(scope="module")
def emitted(parser: Parser) -> list[tuple[Option, Any, Made]]:
    """Every form of every option, with what quadgen makes of it."""
    return tried(parser, good)


FIELDS: tuple[Fields, ...] = (
    {**CPU, "slots": 4, "alias": "two words", "bind": "::1", "port": 9000},
    {**CPU, "bind": "0.0.0.0", "api_key": {"secret": "key"}},  # noqa: S104 - what is exposed is the point
    {**CPU, "bind": "0.0.0.0"},  # noqa: S104 - as above
    {**CPU, "model": "hub"},
    {**CPU, "model": "part"},
    {**CPU, "model": "page"},
    {**CPU, "model": "seeing", "chat_template_file": FILE, "lora": ["a.gguf", "b.gguf"]},
    {**CPU, "runtime": "podman", "api_key": {"secret": "key"}},
    {**CPU, "flags": {"mmap": False, "mlock": True}},
    {**CPU, "flags": {"ssl-cert-file": FILE, "ssl-key-file": FILE}},
    {**CPU, "model": "headed", "profile": "default"},
    {**CPU, "model": "beside", "profile": "default"},
    {**CUDA, "devices": [1]},
    {**CUDA, "model": "beside", "profile": "default", "devices": [0], "draft_device": ["CUDA0"]},
    {**CPU, "model": "beside", "profile": "default", "draft_device": "none"},
    *({**CPU, "cache_type": kind} for kind in (TABLE.find("--cache-type-k") or OPTIONS[0]).values),
    {**CPU, "cache_type": {"k": "f16", "v": "q8_0"}},
)
"""Services that between them use every field that becomes an argument."""


def test_the_help_of_the_real_server_reads_as_the_table_that_ships(parser: Parser) -> None:
    read = {option.canonical: option for option in parse(parser.run([]).stdout)}
    shipped = {option.canonical: option for option in TABLE.options}
    for name in COMPILED_IN - read.keys():
        del shipped[name]
    assert read == shipped


def test_what_is_learned_from_the_real_server_is_the_file_that_ships(parser: Parser) -> None:
    done = quadgen("flags", "learn", parser.server, "--build", BUILD, cwd=parser.directory)
    shipped = (PACKAGE / "data" / "flags" / f"llama.cpp-{BUILD}.json").read_text(encoding="utf-8")
    assert (done.status, done.out) == (0, shipped)


def test_the_real_parser_takes_every_form_that_a_fleet_can_bring_about(
    parser: Parser, emitted: list[tuple[Option, Any, Made]]
) -> None:
    forms = chain.from_iterable(each for _, _, each in emitted if isinstance(each, list))
    refused = parser.refused(sorted(set(forms)))
    assert {form: why for form, why in refused.items() if form[0] not in COMPILED_IN} == {}


def test_the_real_parser_takes_every_argument_that_a_field_or_a_profile_brings(parser: Parser) -> None:
    types = [[name] for name in DRAFTERS] + [["draft-mtp", *NGRAMS], ["draft-simple", *NGRAMS]]
    hosts = [{key: parser.placed(value) for key, value in fields.items()} for fields in FIELDS]
    profiles: dict[int, Fields] = {}
    for names in types:
        drafted = any(name.startswith("draft-") for name in names)
        profiles[len(hosts)] = {
            "spec_types": names,
            **({"draft_n_max": 5} if drafted else {}),
            **({"draft_model": "small"} if drafted and "draft-mtp" not in names else {}),
        }
        hosts.append({**CPU, "model": "headed" if "draft-mtp" in names else "plain"})
    made = compiled(hosts, profiles)
    assert [at for at, each in enumerate(made) if isinstance(each, set) or not each] == []
    forms = {portable(parser, form) for each in made for form in each if isinstance(form, tuple)}
    assert parser.refused(sorted(forms)) == {}
    owned = {form[0] for form in forms}
    assert {"--spec-draft-device", "--hf-file", "--no-mmproj", "--no-slots", "--api-key-file", "--flash-attn"} <= owned


def portable(parser: Parser, form: Form) -> Form:
    """`form` as a server reads it that has no card, and the secret where this machine can have it."""
    if form[0] in ("--device", "--spec-draft-device"):
        return (form[0], "none")
    return (form[0], parser.placed(FILE)) if form[0] == "--api-key-file" else form


KEPT: Mapping[str, frozenset[str]] = {
    "it makes the server print and end": ENDING,
    "its value is a key": frozenset(KEYS),
    "a field says it": frozenset({"--docker-repo", "--kv-unified-per-slot", "--mmproj-url"}),
    "it brings a model of its own": frozenset(
        one.canonical for one in OPTIONS if one.canonical.endswith(("-default", "b-spec"))
    ),
    "it leads to a file of options": frozenset(f"--{name}" for name in ROUTER),
    "a profile says it": frozenset({"--spec-default", "--spec-draft-hf"}),
    "it is a file that the server writes": frozenset({"--lookup-cache-dynamic", "--lookup-cache-static"}),
    "it makes up what is accepted": frozenset({"--spec-synth-len", "--spec-synth-rates"}),
    "no code of the server reads it": frozenset(f"--{name}" for name in UNREAD),
}
"""Options that no fleet brings about, with why."""


def test_every_option_is_brought_about_by_some_fleet_or_kept_from_all_for_a_reason(
    parser: Parser, emitted: list[tuple[Option, Any, Made]]
) -> None:
    by_flags = {option.canonical for option, _, each in emitted if isinstance(each, list)}
    hosts = [{key: parser.placed(value) for key, value in fields.items()} for fields in FIELDS]
    forms = chain.from_iterable(each for each in compiled(hosts) if isinstance(each, list))
    by_fields = {(TABLE.find(form[0]) or OPTIONS[0]).canonical for form in forms} | {"--spec-draft-n-max"}
    kept = frozenset().union(*KEPT.values())
    assert {one.canonical for one in OPTIONS} - by_flags - by_fields - kept == set()
    assert kept & (by_flags | by_fields) == set()


STRICTER: Mapping[str, Callable[[Option, str], bool]] = {
    "std::stoi, stof and the like stop at the first character that they cannot read": lambda one, text: (
        (one.number is not None or one.values == ("0", "1"))
        and re.fullmatch(r"\s*[-+]?\d+\D.*|\s+\d+", text) is not None
    ),
    "std::stof reads what is no number, too": lambda one, text: one.number == "float" and text in ("nan", "inf"),
    "std::stoull reads a negative number as an enormous one": lambda one, text: (
        one.canonical in ("--fit-target", "--seed") and re.fullmatch(r"-?\d+", text) is not None
    ),
    "nothing refuses a number that the help does not offer": lambda one, _: one.canonical == "--poll",
    "the server dies of it, or takes minutes for a token, once it has read its arguments": lambda one, _: (
        one.canonical in ("--batch-size", "--mirostat") or "-threads" in one.canonical or "-n-cpu-" in one.canonical
    ),
    "it is read as a batch larger than any": lambda one, _: one.canonical == "--ubatch-size",
    "the server answers at no path that anybody would ask for": lambda one, _: one.canonical == "--api-prefix",
    "it warns of a sampler that it does not know, and goes on": lambda one, _: one.canonical in NAMED,
    "an empty text is the first of the words": lambda one, text: one.canonical == "--numa" and not text,
    "the positions of a list are taken for names": lambda one, text: (
        one.canonical == "--chat-template-kwargs" and text == "[1]"
    ),
}
"""Why quadgen refuses what the parser takes, and of which options and values that holds."""
REFUSING = {"bad-flag-value", "does-not-compose", "duplicate-flag", "unknown-device"}
"""A number may be wrong in itself and beside others; what is always on may not be given a value."""


def test_the_real_parser_refuses_every_value_that_quadgen_does_but_those_that_it_misreads(
    parser: Parser, emitted: list[tuple[Option, Any, Made]]
) -> None:
    free = {option.canonical for option, _, each in emitted if isinstance(each, list)}
    wrong: dict[Form, object] = {}
    misread: set[str] = set()
    for option, value, made in tried(parser, lambda one: bad(one) if one.canonical in free else ()):
        form = said(option, value)
        if not (isinstance(made, set) and made & REFUSING):
            wrong[form] = made
        elif parser.complaint(*form) is None:
            why = [reason for reason, holds in STRICTER.items() if holds(option, form[-1])]
            misread.update(why)
            wrong |= {} if why else {form: "the parser takes it"}
    assert wrong == {}
    assert misread == STRICTER.keys()


THERE = ("the path", "one device", "PATTERN", "HOST", "two")
"""How shapes begin whose value must name something that is there, or of which there are two."""


@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # each smaller one costs a process
@given(st.data())
def test_the_real_parser_takes_whatever_has_the_shape_that_quadgen_asks_for(
    parser: Parser, data: st.DataObject
) -> None:
    plain = st.characters(min_codepoint=32, max_codepoint=126)
    shaped = {name: shape.pattern for name, shape in SHAPES.items() if not shape.what.startswith(THERE)}
    forms = [(name, data.draw(st.from_regex(shape, fullmatch=True, alphabet=plain))) for name, shape in shaped.items()]
    assert parser.refused([form for form in forms if "\n" not in form[1]]) == {}
