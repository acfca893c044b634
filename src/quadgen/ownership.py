"""What in the output directory is quadgen's: the files that a manifest lists, and nothing else.

Pure: bytes in, paths or problems out. Two files carry the knowledge from one run to the next: the manifest
in each host's directory, and the journal, which stands in the output directory while a render writes.
"""

import json
import re
from typing import Any, TypeGuard

from quadgen.problems import Collector, Place, Problem

MANIFEST = "manifest.json"
JOURNAL = ".quadgen-writing"
"""Stands in the output directory only while a render writes; names every path that it is about to touch."""

_PART = r"(?!\.\.?(?:/|\Z))[^/\\\x00-\x1f\x7f\ud800-\udfff]+"
_RELATIVE = re.compile(f"{_PART}(?:/{_PART})*")


def temporary(path: str) -> str:
    """Name the file beside `path` that becomes it by a rename.

    Quadlet and systemd go by the suffix and neither knows this one (podman-systemd.unit(5), systemd.unit(5)).
    """
    directory, slash, name = path.rpartition("/")
    return f"{directory}{slash}.{name}.quadgen-new"


def listed(data: bytes, *, host: str, file: str, problems: Collector) -> frozenset[str] | None:
    """Read which paths below its host's directory a manifest lists.

    None, and a `not-ours` problem that names `file`, where quadgen did not write it for `host`. A path that
    leaves the directory would turn a prune into a weapon: one such path disqualifies the whole manifest.
    """
    line = column = 1
    try:
        manifest = json.loads(data)
    except json.JSONDecodeError as error:
        why, line, column = "it is not JSON", error.lineno, error.colno
    except (ValueError, RecursionError):
        why = "it is not JSON"
    else:
        files = manifest.get("files") if isinstance(manifest, dict) else None
        if not isinstance(files, list) or manifest.get("version") != 1:
            why = "it is not `version: 1` with a list of `files`"
        elif manifest.get("host") != host:
            why = "it names another host"
        else:
            paths = frozenset(path for path in map(_path_of, files) if path is not None)
            if len(paths) == len(files):
                return paths
            why = "it lists a path that is not plain and relative, or lists one twice"
    problems.add(
        _not_ours(
            Place(file=shown(file), line=line, column=column),
            f"{shown(file)} is no manifest that quadgen wrote for {shown(host)}: {why}",
            host=host,
            hint="restore it from git; or move the directory of this host away and render again",
        )
    )
    return None


def union(old: bytes, new: bytes) -> bytes:
    """Make the manifest `new` list the files of the manifest `old` as well; where both do, `new` speaks."""
    manifest: dict[str, Any] = json.loads(new)
    files = {entry["path"]: entry for entry in json.loads(old)["files"] + manifest["files"]}
    manifest["files"] = [files[path] for path in sorted(files)]
    return json.dumps(manifest, indent=2).encode() + b"\n"


def journal(paths: list[str]) -> bytes:
    """Write down the paths, below the output directory, that a run is about to touch."""
    return json.dumps(paths, indent=0).encode() + b"\n"


def journalled(data: bytes) -> tuple[str, ...]:
    """Read the paths of a journal.

    None from one that is no such list: a journal that was cut short cannot be parsed, and the run that was
    killed while writing it had touched nothing yet.
    """
    try:
        paths = json.loads(data)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(paths, list) or not all(_is_path(path) for path in paths):
        return ()
    return tuple(paths)


def foreign(file: str, *, host: str) -> Problem:
    """Refuse to overwrite a file that quadgen did not write."""
    return _not_ours(
        Place(file=shown(file), line=1, column=1),
        f"{shown(file)} is in the way: no manifest of quadgen lists it, and it is not what would be written",
        host=host,
        hint="move it out of the way or delete it, then render again",
    )


def blocked(file: str, what: str, *, host: str) -> Problem:
    """Refuse to write through or to replace what stands at `file`: `a symbolic link`, `a directory`, ..."""
    return _not_ours(
        Place(file=shown(file), line=1, column=1),
        f"{shown(file)} is in the way: it is {what}, which quadgen neither writes through nor replaces",
        host=host,
        hint="move it out of the way or delete it, then render again",
    )


def shown(name: str) -> str:
    r"""Make a name from the disk printable: bytes that are not UTF-8 become `\xNN`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _not_ours(place: Place, message: str, *, host: str, hint: str) -> Problem:
    return Problem(code="not-ours", message=message, host=shown(host), hint=hint, place=place)


def _path_of(entry: object) -> str | None:
    path = entry.get("path") if isinstance(entry, dict) else None
    return path if _is_path(path) and path != MANIFEST else None


def _is_path(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _RELATIVE.fullmatch(value) is not None
