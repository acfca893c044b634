"""A log says the same however it comes: cut anywhere, in chunks of any size, behind any prefix, or as no log at all."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.observed.log import read_log
from quadgen.observed.state import State
from quadgen.problems import Rejected

LOG = (Path(__file__).parent / "data" / "server-log-b11434.txt").read_bytes()
KEY = "slot print_timing: id  {} | task {} | "
TIME = "       eval time =    {}.00 ms /    {} tokens (   12.42 ms per token,    80.51 tokens per second)"
DRAFT = "draft acceptance = 0.79528 (  {} accepted /   {} generated), mean len =  {}"


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize(
    ("last", "kept"),
    [
        ("draft acceptance = 0.79528 (  101 accepted /   127 generated), mean len =  6.61", True),
        ("draft acceptance = 0.79528 (  101 accepted /   127 generated)", True),
        ("draft acceptance = 0.79528 (  101 accepted /   127 generated), mean len =  6.6", False),
        ("draft acceptance = 0.79528 (  101 accepted /   127 gen", False),
        ("draft acceptance = 0.79528 (  101 accepted /   12", False),
        ("draft acceptance", False),
    ],
)
def test_a_last_line_counts_where_it_is_whole_and_is_lost_where_it_is_broken(last: str, kept: bool, end: str) -> None:  # noqa: FBT001 - a case of the table
    text = KEY.format(0, 1) + TIME.format(100, 20) + "\n" + KEY.format(0, 1) + last + end
    if end and not kept and not last.endswith("6.6"):
        with pytest.raises(Rejected):
            read_log("server.log", [text.encode()])
        return
    found = read_log("server.log", [text.encode()])
    assert found.cut is (not kept and not end)
    assert (found.drafting.requests == 1) is (kept or bool(end))
    assert (found.plain.requests == 1) is (found.drafting.requests == 0)


def test_a_log_that_is_cut_anywhere_loses_only_its_last_line() -> None:
    before = 0
    for at in range(0, len(LOG), 11):
        found = read_log("server.log", [LOG[:at]])
        whole = read_log("server.log", [LOG[: LOG.rfind(b"\n", 0, at) + 1]])
        assert found.lines - whole.lines in {0, 1}
        accepted = found.drafting.accepted or 0
        assert accepted >= (whole.drafting.accepted or 0) >= before
        before = whole.drafting.accepted or 0
        if found.cut:
            assert (found.plain, found.drafting) == (whole.plain, whole.drafting)


def hostile() -> Iterator[tuple[str, Iterator[bytes]]]:
    def repeated(chunk: bytes, times: int) -> Iterator[bytes]:
        yield from (chunk for _ in range(times))

    yield "one line", repeated(b"draft acceptance" * 4096, 300)
    yield "zeros", repeated(bytes(65_536), 300)
    yield "no text", repeated(b"\xff\xfe\n\x80" * 16_384, 10)
    yield "brackets", repeated(b'{"msg":' + b"[" * 100_000 + b"\n", 20)
    yield "shapes", (b"".join(b"%s\n" % bytes([97 + each % 26]) * (each % 977) for each in range(n)) for n in (2000,))
    yield "silent", (b"srv x: saved prompt %d (draft: 0.%03d MiB)\n" % (each, each) * 400 for each in range(1000))
    yield "slots", repeated(b"slot print_timing: id " * 10_000 + b"\n", 50)


@pytest.mark.parametrize(("name", "chunks"), list(hostile()), ids=[name for name, _ in hostile()])
def test_what_is_no_log_says_nothing_and_takes_little_memory(name: str, chunks: Iterator[bytes]) -> None:
    tracemalloc.start()
    found = read_log(name, chunks)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.observation.state, found.observation.engine, found.observation.total) == (State.UNKNOWN, None, None)
    assert peak < 24 * 2**20


REQUEST = st.tuples(st.integers(0, 3), st.integers(1, 300), st.integers(0, 60), st.integers(0, 8), st.booleans())


def requests(drawn: list[tuple[int, int, int, int, bool]], style: str) -> bytes:
    """A log with a request for each draw; `style` is how a line of it looks."""
    lines = []
    for task, (slot, tokens, accepted, more, apart) in enumerate(drawn):
        key = f"slot print_timing: id  {slot} | task {task} | "
        said = [
            f"slot get_availabl: id  {slot} | task -1 | selected slot by LRU, t_last = -1",
            f"slot launch_slot_: id  {slot} | task {task} | processing task, is_child = 0",
            f"{key}prompt {TIME.format(90, 1).strip()}", key + TIME.format(tokens * 3, tokens),
            f"{key}      total time =    2117.09 ms /   411 tokens", f"{key}   graphs reused =         10",
            *(["srv  update_slots: all slots are idle"] if apart else []),
            *([key + DRAFT.format(accepted, accepted + more, f"{1 + accepted / 2:.2f}")] if accepted + more else []),
            f"slot      release: id  {slot} | task {task} | stop processing: n_tokens = 410, truncated = 0",
        ]  # fmt: skip
        lines += [style.format(each.replace("{", "{{")) for each in said]
    return "".join(lines).encode()


STYLES = [
    "0.03.237.480 I {}\n",
    "{}\n",
    "[53409] 0.03.237.480 I {}\r\n",
    "Nov 29 23:28:00 claw llama-server[812]: 0.03.237.480 I {}\n",
    '{{"type":"log","time":116454,"level":"info","msg":"{}\\n"}}\n',
    "\x1b[0m0.03.237.480\x1b[0m \x1b[34mI \x1b[0m{}\n",
]


@pytest.mark.parametrize("style", STYLES)
@given(st.lists(REQUEST, min_size=1, max_size=12), st.data())
def test_a_log_says_the_same_at_once_line_by_line_and_in_pieces_of_any_size(
    style: str, drawn: list[tuple[int, int, int, int, bool]], data: st.DataObject
) -> None:
    text = requests(drawn, style)
    expected = read_log("log", [text])
    assert read_log("log", text.splitlines(keepends=True)) == expected
    size = data.draw(st.integers(1, len(text)))
    assert read_log("log", [text[at : at + size] for at in range(0, len(text), size)]) == expected
    assert (expected.plain.requests or 0) + (expected.drafting.requests or 0) == len(drawn)
    drafts = [each for each in drawn if each[2] + each[3]]
    assert (expected.drafting.accepted or 0) == sum(each[2] for each in drafts)
    assert (expected.drafting.drafted or 0) == sum(each[2] + each[3] for each in drafts)
    assert expected.drafting.generated == sum(each[1] for each in drafts)
    assert expected.plain.generated == sum(each[1] for each in drawn) - (expected.drafting.generated or 0)


BETWEEN = st.sampled_from([*(Path(__file__).parent / "data" / "between.log").read_text("utf-8").splitlines(), "\0"])
"""What may stand between requests: starts, failures, statistics, positions, requests in parts, lines of nothing."""


@given(st.lists(st.tuples(REQUEST, st.lists(BETWEEN, max_size=4)), min_size=1, max_size=12))
def test_requests_between_other_lines_are_read_in_the_order_of_the_log(
    drawn: list[tuple[tuple[int, int, int, int, bool], list[str]]],
) -> None:
    text = b"".join(
        requests([request], STYLES[0]) + "".join(f"{line}\n" for line in others).encode() for request, others in drawn
    )
    assert read_log("log", [text]) == read_log("log", text.splitlines(keepends=True))


def test_a_line_of_acceptance_behind_other_words_is_none_of_the_request() -> None:
    text = requests([(0, 20, 6, 3, False)] * 2, STYLES[0])
    quoted = text.replace(
        b"0.03.237.480 I slot print_timing: id  0 | task 0 | draft",
        b"prompt text is:slot print_timing: id  0 | task 0 | draft",
        1,
    )
    assert quoted != text
    found = read_log("log", [quoted])
    assert found.observation.total == read_log("log", quoted.splitlines(keepends=True)).observation.total
    assert found.drafting.drafted == 9


def test_positions_that_come_after_another_request_are_those_of_the_newest_draft() -> None:
    lines = [
        requests([(0, 20, 6, 3, False)], STYLES[0]), requests([(0, 20, 0, 0, False)], STYLES[0]),
        b"0.03.237.480 I slot print_timing: id  0 | task 0 |      acc per pos = (1.000, 1.000, 1.000)\n",
    ]  # fmt: skip
    text = b"".join(lines)
    found = read_log("log", [text])
    assert found == read_log("log", text.splitlines(keepends=True))
    assert found.drafting.per_position == (2, 2, 2)


@pytest.mark.parametrize("style", ["> {}\n", "1 0.03.237.480 I {}\n", "chat said: {}\n"])
def test_lines_of_a_server_that_another_program_quotes_are_not_counted(style: str) -> None:
    found = read_log("log", [requests([(0, 20, 6, 3, False)] * 3, style)])
    assert (found.plain.requests, found.drafting.requests, found.observation.total) == (0, 0, None)
