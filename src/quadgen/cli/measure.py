"""`quadgen measure`: bring the number that the gate asks for."""

import gc

import typer

from quadgen.cli import measuring_options as options
from quadgen.cli.exits import Exit
from quadgen.cli.measuring_options import Form
from quadgen.measuring.sample import SAMPLES, TOKENS
from quadgen.problems import Unavailable


def command(  # noqa: PLR0913, PLR0917 - each parameter is an option
    target: options.TargetArgument = None,
    profile: options.ProfileOption = None,
    output: options.OutputOption = None,
    format: options.FormOption = Form.TEXT,  # noqa: A002 - the option's name
    fleet: options.FleetOption = None,
    server: options.ServerOption = None,
    backend: options.BackendOption = None,
    build: options.BuildOption = None,
    against: options.AgainstOption = None,
    draft_n_max: options.DraftNMaxOption = None,
    draft_model: options.DraftModelOption = None,
    server_args: options.ServerArgsOption = None,
    context: options.ContextOption = None,
    model_id: options.ModelIdOption = None,
    url: options.UrlOption = None,
    against_url: options.AgainstUrlOption = None,
    device: options.DeviceOption = None,
    api_key_file: options.MeasuredKeyOption = None,
    workload: options.WorkloadOption = None,
    samples: options.SamplesOption = SAMPLES,
    tokens: options.TokensOption = TOKENS,
    steady: options.SteadyOption = False,
    together: options.TogetherOption = False,
    no_confirm: options.NoConfirmOption = False,
    resume: options.ResumeOption = False,
    plan: options.PlanOption = None,
    host: options.PlanHostOption = None,
) -> None:
    """Measure a profile against what it must beat on a real server, and record what came out.

    Both are started in turn, asked the same, and timed. What is no evidence is refused, exit 1.
    """
    from quadgen.cli import measuring_asked  # noqa: PLC0415 - heavy

    asked = measuring_asked.Asked(
        target=target, fleet=fleet, profile=profile, server=server, backend=backend, build=build, against=against,
        draft_n_max=draft_n_max, draft_model=draft_model, server_args=server_args, context=context, model_id=model_id,
        url=url, against_url=against_url, device=device, api_key_file=api_key_file, workloads=tuple(workload or ()),
        samples=samples, tokens=tokens, steady=steady, together=together, no_confirm=no_confirm, resume=resume,
        output=output, plan=plan, hosts=tuple(host or ()),
    )  # fmt: skip
    measuring_asked.check(asked, shell=format is Form.SHELL)
    if asked.plan is not None:
        from quadgen.cli import measure_plan  # noqa: PLC0415 - as above

        text, status = measure_plan.shown(asked.plan, list(asked.hosts) or None, format.value)
        typer.echo(text, nl=False)
        raise typer.Exit(status)
    gc.enable()  # this may take hours
    from quadgen.cli import measured, measuring, stopping  # noqa: PLC0415 - as above

    try:
        with stopping.stoppable():
            outcome = measuring.measured(asked)
    except stopping.Stopped as stop:
        stopping.farewell("stopped")
        raise typer.Exit(stopping.status(stop)) from None
    measured.show(outcome, json=format is Form.JSON)
    if outcome.failed is not None:
        raise Unavailable(f"{outcome.failed}: the rows are on standard output")
    if outcome.refused:
        raise typer.Exit(Exit.REFUSED)
