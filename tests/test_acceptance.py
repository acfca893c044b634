"""Acceptance lines of every build whose wording is known, as real servers wrote them."""

import json
from pathlib import Path

import pytest

from quadgen.acceptance import Acceptance, Unreadable, read

DATA = Path(__file__).parent / "data"
PLAIN = "draft acceptance = 0.54671 (  158 accepted /   289 generated), mean acceptance length =  2.63"
OLD = "draft acceptance rate = 0.81944 (  118 accepted /   144 generated)"
"""https://github.com/ggml-org/llama.cpp/pull/24536 changed the second into the first."""
SLOT = "slot print_timing: id  0 | task -1 | "


def one(line: str) -> Acceptance:
    (found,) = read([line])
    return found


def test_every_known_wording_gives_its_counts() -> None:
    lines = (DATA / "acceptance-lines.txt").read_text().splitlines()
    said = [(each.drafter, each.accepted, each.drafted, each.rounds) for each in read(lines)]
    assert said == [
        (None, 6348, 6348, None),
        ("ngram-map-k", 6348, 7680, 160),
        (None, 28, 192, None),
        ("ngram-mod", 18802, 37175, 582),
        (None, 167, 259, 87),
        ("draft-eagle3", 167, 259, 87),
        (None, 169, 201, 29),
        ("ngram-cache", 169, 201, 29),
    ]


def test_the_mean_length_is_the_printed_one_of_a_request_and_worked_out_of_a_drafter() -> None:
    lines = (DATA / "acceptance-lines.txt").read_text().splitlines()
    lengths = [each.mean_length for each in read(lines)]
    assert lengths[:6:2] == [None, None, 2.92]
    assert lengths[1::2] == [1 + 6348 / 160, 1 + 18802 / 582, 1 + 167 / 87, 1 + 169 / 29]


def test_a_whole_log_gives_each_request_that_drafted_and_its_line() -> None:
    lines = (DATA / "server-log-b11434.txt").read_text().splitlines()
    found = list(read(lines))
    assert [(each.line, each.accepted, each.drafted) for each in found] == [
        (17, 101, 127),
        (25, 34, 34),
        (33, 32, 42),
        (41, 0, 52),
    ]
    assert all(f"{each.accepted} accepted /" in lines[each.line - 1] for each in found)
    assert (found[-1].rate, found[-1].rounds, found[-1].mean_length) == (0, None, 1)


def test_a_log_of_json_lines_is_read_like_a_plain_one() -> None:
    lines = (DATA / "server-log-b11434.jsonl").read_text().splitlines()
    (found,) = read(lines)
    assert (found.accepted, found.drafted, found.mean_length) == (0, 8, 1)


def test_the_counts_beat_the_rate_that_is_printed_beside_them() -> None:
    found = one("draft acceptance = 0.60100 (    1 accepted /   894 generated), mean acceptance length =  1.00")
    assert (found.accepted, found.drafted, found.rate) == (1, 894, 1 / 894)


def test_the_verification_passes_follow_from_the_mean_length() -> None:
    found = one(PLAIN)
    assert (found.accepted, found.drafted, found.mean_length, found.rounds) == (158, 289, 2.63, 97)
    assert round(1 + 158 / 97, 2) == 2.63
    assert one(OLD) == Acceptance(line=1, accepted=118, drafted=144, rounds=None, mean_length=None)


def test_a_statistic_of_a_drafter_that_never_drafted_has_no_rate_and_no_length() -> None:
    counts = "#calls(b,g,a) =    1      0      0, #gen drafts =      0, #acc drafts =     0, "
    found = one(f"statistics        ngram-mod: {counts}#gen tokens =      0, #acc tokens =     0, dur(b,g,a) = 0 ms")
    assert (found.drafter, found.drafted, found.rate, found.mean_length) == ("ngram-mod", 0, None, None)


@pytest.mark.parametrize("line", [PLAIN, OLD])
@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[53409] ",
        "0.03.673.924 I ",
        "47.49.905.534 I slot print_timing: id  0 | task 48542 | ",
        "[53409] 0.03.673.924 I slot print_timing: id 12 | task 7 | ",
        SLOT,
        f"\x1b[0m{SLOT}",
        f"Nov 29 23:28:00 claw llama-server[812]: 0.03.673.924 I {SLOT}",
        f"Nov  9 03:28:00 claw chat[812]: {SLOT}",
        f"2026-11-29T23:28:00+0100 claw llama-server[812]: 0.03.673.924 I {SLOT}",
        f"2026-11-29T23:28:00.123456789+01:00 0.03.673.924 I {SLOT}",
    ],
)
def test_what_a_router_a_journal_or_the_server_puts_in_front_does_not_matter(prefix: str, line: str) -> None:
    assert one(prefix + line) == one(line)
    message = json.dumps({"type": "log", "time": 1, "level": "info", "msg": f"{SLOT}{line}\n"})
    assert one(message) == one(line)


@pytest.mark.parametrize(
    "line",
    [
        "draft acceptance",
        "draft acceptance = 0.54671",
        "draft acceptance = 54.7 % (158 of 289)",
        "draft acceptance: 0.54671 (  158 accepted /   289 generated)",
        "draft acceptance = 0.54671 (  158 accepted /   28",
        "draft acceptance = 0.54671 (      accepted /   289 generated), mean len = 2.63",
        "draft acceptance = 1.00346 (  290 accepted /   289 generated), mean len = 2.63",
        "draft acceptance = 0.5 (  -1 accepted /   289 generated)",
        f"[53409] 0.03.673.924 I {SLOT}draft acceptance rate = none",
        "statistics ngram-mod: calls 5, drafted 12, accepted 3",
        "0.03.673.989 I spec common_specu: statistics   ngram-cache: #gen drafts = 29, #acc drafts = 25, #gen tok",
        "statistics ngram-mod: #gen drafts = 1, #acc drafts = 1, #gen tokens = 4, #acc tokens = 5",
    ],
)
def test_a_line_that_begins_right_and_lacks_the_counts_is_an_error_and_not_zero(line: str) -> None:
    with pytest.raises(Unreadable, match=r"^line 3: this build words its acceptance") as raised:
        list(read(["0.00.000.993 I srv  llama_server: initializing ...", "", f"{line}\n"]))
    assert (raised.value.line, raised.value.text) == (3, line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "0.01.120.319 I slot launch_slot_: id  1 | task 2 | processing task, is_child = 0",
        "the user asked what draft acceptance = 0.5 means",
        "srv update: prompt = 'statistics ngram-mod: nothing'",
        '{"type":"log","msg":5,"note":"draft acceptance"}',
        '{"broken": draft acceptance = 0.5',
        "0.03.673.904 I slot print_timing: id  0 | task 0 |    graphs reused =         18",
        "0.03.673.938 I slot print_timing: id  0 | task 0 |      acc per pos = (0.862, 0.793)",
    ],
)
def test_another_line_says_nothing(line: str) -> None:
    assert list(read([line])) == []
