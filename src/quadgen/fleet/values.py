"""The scalar types of fleet.yml: what a field takes, and what to say when it was given something else.

Validators raise `PydanticCustomError` whose type is the problem's code and whose context may carry a hint;
`quadgen.validation` turns that into a `Problem` with a place.
"""

import re
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from quadgen.document import Real, Whole, text_of

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSEEN: Final = (
    "[\xad\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What nobody sees, or what turns the text around it (Unicode's Default_Ignorable_Code_Point, without the selectors
that colour a symbol, and the line separators): a review reads another text than the host gets."""
_SIZE: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT]i?B|[kmgtKMGT]|B)")
_DURATION: Final = re.compile(r"(?:([0-9]+)h)? ?(?:([0-9]+)(?:m|min))? ?(?:([0-9]+)(?:s|sec))?")
# systemd and Podman both read single letters as powers of 1024 (systemd.resource-control(5), podman-run(1)).
_FACTOR: Final = {
    "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
    "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40,
    "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
}  # fmt: skip
_LONGEST_HINT: Final = 10
"""Digits of a number that a hint repeats."""
LARGEST: Final = 2**63 - 1
"""Bytes: Podman reads sizes into 64 bits with a sign."""
LONGEST: Final = 7 * 86400
"""The longest time span that a field takes, in seconds: a week."""


def wrong(message: str, hint: str | None = None, code: str = "unexpected-value") -> PydanticCustomError:
    """The error that a validator raises: `message` and `hint` reach the user as they are."""
    return PydanticCustomError(code, "{message}", {"message": message, "hint": hint})


def _text(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    if type(value) is str:
        text = value
    elif isinstance(value, bool) or value is None or not isinstance(value, (str, int, float)):
        shown = {True: "true", False: "false", None: "null"}.get(value) if not isinstance(value, (list, dict)) else None
        if shown is not None:
            raise wrong(f"takes text, and {shown} is none", f'write "{shown}" in quotes if the word is meant')
        raise wrong(f"takes text, not a {'list' if isinstance(value, list) else 'mapping'}")
    else:
        text = text_of(value)
    if _CONTROL.search(text):
        raise wrong("holds a control character that no unit can carry", code="unsafe-value")
    if not text.isascii() and (unseen := re.search(_UNSEEN, text)):
        raise wrong(f"holds U+{ord(unseen[0]):04X}, which nobody sees", "delete it", "unsafe-value")
    return text


def key(value: Any) -> Any:  # noqa: ANN401 - a key is always text
    """A name that the fleet gives something, as it may stand in a unit."""
    return _one_line(value) if isinstance(value, str) else value


def _one_line(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    text = _text(value)
    if "\n" in text:
        raise wrong("takes one line of text", code="unsafe-value")
    if not text:
        raise wrong("must not be empty", "leave the key out, or write null, to have none")
    return text


def size(value: Any) -> int:  # noqa: ANN401 - YAML holds anything
    """A size such as `24GiB` or `64g`, in bytes; above 0. KiB and k are 1024, KB is 1000."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        raise wrong("takes a size with its unit", f"write {text_of(value)}GiB, {text_of(value)}MiB, ...")
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise wrong("takes a size such as 24GiB")
    number = round(float(found[1]) * _FACTOR[found[2]])
    if not 0 < number <= LARGEST:
        raise wrong("takes a size above 0 and below 8 EiB")
    return number


def duration(value: Any) -> int:  # noqa: ANN401 - YAML holds anything
    """A time span in whole seconds, 1 s to a week: `900`, `15m`, `1h 30m`."""
    seconds = 0
    if (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, str) and value.isdigit() and not (len(value) > 1 and value[0] == "0")
    ):
        seconds = int(value)
    elif isinstance(value, str) and value and (found := _DURATION.fullmatch(value)):
        hours, minutes, rest = (int(part or 0) for part in found.groups())
        seconds = hours * 3600 + minutes * 60 + rest
    elif value in ("infinity", "never"):
        raise wrong("takes a time span that ends", "a unit that waits for ever is never seen to fail")
    if not 1 <= seconds <= LONGEST:
        raise wrong("takes a time span from 1s to 168h, such as 900, 15m or 1h30m")
    return seconds


def _whole(value: Any, low: int, high: int, what: str) -> int:  # noqa: ANN401 - YAML holds anything
    if isinstance(value, int) and not isinstance(value, (bool, Whole)):
        if low <= value <= high:
            return value
        raise wrong(f"takes {what} from {low} to {high}")
    hint = None
    if isinstance(value, (str, Real, Whole)):
        written = value if isinstance(value, str) else value.text
        digits = written.strip().replace("_", "").lstrip("0") or "0"
        if digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST_HINT:
            hint = f"write {digits} without quotes" if value == digits else f"write {digits}"
        elif isinstance(value, (Real, Whole)) and low <= value <= high and float(value).is_integer():
            hint = f"write {int(value)}"
    raise wrong(f"takes {what} from {low} to {high}, in plain decimal digits", hint)


def port(value: Any) -> int:  # noqa: ANN401 - YAML holds anything
    """A TCP port, 1 to 65535. Leading zeros are refused, since other readers take them as octal."""
    return _whole(value, 1, 65535, "a port")


def whole(low: int, high: int) -> PlainValidator:
    """A whole number from `low` to `high`, in plain decimal digits (`1e5` and `0x10` are refused)."""
    return PlainValidator(lambda value: _whole(value, low, high, "a whole number"))


def _path(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    text = _one_line(value)
    if not text.startswith(("/", "~/")):
        raise wrong("takes an absolute path, or one below ~/")
    if "/../" in f"{text}/" or "/./" in f"{text}/":
        raise wrong("takes a path without . and ..")
    return text


def file_name(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    """The name of a file: below models_dir, absolute, or below ~/, without `..`."""
    text = _one_line(value)
    if "/../" in f"/{text}/" or text.rpartition("/")[2] in ("", "."):
        raise wrong("takes the name of a file: below models_dir, or an absolute path, without ..")
    return text


NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
"""A host or service: it becomes a directory, a unit and a container name (Podman's grammar)."""
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def name(value: str, what: str) -> str:
    """Check the name of a host, service or group."""
    if not NAME.fullmatch(value):
        suggestion = re.sub(r"[^A-Za-z0-9_.-]+", "-", value).strip("-._")
        raise wrong(
            f"{value!r} cannot name a {what}: letters, digits, `_`, `.` and `-`, at most 200, a letter or digit first",
            f"name it {suggestion}" if NAME.fullmatch(suggestion) else None,
            "unsafe-value",
        )
    return value


def _user(value: Any) -> str:  # noqa: ANN401 - YAML holds anything
    text = _one_line(value)
    if not re.fullmatch(r"[a-z_][a-z0-9_-]{0,31}", text):
        raise wrong("takes a user name: lower-case letters, digits, `_` and `-`", code="unsafe-value")
    return text


def _flag_value(value: Any) -> Any:  # noqa: ANN401 - a flag takes any YAML value
    if isinstance(value, list):
        for item in value:
            if isinstance(item, bool):
                raise wrong("takes true or false by itself, not in a list", f"write {str(item).lower()}")
            if isinstance(item, list) or item is None:
                raise wrong("takes a list of texts, numbers or mappings")
            _flag_value(item)
    elif isinstance(value, dict):
        _plain_json(value)
    elif value is not None and not isinstance(value, bool):
        _text(value)
    return value


def _plain_json(value: Any) -> None:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        for item in value.values():
            _plain_json(item)
    elif isinstance(value, list):
        for item in value:
            _plain_json(item)
    elif isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124 - NaN
        raise wrong("holds a number that JSON cannot write")


def _unit_value(value: Any) -> Any:  # noqa: ANN401 - text, several of them, or null
    if value is None:
        return None
    items = value if isinstance(value, list) else [value]
    return tuple(("true" if item else "false") if isinstance(item, bool) else _one_line(item) for item in items)


def _json(**schema: object) -> WithJsonSchema:
    return WithJsonSchema(dict(schema))


def number(value: Any) -> float:  # noqa: ANN401 - YAML holds anything
    """A number of any kind, and nothing that only looks like one: no text, no truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong("takes a number", "write it without quotes" if isinstance(value, str) else None)
    return float(value)


Text = Annotated[str, PlainValidator(_text), _json(type=["string", "number"])]
Line = Annotated[str, PlainValidator(_one_line), _json(type=["string", "number"], minLength=1)]
AbsolutePath = Annotated[str, PlainValidator(_path), _json(type="string", pattern="^(/|~/)")]
FileName = Annotated[str, PlainValidator(file_name), _json(type="string", minLength=1)]
Size = Annotated[int, PlainValidator(size), _json(type="string", pattern=f"^{_SIZE.pattern}$")]
Duration = Annotated[int, PlainValidator(duration), _json(type=["string", "integer"])]
Port = Annotated[int, PlainValidator(port), _json(type="integer", minimum=1, maximum=65535)]
Count = Annotated[int, whole(1, 1024), _json(type="integer", minimum=1, maximum=1024)]
Slots = Annotated[int, whole(1, 256), _json(type="integer", minimum=1, maximum=256)]
"""As many as any engine has: LLAMA_MAX_SEQ of llama.cpp's src/llama-cparams.h, with more of which it ends at load."""
Tokens = Annotated[int, whole(1, 2**31 - 1), _json(type="integer", minimum=1)]
Position = Annotated[int, whole(0, 63), _json(type="integer", minimum=0, maximum=63)]
Width = Annotated[int, whole(1, 1024), _json(type="integer", minimum=1, maximum=1024)]
UserName = Annotated[str, PlainValidator(_user), _json(type="string", pattern="^[a-z_][a-z0-9_-]*$")]
FlagValue = Annotated[Any, PlainValidator(_flag_value), _json()]
UnitValue = Annotated[Any, PlainValidator(_unit_value), _json(type=["string", "number", "boolean", "array", "null"])]
Key = Annotated[str, BeforeValidator(key), Field(min_length=1)]
