"""A resolution as the words of a unit: what stands after each key, before any of it is escaped."""

from quadgen.evidence import NO_SPECULATION
from quadgen.resolution import Decision, Resolution
from quadgen.units.common import locks_memory
from quadgen.units.container import ContainerUnit, container
from quadgen.units.native import NativeUnit, native

__all__ = ["ContainerUnit", "NativeUnit", "Unit", "build", "locks_memory"]

Unit = ContainerUnit | NativeUnit


def build(resolution: Resolution) -> Unit:
    """The unit of one service, for the runtime of its host.

    Raises `ValueError` for speculation that no measurement allows: it was decided for an answer, not for a unit.
    """
    if not _allowed(resolution.decision):
        raise ValueError(f"{resolution.name}: no measurement allows {resolution.decision.setting.describe()}")
    return container(resolution) if resolution.host.runtime == "podman" else native(resolution)


def _allowed(decision: Decision) -> bool:
    return decision.profile.floor or decision.setting == NO_SPECULATION or bool(decision.rows)
