"""Rendered directories of one host, made by hand, and the collection's modules called on them."""

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

CHAT = "etc/containers/systemd/chat.container"
EMBED = "etc/containers/systemd/embed.container"
NATIVE = "etc/systemd/system/rerank.service"


def unit_of(path: str) -> str:
    """The unit that a file becomes."""
    return f"{Path(path).stem}.service"


def words(data: bytes) -> str:
    """The restart digest of a file: of its lines that are no comments."""
    return sha256(b"\n".join(line for line in data.splitlines() if not line.startswith(b"#"))).hexdigest()


def service(path: str, **changes: Any) -> dict[str, Any]:
    """One line of a manifest's services, for a file."""
    return {
        "after": [],
        "autostart": True,
        "conflicts": [],
        "health": None,
        "image": "ghcr.io/x:1" if path.endswith(".container") else None,
        "pull": "missing" if path.endswith(".container") else None,
        "start_timeout": 900,
        "stop_timeout": 30,
        "unit": unit_of(path),
        "user": None,
        **changes,
    }


def rendered(
    place: Path,
    files: Mapping[str, bytes],
    *,
    host: str = "claw",
    services: Iterable[dict[str, Any]] | None = None,
    modes: Mapping[str, str] | None = None,
) -> str:
    """Write the rendered directory of a host below `place`, and nothing else there; returns its path.

    Without `services` each file is one of the system's, which starts with the host.
    """
    directory = place / host
    for path, data in files.items():
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(data)
    listed = [
        {
            "mode": (modes or {}).get(path, "0644"),
            "path": path,
            "restart": words(data),
            "service": Path(path).stem,
            "sha256": sha256(data).hexdigest(),
            "unit": unit_of(path),
        }
        for path, data in sorted(files.items())
    ]
    every = [service(path) for path in sorted(files)] if services is None else list(services)
    manifest = {"files": listed, "host": host, "requires": {}, "services": every, "version": 1}
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "manifest.json").write_text(json.dumps(manifest))
    return str(directory)
