"""All runs of a log, added up; what was proved is what the newest run proves that proves anything."""

from dataclasses import dataclass, field, replace
from typing import Final

from quadgen.log_lines import child
from quadgen.observed.counts import Counts
from quadgen.observed.halogen_lines import Accounted
from quadgen.observed.llama_lines import Said, Statistics
from quadgen.observed.log_rounds import by_position
from quadgen.observed.log_run import Run
from quadgen.observed.log_sums import Sums
from quadgen.observed.log_verdict import Verdict, verdict
from quadgen.observed.state import State
from quadgen.server_log import Event

_HEADLESS: Final = "the log begins within what is said of a request, which is not counted"
_ROUTER: Final = "the log is a router's: counts and state are of all its models together"
_RUNS: Final = "the log has {} runs of the server: counts are of all, the state is that of the last one"


@dataclass(slots=True)
class Book:
    """Takes what the lines say, in their order; `close` before it is asked."""

    run: Run = field(default_factory=Run)
    runs: int = 0
    drafters: dict[str, Counts] = field(default_factory=dict)
    """What the statistics of each drafter say, over all runs."""
    draft_seconds: dict[str, float] = field(default_factory=dict)
    verdict: Verdict = (State.UNKNOWN, ("the log has no line of a server's that is known",), ())
    _plain: Sums = field(default_factory=Sums)
    _drafting: Sums = field(default_factory=Sums)
    _halogen: bool = False
    _llama: bool = False
    _headless: bool = False
    _router: bool = False

    def say(self, said: Said | Accounted) -> None:
        """Add what a line says."""
        if isinstance(said, Statistics) and not self.run.follows(said):
            if said.child:
                self.run.part(said)
            else:
                self.close()
        self.run.say(said)

    def note(self, event: Event, number: int, line: str) -> None:
        """Add the event of a line; a server that begins ends the run before it, if it is not one of a router's."""
        self._router |= event.kind == "router-mode"
        if event.kind == "starting":
            # systemd says that it has started a unit when the server in it has begun long since
            if self.run.touched and ".service" not in event.message + line and not child(line):
                self.close()
        elif event.kind == "listening":
            self.run.listening = True
        else:
            self.run.note(event, number)

    def close(self) -> None:
        """End the run, if the log has anything of it."""
        run, self.run = self.run, Run()
        if not run.touched:
            return
        self.runs += 1
        self._halogen |= run.halogen
        self._llama |= not run.halogen
        run.settle()
        self._headless |= run.headless is not None
        self._plain.add(run.plain)
        self._drafting.add(run.drafting)
        for each in run.statistics.values():
            self._add(each)
        found = verdict(run)
        if found[0] is not State.UNKNOWN or self.verdict[0] is State.UNKNOWN:
            self.verdict = found

    @property
    def engine(self) -> str | None:
        """Whose log it is; None where nothing says, or two servers share it."""
        if self._halogen == self._llama:
            return None
        return "halogen" if self._halogen else "llama.cpp"

    @property
    def plain(self) -> Counts:
        """Requests that drafted nothing."""
        return self._plain.times()

    @property
    def drafting(self) -> Counts:
        """Requests that drafted."""
        return self._drafting.counts(drafted=not self._halogen)

    @property
    def total(self) -> Counts | None:
        """All requests; what the drafters' statistics say where the log has no request; None where it has neither."""
        if not self._drafting.requests:
            drafted = [*self.drafters.values()]
            return self.plain if self.plain.requests else sum(drafted[1:], drafted[0]) if drafted else None
        every = Sums()
        every.add(self._plain)
        every.add(self._drafting)
        every.placed, every.requests = self._drafting.placed, self._drafting.requests
        counts = every.counts(drafted=not self._halogen)
        return replace(counts, requests=self._plain.requests + self._drafting.requests)

    @property
    def notes(self) -> tuple[str, ...]:
        """What else a person should know of the whole log."""
        notes = (*((_HEADLESS,) if self._headless else ()), *((_ROUTER,) if self._router else ()))
        return notes if self.runs <= 1 else (*notes, _RUNS.format(self.runs))

    def _add(self, said: Statistics) -> None:
        found = by_position(said.accepted, said.rounds, 0, said.rates)
        counts = Counts(
            drafted=said.drafted, accepted=said.accepted, rounds=said.rounds, per_position=found[1] if found else ()
        )
        before = self.drafters.get(said.drafter)
        self.drafters[said.drafter] = counts if before is None else before + counts
        if said.seconds is not None:
            self.draft_seconds[said.drafter] = self.draft_seconds.get(said.drafter, 0.0) + said.seconds
