"""What limits an answer: sentences that stand beside it whatever it is."""

from collections.abc import Iterator
from typing import Final

from quadgen.triage.question import Question

OPTIMISM: Final = (1.7, 2)
"""How much faster an engine says it is than its clients see, from short generations without prompt and delivery, as
the operators of one fleet saw it (docs/triage.md)."""

COLUMNS: Final = 8
"""Tokens up to which Vulkan's kernels for vectors read the weights once; a pass over more was seen to cost a multiple
on some cards (https://github.com/ggml-org/llama.cpp/issues/25356)."""


def notes(question: Question, best: int) -> tuple[str, ...]:
    """Sentences without their end; `best` is the width that the answer recommends."""
    return tuple(_notes(question, best))


def _notes(question: Question, best: int) -> Iterator[str]:
    yield (
        "p is the chance that a drafted token is accepted when those before it were; accepted / drafted, which engines "
        "print, is lower than p from a width of 2 on"
    )
    target, drafter = question.target, question.drafter
    if target.internal:
        low, high = OPTIMISM
        yield (
            f"the target's rate is engine-internal: what a client sees was {low} to {high} times slower where both "
            "were looked at, and every rate here is as much too high; give what you see with --target-rate"
        )
    meant = question.attachment.today if question.attachment is not None else None
    if meant and not target.told and target.plain is None:
        yield (
            "the target is taken to yield one token per pass, although the fleet has it draft: give "
            "--commit-per-round, its log with --target-log, or the running server with --target"
        )
    if target.idle and not target.drafts:
        yield (
            "one token per round holds of the text that was seen here alone: over text of another kind the target's "
            "drafts may be accepted; give the log of its daily work with --target-log, or --commit-per-round"
        )
    if target.drafts and target.plain is None:
        yield (
            "the target's step is that of its rounds today, with its own drafting and verifying; a pass without them "
            "is shorter, and a drafter in their place does better than this: give --plain-step where it is known"
        )
    if drafter.cost.mirror and not question.verify.mirrored:
        yield (
            f"over every token that the target reads or verifies, {drafter.words} runs besides: {drafter.cost.mirror}; "
            "the formula leaves that out unless the cost of verifying was measured with it at work"
        )
    if drafter.looks_up:
        yield (
            "an n-gram drafter pays in rounds that draft, and these are frequent only where the text repeats what was "
            "said before; the others run as the target does today"
        )
    if not question.verify.measured and best + 1 > COLUMNS:
        yield (
            f"what verifying costs is assumed to be the same at every width; passes over more than {COLUMNS} tokens "
            "cost a multiple on some Vulkan cards and on CPUs, so do not go so wide without --verify-cost"
        )
    points = question.verify.factor.points
    if points and best + 1 > points[-1][0]:
        yield (
            f"what verifying costs is known for passes of up to {points[-1][0]} tokens, and assumed to go on as it "
            f"began: before a width of {best} is taken, measure it there"
        )
