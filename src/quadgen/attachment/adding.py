"""What to write into a fleet file so that a drafter can be measured on a service, and the command that does it."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from quadgen.attachment.trial import Trial
from quadgen.resolve import bringing
from quadgen.speculation import ProfileSpec

_PLAIN: Final = re.compile(r"[A-Za-z][\w.-]*").fullmatch
_MODEL: Final = "drafter"


def adding(trial: Trial) -> str:
    """The entries that the fleet lacks, and how a number is brought then; `trial` has a profile that it lacks."""
    spec = trial.spec
    assert spec is not None  # noqa: S101 - without one nothing can be measured
    fleet, to = trial.target.fleet, trial.target
    name = _free("-".join(spec.spec_types), fleet.data.get("profiles") or {})
    steps = []
    draft = spec.draft_model
    if draft is not None and draft not in (fleet.data.get("models") or {}):
        key = "hf" if draft.startswith("hf:") else "file"
        file, draft = draft.removeprefix("hf:"), _free(_MODEL, fleet.data.get("models") or {})
        steps.append(f"`{draft}: {_flow([(key, file)])}` to `models`")
    steps.append(f"`{name}: {_flow(_fields(spec, draft))}` to `profiles`")
    if trial.drafter.draft_device:
        steps.append(f"`draft_device: {_scalar(list(trial.drafter.draft_device))}` to the service")
    found = bringing.command(fleet.name, to.host, to.named, name, spec.workload)
    kind = trial.drafting.resolution.engine.kind if trial.drafting.resolution is not None else None
    way = found if kind is None else bringing.way(kind, found)
    return f"add {', '.join(steps)}, and bring a number: {way}"


def _fields(spec: ProfileSpec, draft: str | None) -> Iterator[tuple[str, Any]]:
    """The profile, but for what is so without being said."""
    yield "spec_types", list(spec.spec_types)
    if spec.draft_n_max is not None:
        yield "draft_n_max", spec.draft_n_max
    if draft is not None:
        yield "draft_model", draft
    yield "workload", spec.workload
    if spec.against != "default":
        yield "against", spec.against


def _free(name: str, taken: Iterable[str]) -> str:
    """The name, or one like it that nothing has."""
    known = set(taken)
    return next(
        each for each in (name, *(f"{name}-{number}" for number in range(2, len(known) + 3))) if each not in known
    )


def _flow(fields: Iterable[tuple[str, Any]]) -> str:
    """A mapping as YAML on one line."""
    return f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in fields)}}}"


def _scalar(value: Any) -> str:  # noqa: ANN401 - a name, a number, or several names
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    return str(value) if isinstance(value, int) or _PLAIN(str(value)) else json.dumps(value, ensure_ascii=False)
