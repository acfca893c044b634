"""All measurements together, indexed, with what was already worked out from them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Self

from quadgen.evidence.request import Request, Verdict
from quadgen.evidence.row import Row
from quadgen.evidence.setting import Setting
from quadgen.problems import Collector, Path, Problem

_Key = tuple[str, str, Setting]


@dataclass(frozen=True, slots=True)
class Ledger:
    """All rows: those shipped with quadgen, then the fleet's, each in its order."""

    rows: tuple[Row, ...]
    _by_setting: dict[_Key, tuple[Row, ...]] = field(init=False, repr=False, compare=False)
    _verdicts: dict[Request, Verdict] = field(init=False, repr=False, compare=False, default_factory=dict)
    _losses: dict[tuple[Request, bool], tuple[Row, ...]] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    def __post_init__(self) -> None:
        index: dict[_Key, tuple[Row, ...]] = {}
        for row in self.rows:
            key = (row.engine, row.backend, row.setting)
            index[key] = (*index.get(key, ()), row)
        object.__setattr__(self, "_by_setting", index)

    @classmethod
    def of(cls, rows: Iterable[Row], *, collector: Collector, line: Callable[[str, Path], int] | None = None) -> Self:
        """Put rows together, the shipped ones first; an id that is already there is a `duplicate-id`.

        `line(file, path)` gives the line of a place in one of the fleet's ledgers, for that message; without
        it, and in the shipped ledgers, rows are counted from 1.
        """
        unique: dict[str, Row] = {}
        for row in sorted(rows, key=lambda each: not each.shipped):
            first = unique.setdefault(row.id, row)
            if first is not row:
                places = " and ".join(_place(each, line) for each in (first, row))
                collector.add(
                    Problem(
                        code="duplicate-id",
                        message=f"`id: {row.id}` is given twice: {places}",
                        file=row.file,
                        path=("measurements", row.index, "id"),
                        hint="a row is quoted by its id: give each measurement one of its own",
                    )
                )
        return cls(tuple(unique.values()))

    def of_setting(self, engine: str, backend: str, setting: Setting) -> tuple[Row, ...]:
        """List the rows of one setting on one backend, in order."""
        return self._by_setting.get((engine, backend, setting), ())


def _place(row: Row, line: Callable[[str, Path], int] | None) -> str:
    if line is None or row.shipped:
        return f"row {row.index + 1} of {row.file}"
    return f"{row.file}:{line(row.file, ('measurements', row.index, 'id'))}"
