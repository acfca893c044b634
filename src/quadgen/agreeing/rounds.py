"""One text of the target's, drafted as draft-simple would: which drafted tokens the target wrote itself.

At temperature 0 a server that speculates writes what the target would write alone. So the target writes first, and
each round is replayed: the drafter is given the prompt and the text so far, and as many of its tokens are accepted as
the target has written there. Widths are those of llama-server b11434: the first token comes out of the prompt, and at
the end of a text no more is drafted than may still be written (`get_n_draft_max`, tools/server/server-context.cpp:517).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Goes = Callable[[Sequence[int], int], Sequence[int]]
"""How a model goes on after these tokens, with at most so many, the likeliest ones; fewer where its text ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One draft, and what became of it."""

    at: int
    """Tokens of the text that were there already; at least 1."""
    drafted: int
    """At least 1."""
    accepted: int
    """0 to `drafted`: how many of the drafted tokens the target wrote, from the first."""

    @property
    def tried(self) -> int:
        """Positions of which the target had to say whether it agrees: those behind a rejected one do not matter."""
        return min(self.accepted + 1, self.drafted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One prompt, what the target made of it, and the rounds over that."""

    prompt: str
    """What it is called."""
    given: int
    """Tokens of the prompt."""
    written: tuple[int, ...]
    """The target's tokens; the last one may end the text."""
    rounds: tuple[Round, ...]
    loop: int | None = None
    """The token from which on the text only says again what it has said; None where it does not."""

    cut: bool = False
    """Whether the target went on with a token that the drafter does not have."""

    @property
    def counted(self) -> tuple[Round, ...]:
        """The rounds before it loops: two models that loop agree on everything, which says nothing of either."""
        return self.rounds if self.loop is None else tuple(each for each in self.rounds if each.at < self.loop)

    @property
    def first_difference(self) -> int | None:
        """The token, from 0, that the drafter did not foresee first; None where it foresaw all that it drafted."""
        return next((each.at + each.accepted for each in self.rounds if each.accepted < each.drafted), None)


def replayed(prompt: Sequence[int], written: Sequence[int], draft: Goes, *, width: int, most: int) -> Iterator[Round]:
    """Draft over a text of the target's that was to have `most` tokens, `width` tokens a round, and say what holds."""
    at = 1
    while at < len(written):
        wide = min(width, most - at - 1, len(written) - at)
        if wide < 1:  # a plain step: the text may have one more token
            return
        drafted = draft([*prompt, *written[:at]], wide)
        accepted = common(drafted[:wide], written[at:])
        yield Round(at=at, drafted=wide, accepted=accepted)
        at += accepted + 1


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both have alike, from the first."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
