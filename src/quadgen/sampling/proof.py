"""Whether a server speculates as its arm must, before anything of it is timed.

That it is healthy says nothing: in several ways a server that was asked to speculate goes on without, or with a part of
its drafters. /slots says whether any runs (tools/server/server-context.cpp, load_model, of llama.cpp b11434), and the
log which were set up (common/speculative.cpp), at the verbosity of `measuring.launching.ADDED`.
"""

from typing import Final

from quadgen.measuring.sample import Arm
from quadgen.observed import answers
from quadgen.observed.answers import Misshapen
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.sampling.opening import Opened
from quadgen.server_log import cause, event

_ADDED: Final = b"adding speculative implementation '"


def prove(opened: Opened, arm: Arm) -> None:
    """Raise `Rejected` with `not-speculating` unless the drafters of the arm run in every slot, and no others.

    Raises `NoAnswer` where it cannot be asked, and `Unavailable` where /slots has no word of speculation.
    """
    types, runs = opened.launch.types, _speculates(opened)
    if runs and not types:
        message = f"the server of the {arm} speculates, and its profile does not (/slots says so)"
        hint = "measure against a server that was started without --spec-type and without a draft model"
        raise Rejected([Problem(code="not-speculating", message=message, hint=hint)])
    if not types:
        return
    if not runs:
        raise _missing(opened, arm, types)
    added = _added(opened)
    lacking = tuple(each for each in types if each not in added)
    if opened.process is None or (not added and len(types) == 1):
        return  # one that speculates with one type does so with that
    if lacking:
        raise _missing(opened, arm, lacking)
    if others := sorted(added.difference(types)):
        raise _unasked(arm, others)


def _speculates(opened: Opened) -> bool:
    path = "/slots"
    try:
        slots = answers.slots(opened.server.get(path))
    except Misshapen as error:
        raise Unavailable(f"cannot ask {opened.server.url}{path}: it answers {error}") from error
    said = {slot.speculative for slot in slots}
    if not said or None in said:
        raise Unavailable(f"cannot tell whether {opened.server.url} speculates: its /slots do not say so")
    return said == {True} if opened.launch.types else True in said


def _unasked(arm: Arm, others: list[str]) -> Rejected:
    """Values of --spec-type add up: an image can bring its own in LLAMA_ARG_SPEC_TYPE."""
    message = f"the server of the {arm} runs {' and '.join(others)} as well, which its profile does not have"
    hint = "leave LLAMA_ARG_SPEC_TYPE out of the image, or have these types in the profile"
    return Rejected([Problem(code="not-speculating", message=message, hint=hint)])


def _added(opened: Opened) -> frozenset[str]:
    """The drafters that the log of its start names."""
    if opened.process is None:
        return frozenset()
    log = b"".join(opened.process.chunks())
    found = (line.partition(_ADDED)[2].partition(b"'")[0] for line in log.splitlines() if _ADDED in line)
    return frozenset(name.decode(errors="replace") for name in found)


def _missing(opened: Opened, arm: Arm, lacking: tuple[str, ...]) -> Rejected:
    names = " and ".join(lacking)
    lines = [] if opened.process is None else opened.process.log().splitlines()
    why = cause(lines)
    if why is None:
        why = next((each for each in map(event, lines) if each is not None and each.kind == "no-drafters"), None)
    message = f"the server of the {arm} runs without {names}, and nothing of it is measured"
    return Rejected([
        Problem(
            code="not-speculating",
            message=f"{message}: {why.message}" if why else message,
            notes=() if why else tuple(f"it said: {line}" for line in opened.process.last()) if opened.process else (),
            hint=(why.hint if why else "") or "look into the log of its start, at --log-verbosity 4",
        )
    ])  # fmt: skip
