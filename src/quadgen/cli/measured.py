"""Showing the outcome of a measurement; what is for programs goes to standard output."""

import sys

from quadgen.cli import console, measured_json, measured_text
from quadgen.cli.exits import Format
from quadgen.cli.measuring_values import Measured


def show(measured: Measured, *, json: bool) -> None:
    """Print it. Where rows go to no ledger, standard output is theirs, and words for people are not on it."""
    if json:
        sys.stdout.write(measured_json.as_json(measured))
        return
    text = measured_text.as_text(measured)
    (sys.stderr if measured.ledger is None else sys.stdout).write(text)
    if measured.text is not None:
        sys.stdout.write(measured.text)
    sys.stdout.flush()
    console.show(measured.problems, Format.TEXT)
