"""Taking samples in turn: A B, B A at the level of servers, so that what drifts meets both arms alike.

Two servers seldom fit a card, so each arm's is started for its requests of a round, proven, warmed up, and ended. What
is kept instead, and where each request has a server of its own, `Setup` says.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from typing import Final

from quadgen.measuring.sample import Arm, Sample, Turn
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.sampling.asking import ask, warm
from quadgen.sampling.journal import Journal
from quadgen.sampling.opening import Opened, Source
from quadgen.sampling.progress import Course, Progress, Spent
from quadgen.sampling.proof import prove
from quadgen.server.failures import NoAnswer
from quadgen.server.process import Died, NotReady

__all__ = ["Failed", "Progress", "Setup", "Spent", "take"]

FAINT: Final = ([0], 1)
"""Prompt and tokens of a warm-up that leaves nothing to a drafter whose state survives requests.

A prompt of ids is taken as it is (tokenize_mixed of tools/server/server-common.cpp of llama.cpp b11434), so that this
is a pass over one token, as decoding has them; before the words of a prompt most vocabularies put a token. Where one
token is asked for nothing is drafted, and so ngram-cache reads nothing: it would pass over as many tokens of
the next prompt (draft_one of common/speculative.cpp). ngram-mod takes no prompt that is shorter
than its n-grams (begin, there). ngram-map-k and ngram-map-k4v keep what they know of as many tokens as the prompt
before had, and look for nothing in these of the next one (common_ngram_map_begin of common/ngram-map.cpp): after a
prompt of 164 tokens, ngram-map-k drafted none of the 116 tokens of a copy that it drafts when it is fresh."""
_SAID: Final = "The ferry leaves the north pier at seven, calls at the mill and the bridge, and is back before noon."
NEUTRAL: Final = " ".join(3 * [_SAID])
"""What other servers are warmed up with. No workload has it, and a drafter that remembers it knows none of their
answers; it says the same again, so that n-gram drafters draft, and passes over drafts get warm as well."""
_WARM: Final = 8
"""Tokens of that, unless the server is kept for all rounds."""
_GONE: Final = 5.0
"""Seconds for a server that broke an answer off to be gone: an abort takes a while."""


_too_long: Final = re.compile(r"request \((\d+) tokens\) exceeds the available context size \((\d+) tokens\)").search
"""update_slots of tools/server/server-context.cpp of llama.cpp b11434."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Both arms, and how they are asked."""

    candidate: Source
    comparator: Source
    prompt: Callable[[str, int], str]
    """The text of a workload in a round, the same for both arms."""
    tokens: int
    """Of a timed request."""
    count_cpu: bool
    """Whether the CPU seconds of servers that are started here are counted."""
    fresh: bool = False
    """Whether the candidate has a server of its own for each request: its drafter's state survives requests. That is so
    of ngram-cache, ngram-mod, ngram-map-k and ngram-map-k4v: see `run.FAINT`."""
    comparator_fresh: bool = False
    """The same of the comparator."""
    steady: bool = False
    """Whether each arm has one server for all rounds of other texts, also where its drafter's state survives: as
    production has."""
    texts: int | None = None
    """Rounds after which the texts come again, and servers that are kept are begun anew: a drafter that remembers would
    find its old answers, as ngram-mod does, which no new question of production has. None where none remembers."""
    together: bool = False
    """Whether servers stay over rounds, both at once, but for those that are to be fresh."""

    def source(self, arm: Arm) -> Source:
        """Where the server of an arm comes from."""
        return self.candidate if arm is Arm.CANDIDATE else self.comparator

    def is_fresh(self, arm: Arm) -> bool:
        """Whether each request of the arm has a server of its own."""
        return (self.fresh if arm is Arm.CANDIDATE else self.comparator_fresh) and not self.steady

    def is_kept(self, arm: Arm) -> bool:
        """Whether the arm has one server for all rounds."""
        return self.steady or (self.together and not self.is_fresh(arm))


class Failed(Unavailable):
    """A server could not be started, or ended or fell silent while it was asked. Samples until then are kept."""

    def __init__(self, message: str, turn: Turn, last: tuple[str, ...]) -> None:
        super().__init__(message)
        self.turn = turn
        """What was to be taken."""
        self.last = last
        """The last lines of the server's log."""


def take(
    setup: Setup, turns: Sequence[Turn], journal: Journal, *, notify: Callable[[Progress], object]
) -> tuple[Sample, ...]:
    """Take those of `turns` that the journal does not have, and return the samples of all of them in their order.

    Where drafters remember and servers are kept, turns that share them are taken anew unless all are there: nobody
    gives a server its memory back.
    Servers are started in the order of the turns. `notify` is told before each sample and at the end. Raises `Failed`;
    `Rejected` with `not-speculating`, `workload-too-long` or `unreadable-metrics`; `Unavailable` of the journal.
    Nothing that was started is left, whatever ends it.
    """
    journal.forget(_begun(setup, turns, journal))
    taken = {sample.turn: sample for sample in journal.samples}
    course = Course(total=len(turns), left=[turn for turn in turns if turn not in taken])
    for part in _parts(setup, tuple(course.left)):
        kept, servers = ExitStack(), dict[Arm, Opened]()
        try:
            for visit in _visits(setup, part):
                notify(course.progress())
                with _serving(setup, visit[0], kept, servers, course) as opened:
                    for turn in visit:
                        if turn is not visit[0]:
                            notify(course.progress())
                        taken[turn] = _sampled(setup, turn, opened, course)
                        journal.add(taken[turn])
                        course.took(turn)
        finally:
            with course.loading():
                kept.close()
    notify(course.progress())
    return tuple(taken[turn] for turn in turns)


def _parts(setup: Setup, turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """The turns for which servers are kept."""
    for _, group in groupby(turns, key=lambda turn: setup.texts and turn.round // setup.texts):
        yield tuple(group)


def _begun(setup: Setup, turns: Sequence[Turn], journal: Journal) -> frozenset[Turn]:
    """Turns that are there, of servers that were ended before they were asked all that they were to be."""
    if not setup.steady or setup.texts is None:
        return frozenset()
    there = frozenset(sample.turn for sample in journal.samples)
    return frozenset(turn for part in _parts(setup, turns) if not there.issuperset(part) for turn in part)


def _visits(setup: Setup, turns: Sequence[Turn]) -> Iterator[tuple[Turn, ...]]:
    """What one server is asked in one go: an arm's turns of a round, or each of them where they are to be fresh."""
    for (arm, _), group in groupby(turns, key=lambda turn: (turn.arm, turn.round)):
        if setup.is_fresh(arm):
            yield from ((turn,) for turn in group)
        else:
            yield tuple(group)


@contextmanager
def _serving(setup: Setup, turn: Turn, kept: ExitStack, servers: dict[Arm, Opened], course: Course) -> Iterator[Opened]:
    """The server of the turn's arm, warm: one of `servers`, which end with `kept`, or one that ends here."""
    if setup.is_kept(turn.arm):
        if turn.arm not in servers:
            servers[turn.arm] = _ready(setup, turn, kept, course)
        yield servers[turn.arm]
        return
    here = ExitStack()
    try:
        yield _ready(setup, turn, here, course)
    finally:
        with course.loading():
            here.close()


def _ready(setup: Setup, turn: Turn, stack: ExitStack, course: Course) -> Opened:
    """A server that was started into `stack`, is proven and warm."""
    opened: Opened | None = None
    with course.loading():
        try:
            opened = stack.enter_context(setup.source(turn.arm).opened())
            prove(opened, turn.arm)
            warm(opened, *_warming(setup, turn))
        except Unavailable as error:
            raise _failed(error, turn, opened) from error
    return opened


def _warming(setup: Setup, turn: Turn) -> tuple[str | list[int], int]:
    """Prompt and tokens of the request that is thrown away."""
    if setup.is_fresh(turn.arm):
        return FAINT
    return NEUTRAL, setup.tokens if setup.steady else _WARM


def _sampled(setup: Setup, turn: Turn, opened: Opened, course: Course) -> Sample:
    prompt = setup.prompt(turn.workload, turn.round)
    try:
        return ask(opened, turn, prompt, setup.tokens, count_cpu=setup.count_cpu, asking=course.asking())
    except NoAnswer as error:
        if (found := _too_long(error.reason)) and error.status == HTTPStatus.BAD_REQUEST:
            raise _wide(turn, *found.groups()) from error
        raise _failed(error, turn, opened) from error
    except Unavailable as error:
        raise _failed(error, turn, opened) from error


def _wide(turn: Turn, prompt: str, context: str) -> Rejected:
    """What texts are cut to is estimated, and a file's are asked as they are: the server has the last word."""
    why = f"its text of round {turn.round + 1} has {prompt} tokens here, and the context has {context}"
    return Rejected(
        [
            Problem(
                code="workload-too-long",
                message=f"{turn.workload} cannot be measured: {why}",
                hint="a larger context, or shorter texts with --workload NAME=FILE",
            )
        ]
    )


def _failed(error: Unavailable, turn: Turn, opened: Opened | None) -> Failed:
    process = None if opened is None else opened.process
    if isinstance(error, NoAnswer) and error.status is None and process is not None and process.ended_within(_GONE):
        error = process.died("while it was asked")
    if isinstance(error, Died | NotReady):
        return Failed(str(error), turn, error.last)
    return Failed(str(error), turn, () if process is None else process.last())
