"""Whether a drafter is worth deploying, from numbers: pure arithmetic, and the words for what comes out of it."""

from quadgen.triage.drafter import Drafter, drafter
from quadgen.triage.given import Given, Unclear
from quadgen.triage.judging import judge
from quadgen.triage.question import Attachability, Band, Question, Started, VerifyCost
from quadgen.triage.target import Figures, Target, target
from quadgen.triage.verdict import Answer, Projection, Verdict

__all__ = [
    "Answer",
    "Attachability",
    "Band",
    "Drafter",
    "Figures",
    "Given",
    "Projection",
    "Question",
    "Started",
    "Target",
    "Unclear",
    "Verdict",
    "VerifyCost",
    "drafter",
    "judge",
    "target",
]
