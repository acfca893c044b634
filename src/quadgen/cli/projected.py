"""`quadgen triage --project`: its options to a run, what was measured to options that are missing, and its words."""

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from quadgen.breakeven import Costs, Verify
from quadgen.cli import console, triage_asking
from quadgen.cli import triage_values as values
from quadgen.cli.columns import Row, aligned, wrapped
from quadgen.cli.progress import stage
from quadgen.cli.triage_asking import Asked
from quadgen.cli.triage_files import Files
from quadgen.facts.kinds import COSTS
from quadgen.projecting import NGRAM, Ask, Clock, Point, Projection, forbidden, parted, project
from quadgen.triage import Band, Drafter, Question, Started, figures

Words = tuple[str, ...]
SOURCE: Final = "--project"
_UNITS: Final = {Clock.WALL: "by the server's clock", Clock.CPU: "in CPU seconds"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The options of `--project` as they were written; None where one was not."""

    project: bool
    server: str | None
    target_model: str | None
    draft_model: str | None
    server_args: str | None
    clock: str
    samples: int


def measured(run: Run, asked: Asked, files: Files) -> Projection | None:
    """Run what `--project` asks for; None where it does not.

    Every other option is looked at before a server is started. Raises `typer.BadParameter`, and what `project` does.
    """
    if not run.project:
        for option, value in (
            ("--server", run.server),
            ("--target-model", run.target_model),
            ("--draft-model", run.draft_model),
            ("--server-args", run.server_args),
        ):
            if value is not None:
                raise values.bad(option, "only --project runs a server")
        return None
    wanted = ask(run, asked, files)
    triage_asking.question(filled(replace(asked, live=None), _pretended(wanted)), files)
    started = asked.attachment.started if asked.attachment else None
    return project(wanted, environ={**files.environ, **dict(started.environment if started else ())}, notify=stage)


def _pretended(wanted: Ask) -> Projection:
    """Stands for what will be measured."""
    verify = Verify(points=tuple((width + 1, 1.0) for width in wanted.widths))
    costs = Costs(target_step=1.0, draft_step=1.0, sequential=wanted.sequential, verify=verify)
    return Projection(clock=wanted.clock, samples=1, costs=costs, client_rate=None, points=(), notes=())


def ask(run: Run, asked: Asked, files: Files) -> Ask:
    """What is to be run. Raises `typer.BadParameter`, or `Rejected` where the acceptance is a file that says none."""
    drafter = values.named("--drafter", asked.drafter)
    spec_type = _runs_a_model(drafter)
    widths = values.widths("--width", asked.width)
    started = None if asked.attachment is None else asked.attachment.started
    server, base, drafting = _named(run, drafter, asked) if started is None else _of_fleet(run, started)
    return Ask(
        server=server,
        base=(*base, *_words(run.server_args)),
        spec_type=spec_type,
        drafting=drafting,
        widths=widths or drafter.widths,
        acceptances=_band(asked, drafter, widths, files).ends,
        clock=Clock(run.clock),
        samples=run.samples,
    )


def _named(run: Run, drafter: Drafter, asked: Asked) -> tuple[str, Words, Words]:
    """Server, arguments of the target and of the drafter, as the options name them."""
    if asked.attachment is not None and run.target_model is None:
        raise values.bad("--project", "of a fleet, only a llama.cpp service with runtime: systemd can be started here")
    if run.server is None:
        raise values.bad("--server", "say which llama-server --project is to run")
    if run.target_model is None:
        raise values.bad("--target-model", "say which model --project is to load")
    if run.draft_model is None and drafter.spec_type != "draft-mtp":
        raise values.bad("--draft-model", f"{drafter.words} is a file of its own: name it for --project")
    drafting = () if run.draft_model is None else ("--spec-draft-model", run.draft_model)
    return run.server, ("--model", run.target_model), drafting


def _of_fleet(run: Run, started: Started) -> tuple[str, Words, Words]:
    """The same of a service of a fleet."""
    if run.target_model is not None:
        raise values.bad("--target-model", "the fleet names it")
    base, drafting = parted(started.arguments)
    return run.server or started.program, base, drafting


def _band(asked: Asked, drafter: Drafter, widths: Sequence[int], files: Files) -> Band:
    if asked.acceptance is None:
        return Band()
    return values.band("--acceptance", asked.acceptance) or files.acceptance(asked.acceptance, drafter, widths)


def _runs_a_model(drafter: Drafter) -> str:
    if drafter.looks_up:
        raise values.bad("--project", NGRAM)
    if drafter.name == "plain":
        return "draft-simple"
    if drafter.spec_type is None:
        types = [name for name, cost in COSTS.items() if cost.name == drafter.cost.name]
        raise values.bad("--drafter", f"--project runs it: say which {drafter.name}, {figures.joined(types, 'or')}")
    return drafter.spec_type


def _words(text: str | None) -> list[str]:
    try:
        words = shlex.split(text or "")
    except ValueError as error:
        raise values.bad("--server-args", f"these cannot be split into words: {error}".lower()) from None
    if (name := forbidden(words)) is not None:
        raise values.bad("--server-args", f"{name} is none of them: --project decides what drafts, and must be let in")
    return words


def filled(asked: Asked, found: Projection) -> Asked:
    """The options, and what was measured where nothing else is named. Options and logs go first."""
    costs = found.costs
    one = costs.target_step * 1000
    if _has_target(asked):
        asked = replace(asked, plain_step=one if asked.plain_step is None else asked.plain_step)
    else:
        asked = replace(asked, target_step=one, commit_per_round=1.0)
    if asked.draft_step is None and asked.draft_log is None and costs.draft_step:
        asked = replace(asked, draft_step=costs.draft_step * 1000)
    if asked.verify_cost is None and asked.verify_log is None:
        asked = replace(asked, verify_cost=found.verify_cost)
    return asked


def named(question: Question, asked: Asked) -> Question:
    """The question of what `filled` made of `asked`, with the source of what it filled in."""
    if not _has_target(asked):
        question = replace(question, target=replace(question.target, source=SOURCE, internal=True))
    drafting = question.draft_step
    if asked.draft_step is None and asked.draft_log is None and drafting is not None:
        question = replace(question, draft_step=replace(drafting, source=SOURCE))
    if asked.verify_cost is None and asked.verify_log is None:
        question = replace(question, verify=replace(question.verify, source=SOURCE, mirrored=True))
    return question


def _has_target(asked: Asked) -> bool:
    return any(each is not None for each in (asked.target_rate, asked.target_step, asked.target_log, asked.live))


def as_json(verdict: str, found: Projection) -> str:
    """The object of a verdict, with what was measured as `projected`."""
    return json.dumps({**json.loads(verdict), "projected": as_dict(found)}, indent=2, ensure_ascii=False) + "\n"


def as_dict(found: Projection) -> dict[str, Any]:
    """For JSON; times in milliseconds of the clock, rates in tokens per second of it."""
    return {
        "clock": found.clock.value,
        "samples": found.samples,
        "target_step_ms": found.costs.target_step * 1000,
        "draft_step_ms": found.costs.draft_step * 1000,
        "verify_cost": found.verify_cost,
        "client_rate": found.client_rate,
        "points": [_record(point) for point in found.points],
        "notes": list(found.notes),
    }


def _record(point: Point) -> dict[str, Any]:
    return {
        "width": point.width,
        "p": point.p,
        "p_drawn": point.drawn,
        "rounds": point.rounds,
        "tokens_per_round": point.tokens_per_round,
        "round_ms": point.round_time * 1000,
        "measured": point.measured,
        "formula": point.formula,
        "ratio": point.ratio,
        "client_rate": point.client_rate,
    }


def as_text(found: Projection) -> str:
    """For people."""
    return console.lines(line.rstrip() for line in _lines(found))


def _lines(found: Projection) -> Iterator[str]:
    of = f"{console.count(found.samples, 'sample')} of each"
    yield from wrapped(f"run on the real server with forced acceptance, {_UNITS[found.clock]}, {of}")
    costs = found.costs
    yield f"  a pass of the target takes {figures.milliseconds(costs.target_step)}"
    yield f"  a pass of the drafter takes {figures.milliseconds(costs.draft_step)}"
    yield from wrapped(f"  verifying costs --verify-cost {found.verify_cost}")
    client = found.clock is Clock.WALL
    rows: list[Row] = [
        ["width", "p", "drawn", "tokens", "round", "measured", "formula", "ratio", *(["client"] * client)]
    ]
    for point in found.points:
        row = [
            str(point.width),
            figures.given(point.p),
            figures.chance(point.drawn),
            figures.tokens(point.tokens_per_round),
            figures.milliseconds(point.round_time),
            figures.rate(point.measured),
            figures.rate(point.formula),
            f"{point.ratio:.2f}",
        ]
        seen = "" if point.client_rate is None else figures.rate(point.client_rate)
        rows.append([*row, *([seen] * client)])
    yield from aligned(rows)
    for note in found.notes:
        yield from wrapped(f"note: {note}")
