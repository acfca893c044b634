"""What the ledger answers: the verdict of a request, the rows that decide it, and what a profile costs."""

from dataclasses import replace

import pytest

from measured import MTP, PLAIN, REQUEST, ROW, ledger
from quadgen.evidence import (
    NO_SPECULATION,
    Kind,
    Ledger,
    Policy,
    Request,
    Row,
    Setting,
    costs,
    floor_losses,
    shipped_rows,
    verdict,
)
from quadgen.problems import Collector

LOSS = replace(ROW, id="loss", ratio=0.9)
REFUSING = Policy(build="refuse", device="refuse")


def test_a_row_that_gains_more_than_the_policy_asks_wins_and_is_named() -> None:
    found = verdict(REQUEST, ledger(ROW))
    assert (found.kind, found.row, found.rows, found.ratio) == (Kind.WINS, ROW, (ROW,), 1.5)
    assert not found.build_differs
    assert not found.device_differs


@pytest.mark.parametrize(("ratio", "kind"), [(1.0, Kind.LOSES), (1.2, Kind.LOSES), (1.21, Kind.WINS)])
def test_the_gain_that_is_asked_for_must_be_exceeded(ratio: float, kind: Kind) -> None:
    asking = replace(REQUEST, policy=Policy(min_gain=1.2))
    assert verdict(asking, ledger(replace(ROW, ratio=ratio))).kind is kind


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, engine="halogen"),
        replace(ROW, backend="rocm"),
        replace(ROW, model="sparse"),
        replace(ROW, workload="prose"),
        replace(ROW, setting=MTP),
        replace(ROW, against=NO_SPECULATION),
    ],
)
def test_a_row_that_differs_in_what_must_be_shared_decides_nothing(row: Row) -> None:
    found = verdict(REQUEST, ledger(row))
    assert (found.kind, found.row, found.rows, found.ratio) == (Kind.UNMEASURED, None, (), None)


def test_a_row_of_another_model_counts_where_the_policy_asks_for_the_backend_alone() -> None:
    sparse = replace(ROW, model="sparse")
    assert verdict(replace(REQUEST, policy=Policy(evidence="backend")), ledger(sparse)).row == sparse


@pytest.mark.parametrize(
    ("row_header", "header", "model", "kind"),
    [
        ("sha256:AB", "ab", "renamed", Kind.WINS),
        ("ab", "cd", "dense", Kind.UNMEASURED),
        (None, "cd", "dense", Kind.WINS),
        ("ab", None, "dense", Kind.WINS),
        ("ab", None, "renamed", Kind.UNMEASURED),
    ],
)
def test_the_header_decides_what_the_model_is_where_both_carry_one(
    row_header: str | None, header: str | None, model: str, kind: Kind
) -> None:
    found = verdict(replace(REQUEST, header=header, model=model), ledger(replace(ROW, header=row_header)))
    assert found.kind is kind


def test_a_row_against_default_is_against_what_default_becomes_on_the_request() -> None:
    rows = ledger(replace(ROW, against=None))
    assert verdict(REQUEST, rows).kind is Kind.WINS
    assert verdict(replace(REQUEST, default=NO_SPECULATION), rows).kind is Kind.UNMEASURED
    assert verdict(replace(PLAIN, default=NO_SPECULATION), rows).kind is Kind.WINS


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ({"date": "2026-09-09"}, {"header": "ab", "build": "b0"}),
        ({"model": "sparse", "header": None}, {"build": "b0", "device": "other"}),
        ({"build": "b0", "date": "2026-09-09"}, {"device": "other"}),
        ({"device": "other", "date": "2026-09-09"}, {"shipped": True}),
        ({"date": "2026-08-01"}, {"date": "2026-09-01", "shipped": True}),
        ({}, {"date": "2020-01-01", "shipped": True}),
        ({"shipped": True, "interval": (0.4, 1.6), "samples": 99}, {}),
    ],
    ids=["header", "model", "build", "device", "newer", "dated", "fleet"],
)
def test_the_closer_row_decides_whichever_comes_first(weaker: dict[str, object], stronger: dict[str, object]) -> None:
    asking = replace(REQUEST, header="ab", policy=Policy(evidence="backend"))
    for won in (True, False):
        close = replace(ROW, id="close", ratio=1.5 if won else 0.5, **stronger)  # type: ignore[arg-type] # by name
        far = replace(ROW, id="far", ratio=0.5 if won else 1.5, **weaker)  # type: ignore[arg-type] # by name
        for rows in ((close, far), (far, close)):
            assert verdict(asking, ledger(*rows)).rows == (close,)


def test_of_equals_that_agree_the_later_is_quoted() -> None:
    for first in (ROW, LOSS):
        later = replace(first, id="later", ratio=first.ratio + 0.01)
        assert verdict(REQUEST, ledger(first, later)).rows == (later,)


def test_of_equals_that_disagree_the_loss_wins_and_both_are_quoted() -> None:
    for rows in ((ROW, LOSS), (LOSS, ROW)):
        found = verdict(REQUEST, ledger(*rows))
        assert (found.kind, found.row, found.rows) == (Kind.LOSES, LOSS, (LOSS, ROW))


@pytest.mark.parametrize(
    ("asking", "differs"),
    [
        (replace(REQUEST, build="b2"), (True, False)),
        (replace(REQUEST, build=None), (True, False)),
        (replace(REQUEST, devices=("AMD Radeon",)), (False, True)),
        (replace(REQUEST, devices=(*REQUEST.devices, "AMD Radeon")), (False, True)),
        (replace(REQUEST, devices=(" nvidia geforce  RTX 3090",)), (False, False)),
        (replace(REQUEST, devices=()), (False, False)),
    ],
    ids=["build", "no build", "device", "one of two", "spelling", "unknown"],
)
def test_another_build_or_card_is_told_ignored_or_refused_as_the_policy_says(
    asking: Request, differs: tuple[bool, bool]
) -> None:
    rows = ledger(ROW)
    warned = verdict(asking, rows)
    assert (warned.kind, (warned.build_differs, warned.device_differs)) == (Kind.WINS, differs)
    ignored = verdict(replace(asking, policy=Policy(build="ignore", device="ignore")), rows)
    assert (ignored.kind, ignored.build_differs, ignored.device_differs) == (Kind.WINS, False, False)
    refused = verdict(replace(asking, policy=REFUSING), rows)
    names = tuple(name for name, there in zip(("build", "device"), differs, strict=True) if there)
    assert refused.blocked_by == names
    assert refused.kind is (Kind.UNMEASURED if names else Kind.WINS)
    assert refused.rows == (ROW,)


def test_a_refused_row_leaves_the_decision_to_those_that_count() -> None:
    found = verdict(replace(REQUEST, policy=REFUSING), ledger(LOSS, replace(ROW, build="b2")))
    assert (found.kind, found.rows, found.blocked_by) == (Kind.LOSES, (LOSS,), ())


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"drafted": 0}, "drafted nothing"),
        ({"drafted": 3595, "accepted": 0}, "accepted nothing"),
        ({"acceptance": 0.0}, "accepted nothing"),
        ({"drafted": 894, "accepted": 1}, "accepted 0.1% of its drafts"),
        ({"acceptance": 0.004}, "accepted 0.4% of its drafts"),
        ({"acceptance": 0.01}, None),
        ({}, None),
    ],
)
def test_a_drafter_that_agrees_with_nothing_is_no_evidence(fields: dict[str, float], reason: str | None) -> None:
    row = replace(ROW, **fields)  # type: ignore[arg-type] # by name
    assert row.no_evidence == reason
    found = verdict(REQUEST, ledger(row))
    assert (found.kind is Kind.WINS, found.dismissed) == (reason is None, (row,) if reason else ())


def test_plain_decoding_drafts_nothing_and_is_evidence() -> None:
    assert replace(ROW, setting=NO_SPECULATION, against=MTP, drafted=0).no_evidence is None


def test_costs_are_what_decides_on_the_other_workloads_and_loses() -> None:
    prose = replace(ROW, id="prose", workload="prose", ratio=0.86)
    code = replace(ROW, id="code", workload="code-edit", ratio=1.1)
    others = (
        replace(prose, id="rocm", backend="rocm"),
        replace(prose, id="sparse", model="sparse"),
        replace(prose, id="against", against=NO_SPECULATION),
        replace(prose, id="build", ratio=0.5, build="b0"),
    )
    asking = replace(REQUEST, policy=Policy(min_gain=1.4))
    disagreeing = replace(prose, id="later", ratio=1.1)
    assert costs(asking, ledger(ROW, code, prose, disagreeing, *others)) == (prose,)


def test_a_floor_loses_where_its_setting_loses_against_no_speculation() -> None:
    slow = replace(ROW, id="slow", setting=MTP, against=NO_SPECULATION, ratio=0.9)
    rows = ledger(slow, replace(slow, id="prose", workload="prose", ratio=1.2), replace(slow, id="x", backend="cpu"))
    assert floor_losses(replace(REQUEST, setting=MTP), rows) == (slow,)
    assert floor_losses(replace(REQUEST, setting=NO_SPECULATION), rows) == ()


def test_an_id_that_is_given_twice_is_told_with_both_places_and_the_first_stays() -> None:
    shipped = replace(ROW, file="ours.yml", index=4, shipped=True)
    first, second = (replace(LOSS, id=name, file="theirs.yml", index=0) for name in (ROW.id, "b"))
    third = replace(second, file="more.yml", index=1)
    collector = Collector()
    made = Ledger.of(
        [first, second, third, shipped],
        collector=collector,
        line=lambda file, path: len(file) + int(path[1]),
    )
    assert made.rows == (shipped, second)
    assert [(p.code, p.message, p.file, p.path) for p in collector.problems] == [
        (
            "duplicate-id",
            "`id: a` is given twice: row 5 of ours.yml and theirs.yml:10",
            "theirs.yml",
            ("measurements", 0, "id"),
        ),
        (
            "duplicate-id",
            "`id: b` is given twice: theirs.yml:10 and more.yml:9",
            "more.yml",
            ("measurements", 1, "id"),
        ),
    ]
    counted = Collector()
    Ledger.of([second, third], collector=counted)
    assert counted.problems[0].message == "`id: b` is given twice: row 1 of theirs.yml and row 2 of more.yml"


def test_what_was_worked_out_once_is_not_worked_out_again() -> None:
    rows = ledger(ROW, replace(LOSS, workload="prose"))
    again = replace(REQUEST)
    assert verdict(again, rows) is verdict(REQUEST, rows)
    assert costs(again, rows) == costs(REQUEST, rows) == (rows.rows[1],)


@pytest.mark.parametrize("types", [["draft-dflash", "draft-mtp", "ngram-mod"], ["draft-dflash", "ngram-mod"]])
def test_a_combination_that_nobody_ran_is_unmeasured_however_good_its_parts_are(types: list[str]) -> None:
    """A list with two draft types dies at load: https://github.com/ggml-org/llama.cpp/issues/27839."""
    asking = replace(REQUEST, model="qwen3.8-27b", setting=Setting.of(types, draft_model="dflash2"))
    assert verdict(asking, ledger(*shipped_rows())).kind is Kind.UNMEASURED
