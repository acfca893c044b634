"""The text of a unit as a reviewer thinks of it: program, arguments, environment, mounts, other keys, evidence."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from quadgen.unitfile import (
    Malformed,
    environment_split,
    read_values,
    service_split,
    split_exec,
    split_keyval,
    unpercent,
    unspecify,
)

Said = Mapping[str, tuple[str, ...]]
"""Values by name, in the order of the file."""
_EVIDENCE: Final = "evidence: "
_COSTS: Final = "costs "
_PROGRAM: Final = (("Container", "Image"), ("Service", "ExecStart"))
_ARGUMENTS: Final = (("Container", "Exec"), ("Service", "ExecStart"))
_ENVIRONMENT: Final = (("Container", "Environment"), ("Service", "Environment"))
_MOUNTS: Final = ("Container", "Volume")
_APART: Final = frozenset({*_PROGRAM, *_ARGUMENTS, *_ENVIRONMENT, _MOUNTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitSaid:
    """One unit, taken apart. Each value is as the server, Podman or systemd gets it."""

    program: str
    """The image of a container, the path of a native service's program."""
    words: tuple[str, ...]
    """The argument vector after the program's own name."""
    arguments: Said
    """Each option with its values, one for each time that it is given; "" is a switch. What is no option is in ""."""
    environment: Said
    mounts: tuple[str, ...]
    keys: Said
    """Everything else, by `[Section] Key`."""
    about: str
    """What runs where, in the unit's own words."""
    evidence: tuple[str, ...]
    """The rows that allow its profile, quoted, and what it costs on other workloads."""
    notes: tuple[str, ...]
    """The other comments."""


def read(data: bytes) -> UnitSaid | None:
    """Take the text of a unit apart; None where it cannot be read as one."""
    try:
        text = data.decode()
        return _read(text, read_values(text))
    except (UnicodeDecodeError, Malformed):
        return None


def _read(text: str, values: Mapping[tuple[str, str], list[str]]) -> UnitSaid:
    native = ("Container", "Image") not in values
    program, words = _command(values, native=native)
    comments = [line[1:].strip() for line in text.split("\n") if line[:1] == "#"]
    backed = [each for each in comments if each.startswith((_EVIDENCE, _COSTS))]
    others = [each for each in comments if not each.startswith((_EVIDENCE, _COSTS))]
    return UnitSaid(
        program=program,
        words=words,
        arguments=options(words),
        environment=_environment(values.get(_ENVIRONMENT[native], ()), native=native),
        mounts=tuple(map(_meant, values.get(_MOUNTS, ()))),
        keys={f"[{place[0]}] {place[1]}": tuple(found) for place, found in values.items() if place not in _APART},
        about=others[1] if len(others) > 1 else "",  # the first says whose file it is
        evidence=tuple(each.removeprefix(_EVIDENCE) for each in backed),
        notes=tuple(others[2:]),
    )


def _command(values: Mapping[tuple[str, str], list[str]], *, native: bool) -> tuple[str, tuple[str, ...]]:
    said = values.get(_ARGUMENTS[native], ())
    split: Callable[[str], tuple[str, ...]] = service_split if native else split_exec
    words = _words(split, said[-1]) if said else ()
    if native:
        return (words[0] if words else ""), words[1:]
    image = values.get(_PROGRAM[0], ())
    return (image[-1] if image else ""), words


@lru_cache(maxsize=4096)
def _words(split: Callable[[str], Iterable[str]], value: str) -> tuple[str, ...]:
    return tuple(str(unspecify(word)) for word in split(value))


def _environment(values: Iterable[str], *, native: bool) -> Said:
    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        pairs: Iterable[tuple[str, str]]
        if native:
            pairs = [(name, str(unpercent(text))) for name, _, text in map(_pair, environment_split(value))]
        else:
            pairs = [(str(unspecify(name)), str(unspecify(text))) for name, text in split_keyval(value)]
        for name, text in pairs:
            found[name] = (text,)
    return found


def _pair(word: str) -> tuple[str, str, str]:
    return word.partition("=")


def _meant(value: str) -> str:
    return str(unspecify(value)) if "%" in value or "$" in value else value


def options(words: Iterable[str]) -> Said:
    """Group an argument vector: each option with the words behind it, as one text for each time that it is given."""
    found: dict[str, list[list[str]]] = {}
    current = ""
    for word in words:
        if _is_option(word):
            name, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
            current = name
            found.setdefault(name, []).append([value] if equals else [])
        elif current in found:
            found[current][-1].append(word)
        else:
            found[current] = [[word]]
    return {name: tuple(" ".join(each) for each in times) for name, times in found.items()}


def _is_option(word: str) -> bool:
    """Whether a word names an option: `-1` and `-0.5` are values."""
    return len(word) > 1 and word[0] == "-" and not (word[1].isdigit() or word[1] == ".")
