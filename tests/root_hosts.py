"""A host's files below a temporary directory, and the tree that was rendered for it, for `quadgen verify --root`."""

import json
import os
import shutil
from pathlib import Path

from command import Done, quadgen
from fleets import ENGINES, render

FLEET = f"""\
{ENGINES}defaults: {{backend: cpu, engine: cpu, context: 4096, model: plain}}
hosts:
  claw: {{services: {{chat: {{}}, embed: {{port: 8081}}}}}}
  nook: {{rootless: ada}}
  forge.example.org: {{runtime: systemd}}
"""
CHAT = "etc/containers/systemd/chat.container"
PLAIN = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
"""Runs a program that may read what its modes say, which root otherwise may always."""
NOOK = "home/ada/.config/containers/systemd/llama-server.container"


def laid(place: Path) -> Path:
    """Make a rendered tree, and below `root` the machine that has all of claw's and nook's."""
    rendered = render(place, FLEET)
    for host in ("claw", "nook"):
        shutil.copytree(rendered / host, place / "root", dirs_exist_ok=True)
    (place / "root/etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\nada:x:1234:1234::/home/ada:/bin/sh\n")
    return place


def verify(place: Path, host: str = "claw", *words: str) -> Done:
    return quadgen("verify", "rendered", "--root", "root", "--host", host, *words, cwd=place)


def codes(done: Done) -> list[tuple[str, str]]:
    """Code and place of each problem of `--format json`, the place below the root."""
    return [(problem["code"], problem["file"].partition("/root/")[2]) for problem in json.loads(done.out)]
