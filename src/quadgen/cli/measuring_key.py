"""What makes the samples of two runs the same, so that one can go on with those of the other."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Prepared
from quadgen.gguf.shards import siblings
from quadgen.gguf.source import Malformed
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
            "program": [subject.program, subject.build, subject.commit, subject.image],
            "machine": [subject.device, dict(ready.variables)],
            "model": [subject.request.model, subject.request.header],
            "files": [[path, _identity(path)] for name in ready.files for path in _whole(name)],
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


def _whole(name: str) -> tuple[str, ...]:
    """All files of one that is in parts."""
    try:
        return siblings(name)
    except Malformed:  # a later part, which the server itself refuses
        return (name,)


def _identity(path: str) -> list[int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - text, as in a launch
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
