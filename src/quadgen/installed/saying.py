"""The problems of declared files: all have the file on the host as their place."""

from quadgen.installed.declared import Declared, DeclaredFile
from quadgen.installed.seen import Seen
from quadgen.problems import Problem


def of_file(
    declared: Declared,
    file: DeclaredFile,
    seen: Seen,
    message: str,
    *,
    code: str,
    notes: tuple[str, ...] = (),
    line: int = 1,
    hint: str | None = None,
) -> Problem:
    """Make a problem of a declared file, at a line of it, from 1."""
    return Problem(
        code=code,
        message=message,
        host=declared.host,
        service=file.service,
        notes=notes,
        hint=hint,
        place=seen.place(file.path, line),
    )


def systemctl(file: DeclaredFile) -> str:
    """The command that speaks with the manager of a file's service, as root types it."""
    return f"systemctl --user -M {file.user}@" if file.user else "systemctl"
