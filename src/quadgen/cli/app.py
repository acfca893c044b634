"""The Typer application, and the one place where a verdict becomes an exit code."""

import os
import sys
from importlib import import_module
from typing import Annotated, Final

import typer

from quadgen.cli import progress
from quadgen.cli.exits import Exit
from quadgen.problems import Rejected, Unavailable

COMMANDS: Final = (
    "render", "check", "plan", "explain", "profiles", "verify", "lock", "inventory", "schema", "observe", "triage",
    "agreement", "measure",
)  # fmt: skip
"""The commands in the order of `--help`, each with a module of its name."""
GROUPS: Final = ("flags", "gguf")
"""Those that have commands of their own."""


def application(word: str | None = None) -> typer.Typer:
    """The application; with the command alone that `word` names, if it names one.

    To read the options of all the others takes a tenth of the time in which a small fleet is rendered.
    """
    app = typer.Typer(
        name="quadgen",
        help="Compile one fleet file into Podman Quadlet and systemd units for llama-server. "
        "A speculation profile that no measurement says wins is refused, and then nothing is written.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for name in (word,) if word in {*COMMANDS, *GROUPS} else (*COMMANDS, *GROUPS):
        module = import_module(f"quadgen.cli.{name}")
        if name in GROUPS:
            app.add_typer(module.app, name=name)
        else:
            app.command(name=name)(module.command)
    return app


def _options(
    version: Annotated[bool, typer.Option("--version", "-V", help="Print the version and exit.")] = False,
) -> None:
    if version:
        from quadgen import __version__  # noqa: PLC0415 - asked for rarely

        typer.echo(f"quadgen {__version__}")
        raise typer.Exit


def run() -> None:
    """Run one command and exit: 0 done, 1 refused, 2 usage, 3 differs, 4 environment."""
    # pydantic would look for plug-ins among all that is installed: slow, and a way for the machine into the output
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        application(*sys.argv[1:2])()
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
