"""`quadgen profiles`: what each profile is, and where measurements say that it wins."""

from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption


def command(
    backend: Annotated[str | None, typer.Option("--backend", metavar="B", help="Only this backend.")] = None,
    fleet: Annotated[
        str | None, typer.Option("--fleet", metavar="FLEET", help="Its profiles, models and ledgers too.")
    ] = None,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """List the profiles by backend: verdict, gain, workload and the rows that say so."""
    from quadgen.cli import console, standings, work  # noqa: PLC0415 - heavy

    compiled = work.compiled(fleet, None) if fleet is not None else None
    if compiled is not None:
        broken = [problem for problem in compiled.problems if problem.host is None]
        console.show(broken)
        if console.refuses(broken):
            raise typer.Exit(Exit.REFUSED)
    found = standings.standings(compiled, backend)
    if format is Shape.JSON:
        typer.echo(standings.as_json(found))
    else:
        typer.echo(standings.as_text(found), nl=False)
