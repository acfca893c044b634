"""How problems and changes are shown; the only place that knows of colour and carets."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from quadgen.cli.exits import Format
from quadgen.plan import Plan
from quadgen.problems import Problem, Severity

_COLOURS: Final = {Severity.ERROR: "1;31", Severity.WARNING: "1;33", Severity.NOTE: "1;36"}
_SHOWN: Final = 20
_NARROWEST: Final = 40
"""Columns below which words are no longer told apart; a terminal may have fewer."""


def _styled(text: str, style: str, *, on: bool) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if on and text else text


def _colour() -> bool:
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def say(text: str) -> None:
    """Tell a human something, on stderr."""
    sys.stderr.write(f"quadgen: {text}\n")


def width(default: int = 110) -> int:
    """Columns that a line on standard output may have: those of a terminal, 40 to `default`; else `default`."""
    if not sys.stdout.isatty():
        return default
    import shutil  # noqa: PLC0415 - only a terminal needs it

    return max(_NARROWEST, min(default, shutil.get_terminal_size((default, 24)).columns))


def count(number: int, what: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def refuses(problems: Iterable[Problem]) -> bool:
    """Whether any of them is an error."""
    return any(problem.severity is Severity.ERROR for problem in problems)


def wanted_format(arguments: Sequence[str]) -> Format:
    """The --format of a command line that ended before it was handed on."""
    for one, other in zip(arguments, [*arguments[1:], ""], strict=True):
        for word in (
            other if one == "--format" else "",
            one.removeprefix("--format=") if one.startswith("--format=") else "",
        ):
            if word in set(Format):
                return Format(word)
    return Format.TEXT


def show(problems: Sequence[Problem], form: Format = Format.TEXT) -> None:
    """Print problems: text to stderr, the other forms to stdout."""
    if form is Format.JSON:
        sys.stdout.write(json.dumps([record(problem) for problem in problems], indent=2, ensure_ascii=False) + "\n")
    elif form is Format.SARIF:
        sys.stdout.write(json.dumps(_sarif(problems), indent=2, ensure_ascii=False) + "\n")
    elif form is Format.GITHUB:
        sys.stdout.writelines(_annotation(_visible(problem)) + "\n" for problem in problems)
    elif problems:
        colour = _colour()
        sys.stderr.write("\n".join(text(problem, colour=colour) for problem in problems))
        sys.stderr.write("\n" + _total(problems) + "\n")


def _total(problems: Sequence[Problem]) -> str:
    kinds = [(sum(p.severity is kind for p in problems), kind.value) for kind in Severity]
    return f"quadgen: {', '.join(count(number, what) for number, what in kinds if number)}"


def shown(words: str) -> str:
    """Text whose characters all show: a fleet must not move the cursor, colour the log or turn a line around."""
    if words.isprintable():
        return words
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in words)


def lines(told: Iterable[str]) -> str:
    """Lines for people, whose characters all show."""
    return "".join(f"{shown(line)}\n" for line in told)


def _visible(problem: Problem) -> Problem:
    place = problem.place
    if place is not None and not f"{place.file}{place.text}".isprintable():
        # one character for another, so that the carets stand where they should
        source = "".join(char if char.isprintable() else " " if char.isspace() else "\ufffd" for char in place.text)
        place = replace(place, file=shown(place.file), text=source)
    return replace(
        problem,
        message=shown(problem.message),
        place=place,
        label=shown(problem.label),
        host=problem.host and shown(problem.host),
        service=problem.service and shown(problem.service),
        notes=tuple(map(shown, problem.notes)),
        hint=problem.hint and shown(problem.hint),
    )


def text(problem: Problem, *, colour: bool = False) -> str:
    """One problem as rustc would print it."""
    problem = _visible(problem)
    style = _COLOURS[problem.severity]
    head = _styled(f"{problem.severity}[{problem.code}]", style, on=colour)
    lines = [f"{head}: {_styled(problem.message, '1', on=colour)}"]
    place = problem.place
    width = 1
    if place is not None:
        width = len(str(place.line))
        lines.append(f"{' ' * width}--> {place.file}:{place.line}:{place.column}")
        if place.text:
            source = place.text
            carets = _styled("^" * max(1, min(place.length, len(source) - place.column + 1)), style, on=colour)
            label = f" {problem.label}" if problem.label else ""
            lines += [
                f"{' ' * width} |",
                f"{place.line} | {source}",
                f"{' ' * width} | {' ' * (place.column - 1)}{carets}{_styled(label, style, on=colour)}",
            ]
    bar = f"{' ' * width} ="
    if problem.host is not None:
        target = f"{problem.host}/{problem.service}" if problem.service else problem.host
        lines.append(f"{bar} host: {target}")
    lines += [f"{bar} note: {note}" for note in problem.notes]
    if problem.hint:
        lines.append(f"{bar} hint: {problem.hint}")
    return "\n".join(lines) + "\n"


def record(problem: Problem) -> dict[str, Any]:
    """A problem as `--format json` shows it."""
    place = problem.place
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "file": place.file if place else None,
        "line": place.line if place else None,
        "column": place.column if place else None,
        "host": problem.host,
        "service": problem.service,
        "notes": list(problem.notes),
        "hint": problem.hint,
    }


def _details(problem: Problem) -> str:
    hint = [f"hint: {problem.hint}"] if problem.hint else []
    return "\n".join([problem.message, *problem.notes, *hint])


def _annotation(problem: Problem) -> str:
    def escaped(value: str, *, own: bool) -> str:
        # GitHub's workflow commands: %, CR and LF in data; commas and colons too in properties
        value = value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        return value.replace(":", "%3A").replace(",", "%2C") if own else value

    level = "notice" if problem.severity is Severity.NOTE else problem.severity.value
    place = problem.place
    where = (
        ""
        if place is None
        else f"file={escaped(place.file, own=True)},line={place.line},"
        f"col={place.column},endColumn={place.column + place.length},"
    )
    return f"::{level} {where}title={escaped(problem.code, own=True)}::{escaped(_details(problem), own=False)}"


def _sarif(problems: Sequence[Problem]) -> dict[str, Any]:
    from urllib.parse import quote  # noqa: PLC0415 - only this form needs it

    from quadgen import __version__  # noqa: PLC0415 - as above

    results = []
    for problem in problems:
        result: dict[str, Any] = {
            "ruleId": problem.code,
            "level": problem.severity.value,
            "message": {"text": _details(problem)},
        }
        if problem.place is not None:
            region = {
                "startLine": problem.place.line,
                "startColumn": problem.place.column,
                "endColumn": problem.place.column + problem.place.length,
            }
            location = {"artifactLocation": {"uri": quote(problem.place.file)}, "region": region}
            result["locations"] = [{"physicalLocation": location}]
        results.append(result)
    rules = [{"id": code} for code in dict.fromkeys(problem.code for problem in problems)]
    driver = {"name": "quadgen", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }


def changes(plan: Plan, output: str, hosts: int, *, written: bool, verbose: bool) -> None:
    """Say what a render did, or would do."""
    every = list(plan.changes)
    if not every:
        say(
            f"{output}: {count(hosts, 'host')}, nothing to change"
            if not plan.interrupted
            else f"{output}: an earlier render was interrupted"
        )
        return
    if verbose:
        for change in every[:_SHOWN]:
            say(f"{change.kind.value} {output}/{change.path}")
        if len(every) > _SHOWN:
            say(f"... and {len(every) - _SHOWN} more")
    kinds = dict.fromkeys(change.kind for change in every)
    parts = [
        f"{sum(change.kind is kind for change in every)} {_PLANNED.get(kind.value, f'to {kind.value}')}"
        if not written
        else f"{sum(change.kind is kind for change in every)} {_DONE[kind.value]}"
        for kind in kinds
    ]
    say(f"{output}: {count(hosts, 'host')}, {', '.join(parts)}")


_PLANNED: Final = {"mode": "with a wrong mode"}
_DONE: Final = {"create": "created", "update": "updated", "remove": "removed", "mode": "with its mode repaired"}
