"""The options of `quadgen measure`."""

from enum import StrEnum
from typing import Annotated

import typer

_FLEET = "A service of a fleet"
_ALONE = "A model without a fleet"
_RUNNING = "Servers that run"
_HOW = "How it is measured"
_PLAN = "What a fleet needs"


class Form(StrEnum):
    """How the outcome is printed, or a plan."""

    TEXT = "text"
    JSON = "json"
    SHELL = "shell"


TargetArgument = Annotated[
    str | None,
    typer.Argument(metavar="HOST[/SERVICE]|MODEL", help="The service of --fleet; without a fleet, a checkpoint."),
]
ProfileOption = Annotated[
    str | None,
    typer.Option("--profile", metavar="P", help="What is measured; without a fleet also TYPE,... of --spec-type."),
]
FleetOption = Annotated[
    str | None,
    typer.Option("--fleet", metavar="FLEET", help="Measure with what render would write.", rich_help_panel=_FLEET),
]
ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server",
        metavar="PROGRAM",
        help="The llama-server to run; of a fleet, in place of the service's binary or image.",
        rich_help_panel=_ALONE,
    ),
]
BackendOption = Annotated[
    str | None,
    typer.Option("--backend", metavar="B", help="What it computes on: cuda, cpu, ...", rich_help_panel=_ALONE),
]
BuildOption = Annotated[
    str | None,
    typer.Option("--build", metavar="BNNNN", help="Of the program, where it does not say so.", rich_help_panel=_ALONE),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="P|TYPE,...",
        help="What types of --profile must beat; default without it.",
        rich_help_panel=_ALONE,
    ),
]
DraftNMaxOption = Annotated[
    int | None,
    typer.Option(
        "--draft-n-max", metavar="N", min=1, max=1024, help="Width of a draft for these types.", rich_help_panel=_ALONE
    ),
]
DraftModelOption = Annotated[
    str | None,
    typer.Option("--draft-model", metavar="FILE", help="Checkpoint that drafts for them.", rich_help_panel=_ALONE),
]
ServerArgsOption = Annotated[
    str | None,
    typer.Option(
        "--server-args",
        metavar="ARGUMENTS",
        help="Devices, layers, threads of both, as one word: '-ngl 99 -t 8'.",
        rich_help_panel=_ALONE,
    ),
]
ContextOption = Annotated[
    int | None,
    typer.Option("--context", metavar="TOKENS", min=256, max=2**24, help="Of a slot.", rich_help_panel=_ALONE),
]
ModelIdOption = Annotated[
    str | None,
    typer.Option(
        "--model-id", metavar="ID", help="How the row calls the model; its file's name without it.",
        rich_help_panel=_ALONE,
    ),
]  # fmt: skip
UrlOption = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="The server with the profile.", rich_help_panel=_RUNNING),
]
AgainstUrlOption = Annotated[
    str | None,
    typer.Option("--against-url", metavar="URL", help="The one that it must beat.", rich_help_panel=_RUNNING),
]
DeviceOption = Annotated[
    str | None,
    typer.Option("--device", metavar="NAME", help="The card that both run on, for the rows.", rich_help_panel=_RUNNING),
]
MeasuredKeyOption = Annotated[
    str | None,
    typer.Option(
        "--api-key-file",
        metavar="FILE",
        help="A file with the API key of both; LLAMA_API_KEY without it.",
        rich_help_panel=_RUNNING,
    ),
]
WorkloadOption = Annotated[
    list[str] | None,
    typer.Option(
        "--workload",
        metavar="NAME[=FILE]",
        help="Only these, may be repeated: prose, code-edit, copy, or texts of your own.",
        rich_help_panel=_HOW,
    ),
]
SamplesOption = Annotated[
    int,
    typer.Option(
        "--samples", metavar="N", min=3, max=1000, help="Of each workload and arm.", rich_help_panel=_HOW
    ),
]  # fmt: skip
TokensOption = Annotated[
    int,
    typer.Option("--tokens", metavar="N", min=16, max=100_000, help="Of each answer.", rich_help_panel=_HOW),
]
SteadyOption = Annotated[
    bool,
    typer.Option(
        "--steady",
        help="Keep one server of each, as production does, also where a drafter remembers what it was asked.",
        rich_help_panel=_HOW,
    ),
]
TogetherOption = Annotated[
    bool,
    typer.Option("--together", help="Keep both running: faster, if both fit.", rich_help_panel=_HOW),
]
NoConfirmOption = Annotated[
    bool,
    typer.Option("--no-confirm", help="Record a win without measuring it again.", rich_help_panel=_HOW),
]
ResumeOption = Annotated[
    bool,
    typer.Option("--resume", help="Go on with what was measured before it was stopped.", rich_help_panel=_HOW),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="LEDGER",
        help="Where rows are added; of a fleet, measurements/HOST.yml beside it. - is standard output.",
    ),
]
PlanOption = Annotated[
    str | None,
    typer.Option(
        "--plan", metavar="FLEET", help="Run nothing: say which runs this fleet needs.", rich_help_panel=_PLAN
    ),
]  # fmt: skip
PlanHostOption = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="H", help="Only this host's; may be repeated.", rich_help_panel=_PLAN),
]
FormOption = Annotated[
    Form, typer.Option("--format", help="How it is printed, to stdout; shell is a script for --plan.")
]
