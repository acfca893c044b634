"""What logs of servers say, line by line and on the whole, as real servers, journals and issues have it."""

import json
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.log_lines import LONGEST, bare
from quadgen.server_log import Event, Severity, cause, events
from quadgen.server_log.reading import LONGEST_VALUE, WORDINGS
from quadgen.server_log.wording import Depth, Wording

DATA = Path(__file__).parent / "data"
EXPECTATION = re.compile(r"    ([a-z0-9-]+) \(([a-z ]+)\): (.+)")
SECTION = re.compile(r"== (.+) -> (?:nothing|([a-z0-9-]+), line (\d+))")
SOURCE = re.compile(r"b\d{4,5} [\w./-]+\.(?:cpp|c|h|cu):\d+|https://[\w./#-]+")
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
BROKEN = "0.00.004.254 E gguf_init_from_file: failed to open GGUF file '/models/nope.gguf' (No such file or directory)"
BARE = BROKEN.partition(" E ")[2]


def one(line: str) -> Event:
    (found,) = events([line])
    return found


def said() -> Iterator[tuple[str, str]]:
    """Each line of the collection, and what it says."""
    rows = [row for row in (DATA / "server-log-wordings.txt").read_text().splitlines() if not row.startswith("# ")]
    yield from zip(rows[::2], rows[1::2], strict=True)


def excerpts() -> dict[str, list[str]]:
    """Whole excerpts by their headings."""
    found: dict[str, list[str]] = {}
    for row in (DATA / "server-log-causes.txt").read_text().splitlines():
        if row.startswith("== "):
            found[row] = []
        else:
            found[[*found][-1]].append(row)
    return found


def says(wording: Wording, event: Event) -> bool:
    """Whether `event` may have come of `wording`: the kind is the same, and so are the words around what it quotes."""
    parts = [re.escape(text) + (".*" if name else "") for text, name, _, _ in string.Formatter().parse(wording.message)]
    fits = re.search(("" if wording.located else r"(?:^|: |\s)") + wording.pattern, bare(event.text))
    return event.kind == wording.kind and fits is not None and re.fullmatch("".join(parts), event.message) is not None


@pytest.mark.parametrize(("line", "expected"), list(said()))
def test_a_line_is_recognised_and_told_with_what_it_names(line: str, expected: str) -> None:
    found = one(line)
    assert f"    {found.kind} ({found.severity}): {found.message}" == expected
    assert (found.line, found.text) == (1, line)


def test_every_wording_has_a_line_that_it_recognises() -> None:
    found = [one(line) for line, _ in said()]
    unseen = [each.pattern for each in WORDINGS if not any(says(each, event) for event in found)]
    assert unseen == []


@pytest.mark.parametrize("wording", WORDINGS, ids=[f"{number}-{each.kind}" for number, each in enumerate(WORDINGS)])
def test_a_wording_says_where_it_is_from_and_what_to_do(wording: Wording) -> None:
    assert SLUG.fullmatch(wording.kind)
    assert all(SOURCE.fullmatch(source) for source in wording.source.split("; "))
    assert bool(wording.hint) is (wording.severity is not Severity.INFO)
    assert not wording.message.endswith(".")
    assert not wording.hint.endswith(".")
    quoted = {name for text in (wording.message, wording.hint) for _, name, _, _ in string.Formatter().parse(text)}
    captured = set(re.compile(wording.pattern).groupindex) | ({"file", "at"} if wording.located else set())
    assert quoted - {None} <= captured


def test_a_kind_is_fatal_or_is_not_however_it_is_worded() -> None:
    severities = {(each.kind, each.severity) for each in WORDINGS}
    assert len(severities) == len({kind for kind, _ in severities})


@pytest.mark.parametrize("heading", excerpts())
def test_the_cause_of_an_excerpt_is_the_line_that_says_why(heading: str) -> None:
    expected = SECTION.fullmatch(heading)
    assert expected is not None
    found = cause(excerpts()[heading])
    assert (found and found.kind, found and str(found.line)) == (expected[2], expected[3])


def test_the_cause_is_found_wherever_an_excerpt_is_repeated() -> None:
    for heading, lines in excerpts().items():
        if any("loading model" in line for line in lines) and (once := cause(lines)):
            twice = cause([*lines, *lines])
            assert twice is not None, heading
            assert (twice.kind, twice.line) == (once.kind, once.line + len(lines)), heading


def test_an_event_carries_a_hint_made_of_what_the_line_names() -> None:
    found = one("error while handling argument \"--flash-attn\": error: unkown value for --flash-attn: '--main-gpu'")
    assert found.hint == "give --flash-attn its value"
    assert one("0.00.015.780 I srv  llama_server: listening on http://127.0.0.1:18996").hint == ""


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "0.03.673.924 E ",
        "[53409] ",
        "[53409] 0.03.673.924 E ",
        "\x1b[0m0.03.673.924\x1b[0m \x1b[31mE \x1b[0m",
        "Nov 29 23:28:00 claw llama-server[812]: 0.03.673.924 E ",
        "Nov  9 03:28:00.123456 claw chat[812]: ",
        "Sun 2026-11-29 23:28:00 CET claw chat.service[812]: 0.03.673.924 E ",
        "2026-11-29T23:28:00+0100 claw llama-server[812]: 0.03.673.924 E ",
        "2026-11-29T23:28:00.123456+01:00 claw llama-server[812]: ",
        "2026-11-29T23:28:00.123456789+01:00 0.03.673.924 E ",
        "1796000000.123456 claw chat[812]: ",
        "[ 1234.567890] claw chat[812]: 0.03.673.924 E ",
    ],
)
def test_what_a_journal_a_router_or_the_server_puts_in_front_does_not_matter(prefix: str) -> None:
    found = one(f"{prefix}{BARE}\n")
    assert (found.kind, found.message) == ("model-missing", "the file /models/nope.gguf is not there")
    assert found.text == prefix + BARE


@pytest.mark.parametrize("prefix", ["", "Nov 29 23:28:00 claw llama-server[812]: "])
def test_a_line_of_json_is_read_like_a_plain_one(prefix: str) -> None:
    record = json.dumps({"type": "log", "time": 4311, "level": "error", "msg": f"{BARE}\n"})
    assert one(prefix + record).message == "the file /models/nope.gguf is not there"


def test_a_real_log_of_json_lines_tells_that_the_server_came_up() -> None:
    lines = (DATA / "server-log-b11434.jsonl").read_text().splitlines()
    assert [each.kind for each in events(lines)][-1] == "listening"
    assert cause(lines) is None


def test_a_real_log_of_a_server_that_works_tells_its_drafters_and_no_cause() -> None:
    lines = (DATA / "server-log-b11434.txt").read_text().splitlines()
    assert {each.severity for each in events(lines)} <= {Severity.INFO, Severity.WARNING}
    assert cause(lines) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "0.01.120.319 I slot launch_slot_: id  1 | task 2 | processing task, is_child = 0",
        "0.03.997.061 I srv    operator(): operator(): cleaning up before exit...",
        "0.00.004.411 E common_fit_params: encountered an error while trying to fit params: failed to load model",
        "0.00.000.001 W srv  update_slots: the user asked why error: invalid argument: --mlock is printed",
        "the words error: invalid argument: --mlock stand in a manual",
        "my notes say listening on http://127.0.0.1:8080",
        "#8  0x00007fe8 in __libc_start_call_main () at ../sysdeps/nptl/libc_start_call_main.h:58",
        "30\t../sysdeps/unix/sysv/linux/wait4.c: No such file or directory.",
        '{"type":"log","msg":5,"note":"error: invalid argument: --mlock"}',
        '{"type":"fit_memory_breakdown","data":{}}',
        "Nov 29 23:28:00 claw systemd[1]: chat.service: Main process exited, code=exited, status=0/SUCCESS",
        "Nov 29 23:28:00 claw systemd[1]: chat.service: Deactivated successfully.",
    ],
)
def test_another_line_says_nothing(line: str) -> None:
    assert list(events([line])) == []


def test_lines_are_counted_from_one_whatever_lies_between() -> None:
    found = list(events(iter(["", "nothing", f"{BROKEN}\r\n", "", BROKEN])))
    assert [(each.line, each.text) for each in found] == [(3, BROKEN), (5, BROKEN)]


def test_what_a_message_quotes_is_short_and_moves_no_cursor() -> None:
    long = one(f"error: invalid argument: --{'x' * 5000}")
    assert len(long.message) < LONGEST_VALUE + 50
    assert long.message.endswith("x…")
    strange = one("error: invalid argument: --a\x1b]0;title\x07\udce4")
    assert strange.message == r"this build has no flag --a\x1b]0;title\x07\udce4"


HOSTILE = [
    "a: " * 400_000,
    "a:" * 400_000,
    " " * 1_000_000,
    "9" * 1_000_000,
    "[1] " * 300_000,
    "x" * 1_000_000 + ".cpp:1: boom",
    "GGML_ASSERT(" * 90_000,
    "E" + "rror: " * 200_000,
    'error while handling argument "' + "-" * 1_000_000,
    "failed to open " + "'" * 1_000_000,
    "\x1b[" * 500_000,
    "\x1b[1" * 400_000,
    '{"a":' + "[" * 1_000_000,
    '{"msg":"' + "error: " * 200_000 + '"}',
    '{"a":' + "9" * 10_000 + "}",
    "2026-11-29T" + "0" * 1_000_000,
    "\x00\x01\ufffd\udc80" * 250_000,
    "error loading model: " * 60_000,
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: repr(line[:20]))
def test_a_line_of_a_megabyte_costs_no_more_than_its_beginning(line: str) -> None:
    assert len(bare(line)) <= LONGEST
    found = list(events([line, BROKEN]))
    assert found[-1].kind == "model-missing"
    assert all(len(each.text) <= LONGEST and len(each.message) < 2 * LONGEST_VALUE + 200 for each in found)


WORDS = st.sampled_from(
    [each.pattern.partition("(")[0].replace("\\", "") for each in WORDINGS]
    + ["srv  load_model: ", "0.00.000.001 E ", '{"msg":"', "[1] ", "spec common_specu: ", ".cpp:1: ", "'", '"', ": "]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=30)), max_size=12).map("".join))
def test_no_text_makes_the_reader_fail(line: str) -> None:
    for found in events([line]):
        assert found.message.isprintable()
        assert found.hint.isprintable()
    assert cause([line]) in {*events([line]), None}


def test_of_two_events_in_one_run_the_reason_goes_before_the_failure_and_the_end() -> None:
    assert Depth.REASON < Depth.FAILURE < Depth.END
    ended = "0.00.017.164 E srv  llama_server: exiting due to model loading error"
    failed = "0.00.010.282 E srv    load_model: failed to load model, '/models/nope.gguf'"
    for lines in ([BROKEN, failed, ended], [ended, failed, BROKEN], [failed, BROKEN, ended]):
        assert getattr(cause(lines), "kind", None) == "model-missing"
    assert getattr(cause([ended, failed]), "kind", None) == "model-unloadable"
    assert getattr(cause([ended]), "kind", None) == "ended-while-starting"
