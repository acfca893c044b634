"""What real servers answered, below tests/data/captures: `cap-BUILD-CONFIGURATION.ENDPOINT`.

`ngram-cache` was started with --spec-type ngram-cache, `nospec` without; both served three requests between
`-before` and `-after`. `default` had served none.
"""

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "data" / "captures"
BUILDS = ("b10434", "b11434")


def text(build: str, configuration: str, endpoint: str) -> str:
    return (HERE / f"cap-{build}-{configuration}.{endpoint}").read_text(encoding="utf-8")


def answer(build: str, configuration: str, endpoint: str) -> Any:
    """What a JSON endpoint said: `slots`, `slots-before`, `props`, `models`, `health`."""
    return json.loads(text(build, configuration, f"{endpoint}.json"))


def metrics(build: str, configuration: str, when: str = "after") -> str:
    return text(build, configuration, f"metrics-{when}.txt")
