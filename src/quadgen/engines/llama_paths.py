"""Which of llama-server's options name files and directories, and what it does with them.

By common/arg.cpp of b11434 (https://github.com/ggml-org/llama.cpp). Left out is what a field of the fleet names, and
what the server itself makes where it can, and goes on without where it cannot: `--log-file`, `--log-prompts-dir`,
the lookup caches.
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from quadgen.engines.base import NamedPath
from quadgen.engines.flag_table import FlagTable
from quadgen.resolution import Argument


class _Use(NamedTuple):
    listed: bool = False
    """Whether a value names several, with commas between, and a comma of its own in quotes (parse_csv_row)."""
    scaled: bool = False
    """Whether `:SCALE` follows each."""
    written: bool = False
    served: bool = False


PATHS: Final[Mapping[str, _Use]] = {
    "--control-vector": _Use(listed=True),
    "--control-vector-scaled": _Use(listed=True, scaled=True),
    "--grammar-file": _Use(),
    "--json-schema-file": _Use(),
    "--lora-scaled": _Use(listed=True, scaled=True),
    "--mcp-servers-config": _Use(),
    "--media-path": _Use(),
    "--path": _Use(served=True),
    "--slot-save-path": _Use(written=True),
    "--ssl-cert-file": _Use(),
    "--ssl-key-file": _Use(),
    "--ui-config-file": _Use(),
}
"""Options by their canonical names."""


def named_paths(table: FlagTable, arguments: Iterable[Argument]) -> Iterator[NamedPath]:
    """Every path that the fleet's own arguments name, as it is written there."""
    for argument in arguments:
        name, *values = map(str, argument.words)
        option = table.find(name)
        use = None if option is None else PATHS.get(option.canonical)
        if use is None:
            continue
        for value in values:
            for item in next(csv.reader([value]), []) if use.listed else [value]:
                path = item.rpartition(":")[0] if use.scaled else item
                if path:
                    yield NamedPath(path=path, argument=argument, written=use.written, served=use.served)
