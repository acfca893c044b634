"""An option is said once, whichever of its names are used and wherever: over the whole table of a build."""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from fleets import ENGINES, compile_text, flow
from quadgen.engines.flags import COMPILED_IN, Option, shipped_tables
from quadgen.engines.llama_options import ALWAYS, BOUNDS, ENDING, JSON, KEYS, OWNED
from quadgen.engines.llama_paths import PATHS
from quadgen.engines.side_doors import is_speculative
from quadgen.problems import Problem

Case = tuple[str, list[str]]
"""`flags` as YAML, and `extra_args`."""

TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "--api-prefix": ("/a", "/b"),
    "--cpu-mask": ("f0", "0f"), "--cpu-mask-batch": ("f0", "0f"),
    "--cpu-range": ("0-3", "4-7"), "--cpu-range-batch": ("0-3", "4-7"),
    "--slot-save-path": ("/tmp/a", "/tmp/b"),  # noqa: S108 - of the container
    "--fit-target": ("512", "1024"), "--tensor-split": ("3,1", "1,1"),
    "--samplers": ("top_k", "min_p"), "--sampling-seq": ("k", "m"),
}  # fmt: skip


def judged(cases: list[Case], build: str) -> list[tuple[list[Problem], list[str]]]:
    """What quadgen says of each case and what the server would be told; all of them are services of one host."""
    services = "".join(
        f"      s{at}: {{port: {10000 + at}, flags: {flags}, extra_args: {flow(extra)}}}\n"
        for at, (flags, extra) in enumerate(cases)
    )
    text = ENGINES.replace("build: b10715, backends: [cpu]", f"build: {build}, backends: [cpu]")
    text = text.replace(":server-b10715", f":server-{build}")
    common = "model: plain\n    backend: cpu\n    engine: cpu\n    context: 4096\n"
    compiled = compile_text(f"{text}hosts:\n  claw:\n    {common}    services:\n{services}")
    assert all(problem.service is not None for problem in compiled.problems), compiled.problems
    words = {
        resolution.name: [str(word) for argument in resolution.arguments for word in argument.words]
        for resolution in compiled.resolved.hosts["claw"]
    }
    found: dict[str | None, list[Problem]] = {}
    for problem in compiled.problems:
        found.setdefault(problem.service, []).append(problem)
    return [(found.get(f"s{at}", []), words.get(f"s{at}", [])) for at in range(len(cases))]


def free(build: str) -> Iterator[Option]:
    """The options that a fleet may give as it likes, each for itself."""
    for option in shipped_tables()[build].options:
        taken = {option.canonical} & (OWNED.keys() | KEYS.keys() | ENDING | ALWAYS | COMPILED_IN)
        refused = option.removed or option.deprecated or is_speculative(option)
        placed = option.canonical == "--mmproj-device"  # these services have no device to name
        brings = option.arity == 0 and option.canonical.endswith("-default")
        if option.canonical.startswith("--ssl-"):  # the one needs the other
            continue
        if not taken and not refused and not brings and not placed and "--help" not in option.names:
            yield option


def two(option: Option) -> tuple[list[str], list[str]]:
    """Two values of an option that takes some, as the words that follow its name."""
    if option.arity > 1:
        return ["1", "2"], ["1", "3"]
    if option.values:
        return [option.values[0]], [option.values[1]]
    if option.number == "int":
        low = max(BOUNDS.get(option.canonical, (1, 0))[0], 1)
        return [str(low)], [str(low + 1)]
    if option.number == "float":
        return ["0.25"], ["0.5"]
    if option.canonical in JSON:
        return ['{"a":1}'], ['{"a":2}']
    paths = ("/models/a", "/models/b") if option.canonical in PATHS else ("a", "b")
    one, other = TEXTS.get(option.canonical, paths)
    return [one], [other]


def keys(option: Option) -> list[str]:
    return [name[2:] for name in (*option.names, *option.negations) if name.startswith("--")]


def pairs(build: str) -> Iterator[tuple[Option, Case, bool]]:
    """Each option under two names, in `flags` and in `extra_args`; and whether both say the same."""
    for option in free(build):
        for key in keys(option):
            for name in (*option.names, *option.negations):
                if option.arity == 0:
                    same = (f"--{key}" in option.negations) is (name in option.negations)
                    yield option, (f"{{{key}: true}}", [name]), same
                elif not option.repeats:
                    one, other = two(option)
                    said = flow(one[0] if option.arity == 1 else one)
                    yield option, (f"{{{key}: {said}}}", [name, *one]), True
                    yield option, (f"{{{key}: {said}}}", [name, *other]), False


@pytest.mark.parametrize("build", ["b10434", "b11434"])
def test_an_option_under_two_names_is_one_problem_where_they_differ_and_one_argument_where_they_agree(
    build: str,
) -> None:
    tried = list(pairs(build))
    assert len(tried) > 500
    for (option, case, same), (problems, words) in zip(
        tried, judged([case for _, case, _ in tried], build), strict=True
    ):
        if same:
            assert problems == [], case
            spelled = {*option.names, *option.negations}
            assert len([word for word in words if word in spelled]) == 1, case
        else:
            assert [problem.code for problem in problems] == ["duplicate-flag"], case


@pytest.mark.parametrize("build", ["b10434", "b11434"])
def test_two_names_in_one_mapping_or_list_are_one_problem_too(build: str) -> None:
    cases: list[Case] = []
    for option in free(build):
        if option.arity == 1 and not option.repeats:
            one, other = two(option)
            long = keys(option)
            cases += [("{}", [option.names[0], *one, name, *other]) for name in option.names]
            cases += [(f"{{{long[0]}: {flow(one[0])}, {key}: {flow(other[0])}}}", []) for key in long[1:]]
    assert len(cases) > 150
    for case, (problems, _) in zip(cases, judged(cases, build), strict=True):
        assert [problem.code for problem in problems] == ["duplicate-flag"], case


DECIDED: Final[Mapping[str, str]] = {
    "--ctx-size": "4096", "--parallel": "1", "--model": "/models/plain.gguf", "--alias": "plain",
    "--host": "0.0.0.0",  # noqa: S104 - what a server in a container of its own listens on
}  # fmt: skip
"""What each of these services has by its fields."""


def owned(name: str) -> str:
    """The option's own name."""
    option = shipped_tables()["b11434"].find(name)
    assert option is not None
    return option.canonical


def names(own: str) -> tuple[str, ...]:
    option = shipped_tables()["b11434"].find(own)
    assert option is not None
    return option.names


def arity(own: str) -> int:
    option = shipped_tables()["b11434"].find(own)
    assert option is not None
    return option.arity


def test_what_a_field_decides_may_be_repeated_in_arguments_under_each_of_its_names() -> None:
    cases: list[Case] = [("{}", [name, value]) for own, value in DECIDED.items() for name in names(own)]
    assert len(cases) > 8
    for (_, extra), (problems, words) in zip(cases, judged(cases, "b11434"), strict=True):
        assert (problems, words.count(owned(extra[0])), words.count(extra[1])) == ([], 1, 1), extra


def test_what_a_field_decides_is_contradicted_under_none_of_its_names_and_the_field_is_named() -> None:
    decided = [own for own in OWNED if own not in KEYS]
    said = {"--cache-type-k": "q8_0", "--cache-type-v": "q8_0"}
    bare = {own for own in decided if not arity(own)}
    cases: list[Case] = [
        ("{}", [name] if own in bare else [name, said.get(own, "7")]) for own in decided for name in names(own)
    ]
    cases += [
        (f"{{{name[2:]}: {'true' if own in bare else '7'}}}", [])
        for own in decided for name in names(own) if name.startswith("--")
    ]  # fmt: skip
    for (flags, extra), (problems, _) in zip(cases, judged(cases, "b11434"), strict=True):
        name = extra[0] if extra else flags[1:].partition(":")[0]
        found = [(problem.code, problem.hint) for problem in problems]
        assert found == [("duplicate-flag", f"use `{OWNED[owned(name)]}`")], name
