"""A checkpoint and a program without a fleet, as the arms of a measurement."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import typer

from quadgen.cli import gguf_files
from quadgen.cli.measuring_asked import Asked
from quadgen.engines.flags import FlagTable
from quadgen.facts.record import Facts
from quadgen.measuring.alone import Alone, arms
from quadgen.measuring.arms import Arms
from quadgen.measuring.launch import Launch
from quadgen.measuring.machine import Machine
from quadgen.pipeline import Compiled
from quadgen.sampling.machine import machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Both arms, with what had to be asked before they could be decided."""

    compiled: Compiled
    arms: Arms
    program: Machine
    file: Facts
    """Of the checkpoint."""


def found(asked: Asked, environ: Mapping[str, str]) -> Found:
    """Read the headers, ask the program what it takes, and decide. Raises as these do, in the words of the options."""
    model, server = (os.path.abspath(each or "") for each in (asked.target, asked.server))  # noqa: PTH100 - text
    draft = None if asked.draft_model is None else os.path.abspath(asked.draft_model)  # noqa: PTH100 - as above
    facts = {path: gguf_files.read(path, environ=environ).facts for path in (model, draft) if path is not None}
    program = machine(Launch(program=server, arguments=()), environ=environ)
    if asked.build is not None and program.build not in {None, asked.build}:
        message = f"the program says that it is {program.build}: leave this out"
        raise typer.BadParameter(message, param_hint="--build")
    build = asked.build or program.build
    alone = Alone(
        model=model, server=server, backend=asked.backend or "", profile=asked.profile or "", against=asked.against,
        draft_n_max=asked.draft_n_max, draft_model=draft, build=build, server_args=asked.words, context=asked.context,
        model_id=asked.model_id,
    )  # fmt: skip
    table = FlagTable(build=build or "", options=program.options)
    compiled, both = arms(alone, facts=facts, table=table)
    return Found(compiled=compiled, arms=both, program=program, file=facts[model])
