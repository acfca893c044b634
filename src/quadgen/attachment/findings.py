"""What there is to say of a trial, in a fixed order: engine, composition, devices, tokenizer, memory."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from quadgen.attachment.room import UNRECORDED, room, unrecorded
from quadgen.attachment.trial import Trial
from quadgen.engines.drafters import DRAFTERS, drafts
from quadgen.engines.registry import ENGINES
from quadgen.facts.agreement import refused, same_words
from quadgen.facts.kinds import trait
from quadgen.facts.record import Facts, Vocabulary
from quadgen.problems import Problem, Severity
from quadgen.resolution import Model

_DIGITS: Final = 16
"""Of a digest that people compare."""
_RECORD: Final = "quadgen lock"


class About(StrEnum):
    """What a finding is about, in the order of the questions."""

    SERVICE = "service"
    """The service itself, whatever it drafts with."""
    ENGINE = "engine"
    COMPOSITION = "composition"
    DEVICES = "devices"
    TOKENIZER = "tokenizer"
    MEMORY = "memory"


class Finding(NamedTuple):
    """One answer."""

    about: About
    holds: bool | None
    """Whether it speaks for the drafter; None where nobody knows."""
    sentence: str
    """Without its end."""


_ABOUT: Final = {
    "closed-engine": About.ENGINE, "unknown-flag": About.ENGINE, "removed-flag": About.ENGINE,
    "bad-flag-value": About.ENGINE, "unknown-device": About.DEVICES, "does-not-fit": About.MEMORY,
}  # fmt: skip
"""By the code of a problem; any other is about what goes together."""


def found(trial: Trial, problems: Iterable[Problem], unsure: Iterable[Problem]) -> list[Finding]:
    """All findings: one for each error among `problems`, for each that is `unsure`, and what else was looked at."""
    words = _Words(trial)
    said = [Finding(About.SERVICE, holds=False, sentence=each.message) for each in trial.before if _is_error(each)]
    memory = list(_memory(trial))
    said += [
        Finding(words.about(each), holds=False, sentence=each.message)
        for each in problems
        if _is_error(each) and not (words.about(each) is About.MEMORY and any(found.holds is False for found in memory))
    ]
    said += [Finding(words.about(each), holds=None, sentence=_unknown(each)) for each in unsure]
    settled = {each.about for each in said}
    more = (*_engine(trial), *_composition(trial), *_devices(trial), *words.findings())
    said += [each for each in (*more, *memory) if each.about not in settled]
    order = list(About)
    return list(_once(sorted(said, key=lambda each: order.index(each.about))))


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The same, where it is said once of each model that its facts are not recorded."""
    said: set[str] = set()
    for each in findings:
        what, found, model = each.sentence.partition(f": {UNRECORDED}")
        yield each._replace(sentence=what) if found and model in said else each
        said |= {model} if found else set()


def _is_error(problem: Problem) -> bool:
    return problem.severity is Severity.ERROR


def _unknown(problem: Problem) -> str:
    return f"{problem.message}: no header is recorded that says otherwise, which {_RECORD} does"


def _engine(trial: Trial) -> Iterator[Finding]:
    found = trial.drafting.resolution
    if found is not None:
        build = f" {found.engine.build}" if found.engine.build else ""
        types = ",".join(trial.drafter.spec_types)
        yield Finding(About.ENGINE, holds=True, sentence=f"{found.engine.kind}{build} drafts with {types}")


def _composition(trial: Trial) -> Iterator[Finding]:
    """What goes together: the types among themselves, and each with the checkpoint."""
    found = trial.drafting.resolution
    if found is None:
        return
    if len(trial.drafter.spec_types) > 1:
        sentence = f"{' and '.join(trial.drafter.spec_types)} can run together"
        yield Finding(About.COMPOSITION, holds=True, sentence=sentence)
    model, draft = found.model, found.decision.draft_model
    for kind in drafts(trial.drafter.spec_types):
        if draft is None or kind == "draft-mtp":
            own = ENGINES[found.engine.kind].own_head
            where = f"in {model.mtp}" if isinstance(model.mtp, str) else "in its file"
            yield Finding(About.COMPOSITION, holds=True, sentence=f"{model.name} has an MTP head {where}")
            if not own and isinstance(model.mtp, str) and model.head_facts is None:
                yield Finding(About.COMPOSITION, holds=None, sentence=_unrecorded(f"{model.mtp} was made for", model))
        elif draft.facts is not None and model.facts is not None:
            sentence = f"{draft.name} is {trait(draft.facts).what}, which {kind} drafts with"
            yield Finding(About.COMPOSITION, holds=True, sentence=sentence)
        else:
            missing = draft if draft.facts is None else model
            needs = DRAFTERS[kind].needs
            sentence = f"{kind} needs {needs}, and whether {draft.name} is that nobody can say: {_lacking(missing)}"
            yield Finding(About.COMPOSITION, holds=None, sentence=sentence)


def _unrecorded(what: str, model: Model) -> str:
    return f"whether {what} {model.name} nobody can say: its header is not recorded, which {_RECORD} does"


def _lacking(model: Model) -> str:
    return unrecorded(model.name)


def _devices(trial: Trial) -> Iterator[Finding]:
    found = trial.drafting.resolution
    if found is None or not drafts(trial.drafter.spec_types):
        return
    if trial.drafter.draft_device:
        names, built = ", ".join(trial.drafter.draft_device), " and ".join(sorted(found.engine.backends))
        there = "computes on the CPU" if trial.drafter.draft_device == ("none",) else f"is on {names}"
        sentence = f"the drafter {there}, and the engine {found.engine.name} is built with {built}"
        yield Finding(About.DEVICES, holds=True, sentence=sentence)
    elif found.devices.names:
        names = ", ".join(found.devices.names)
        yield Finding(About.DEVICES, holds=True, sentence=f"the drafter runs where the model does, on {names}")


def _memory(trial: Trial) -> Iterator[Finding]:
    for fits, sentence in room(trial.plain, trial.drafting):
        yield Finding(About.MEMORY, holds=fits, sentence=sentence)


class _Words:
    """The tokenizers of the model and of a drafter in a file of its own."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        model, draft = trial.model, trial.draft
        self._pair: tuple[Model, Model] | None = None if model is None or draft is None else (model, draft)

    def about(self, problem: Problem) -> About:
        """What a problem is about."""
        if problem.code == "does-not-compose" and problem.message in self._objections():
            return About.TOKENIZER
        return _ABOUT.get(problem.code, About.COMPOSITION)

    def _objections(self) -> frozenset[str]:
        """Sentences of the rules about tokenizers."""
        both = self._vocabularies()
        if both is None or self._pair is None:
            return frozenset()
        model, draft = self._pair
        said = {each.sentence for each in same_words(*both, (model.name, draft.name))}
        why = refused(*both)
        said |= set() if why is None else {f"{draft.name} has other tokens than {model.name}: {why}"}
        return frozenset(said)

    def _vocabularies(self) -> tuple[Vocabulary, Vocabulary] | None:
        found = [_vocabulary(each.facts) for each in self._pair or ()]
        ours, theirs = found or (None, None)
        return None if ours is None or theirs is None else (ours, theirs)

    def findings(self) -> Iterator[Finding]:
        """What the tokenizers are to each other; nothing where the drafter has none of its own."""
        if self._pair is None:
            return
        model, draft = self._pair
        both = self._vocabularies()
        if both is None:
            unknown = next((each for each in (draft, model) if each.facts is None), None)
            if unknown is not None:
                sentence = f"whether {draft.name} has the tokens of {model.name} nobody can say: {_lacking(unknown)}"
                yield Finding(About.TOKENIZER, holds=None, sentence=sentence)
            return
        yield Finding(About.TOKENIZER, holds=True, sentence=_compared(*both))


def _vocabulary(facts: Facts | None) -> Vocabulary | None:
    return None if facts is None else facts.vocabulary


def _compared(ours: Vocabulary, theirs: Vocabulary) -> str:
    """Two vocabularies that the engine takes for a pair."""
    if ours.sha256 == theirs.sha256:
        same = f"the two have the same {ours.size:,} tokens, sha256 {ours.sha256[:_DIGITS]}"
        if (ours.pre, ours.merges) == (theirs.pre, theirs.merges):
            return f"{same}, and split text alike"
        return f"{same}, and split text otherwise, which drafts do not mind"
    if ours.sha256_2000 == theirs.sha256_2000:
        first = f"the first 2000 tokens are the same, sha256 {ours.sha256_2000[:_DIGITS]}"
        return f"{first}, and the engine takes the rest: {ours.size:,} and {theirs.size:,} in all"
    return f"the tokens differ among those that the engine does not compare: {ours.size:,} and {theirs.size:,} in all"
