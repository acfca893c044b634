"""A resolution as the words of a unit: what stands after each key, before any of it is escaped."""

from quadgen.resolution import Resolution
from quadgen.units.common import locks_memory
from quadgen.units.container import ContainerUnit, container
from quadgen.units.native import NativeUnit, native

__all__ = ["ContainerUnit", "NativeUnit", "Unit", "build", "locks_memory"]

Unit = ContainerUnit | NativeUnit


def build(resolution: Resolution) -> Unit:
    """The unit of one service, for the runtime of its host."""
    return container(resolution) if resolution.host.runtime == "podman" else native(resolution)
