"""Unit-file text: one encoder per reader of Podman and systemd, and the parser that undoes them.

`container` and `service` encode meaning as text that both programs hand on unchanged, or raise `Unsafe`;
`read`, `split` and `expand` take text back to meaning, or raise `Malformed`. For every encoder and value
one of two holds: decoding gives the value back, or a reason says why it cannot be written.
"""

from quadgen.unitfile.container import (
    arg,
    boolean,
    exec_words,
    json_words,
    key_value,
    last,
    number,
    raw,
    seconds,
    strv,
)
from quadgen.unitfile.expand import unpercent, unspecify
from quadgen.unitfile.read import Entry, gather, read, read_values
from quadgen.unitfile.service import (
    comment,
    line,
    path_line,
    path_words,
    percent,
    service_environment,
    service_words,
    specifier,
    unit_names,
)
from quadgen.unitfile.split import (
    environment_split,
    lookup_last,
    service_split,
    split_args,
    split_exec,
    split_keyval,
    split_strv,
)
from quadgen.unitfile.text import Malformed, Spec, UnitText, Unsafe, Word

__all__ = [
    "Entry",
    "Malformed",
    "Spec",
    "UnitText",
    "Unsafe",
    "Word",
    "arg",
    "boolean",
    "comment",
    "environment_split",
    "exec_words",
    "gather",
    "json_words",
    "key_value",
    "last",
    "line",
    "lookup_last",
    "number",
    "path_line",
    "path_words",
    "percent",
    "raw",
    "read",
    "read_values",
    "seconds",
    "service_environment",
    "service_split",
    "service_words",
    "specifier",
    "split_args",
    "split_exec",
    "split_keyval",
    "split_strv",
    "strv",
    "unit_names",
    "unpercent",
    "unspecify",
]
