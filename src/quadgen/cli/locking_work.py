"""What `quadgen lock` does with a fleet, its lock and the files that were found: what to say, what to write."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import typer

from quadgen.cli import console
from quadgen.cli.locking_files import Outcome, Shelf
from quadgen.cli.progress import step
from quadgen.cli.work import Folder
from quadgen.document import Document, load
from quadgen.facts import lock_file
from quadgen.facts.record import Facts, Lock
from quadgen.fleet.load import Fleet
from quadgen.fleet.load import load as load_fleet
from quadgen.locating import located
from quadgen.locking import Named, changes, file_name, literal_pattern, named, renewed
from quadgen.problems import Collector, Problem, Rejected
from quadgen.resolve.catalog import checked_models
from quadgen.resolve.report import unknown


@dataclass(slots=True, kw_only=True)
class Task:
    """A fleet, its lock, and what was found of the files that both name."""

    fleet: Fleet
    lock: str
    """Its name as the fleet has it."""
    target: str
    """Where it is written."""
    before: bytes | None
    """What the lock file holds; None where there is none."""
    old: Lock
    asked: list[Named]
    whole: bool
    """Whether all of the fleet is asked for."""
    documents: Mapping[str, Document]
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    def read(self, shelf: Shelf) -> None:
        """Look at every file that is asked for."""
        for done, one in enumerate(self.asked):
            step(done, len(self.asked), one.name)
            self.outcomes[one.name] = shelf.read(one)
        step(len(self.asked), len(self.asked), "")

    @property
    def facts(self) -> dict[str, Facts]:
        """What was read."""
        return {name: one.facts for name, one in self.outcomes.items() if one.facts is not None}

    @property
    def broken(self) -> bool:
        """Whether a file is there and is no checkpoint, or nobody can say which one is meant."""
        return any(one.problem is not None for one in self.outcomes.values())

    @property
    def absent(self) -> list[tuple[Named, str]]:
        """What cannot be had here, and why."""
        reasons = [(one, self.outcomes[one.name].absent) for one in self.asked]
        return [(one, reason) for one, reason in reasons if reason is not None]

    @property
    def unrecorded(self) -> list[tuple[Named, str]]:
        """What cannot be had and must be: nothing is recorded of it, or it was asked for by name."""
        return [(one, why) for one, why in self.absent if not self.whole or one.name not in self.old.files]

    @property
    def differs(self) -> bool:
        """Whether `--check` has found anything."""
        return any(self._drift())

    def problems(self, *, check: bool) -> list[Problem]:
        """Everything that is wrong, located."""
        found = [one.problem for one in self.outcomes.values() if one.problem is not None]
        found += self._drift() if check else map(_unrecorded, self.unrecorded)
        return located(found, self.documents, self.fleet.name, self.fleet)

    def _drift(self) -> Iterator[Problem]:
        hint = "run quadgen lock where the file is, and review what changes"
        for one in self.asked:
            old, new = self.old.files.get(one.name), self.outcomes[one.name].facts
            if old is None:
                message = f"{self.lock} has nothing of {one.name}"
                yield Problem(code="lock-differs", message=message, path=one.path, hint=hint)
            elif new is not None and (told := changes(old, new)):
                message, path = f"{one.name} is not what the lock has", ("files", one.name)
                yield Problem(
                    code="lock-differs", message=message, file=self.lock, path=path, at="key", notes=tuple(told),
                    hint=hint,
                )  # fmt: skip
        for name in self._superfluous():
            message, path = f"the fleet does not name {name}", ("files", name)
            yield Problem(
                code="lock-differs", message=message, file=self.lock, path=path, at="key",
                hint="run quadgen lock, and it goes",
            )  # fmt: skip

    def _superfluous(self) -> list[str]:
        return sorted(self.old.files.keys() - {one.name for one in self.asked}) if self.whole else []

    def notes(self, *, check: bool) -> Iterator[str]:
        """What a reader should know and nobody need mend."""
        missed = {one.name for one, _ in self.unrecorded}
        for one, reason in self.absent:
            if check or one.name not in missed:
                what = "not compared" if check else "kept as the lock has it"
                yield console.shown(f"{one.name}: {what}: {reason}")
        if self.whole:
            for one in named(self.fleet):
                if not one.is_gguf:
                    yield console.shown(f"{one.name}: nothing is recorded of a checkpoint of halogen's")

    def text(self) -> str | None:
        """What is to be written; None where the file is that already."""
        lock = renewed(self.old, self.asked, self.facts, whole=self.whole)
        text = lock_file.dump(lock)
        if text.encode() == self.before or (self.before is None and not lock.files):
            return None
        return text

    def summary(self, *, written: bool) -> str:
        """What was done, in one line."""
        new, gone = self.facts, self._superfluous()
        fresh = [name for name in new if name not in self.old.files]
        other = [name for name, facts in new.items() if name in self.old.files and changes(self.old.files[name], facts)]
        parts = [
            f"{len(names)} {what}"
            for names, what in ((fresh, "recorded"), (other, "renewed"), (gone, "taken out"))
            if names
        ]
        if self.unrecorded:
            parts.append(f"{len(self.unrecorded)} not to be had")
        if not written:
            parts.append("nothing to change")
        elif len(parts) == bool(self.unrecorded):
            parts.append("written anew")
        return f"{self.target}: {console.count(len(self.asked), 'file')}, {', '.join(parts)}"

    def verdict(self) -> str:
        """What a check came to, in one line."""
        compared = sum(name in self.old.files for name in self.facts)
        words = "differs from" if self.differs else "agrees with"
        return f"{self.target} {words} the fleet and its files: {compared} of {len(self.asked)} compared"


def _unrecorded(missed: tuple[Named, str]) -> Problem:
    one, reason = missed
    hint = "run quadgen lock where the file is, or name its directory with --models-dir"
    if one.kind != "file":
        hint = "run quadgen lock again where it can be fetched"
    return Problem(
        code="not-recorded", message=f"{one.name} cannot be recorded", path=one.path, notes=(reason,), hint=hint
    )


def opened(name: str, models: Iterable[str] | None) -> Task:
    """Read a fleet file and its lock, which may not be there yet. `models` narrows it to these.

    Raises `Rejected` where the shape of either is wrong, `Unavailable` where a file cannot be read, a usage error
    where a model is not the fleet's.
    """
    folder, sink, documents = Folder(name), Collector(), {}
    documents[name] = load(name, folder.read(name))
    fleet = load_fleet(documents[name], sink)
    checked_models(fleet, sink)
    lock = file_name(fleet, sink)
    before, old = None, Lock()
    if lock is not None and folder.matching(literal_pattern(lock)):
        before = folder.read(lock)
        try:
            documents[lock] = load(lock, before)
            old = lock_file.parse(lock, documents[lock].data, sink)
        except Rejected as rejected:
            sink.extend(rejected.problems)
    if lock is None or sink.refused:
        raise Rejected(located(sink.problems, documents, name, fleet))
    asked = [one for one in named(fleet) if one.is_gguf]
    if models is not None:
        asked = _narrowed(fleet, asked, set(models))
    return Task(
        fleet=fleet, lock=lock, target=os.path.join(folder.base, lock), before=before, old=old, asked=asked,  # noqa: PTH118 - as the user wrote it
        whole=models is None, documents=documents,
    )  # fmt: skip


def _narrowed(fleet: Fleet, every: list[Named], models: set[str]) -> list[Named]:
    for model in sorted(models):
        if model not in (fleet.data.get("models") or {}):
            message, hint = unknown("model", model, fleet.data.get("models") or {})
            raise typer.BadParameter(f"{message}{f': {hint}' if hint else ''}", param_hint="--model")
    return [one for one in every if not models.isdisjoint(one.models)]
