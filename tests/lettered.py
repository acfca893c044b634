"""A model whose tokens are letters, as `agreeing` asks one: what it says is known beforehand."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from quadgen.agreeing.vocabulary import RAW

WORDS: Final = ("<s>", "</s>", *(chr(97 + each) for each in range(26)), "⟦", "|", "⟧", "0")


def counts(tokens: Sequence[int]) -> int:
    """After each token the next one."""
    return 2 + (tokens[-1] - 1) % 26


def stumbles(tokens: Sequence[int]) -> int:
    """The same, but for every fourth."""
    return counts(tokens) if tokens[-1] % 4 else 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Lettered:
    """A model whose every token is a letter."""

    following: Callable[[Sequence[int]], int] = counts
    words: tuple[str, ...] = WORDS
    octets: Mapping[int, bytes] = field(default_factory=dict)
    begin: tuple[int, ...] = (0,)
    kind: int = 2
    room: int | None = None
    template: str = "{}"
    joins: bool = False
    """Whether it takes `ll` for one token, the last of its letters."""
    asked: list[int] = field(default_factory=list)
    """How many tokens it was given, each time."""

    def vocabulary(self) -> tuple[int, int | None]:
        return len(self.words), self.kind

    def context(self) -> int | None:
        return self.room

    def chats(self) -> bool:
        return self.template != "{}"

    def chat(self, text: str) -> str:
        return self.template.format(text)

    def ids(self, text: str) -> tuple[int, ...]:
        said = text.replace("ll", "z") if self.joins else text
        return tuple(self.words.index(char) if char in self.words else 0 for char in said)

    def prompt(self, text: str) -> tuple[int, ...]:
        return (*self.begin, *self.ids(text))

    def text(self, ids: Sequence[int]) -> str:
        return "".join(self.words[each] for each in ids)

    def raw(self, ids: Sequence[int]) -> Mapping[int, bytes]:
        assert len(ids) <= RAW
        return {each: self.octets[each] for each in ids if each in self.octets}

    def goes(self, tokens: Sequence[int], count: int, *, again: bool = True) -> Sequence[int]:
        self.asked.append(len(tokens))
        written = list(tokens)
        while len(written) < len(tokens) + count and (again or written[-1] != 1):
            written.append(self.following(written))
            if written[-1] == 1:
                break
        return written[len(tokens) :]
