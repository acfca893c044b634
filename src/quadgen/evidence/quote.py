"""Rows in words: what a refusal, an explanation and a unit's comments say. Every number comes from a row."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from quadgen.evidence.ledger import Ledger
from quadgen.evidence.match import decisive, differences, other_quantization, same_comparator, same_model
from quadgen.evidence.request import Request, Verdict
from quadgen.evidence.row import Row
from quadgen.evidence.setting import DEFAULT_WIDTH, NO_SPECULATION, Setting

GROUPS: Final = 3
"""Lines that a refusal spends on what loses nearby."""


def _times(ratio: float) -> str:
    """Print a ratio to two digits, or as many as it takes not to call a loss or a gain a tie."""
    digits = 2
    while digits < 4 and ratio != 1 and float(f"{ratio:.{digits}f}") == 1:  # noqa: PLR2004 - below what anyone measures
        digits += 1
    return f"{ratio:.{digits}f}"


def _range(rows: Sequence[Row]) -> str:
    ratios = [row.ratio for row in rows]
    if len(rows) == 1:
        return _with_interval(rows[0])
    low, high = _times(min(ratios)), _times(max(ratios))
    return f"{low}x" if low == high else f"{low}-{high}x"


def _with_interval(row: Row) -> str:
    """Print a row's ratio, and its interval where it has one: "1.22x (1.18-1.27)"."""
    if row.interval is None:
        return f"{_times(row.ratio)}x"
    low, high = (_times(end) for end in row.interval)
    return f"{_times(row.ratio)}x ({low}-{high})"


def _percent(ratio: float) -> str:
    change = abs(ratio - 1) * 100
    return f"{change:.0f}%" if change >= 1 else f"{change:.1f}%"


def _rate(rate: float) -> str:
    return f"{rate:.1f}" if rate >= 10 else f"{rate:.2f}"  # noqa: PLR2004 - three significant digits are enough


def _effect(row: Row) -> str:
    if row.interval is not None and not row.loses and not row.gains(1):
        return f"{row.workload} is undecided"
    return f"{row.workload} {'loses' if row.ratio < 1 else 'gains'} {_percent(row.ratio)}"


def _base(against: Setting | None) -> str:
    return "default" if against is None else against.describe()


def compact(ids: Iterable[str]) -> str:
    """Shorten ids that begin alike: `rtx3090-vulkan-27b-mtp-{code-edit,copy,prose}`."""
    names = sorted(ids)
    shared = []
    for part, *others in zip(*(name.split("-")[:-1] for name in names), strict=False):
        if any(other != part for other in others):
            break
        shared.append(part)
    if len(names) == 1 or not shared:
        return ", ".join(names)
    start = "-".join(shared) + "-"
    return f"{start}{{{','.join(name.removeprefix(start) for name in names)}}}"


def comparison(row: Row) -> str:
    """Say what was compared: "draft-mtp,ngram-cache at width 7 against draft-mtp"."""
    return f"{row.setting.describe()} against {_base(row.against)}"


def figures(row: Row) -> str:
    """Say what was measured: "94.0 -> 115.1 tok/s on copy, 1.22x", or "1.22x on copy"."""
    if row.rate is None or row.against_rate is None:
        return f"{_with_interval(row)} on {row.workload}"
    return f"{_rate(row.against_rate)} -> {_rate(row.rate)} {row.unit} on {row.workload}, {_with_interval(row)}"


@lru_cache(maxsize=1024)
def quoted(row: Row) -> str:
    """Say the whole of a row: what was compared, what was measured, and its id."""
    return f"{comparison(row)}: {figures(row)} [{row.id}]"


@lru_cache(maxsize=1024)
def cost(row: Row) -> str:
    """Say what a profile costs on another workload: "costs 14% on prose [id]"."""
    return f"costs {_percent(row.ratio)} on {row.workload} [{row.id}]"


def loss(row: Row) -> str:
    """Say that a floor loses: "draft-mtp loses 22% against none: 52.7 -> 41.3 tok/s on prose, 0.78x [id]"."""
    against = _base(row.against)
    return f"{row.setting.describe()} loses {_percent(row.ratio)} against {against}: {figures(row)} [{row.id}]"


def _model(row: Row, request: Request) -> str:
    """Name a model that is not the request's."""
    if row.model != request.model:
        return row.model
    if other_quantization(row, request):
        return f"another quantisation, {row.quantization}"
    return f"another {row.model}"


def _models(rows: Iterable[Row], request: Request) -> str:
    """Name the models of `rows` where they are not the request's."""
    names = dict.fromkeys(_model(row, request) for row in rows if not same_model(row, request))
    return f" for {', '.join(names)}" if names else ""


def where(row: Row, request: Request) -> str:
    """Name the model and the build of a row, as far as they are not the request's: " for gemma at b10434"."""
    build = "" if row.build == request.build else f" at {row.build}"
    return f"{_models((row,), request)}{build}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Losing rows of one setting against one comparator on one backend."""

    setting: Setting
    against: Setting | None
    rows: tuple[Row, ...]

    @property
    def worst(self) -> Row:
        """The row that loses most."""
        return min(self.rows, key=lambda row: row.ratio)

    @property
    def ids(self) -> str:
        """The rows' ids in brackets."""
        return f"[{compact(row.id for row in self.rows)}]"

    def line(self, request: Request) -> str:
        """Sum the group up, lowest to highest ratio and the worst workload."""
        what = f"{self.setting.describe()} against {_base(self.against)}{_models(self.rows, request)}"
        return f"on {request.backend}, {what}: {_range(self.rows)}, {_effect(self.worst)} {self.ids}"

    def lesson(self) -> str:
        """Say what the comparison was about: a drafter added, a width changed, a drafter by itself."""
        base, setting, worst = self.against, self.setting, self.worst
        if base == NO_SPECULATION:
            return f"{setting.describe()} by itself is {_times(worst.ratio)}x on {worst.workload} {self.ids}"
        if base is not None and (setting.flags, setting.draft_model) == (base.flags, base.draft_model):
            if setting.spec_types == base.spec_types:
                before, after = (each.draft_n_max or DEFAULT_WIDTH for each in (base, setting))
                verb = "widening" if after > before else "narrowing"
                what = f"{verb} the draft of {','.join(setting.types)} from {before} to {after}"
                return f"{what} costs a further {_percent(worst.ratio)} on {worst.workload} {self.ids}"
            if setting.spec_types > base.spec_types and setting.draft_n_max == base.draft_n_max:
                added = ",".join(each for each in setting.types if each not in base.spec_types)
                alone = base.describe()
                return f"adding {added} to {alone} reads {_range(self.rows)} against {alone} alone {self.ids}"
        return f"{setting.describe()} against {_base(base)} is {_range(self.rows)} {self.ids}"


def losing_groups(request: Request, ledger: Ledger) -> tuple[Group, ...]:
    """Find what of the request's own drafters loses on its backend, closest first, at most `GROUPS`.

    Closest has more of its types, then its width, then the worst ratio. Where a comparison was measured on
    the request's model, rows of other models are left out of it.
    """
    wanted = request.setting
    gathered: dict[tuple[Setting, Setting | None], list[Row]] = {}
    for row in ledger.rows:
        if (
            row.engine == request.engine
            and row.backend == request.backend
            and not row.gains(request.policy.min_gain)
            and row.setting.spec_types
            and row.setting.spec_types <= wanted.spec_types
            and not row.no_evidence
        ):
            gathered.setdefault((row.setting, row.against), []).append(row)
    groups = [
        Group(setting=setting, against=against, rows=tuple([r for r in rows if same_model(r, request)] or rows))
        for (setting, against), rows in gathered.items()
    ]
    groups.sort(
        key=lambda group: (
            -len(group.setting.spec_types),
            group.setting.draft_n_max != wanted.draft_n_max,
            group.worst.ratio,
            group.setting.describe(),
            _base(group.against),
        )
    )
    return tuple(groups[:GROUPS])


def winning_rows(request: Request, ledger: Ledger) -> tuple[Row, ...]:
    """Find where the request would win: one row a backend, its own first (measured on another model)."""
    backends = dict.fromkeys((request.backend, *sorted({row.backend for row in ledger.rows})))
    found = []
    for backend in backends:
        rows = [
            row
            for row in ledger.of_setting(request.engine, backend, request.setting)
            if row.workload == request.workload
            and same_comparator(row, request)
            and not row.no_evidence
            and not (backend == request.backend and same_model(row, request))
        ]
        best = decisive(rows, request)
        if best and best[0].gains(request.policy.min_gain):
            found.append(best[0])
    return tuple(found)


def _exact(row: Row, request: Request, verdict: Verdict) -> str:
    line = f"on {row.backend}, {comparison(row)}{_models((row,), request)}: {figures(row)} [{row.id}]"
    differs = differences(row, request)
    places = [place for name, place in (("build", row.build), ("device", row.device)) if name in differs]
    if places:
        line = f"{line}, measured on {' and '.join(places)}"
    if verdict.blocked_by:
        return f"{line}: refused by {' and '.join(f'policy.{name}' for name in verdict.blocked_by)}"
    if row.interval is not None and row.ratio > 1 and not row.gains(request.policy.min_gain):
        line = f"{line}; the lower end of its interval must be above {request.policy.min_gain:g}x"
    elif 1 < row.ratio <= request.policy.min_gain:
        line = f"{line}; policy.min_gain asks for more than {request.policy.min_gain:g}x"
    return line


def refusal_notes(request: Request, ledger: Ledger, verdict: Verdict) -> tuple[str, ...]:
    """Quote why `request` is refused, a line each.

    The exact rows; else what of its drafters loses on this backend; then where it wins. Rows that were no
    evidence are named as such.
    """
    notes = [f"{row.id} {row.no_evidence}: no evidence" for row in verdict.dismissed]
    if verdict.rows:
        notes += [_exact(row, request, verdict) for row in verdict.rows]
    else:
        notes += [group.line(request) for group in losing_groups(request, ledger)]
    for row in winning_rows(request, ledger):
        notes.append(f"wins on {row.backend}{where(row, request)}: {figures(row)} [{row.id}]")
    return tuple(notes)
