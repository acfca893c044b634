"""The command line: read, call, print, exit. Nothing heavy is imported before a command needs it."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; every way out is an exit code of the contract (docs/commands.md)."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from quadgen import __version__  # noqa: PLC0415 - the answer needs nothing else

        sys.stdout.write(f"quadgen {__version__}\n")
        return
    from quadgen.cli.app import run  # noqa: PLC0415 - see above

    run()
