"""The command line: read, call, print, exit. Nothing heavy is imported before a command needs it."""

import atexit
import gc
import sys

from quadgen.cli import streams

__all__ = ["main"]


def main() -> None:
    """Run the command line; every way out is an exit code of the contract (docs/commands.md)."""
    # What a command builds lives until it ends. Looking for garbage in it takes a fifth of the time and finds none,
    # and Python looks through all of it once more on its way out.
    gc.disable()
    atexit.register(gc.freeze)
    with streams.ours():
        if sys.argv[1:] in (["--version"], ["-V"]):
            from quadgen import __version__  # noqa: PLC0415 - the answer needs nothing else

            sys.stdout.write(f"quadgen {__version__}\n")
            return
        from quadgen.cli.app import run  # noqa: PLC0415 - see above

        run()
