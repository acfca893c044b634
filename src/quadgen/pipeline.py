"""The chain, from the bytes of a fleet to the files of its hosts: read, resolve, build, render.

Everything that it reads comes through `Files`, so that a render is a function of bytes alone.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

from quadgen import carry, quadlet_keys
from quadgen.document import Document, load
from quadgen.engines.flags import FlagTable, load_table
from quadgen.engines.registry import ENGINES
from quadgen.engines.tables import choose_for
from quadgen.evidence import Ledger, Row, read_ledger, shipped_rows
from quadgen.facts import lock_file
from quadgen.facts.record import Lock
from quadgen.fleet.load import Fleet
from quadgen.fleet.load import load as load_fleet
from quadgen.locating import located, owner
from quadgen.locking import contradictions, file_name, literal_pattern
from quadgen.manifest import Manifests, Rendered, too_new
from quadgen.problems import Collector, Path, Problem, Rejected, Severity, Unavailable
from quadgen.render import Renderer
from quadgen.resolution import Resolution
from quadgen.resolve import Resolved, resolve
from quadgen.resolve.report import unknown
from quadgen.tree import HostTree, Template
from quadgen.unitfile import Unsafe
from quadgen.units import build

LEDGERS: Final = ("measurements/*.yml",)
"""Patterns of the ledgers of a fleet that names none."""
_LEDGER: Final = (".yml", ".yaml", ".json")

Tables = Callable[[Fleet, Mapping[str, FlagTable]], Mapping[str, FlagTable]]
"""Gives flag tables by engine for a fleet and the tables that its engines learned, by file."""


class Files(Protocol):
    """What a render reads. Names are as the user wrote them, relative to the fleet file or absolute."""

    def read(self, name: str) -> bytes:
        """The bytes of a file; raises `Unavailable`."""

    def matching(self, pattern: str) -> list[str]:
        """The names that match a glob pattern, sorted."""

    def templates(self) -> Mapping[str, Template]:
        """Templates by name: quadgen's own, and the fleet's in their place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A fleet, compiled: what would be written, and everything that was said on the way."""

    name: str
    fleet: Fleet
    resolved: Resolved
    trees: tuple[HostTree, ...]
    problems: tuple[Problem, ...]
    """Located, the worst first."""
    reported: tuple[Problem, ...] = field(repr=False)
    """The same as it was found: one for each service, without places."""
    documents: Mapping[str, Document] = field(repr=False)
    """The files that were read, by name, for `quadgen.locating`."""

    @property
    def refused(self) -> bool:
        """Whether nothing may be written."""
        return any(problem.severity is Severity.ERROR for problem in self.problems)


@dataclass(slots=True)
class _Reading:
    """The documents of one run, so that problems find their places."""

    files: Files
    sink: Collector
    documents: dict[str, Document]

    def document(self, name: str, data: bytes) -> Document | None:
        try:
            document = load(name, data)
        except Rejected as rejected:
            self.sink.extend(rejected.problems)
            return None
        self.documents[name] = document
        return document

    def ledger(self, fleet: Fleet) -> Ledger:
        rows: list[Row] = [*shipped_rows()]
        for position, pattern in enumerate(ledger_patterns(fleet)):
            names = self.files.matching(pattern)
            if not names and not any(sign in pattern for sign in "*?["):
                message = f"there is no ledger {pattern}"
                self.sink.add(Problem(code="missing-file", message=message, path=("measurements", position)))
            for name in names:
                if not name.endswith(_LEDGER):  # a refusal of a ledger quotes it, and it may be anybody's secret
                    message, hint = f"{name} is no ledger by its name", "a ledger ends in .yml"
                    path = ("measurements", position)
                    self.sink.add(Problem(code="unexpected-value", message=message, path=path, hint=hint))
                    continue
                document = self.document(name, self.files.read(name))
                if document is not None:
                    rows += read_ledger(name, document.data, shipped=False, collector=self.sink)
        return Ledger.of(rows, collector=self.sink, line=self._line)

    def _line(self, file: str, path: Path) -> int:
        document = self.documents.get(file)
        return document.locate(path).line if document is not None else 1

    def lock(self, fleet: Fleet) -> Lock:
        """What is recorded of the fleet's checkpoints; nothing where there is no lock yet."""
        name = file_name(fleet, self.sink)
        if name is None or not self.files.matching(literal_pattern(name)):
            return Lock()
        document = self.document(name, self.files.read(name))
        return lock_file.parse(name, document.data, self.sink) if document is not None else Lock()

    def learned(self, fleet: Fleet) -> dict[str, FlagTable]:
        found: dict[str, FlagTable] = {}
        for name, fields in (fleet.data.get("engines") or {}).items():
            path = fields.get("flags")
            if path is None or path in found:
                continue
            try:
                found[path] = load_table(self.files.read(path).decode(errors="replace"), file=path)
            except Unavailable as error:
                self.sink.add(Problem(code="missing-file", message=str(error), path=("engines", name, "flags")))
            except Rejected as rejected:
                self.sink.extend(map(_unquoted, rejected.problems))
        return found


def ledger_patterns(fleet: Fleet) -> tuple[str, ...]:
    """Where a fleet has ledgers of its own: glob patterns and names, relative to its file."""
    said = fleet.data.get("measurements")
    return LEDGERS if said is None else tuple(said)


def _unquoted(problem: Problem) -> Problem:
    """The problem without its line of a file that any name of the fleet may have made quadgen read."""
    return problem if problem.place is None else replace(problem, place=replace(problem.place, text=""))


def _trees(resolved: Resolved, renderer: Renderer, fleet: Fleet, sink: Collector) -> tuple[HostTree, ...]:
    manifests = Manifests()
    trees = []
    for host, services in resolved.hosts.items():
        rendered = []
        for resolution in services:
            unit = build(resolution)
            try:
                made = manifests.unit(unit, renderer.render(unit), resolution)
                rendered.append(made)
                if made.podman is not None and not quadlet_keys.at_least(resolution.host.podman, made.podman):
                    sink.add(_too_old(resolution, made, fleet))
            except Unsafe as error:
                sink.extend(carry.culprits(resolution, unit, fleet, error.reason))
            except Rejected as rejected:
                sink.extend(replace(problem, host=host, service=resolution.name) for problem in rejected.problems)
        trees.append(manifests.tree(host, rendered))
    return tuple(trees)


def _too_old(resolution: Resolution, made: Rendered, fleet: Fleet) -> Problem:
    """Refuse a Podman whose Quadlet drops the unit for a key, or passes over Notify=healthy."""
    podman = resolution.host.podman
    newer = dict(too_new(made.data.decode(), podman))
    waits = newer.pop("Notify=healthy", None)
    if waits is not None:  # the probe's own keys go with it
        newer = {key: since for key, since in newer.items() if not key.startswith("Health")}
    words, least = quadlet_keys.newness("Container", "Notify", podman)
    keys = [f"{key} (new in {since})" for key, since in newer.items()]
    if waits is not None:
        keys.insert(0, f"Notify=healthy ({words})")
    native = ", or runtime: systemd" if "systemd" in ENGINES[resolution.engine.kind].runtimes else ""
    hint = f"use a newer Podman{native}"
    if waits is not None:
        hint = f"use Podman {least} or newer{native}, or `health: false` to start without waiting for the server"
    elif keys:
        hint = "take the key out of the template, or use a newer Podman"
    return Problem(
        code="unsupported-key",
        message=f"Podman {podman} has no {' and no '.join(keys)}"
        if keys
        else f"Podman {podman} has not every argument of this unit, which needs {made.podman}",
        path=fleet.chain(resolution.host.name, None).origin("podman"),
        host=resolution.host.name,
        service=resolution.name,
        hint=hint,
    )


def _stand_in(engine: str) -> str:
    """What stands where the file of a learned table would; no file has such a name."""
    return f"\0{engine}"


def _rebuilt(fleet: Fleet, tables: Mapping[str, FlagTable]) -> Fleet:
    """The fleet as if its engines of these names were of the builds of these flag tables, which they had learned."""
    engines: dict[str, Any] = {
        name: {**fields, "build": tables[name].build, "flags": _stand_in(name)} if name in tables else fields
        for name, fields in (fleet.data.get("engines") or {}).items()
    }
    return replace(fleet, data={**fleet.data, "engines": engines})


def compile_fleet(
    name: str,
    files: Files,
    *,
    only: frozenset[str] | None = None,
    about: str | None = None,
    tables: Tables | None = None,
    advisory: bool = False,
) -> Compiled:
    """Compile the fleet file `name`. Raises `Rejected` where it cannot be read as YAML, `Unavailable` where not at all.

    `only` names the hosts that matter: refusals elsewhere become warnings. Everything else that is wrong is in
    `problems`, and then `trees` is not to be written. `about` names the host that is asked about: what is wrong
    with others is left out. `tables` gives, by engine, flag tables that stand in for those that engines have, and
    their builds for what the fleet says. With `advisory` a lack of evidence is only noted, services are decided as if
    it were there, and nothing is rendered.
    """
    sink = Collector()
    reading = _Reading(files, sink, {})
    document = reading.document(name, files.read(name))
    if document is None:
        raise Rejected(located(sink.problems, reading.documents, name, None))
    fleet = load_fleet(document, sink)
    ledger = reading.ledger(fleet)
    lock = reading.lock(fleet)
    sink.extend(contradictions(fleet, lock))
    learned = reading.learned(fleet)
    if tables is not None:
        other = tables(fleet, learned)
        fleet = _rebuilt(fleet, other)
        learned |= {_stand_in(engine): table for engine, table in other.items()}
    for host in sorted(only or ()):
        if host not in fleet.data["hosts"]:
            message, (_, hint) = f"there is no host {host} in the fleet", unknown("host", host, fleet.data["hosts"])
            sink.add(Problem(code="unexpected-value", message=message, path=("hosts",), at="key", hint=hint))

    resolved = resolve(
        fleet, ledger, learned=learned, tables=choose_for, files=lock.files, sink=sink, advisory=advisory
    )
    trees = () if advisory else _trees(resolved, Renderer(files.templates()), fleet, sink)
    problems: Iterable[Problem] = sink.problems
    if about is not None:
        problems = [problem for problem in problems if owner(problem)[0] in (None, about)]
    if only is not None:
        trees = tuple(tree for tree in trees if tree.host in only)
    return Compiled(
        name=name, fleet=fleet, resolved=resolved, trees=trees, reported=tuple(problems), documents=reading.documents,
        problems=tuple(located(problems, reading.documents, name, fleet, only)) if sink.problems else (),
    )  # fmt: skip


def find(compiled: Compiled, host: str, service: str | None) -> list[Resolution]:
    """The decided services of a host, or the one named."""
    every: Any = compiled.resolved.hosts.get(host, ())
    return [each for each in every if service is None or each.name == service]
