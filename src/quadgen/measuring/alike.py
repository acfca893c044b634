"""Whether what is measured is what the fleet says: program, flags, card and checkpoint.

A row is believed by its build, device and model, so it must not be credited to others than were there.
"""

import re
from collections.abc import Iterator
from typing import Final

from quadgen.engines.flags import COMPILED_IN, is_numbered
from quadgen.facts.record import Facts
from quadgen.measuring.machine import Machine
from quadgen.problems import Problem, Severity
from quadgen.resolution import Resolution

_VENDORS: Final = frozenset(
    "advanced amd ati corporation corp devices geforce gpu graphics inc intel micro nvidia radeon".split()  # noqa: SIM905 - reads better
)
"""Words of names of cards that some engines and people say and others leave out."""
_OTHERS: Final = frozenset("ada blackwell gre laptop max mobile se sff super ti xt xtx".split())  # noqa: SIM905 - as above
"""Words that make another card of one of the same number, as any single letter does: L40 and L40S, 4090 and 4090 D."""
_words: Final = re.compile(r"[a-z]+|[0-9]+").findall
_driver: Final = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
"""What a driver adds: `AMD Radeon RX 7900 XTX (RADV NAVI31)`."""
_SHOWN: Final = 6
"""Flags that a remark names."""


def objections(service: Resolution, machine: Machine, *, file: Facts | None = None) -> tuple[Problem, ...]:
    """What keeps a measurement of this service from being credited to it (errors), and what may (notes).

    `file` is what the header of its checkpoint says here; None where nobody read it.
    """
    build = tuple(_build(service, machine))
    wrong = any(each.severity is Severity.ERROR for each in build)
    flags = () if wrong else tuple(_flags(service, machine))
    return (*build, *flags, *_cards(service, machine), *_file(service, file))


def device(service: Resolution, machine: Machine) -> str:
    """What the row calls the device: as the fleet names its cards, else as the engine does; on cpu the processor.

    Several that differ stand with plus signs between.
    """
    told = [found for name in service.devices.names if (found := machine.device(name))]
    names = service.devices.measured_as or tuple(told)
    if service.backend == "cpu" or not names:
        return machine.processor
    return " + ".join(dict.fromkeys(names))


def same_card(one: str, other: str) -> bool:
    """Whether two names are of one kind of card, whatever is left out: `RTX 3090` is an `NVIDIA GeForce RTX 3090`.

    A `3090 Ti` is none.
    """
    first, second = (set(_words(_driver.sub(" ", name.casefold()))) - _VENDORS for name in (one, other))
    apart = {word for word in first ^ second if word in _OTHERS or (len(word) == 1 and word.isalpha())}
    return (first <= second or second <= first) and not apart


def _problem(service: Resolution, code: str, message: str, hint: str, severity: Severity = Severity.ERROR) -> Problem:
    return Problem(
        code=code, message=message, hint=hint, severity=severity, host=service.host.name, service=service.name
    )


def _build(service: Resolution, machine: Machine) -> Iterator[Problem]:
    entry = service.engine
    if entry.build is None or machine.build == entry.build:
        return
    if machine.build is None or not is_numbered(entry.build):
        if machine.commit is not None and machine.commit.startswith(entry.build):
            return
        said = f"it says: {machine.version}" if machine.version else "it says no version"
        message = f"nothing proves that the program is {entry.build}: {said}"
        hint = "a build knows its number where it was made from a whole clone; what the program is is for you to know"
        yield _problem(service, "other-build", message, hint, Severity.NOTE)
        return
    message = f"the program says that it is {machine.build}, and is to be measured as {entry.build}"
    hint = f"measure {entry.build}, or say {machine.build}: as `build` of engines.{entry.name}, or as --build"
    yield _problem(service, "other-build", message, hint)


def _flags(service: Resolution, machine: Machine) -> Iterator[Problem]:
    """Builds that call themselves alike, and are not."""
    entry = service.engine
    if entry.table_note is not None or not machine.options or not entry.table.options:
        return
    here = {option.canonical for option in machine.options} - COMPILED_IN
    known = {option.canonical for option in entry.table.options} - COMPILED_IN
    more, fewer = sorted(here - known), sorted(known - here)
    if not more and not fewer:
        return
    told = [f"it {verb} {_listed(flags)}" for verb, flags in (("has", more), ("lacks", fewer)) if flags]
    message = f"the program takes other flags than {entry.table.build} does: {' and '.join(told)}"
    hint = "learn its own table: quadgen flags learn, and `flags` of the engine"
    yield _problem(service, "other-build", message, hint, Severity.NOTE)


def _listed(flags: list[str]) -> str:
    rest = f" and {len(flags) - _SHOWN} more" if len(flags) > _SHOWN else ""
    return ", ".join(flags[:_SHOWN]) + rest


def _cards(service: Resolution, machine: Machine) -> Iterator[Problem]:
    seen = service.devices
    for position, name in enumerate(seen.names):
        told = machine.device(name)
        if told is None:
            found = ", ".join(map(": ".join, zip(machine.names, machine.devices, strict=True))) or "none at all"
            message = f"the engine finds no {name} here; its devices are: {found}"
            yield _problem(service, "other-machine", message, f"measure on {service.host.name} itself")
            continue
        # devices that are named as the engine does may be fewer than the cards that it sees
        card = seen.cards[position].name if len(seen.cards) == len(seen.names) else None
        if card is not None and not same_card(card, told):
            message = f"the fleet says that {name} is {card}, and the engine that it is {told}"
            hint = f"measure on {service.host.name} itself, or correct `gpus`: name the card as the engine does"
            yield _problem(service, "other-machine", message, hint)


def _file(service: Resolution, file: Facts | None) -> Iterator[Problem]:
    recorded = service.model.facts
    if file is None or recorded is None or recorded.header == file.header:
        return
    others = recorded.quantization, file.quantization
    changed = "" if others[0] == others[1] else f": {others[0]} there, {others[1]} here"
    message = f"the header of {service.model.name} is not the one that the lock records{changed}"
    yield _problem(service, "other-model", message, "measure the file that is meant, or run quadgen lock")
