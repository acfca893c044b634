"""A row as a ledger writes it: its keys in one order, one a line, and no number with more digits than it has."""

import re
from collections.abc import Mapping
from typing import Any, Final

from quadgen.evidence.row import Row
from quadgen.evidence.setting import NO_SPECULATION, Setting

KEYS: Final = (
    "id", "engine", "build", "commit", "backend", "device", "model", "quantization", "header", "workload",
    "workload_sha256", "setting", "against", "rate", "against_rate", "ratio", "unit", "interval", "spread",
    "wall_rate", "against_wall_rate", "acceptance", "accepted", "drafted", "tokens_per_round", "samples", "tokens",
    "drift", "state", "confirmed", "date", "fingerprint", "comparator", "source", "command", "note",
)  # fmt: skip
"""All keys of a row, in the order in which they are written."""

_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_PLAIN: Final = re.compile(r"[A-Za-z_][\w.+/-]*(?: [\w.+/-]+)*", re.ASCII)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?", re.ASCII)
_WORDS: Final = frozenset({"~", "null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""Words that some YAML reader takes for no text, in any case."""
_SHORT: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\t": r"\t"}
_BASIC: Final = 0xFFFF


def fields(row: Row) -> dict[str, Any]:
    """Return what a ledger has to say of a row, in order: what `row_of` makes it of."""
    found = {key: getattr(row, key) for key in KEYS}
    found["setting"] = _setting(row.setting)
    found["against"] = "default" if row.against is None else _setting(row.against)
    if row.against == NO_SPECULATION:
        found["against"] = "none"
    if row.rate is not None:
        del found["ratio"]  # which the two rates say
    if row.unit == "tok/s":
        del found["unit"]
    return {key: value for key, value in found.items() if value is not None}


def _setting(setting: Setting) -> dict[str, Any]:
    found: dict[str, Any] = {"spec_types": list(setting.types)}
    if setting.draft_n_max is not None:
        found["draft_n_max"] = setting.draft_n_max
    if setting.flags:
        found["flags"] = {name: _read(value) for name, value in sorted(setting.flags)}
    if setting.draft_model is not None:
        found["draft_model"] = setting.draft_model
    return found


def _read(value: str) -> str | float:
    """What a flag's value is where it is no text, so that it is written without quotes."""
    if value in {"true", "false"}:
        return value == "true"
    return (float(value) if "." in value else int(value)) if _NUMBER.fullmatch(value) else value


def block(row: Row) -> list[str]:
    """Write a row in lines, the first of which begins with a hyphen."""
    lines = [f"{key}: {_flow(value, json=False)}" for key, value in fields(row).items()]
    return [f"{'  ' if number else '- '}{line}" for number, line in enumerate(lines)]


def flow(row: Row, *, json: bool) -> str:
    """Write a row on one line, in brackets."""
    return _flow(fields(row), json=json)


def _flow(value: Any, *, json: bool) -> str:  # noqa: ANN401 - any value of a row
    if isinstance(value, Mapping):
        entries = (f"{_text(key, json=json)}: {_flow(each, json=json)}" for key, each in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_flow(each, json=json) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _text(value, json=json) if isinstance(value, str) else repr(value)


def _text(text: str, *, json: bool) -> str:
    if not json and text.lower() not in _WORDS and (_PLAIN.fullmatch(text) or _DAY.fullmatch(text)):
        return text
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    """Escape what JSON and YAML cannot hold as it is, and what does not show."""
    if char in _SHORT:
        return _SHORT[char]
    return char if char.isprintable() or ord(char) > _BASIC else f"\\u{ord(char):04X}"
