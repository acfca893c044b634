"""A Typer application with two commands and nothing else: what `quadgen --version` and `--help` are measured by."""

from typing import Annotated

import typer

app = typer.Typer(
    name="tiny", no_args_is_help=True, add_completion=False, context_settings={"help_option_names": ["-h", "--help"]}
)


def _version(asked: bool) -> None:  # noqa: FBT001 - Typer calls it so
    if asked:
        typer.echo("tiny 1.0.0")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[  # noqa: FBT002 - Typer makes an option of it
        bool, typer.Option("--version", "-V", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Do one of two things."""


@app.command()
def greet(name: Annotated[str, typer.Argument(help="Whom to greet.")]) -> None:
    """Greet somebody."""
    typer.echo(f"hello {name}")


@app.command()
def part(name: Annotated[str, typer.Argument(help="Whom to leave.")]) -> None:
    """Take leave of somebody."""
    typer.echo(f"goodbye {name}")


if __name__ == "__main__":
    app()
