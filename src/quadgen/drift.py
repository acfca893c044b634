"""A running server against what the fleet decided: whether it speculates, its name, slots, context, checkpoint, build.

A unit that is up and a health check that passes show none of it. What differs is a problem at the field that decided
it; what cannot be compared is said as well, so that silence means agreement.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from quadgen.engines.base import Served
from quadgen.engines.registry import ENGINES
from quadgen.facts.kv import STEP
from quadgen.fleet.layers import Chain
from quadgen.observed.live import Seen
from quadgen.observed.state import Observation, State
from quadgen.problems import Path, Problem, Severity
from quadgen.resolution import Resolution
from quadgen.units import build

_SPECULATES: Final = frozenset({State.RUNNING, State.IDLE, State.NEVER_ACCEPTED})
_NUMBERED: Final = re.compile(r"b([0-9]{1,9})").fullmatch
_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}").fullmatch
_VERSION: Final = re.compile(r"v?[0-9]+(?:\.[0-9]+)+").fullmatch
_UNNUMBERED: Final = 1
"""Builds from a shallow clone are b1, and those from an archive b0 (llama.cpp, cmake/build-info.cmake)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What came of comparing a server with the service that it should be."""

    problems: tuple[Problem, ...]
    """What differs: errors, and warnings where it is as decided and of no use. Without places."""
    unknown: tuple[str, ...]
    """What could not be compared, and why, in sentences without their end."""

    @property
    def differs(self) -> bool:
        """Whether the server is not what the fleet decided."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


Finding = Problem | str
"""A difference, or a sentence about what cannot be compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """One service, and the layers of the fleet that decided it."""

    service: Resolution
    chain: Chain
    served: Served

    def differs(
        self, message: str, *keys: str, path: Path | None = None, notes: tuple[str, ...] = (), hint: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> Problem:  # fmt: skip
        """A difference at the field `keys` of the service, or at `path`."""
        field = bool(path) or self.chain.said(*keys)
        return Problem(
            code="server-drift", severity=severity, message=message, path=path or self.chain.origin(*keys),
            at="value" if field else "key", host=self.service.host.name, service=self.service.name, notes=notes,
            hint=hint or f"where the unit is newer than the process: {self._manager('systemctl')} restart {self.unit}",
        )  # fmt: skip

    @property
    def unit(self) -> str:
        """As systemd calls it."""
        return build(self.service).unit

    @property
    def log(self) -> str:
        """What shows the log of the server."""
        return f"{self._manager('journalctl')} -u {self.unit}"

    def _manager(self, program: str) -> str:
        return f"{program} --user" if self.service.host.rootless else program


def drift(service: Resolution, chain: Chain, seen: Seen, observation: Observation) -> Drift:
    """Compare what was seen of a server with the service that it should be; `chain` is the layers of that."""
    at = _Comparison(service=service, chain=chain, served=ENGINES[service.engine.kind].served(service))
    engine, name = [*_engine(at, observation)], [*_name(at, seen)]
    file, build = [*_file(at, seen)], [*_build(at, seen)]
    found = [*engine, *_speculation(at, observation), *name, *_slots(at, seen), *_context(at, seen), *file, *build]
    problems = tuple(each for each in found if isinstance(each, Problem))
    if _differ(name, engine) or _differ(name, file, build):
        first, *others = problems
        problems = (replace(first, hint=_another(at)), *(replace(each, hint=None) for each in others))
    return Drift(problems=problems, unknown=tuple(each for each in found if isinstance(each, str)))


def _differ(*parts: list[Finding]) -> bool:
    return all(any(isinstance(each, Problem) for each in part) for part in parts)


def _another(at: _Comparison) -> str:
    """A restart helps nothing where next to nothing is as decided."""
    service = at.service
    return (
        "this is likely another server: look at its address, and at which service it should be; "
        f"{service.host.name}/{service.name} listens on port {service.port}"
    )


def _engine(at: _Comparison, observation: Observation) -> Iterator[Finding]:
    engine = at.service.engine
    if observation.engine is None:
        yield "its engine: nothing that it answers is of one engine alone"
    elif observation.engine != engine.kind:
        message = f"the server is {observation.engine}, and {engine.name} is {engine.kind}"
        yield at.differs(message, path=("engines", engine.name, "kind"))


def _speculation(at: _Comparison, observation: Observation) -> Iterator[Finding]:
    decided, requested = at.service.decision.types, observation.requested
    profile, state = at.service.decision.profile.name, observation.state
    wanted = ",".join(decided) or "no speculation"
    if state is State.UNKNOWN:
        yield f"whether it speculates: {'; '.join(observation.reasons)}"
    elif decided and state not in _SPECULATES:
        yield at.differs(
            f"the server does not speculate, and {profile} means {wanted} here", "profile", notes=observation.reasons,
            hint=f"its log says why: {at.log} | quadgen observe -",
        )  # fmt: skip
    elif not decided and state in _SPECULATES:
        yield at.differs(
            f"the server speculates, and {profile} means no speculation here", "profile", notes=observation.reasons
        )
    elif decided and state is State.NEVER_ACCEPTED:
        yield at.differs(
            f"the server speculates as decided, and next to nothing of it is accepted: {wanted}", "profile",
            notes=observation.reasons, severity=Severity.WARNING, hint="a drafter that was not made for this checkpoint"
            " costs time and saves none: quadgen triage, or `profile: none`",
        )  # fmt: skip
    if requested is not None and set(requested) != set(decided):
        given = ",".join(requested) or "no --spec-type"
        yield at.differs(f"the server was given {given}, and {profile} means {wanted} here", "profile")
    elif decided and state in _SPECULATES:
        if requested is None:
            yield "which drafters it was given: a server of llama.cpp says so after its first request"
        if len(decided) > 1:
            yield f"whether each of {wanted} runs: one that cannot is passed over in silence"


def _name(at: _Comparison, seen: Seen) -> Iterator[Finding]:
    alias = None if seen.properties is None else seen.properties.alias
    names = [alias] if alias is not None else [name for each in seen.models or () for name in (each.id, *each.aliases)]
    if not names:
        yield "its name: the server does not say"
    elif at.served.names.isdisjoint(names):
        expected = " or ".join(sorted(at.served.names))
        yield at.differs(
            f"the server calls its model {', '.join(dict.fromkeys(names))}, and `alias` is {expected}", "alias"
        )


def _slots(at: _Comparison, seen: Seen) -> Iterator[Finding]:
    expected, found = at.served.slots, _number(seen)
    if found is None:
        yield "its slots: the server does not say how many"
    elif expected is None:
        yield f"its slots: the fleet leaves them to the server, which has {found}"
    elif found != expected:
        yield at.differs(f"the server has {_count(found, 'slot')}, and `slots` is {expected}", "slots")


def _number(seen: Seen) -> int | None:
    """Slots that the server has."""
    told = [each.slots for each in (seen.properties, seen.health) if each is not None and each.slots is not None]
    return len(seen.slots) if seen.slots else next(iter(told), None)


def _context(at: _Comparison, seen: Seen) -> Iterator[Finding]:
    """No slot has more than the model was trained for, also where slots share a cache of which each may use all.

    See n_ctx_slot of tools/server/server-context.cpp, b11434. It is as decided where that is not less than `context`.
    """
    expected, decided = at.served.context, at.service.context
    trained = {model.trained for model in seen.models or ()}
    told = [slot.context for slot in seen.slots or ()]
    told += [each.context for each in (seen.properties, seen.health) if each is not None]
    said = [context for context in told if context is not None]
    if not said:
        yield "its context: the server does not say"
        return
    found = min(said)
    if expected is None:
        yield f"its context: the fleet leaves it to the server, which has {found} tokens a slot"
    elif found != expected and not (decided <= found < expected and found in trained):
        words = f"`context` is {decided}"
        if expected != decided:
            words += f", which comes to {expected} there"
        hint = _cause(at, seen, found, expected)
        yield at.differs(f"the server gives a slot {found} tokens, and {words}", "context", hint=hint)


def _cause(at: _Comparison, seen: Seen, found: int, expected: int) -> str | None:
    """Why a slot has other tokens than were decided, where that can be told."""
    decided, slots = at.served.slots, _number(seen)
    if decided and slots and slots != decided:
        shared = slots * found // decided  # slots share what -c gives
        told = f"{_count(slots, 'slot')} of {found} tokens, which is {_count(decided, 'slot')} of {shared}"
        if abs(shared - expected) < STEP:
            return f"the number of slots makes it so: {told}"
    if found < expected:
        return f"a slot has no more than the model was trained for; where that is {found}, set `context: {found}`"
    return None


def _file(at: _Comparison, seen: Seen) -> Iterator[Finding]:
    path = None if seen.properties is None else seen.properties.model_path
    model = at.service.model
    if path is None:
        yield "its checkpoint: the server does not say which file it reads"
    elif at.served.file is None:
        yield f"its checkpoint: the server chooses a file of {model.hf}, and reads {_last(path)}"
    elif _last(path) != at.served.file:
        key = "file" if model.file is not None else "url" if model.url is not None else "hf"
        message = f"the server reads {_last(path)}, and {model.name} is {at.served.file}"
        yield at.differs(message, path=("models", model.name, key))


def _build(at: _Comparison, seen: Seen) -> Iterator[Finding]:
    engine = at.service.engine
    said = seen.properties.build if seen.properties is not None else None
    said = said or (seen.health.version if seen.health is not None else None)
    if said is None:
        yield "its build: the server does not say"
    elif engine.build is None:
        yield f"its build: the fleet states none for {engine.name}, and the server is {said}"
    else:
        same = _same_build(engine.build, said)
        if same is None:
            yield f"its build: the server says {said}, which cannot be held against {engine.build}"
        elif not same:
            message = f"the server is build {said}, and {engine.name} is {engine.build}"
            yield at.differs(message, path=("engines", engine.name, "build"))


def _same_build(decided: str, said: str) -> bool | None:
    """Whether a build that a fleet names is the one that a server says it is; None where that cannot be told."""
    number, _, commit = said.partition("-")
    wanted, numbered = _NUMBERED(decided), _NUMBERED(number)
    if wanted and numbered and int(numbered[1]) > _UNNUMBERED:
        return int(wanted[1]) == int(numbered[1])
    if _COMMIT(decided) and _COMMIT(commit):
        return decided.startswith(commit) or commit.startswith(decided)
    if _VERSION(decided) and _VERSION(said):
        shorter, longer = sorted((decided.removeprefix("v"), said.removeprefix("v")), key=len)
        return longer == shorter or longer.startswith(f"{shorter}.")
    return None


def _last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
