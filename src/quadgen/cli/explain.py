"""`quadgen explain`: what was decided for a host, and why."""

from typing import Annotated

import typer

from quadgen.cli.exits import Exit, FleetFile, Shape, ShapeOption


def command(
    fleet: FleetFile = "fleet.yml",
    target: Annotated[str | None, typer.Argument(metavar="HOST[/SERVICE]", help="What to explain.")] = None,
    code: Annotated[
        str | None, typer.Option("--code", metavar="CODE", help="Explain a problem's code instead.")
    ] = None,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show each argument of a service, where it came from, and the evidence for it; or what a code means."""
    from quadgen.cli import console, explaining, work  # noqa: PLC0415 - heavy

    if code is not None:
        typer.echo(explaining.of_code(code))
        return
    if target is None:
        raise typer.BadParameter("name a host of the fleet, or a code with --code", param_hint="HOST[/SERVICE]")
    host, _, service = target.partition("/")
    compiled = work.compiled(fleet, [host], about=host)
    if service:
        explaining.check_service(compiled, host, service)
    if format is Shape.JSON:
        typer.echo(explaining.as_json(compiled, host, service or None))
    else:
        typer.echo(explaining.as_text(compiled, host, service or None), nl=False)
    console.show(compiled.problems)
    if compiled.refused:
        raise typer.Exit(Exit.REFUSED)
