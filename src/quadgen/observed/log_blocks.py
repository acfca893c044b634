"""Reads requests whose lines stand together in the newest wording many at once; anything else is left to others.

Logs have gigabytes, and a request a few lines, so that a line read by itself costs too much.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import compress
from operator import gt
from typing import Any, Final

from quadgen.log_lines import bare
from quadgen.observed.log_rounds import all_rounds
from quadgen.observed.log_run import RECENT, Newest
from quadgen.observed.log_shapes import Shapes, shape
from quadgen.observed.log_sums import Sums

_SLOT: Final = b"slot print_timing: id "
_GROUPS: Final = 13
"""Groups of `_pattern`, and what stands between two matches: the stride of what it splits."""
_SAME: Final = bytes.maketrans(b"023456789", b"111111111")
_KEY: Final = rb"id +[0-9]{1,9} \| task -?[0-9]{1,18} \|"
_BETWEEN: Final = b"\0"
_LONGEST: Final = 200
"""Bytes that may stand in front of a server's words."""

Read = tuple[Sums, Sums, Newest]
"""Requests that drafted nothing, requests that drafted, and the newest of both."""
Apart = list[tuple[int, bytes]]
"""Lines to be read one by one, and how many lines of the piece stand before each."""
_LINES: Final = ((1, 2), (2, 1), (7, 2), (8, 1), (12, 1))
"""Groups that are there where lines are that a request need not have, and how many lines."""


def blocks(data: bytes, known: Shapes) -> tuple[int, list[Read | Apart]]:
    """Count the lines of a piece, and read its requests; what stands between them and may tell anything is left apart.

    Both in the order of the piece.
    """
    style = _style(data)
    if style is not None and _BETWEEN not in data:
        parts = _pattern(*style).split(b"\n%b\n" % data)
        found = _in_turn(parts, known) if _genuine(parts, style[1]) else None
        if found is not None:
            return found
    lines = data.split(b"\n")
    apart = known.spoken(lines)
    return len(lines), [apart] if apart else []


def _in_turn(parts: list[Any], known: Shapes) -> tuple[int, list[Read | Apart]] | None:
    """Requests and lines apart, as they follow each other; None where requests do not add up."""
    others = parts[::_GROUPS]
    shaped = shape(_BETWEEN.join(others)).split(_BETWEEN)
    telling = {each: known.any_telling(each.split(b"\n")) for each in set(shaped)}
    found: list[Read | Apart] = []
    done = line = 0
    last = len(others) - 1
    for at in [number for number, each in enumerate(shaped) if telling[each] or number == last]:
        apart = known.spoken(others[at].split(b"\n")[1:]) if telling[shaped[at]] else []
        if not apart and at < last:
            continue
        run = parts[done * _GROUPS : at * _GROUPS]
        if run:
            read = _summed(run)
            if read is None:
                return None
            found.append(read)
        line += b"".join(others[done:at]).count(b"\n") + _lines(run)
        if apart:
            found.append([(line + number, each) for number, each in apart])
        done = at
    return line + others[-1].count(b"\n") - 1, found


def _lines(parts: list[Any]) -> int:
    """How many lines the matches are. Counting newlines takes longer than all else but the matching."""
    count = len(parts) // _GROUPS
    return count + sum(each * (count - parts[group::_GROUPS].count(None)) for group, each in _LINES)


def _style(data: bytes) -> tuple[int, bytes] | None:
    """How many bytes stand in front of the words of the first request, and what stands behind them."""
    at = data.find(_SLOT)
    start = data.rfind(b"\n", 0, at) + 1
    if at < 0 or at - start > _LONGEST:
        return None
    end = data.find(b"\n", at)
    line = data[start : end if end >= 0 else len(data)]
    return at - start, next(each for each in (b'\\n"}\r', b'\\n"}', b"\r", b"") if line.endswith(each))


@lru_cache(maxsize=32)
def _pattern(width: int, behind: bytes) -> re.Pattern[bytes]:
    """The lines of a request, those before and behind its numbers included as far as they stand beside them.

    Groups: nothing, behind the lines of a launch; nothing, behind the line of the prompt; what stands in front of the
    words; slot and task; milliseconds; tokens; nothing, behind the lines of the total; what stands in front of the line
    of acceptance; accepted; drafted; mean length; nothing, behind the line of a release. A line without numbers is
    recognised by its slot, and passed. All lines have as much in front as the first.
    """
    front, end = b"\n.{%d}slot " % width, re.escape(behind)
    timing = front + rb"print_timing: \4 +"
    return re.compile(
        b"\n(?:" + front[1:] + b"get_availabl: id .*+" + front + b"launch_slot_: id .*+\n())?"
        + b"(?:" + front[1:] + b"print_timing: " + _KEY + b" prompt eval time = .*+()\n)?"
        + b"(.{%d})slot print_timing: (%b) +eval time = +" % (width, _KEY)
        + rb"([0-9]{1,15}\.[0-9][0-9]) ms / +([0-9]{1,18}) tokens \(.*\)" + end
        + b"(?:" + timing + b"total time = .*+" + timing + b"graphs reused = .*+())?"
        + b"(?:\n(.{%d})slot " % width + rb"print_timing: \4 +draft acceptance = [0-9.]+"
        + rb" \( *([0-9]{1,18}) accepted / *([0-9]{1,18}) generated\)"
        + b"(?:, mean len = *([0-9]{1,15}\\.[0-9]+))?" + end + b"(?=\n))?"
        + b"(?:" + front + b"     release: id .*+())?(?=\n)"
    )  # fmt: skip


def _genuine(parts: list[bytes], behind: bytes) -> bool:
    """Whether all that stands in front of numbers is what a server or a journal puts there."""
    fronts = b"\n".join([*parts[3::_GROUPS], *filter(None, parts[8::_GROUPS])]).translate(_SAME).split(b"\n")
    return all(_front(front, behind) for front in set(fronts))


@lru_cache(maxsize=1024)
def _front(front: bytes, behind: bytes) -> bool:
    return bare((front + _SLOT + behind).decode("utf-8", "replace")) == _SLOT.decode().rstrip()


def _summed(parts: list[bytes]) -> Read | None:
    tokens = list(map(int, parts[6::_GROUPS]))
    ticks = list(map(int, b" ".join(parts[5::_GROUPS]).replace(b".", b"").split()))
    drafts = list(map(bool, parts[9::_GROUPS]))
    drafting = _drafting(parts, drafts)
    if drafting is None or 0 in tokens:
        return None
    drafting.requests = sum(drafts)
    drafting.tokens, drafting.ticks = sum(compress(tokens, drafts)), sum(compress(ticks, drafts))
    plain = Sums(
        requests=len(tokens) - drafting.requests,
        tokens=sum(tokens) - drafting.tokens,
        ticks=sum(ticks) - drafting.ticks,
    )
    newest = Newest(
        keys=parts[4::_GROUPS][-RECENT:], tokens=tokens[-RECENT:], ticks=ticks[-RECENT:], drafts=drafts[-RECENT:],
        last=_last(parts, drafts),
    )  # fmt: skip
    return plain, drafting, newest


def _last(parts: list[bytes], drafts: list[bool]) -> tuple[bytes, int, int, float] | None:
    if True not in drafts:
        return None
    at = (len(drafts) - 1 - drafts[::-1].index(True)) * _GROUPS
    return parts[at + 4], int(parts[at + 9]), int(parts[at + 10]), float(parts[at + 11])


def _drafting(parts: list[bytes], drafts: list[bool]) -> Sums | None:
    """Add up the lines of acceptance; None where one accepts more than was drafted, or tells no mean length."""
    told: Iterable[list[Any]] = (parts[group::_GROUPS] for group in (9, 10, 11))
    taken, drafted, means = told if all(drafts) else (list(compress(each, drafts)) for each in told)
    if None in means:
        return None
    accepted, of = list(map(int, taken)), list(map(int, drafted))
    if any(map(gt, accepted, of)):
        return None
    rounds, doubt = all_rounds(accepted, of, list(map(float, means)))
    return Sums(accepted=sum(accepted), drafted=sum(of), rounds=rounds, doubt=doubt)
