"""`quadgen gguf`: what the header of a checkpoint says, and whether one can draft for another."""

import os
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Shape, ShapeOption

app = typer.Typer(
    name="gguf",
    help="What checkpoints say of themselves, by their headers: here, on a server, or on the hub.",
    no_args_is_help=True,
)

_FILE = "FILE|URL|hf:REPO"
_WHERE = "A .gguf file, its address, hf:org/repo/file.gguf or hf:org/repo:QUANT."


@app.command("show")
def show(
    file: Annotated[str, typer.Argument(metavar=_FILE, help=_WHERE)],
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Show what a checkpoint is: its tokenizer, its heads, what a context of it takes, its weights.

    Only the header is read, of all shards if there are several: a few megabytes at most.
    """
    from quadgen.cli import gguf_files, gguf_shown  # noqa: PLC0415 - heavy

    found = gguf_files.read(file, environ=os.environ)
    typer.echo(gguf_shown.as_json(found) if format is Shape.JSON else gguf_shown.as_text(found), nl=False)


@app.command("compare")
def compare(
    target: Annotated[str, typer.Argument(metavar="TARGET", help=_WHERE)],
    draft: Annotated[str, typer.Argument(metavar="DRAFT", help="The checkpoint that shall draft for it.")],
    format: ShapeOption = Shape.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Compare two tokenizers token by token, and say what llama.cpp would do with the pair.

    Ends with 1 where the second cannot draft for the first.
    """
    from quadgen.cli import gguf_compared, gguf_files  # noqa: PLC0415 - heavy

    pair = gguf_compared.compared(*gguf_files.both(target, draft, environ=os.environ))
    typer.echo(gguf_compared.as_json(pair) if format is Shape.JSON else gguf_compared.as_text(pair), nl=False)
    if not pair.works:
        raise typer.Exit(Exit.REFUSED)
