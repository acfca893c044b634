"""`quadgen triage`: whether a drafter is worth deploying for a target."""

import os

import typer

from quadgen.cli import triage_options as options
from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.cli.servers import ApiKeyOption, ModelOption
from quadgen.cli.triage_options import Clock


def command(  # noqa: PLR0913, PLR0917 - each parameter is an option
    service: options.ServiceArgument = None,
    drafter: options.DrafterOption = None,
    target_rate: options.TargetRateOption = None,
    commit_per_round: options.CommitPerRoundOption = None,
    target_step: options.TargetStepOption = None,
    plain_step: options.PlainStepOption = None,
    target_log: options.TargetLogOption = None,
    target: options.TargetOption = None,
    tokens: options.TokensOption = 128,
    api_key_file: ApiKeyOption = None,
    model: ModelOption = None,
    draft_step: options.DraftStepOption = None,
    draft_log: options.DraftLogOption = None,
    width: options.WidthOption = None,
    drafting_share: options.DraftingShareOption = None,
    acceptance: options.AcceptanceOption = None,
    verify_cost: options.VerifyCostOption = None,
    verify_log: options.VerifyLogOption = None,
    curve: options.CurveOption = None,
    fleet: options.FleetOption = None,
    workload: options.WorkloadOption = None,
    draft_device: options.DraftDeviceOption = None,
    beside: options.BesideOption = None,
    probe: options.ProbeOption = None,
    project: options.ProjectOption = False,
    server: options.ServerOption = None,
    target_model: options.TargetModelOption = None,
    draft_model: options.DraftModelOption = None,
    server_args: options.ServerArgsOption = None,
    clock: options.ClockOption = Clock.WALL,
    samples: options.SamplesOption = 3,
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
        triage_drafter,
        triage_files,
        triage_live,
        triage_shown,
    )
    from quadgen.triage import Answer, judge  # noqa: PLC0415 - as above

    draw = None if curve is None else triage_curve.drawer("--curve", curve)
    chosen = triage_drafter.chosen(
        drafter, draft_step=draft_step, draft_log=draft_log, draft_model=draft_model, probe=probe
    )
    attachment = triage_attached.attached(
        triage_attached.Attaching(
            fleet=fleet,
            service=service,
            workload=workload,
            draft_model=draft_model,
            draft_device=draft_device,
            beside=beside,
            probe=probe,
            api_key_file=api_key_file,
        ),
        chosen,
        width,
        numbers=any(each is not None for each in (target_rate, target_step, target_log, target)),
        environ=os.environ,
    )
    live = None
    if target is not None:
        live = triage_live.Live(url=target, tokens=tokens, api_key_file=api_key_file, model=model)
    asked = triage_asking.Asked(
        drafter=chosen.name,
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
    refused = attachment is not None and attachment.attachable is False
    files = triage_files.Files(os.environ)
    found = None if refused else projected.measured(run, asked, files)
    question = triage_asking.question(asked if found is None else projected.filled(asked, found), files)
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
