"""`quadgen lock`: record what the headers of a fleet's models say."""

import os
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, FleetFile, Format, FormatOption


def command(
    fleet: FleetFile = "fleet.yml",
    models_dir: Annotated[
        list[str] | None,
        typer.Option("--models-dir", metavar="D", help="Look here, and in no models_dir of the fleet. Repeatable."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option("--model", metavar="NAME", help="Only this model of the fleet. Repeatable.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 3 if the lock does not agree with the files.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Read nothing over the network.")] = False,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Record what the headers of the fleet's models say, in models.lock.yml beside the fleet file.

    Only headers are read: of files on this machine, or of those that a model's `url` or `hf` names.
    What cannot be had here keeps what the lock has of it. What the fleet no longer names goes.
    """
    from quadgen import disk  # noqa: PLC0415 - heavy
    from quadgen.cli import console, locking_work  # noqa: PLC0415 - heavy
    from quadgen.cli.locking_files import Shelf  # noqa: PLC0415 - heavy

    task = locking_work.opened(fleet, model)
    task.read(Shelf(directories=models_dir, offline=offline, environ=os.environ))
    found = task.problems(check=check)
    console.show(found, format)
    for line in task.notes(check=check):
        console.say(line)
    if task.broken:
        console.say("nothing was written" if not check else "nothing was compared with a file that is none")
        raise typer.Exit(Exit.REFUSED)
    if check:
        console.say(task.verdict())
        if task.differs:
            raise typer.Exit(Exit.DIFFERS)
        return
    written = task.text()
    if written is not None:
        disk.write_file(task.target, written.encode())
    console.say(task.summary(written=written is not None))
    if task.unrecorded:
        raise typer.Exit(Exit.ENVIRONMENT)
