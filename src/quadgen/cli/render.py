"""`quadgen render`: compile and write."""

import sys
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, FleetFile, Format, FormatOption, HostOption
from quadgen.problems import Rejected


def command(  # noqa: PLR0917 - Typer makes options of them
    fleet: FleetFile = "fleet.yml",
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Where the rendered tree is.")
    ] = "rendered",
    host: HostOption = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 3 if the tree differs.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print a unified diff of what changes.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run the real Quadlet generator and systemd-analyze first.")
    ] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compile the fleet and write each host's units.

    If anything is refused, nothing is written. What stays the same is not touched.
    What no service needs any more goes. What quadgen did not write is left alone.
    """
    from quadgen import disk  # noqa: PLC0415 - heavy
    from quadgen.cli import console, work  # noqa: PLC0415 - heavy
    from quadgen.diff import diff as difference  # noqa: PLC0415 - heavy

    compiled = work.compiled(fleet, host)
    found = list(compiled.problems)
    if verify and not compiled.refused:
        found += work.verified(compiled)
    only = frozenset(host) if host else None
    plan, differs = None, False
    if not console.refuses(found):
        try:
            if check:
                plan = disk.survey(output, compiled.trees, only=only, texts=diff)
            else:
                plan = disk.apply(output, compiled.trees, only=only, texts=diff, notify=console.say)
        except Rejected as rejected:
            found += rejected.problems
            differs = check
    console.show(found, format)  # all of them at once: the JSON form is one document
    if plan is None:
        if differs:
            console.say(f"{output} is not what the fleet renders to")
            raise typer.Exit(Exit.DIFFERS)
        console.say("nothing was written" if not check else "the fleet was refused, so nothing was compared")
        raise typer.Exit(Exit.REFUSED)
    if diff:
        (sys.stdout if format is Format.TEXT else sys.stderr).writelines(difference(plan))
    console.changes(plan, output, len(compiled.trees), written=not check, verbose=check and not diff)
    if check and plan.differs:
        raise typer.Exit(Exit.DIFFERS)
