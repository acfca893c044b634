"""A learned table may know nothing of an option's values: whatever a fleet says then, quadgen answers."""

import json
from dataclasses import replace

import pytest

from fleets import flow, one, problems
from quadgen.engines.flags import FlagTable, dump_table, shipped_tables
from quadgen.engines.llama_options import BOUNDS, SHAPES
from quadgen.problems import Severity

SILENT = dump_table(
    FlagTable(
        build="fork",
        options=tuple(
            replace(option, number=None, values=(), words=(), default=None)
            for option in shipped_tables()["b11434"].options
        ),
    )
)
ODD = ["abc", "", "--5", "-", "9" * 5000, "1e5", "٣", "0x10", "inf", "nan", " 8", "1,2"]
WATCHED = sorted({name.removeprefix("--") for name in (*BOUNDS, *SHAPES)} | {"split-mode", "flash-attn", "main-gpu"})
FORK = 'engine: fork, backend: cpu, model: plain, context: 4096, slots: 3, image: "reg.lan/x:fork"'


def said(fields: str) -> list[str]:
    """What is refused of a service of the fork; anything but problems is raised."""
    text = one(f"{{{FORK}, {fields}}}").replace(
        "models:\n", "  fork: {kind: llama.cpp, build: fork, backends: [cpu], flags: t.json}\nmodels:\n", 1
    )
    return [problem.message for problem in problems(text, {"t.json": SILENT}) if problem.severity is Severity.ERROR]


@pytest.mark.parametrize("value", ODD, ids=lambda value: value[:8] or "empty")
def test_no_value_of_a_flag_that_the_table_is_silent_about_is_a_traceback(value: str) -> None:
    for name in WATCHED:
        said(f"flags: {{{name}: {flow(value)}}}")
        said(f"flags: {{split-mode: none, {json.dumps(name)}: {flow(value)}, batch-size: {flow(value)}}}")
        said(f"extra_args: [--{name}, {flow(value)}]")


def test_what_is_known_of_a_value_still_counts_where_the_table_is_silent() -> None:
    assert said("flags: {batch-size: 2}") == [
        "a batch must hold a token of each slot, and there are 3: the server aborts at load"
    ]
    assert said("flags: {batch-size: 64}") == []
