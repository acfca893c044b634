"""`quadgen check`: everything but writing."""

import typer

from quadgen.cli.exits import Exit, FleetFile, Format, FormatOption, HostOption


def command(fleet: FleetFile = "fleet.yml", host: HostOption = None, format: FormatOption = Format.TEXT) -> None:  # noqa: A002 - the option's name
    """Compile the fleet and say everything that is wrong with it, without writing."""
    from quadgen.cli import console, work  # noqa: PLC0415 - heavy

    compiled = work.compiled(fleet, host)
    console.show(compiled.problems, format)
    if compiled.refused:
        raise typer.Exit(Exit.REFUSED)
    units = sum(len(tree.files) for tree in compiled.trees)
    console.say(f"{fleet}: {console.count(len(compiled.trees), 'host')} and {console.count(units, 'unit')} are fine")
