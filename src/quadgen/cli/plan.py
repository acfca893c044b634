"""`quadgen plan`: what a change does to hosts and services, for a review."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from quadgen.cli.exits import Exit, FleetFile, HostOption


class PlanFormat(StrEnum):
    """How a plan is printed."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


def command(
    fleet: FleetFile = "fleet.yml",
    old: Annotated[
        str | None, typer.Option("--from", metavar="REF", help="The revision that is changed.", show_default="HEAD")
    ] = None,
    new: Annotated[
        str | None,
        typer.Option("--to", metavar="REF", help="The revision that changes it.", show_default="the working copy"),
    ] = None,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="DIR", help="Where the rendered tree is.")
    ] = "rendered",
    host: HostOption = None,
    format: Annotated[  # noqa: A002 - the option's name
        PlanFormat, typer.Option("--format", help="How it is printed, to stdout.")
    ] = PlanFormat.TEXT,
) -> None:
    """Tell what a change does to each host and service: created, changed, restarted, removed, newly refused.

    The old state is the rendered tree as it was committed, or the fleet where none was.
    The new one is the fleet as it stands, or that of --to.
    """
    from quadgen.cli import console, plan_review  # noqa: PLC0415 - heavy

    review = plan_review.reviewed(fleet, old=old, new=new, output=output, hosts=frozenset(host) if host else None)
    if format is PlanFormat.JSON:
        import json  # noqa: PLC0415 - only this form needs it

        from quadgen.review.record import record  # noqa: PLC0415 - as above

        sys.stdout.write(json.dumps(record(review), indent=2, ensure_ascii=False) + "\n")
    elif format is PlanFormat.MARKDOWN:
        from quadgen.review.markdown import markdown  # noqa: PLC0415 - as above

        sys.stdout.write(markdown(review))
    else:
        from quadgen.review.text import lines  # noqa: PLC0415 - as above

        sys.stdout.write(console.lines(lines(review)))
    if review.refused:
        raise typer.Exit(Exit.REFUSED)
