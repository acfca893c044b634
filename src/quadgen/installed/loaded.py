"""The declared units of a host against those that systemd loaded and runs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.others import drop_in
from quadgen.installed.places import GENERATOR
from quadgen.installed.saying import of_file, systemctl
from quadgen.installed.seen import Found, Kind, Loaded, Seen
from quadgen.problems import Problem, Severity
from quadgen.unitfile import Malformed, environment_split

PROPERTIES: Final = (
    "Id", "LoadState", "ActiveState", "SubState", "Result", "FragmentPath", "SourcePath", "DropInPaths",
    "NeedDaemonReload", "UnitFileState", "NRestarts", "ExecMainStatus", "AssertResult", "AssertTimestampMonotonic",
    "MainPID", "Job",
)  # fmt: skip
"""What `systemctl show` is asked for."""

RUNS: Final = frozenset({"active", "reloading", "refreshing"})
"""The states in which a unit has what it started."""
_ENABLED: Final = frozenset({"enabled", "enabled-runtime", "generated", "alias", "static", "linked", "bad"})
"""States of a unit file that need no enabling; `bad` is one that cannot be read, which is said otherwise."""


def shown(text: str) -> Iterator[Loaded]:
    """The units of an answer of `systemctl show`, in the order in which they were asked for."""
    for block in text.split("\n\n"):
        values = dict(line.split("=", 1) for line in block.split("\n") if "=" in line)
        if "Id" in values:
            yield Loaded(
                unit=values["Id"],
                load=values.get("LoadState", ""),
                active=values.get("ActiveState", ""),
                sub=values.get("SubState", ""),
                result=values.get("Result", ""),
                fragment=values.get("FragmentPath", ""),
                source=values.get("SourcePath", ""),
                drop_ins=_paths(values.get("DropInPaths", "")),
                stale=values.get("NeedDaemonReload") == "yes",
                enabled=values.get("UnitFileState", ""),
                restarts=_number(values.get("NRestarts", "")),
                status=_number(values.get("ExecMainStatus", "")),
                # it is `no` as well where nothing was ever asked to start
                asserted=values.get("AssertResult") != "no" or values.get("AssertTimestampMonotonic", "0") == "0",
                process=_number(values.get("MainPID", "")),
                queued=_number(values.get("Job", "")) > 0,
            )


def loading(declared: Declared, seen: Seen, said: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of units that systemd has otherwise than they were declared, but for those that were said already.

    Codes `unit-not-loaded`, `unit-shadowed`, `foreign-drop-in`, `reload-due`, `unit-not-enabled`.
    """
    known = {(problem.code, problem.service) for problem in said}
    told = {problem.place.file for problem in said if problem.place}
    for file in declared.units:
        loaded = seen.loaded.get((file.user, file.unit or ""))
        if loaded is None:
            continue
        shadowed = ("unit-shadowed", file.service) in known
        missing = ("file-missing", file.service) in known
        if loaded.load != "loaded":
            if not shadowed and (not missing or loaded.load != "not-found"):
                yield _not_loaded(declared, file, loaded, seen)
            continue
        if not shadowed and (elsewhere := _elsewhere(file, loaded)):
            message = f"systemd loaded {file.unit} from {elsewhere}, and not from {seen.place(file.path).file}"
            yield of_file(declared, file, seen, message, code="unit-shadowed", hint=f"take {elsewhere} away")
        for path in loaded.drop_ins:
            found = Found(path=path.lstrip("/"), kind=Kind.FILE)
            if seen.place(found.path).file not in told:
                yield drop_in(declared, [file], found, seen)
        if loaded.stale:
            message = f"the files of {file.unit} changed since systemd read them"
            yield of_file(
                declared,
                file,
                seen,
                message,
                code="reload-due",
                hint=f"{systemctl(file)} daemon-reload, and restart it",
            )
        if file.autostart and loaded.enabled not in _ENABLED and not (file.is_quadlet or shadowed):
            message = f"{file.unit} is {loaded.enabled or 'not enabled'}: nothing starts it with the machine"
            hint = f"{systemctl(file)} enable {file.unit}"
            yield of_file(declared, file, seen, message, code="unit-not-enabled", hint=hint)


def standing(declared: Declared, seen: Seen) -> Iterator[Problem]:
    """Problems of code `service-down`: a service that should run does not; a warning while it starts."""
    for file in declared.units:
        loaded = seen.loaded.get((file.user, file.unit or ""))
        if loaded is None or loaded.load != "loaded" or loaded.active in RUNS:
            continue
        waits = loaded.active == "inactive" and loaded.queued  # for a unit that it comes after
        starts = (waits or loaded.active == "activating") and loaded.sub != "auto-restart" and not loaded.restarts
        if not starts and (not file.autostart or _partner(declared, file, seen)) and loaded.active != "failed":
            continue
        state = f"{loaded.active} ({loaded.sub})"
        notes = [f"its result is {loaded.result}"] if loaded.result not in {"", "success"} else []
        notes += [f"its program ended with status {loaded.status}"] if loaded.status else []
        notes += [f"systemd tried it again: restart {loaded.restarts}"] if loaded.restarts else []
        notes += ["one of its AssertPathExists= is not met"] if not loaded.asserted else []
        unit = file.unit or ""
        if starts:
            message = f"{unit} is still starting: {state}{', and waits for another unit' if waits else ''}"
            found = of_file(declared, file, seen, message, code="service-down", notes=tuple(notes))
            yield replace(found, severity=Severity.WARNING)
            continue
        log = f"journalctl {f'_SYSTEMD_USER_UNIT={unit}' if file.user else f'-u {unit}'}"
        yield of_file(
            declared,
            file,
            seen,
            f"{unit} {'should run, and is' if file.autostart else 'is'} {state}",
            code="service-down",
            notes=tuple(notes),
            hint=f"{log}; {systemctl(file)} start {unit}",
        )


def _partner(declared: Declared, file: DeclaredFile, seen: Seen) -> bool:
    """Whether a service runs that cannot run beside this one."""
    partners = {(file.user, unit) for unit in file.conflicts}
    partners |= {(other.user, other.unit or "") for other in declared.units if file.unit in other.conflicts}
    return any(each in seen.loaded and seen.loaded[each].active in {*RUNS, "activating"} for each in partners)


def _elsewhere(file: DeclaredFile, loaded: Loaded) -> str | None:
    """Where a unit came from, if not from the declared file; a link on the way makes another name of the same."""
    came = loaded.source if file.is_quadlet else loaded.fragment
    if file.is_quadlet and f"/{GENERATOR}/" not in loaded.fragment:
        return loaded.fragment
    return None if came.endswith(f"/{file.path}") or _end(came) == _end(file.path) else came


def _end(path: str) -> str:
    """What a path comes to whatever the home directories of a host are called."""
    return path.rpartition("/.config/")[2] if "/.config/" in path else path


def _not_loaded(declared: Declared, file: DeclaredFile, loaded: Loaded, seen: Seen) -> Problem:
    if loaded.load == "masked":
        message, hint = f"{file.unit} is masked", f"{systemctl(file)} unmask {file.unit}"
    elif loaded.load == "not-found":
        message = f"systemd has no {file.unit}"
        hint = f"{systemctl(file)} daemon-reload; the journal of the generator says why where that does not help"
    else:
        message = f"systemd could not load {file.unit}: {loaded.load}"
        hint = f"{systemctl(file)} status {file.unit} says why"
    return of_file(declared, file, seen, message, code="unit-not-loaded", hint=hint)


def _paths(value: str) -> tuple[str, ...]:
    try:
        return environment_split(value)
    except Malformed:
        return tuple(value.split())


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else 0
