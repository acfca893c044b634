"""Whether a drafter can be attached to a service of a fleet at all, by the rules that a render has.

The service is decided as if it had a profile with this drafter, and once more without any speculation; what is wrong
with the first alone is the drafter's. Whether anybody measured it is beside the question, and told beside the answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from quadgen.attachment.adding import adding
from quadgen.attachment.deciding import key
from quadgen.attachment.findings import About, Finding, found
from quadgen.attachment.target import target
from quadgen.attachment.trial import Drafter, Trial, tried
from quadgen.evidence import cost, quoted
from quadgen.locating import located
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Severity
from quadgen.resolution import Resolution
from quadgen.resolve import EVIDENCE
from quadgen.speculation import BUILTIN

__all__ = ["About", "Attachment", "Drafter", "Finding", "attachable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """The answer, with what it rests on. Problems have their places."""

    host: str
    service: str
    drafter: Drafter
    attachable: bool | None
    """None where nothing speaks against it, and not everything is known."""
    before: tuple[Problem, ...]
    """Why the service is refused whatever it drafts with; that comes first."""
    problems: tuple[Problem, ...]
    """What the drafter adds: errors block it, warnings and notes do not."""
    evidence: tuple[Problem, ...]
    """What the ledger says of it, as notes and warnings; no part of the answer."""
    findings: tuple[Finding, ...]
    """What was looked at, in the order service, engine, composition, devices, tokenizer, memory."""
    resolution: Resolution | None = field(repr=False)
    """The service with the drafter, of which no unit can be built unless a measurement allows it; None where it is
    refused."""
    plain: Resolution | None = field(repr=False)
    """The service without any speculation; None where that is refused."""

    @property
    def measured(self) -> tuple[str, ...]:
        """What the ledger has for it: where it wins, and what that costs elsewhere. Empty where it does not win."""
        if self.resolution is None or not self.resolution.decision.rows:
            return ()
        decision = self.resolution.decision
        return (*map(quoted, decision.rows), *map(cost, decision.costs))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The sentences of the findings."""
        return tuple(each.sentence for each in self.findings)


def attachable(compiled: Compiled, host: str, service: str | None, drafter: Drafter) -> Attachment:
    """Say whether a service of a compiled fleet can have this drafter.

    `service` None is the only one of its host. Raises `Rejected` where there is no such host or service.
    """
    trial = tried(target(compiled, host, service), drafter)
    known = {key(each) for each in trial.before}
    fresh = [each for each in trial.drafting.problems if key(each) not in known]
    evidence = [each for each in fresh if each.code in EVIDENCE]
    unsure = [each for each in fresh if _is_unsure(each, trial)]
    problems = [each for each in fresh if each not in evidence and each not in unsure]
    findings = found(trial, problems, unsure)
    answers = {each.holds for each in findings}

    def place(some: Iterable[Problem]) -> tuple[Problem, ...]:
        return tuple(located(some, compiled.documents, compiled.name, compiled.fleet))

    return Attachment(
        host=host, service=trial.target.name, drafter=drafter,
        attachable=False if False in answers else None if None in answers or not findings else True,
        before=place(each for each in trial.before if each.severity is Severity.ERROR),
        problems=place((*problems, *(replace(each, severity=Severity.WARNING) for each in unsure))),
        evidence=place(_measurable(each, trial) for each in evidence), findings=tuple(findings),
        resolution=trial.drafting.resolution, plain=trial.plain.resolution,
    )  # fmt: skip


def _is_unsure(problem: Problem, trial: Trial) -> bool:
    """Whether a render refuses it only because nobody knows: a head that neither the fleet nor a header speaks of."""
    model = trial.model
    return problem.code == "head-missing" and model is not None and model.mtp is None and model.facts is None


def _measurable(problem: Problem, trial: Trial) -> Problem:
    """What the ledger says, with a command that works where the fleet has no such profile yet."""
    if trial.own or trial.spec is None or problem.hint is None:
        return problem
    if trial.spec.setting() == BUILTIN["default"].setting():
        return replace(problem, hint="`profile: default` drafts so where nobody measured it")
    return replace(problem, hint=adding(trial))
