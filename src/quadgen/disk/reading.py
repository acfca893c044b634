"""Reading what the user names, and finding what quadgen brings along."""

import os
from pathlib import Path
from typing import Final

from quadgen.ownership import shown
from quadgen.problems import Place, Problem, Rejected, Unavailable
from quadgen.tree import Template

LARGEST: Final = 256 * 2**20
"""Bytes of a file: the fleet of 100,000 hosts has a tenth of it, and /dev/zero has no end."""


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Read a whole file. Raises `Unavailable` with the path and the reason, also where it has no end."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise unavailable("read", os.fspath(path), error) from error
    if len(data) > LARGEST:
        raise Unavailable(f"cannot read {shown(os.fspath(path))}: it has more than {LARGEST // 2**20} MiB")
    return data


def template_root() -> Path:
    """Find the directory of the built-in templates: in the package, or beside `src/` in a checkout.

    An editable install has them only there. Raises `Unavailable` where there are none.
    """
    package = Path(__file__).resolve().parent.parent
    for directory in (package / "templates", package.parent.parent / "templates"):
        if directory.is_dir():
            return directory
    raise Unavailable(f"the templates of quadgen are missing from {package}: install it again")


def errors_text() -> str:
    """Read docs/errors.md: in the package's data, or in a checkout's docs."""
    package = Path(__file__).resolve().parent.parent
    for path in (package / "data" / "errors.md", package.parent.parent / "docs" / "errors.md"):
        if path.is_file():
            return read_file(path).decode()
    raise Unavailable(f"the list of codes is missing from {package}: install quadgen again")


def matching(base: str, pattern: str) -> list[str]:
    """Find the files below `base` that match a glob pattern (`**` reaches any depth), sorted by name."""
    import glob  # noqa: PLC0415 - only a fleet with ledgers of its own needs it

    found = glob.glob(pattern, root_dir=base or None, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    return sorted(name for name in found if (Path(base) / name).is_file())


def templates(base: str) -> dict[str, Template]:
    """Read the built-in templates and those of a fleet's own `templates/` directory, by name.

    Raises `Unavailable` where one cannot be read, `Rejected` where one is not UTF-8.
    """
    found: dict[str, Template] = {}
    for directory, own in ((template_root(), False), (Path(base) / "templates", True)):
        if own and not directory.is_dir():
            continue
        for path in sorted(directory.glob("*.j2")):
            data = read_file(path)
            try:
                text = data.decode()
            except UnicodeDecodeError as error:
                place = Place(file=str(path), line=data.count(b"\n", 0, error.start) + 1, column=1)
                message = f"byte 0x{data[error.start]:02X} of a template is not UTF-8"
                raise Rejected([Problem(code="unit-changed-by-template", message=message, place=place)]) from error
            if path.name in found and found[path.name].text == text:
                continue  # the fleet of quadgen's own checkout stands beside the built-in templates
            found[path.name] = Template(text, str(path) if own else f"templates/{path.name}", own)
    return found


def unavailable(verb: str, path: str, error: OSError) -> Unavailable:
    """Say what could not be done to which path, and why."""
    return Unavailable(f"cannot {verb} {shown(path)}: {error.strerror or error}")


def named(error: OSError, otherwise: str) -> str:
    """Tell which path the failed system call was about; not every one takes a path."""
    return error.filename if isinstance(error.filename, str) else otherwise
