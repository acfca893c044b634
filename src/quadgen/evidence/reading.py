"""Ledger files: a list of measurements, checked field by field, every mistake of every row in one run."""

import re
from datetime import date
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from quadgen.evidence.row import Row, row_of
from quadgen.evidence.setting import OWN_KEYS
from quadgen.problems import Collector, Path, Problem
from quadgen.validation import problems_of

_ROUNDING: Final = 0.01
"""How far a published `ratio` may be from its two rates, as a share: both were rounded."""


def _wrong(message: str, hint: str | None = None, **context: str) -> PydanticCustomError:
    return PydanticCustomError("unexpected-value", "{message}", {"message": message, "hint": hint, **context})


def _halved(one: str, other: str, *, first: bool) -> PydanticCustomError:
    """Say that one of two keys is there without the other; `first` where it is the first that is missing."""
    absent, present = (one, other) if first else (other, one)
    return PydanticCustomError("missing-key", f"has `{present}` without `{absent}`")


def _as_written(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    """Take a build or a commit of digits alone as the text that was written."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(getattr(value, "text", value))
    return value


def _one_line(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise _wrong("takes one line of printable text")
    return text


def _slug(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9]+(?:[._-][a-z0-9]+)*", text):
        raise _wrong("takes a name of lower-case letters, digits and dashes", "such as copy or code-edit")
    return text


def _id(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}", text):
        raise _wrong("takes a name of letters, digits and any of . _ + - inside", "such as rtx3090-cuda-27b-copy-copy")
    return text


def _iso(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        text = ""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        raise _wrong("takes a day of the calendar as YYYY-MM-DD", "such as 2026-09-01")
    return text


def _ordered(pair: list[float]) -> list[float]:
    if len(pair) != 2 or pair[0] > pair[1]:  # noqa: PLR2004 - a pair
        raise _wrong("takes two numbers, the lower one first")
    return pair


def _comparator(value: Any) -> Any:  # noqa: ANN401 - any YAML value
    if isinstance(value, str) and value not in ("default", "none"):
        hint = "against: {spec_types: [draft-mtp]}, against: default, or against: none"
        raise _wrong("takes a setting, or one of the floors default and none", hint)
    return value


def _flags(flags: dict[str, Any]) -> dict[str, Any]:
    for name, value in flags.items():
        bare = name.lstrip("-").replace("_", "-")
        if bare in OWN_KEYS:
            raise _wrong(f"`{name}` has a key of its own", f"write it as `{OWN_KEYS[bare]}`", key=name)
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, (str, int, float)) for item in items):
            raise _wrong(f"`{name}` takes text, a number, true or false, or a list of these", key=name)
    return flags


Written = Annotated[str, BeforeValidator(_as_written), AfterValidator(_one_line)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Pair = Annotated[list[Rate], AfterValidator(_ordered)]
Whole = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SettingText(_Strict):
    """A setting as a ledger writes it."""

    spec_types: list[Annotated[str, AfterValidator(_slug)]]
    draft_n_max: Annotated[int, Field(ge=1)] | None = None
    flags: Annotated[dict[str, Any], AfterValidator(_flags)] = {}
    draft_model: Written | None = None


class RowText(_Strict):
    """A measurement as a ledger writes it; what the fields mean stands at `Row`."""

    id: Annotated[Written, AfterValidator(_id)]
    engine: Written
    build: Written
    backend: Literal["cuda", "rocm", "vulkan", "sycl", "cpu"]
    device: Written
    model: Written
    workload: Annotated[str, AfterValidator(_slug)]
    setting: SettingText
    against: Annotated[SettingText | Literal["default", "none"], BeforeValidator(_comparator)]
    samples: Annotated[int, Field(ge=1)]
    source: Written
    rate: Rate | None = None
    against_rate: Rate | None = None
    ratio: Rate | None = None
    unit: Literal["tok/s", "tok/CPU-s"] = "tok/s"
    header: Written | None = None
    acceptance: Annotated[float, Field(ge=0, le=1)] | None = None
    accepted: Whole | None = None
    drafted: Whole | None = None
    date: Annotated[Written, AfterValidator(_iso)] | None = None
    spread: Pair | None = None
    interval: Pair | None = None
    drift: Annotated[float, Field(gt=-1, allow_inf_nan=False)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    state: Literal["fresh", "steady"] | None = None
    confirmed: bool | None = None
    wall_rate: Rate | None = None
    against_wall_rate: Rate | None = None
    tokens_per_round: Rate | None = None
    commit: Written | None = None
    fingerprint: Written | None = None
    quantization: Written | None = None
    workload_sha256: Written | None = None
    comparator: Written | None = None
    command: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.rate is None and self.against_rate is None:
            if self.ratio is None:
                raise PydanticCustomError("missing-key", "has neither `rate` and `against_rate` nor `ratio`")
        elif self.rate is None or self.against_rate is None:
            raise _halved("rate", "against_rate", first=self.rate is None)
        elif self.ratio is not None and abs(self.ratio * self.against_rate / self.rate - 1) > _ROUNDING:
            real = self.rate / self.against_rate
            raise _wrong(f"says {self.ratio:g}, but its two rates say {real:.3g}", "leave `ratio` out", key="ratio")
        if self.accepted is not None and self.drafted is not None and self.accepted > self.drafted:
            raise _wrong("is more than was drafted", key="accepted")
        if (self.wall_rate is None) != (self.against_wall_rate is None):
            raise _halved("wall_rate", "against_wall_rate", first=self.wall_rate is None)
        self._within()
        return self

    def _within(self) -> None:
        """The interval decides, so one of other numbers, such as rates, must not pass."""
        ratio = self.rate / self.against_rate if self.rate and self.against_rate else self.ratio
        if self.interval is None or ratio is None:
            return
        low, high = self.interval
        if ratio < low * (1 - _ROUNDING) or ratio > high * (1 + _ROUNDING):
            message = f"is [{low:g}, {high:g}], and the ratio {ratio:.3g} is outside"
            raise _wrong(message, "it is the interval of the ratio, candidate / comparator", key="interval")


class _LedgerText(_Strict):
    version: Literal[1]
    measurements: list[Any] | None


_SYNONYMS: Final = {
    "profile": "setting", "baseline": "against", "baseline_rate": "against_rate", "speed": "rate",
    "tokens_per_second": "rate", "gain": "ratio", "gpu": "device", "card": "device", "runs": "samples",
    "n": "samples", "spec_type": "spec_types", "width": "draft_n_max", "n_max": "draft_n_max",
    "comment": "note",
}  # fmt: skip
"""What people write for a key of a row."""


def _known(path: Path) -> tuple[str, ...]:
    return tuple((SettingText if path else RowText).model_fields)


def read(
    name: str,
    data: Any,  # noqa: ANN401 - any YAML value
    *,
    shipped: bool,
    collector: Collector,
) -> tuple[Row, ...]:
    """Validate a loaded ledger; see `quadgen.evidence.read_ledger`."""
    if not isinstance(data, dict):
        hint = "begin with `version: 1` and `measurements:`"
        collector.add(Problem(code="unexpected-value", message="a ledger is a mapping", file=name, path=(), hint=hint))
        return ()
    data = {key: value for key, value in data.items() if not key.startswith("x-")}
    try:
        _LedgerText.model_validate(data)
    except ValidationError as error:
        keys = tuple(_LedgerText.model_fields)
        collector.extend(problems_of(error, data=data, known=lambda _: keys, synonyms={}, file=name))
    listed = data.get("measurements")
    rows = []
    for index, given in enumerate(listed if isinstance(listed, list) else ()):
        try:
            fields = RowText.model_validate(given).model_dump(exclude_unset=True)
            rows.append(row_of(fields, file=name, index=index, shipped=shipped))
        except ValidationError as error:
            under: Path = ("measurements", index)
            collector.extend(problems_of(error, data=given, known=_known, synonyms=_SYNONYMS, file=name, under=under))
    return tuple(rows)
