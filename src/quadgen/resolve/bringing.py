"""The command that brings a number for a service, as a shell takes it."""

import shlex
from collections.abc import Iterable
from typing import Final

from quadgen.engines.registry import ENGINES
from quadgen.fleet.load import Fleet
from quadgen.speculation import ProfileSpec

OWN_WORKLOADS: Final = ("prose", "code-edit", "copy")
"""Workloads whose texts come along; the texts of any other are a file of the user's."""
BY_HAND: Final = "a row of your own in a ledger"
"""How a number comes for an engine that nothing here can measure."""


def words(
    fleet: str, host: str, service: str | None, profile: str, workloads: Iterable[str | None] = ()
) -> tuple[str, ...]:
    """The command that measures a profile, to be run where the fleet file is called `fleet`.

    `service` is None where the host is its own service. `workloads` are those that must be measured, None for none;
    where quadgen has no texts for one of them all are named, that one with a `FILE` to be filled in.
    """
    target = host if service is None else f"{host}/{service}"
    named = [each for each in workloads if each is not None]
    own = all(each in OWN_WORKLOADS for each in named)
    texts = [each if each in OWN_WORKLOADS else f"{each}=FILE" for each in named if not own]
    options = [word for each in texts for word in ("--workload", each)]
    return ("quadgen", "measure", "--fleet", fleet, target, "--profile", profile, *options)


def command(fleet: str, host: str, service: str | None, profile: str, workload: str | None) -> str:
    """The same for the profile's own workload alone, as a shell takes it."""
    return shlex.join(words(fleet, host, service, profile, (workload,)))


def of_service(fleet: Fleet, host: str, service: str | None, spec: ProfileSpec) -> str:
    """The command for a service of a fleet; `service` may be the name of one that its host does not name."""
    named = (fleet.data["hosts"].get(host) or {}).get("services")
    return command(fleet.name, host, service if named else None, spec.name, spec.workload)


def way(engine: str, command: str) -> str:
    """How a number is brought for a service of this kind of engine: by `command`, where that can ask it."""
    return command if ENGINES[engine].unmeasurable is None else BY_HAND
