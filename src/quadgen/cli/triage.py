"""`quadgen triage`: whether a drafter is worth deploying for a target."""

import os
from enum import StrEnum
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.cli.servers import ApiKeyOption, ModelOption

_TARGET = "What the target does today"
_DRAFTER = "The drafter"
_EXPECTED = "What to expect"
_ATTACHED = "Can it be attached"
_SERVER = "The real server, with forced acceptance"


class Clock(StrEnum):
    """What `--project` measures by; `quadgen.projecting.Clock`, which to import takes time."""

    WALL = "wall"
    CPU = "cpu"


def command(  # noqa: PLR0913, PLR0917 - each parameter is an option
    drafter: Annotated[
        str,
        typer.Option(
            "--drafter",
            metavar="CLASS|TYPE",
            help="plain, ngram, head or block; or a --spec-type of llama-server, such as draft-mtp.",
            rich_help_panel=_DRAFTER,
        ),
    ],
    service: Annotated[
        str | None, typer.Argument(metavar="HOST[/SERVICE]", help="The service of --fleet that it is for.")
    ] = None,
    target_rate: Annotated[
        float | None,
        typer.Option(
            "--target-rate",
            metavar="TOK/S",
            help="Tokens per second that a client sees.",
            rich_help_panel=_TARGET,
        ),
    ] = None,
    commit_per_round: Annotated[
        float | None,
        typer.Option(
            "--commit-per-round",
            metavar="TOKENS",
            help="Tokens that a round yields; 1 where it does not draft.",
            rich_help_panel=_TARGET,
        ),
    ] = None,
    target_step: Annotated[
        float | None,
        typer.Option("--target-step", metavar="MS", help="What a round of it takes today.", rich_help_panel=_TARGET),
    ] = None,
    plain_step: Annotated[
        float | None,
        typer.Option(
            "--plain-step",
            metavar="MS",
            help="What a pass over one token takes without any drafting, if it drafts today.",
            rich_help_panel=_TARGET,
        ),
    ] = None,
    target_log: Annotated[
        str | None,
        typer.Option("--target-log", metavar="LOG", help="Its log, for rate and tokens.", rich_help_panel=_TARGET),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="URL",
            help="The server itself: it is asked for one answer, which loads it, and timed as a client sees it.",
            rich_help_panel=_TARGET,
        ),
    ] = None,
    tokens: Annotated[
        int,
        typer.Option(
            "--tokens", metavar="N", min=16, max=100_000, help="Tokens of that answer.", rich_help_panel=_TARGET
        ),
    ] = 128,
    api_key_file: ApiKeyOption = None,
    model: ModelOption = None,
    draft_step: Annotated[
        float | None,
        typer.Option("--draft-step", metavar="MS", help="One pass of it.", rich_help_panel=_DRAFTER),
    ] = None,
    draft_log: Annotated[
        str | None,
        typer.Option(
            "--draft-log",
            metavar="LOG",
            help="A log of it as a server of its own, or at work with its statistics (-lv 4).",
            rich_help_panel=_DRAFTER,
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(
            "--width",
            metavar="K,...",
            help="Tokens that a round drafts: 1,3,7, or those of the n-gram type.",
            rich_help_panel=_DRAFTER,
        ),
    ] = None,
    drafting_share: Annotated[
        float | None,
        typer.Option(
            "--drafting-share",
            metavar="SHARE",
            help="Part of the rounds in which an n-gram drafter drafts, 0 to 1.",
            rich_help_panel=_DRAFTER,
        ),
    ] = None,
    acceptance: Annotated[
        str | None,
        typer.Option(
            "--acceptance",
            metavar="P|LOW-HIGH|FILE",
            help="Chance of each drafted token, 0 to 1; or a log, or what quadgen agreement --format json printed.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    verify_cost: Annotated[
        str | None,
        typer.Option(
            "--verify-cost",
            metavar="F|K:F,...",
            help="What a pass over several tokens takes, in passes over one; by their number, or for all.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    verify_log: Annotated[
        str | None,
        typer.Option(
            "--verify-log",
            metavar="LOG",
            help="A log of the target with and without drafts, from which that follows.",
            rich_help_panel=_EXPECTED,
        ),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option("--curve", metavar="FILE", help="Draw the rates over the acceptance: .svg or .html."),
    ] = None,
    fleet: Annotated[
        str | None,
        typer.Option(
            "--fleet", metavar="FLEET", help="Ask whether this fleet's service can have it.", rich_help_panel=_ATTACHED
        ),
    ] = None,
    draft_device: Annotated[
        str | None,
        typer.Option(
            "--draft-device",
            metavar="DEVICE,...",
            help="Where it is to run, as --spec-draft-device names it.",
            rich_help_panel=_ATTACHED,
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            "--beside", metavar="TYPE,...", help="Types that it is to draft together with.", rich_help_panel=_ATTACHED
        ),
    ] = None,
    probe: Annotated[
        str | None,
        typer.Option(
            "--probe",
            metavar="URL",
            help="Ask a halogen that runs for one token by this drafter.",
            rich_help_panel=_ATTACHED,
        ),
    ] = None,
    project: Annotated[
        bool,
        typer.Option("--project", help="Run the server, and set the formula beside it.", rich_help_panel=_SERVER),
    ] = False,
    server: Annotated[
        str | None,
        typer.Option("--server", metavar="PROGRAM", help="The llama-server to run.", rich_help_panel=_SERVER),
    ] = None,
    target_model: Annotated[
        str | None,
        typer.Option("--target-model", metavar="FILE", help="The checkpoint of the target.", rich_help_panel=_SERVER),
    ] = None,
    draft_model: Annotated[
        str | None,
        typer.Option(
            "--draft-model",
            metavar="FILE",
            help="That of the drafter; draft-mtp may have its head in the target.",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    server_args: Annotated[
        str | None,
        typer.Option(
            "--server-args",
            metavar="ARGUMENTS",
            help="Devices, layers, threads, as one word: '-ngl 99 -t 8'.",
            rich_help_panel=_SERVER,
        ),
    ] = None,
    clock: Annotated[
        Clock,
        typer.Option(
            "--clock",
            help="What times are taken by: the server's clock, or CPU seconds, which other work does not move.",
            rich_help_panel=_SERVER,
        ),
    ] = Clock.WALL,
    samples: Annotated[
        int,
        typer.Option(
            "--samples", metavar="N", min=1, max=100, help="How often each is measured.", rich_help_panel=_SERVER
        ),
    ] = 3,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Say whether a drafter pays against what the target does today, and from which acceptance on.

    What was measured comes from options, from logs or from the running target, in this order, and last from --project.
    """
    from quadgen.cli import (  # noqa: PLC0415 - heavy
        console,
        projected,
        triage_asking,
        triage_attached,
        triage_curve,
        triage_live,
        triage_shown,
    )
    from quadgen.triage import Answer, judge  # noqa: PLC0415 - as above

    draw = None if curve is None else triage_curve.drawer("--curve", curve)
    attachment = triage_attached.attached(
        triage_attached.Attaching(
            fleet=fleet,
            service=service,
            draft_model=draft_model,
            draft_device=draft_device,
            beside=beside,
            probe=probe,
            api_key_file=api_key_file,
        ),
        drafter,
        width,
        numbers=any(each is not None for each in (target_rate, target_step, target_log, target)) or project,
        environ=os.environ,
    )
    live = None
    if target is not None:
        live = triage_live.Live(url=target, tokens=tokens, api_key_file=api_key_file, model=model)
    asked = triage_asking.Asked(
        drafter=drafter,
        target_rate=target_rate,
        commit_per_round=commit_per_round,
        target_step=target_step,
        plain_step=plain_step,
        target_log=target_log,
        draft_step=draft_step,
        draft_log=draft_log,
        width=width,
        drafting_share=drafting_share,
        acceptance=acceptance,
        verify_cost=verify_cost,
        verify_log=verify_log,
        live=live,
        attachment=attachment,
    )
    run = projected.Run(
        project=project,
        server=server,
        target_model=target_model,
        draft_model=draft_model if project or fleet is None else None,
        server_args=server_args,
        clock=clock.value,
        samples=samples,
    )
    found = projected.measured(run, asked, environ=os.environ)
    question = triage_asking.question(asked if found is None else projected.filled(asked, found), environ=os.environ)
    verdict = judge(question if found is None else projected.named(question, asked))
    text = triage_shown.as_json(verdict) if format is Shape.JSON else triage_shown.as_text(verdict)
    if found is not None:
        text = projected.as_json(text, found) if format is Shape.JSON else text + projected.as_text(found)
    typer.echo(text, nl=False)
    if attachment is not None and format is Shape.TEXT:
        console.show(attachment.problems)
    if draw is not None:
        draw(verdict)
    if verdict.answer is Answer.CANNOT_ATTACH:
        raise typer.Exit(Exit.REFUSED)
