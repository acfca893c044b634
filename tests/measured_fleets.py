"""A fleet whose service is measured on the real server of this machine, and what is left behind of that."""

from pathlib import Path
from typing import Any

import parts
from quadgen.document import load

PROFILES = """\
  mapped: {summary: n-grams of the prompt, spec_types: [ngram-map-k], workload: copy, against: none}
  selfish: {summary: the model drafts for itself, spec_types: [draft-simple], draft_model: small, workload: copy,
    against: none}
  same: {summary: what mapped is, spec_types: [ngram-map-k], flags: {spec-ngram-map-k-size-n: 12}, workload: copy,
    against: mapped}
"""


def fleet(directory: Path, model: Path, *, profile: str = "mapped", context: int = 4096) -> Path:
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


def strangers() -> set[str]:
    """Processes that run the real server."""
    server, found = str(parts.llama_server()), set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str((entry / "exe").readlink()) == server:
                found.add(entry.name)
        except OSError:
            continue
    return found
