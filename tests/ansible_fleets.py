"""Fleets of one host for the tests of the collection, on ports that are free, and what such a host must have."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from fleets import ENGINES

IMAGE: Final = "ghcr.io/ggml-org/llama.cpp:server-b10715"
MODEL: Final = "srv/models/plain.gguf"
"""The one file of every service here, below a host's root."""


def free_ports(count: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody listens on; all are held until the last is found, so that none comes twice."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()


def fleet(services: Mapping[str, Mapping[str, Any]], *, host: str = "claw", **fields: Any) -> str:
    """A fleet of one host with these services; `fields` are more of the host's."""
    common = {"backend": "cpu", "engine": "cpu", "model": "plain", "context": 4096, **fields}
    body = {"hosts": {host: {**common, "services": dict(services)}}}
    return ENGINES + json.dumps(body)[1:-1] + "\n"


def provide(root: Path) -> None:
    """Put below a root what the services of these fleets read."""
    (root / MODEL).parent.mkdir(parents=True, exist_ok=True)
    (root / MODEL).write_bytes(b"GGUF")


def unit(tree: Path, name: str) -> dict[str, Any]:
    """What a rendered directory says of the service of this name."""
    services = yaml.safe_load((tree / "manifest.json").read_text(encoding="utf-8"))["services"]
    return next(service for service in services if service["unit"] == f"{name}.service")
