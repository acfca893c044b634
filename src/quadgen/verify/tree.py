"""A whole rendered tree: every host against every generator and systemd, a few hosts at a time."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path

from quadgen.problems import Place, Problem, Severity, Unavailable
from quadgen.verify.analyze import analyze
from quadgen.verify.generator import Generated, generate
from quadgen.verify.layout import QUADLETS, UNITS, Host, Manager
from quadgen.verify.programs import GENERATORS, TIMEOUT, VARIABLE, Generator
from quadgen.verify.scan import find_hosts, read_host
from quadgen.verify.words import compare

Progress = Callable[[int, int, str], None]
"""Called after each host with how many are done, how many there are, and its name."""

_NO_GENERATOR = f"no Quadlet generator at {' or '.join(GENERATORS)}, and {VARIABLE} names none"
_NO_SYSTEMD = "no systemd-analyze on PATH"


@dataclass(slots=True)
class _Tally:
    """What was looked at, and what could not be."""

    problems: list[Problem] = field(default_factory=list)
    found: int = 0
    verified: int = 0
    unread_quadlets: int = 0
    unread_units: int = 0

    def add(self, other: "_Tally") -> None:
        self.problems += other.problems
        self.found += other.found
        self.verified += other.verified
        self.unread_quadlets += other.unread_quadlets
        self.unread_units += other.unread_units


def verify_tree(
    root: str,
    *,
    generators: Sequence[Generator],
    systemd_analyze: str | None,
    hosts: frozenset[str] | None,
    progress: Progress,
    timeout: float = TIMEOUT,
) -> list[Problem]:
    """Everything that the real programs have against a rendered tree, in the order of hosts and files.

    `root` is an output directory or one host's directory in it; `hosts` narrows it to those names (None:
    all). Every unit goes to each of `generators`, and to systemd once for each. `timeout` is in seconds,
    for one program over one host. Parts of the tree for which there is no program are named in warnings of
    code `not-verified`; Unavailable is raised where that leaves nothing, and where the tree cannot be read.
    """
    found, strays = find_hosts(root)
    chosen = {name: path for name, path in found.items() if hosts is None or name in hosts}
    tally = _Tally(problems=strays if hosts is None else [])
    tally.problems += [_unknown(root, name) for name in sorted((hosts or frozenset()) - set(found))]
    done: dict[str, _Tally] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        jobs = {
            pool.submit(_verify_host, name, directory, generators, systemd_analyze, timeout): name
            for name, directory in chosen.items()
        }
        try:
            for job in as_completed(jobs):
                done[jobs[job]] = job.result()
                progress(len(done), len(jobs), jobs[job])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    for name in sorted(done):
        tally.add(done[name])
    missing = list(_missing(tally, generators, systemd_analyze))
    if missing and not tally.verified:
        raise Unavailable("; ".join(problem.message for problem in missing))
    if chosen and not tally.found:
        place = Place(file=root, line=1, column=1)
        missing = [replace(_not_verified(f"the hosts of {root} have no units"), place=place)]
    return [*missing, *tally.problems]


def _verify_host(
    name: str, directory: str, generators: Sequence[Generator], systemd_analyze: str | None, timeout: float
) -> _Tally:
    host = read_host(name, directory)
    tally = _Tally(problems=list(host.problems))
    suited = [generator for generator in generators if generator.speaks_for(host.podman)]
    for manager in host.managers:
        quadlets = sum(file.name.endswith(QUADLETS) for file in manager.quadlets)
        units = sum(file.name.endswith(UNITS) for file in manager.units)
        tally.found += quadlets + units
        tally.verified += (quadlets if suited else 0) + (units if systemd_analyze else 0)
        tally.unread_units += 0 if systemd_analyze else units + (quadlets if suited else 0)
        if quadlets and generators and not suited:
            tally.problems.append(_too_old(host, quadlets, generators))
        elif not suited:
            tally.unread_quadlets += quadlets
        asked: list[Generator | None] = [*suited] if quadlets and suited else [None]
        found = [
            (generator, problem)
            for generator in asked
            for problem in _verify_manager(host, manager, generator, systemd_analyze, timeout)
        ]
        tally.problems += _merge(found, len(asked))
    tally.problems.sort(key=_by_place)
    return tally


def _by_place(problem: Problem) -> tuple[str, int]:
    return (problem.place.file, problem.place.line) if problem.place else ("", 0)


def _verify_manager(
    host: Host, manager: Manager, generator: Generator | None, systemd_analyze: str | None, timeout: float
) -> list[Problem]:
    try:
        with tempfile.TemporaryDirectory(prefix="quadgen-verify-") as folder:
            stage = Path(folder).resolve()
            if ":" in str(stage):
                raise Unavailable(f"{stage} holds a colon, which separates directories: set TMPDIR to another")
            problems: list[Problem] = []
            generated: list[Generated] = []
            if generator:
                generated, problems = generate(host, manager, generator=generator, stage=stage, timeout=timeout)
                problems += compare(host, manager, generated)
                problems += _clashes(host, manager, generated)
            if systemd_analyze:
                problems += analyze(host, manager, generated, program=systemd_analyze, stage=stage, timeout=timeout)
            return problems
    except OSError as error:
        raise Unavailable(f"cannot write {error.filename or 'temporary files'}: {error.strerror}") from error


def _merge(found: Sequence[tuple[Generator | None, Problem]], asked: int) -> list[Problem]:
    """Make one problem of what several generators meet alike; a note says which did."""
    versions: dict[Problem, list[str]] = {}
    for generator, problem in found:
        versions.setdefault(problem, []).extend([generator.version] if generator else [])
    merged = []
    for problem, said in versions.items():
        whole = problem.code == "systemd-refused" and len(said) == asked
        note = () if whole or not said else (f"with Quadlet {' and '.join(said)}",)
        merged.append(replace(problem, notes=(*problem.notes, *note)))
    return merged


def _clashes(host: Host, manager: Manager, generated: Sequence[Generated]) -> Iterator[Problem]:
    """Find unit files of the administrator that hide a generated service of their name (systemd.unit(5))."""
    written = {file.below: file for file in manager.units}
    for made in generated:
        if made.source and (file := written.get(made.name)):
            message = f"{file.below} hides the service that is made of {made.source.below}"
            yield host.problem(message, code="name-clash", file=file, hint="rename one of the two services")


def _missing(tally: _Tally, generators: Sequence[Generator], systemd_analyze: str | None) -> Iterator[Problem]:
    if tally.unread_quadlets and not generators:
        yield _not_verified(f"{_count(tally.unread_quadlets, 'Quadlet')} not verified: {_NO_GENERATOR}")
    if tally.unread_units and not systemd_analyze:
        yield _not_verified(f"{_count(tally.unread_units, 'service')} not verified: {_NO_SYSTEMD}")


def _too_old(host: Host, quadlets: int, generators: Sequence[Generator]) -> Problem:
    versions = " and ".join(generator.version for generator in generators)
    return host.problem(
        f"{_count(quadlets, 'Quadlet')} not verified: the host needs Podman {host.podman}, not {versions}",
        code="not-verified",
        severity=Severity.WARNING,
        hint=f"name a later generator in {VARIABLE}",
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"


def _not_verified(message: str) -> Problem:
    return Problem(code="not-verified", message=message, severity=Severity.WARNING)


def _unknown(root: str, name: str) -> Problem:
    return Problem(code="nothing-to-verify", message=f"{root} holds no rendered host {name}", host=name)
