"""The options of `quadgen triage`."""

from enum import StrEnum
from typing import Annotated

import typer

_TARGET = "What the target does today"
_DRAFTER = "The drafter"
_EXPECTED = "What to expect"
_ATTACHED = "Can it be attached"
_SERVER = "The real server, with forced acceptance"


class Clock(StrEnum):
    """What `--project` measures by; `quadgen.projecting.Clock`, which to import takes time."""

    WALL = "wall"
    CPU = "cpu"


DrafterOption = Annotated[
    str | None,
    typer.Option(
        "--drafter",
        metavar="CLASS|TYPE",
        help="plain, ngram, head or block; or a --spec-type of llama-server, such as draft-mtp. Without it, a pass or "
        "a file of a drafter is that of a plain one.",
        rich_help_panel=_DRAFTER,
    ),
]
ServiceArgument = Annotated[
    str | None, typer.Argument(metavar="HOST[/SERVICE]", help="The service of --fleet that it is for.")
]
TargetRateOption = Annotated[
    float | None,
    typer.Option(
        "--target-rate",
        metavar="TOK/S",
        help="Tokens per second that a client sees.",
        rich_help_panel=_TARGET,
    ),
]
CommitPerRoundOption = Annotated[
    float | None,
    typer.Option(
        "--commit-per-round",
        metavar="TOKENS",
        help="Tokens that a round yields; 1 where it does not draft.",
        rich_help_panel=_TARGET,
    ),
]
TargetStepOption = Annotated[
    float | None,
    typer.Option("--target-step", metavar="MS", help="What a round of it takes today.", rich_help_panel=_TARGET),
]
PlainStepOption = Annotated[
    float | None,
    typer.Option(
        "--plain-step",
        metavar="MS",
        help="What a pass over one token takes without any drafting, if it drafts today.",
        rich_help_panel=_TARGET,
    ),
]
TargetLogOption = Annotated[
    str | None,
    typer.Option("--target-log", metavar="LOG", help="Its log, for rate and tokens.", rich_help_panel=_TARGET),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="URL",
        help="The server itself: it is asked for one answer, which loads it, and timed as a client sees it.",
        rich_help_panel=_TARGET,
    ),
]
TokensOption = Annotated[
    int,
    typer.Option("--tokens", metavar="N", min=16, max=100_000, help="Tokens of that answer.", rich_help_panel=_TARGET),
]
DraftStepOption = Annotated[
    float | None,
    typer.Option("--draft-step", metavar="MS", help="One pass of it.", rich_help_panel=_DRAFTER),
]
DraftLogOption = Annotated[
    str | None,
    typer.Option(
        "--draft-log",
        metavar="LOG",
        help="A log of it as a server of its own, or at work with its statistics (-lv 4).",
        rich_help_panel=_DRAFTER,
    ),
]
WidthOption = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="K,...",
        help="Tokens that a round drafts: 1,3,7, or those of the n-gram type.",
        rich_help_panel=_DRAFTER,
    ),
]
DraftingShareOption = Annotated[
    float | None,
    typer.Option(
        "--drafting-share",
        metavar="SHARE",
        help="Part of the rounds in which an n-gram drafter drafts, 0 to 1.",
        rich_help_panel=_DRAFTER,
    ),
]
AcceptanceOption = Annotated[
    str | None,
    typer.Option(
        "--acceptance",
        metavar="P|LOW-HIGH|L@K|FILE",
        help="Chance of each drafted token, 0 to 1; tokens of a round at a width; a log; what agreement printed.",
        rich_help_panel=_EXPECTED,
    ),
]
VerifyCostOption = Annotated[
    str | None,
    typer.Option(
        "--verify-cost",
        metavar="F|K:F,...",
        help="What a pass over several tokens takes, in passes over one; by their number, or for all.",
        rich_help_panel=_EXPECTED,
    ),
]
VerifyLogOption = Annotated[
    str | None,
    typer.Option(
        "--verify-log",
        metavar="LOG",
        help="A log of the target with and without drafts, from which that follows.",
        rich_help_panel=_EXPECTED,
    ),
]
CurveOption = Annotated[
    str | None,
    typer.Option("--curve", metavar="FILE", help="Draw the rates over the acceptance: .svg or .html."),
]
FleetOption = Annotated[
    str | None,
    typer.Option(
        "--fleet", metavar="FLEET", help="Ask whether this fleet's service can have it.", rich_help_panel=_ATTACHED
    ),
]
WorkloadOption = Annotated[
    str | None,
    typer.Option(
        "--workload",
        metavar="NAME",
        help="Whose rows of the ledger say what the service does today, where nothing else does; prose by default.",
        rich_help_panel=_TARGET,
    ),
]
DraftDeviceOption = Annotated[
    str | None,
    typer.Option(
        "--draft-device",
        metavar="DEVICE,...",
        help="Where it is to run, as --spec-draft-device names it.",
        rich_help_panel=_ATTACHED,
    ),
]
BesideOption = Annotated[
    str | None,
    typer.Option(
        "--beside", metavar="TYPE,...", help="Types that it is to draft together with.", rich_help_panel=_ATTACHED
    ),
]
ProbeOption = Annotated[
    str | None,
    typer.Option(
        "--probe",
        metavar="URL",
        help="Ask a halogen that runs for one token by this drafter.",
        rich_help_panel=_ATTACHED,
    ),
]
ProjectOption = Annotated[
    bool,
    typer.Option("--project", help="Run the server, and set the formula beside it.", rich_help_panel=_SERVER),
]
ServerOption = Annotated[
    str | None,
    typer.Option("--server", metavar="PROGRAM", help="The llama-server to run.", rich_help_panel=_SERVER),
]
TargetModelOption = Annotated[
    str | None,
    typer.Option("--target-model", metavar="FILE", help="The checkpoint of the target.", rich_help_panel=_SERVER),
]
DraftModelOption = Annotated[
    str | None,
    typer.Option(
        "--draft-model",
        metavar="FILE",
        help="That of the drafter, or a model of --fleet; draft-mtp may have its head in the target.",
        rich_help_panel=_SERVER,
    ),
]
ServerArgsOption = Annotated[
    str | None,
    typer.Option(
        "--server-args",
        metavar="ARGUMENTS",
        help="Devices, layers, threads, as one word: '-ngl 99 -t 8'.",
        rich_help_panel=_SERVER,
    ),
]
ClockOption = Annotated[
    Clock,
    typer.Option(
        "--clock",
        help="What times are taken by: the server's clock, or CPU seconds, which other work does not move.",
        rich_help_panel=_SERVER,
    ),
]
SamplesOption = Annotated[
    int,
    typer.Option("--samples", metavar="N", min=1, max=100, help="How often each is measured.", rich_help_panel=_SERVER),
]
