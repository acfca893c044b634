"""Rendered trees written by hand, good units of every kind, and stand-ins for the programs that judge them."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from quadgen.problems import Problem
from quadgen.verify import Generator, verify_tree

QUADLETS = "etc/containers/systemd"
UNITS = "etc/systemd/system"
USER_QUADLETS = "home/ada/.config/containers/systemd"
USER_UNITS = "home/ada/.config/systemd/user"

CHAT = """\
[Unit]
Description=chat
After=embed.service mnt-nas.mount
Wants=embed.service mnt-nas.mount
AssertPathExists=/srv/models/qwen.gguf

[Container]
Image=ghcr.io/ggml-org/llama.cpp:server-vulkan-b10715
ContainerName=chat
AutoUpdate=registry
AddDevice=/dev/dri
AddDevice=nvidia.com/gpu=0
NoNewPrivileges=true
DropCapability=all
ReadOnly=true
Volume=/srv/models:/models:ro,z
PublishPort=127.0.0.1:8080:8080
Network=lan.network
Environment="GREETING=100%% of $$HOME"
Environment=GGML_VK_VISIBLE_DEVICES=0
Secret=chat-key,type=mount,target=/run/secrets/key
Label="note={\\"a\\": false}"
Ulimit=memlock=-1:-1
PodmanArgs=--memory=4g
HealthCmd=["curl","-f","http://127.0.0.1:8080/health"]
HealthStartupCmd=["curl","-f","http://127.0.0.1:8080/health"]
Notify=healthy
Exec=--model /models/qwen.gguf --alias "a b" --kwargs "{\\"think\\":false}" --grammar "a\\\\nb" --port 8080

[Service]
Restart=on-failure
TimeoutStartSec=900

[Install]
WantedBy=multi-user.target
"""

FORGE = """\
[Unit]
Description=forge
After=network.target chat.service mnt-nas.mount
Wants=chat.service mnt-nas.mount
Conflicts=night.service
AssertPathExists=/srv/models/qwen.gguf
StartLimitIntervalSec=7200
StartLimitBurst=20

[Service]
Type=exec
Environment="GREETING=100%% of it"
ExecStart=/opt/llama.cpp/llama-server --model /srv/models/qwen.gguf --alias "" --api-key-file %d/key ";"
ExecStartPost=/usr/bin/no-such-shell -c "while kill -0 $${MAINPID}; do curl -f http://[::1]:80/ && exit; done"
LoadCredential=key:/etc/credstore/key
TimeoutStartSec=900
Restart=on-failure

[Install]
WantedBy=multi-user.target
"""

BARE = """\
[Container]
Image=ghcr.io/ggml-org/llama.cpp:server-b10715
Exec=--port 8080
"""


def write_host(
    root: Path,
    files: Mapping[str, str],
    *,
    unlisted: Iterable[str] = (),
    manifest: Mapping[str, Any] = MappingProxyType({}),
) -> Path:
    """Write the host `claw` below `root` and return its directory.

    The manifest lists the files but those in `unlisted`; `manifest` has keys of it that are to differ.
    """
    directory = root / "claw"
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    listed = sorted(set(files) - set(unlisted))
    entries = [{"path": name, "service": Path(name).stem, "unit": f"{Path(name).stem}.service"} for name in listed]
    whole = {"version": 1, "host": "claw", "files": entries, "requires": {"podman": "5.4.2"}, **manifest}
    (directory / "manifest.json").write_text(json.dumps(whole))
    return directory


CONTENT = r"""
if [ "$1" = -version ]; then echo 5.4.2; exit; fi
dir=${QUADLET_UNIT_DIRS%%:*}
for unit in "$dir"/*.container; do
  [ -e "$unit" ] || continue
  name=$(basename "$unit" .container)
  printf -- '---%s.service---\n[Unit]\nSourcePath=%s\n\n[Service]\n' "$name" "$unit"
  printf 'ExecStart=/usr/bin/podman run -d %s --port 8080\n\n' ghcr.io/ggml-org/llama.cpp:server-b10715
done
"""
"""A generator that has no objections to `BARE`."""


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def verify(
    root: Path | str,
    *,
    quadlet: str | None = None,
    systemd: str | None = None,
    hosts: frozenset[str] | None = None,
    timeout: float = 30,
) -> list[Problem]:
    return verify_tree(
        str(root),
        generators=[Generator(version="5.4.2", path=quadlet)] if quadlet else [],
        systemd_analyze=systemd,
        hosts=hosts,
        progress=lambda *_: None,
        timeout=timeout,
    )
