"""Cases of a benchmark as a table, or as JSON."""

import json
from collections.abc import Iterable
from typing import Any


def show(cases: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    """Print them; of one, `most` says on which side of its `bound` the `figure` must be."""
    if as_json:
        print(json.dumps(list(cases), indent=1))
        return
    print(f"{'':<42}  {'quadgen':>9}  {'other':>9}  {'figure':>9}  {'bound':>7}")
    print("\n".join(map(line, cases)))


def line(case: dict[str, Any]) -> str:
    """One case as a line of text; ! marks a figure on the wrong side of its bound."""
    bound = case["bound"]
    wrong = case["figure"] > bound if case["most"] else case["figure"] < bound
    figures = f"{case['quadgen']:>9.3f}  {case['other']:>9.3f}  {case['figure']:>9.3f}{'!' if wrong else ' '}"
    return f"{case['case']:<42}  {figures} {bound:>7}"
