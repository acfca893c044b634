"""`systemd-analyze verify` over one manager's services, those that the Quadlet generator made included.

It may end with status 0 and still have warned that it ignores a key (systemd 252 does), so what it prints
decides. It reads nothing of the machine it runs on: the unit path holds the copies and stand-ins alone.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quadgen.problems import Problem, Severity, Unavailable
from quadgen.unitfile import service_words
from quadgen.verify.generator import Generated
from quadgen.verify.layout import UNITS, Host, Manager, UnitFile
from quadgen.verify.programs import run
from quadgen.verify.stubs import required, stand_ins, stubbed

_AT_LINE = re.compile(r"(?P<path>/.+?):(?P<line>\d+): (?P<message>.*)")
_OF_UNIT = re.compile(r"(?:Unit )?(?P<name>[\w:.\\@-]+\.[a-z]+)(?::? )(?P<message>.*)")
_NO_MANAGER: Final = "Failed to initialize manager"
"""What it says where it cannot even begin, so that nothing was judged."""

_PODMAN_PATHS = re.compile(r"RequiresMountsFor= path is not absolute")
"""Podman up to 5.4 writes the path of a volume without the quotes that a blank needs, and systemd then
waits for less than it could: nothing that a unit could say otherwise."""


def analyze(
    host: Host,
    manager: Manager,
    generated: Sequence[Generated],
    *,
    program: str,
    stage: Path,
    timeout: float,
) -> list[Problem]:
    """Let systemd judge the units of one manager in copies below `stage`, an absolute, empty directory.

    A service that no generator made is stood in for where another unit requires it. The problems are of
    code `systemd-refused`; systemd's own words end the message, or are its notes. Raises Unavailable where
    the program cannot work on this machine.
    """
    copies = {f"{stage}/units/{file.below}": file.data for file in manager.units}
    # One that a file of the administrator hides is never loaded.
    hidden = {file.below for file in manager.units}
    generated = [service for service in generated if service.name not in hidden]
    copies |= {f"{stage}/generated/{service.name}": service.text.encode() for service in generated}
    asked: set[str] = set().union(*(required(data) for data in copies.values()))
    held = {path.rpartition("/")[2] for path in copies}
    stub = service_words([program])  # a program that is there for certain
    for name, data in stand_ins(asked, held, stub).items():
        _write(f"{stage}/stand-ins/{name}", data)
    for path, data in copies.items():
        _write(path, stubbed(data, stub))
    judged = [path for path in copies if path.endswith(UNITS)]
    if not judged:
        return []
    said = run(
        [program, "verify", "--man=no", *(["--user"] if manager.user else []), *judged],
        environ={
            "SYSTEMD_UNIT_PATH": f"{stage}/units:{stage}/generated:{stage}/stand-ins",
            "XDG_RUNTIME_DIR": str(stage),
            "HOME": str(stage),
            "SYSTEMD_COLORS": "0",
        },
        timeout=timeout,
    )
    if said.status is None:
        message = f"systemd-analyze verify did not end within {timeout:g} seconds"
        return [host.problem(message, code="systemd-refused")]
    words = [word for word in (said.stdout + said.stderr).split("\n") if word]
    if broken := next((word for word in words if word.startswith(_NO_MANAGER)), None):
        raise Unavailable(f"systemd-analyze cannot work here: {broken}")
    problems = list(_judge(host, manager, generated, words, stage))
    if said.status != 0 and not problems:
        message = f"systemd-analyze verify ended with status {said.status} and gave no reason"
        problems.append(host.problem(message, code="systemd-refused"))
    return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class _Remark:
    """A line that systemd printed; without a file it is about them all, without a line about a unit."""

    file: UnitFile | None
    line: int | None
    message: str
    mild: bool = False


def _judge(
    host: Host, manager: Manager, generated: Sequence[Generated], words: Sequence[str], stage: Path
) -> Iterator[Problem]:
    """Make a problem of each line that systemd names; what it says of a whole unit becomes a note there."""
    sources: dict[str, tuple[UnitFile | None, str | None]] = {
        **{f"{stage}/units/{file.below}": (file, None) for file in manager.units},
        **{f"{stage}/generated/{made.name}": (made.source, made.text) for made in generated},
    }
    by_name = {path.rpartition("/")[2]: file for path, (file, _) in sources.items()}
    remarks = [_at_line(word, sources) or _of_unit(word, by_name, stage) for word in words]
    grouped: dict[tuple[str | None, int | None], list[_Remark]] = {}
    for remark in sorted(remarks, key=lambda remark: remark.line is None):
        key = (remark.file.path if remark.file else None, remark.line)
        if remark.file and remark.line is None:
            key = next((known for known in grouped if known[0] == remark.file.path), key)
        grouped.setdefault(key, []).append(remark)
    for (_, line), (first, *others) in grouped.items():
        subject = f"systemd objects to {first.file.below}" if first.file else "systemd objects"
        mild = all(remark.mild for remark in (first, *others))
        yield host.problem(
            f"{subject}: {first.message}",
            code="systemd-refused",
            file=first.file,
            line=line,
            notes=tuple(remark.message for remark in others),
            severity=Severity.WARNING if mild else Severity.ERROR,
        )


def _at_line(word: str, sources: Mapping[str, tuple[UnitFile | None, str | None]]) -> _Remark | None:
    said = _AT_LINE.fullmatch(word)
    if said is None or said["path"] not in sources:
        return None
    file, made = sources[said["path"]]
    line, message = int(said["line"]), said["message"]
    if made is None:
        return _Remark(file=file, line=line, message=message)
    origin, ours = _origin(made, line, file)
    mild = not ours and _PODMAN_PATHS.match(message) is not None
    return _Remark(file=file, line=origin, message=message, mild=mild)


def _of_unit(word: str, by_name: Mapping[str, UnitFile | None], stage: Path) -> _Remark:
    said = _OF_UNIT.fullmatch(word)
    if said and (file := by_name.get(said["name"])):
        return _Remark(file=file, line=None, message=said["message"])
    plain = word.replace(f"{stage}/units/", "").replace(f"{stage}/generated/", "")
    return _Remark(file=None, line=None, message=plain)


def _origin(text: str, number: int, file: UnitFile | None) -> tuple[int | None, bool]:
    """Find the line of a Quadlet that became this line of its service, and whether it still reads so."""
    made = text.split("\n")[number - 1].strip() if number <= text.count("\n") + 1 else ""
    lines = [line.strip() for line in file.data.decode("utf-8", "replace").split("\n")] if file else []
    if made in lines:
        return lines.index(made) + 1, True
    if made.startswith("ExecStart="):
        return next((n for n, line in enumerate(lines, 1) if line.startswith("Exec=")), None), False
    return None, False


def _write(path: str, data: bytes) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(data)
