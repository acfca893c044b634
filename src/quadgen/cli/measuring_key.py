"""What makes the samples of two runs the same, so that one can go on with those of the other."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Prepared
from quadgen.measuring.launch import Launch
from quadgen.measuring.workloads import Workload
from quadgen.problems import Unavailable


def key(ready: Prepared, asking: Sequence[Workload], asked: Asked) -> str:
    """A text that differs wherever their samples could."""
    subject = ready.subject
    return json.dumps(
        {
            "launches": [_launch(each) for each in subject.launches or ()],
            "urls": [asked.url, asked.against_url],
            "fingerprint": subject.fingerprint,
            "program": [subject.program, subject.build, subject.commit],
            "model": [subject.request.model, subject.request.header],
            "workloads": {each.name: each.sha256 for each in asking},
            "numbers": [asked.samples, asked.tokens],
            "ways": [asked.steady, asked.together],
            "clock": subject.clock,
        },
        sort_keys=True,
    )


def _launch(launch: Launch) -> list[object]:
    """Its words, and which program that is: another one may have come to its place."""
    return [launch.program, launch.container, launch.arguments, launch.environment, _identity(launch.program)]


def _identity(program: str) -> list[int] | None:
    try:
        found = os.stat(program)  # noqa: PTH116 - text, as in a launch
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def directory(environ: Mapping[str, str]) -> Path:
    """Where samples are kept meanwhile, by the XDG base directories. Raises `Unavailable` where nobody has a home."""
    state = environ.get("XDG_STATE_HOME", "")
    if os.path.isabs(state):  # noqa: PTH117 - the specification ignores others
        return Path(state, "quadgen", "measure")
    home = environ.get("HOME", "")
    if not home:
        raise Unavailable("there is no place to keep samples: neither XDG_STATE_HOME nor HOME is set")
    return Path(home, ".local", "state", "quadgen", "measure")
