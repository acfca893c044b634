"""`quadgen flags`: the flag tables of llama-server's builds, made, shown and compared."""

import os
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.problems import Rejected

app = typer.Typer(
    name="flags",
    help="What a build of llama-server accepts: make a table of it, look it up, compare two.",
    no_args_is_help=True,
)

_TABLE = "BUILD|TABLE"


@app.command("learn")
def learn(
    source: Annotated[
        str, typer.Argument(metavar="BINARY|HELPFILE", help="A llama-server, or what its --help prints.")
    ],
    build: Annotated[str, typer.Option("--build", metavar="B", help="Its name: bNNNN, a fork, a commit.")],
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="FILE", help="Where the table goes; else to stdout.")
    ] = None,
) -> None:
    """Make a flag table of a build, for `engines.NAME.flags` of a fleet.

    A program is run with --help and nothing else. Any other file is read as the text that it would print.
    """
    from quadgen import disk  # noqa: PLC0415 - heavy
    from quadgen.cli import console, flag_tables  # noqa: PLC0415 - heavy
    from quadgen.engines.flags import FlagTable, dump_table  # noqa: PLC0415 - heavy
    from quadgen.engines.help_text import check_whole, parse  # noqa: PLC0415 - heavy
    from quadgen.server_help import read_help  # noqa: PLC0415 - heavy

    if not build.strip() or not build.isprintable():
        raise typer.BadParameter("a build's name is one line of text", param_hint="--build")
    text, name = read_help(source, environ=os.environ)
    table = FlagTable(build=build, options=parse(text, file=name))
    check_whole(table.options, file=name)
    written = dump_table(table)
    if output is None:
        typer.echo(written, nl=False)
        return
    flag_tables.check_replaceable(output)
    disk.write_file(output, written.encode())
    console.say(f"{output}: {console.count(len(table.options), 'option')} of {build}")


@app.command("show", context_settings={"ignore_unknown_options": True})
def show(
    table: Annotated[str | None, typer.Argument(metavar=_TABLE, help="A build, or a table that was learned.")] = None,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="FLAG", help="Only these, dashes or not, or their variables.")
    ] = None,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show the options of a build; without one, list the builds whose tables come with quadgen."""
    from quadgen.cli import flag_tables  # noqa: PLC0415 - heavy

    if table is None:
        text = flag_tables.builds_as_json() + "\n" if format is Shape.JSON else flag_tables.builds_as_text()
        typer.echo(text, nl=False)
        return
    choice = flag_tables.opened(table, _TABLE)
    options, problems = flag_tables.asked(choice.table, names or ())
    if format is Shape.TEXT:
        typer.echo(flag_tables.as_text(options), nl=False)
    elif not problems:  # else the problems are the one document
        typer.echo(flag_tables.as_json(choice, options))
    if problems:
        raise Rejected(problems)


@app.command("diff")
def diff(
    old: Annotated[str, typer.Argument(metavar="OLD", help="A build, or a table that was learned.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The one to go to.")],
    fleet: Annotated[
        str | None, typer.Option("--fleet", metavar="FLEET", help="Say what breaks in this fleet, on which hosts.")
    ] = None,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare the options of two builds; with a fleet, say what going from one to the other does to it.

    Ends with 1 where the fleet is refused for the new build.
    """
    from quadgen.cli import console, flag_differences, flag_tables, work  # noqa: PLC0415 - heavy
    from quadgen.engines.flag_changes import changes  # noqa: PLC0415 - heavy
    from quadgen.upgrade import upgrade  # noqa: PLC0415 - heavy

    before, after = flag_tables.opened(old, "OLD"), flag_tables.opened(new, "NEW")
    found = changes(before.table, after.table)
    effect = None if fleet is None else upgrade(fleet, work.Folder(fleet), before.table, after.table)
    if format is Shape.JSON:
        typer.echo(flag_differences.as_json(before, after, found, fleet, effect))
    else:
        typer.echo(flag_differences.as_text(before, after, found), nl=False)
    if fleet is None or effect is None:
        return
    if format is Shape.TEXT:
        typer.echo(flag_differences.effect_as_text(fleet, after.table.build, effect), nl=False)
    for sentence in flag_differences.summary(fleet, before.table.build, after.table.build, effect):
        console.say(sentence)
    if effect.refused:
        raise typer.Exit(Exit.REFUSED)
