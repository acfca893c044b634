"""Showing the outcome of a measurement; what is for programs goes to standard output."""

import sys

from quadgen.cli import console, measured_json, measured_text
from quadgen.cli.exits import Format
from quadgen.cli.measuring_values import Measured


def show(measured: Measured, *, json: bool) -> None:
    """Print it. Rows that no ledger has take standard output, and then words for people do not."""
    if json:
        sys.stdout.write(measured_json.as_json(measured))
        return
    text = measured_text.as_text(measured)
    if measured.text is None:
        sys.stdout.write(text)
    else:
        sys.stderr.write(text)
        sys.stdout.write(measured.text)
    sys.stdout.flush()
    console.show(measured.problems, Format.TEXT)
