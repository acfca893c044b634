"""Reading the checkpoints that a fleet names: from the directories of this machine, or from where they are fetched."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from quadgen.cli.malformed import malformed
from quadgen.disk import windows
from quadgen.facts.reading import facts
from quadgen.facts.record import Facts
from quadgen.gguf.source import Malformed, Source
from quadgen.locking import Named, changes
from quadgen.problems import Problem, Unavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one checkpoint: facts, why it cannot be had here, or what is wrong with it."""

    facts: Facts | None = None
    absent: str | None = None
    problem: Problem | None = None


@dataclass(slots=True, kw_only=True)
class Shelf:
    """Where checkpoints are looked for. A file with several names is read once."""

    directories: Sequence[str] | None
    """In the place of every models_dir of the fleet; None is those themselves."""
    offline: bool
    environ: Mapping[str, str]
    _read: dict[str, Outcome] = field(default_factory=dict)

    def read(self, one: Named) -> Outcome:
        """Read one checkpoint. Nothing is raised: a machine need not have all that a fleet names."""
        if one.kind != "file":
            return Outcome(absent="nothing is read over the network") if self.offline else self._fetched(one)
        spots = one.spots if self.directories is None else [one.below(directory) for directory in self.directories]
        there: dict[str, str] = {}
        for spot in spots:
            if os.path.exists(spot):  # noqa: PTH110 - names stay as the user wrote them
                there.setdefault(os.path.realpath(spot), spot)
        if not there:
            return Outcome(absent=f"there is no {' and no '.join(spots)}")
        return self._one_of([(spot, self._local(real, spot)) for real, spot in there.items()], one)

    def _local(self, real: str, spot: str) -> Outcome:
        if real not in self._read:
            try:
                with windows.opened(spot) as sources:
                    self._read[real] = _outcome(sources, spot)
            except Unavailable as error:
                self._read[real] = Outcome(absent=str(error))
            except Malformed as error:
                self._read[real] = Outcome(problem=malformed(spot, error))
        return self._read[real]

    def _fetched(self, one: Named) -> Outcome:
        from quadgen import remote  # noqa: PLC0415 - only what is fetched needs it

        try:
            with remote.opened(one.name, environ=self.environ) as sources:
                return _outcome(sources, one.name)
        except Unavailable as error:
            return Outcome(absent=str(error))
        except Malformed as error:
            return Outcome(problem=malformed(one.name, error))

    @staticmethod
    def _one_of(tried: Sequence[tuple[str, Outcome]], one: Named) -> Outcome:
        """The outcome of files that should all be one: the first problem, else what they say, if they say the same."""
        for _, outcome in tried:
            if outcome.problem is not None:
                return outcome
        told = [(spot, outcome.facts) for spot, outcome in tried if outcome.facts is not None]
        if not told:
            return tried[0][1]
        first, known = told[0]
        for spot, other in told[1:]:
            if changes(known, other):
                message = f"{first} and {spot} are not the same file, and the fleet calls both {one.name}"
                hint = "give them two names, or name the directory of the right one with --models-dir"
                problem = Problem(code="ambiguous-file", message=message, path=one.path, hint=hint)
                return Outcome(problem=problem)
        return Outcome(facts=known)


def _outcome(sources: Sequence[Source], name: str) -> Outcome:
    try:
        return Outcome(facts=facts(sources))
    except Malformed as error:
        return Outcome(problem=malformed(name, error, [source.name for source in sources]))
