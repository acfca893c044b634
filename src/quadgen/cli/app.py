"""The Typer application, and the one place where a verdict becomes an exit code."""

import os
import sys
from typing import Annotated

import typer

from quadgen.cli import (
    agreement,
    check,
    explain,
    flags,
    gguf,
    inventory,
    lock,
    measure,
    observe,
    plan,
    profiles,
    progress,
    render,
    schema,
    triage,
    verify,
)
from quadgen.cli.exits import Exit
from quadgen.problems import Rejected, Unavailable

app = typer.Typer(
    name="quadgen",
    help="Compile one fleet file into Podman Quadlet and systemd units for llama-server. "
    "A speculation profile that no measurement says wins is refused, and then nothing is written.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from quadgen import __version__  # noqa: PLC0415 - asked for rarely

        typer.echo(f"quadgen {__version__}")
        raise typer.Exit


for module in (
    render,
    check,
    plan,
    explain,
    profiles,
    verify,
    lock,
    inventory,
    schema,
    observe,
    triage,
    agreement,
    measure,
):
    app.command(name=module.__name__.rpartition(".")[2])(module.command)
app.add_typer(flags.app, name="flags")
app.add_typer(gguf.app, name="gguf")


def run() -> None:
    """Run one command and exit: 0 done, 1 refused, 2 usage, 3 differs, 4 environment."""
    # pydantic would look for plug-ins among all that is installed: slow, and a way for the machine into the output
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        app()
    except Rejected as rejected:
        from quadgen.cli import console  # noqa: PLC0415 - only where there is something to show

        progress.leave()
        console.show(rejected.problems, console.wanted_format(sys.argv))
        sys.exit(Exit.REFUSED)
    except Unavailable as unavailable:
        from quadgen.cli import console  # noqa: PLC0415 - as above

        progress.leave()
        console.say(console.shown(str(unavailable)))
        sys.exit(Exit.ENVIRONMENT)
    except KeyboardInterrupt:
        progress.leave()
        sys.stderr.write("quadgen: interrupted\n")
        sys.exit(130)
