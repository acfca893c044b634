"""The words of `quadgen gguf compare`, and whether its answer is yes."""

import json
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from quadgen.cli import console
from quadgen.cli import gguf_records as records
from quadgen.cli.gguf_files import Found
from quadgen.cli.gguf_shown import said, token
from quadgen.facts.agreement import TOLERANCE, UNCOMPARED, refused
from quadgen.facts.amounts import amount
from quadgen.facts.heads import head
from quadgen.facts.identity import Identity, Verdict, identity
from quadgen.facts.kinds import COSTS, Cost, Kind, kind, trait
from quadgen.facts.objection import Objection
from quadgen.facts.pairing import objections
from quadgen.facts.record import Facts
from quadgen.problems import Severity

_LONGEST: Final = 60
"""Characters of a token that are shown."""
_WIDEST: Final = 48
"""Characters of a name that are shown: its last ones."""
_UNMARKED: Final = frozenset({"", "file", "architecture", "kind", "weights"})
"""Rows in which two files that go together differ."""
_CALLED: Final = ("the target", "the drafter")


class Pair(NamedTuple):
    """Two checkpoints, and what became of comparing them."""

    target: Found
    draft: Found
    spec_type: str | None
    """What the second drafts with; None where it is no drafter."""
    tokens: Identity | None
    """None where one of the two has no tokens."""
    against: tuple[Objection, ...]

    @property
    def works(self) -> bool:
        """Whether llama.cpp would use the drafts, as far as headers tell."""
        return not any(each.severity is Severity.ERROR for each in self.against)


def compared(target: Found, draft: Found) -> Pair:
    """Compare two checkpoints that were read with their tokens."""
    ours, theirs = target.facts, draft.facts
    spec_type = trait(theirs).drafts_with
    found = list(_unfit(ours, theirs))
    if spec_type is not None and not found:
        found = list(objections(ours, theirs, spec_type, called=_CALLED))
    tokens = None
    if ours.vocabulary is not None and theirs.vocabulary is not None and target.words and draft.words:
        tokens = identity(ours.vocabulary, theirs.vocabulary, (target.words, draft.words))
    return Pair(target, draft, spec_type, tokens, tuple(found))


def _unfit(target: Facts, draft: Facts) -> Iterator[Objection]:
    """What is wrong with one of the two, whatever the other is."""
    if not trait(target).serves:
        sentence = f"{_CALLED[0]} is {trait(target).what}, which llama-server does not serve as a model"
        yield Objection(code="does-not-compose", sentence=sentence)
    if trait(draft).drafts_with is None:
        sentence = f"{_CALLED[1]} is {trait(draft).what}, and drafts nothing"
        yield Objection(code="does-not-compose", sentence=sentence)
    for called, facts in zip(_CALLED, (target, draft), strict=True):
        if kind(facts) is Kind.MODEL and not head(facts).loads:
            yield Objection(code="head-missing", sentence=f"{called} {head(facts).wrong}")


def as_json(pair: Pair) -> str:
    """One object: both files, the verdict on their tokens, and what llama.cpp would do."""
    tokens = pair.tokens
    told = {
        "target": _record(pair.target),
        "draft": _record(pair.draft),
        "verdict": tokens.verdict.value if tokens is not None else None,
        "first_difference": None,
        "differing": tokens.differing if tokens is not None else None,
        "same": None if tokens is None else _same(pair, tokens),
        "llama_cpp": {
            "spec_type": pair.spec_type,
            "accepts": _accepts(pair),
            "works": pair.works,
            "cost": _cost(COSTS[pair.spec_type]) if pair.spec_type is not None else None,
            "objections": [
                {"severity": each.severity.value, "code": each.code, "sentence": each.sentence, "note": each.note}
                for each in pair.against
            ],
        },
    }
    if tokens is not None and tokens.first is not None:
        at, ours, theirs = tokens.first
        told["first_difference"] = {"id": at, "target": _text(ours), "draft": _text(theirs)}
    return json.dumps(told, indent=2, ensure_ascii=False) + "\n"


def _cost(cost: Cost) -> records.Record:
    return {"class": cost.name, "sequential": cost.sequential, "passes": cost.passes, "mirror": cost.mirror}


def _record(found: Found) -> records.Record:
    return {**records.identity(found.name, found.facts), "tokenizer": records.tokenizer(found.facts.vocabulary)}


def _same(pair: Pair, tokens: Identity) -> dict[str, bool]:
    one, other = pair.target.facts.vocabulary, pair.draft.facts.vocabulary
    plain = {
        name: getattr(one, name) == getattr(other, name)
        for name in ("model", "size", "special", "sha256_2000", "sha256")
    }
    return {**plain, "pre": tokens.pre, "merges": tokens.merges}


def _accepts(pair: Pair) -> bool | None:
    """Whether llama.cpp takes the vocabulary of a draft model; None where there is none, or it does not ask."""
    ours, theirs = pair.target.facts.vocabulary, pair.draft.facts.vocabulary
    asks = pair.spec_type == "draft-simple" or kind(pair.draft.facts) is Kind.VOCABULARY
    return refused(ours, theirs) is None if asks and ours is not None and theirs is not None else None


def _text(word: bytes | None) -> str | None:
    """A token as text that shows: what is no UTF-8 is escaped, and what is long is cut."""
    if word is None:
        return None
    text = word[: 4 * _LONGEST].decode(errors="backslashreplace")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def as_text(pair: Pair) -> str:
    """For people: a table of both, in which what differs is marked, then what follows from it."""
    rows = [(label, console.shown(one), console.shown(other)) for label, one, other in _table(pair)]
    label, one = (max(len(row[column]) for row in rows) for column in (0, 1))
    lines = [
        f"{'!' if row[1] != row[2] and row[0] not in _UNMARKED else ' '} {row[0]:<{label}}  {row[1]:<{one}}  {row[2]}"
        for row in rows
    ]
    return "".join(f"{line.rstrip()}\n" for line in [*lines, ""]) + console.lines(_conclusions(pair))


def _table(pair: Pair) -> Iterator[tuple[str, str, str]]:
    yield "", "target", "draft"
    for label, words in _OF_FILES:
        yield label, words(pair.target), words(pair.draft)
    one, other = (records.tokenizer(each.facts.vocabulary) for each in (pair.target, pair.draft))
    for label, of in _OF_TOKENIZERS:
        yield label, "-" if one is None else of(one), "-" if other is None else of(other)
    ours, theirs = ({} if each is None else each["special"] for each in (one, other))
    for name in sorted(ours.keys() | theirs.keys()):
        yield name, said(ours.get(name)), said(theirs.get(name))


def _end(name: str) -> str:
    """A name that fits into a column: its end, since what is before it is often the same."""
    return name if len(name) <= _WIDEST else f"...{name[3 - _WIDEST :]}"


_OF_FILES: Final[tuple[tuple[str, Callable[[Found], str]], ...]] = (
    ("file", lambda found: _end(found.name)),
    ("architecture", lambda found: found.facts.architecture),
    ("kind", lambda found: kind(found.facts).value),
    ("weights", lambda found: amount(found.facts.weights.total)),
)
_OF_TOKENIZERS: Final[tuple[tuple[str, Callable[[records.Record], str]], ...]] = (
    ("tokenizer", lambda told: f"{told['model']} ({told['type']})"),
    ("pre", lambda told: said(told["pre"])),
    ("tokens", lambda told: str(told["size"])),
    ("padding", lambda told: str(told["padding"])),
    ("merges", lambda told: str(told["merges"])),
    ("before a text", lambda told: token(told["begins_with"])),
    ("after it", lambda told: token(told["ends_with"])),
    ("sha256_2000", lambda told: told["sha256_2000"][:16]),
    ("sha256", lambda told: told["sha256"][:16]),
)


def _conclusions(pair: Pair) -> Iterator[str]:
    tokens = pair.tokens
    if tokens is None:
        bare = [each.name for each in (pair.target, pair.draft) if each.facts.vocabulary is None]
        yield f"tokens: nothing to compare: {' and '.join(bare)} {'has' if len(bare) == 1 else 'have'} none"
    else:
        yield f"tokens: {tokens.verdict}"
        yield from _tokens(tokens)
    yield from _engine(pair)
    if pair.works and pair.spec_type is not None:
        cost = COSTS[pair.spec_type]
        yield f"the pair works with {pair.spec_type}, as far as headers tell"
        yield f"a round costs {cost.passes}"
        yield f"over every token that the target reads, it runs besides: {cost.mirror}"
        yield "the same tokens are not enough: a drafter has to be cheap and right, which only a measurement shows"


def _tokens(tokens: Identity) -> Iterator[str]:
    if tokens.first is not None:
        at, ours, theirs = tokens.first
        sides = [f'"{_text(word)}"' if word is not None else "nothing" for word in (ours, theirs)]
        yield f"  the first id that differs is {at}: {sides[0]} in the target, {sides[1]} in the draft"
    if tokens.differing > 1:
        yield f"  {tokens.differing} ids that both have differ"
    odd = [what for what, alike in (("pre", tokens.pre), ("merges", tokens.merges)) if not alike]
    if odd and tokens.verdict is not Verdict.DIFFERENT:
        differ = f"{' and '.join(odd)} {'differs' if odd == ['pre'] else 'differ'}"
        yield f"  {differ}: ids are interchangeable, but the two may take a prompt apart in two ways"


def _engine(pair: Pair) -> Iterator[str]:
    """What llama.cpp asks and does."""
    accepts = _accepts(pair)
    if accepts is not None:
        lenient = accepts and pair.tokens is not None and pair.tokens.first is not None
        yield f"llama.cpp {'takes' if accepts else 'refuses'} this vocabulary for draft-simple" + (
            f": it compares no id below {UNCOMPARED}, and sizes may differ by {TOLERANCE}" if lenient else ""
        )
    elif pair.spec_type is not None:
        yield f"llama.cpp compares no tokens for {pair.spec_type}"
    for each in pair.against:
        yield f"{each.severity}: {each.sentence}" + (f": {each.note}" if each.note else "")
