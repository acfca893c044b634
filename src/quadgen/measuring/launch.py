"""How a server of a measurement is started, as words."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A server program with what it is given; where it listens is added when it is started."""

    program: str
    """Of the server natively, or podman."""
    arguments: tuple[str, ...]
    """Of the server, after its own name."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables of the service's own."""
    container: tuple[str, ...] = ()
    """Words of `podman run`, the image last, that stand before `arguments`; empty natively."""
    types: tuple[str, ...] = ()
    """Drafter types that must be running in it, as --spec-type names them; empty where none may."""
    ready_within: float = 900.0
    """Seconds until it answers."""
