"""Hosts below a directory that have what a manifest asks for, and the words of their Podman and systemd."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plugins.module_utils import requirements
from plugins.module_utils.managers import MISSING, Said, Trouble

ADA = 4242
"""Her id, which is nobody's here: the files of the test are another user's."""
RENDER = os.getgid()
"""The group of the files of the test."""
MANAGER = 777
"""The process of her systemd."""


@dataclass
class Programs:
    """What Podman and systemd answer, in the words of the real ones."""

    podman: str | None = "podman version 5.4.2\n"
    secrets: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=lambda: ["podman"])
    memlock: str = "infinity"
    pid: int = 0
    broken: str | None = None
    """What Podman says instead of a list."""
    calls: list[tuple[str, ...]] = field(default_factory=list)
    """Who asked (empty: the system), and the words."""

    def __call__(self, argv: Sequence[str], user: str | None = None, timeout: float | None = None) -> Said:  # noqa: ARG002 - as run()
        """Answer as the program would."""
        self.calls.append((user or "", *argv))
        if argv[0] == "podman":
            return self._podman(list(argv[1:]))
        if argv[0] == "systemctl" and f"user@{ADA}.service" in argv:
            return Said(0, f"MainPID={self.pid}\nLimitMEMLOCK={self.memlock}\n", "")
        raise Trouble(f"nobody expected {argv}")

    def _podman(self, words: list[str]) -> Said:
        if self.podman is None:
            return Said(MISSING, "", "cannot run podman: No such file or directory")
        if words == ["--version"]:
            return Said(0, self.podman, "")
        if self.broken is not None:
            return Said(125, "", f"{self.broken}\n")
        held = {"secret": self.secrets, "network": self.networks}[words[0]]
        return Said(0, "".join(f"{name}\n" for name in held), "")


@dataclass
class Host:
    """A host below `root`, the tree that was rendered for it, and its programs."""

    root: Path
    tree: Path
    manifest: dict[str, Any]
    programs: Programs = field(default_factory=Programs)

    def at(self, path: str) -> Path:
        """A path of the host as it is found from here."""
        return self.root / path.lstrip("/")

    def put(self, path: str, data: bytes | str = b"", mode: int = 0o644) -> Path:
        """Make a file, and every directory on the way open to all."""
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        for directory in place.parents:
            if directory == self.root:
                break
            directory.chmod(0o755)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())
        place.chmod(mode)
        return place

    def unmet(self) -> list[str]:
        """What the collection says of it."""
        return requirements.unmet(self.manifest, str(self.root), self.programs, str(self.tree))


def good(root: Path, tree: Path) -> Host:
    """Make a host that has everything that the manifest of a tree asks for."""
    host = Host(root, tree, json.loads((tree / "manifest.json").read_bytes()))
    needs = host.manifest["requires"]
    users = {"root": 0, **dict.fromkeys(needs["users"], ADA)}
    lines = [
        f"{name}:x:{uid}:{uid}::/{'root' if uid == 0 else f'home/{name}'}:/bin/sh\n" for name, uid in users.items()
    ]
    host.put("/etc/passwd", "".join(lines))
    host.put("/etc/group", f"render:x:{RENDER}:{','.join(needs['users'])}\nvideo:x:4300:\n")
    for each in needs["linger"]:
        host.put(f"/var/lib/systemd/linger/{each}")
        host.put("/etc/subuid", f"{each}:100000:65536\n")
        host.put("/etc/subgid", f"{each}:100000:65536\n")
    host.put("/usr/libexec/podman/quadlet", mode=0o755)
    for device in needs["devices"]:
        host.put(f"{device}/renderD128" if device == "/dev/dri" else device, mode=0o660)
    for name in needs["cdi"]:
        kind, _, device = name.partition("=")
        host.put("/etc/cdi/card.json", json.dumps({"kind": kind, "devices": [{"name": device}]}))
    home = f"/home/{needs['linger'][0]}" if needs["linger"] else None
    for name in needs["credentials"]:
        host.put(f"{f'{home}/.config' if home else '/etc'}/credstore/{name}", b"key", 0o644)
    for name in needs["networks"]:
        host.put(f"{f'{home}/.config' if home else '/etc'}/containers/systemd/{name}")
    for name in needs["programs"]:
        host.put(name if name.startswith("/") else f"/usr/bin/{name}", mode=0o755)
    for path in needs["files"]:
        host.put(path, b"GGUF")
    for checkpoint in needs["checkpoints"]:
        os.truncate(host.root / checkpoint["files"][0].lstrip("/"), checkpoint["size"])  # a hole: nothing reads it
    host.programs.secrets = list(needs["secrets"])
    return host
