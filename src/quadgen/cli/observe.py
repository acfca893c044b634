"""`quadgen observe`: whether a server speculates, and how well."""

import gc
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption
from quadgen.cli.servers import ApiKeyOption, ModelOption


def command(
    source: Annotated[
        str, typer.Argument(metavar="URL|LOG|-", help="A running server, its log, or what /metrics answered.")
    ],
    target: Annotated[
        str | None, typer.Argument(metavar="HOST[/SERVICE]", help="The service of --fleet that it should be.")
    ] = None,
    *,
    fleet: Annotated[
        str | None, typer.Option("--fleet", metavar="FLEET", help="Compare with this fleet; exit 3 if it differs.")
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--window", metavar="TIME", help="Read the server twice, so far apart: 30s, 2m."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="FILE", help="What /metrics answered before; show the difference.")
    ] = None,
    api_key_file: ApiKeyOption = None,
    model: ModelOption = None,
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Say whether a server speculates, at what acceptance and rate, and what proves it.

    llama-server is asked for /slots, /props and /metrics; its log and that of halogen are read in every wording.
    Nothing is generated, and nothing is changed.
    """
    from quadgen.cli import console, observed_words, observing  # noqa: PLC0415 - heavy

    gc.enable()  # a log may be long, and a window as well
    asked = observing.Asked(
        source=source, fleet=fleet, target=target, window=window, since=since, key_file=api_key_file, model=model
    )
    answer = observing.answer(asked)
    text = observed_words.as_json(answer) + "\n" if format is Shape.JSON else observed_words.as_text(answer)
    typer.echo(text, nl=False)
    if answer.drift is None:
        return
    if format is Shape.TEXT:
        console.show(answer.problems)
        console.say(observed_words.verdict(answer.drift, target or ""))
    if answer.drift.differs:
        raise typer.Exit(Exit.DIFFERS)
