"""A fleet whose service is measured on the real server of this machine, and what is left behind of that."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import parts
import tiny_gguf
from quadgen.document import load

INNER = 16384
"""Feed-forward length of a tiny model that is not quick."""
RUN = "".join(map(chr, range(33, 100)))
"""What a tiny model goes on with after its first character: it counts, and its first tokens are bytes."""
COUNTING = f"{RUN}\n{RUN[:16]}"
"""Nearly all of it is left to copy, after as many characters as an n-gram has."""
PROFILES = """\
  mapped: {summary: n-grams of the prompt, spec_types: [ngram-map-k], workload: copy, against: none}
  selfish: {summary: the model drafts for itself, spec_types: [draft-simple], draft_model: small, workload: copy,
    against: none}
"""


def fleet(directory: Path, model: Path, *, profile: str = "mapped", context: int = 512) -> Path:
    """A fleet of one native host with one thread, beside which nothing is measured yet."""
    path = directory / "fleet.yml"
    path.write_text(
        f"""\
version: 1
engines:
  cpu: {{kind: llama.cpp, build: b11434, backends: [cpu], binary: {parts.llama_server()}}}
models:
  small: {{file: {model}, id: small-of-ours, mtp: false}}
profiles:
{PROFILES}hosts:
  claw: {{backend: cpu, runtime: systemd, model: small, profile: {profile}, context: {context}, flags: {{threads: 1}}}}
""",
        encoding="utf-8",
    )
    return path


def rows(directory: Path) -> list[dict[str, Any]]:
    """What is in the ledger of the host."""
    path = directory / "measurements" / "claw.yml"
    data: list[dict[str, Any]] = load(path.name, path.read_bytes()).data["measurements"]
    return data


def servers(directory: Path) -> set[str]:
    """Processes of servers that were started in a directory: other tests run others at the same time."""
    server, found = parts.llama_server(), set()
    for entry in Path("/proc").iterdir():
        try:
            if (
                entry.name.isdigit()
                and (entry / "exe").readlink() == server
                and (entry / "cwd").readlink() == directory
            ):
                found.add(entry.name)
        except OSError:
            continue
    return found


def slow(directory: Path) -> Path:
    """A tiny model that takes about a millisecond for a token, so that its work can be counted."""
    path = directory / "slow.gguf"
    plain = tiny_gguf.MODELS["plain"]()
    shapes = {
        name: tuple(INNER if size == tiny_gguf.INNER else size for size in shape)
        for name, shape in plain.shapes.items()
    }
    tiny_gguf.write(path, replace(plain, keys={**plain.keys, "feed_forward_length": INNER}, shapes=shapes))
    return path
