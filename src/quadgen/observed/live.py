"""What a running server's answers prove of its speculation.

`speculative` of /slots is true where an implementation runs. That the counters of /metrics are there proves nothing:
they are zeros without speculation too. A unit that is up and a health check that passes prove nothing either: a
server that was asked to speculate and cannot goes on without, in several ways (tools/server/server-context.cpp,
load_model).
"""

from dataclasses import dataclass

from quadgen.observed.answers import Health, Model, Properties, Slot
from quadgen.observed.counts import Counts
from quadgen.observed.metrics import Scrape, between, counts
from quadgen.observed.noting import notes
from quadgen.observed.state import ENOUGH, Observation, State, doubt, judged


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a server answered; None of an endpoint that did not."""

    slots: tuple[Slot, ...] | None = None
    properties: Properties | None = None
    models: tuple[Model, ...] | None = None
    health: Health | None = None
    scrapes: tuple[Scrape, ...] = ()
    """One, or two that are `seconds` apart; with the names of neither engine where it is no /metrics of theirs."""
    seconds: float | None = None
    missing: tuple[str, ...] = ()
    """Which endpoints did not answer and why, in sentences without their end."""

    @property
    def engine(self) -> str | None:
        """`llama.cpp` or `halogen`, as any of the answers says."""
        owners = {model.owner for model in self.models or ()}
        scraped = {scrape.engine for scrape in self.scrapes}
        if "halogen" in scraped | owners or (self.health is not None and self.health.engine == "halogen"):
            return "halogen"
        if self.slots is not None or "llama.cpp" in scraped or "llamacpp" in owners:
            return "llama.cpp"
        return "llama.cpp" if self.properties is not None and self.properties.build is not None else None

    @property
    def speculative(self) -> bool | None:
        """Whether an implementation of speculation runs; None where no slot says."""
        said = {slot.speculative for slot in self.slots or ()} - {None}
        return True in said if said else None

    @property
    def requested(self) -> tuple[str, ...] | None:
        """The --spec-type of the command line; None before any slot has run a task."""
        return next((slot.requested for slot in self.slots or () if slot.requested is not None), None)

    @property
    def total(self) -> Counts | None:
        """Since the server started."""
        return counts(self.scrapes[-1]) if self.scrapes and self.scrapes[-1].engine is not None else None

    @property
    def window(self) -> Counts | None:
        """Between the readings; None without two, or where the server was started anew between them."""
        return between(self.scrapes[0], self.scrapes[-1]) if len(self.scrapes) > 1 else None


def observation(source: str, seen: Seen) -> Observation:
    """Judge what was seen of the server at `source`."""
    total, window = seen.total, seen.window
    # a window of fewer does not outweigh the whole time
    weighed = window if window is not None and (window.drafted or 0) >= ENOUGH else total
    state, why = _state(seen, weighed)
    return Observation(
        source=source,
        engine=seen.engine,
        state=state,
        reasons=(why, *_counted(weighed, "in this window" if weighed is window and window else "since it started")),
        total=total,
        window=window,
        window_seconds=seen.seconds if window is not None else None,
        requested=seen.requested,
        notes=notes(
            seen.scrapes, requested=seen.requested if seen.speculative else None, properties=seen.properties,
            missing=seen.missing,
        ),
    )  # fmt: skip


def _state(seen: Seen, weighed: Counts | None) -> tuple[State, str]:
    if seen.engine == "halogen":
        return _of_halogen(seen, weighed)
    if seen.speculative is None:
        return _without_slots(seen, weighed)
    if seen.speculative:
        return _speculating(weighed)
    if seen.requested:
        types = ",".join(seen.requested)
        why = (
            f"--spec-type {types} was asked for, and /slots says that nothing of it runs; the log of its start says why"
        )
        return State.NOT_RUNNING, why
    if seen.requested is None:
        why = "/slots says that nothing speculates; whether it was asked to is said by a slot after its first task"
        return State.OFF, why
    return State.OFF, "/slots says that nothing speculates, and that nothing was asked to"


def _speculating(weighed: Counts | None) -> tuple[State, str]:
    runs = "/slots says that an implementation of speculation runs"
    if weighed is None or weighed.drafted is None:
        return State.RUNNING, f"{runs}; what it drafts and how much of it is accepted is not known without its counters"
    return judged(weighed) or State.IDLE, runs


def _without_slots(seen: Seen, weighed: Counts | None) -> tuple[State, str]:
    state = judged(weighed)
    if state is not None:
        return state, "it has drafted tokens, so an implementation of speculation runs"
    if weighed is None:
        return State.UNKNOWN, "neither /slots nor /metrics says anything of speculation"
    if not seen.scrapes[-1].has_speculation:
        return State.UNKNOWN, "this build does not count drafts, which is not an acceptance of 0; /slots says nothing"
    return State.UNKNOWN, "it has drafted nothing, which a server without speculation says too; /slots would tell"


def _of_halogen(seen: Seen, weighed: Counts | None) -> tuple[State, str]:
    """It drafts unless a request, or its own default, says `serial`."""
    state = judged(weighed)
    if state is not None:
        return state, "it has drafted tokens, so its drafter runs"
    drafter = None if seen.health is None else seen.health.drafter
    if drafter == "serial":
        return State.OFF, "/health says that requests which name no drafter get serial, which is none"
    accounts = "its log has the rounds and tokens of each request in its lines `serve_api:`"
    if drafter is not None and weighed is not None and weighed.drafted is not None:
        return State.IDLE, f"/health says that requests get the drafter {drafter}, and it has drafted nothing so far"
    if drafter is not None:
        return State.UNKNOWN, f"/health says that requests get the drafter {drafter}, which is no proof; {accounts}"
    return State.UNKNOWN, f"neither its health nor its counters say what it drafts; {accounts}"


def _counted(weighed: Counts | None, when: str) -> tuple[str, ...]:
    """The counts behind the verdict."""
    if weighed is None or weighed.drafted is None:
        return ()
    if not weighed.drafted:
        return (f"it drafted nothing {when}",)
    if weighed.accepted is None:
        return (f"it drafted {weighed.drafted} tokens {when}; how many were accepted is not known",)
    return (f"{weighed.accepted} of {weighed.drafted} drafted tokens were accepted {when}{doubt(weighed)}",)
