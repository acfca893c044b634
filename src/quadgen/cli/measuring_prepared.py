"""From the options to two arms that can be asked: a service is decided, its program and its machine are looked at."""

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from quadgen.cli import gguf_files, measuring_alone, measuring_environ, measuring_running, work
from quadgen.cli.measuring_asked import Asked, Mode
from quadgen.cli.measuring_values import Prepared, Subject
from quadgen.evidence import Request
from quadgen.facts.quantization import said
from quadgen.facts.record import Facts
from quadgen.measuring import alike
from quadgen.measuring.arms import Arms, arms
from quadgen.measuring.launch import Launch
from quadgen.measuring.launching import launch
from quadgen.measuring.machine import Machine, arguments_fingerprint
from quadgen.measuring.sample import Clock
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Rejected, Severity, Unavailable
from quadgen.resolution import Resolution
from quadgen.sampling import podman
from quadgen.sampling.machine import machine
from quadgen.sampling.opening import Started
from quadgen.speculation import BUILTIN


def prepared(asked: Asked, environ: Mapping[str, str]) -> Prepared:
    """Decide both arms, and refuse what cannot be measured, or would be credited to what it is not."""
    if asked.mode is Mode.URL:
        return measuring_running.prepared(asked, environ)
    if asked.mode is Mode.ALONE:
        found = measuring_alone.found(asked, environ)
        remarks = tuple(replace(each, host=None, service=None) for each in _remarks(found.arms, found.program, None))
        return _of(asked, found.compiled, found.arms, _Seen(found.program, found.file, remarks), environ)
    host, service = asked.place
    compiled = work.compiled(asked.fleet or "", [host], about=host)
    both = arms(compiled, host, service, asked.profile or "")
    seen = _looked(asked, both, environ)
    return _of(asked, compiled, both, seen, _given(asked, both, environ))


class _Seen(NamedTuple):
    """What program, machine and checkpoint say of themselves."""

    program: Machine
    file: Facts | None
    remarks: tuple[Problem, ...]


def _looked(asked: Asked, both: Arms, environ: Mapping[str, str]) -> _Seen:
    """Look at what the fleet names. Raises `Rejected` where that is something else, `Unavailable` where it is not."""
    candidate = both.candidate
    if _contained(asked, both):
        podman.check_user(candidate.host)
    _there(_files(both))
    file = _header(candidate, environ)
    program = machine(launch(candidate, server=asked.server), environ=_given(asked, both, environ))
    return _Seen(program, file, _remarks(both, program, file))


def _contained(asked: Asked, both: Arms) -> bool:
    return both.candidate.host.runtime == "podman" and asked.server is None


def _given(asked: Asked, both: Arms, environ: Mapping[str, str]) -> Mapping[str, str]:
    """The variables of quadgen's own that its servers get, or Podman."""
    if _contained(asked, both):
        return environ
    return measuring_environ.of_unit(environ, named=asked.server is not None)


def _remarks(both: Arms, program: Machine, file: Facts | None) -> tuple[Problem, ...]:
    found = (*both.problems, *alike.objections(both.candidate, program, file=file))
    if any(each.severity is Severity.ERROR for each in found):
        raise Rejected(found)
    return found


def _of(asked: Asked, compiled: Compiled, both: Arms, seen: _Seen, environ: Mapping[str, str]) -> Prepared:
    candidate, program = both.candidate, seen.program
    launches = launch(candidate, server=asked.server), launch(both.comparator, server=asked.server)
    request = both.request if seen.file is None else _of_file(both.request, candidate, seen.file)
    fleet = asked.mode is Mode.FLEET
    subject = Subject(
        what=f"{_place(both)} of {asked.fleet}" if fleet else asked.target or "",
        profile=both.spec.name,
        against=both.spec.against,
        floor=both.spec.floor,
        own=None if both.spec.floor else both.spec.workload,
        decides=not both.spec.floor and (fleet or both.spec.name in BUILTIN),
        request=request,
        launches=launches,
        clock=Clock.CPU if candidate.backend == "cpu" else Clock.WALL,
        context=candidate.context,
        carries=both.carries,
        comparator_carries=both.comparator_carries,
        program=_program(launches[0], program),
        build=candidate.engine.build or program.build or program.commit or "unknown",
        commit=program.commit,
        fingerprint=f"{program.fingerprint}-{arguments_fingerprint(*(each.arguments for each in launches))}",
        device=alike.device(candidate, program),
        comparator_drafts=bool(both.comparator.decision.types),
        image=program.image,
        remarks=seen.remarks,
    )
    return Prepared(
        subject=subject,
        candidate=Started(launch=launches[0], environ=environ),
        comparator=Started(launch=launches[1], environ=environ),
        min_gain=request.policy.min_gain,
        name=both.host if fleet else subject.device,
        host=both.host,
        place=_place(both),
        asks=_asks(compiled, both),
        taken=frozenset(row.id for row in compiled.resolved.gate.ledger.rows),
        compiled=compiled if fleet else None,
        files=_files(both),
        variables={} if _contained(asked, both) else measuring_environ.telling(environ),
    )


def _files(both: Arms) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for service in (both.candidate, both.comparator) for path in service.files))


def _there(files: tuple[str, ...]) -> None:
    """Raise `Unavailable` unless every one is there."""
    for path in files:
        try:
            with open(path, "rb"):  # noqa: PTH123 - as the unit says it
                pass
        except OSError as error:
            raise Unavailable(f"cannot open {path}: {error.strerror}") from error


def _header(service: Resolution, environ: Mapping[str, str]) -> Facts | None:
    """What the header of its checkpoint says here; None where the server fetches it itself."""
    name = service.model.file
    if name is None:
        return None
    path = next((path for path in service.files if path == name or path.endswith(f"/{name}")), None)
    return None if path is None else gguf_files.read(path, environ=environ).facts


def _of_file(request: Request, service: Resolution, file: Facts) -> Request:
    """The request as a row of this very file answers it, whether or not the lock has it."""
    return replace(request, header=file.header, quantization=said(file, service.model.file) or request.quantization)


def _place(both: Arms) -> str:
    return both.host if both.service is None else f"{both.host}/{both.service}"


def _asks(compiled: Compiled, both: Arms) -> bool:
    fields = compiled.fleet.chain(both.host, both.service).fields
    return bool(fields.get("profile", "default") == both.spec.name)


def _program(launch: Launch, program: Machine) -> str:
    name = launch.container[-1] if launch.container else os.path.basename(launch.program)  # noqa: PTH119 - text
    return f"{name} {program.version}" if program.version else name
