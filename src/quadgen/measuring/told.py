"""Two servers that run: what each says of itself, and whether comparing them says anything about speculation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from quadgen.engines.drafters import DRAFT
from quadgen.evidence import Setting
from quadgen.measuring.machine import UNCOUNTED
from quadgen.problems import Problem, Severity

_numbered: Final = re.compile(r"b(\d{1,9})(?:-.*)?").fullmatch
_BOTH: Final = "both servers must be one build with one checkpoint, and differ in what they speculate with"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a running server says of itself; None where it does not."""

    url: str
    """Its address, without anything secret."""
    build: str | None = None
    """As in `b11434-abcdef1`."""
    model: str | None = None
    """Its name for clients."""
    file: str | None = None
    """The checkpoint's name, without its directory."""
    parameters: int | None = None
    size: int | None = None
    """Bytes of its tensors."""
    vocabulary: int | None = None
    """Tokens."""
    quantization: str | None = None
    """In the engine's words: `Q4_K - Medium`."""
    context: int | None = None
    """Tokens of each slot."""
    slots: int | None = None
    speculative: bool | None = None
    """Whether any drafter runs."""
    requested: tuple[str, ...] = ()
    """--spec-type of its command line, what was passed over included; empty also where nobody says."""

    @property
    def types(self) -> tuple[str, ...]:
        """What it speculates with, as far as it says."""
        return self.requested if self.speculative else ()

    @property
    def number(self) -> str | None:
        """`b11434`; None where the number is one that no build has."""
        found = _numbered(self.build or "")
        return f"b{found[1]}" if found and int(found[1]) > UNCOUNTED else None

    @property
    def commit(self) -> str | None:
        """None where it is unknown to the program itself."""
        commit = (self.build or "").partition("-")[2]
        return commit if commit not in ("", "unknown") else None


def compared(candidate: Told, comparator: Told) -> tuple[Problem, ...]:
    """Why a comparison of these two is none of their drafters: errors; what is not proven: notes."""
    if candidate.url == comparator.url:
        message = f"{candidate.url} is given twice: a server is compared with itself"
        return (Problem(code="unlike-servers", message=message, hint="give another one to --against-url"),)
    return (*_speculating(candidate, comparator), *_unlike(candidate, comparator), *_unproven(candidate, comparator))


def setting(
    candidate: Told, *, named: tuple[str, ...] = (), draft_n_max: int | None = None, draft_model: str | None = None
) -> tuple[Setting, tuple[Problem, ...]]:
    """What the candidate speculates with: by what it says, and for what it does not say by what was named.

    `named` are types as --spec-type has them; none where nobody named any. The problems are an error where it says
    other types than were named, and a note where nobody says its width.
    """
    types = candidate.types or named
    found = Setting.of(types, draft_n_max=draft_n_max, draft_model=draft_model)
    if named and candidate.types and set(named) != set(candidate.types):
        message = f"{candidate.url} speculates with {_joined(candidate.types)}, and {_joined(named)} was named"
        return found, (Problem(code="unlike-servers", message=message, hint="leave --profile out, or name its own"),)
    if draft_n_max is None and any(each.startswith(DRAFT) for each in types):
        message = f"no server says its draft width, so {candidate.url} is recorded with the engine's own"
        hint = "say it with --draft-n-max where it was started with --spec-draft-n-max"
        return found, (Problem(code="unlike-servers", message=message, severity=Severity.NOTE, hint=hint),)
    return found, ()


def _joined(types: tuple[str, ...]) -> str:
    return ",".join(types) or "nothing"


def _speculating(candidate: Told, comparator: Told) -> Iterator[Problem]:
    if candidate.speculative is False:
        rest = ", and the other does" if comparator.speculative else ""
        hint = "change the two addresses round" if comparator.speculative else "start it with --spec-type"
        message = f"{candidate.url}, which is to be measured, does not speculate{rest}: its /slots say so"
        yield Problem(code="not-speculating", message=message, hint=hint)
    elif candidate.types and set(candidate.types) == set(comparator.types):
        message = f"both speculate with {_joined(candidate.types)}: what they differ in, no server says"
        yield Problem(code="unlike-servers", message=message, hint="measure two widths with --fleet, or with --server")


def _unlike(candidate: Told, comparator: Told) -> Iterator[Problem]:
    differ = [
        f"{what}: {one} and {other}"
        for what, one, other in (
            ("build", candidate.build, comparator.build),
            ("parameters", candidate.parameters, comparator.parameters),
            ("bytes of tensors", candidate.size, comparator.size),
            ("tokens of the vocabulary", candidate.vocabulary, comparator.vocabulary),
            ("quantisation", candidate.quantization, comparator.quantization),
        )
        if one is not None and other is not None and one != other
    ]
    if differ:
        message = f"{candidate.url} and {comparator.url} differ in more than their drafters"
        yield Problem(code="unlike-servers", message=message, notes=tuple(differ), hint=_BOTH)


def _unproven(candidate: Told, comparator: Told) -> Iterator[Problem]:
    """What may make a difference that is none of the drafters', and what nobody can tell."""
    if candidate.commit is None and candidate.number is None:
        message = f"{candidate.url} does not know its own build, so that nothing proves that both are one"
        yield Problem(code="unlike-servers", message=message, severity=Severity.NOTE, hint=_BOTH)
    differ = [
        f"{what}: {one} and {other}"
        for what, one, other in (
            ("slots", candidate.slots, comparator.slots),
            ("tokens of a slot", candidate.context, comparator.context),
            ("file", candidate.file, comparator.file),
        )
        if one is not None and other is not None and one != other
    ]
    if differ:
        message = "the two servers were not started alike, and what they were given counts towards the ratio"
        yield Problem(code="unlike-servers", message=message, severity=Severity.NOTE, notes=tuple(differ), hint=_BOTH)
