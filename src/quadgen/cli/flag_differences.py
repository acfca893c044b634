"""The words of `quadgen flags diff`."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from quadgen.cli import console
from quadgen.cli.flag_tables import head, record
from quadgen.engines.flag_changes import Aspect, Change, Changes, Difference, is_compiled_in
from quadgen.engines.flags import Choice, Option
from quadgen.problems import Place, Severity
from quadgen.upgrade import Finding, Respelling, Service, Upgrade

_SHOWN: Final = 20
"""Services that are listed for people; the JSON form has all."""
_SENTENCES: Final[Mapping[Aspect, tuple[str, str]]] = {
    "removed": ("is accepted again", "is refused: {}"),
    "deprecated": ("is no longer deprecated", "is deprecated: {}"),
    "commas": ("takes one value", "takes several values, separated by commas"),
    "repeats": ("the last use replaces the ones before", "each use adds to the ones before"),
}
"""What a respect in which an option changed comes to: where it holds nothing now, and where it holds something."""
_KINDS: Final = {"int": "an integer", "float": "a number", None: "text"}


def as_json(before: Choice, after: Choice, found: Changes, fleet: str | None, effect: Upgrade | None) -> str:
    """One object: the two builds, what differs between them, and what that does to the fleet, or null."""
    told = {
        "old": {"build": before.table.build, "note": before.note},
        "new": {"build": after.table.build, "note": after.note},
        "removed": [record(option) for option in found.removed],
        "added": [record(option) for option in found.added],
        "changed": [
            {
                "canonical": change.after.canonical,
                "was": change.before.canonical,
                "differences": [each._asdict() for each in change.differences],
            }
            for change in found.changed
        ],
        "fleet": None if effect is None else {"file": fleet, **_effect(effect)},
    }
    return json.dumps(told, indent=2, ensure_ascii=False)


def _effect(effect: Upgrade) -> dict[str, Any]:
    return {
        "engines": list(effect.engines),
        "refused": effect.refused,
        "unrelated": effect.unrelated,
        "broken": [_finding(finding) for finding in effect.broken],
        "mended": [_finding(finding) for finding in effect.mended],
        "respelled": [
            {"before": one.before, "after": one.after, "services": [each._asdict() for each in one.services]}
            for one in effect.respelled
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    problem = finding.problem
    return {
        "code": problem.code,
        "severity": problem.severity.value,
        "message": problem.message,
        "flag": finding.flag,
        "notes": list(problem.notes),
        "hint": problem.hint,
        "places": [
            {
                "file": place.file if place else None,
                "line": place.line if place else None,
                "column": place.column if place else None,
                "services": [each._asdict() for each in services],
            }
            for place, services in finding.spots
        ],
    }


def as_text(before: Choice, after: Choice, found: Changes) -> str:
    """What differs between two builds, for people: one option a line, or one respect in which it changed."""
    title = f"{before.table.build} -> {after.table.build}"
    if not found:
        return f"{title}: the same flags\n"
    counts = f"{len(found.removed)} removed, {len(found.added)} added, {len(found.changed)} changed"
    sections = (
        ("removed", (_gone(option) for option in found.removed)),
        ("added", (_new(option) for option in found.added)),
        ("changed", (line for change in found.changed for line in _changed(change))),
    )
    lines = [f"{title}: {counts}"]
    for name, rows in sections:
        told = [f"  {row}" for row in rows]
        lines += [name, *told] if told else []
    return console.lines(lines)


def _gone(option: Option) -> str:
    advice = option.deprecated or (f"refused already: {option.removed}" if option.removed else None)
    env = f"env {option.env}" if option.env else None
    return "; ".join(filter(None, (head(option), advice, env, _compiled(option))))


def _new(option: Option) -> str:
    env = f"env {option.env}" if option.env else None
    return "; ".join(filter(None, (head(option), env, _compiled(option))))


def _compiled(option: Option) -> str | None:
    return "a server has it by what was compiled into it" if is_compiled_in(option) else None


def _changed(change: Change) -> Iterator[str]:
    for difference in change.differences:
        yield f"{change.after.canonical}: {_words(difference)}"


def _words(difference: Difference) -> str:
    aspect, was, now = difference
    if aspect in _SENTENCES:
        gone, here = _SENTENCES[aspect]
        return here.format(now) if now else gone
    if aspect in ("names", "words", "values") and was and now:
        lost, gained = (", ".join(word for word in one if word not in two) for one, two in ((was, now), (now, was)))
        return "; ".join(filter(None, (lost and f"no more {lost}", gained and f"also {gained}"))) or "another order"
    match aspect:
        case "meaning":
            return f"{was} {now if now.startswith('turns') else f'is {now}'} now"
        case "arity":
            return f"takes {console.count(now, 'value')} instead of {was}"
        case "number":
            return f"takes {_KINDS[now]} instead of {_KINDS[was]}"
        case "names" | "words" | "values":
            return f"only {', '.join(now)}" if aspect == "values" and now else _one_sided(was, now)
        case _:
            return f"{aspect} {_or_none(was)} -> {_or_none(now)}"


def _one_sided(was: Sequence[str], now: Sequence[str]) -> str:
    return f"also {', '.join(now)}" if now else f"no more {', '.join(was)}"


def _or_none(text: str | None) -> str:
    return "none" if text is None else text or "empty"


def effect_as_text(fleet: str, build: str, effect: Upgrade) -> str:
    """What the new build does to the fleet, for people; empty where it does nothing."""
    lines: list[str] = []
    for title, findings in (("breaks", effect.broken), ("is mended", effect.mended)):
        if findings:
            lines += ["", f"{title} in {fleet} on {build}"]
            lines += [line for finding in findings for line in _told(finding)]
    if effect.respelled:
        lines += ["", f"is written in other words in {fleet} on {build}"]
        lines += [line for one in effect.respelled for line in _respelled(one)]
    return console.lines(lines)


def _told(finding: Finding) -> Iterator[str]:
    problem = finding.problem
    yield f"  {problem.severity}[{problem.code}]: {problem.message}"
    yield from (f"    note: {note}" for note in problem.notes)
    if problem.hint:
        yield f"    hint: {problem.hint}"
    yield from (f"    {_where(place)}{_listed(services)}" for place, services in finding.spots)


def _where(place: Place | None) -> str:
    return "" if place is None else f"{place.file}:{place.line}:{place.column}: "


def _respelled(one: Respelling) -> Iterator[str]:
    before, after = (
        ", ".join(" ".join(words) for words in options) or "nothing" for options in (one.before, one.after)
    )
    yield f"  {before} -> {after}"
    yield f"    {_listed(one.services)}"


def _listed(services: Sequence[Service]) -> str:
    if not services:
        return "the whole fleet"
    names = [f"{each.host}/{each.service}" if each.service else each.host for each in services[:_SHOWN]]
    more = f" and {len(services) - _SHOWN} more" if len(services) > _SHOWN else ""
    return f"{', '.join(names)}{more}"


def summary(fleet: str, before: str, build: str, effect: Upgrade) -> Iterator[str]:
    """The sentences at the end."""
    if not effect.stated:
        names = ", ".join(effect.engines) or "none, since each has a table of its own"
        yield f"{fleet}: no engine is on {before}; taken for it: {names}"
    errors = sum(finding.problem.severity is Severity.ERROR for finding in effect.broken)
    warnings = len(effect.broken) - errors
    counts = [console.count(number, what) for number, what in ((errors, "error"), (warnings, "warning")) if number]
    touched = _services(effect.broken)
    if counts:
        hosts = console.count(len({host for host, _ in touched}), "host")
        where = f" to {console.count(len(touched), 'service')} on {hosts}" if touched else ""
        yield f"{fleet}: {build} brings {' and '.join(counts)}{where}"
    else:
        yield f"{fleet}: {build} breaks nothing"
    if effect.unrelated:
        many = console.count(effect.unrelated, "error")
        yield f"{fleet}: {many} with either build, see `quadgen check`; what is refused by that is not compared further"


def _services(findings: Iterable[Finding]) -> set[Service]:
    return {service for finding in findings for spot in finding.spots for service in spot.services}
