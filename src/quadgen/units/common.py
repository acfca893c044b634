"""What both kinds of unit say in the same words."""

from quadgen.evidence import cost, quoted
from quadgen.resolution import UNLIMITED, Resolution
from quadgen.unitfile import Word


def argv(resolution: Resolution) -> tuple[Word, ...]:
    """The server's words after its own name."""
    return tuple(word for argument in resolution.arguments for word in argument.words)


def notes(resolution: Resolution) -> tuple[str, ...]:
    """The comment lines on top of a unit: what it is, and the evidence that allows it."""
    decision = resolution.decision
    engine = resolution.engine
    return (
        "Rendered by quadgen: change the fleet file, not this one.",
        f"{resolution.model.name} on {resolution.backend}, {engine.kind} {engine.build or 'of an unstated build'}",
        *decision.notes,
        *(f"evidence: {quoted(row)}" for row in decision.rows),
        *(cost(row) for row in decision.costs),
        *resolution.notes,
    )


def description(resolution: Resolution) -> str:
    """The unit's Description=."""
    return f"{resolution.name}: {resolution.model.name} on {resolution.backend}"


def locks_memory(resolution: Resolution) -> bool:
    """Whether the user of a rootless service must be allowed to lock any amount of memory.

    Rootless Podman and a user's systemd lower `unlimited` to their own hard limit without a word, and that is 8 MiB
    where nobody changed it (systemd's DefaultLimitMEMLOCK=).
    """
    return resolution.host.rootless is not None and resolution.limits.memlock == UNLIMITED


def wanted_by(resolution: Resolution) -> str | None:
    """The target that starts it at boot; None where it is started by hand.

    A user's manager has no multi-user.target; the system's own default.target may be a graphical one that pulls
    multi-user.target in (systemd.special(7)).
    """
    if not resolution.autostart:
        return None
    return "default.target" if resolution.host.rootless else "multi-user.target"
