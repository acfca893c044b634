"""`quadgen inventory`: the hosts of a fleet for Ansible."""

from typing import Annotated

import typer

from quadgen.cli.exits import FleetFile


def command(
    fleet: FleetFile = "fleet.yml",
    every: Annotated[bool, typer.Option("--list", help="All hosts, their groups and variables.")] = False,
    host: Annotated[str | None, typer.Option("--host", metavar="H", help="The variables of this host.")] = None,
) -> None:
    """Print the hosts of the fleet for Ansible, as its inventory scripts do: JSON, with groups and variables."""
    import json  # noqa: PLC0415 - heavy

    from quadgen import inventory  # noqa: PLC0415 - heavy
    from quadgen.cli import work  # noqa: PLC0415 - heavy

    if every == (host is not None):
        raise typer.BadParameter("say either --list or --host H", param_hint="--list")
    found = inventory.read(fleet, work.Folder(fleet).read(fleet))
    shown = inventory.variables(found.host(host)) if host is not None else inventory.listing(found)
    typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
