"""Rows in words: what a refusal says, and that it says nothing that no row holds."""

import re
from dataclasses import replace

import pytest

from measured import COPYING, MTP, PLAIN, REQUEST, ROW, ledger
from quadgen.evidence import (
    NO_SPECULATION,
    Ledger,
    Policy,
    Request,
    Setting,
    compact,
    cost,
    figures,
    loss,
    quoted,
    refusal_notes,
    shipped_rows,
    verdict,
    where,
)
from quadgen.evidence.quote import losing_groups

DENSE = replace(REQUEST, model="qwen3.8-27b", build="b10715")
SPARSE = replace(DENSE, model="qwen3.6-35b-a3b-mtp")


def notes(request: Request, rows: Ledger) -> list[str]:
    return list(refusal_notes(request, rows, verdict(request, rows)))


@pytest.fixture(scope="module")
def shipped() -> Ledger:
    return ledger(*shipped_rows())


def test_copy_on_vulkan_is_refused_with_its_three_losing_parts_and_where_it_wins(shipped: Ledger) -> None:
    start = "rtx3090-vulkan-27b"
    assert notes(replace(DENSE, backend="vulkan"), shipped) == [
        f"on vulkan, {what} [{start}-{ids}-{{code-edit,copy,prose}}]"
        for what, ids in (
            ("draft-mtp,ngram-cache against draft-mtp: 0.84-0.90x, prose loses 16%", "mtp-ngram-over-mtp"),
            ("draft-mtp at width 7 against draft-mtp: 0.78-0.98x, prose loses 22%", "mtp7-over-mtp"),
            ("ngram-cache against none: 0.65-0.88x, prose loses 35%", "ngram"),
        )
    ] + ["wins on cuda: 94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]"]


def test_a_sparse_model_is_told_what_the_dense_one_measured_and_that_it_was_the_dense_one(
    shipped: Ledger,
) -> None:
    """Verifying drafts costs a mixture of experts more: https://github.com/ikawrakow/ik_llama.cpp/issues/1630."""
    lines = notes(SPARSE, shipped)
    assert lines[0] == (
        "on cuda, draft-mtp,ngram-cache at width 7 against draft-mtp for qwen3.8-27b: 0.86x, prose loses 14%"
        " [rtx3090-cuda-27b-copy-prose]"
    )
    assert lines[-1] == (
        "wins on cuda for qwen3.8-27b: 94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]"
    )


def test_a_backend_without_measurements_is_told_where_the_setting_wins(shipped: Ledger) -> None:
    assert notes(replace(DENSE, backend="rocm", build=None), shipped) == [
        "wins on cuda at b10715: 94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]"
    ]


def test_a_measured_loss_quotes_its_own_rows_and_no_neighbours() -> None:
    lost = replace(ROW, id="lost", rate=18.0, against_rate=20.0, ratio=0.9)
    near = replace(ROW, id="near", setting=MTP, against=NO_SPECULATION, ratio=0.5)
    compared = "on cuda, draft-mtp,ngram-cache at width 7 against draft-mtp:"
    loses = f"{compared} 20.0 -> 18.0 tok/s on copy, 0.90x [lost]"
    assert notes(REQUEST, ledger(near, lost)) == [loses]
    assert notes(REQUEST, ledger(lost, ROW)) == [loses, f"{compared} 1.50x on copy [a]"]


def test_a_gain_that_is_too_small_is_told_with_what_the_policy_asks() -> None:
    (line,) = notes(replace(REQUEST, policy=Policy(min_gain=2.0)), ledger(ROW))
    assert line.endswith("1.50x on copy [a]; policy.min_gain asks for more than 2x")


def test_rows_that_the_policy_keeps_out_are_quoted_with_what_keeps_them_out() -> None:
    asking = replace(REQUEST, build="b2", devices=("AMD Radeon",), policy=Policy(build="refuse", device="refuse"))
    (line,) = notes(asking, ledger(ROW))
    assert line.endswith(", measured on b1 and NVIDIA GeForce RTX 3090: refused by policy.build and policy.device")


def test_a_row_that_is_no_evidence_is_named_and_never_counted() -> None:
    broken = replace(ROW, id="broken", drafted=894, accepted=1, ratio=0.3)
    assert notes(REQUEST, ledger(broken)) == ["broken accepted 0.1% of its drafts: no evidence"]
    assert notes(replace(REQUEST, backend="rocm"), ledger(replace(broken, ratio=3.0))) == []


def test_neighbours_are_ordered_by_types_then_width_then_loss_and_end_at_three() -> None:
    wide, both = Setting.of(["draft-mtp"], draft_n_max=7), Setting.of(["draft-mtp", "ngram-cache"])
    prose = replace(ROW, workload="prose")
    rows = ledger(
        replace(prose, id="won", setting=MTP, against=NO_SPECULATION, ratio=2.0),
        replace(prose, id="foreign", setting=Setting.of(["ngram-mod"]), ratio=0.1),
        replace(prose, id="plain", setting=NO_SPECULATION, ratio=0.1),
        replace(prose, id="ngram", setting=Setting.of(["ngram-cache"]), ratio=0.2),
        replace(prose, id="mtp", setting=MTP, against=None, ratio=0.9),
        replace(prose, id="wide", setting=wide, ratio=0.99),
        replace(prose, id="both", setting=both, ratio=0.99),
        replace(prose, id="elsewhere", backend="rocm", ratio=0.1),
    )
    quotes = [line.rpartition("[")[2] for line in notes(REQUEST, rows)]
    assert quotes == ["both]", "wide]", "ngram]"]


def test_rows_of_the_request_s_own_model_stand_for_the_comparison_where_there_are_any() -> None:
    mine = replace(ROW, id="mine", workload="prose", ratio=0.9)
    theirs = replace(mine, id="theirs", model="sparse", ratio=0.5)
    assert notes(REQUEST, ledger(mine, theirs)) == [
        "on cuda, draft-mtp,ngram-cache at width 7 against draft-mtp: 0.90x, prose loses 10% [mine]"
    ]


def test_another_checkpoint_of_the_same_name_is_called_another() -> None:
    asking = replace(REQUEST, header="cd")
    assert notes(asking, ledger(replace(ROW, header="ab"))) == ["wins on cuda for another dense: 1.50x on copy [a]"]


def test_the_backend_line_quotes_what_would_decide_there() -> None:
    rows = ledger(
        replace(ROW, id="old", backend="rocm", build="b0"),
        replace(ROW, id="new", backend="rocm", ratio=0.5),
        replace(ROW, id="sycl", backend="sycl", build="b0", model="sparse"),
    )
    assert notes(REQUEST, rows) == ["wins on sycl for sparse at b0: 1.50x on copy [sycl]"]


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (["a-b-c"], "a-b-c"),
        (["a-b-prose", "a-b-copy", "a-b-code-edit"], "a-b-{code-edit,copy,prose}"),
        (["a-b", "a-b-c"], "a-{b,b-c}"),
        (["ab-c", "ac-c"], "ab-c, ac-c"),
        (["x", "y"], "x, y"),
    ],
)
def test_ids_that_begin_alike_are_shortened_at_a_dash(ids: list[str], text: str) -> None:
    assert compact(ids) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.996, "0.996x"), (1.004, "1.004x"), (1.0, "1.00x"), (0.784, "0.78x"), (0.99999, "1.0000x")],
)
def test_a_loss_is_not_rounded_to_a_tie(ratio: float, text: str) -> None:
    assert figures(replace(ROW, ratio=ratio)) == f"{text} on copy"


def test_the_sentences_about_one_row() -> None:
    row = replace(ROW, rate=8.25, against_rate=10.5, ratio=8.25 / 10.5, setting=MTP, against=None)
    assert quoted(row) == "draft-mtp against default: 10.5 -> 8.25 tok/s on copy, 0.79x [a]"
    assert loss(row) == "draft-mtp loses 21% against default: 10.5 -> 8.25 tok/s on copy, 0.79x [a]"
    assert cost(row) == "costs 21% on copy [a]"
    assert cost(replace(ROW, ratio=0.996)) == "costs 0.4% on copy [a]"
    assert where(ROW, REQUEST) == ""
    assert where(ROW, replace(PLAIN, model="sparse", build=None)) == " for dense at b1"


@pytest.mark.parametrize(
    ("setting", "against", "text"),
    [
        (MTP, NO_SPECULATION, "draft-mtp by itself is 0.80x on copy [a]"),
        (
            Setting.of(["draft-mtp"], draft_n_max=2),
            MTP,
            "narrowing the draft of draft-mtp from 3 to 2 costs a further 20% on copy [a]",
        ),
        (
            Setting.of(["draft-mtp", "ngram-cache", "ngram-mod"]),
            MTP,
            "adding ngram-cache,ngram-mod to draft-mtp reads 0.80x against draft-mtp alone [a]",
        ),
        (COPYING, MTP, "draft-mtp,ngram-cache at width 7 against draft-mtp is 0.80x [a]"),
        (COPYING, None, "draft-mtp,ngram-cache at width 7 against default is 0.80x [a]"),
    ],
)
def test_a_lesson_says_what_the_comparison_was_about(setting: Setting, against: Setting | None, text: str) -> None:
    row = replace(ROW, ratio=0.8, setting=setting, against=against)
    (group,) = losing_groups(replace(REQUEST, setting=setting), ledger(row))
    assert group.lesson() == text


def test_every_number_of_a_refusal_changes_with_its_row(shipped: Ledger) -> None:
    """Were a figure written in the source, it would stay the same when the rows say something else."""
    asking = replace(DENSE, backend="vulkan")
    other = ledger(
        *(
            replace(
                row,
                ratio=row.ratio * 0.8 / 0.9,
                rate=row.rate and row.rate * 0.8,
                against_rate=row.against_rate and row.against_rate * 0.9,
            )
            for row in shipped.rows
        )
    )
    figure = re.compile(r"\d+\.\d+|\d+%")
    before, after = (figure.findall("\n".join(notes(asking, rows))) for rows in (shipped, other))
    assert len(before) == len(after) == 12
    assert all(one != two for one, two in zip(before, after, strict=True))
