"""The ledgers that come with quadgen, and the door to ledgers in general."""

import pkgutil
from functools import cache
from typing import Any, Final

from quadgen.evidence.row import Row, row_of
from quadgen.problems import Collector

LEDGERS: Final = ("rtx-3090.yml", "cpu-gemma-270m.yml")
"""Files of `data/ledgers`, in the order in which their rows count."""


def read_ledger(
    name: str,
    data: Any,  # noqa: ANN401 - any YAML value
    *,
    shipped: bool,
    collector: Collector,
) -> tuple[Row, ...]:
    """Validate a ledger and return its good rows, in order; what is wrong goes to `collector`.

    `name` is the file as problems name it, `data` its loaded YAML: `version: 1` and a list `measurements`.
    Codes: `unexpected-value`, `unknown-key`, `missing-key`, at paths such as ("measurements", 3, "rate").
    """
    from quadgen.evidence.reading import read  # noqa: PLC0415 - pydantic is needed to read, not to judge

    return read(name, data, shipped=shipped, collector=collector)


@cache
def shipped_rows() -> tuple[Row, ...]:
    """Read the rows that come with quadgen, once.

    They are taken as valid, which a test holds: making pydantic ready costs more than a whole small render.
    """
    from quadgen.document import load  # noqa: PLC0415 - yaml is needed to read, not to judge

    rows: list[Row] = []
    for file in LEDGERS:
        name = f"quadgen/data/ledgers/{file}"
        listed = load(name, pkgutil.get_data("quadgen", f"data/ledgers/{file}") or b"").data["measurements"]
        rows += [row_of(fields, file=name, index=index, shipped=True) for index, fields in enumerate(listed)]
    return tuple(rows)
