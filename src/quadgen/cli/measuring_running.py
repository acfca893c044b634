"""Two servers that run already, as the arms of a measurement."""

import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Final

import typer

from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Prepared, Subject
from quadgen.cli.servers import api_key
from quadgen.engines.drafters import CARRYING, DRAFTERS
from quadgen.evidence import Policy, Request, Setting, shipped_rows
from quadgen.facts.quantization import named
from quadgen.gguf.tensor_types import FILE_TYPES
from quadgen.measuring.sample import Clock
from quadgen.measuring.told import Told, compared, setting
from quadgen.measuring.workloads import usual
from quadgen.problems import Rejected, Severity
from quadgen.sampling.addressed import Addressed, told
from quadgen.sampling.machine import processor
from quadgen.server.client import connected
from quadgen.speculation import BUILTIN, ProfileSpec

UNKNOWN: Final = "unknown"
_FTYPE: Final = re.compile(r"(?:\(guessed\) )?(\w+)(?: - (Small|Medium|Large))?")
"""llama_model_ftype_name of llama.cpp b11434, src/llama-model-loader.cpp."""
_CONTEXT: Final = 4096
"""Tokens that texts are cut to where a server does not say how many it has."""


def prepared(asked: Asked, environ: Mapping[str, str]) -> Prepared:
    """Ask both what they are, and refuse a comparison that says nothing of their drafters."""
    spec, types = _named(asked)
    key = api_key(asked.api_key_file)
    urls = asked.url or "", asked.against_url or ""
    with ExitStack() as stack:
        both = [told(stack.enter_context(connected(url, environ=environ, api_key=key))) for url in urls]
    one, other = both
    width = asked.draft_n_max or (spec.draft_n_max if spec is not None else None)
    mine, wrong = setting(one, named=types, draft_n_max=width, draft_model=asked.draft_model)
    found = (*compared(one, other), *wrong)
    if any(each.severity is Severity.ERROR for each in found):
        raise Rejected(found)
    theirs = Setting.of(other.types)
    subject = Subject(
        what=f"{one.url} and {other.url}",
        profile=asked.profile or ",".join(mine.types),
        against=",".join(theirs.types) or "none",
        floor=False,
        own=_own(spec, mine),
        decides=spec is not None,
        request=_request(asked, one, mine, theirs),
        launches=None,
        clock=Clock.WALL,
        context=min((each.context for each in both if each.context), default=_CONTEXT),
        carries=any(each in CARRYING for each in mine.types),
        comparator_carries=any(each in CARRYING for each in theirs.types),
        program=f"llama-server {one.build}" if one.build else "llama-server",
        build=asked.build or one.number or one.commit or UNKNOWN,
        commit=one.commit,
        fingerprint=None,
        device=asked.device or (processor(environ) if asked.backend == "cpu" else UNKNOWN),
        comparator_drafts=bool(theirs.types),
        remarks=found,
    )
    return Prepared(
        subject=subject,
        candidate=Addressed(url=urls[0], types=mine.types, environ=environ, api_key=key),
        comparator=Addressed(url=urls[1], types=theirs.types, environ=environ, api_key=key),
        min_gain=subject.request.policy.min_gain,
        name="running",
        host="",
        place=subject.what,
        asks=False,
        taken=frozenset(row.id for row in shipped_rows()),
        compiled=None,
    )


def _named(asked: Asked) -> tuple[ProfileSpec | None, tuple[str, ...]]:
    """The profile or the types that were named. Raises a usage error where it is neither."""
    if asked.profile is None:
        return None, ()
    spec = BUILTIN.get(asked.profile)
    types = spec.spec_types if spec is not None else tuple(asked.profile.split(","))
    unknown = [each for each in types if each not in DRAFTERS]
    if unknown or not types:
        message = f"{asked.profile!r} is neither a built-in profile nor types of --spec-type"
        raise typer.BadParameter(message, param_hint="--profile")
    return spec, types


def _own(spec: ProfileSpec | None, mine: Setting) -> str | None:
    """The workload that such drafters are for."""
    if spec is not None:
        return spec.workload
    return usual(mine.types)


def _request(asked: Asked, one: Told, mine: Setting, theirs: Setting) -> Request:
    """What a row of it answers; nobody asked it, so the policy is the default one."""
    return Request(
        engine="llama.cpp",
        build=asked.build or one.number,
        backend=asked.backend or "",
        devices=(),
        model=asked.model_id or one.model or one.file or UNKNOWN,
        header=None,
        quantization=_quantization(one),
        setting=mine,
        against=theirs,
        default=Setting.of(()),
        workload="",
        policy=Policy(),
    )


def _quantization(one: Told) -> str | None:
    """As the header says it, from the engine's words for that (`Q4_K - Medium`), else from the file's name."""
    found = _FTYPE.match(one.quantization or "")
    word = "" if found is None else found[1] + (f"_{found[2][0]}" if found[2] else "")
    return word if word in FILE_TYPES.values() else named(one.file or "")
