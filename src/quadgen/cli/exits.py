"""Exit codes, and the parameters that several commands share."""

from enum import IntEnum, StrEnum
from typing import Annotated

import typer


class Exit(IntEnum):
    """What a command ends with."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    DIFFERS = 3
    ENVIRONMENT = 4


class Format(StrEnum):
    """How problems are printed."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


class Shape(StrEnum):
    """How a command prints what it was asked for."""

    TEXT = "text"
    JSON = "json"


FleetFile = Annotated[str, typer.Argument(metavar="FLEET", help="The fleet file.", show_default=True)]
FormatOption = Annotated[
    Format, typer.Option("--format", help="How problems are printed: text to stderr, the others to stdout.")
]
ShapeOption = Annotated[Shape, typer.Option("--format", help="How it is printed, to stdout.")]
HostOption = Annotated[list[str] | None, typer.Option("--host", metavar="H", help="Only this host; may be repeated.")]
