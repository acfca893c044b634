"""Lines of every build whose wording is known, as real servers wrote them, one by one."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.log_lines import bare
from quadgen.observed.halogen_lines import Accounted, accounted
from quadgen.observed.llama_lines import Accepted, Positions, Said, Statistics, Timed, Unreadable, said
from quadgen.observed.log_rounds import by_position, rounds
from quadgen.observed.log_shapes import KINDS, Shapes, shape
from quadgen.server_log import events

DATA = Path(__file__).parent / "data"
# https://github.com/ggml-org/llama.cpp/pull/24536 changed the second into the first
NEW = "draft acceptance = 0.54671 (  158 accepted /   289 generated), mean acceptance length =  2.63"
OLD = "draft acceptance rate = 0.81944 (  118 accepted /   144 generated)"
TIME = "eval time =    2117.32 ms /   178 tokens (   11.89 ms per token,    84.07 tokens per second)"
SLOT = "slot print_timing: id  0 | task -1 | "


def one(line: str) -> Said:
    found = said(bare(line))
    assert found is not None
    return found


def told() -> Iterator[Said]:
    for line in (DATA / "acceptance-lines.txt").read_text().splitlines():
        if found := said(bare(line)):
            yield found


def test_every_known_wording_of_a_request_gives_its_counts() -> None:
    found = [each for each in told() if isinstance(each, Accepted)]
    assert [(each.key, each.accepted, each.drafted, each.mean) for each in found] == [
        (None, 6348, 6348, None),
        ((0, 48542), 28, 192, None),
        ((1, 0), 167, 259, 2.92),
        ((0, 0), 169, 201, 6.83),
    ]
    assert [each.rates for each in found if each.rates] == [(0.805, 0.632, 0.483)]
    (positions,) = [each for each in told() if isinstance(each, Positions)]
    assert positions == Positions(key=(0, 0), rates=(0.862, 0.793, 0.793, 0.759, 0.724, 0.690, 0.621, 0.586))


def test_every_known_wording_of_a_drafter_gives_its_counts_and_its_time() -> None:
    found = [each for each in told() if isinstance(each, Statistics)]
    assert [(each.drafter, each.accepted, each.drafted, each.rounds, each.seconds) for each in found] == [
        ("ngram-map-k", 6348, 7680, 160, 0.001303),
        ("ngram-mod", 18802, 37175, 582, 0.057956),
        ("draft-eagle3", 167, 259, 87, 0.325555),
        ("ngram-cache", 169, 201, 29, 0.000571),
    ]


def test_the_time_of_a_request_is_that_of_generating_and_not_of_its_prompt() -> None:
    assert [each for each in told() if isinstance(each, Timed)] == [Timed(key=(0, 0), tokens=200, ticks=207867)]
    assert one(TIME) == Timed(key=None, tokens=178, ticks=211732)


@pytest.mark.parametrize("line", [NEW, OLD, TIME])
@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "[53409] ",
        "0.03.673.924 I ",
        f"[53409] 0.03.673.924 I {SLOT}",
        SLOT,
        f"\x1b[0m{SLOT}",
        f"\x1b[0m0.03.673.924\x1b[0m \x1b[34mI \x1b[0m{SLOT}",
        f"Nov 29 23:28:00 claw llama-server[812]: 0.03.673.924 I {SLOT}",
        f"Nov  9 03:28:00 claw chat[812]: {SLOT}",
        f"2026-11-29T23:28:00+0100 claw llama-server[812]: 0.03.673.924 I {SLOT}",
        f"2026-11-29T23:28:00.123456789+01:00 0.03.673.924 I {SLOT}",
        f"2026-11-29T23:28:00.123456789+01:00 stderr F [53409] 0.03.673.924 I {SLOT}",
    ],
)
def test_what_a_router_a_journal_or_the_server_puts_in_front_does_not_matter(prefix: str, line: str) -> None:
    assert getattr(one(f"{prefix}{line}\r\n"), "key", ()) == ((0, -1) if SLOT in prefix else None)
    assert getattr(one(prefix + line), "accepted", 0) == getattr(one(line), "accepted", 0)
    message = json.dumps({"type": "log", "time": 1, "level": "info", "msg": f"{SLOT}{line}\n"})
    assert one(message) == one(SLOT + line)
    driver = {"log": f"{prefix}{line}\r\n", "stream": "stderr", "time": "2026-11-29T23:28:00.123456789Z"}
    journal = {"PRIORITY": "6", "MESSAGE": prefix + line, "_PID": "812"}
    if prefix.startswith(("[", "0", SLOT)):  # what servers themselves write
        assert one(json.dumps(driver)) == one(json.dumps(journal)) == one(prefix + line)


BAD = [
    "draft acceptance",
    "draft acceptance = 0.54671",
    "draft acceptance = 54.7 % (158 of 289)",
    "draft acceptance: 0.54671 (  158 accepted /   289 generated)",
    "draft acceptance = 0.54671 (  158 accepted /   28",
    "draft acceptance = 0.54671 (      accepted /   289 generated), mean len = 2.63",
    "draft acceptance = 1.00346 (  290 accepted /   289 generated), mean len = 2.63",
    "draft acceptance = 0.5 (  -1 accepted /   289 generated)",
    "draft acceptance = 0.5 (  nan accepted /   289 generated)",
    "draft acceptance = 0.5 (  158 accepted /   289 generated), mean len = long",
    "draft acceptance = 0.5 (  158 accepted /   289 generated), mean acceptance length = 2.63, acceptance rate per",
    "draft acceptance = 0.5 (  158 accepted /   289 generated) and more",
    f"draft acceptance = 0.5 (  158 accepted /   {'9' * 19} generated)",
    "draft acceptance = 0.5 (  \N{ARABIC-INDIC DIGIT ONE} accepted /   289 generated)",
    "draft acceptance rate = none",
    "acc per pos = (0.862, nan)",
    "acc per pos = (0.862, 1.793)",
    "acc per pos = (0.862, 0.793",
    "eval time = 2117.32 ms /   tokens (   11.89 ms per token,    84.07 tokens per second)",
    "eval time =     nan ms /   178 tokens (   11.89 ms per token,    84.07 tokens per second)",
    f"eval time = 2117.32 ms / {'9' * 19} tokens (   11.89 ms per token,    84.07 tokens per second)",
    "eval time = 2117.32 ms /   178 tokens",
    "statistics ngram-mod: calls 5, drafted 12, accepted 3",
    "spec common_specu: statistics   ngram-cache: #gen drafts = 29, #acc drafts = 25, #gen tok",
    "statistics ngram-mod: #gen drafts = 1, #acc drafts = 1, #gen tokens = 4, #acc tokens = 5",
    "statistics ngram-mod: #gen drafts = 1, #acc drafts = 1, #gen tokens = 4, #acc tokens = 3, dur(b,g,a) = 0.1",
]


@pytest.mark.parametrize("line", BAD)
@pytest.mark.parametrize("prefix", ["", "[53409] 0.03.673.924 I "])
def test_a_line_that_begins_right_and_lacks_the_counts_is_an_error_and_not_zero(prefix: str, line: str) -> None:
    with pytest.raises(Unreadable):
        said(bare(prefix + line))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "0.01.120.319 I slot launch_slot_: id  1 | task 2 | processing task, is_child = 0",
        "the user asked what draft acceptance = 0.5 means",
        "srv update: prompt = 'statistics ngram-mod: nothing'",
        "> draft acceptance = 0.54671 (  158 accepted /   289 generated)",
        '{"type":"log","msg":5,"note":"draft acceptance"}',
        '{"broken": draft acceptance = 0.5',
        "0.03.673.904 I slot print_timing: id  0 | task 0 |    graphs reused =         18",
        "0.08.517.820 I slot print_timing: id  0 | task 33 | n_gen =    119, tg =  39.01 t/s, tg_3s =  39.34 t/s",
        f"0.03.673.818 I {SLOT}prompt {TIME}",
        f"llama_perf_context_print:        {TIME}",
        "0.03.673.818 I verify/rollback = 3/1:2",
    ],
)
def test_another_line_says_nothing(line: str) -> None:
    assert said(bare(line)) is None
    assert accounted(bare(line)) is None


def test_a_field_that_a_newer_build_appends_does_not_matter() -> None:
    found = one("draft acceptance = 0.54671 (  158 accepted /   289 generated), rollbacks = 7")
    assert (found.accepted, found.drafted) == (158, 289)  # type: ignore[union-attr]  # it is an Accepted


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((158, 289, 2.63), (97, 0)),  # https://github.com/ggml-org/llama.cpp/pull/24536
        ((169, 201, 6.83), (29, 0)),
        ((101, 127, 6.61), (18, 0)),
        ((1, 894, 1.00), (447, 447)),  # https://github.com/ROCmFPX/ROCmFPX/issues/23
        ((0, 52, 1.00), (26, 26)),
        ((28, 192, None), (96, 96)),
        ((100, 1300, 1.10), (1000, 53)),
        ((7, 10, 5.00), (5, 5)),
        ((7, 3_000, 1.01), (700, 700)),
    ],
)
def test_rounds_follow_from_the_mean_length_as_far_as_two_decimals_tell(
    counts: tuple[int, int, float | None], expected: tuple[int, int]
) -> None:
    assert rounds(*counts) == expected


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(0, 64))
def test_the_true_number_of_rounds_is_never_further_off_than_said(passes: int, accepted: int, more: int) -> None:
    drafted = max(accepted, passes) + more
    near, doubt = rounds(accepted, drafted, float(f"{1 + accepted / passes:.2f}"))
    assert abs(near - passes) <= doubt


@given(st.lists(st.integers(0, 400), min_size=1, max_size=16), st.integers(0, 20))
def test_shares_of_rounds_give_back_the_rounds_that_they_are_shares_of(counts: list[int], more: int) -> None:
    at = tuple(sorted(counts, reverse=True))
    passes = max(1, at[0] + more)
    rates = [float(f"{each / passes:.3f}") for each in at]
    found = by_position(sum(at), passes, 0, rates)
    assert found == (passes, at)


HALOGEN = [
    ("serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit 1.88/round", ("mtp", 63, 1.31, 33, 29)),
    (
        "serve_api: mtp 250 tok in 6.75s = 37.05 t/s | 153 rounds, commit 1.63/round | prompt 1287 (1035 cached)",
        ("mtp", 250, 6.75, 153, 96),
    ),
    (
        "serve_api: mtp 57 tok in 0.90s = 63.42 t/s | 17 rounds, commit 3.29/round | prompt 185 | pld 10 rounds, 2 acc",
        ("mtp", 57, 0.90, 17, 39),
    ),
    ("serve_api: mtp 1 tok in 0.00s = n/a | prompt 75298, prefill 85.39s | detok 79us/tok", ("mtp", 1, 0.0, 0, 0)),
    ("serve_api: mtp 225 tok in 6.25s = 35.98 t/s | prompt 82, prefill 0.84s", ("mtp", 225, 6.25, None, None)),
    ("serve_api: serial 100 tok in 4.0s = 25.0 t/s | prompt 500, prefill 2.0s", ("serial", 100, 4.0, None, None)),
]


@pytest.mark.parametrize(("line", "expected"), HALOGEN)
@pytest.mark.parametrize("prefix", ["", "Nov 29 23:28:00 claw halogen[812]: ", "2026-11-29T23:28:00.1+01:00 "])
def test_halogen_accounts_for_a_request(line: str, expected: tuple[object, ...], prefix: str) -> None:
    found = accounted(bare(prefix + line))
    assert isinstance(found, Accounted)
    assert (found.drafter, found.tokens, found.seconds, found.rounds, found.accepted) == expected


@pytest.mark.parametrize(
    "line",
    [
        "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | 33 rounds, commit lots/round",
        "serve_api: mtp 63 tok in 1.31s = 47.97 t/s | many rounds, commit 1.88/round",
        "serve_api: mtp 63 tok in soon = 47.97 t/s",
        "serve_api: mtp -3 tok in 1.31s = 47.97 t/s",
        "serve_api: mtp 63 tok in 1.31s = 47.9",
        f"serve_api: mtp {'6' * 19} tok in 1.31s = 47.97 t/s",
    ],
)
def test_an_account_of_halogen_without_its_counts_is_an_error(line: str) -> None:
    with pytest.raises(Unreadable):
        accounted(line)


def test_what_halogen_says_otherwise_is_no_account() -> None:
    assert accounted("serve_api: listening on 0.0.0.0:8731") is None
    assert accounted("serve_api: drafter mtp") is None


def test_a_line_that_is_read_is_of_a_shape_that_is_read() -> None:
    known = Shapes()
    rows = [row for row in (DATA / "server-log-wordings.txt").read_text().splitlines() if not row.startswith("# ")]
    lines = [row for row in rows[::2] if any(each.kind in KINDS for each in events([row]))]
    lines = [line for line in lines if ".service" not in line]  # what systemd says of a unit is not asked
    lines += [line for line in (DATA / "acceptance-lines.txt").read_text().splitlines() if said(bare(line))]
    lines += [*BAD, *(line for line, _ in HALOGEN)]
    assert len(lines) > len(BAD) + len(KINDS)
    assert [line for line in lines if not known.telling(shape(line.encode()))] == []
