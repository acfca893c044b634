"""Samples of a measurement, as tests and the examples of docs/errors.md write them: a list has one value a round."""

from collections.abc import Mapping
from typing import Any

from quadgen.measuring.sample import Arm, Sample, Turn

DRAFTS = {"drafted": 100, "accepted": 80, "rounds": 20}
"""Of a sample of the candidate, where nothing else is said."""


def sample(arm: Arm, number: int, /, **fields: Any) -> Sample:
    """One timed request on `copy`: 199 tokens in 5 seconds, or as `fields` say. Its output repeats nothing."""
    plain = {
        "tokens": 199, "seconds": 5.0, "cpu_seconds": None, "prompt": 300, "cached": 0, "drafted": 0, "accepted": 0,
        "rounds": 0, "output": range(200), "text": "some text",
    }  # fmt: skip
    made = plain | (DRAFTS if arm is Arm.CANDIDATE else {}) | fields
    made["output"] = tuple(made["output"])
    return Sample(turn=Turn(arm=arm, workload="copy", round=number), **made)


def samples(rounds: int = 7, /, **arms: Mapping[str, Any]) -> tuple[Sample, ...]:
    """Both arms: `candidate=` and `comparator=` say what is not as usual, a list for each round by itself."""
    return tuple(
        sample(arm, number, **{name: _of(number, value) for name, value in arms.get(arm, {}).items()})
        for arm in Arm
        for number in range(rounds)
    )


def _of(number: int, value: Any) -> Any:
    return value[number] if isinstance(value, list) else value
