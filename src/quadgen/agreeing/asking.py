"""The whole course of it: tokenizers first, then every prompt, then what that comes to."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final, NamedTuple, Protocol

from quadgen.agreeing.estimate import Estimate, estimate
from quadgen.agreeing.loops import loop
from quadgen.agreeing.prompts import Prompt
from quadgen.agreeing.rounds import Text, replayed
from quadgen.agreeing.vocabulary import Compared, Reads, compared

_LEAST: Final = 2
"""Tokens of a text in which something can be drafted: the first comes out of the prompt."""


_ANY: Final = "0"
"""A text."""


class Model(Reads, Protocol):
    """A server of one model."""

    def vocabulary(self) -> tuple[int, int | None]:
        """How many tokens there are, and the type of the vocabulary."""

    def context(self) -> int | None:
        """The tokens that one conversation may have."""

    def chats(self) -> bool:
        """Whether the model has a template for chats of its own."""

    def chat(self, text: str) -> str:
        """A user's message in that template."""

    def prompt(self, text: str) -> tuple[int, ...]:
        """The tokens of a prompt."""

    def goes(self, tokens: Sequence[int], count: int, *, again: bool = True) -> Sequence[int]:
        """How it goes on, see `agreeing.rounds.Goes`; `again` if it may start from what it has of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is asked for."""

    width: int
    """Tokens of a draft, --spec-draft-n-max; at least 1."""
    tokens: int
    """Tokens of a text, at most; at least 2."""
    chat: bool | None = None
    """Whether a prompt is a user's message; None where the target's template decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What came out of it."""

    setting: Setting
    """With `chat` decided, unless the tokenizers differ."""
    tokens: Compared
    refusal: str | None = None
    """Why there is no number, as a sentence without its end; None where there is one."""
    texts: tuple[Text, ...] = ()
    notes: tuple[str, ...] = ()
    """What else to know, in sentences without their end."""

    @property
    def counted(self) -> Estimate:
        """Without what loops: the acceptance to go by."""
        return estimate([text.counted for text in self.texts])

    @property
    def whole(self) -> Estimate:
        """With it: what a server would have counted on these prompts."""
        return estimate([text.rounds for text in self.texts])


class Limits(NamedTuple):
    """Of one text."""

    width: int
    most: int
    known: int
    """Ids from here on are none of the drafter's."""


def agreement(
    target: Model,
    draft: Model,
    prompts: Sequence[Prompt],
    setting: Setting,
    notify: Callable[[int, int, str], None],
) -> Agreement:
    """Let the target write on each prompt, and replay how the drafter would have drafted that.

    `notify` is told how much is done, of how much, and what is next. Raises what the models raise.
    """
    (ours, kind), (theirs, other) = target.vocabulary(), draft.vocabulary()
    notify(0, len(prompts) + 1, "tokenizers")
    tokens = compared(target, draft, (ours, theirs), (kind, other))
    why = tokens.refusal or _around(target, draft)
    if why is not None:
        return Agreement(setting=setting, tokens=tokens, refusal=f"the tokenizers differ: {why}")
    setting = replace(setting, chat=target.chats() if setting.chat is None else setting.chat)
    asked = [target.chat(each.text) if setting.chat else each.text for each in prompts]
    given = [target.prompt(each) for each in asked]
    unlike = [at for at, each in enumerate(asked) if draft.prompt(each) != given[at]]
    room = min((each for each in (target.context(), draft.context()) if each is not None), default=None)
    texts: list[Text] = []
    for done, (each, ids) in enumerate(zip(prompts, given, strict=True), 1):
        notify(done, len(prompts) + 1, each.name)
        most = setting.tokens if room is None else min(setting.tokens, room - len(ids) - 1)
        if most >= _LEAST and max(ids) < theirs:
            written = tuple(target.goes(ids, most, again=False))
            texts.append(_text(draft, each.name, ids, written, Limits(setting.width, most, theirs)))
    notify(len(prompts) + 1, len(prompts) + 1, "")
    found = Agreement(setting=setting, tokens=tokens, texts=tuple(texts))
    notes = (*tokens.notes, *_of_prompts(prompts, found, unlike, room), *_of_texts(found))
    return replace(found, notes=notes, refusal=None if found.counted.rounds else _nothing(found, room))


def _text(draft: Model, name: str, ids: tuple[int, ...], written: tuple[int, ...], limits: Limits) -> Text:
    known = tuple(takewhile(lambda each: each < limits.known, written))
    rounds = tuple(replayed(ids, known, draft.goes, width=limits.width, most=limits.most))
    return Text(
        prompt=name, given=len(ids), written=known, rounds=rounds, loop=loop(known), cut=len(known) < len(written)
    )


def _around(target: Model, draft: Model) -> str | None:
    """How the two differ in what they put before and after every text; None where they do not."""
    ours, theirs = _put(target), _put(draft)
    if ours == theirs:
        return None
    said = [" and ".join(f"token {at}" for at in put) or "nothing" for put in (ours, theirs)]
    return f"the target puts {said[0]} around every text and the drafter {said[1]}, and llama.cpp refuses to draft then"


def _put(model: Model) -> tuple[int, ...]:
    bare = Counter(model.ids(_ANY))
    return tuple((Counter(model.prompt(_ANY)) - bare).elements())


def _nothing(found: Agreement, room: int | None) -> str:
    if not found.texts:
        return (
            "no prompt can be drafted for" if room is None else f"no prompt leaves room in a context of {room} tokens"
        )
    if found.whole.rounds:
        return "every text loops from its start, which says nothing of the pair"
    return "the target ends every text at once, so that nothing is drafted"


def _of_prompts(prompts: Sequence[Prompt], found: Agreement, unlike: list[int], room: int | None) -> Iterator[str]:
    left = len(prompts) - len(found.texts)
    if left:
        room_left = f"leave no room in a context of {room} tokens" if room is not None else ""
        foreign = "hold a token that the drafter does not have" if found.tokens.sizes[0] > found.tokens.sizes[1] else ""
        why = " or ".join(filter(None, (room_left, foreign)))
        yield f"{left} of {len(prompts)} prompts {why}, and were left out"
    if unlike:
        yield (
            f"the two take {len(unlike)} of {len(prompts)} prompts apart in different ways; both were given the "
            "target's tokens, as a drafter is"
        )


def _of_texts(found: Agreement) -> Iterator[str]:
    cut = sum(text.cut for text in found.texts)
    if cut:
        yield f"{cut} of {len(found.texts)} texts were counted up to a token that the drafter does not have"
    loops = [text for text in found.texts if text.loop is not None]
    if loops:
        yield (
            f"{len(loops)} of {len(found.texts)} texts end in a loop, as greedy ones of small and of base models do; "
            "what is only said again is not counted, since any two models agree on it"
        )
    few = found.counted
    if few.rounds and few.prompts == 1:
        yield "one prompt does not show how much prompts differ: the interval takes its tokens as independent"
