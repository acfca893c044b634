"""`quadgen verify`: what the real programs say of a rendered tree, and whether a host has it."""

from typing import Annotated

import typer

from quadgen.cli.exits import Exit, Format, FormatOption, HostOption


def command(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="A rendered tree, or one host's directory in it.")
    ] = "rendered",
    host: HostOption = None,
    root: Annotated[
        str | None,
        typer.Option(
            "--root", metavar="ROOT", help="Compare a host with its tree; / is this one. Exit 3 if it differs."
        ),
    ] = None,
    format: FormatOption = Format.TEXT,  # noqa: A002 - the option's name
) -> None:
    """Run the real Quadlet generator and systemd-analyze verify over a rendered tree.

    The generator is /usr/libexec/podman/quadlet, /usr/lib/podman/quadlet, or what QUADGEN_QUADLET names.

    With --root /, compare what this machine has and runs with what was rendered for --host.
    Without --host, that is the host which is called as the machine is. Nothing is changed.
    """
    if root is not None:
        from quadgen.cli import verify_root  # noqa: PLC0415 - heavy

        if status := verify_root.verify(directory, root, host or (), format):
            raise typer.Exit(status)
        return
    _tree(directory, host, format)


def _tree(directory: str, host: list[str] | None, form: Format) -> None:
    from quadgen.cli import console, work  # noqa: PLC0415 - heavy

    found, programs = work.verify(directory, frozenset(host) if host else None)
    console.show(found, form)
    if console.refuses(found):
        raise typer.Exit(Exit.REFUSED)
    if any(problem.code == "not-verified" and problem.place is None for problem in found):
        console.say(f"{directory}: a program that is needed is missing; nothing refused by {programs}")
        raise typer.Exit(Exit.ENVIRONMENT)
    if found:
        console.say(f"{directory}: nothing refused by {programs}, but not everything was verified")
    else:
        verb = "take" if " and " in programs else "takes"
        console.say(f"{directory}: {programs} {verb} every unit as it was meant")
