"""Rendered hosts made by hand, and a way to see a whole directory tree as one value."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from quadgen.tree import File, HostTree

CHAT = "etc/containers/systemd/chat.container"
EMBED = "home/llm/.config/containers/systemd/embed.container"


def manifest(host: str, paths: Iterable[str], note: str = "") -> bytes:
    """Write the part of a manifest that pruning relies on; another `note` makes it other bytes."""
    files = [{"path": path, "sha256": note, "mode": "0644"} for path in sorted(paths)]
    return json.dumps({"version": 1, "host": host, "files": files, "requires": {}}).encode() + b"\n"


def tree(files: Mapping[str, bytes], note: str = "", *, host: str = "claw", mode: int = 0o644) -> HostTree:
    """Make a rendered host of these files."""
    parts = tuple(File(path=path, data=data, mode=mode) for path, data in sorted(files.items()))
    return HostTree(host=host, files=parts, manifest=manifest(host, files, note))


def snapshot(root: Path, *, times: bool = False) -> dict[str, tuple[object, ...]]:
    """Describe everything below `root` (itself included): mode, target or bytes, and on demand each time.

    The access time is left out: reading is no change.
    """
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *root.rglob("*")]:
        status = path.lstat()
        what = str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        when = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns) if times else ()
        found[path.relative_to(root).as_posix()] = (oct(status.st_mode), what, *when)
    return found
