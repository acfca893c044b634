"""`quadgen triage`: whether a drafter is worth deploying for a target."""

import os
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.cli.servers import ApiKeyOption, ModelOption

_TARGET = "What the target does today"
_DRAFTER = "The drafter"
_EXPECTED = "What to expect"


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
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Say whether a drafter pays against what the target does today, and from which acceptance on.

    What was measured comes from options, from logs or from the running target, in this order.
    """
    from quadgen.cli import triage_asking, triage_curve, triage_live, triage_shown  # noqa: PLC0415 - heavy
    from quadgen.triage import Answer, judge  # noqa: PLC0415 - as above

    draw = None if curve is None else triage_curve.drawer("--curve", curve)
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
    )
    verdict = judge(triage_asking.question(asked, environ=os.environ))
    typer.echo(triage_shown.as_json(verdict) if format is Shape.JSON else triage_shown.as_text(verdict), nl=False)
    if draw is not None:
        draw(verdict)
    if verdict.answer is Answer.CANNOT_ATTACH:
        raise typer.Exit(Exit.REFUSED)
