"""One host's unit files as values, by the manager that loads them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from quadgen.problems import Place, Problem, Severity

QUADLETS: Final = (
    ".container", ".volume", ".network", ".kube", ".image", ".build", ".pod", ".artifact",
)  # fmt: skip
"""What Podman's generator reads (podman-systemd.unit(5); `.artifact` from 5.7.0)."""

UNITS: Final = (
    ".service", ".socket", ".target", ".timer", ".path", ".mount", ".automount", ".slice", ".swap",
)  # fmt: skip
"""What systemd reads (systemd.unit(5)), without the kinds that have no file."""

SYSTEM: Final = "system"
"""The name of the manager of system units."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFile:
    """A file of a unit directory: a unit, a drop-in, or what a unit names."""

    path: str
    """Below the host's directory."""
    below: str
    """Below the unit directory: `chat.container`, `chat.container.d/10-local.conf`."""
    data: bytes

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.below.rpartition("/")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """The files that one systemd manager loads: the system's, or that of a user."""

    name: str
    """`system`, `every user`, or a user's home on the host."""
    quadlets: tuple[UnitFile, ...]
    units: tuple[UnitFile, ...]

    @property
    def user(self) -> bool:
        """Whether it is a user's manager."""
        return self.name != SYSTEM

    def drop_ins_of(self, unit: UnitFile) -> list[str]:
        """List the drop-ins that the generator merges into a Quadlet: by its name, its prefixes, its kind."""
        stem, _, suffix = unit.name.rpartition(".")
        parts = stem.split("-")
        prefixes = [f"{'-'.join(parts[:n])}-.{suffix}" for n in range(1, len(parts))]
        template = [f"{stem.partition('@')[0]}@.{suffix}"] if "@" in stem else []
        folders = {f"{name}.d" for name in (unit.name, suffix, *prefixes, *template)}
        return [
            file.below
            for file in self.quadlets
            if file.name.endswith(".conf") and folders.intersection(file.below.split("/")[-2:-1])
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """One host's directory, read."""

    name: str
    directory: str
    """As the caller wrote the root, so that places read as the user's own paths."""
    managers: tuple[Manager, ...]
    listed: Mapping[str, str | None]
    """The files that the manifest lists: path, and service where it is of one."""
    podman: str | None
    """The least version that the units need, as the manifest says under `requires`."""
    problems: tuple[Problem, ...]

    def problem(
        self,
        message: str,
        *,
        code: str,
        file: UnitFile | None = None,
        line: int | None = None,
        notes: tuple[str, ...] = (),
        hint: str | None = None,
        severity: Severity = Severity.ERROR,
    ) -> Problem:
        """Make a problem of this host, at a line (from 1) of one of its files where that is known."""
        return Problem(
            code=code,
            message=message,
            severity=severity,
            host=self.name,
            service=self.listed.get(file.path) if file else None,
            notes=notes,
            hint=hint,
            place=place(self.directory, file, line) if file else None,
        )


def place(directory: str, file: UnitFile, line: int | None) -> Place:
    """Point at a whole line of a file, or at its start where no line is known."""
    number = line or 1
    lines = file.data.decode("utf-8", "replace").split("\n")
    text = lines[number - 1].rstrip("\r") if number <= len(lines) else ""
    length = max(1, len(text)) if line else 1
    return Place(file=f"{directory}/{file.path}", line=number, column=1, length=length, text=text)
