"""Requests and measurements for tests, each with only what the test is about said."""

from dataclasses import replace
from typing import Any

from quadgen.evidence import NO_SPECULATION, Ledger, Policy, Request, Row, Setting
from quadgen.problems import Collector

MTP = Setting.of(["draft-mtp"])
COPYING = Setting.of(["draft-mtp", "ngram-cache"], draft_n_max=7)

ROW = Row(
    id="a",
    engine="llama.cpp",
    build="b1",
    backend="cuda",
    device="NVIDIA GeForce RTX 3090",
    model="dense",
    workload="copy",
    setting=COPYING,
    against=MTP,
    ratio=1.5,
    samples=7,
    source="a test",
)
REQUEST = Request(
    engine="llama.cpp",
    build="b1",
    backend="cuda",
    devices=("NVIDIA GeForce RTX 3090",),
    model="dense",
    header=None,
    setting=COPYING,
    against=MTP,
    default=MTP,
    workload="copy",
    policy=Policy(),
)
PLAIN = replace(REQUEST, against=NO_SPECULATION)


def ledger(*rows: Row) -> Ledger:
    """A ledger of `rows`, which must have different ids."""
    collector = Collector()
    made = Ledger.of(rows, collector=collector)
    collector.check()
    return made


def written(**fields: Any) -> dict[str, Any]:
    """A row as YAML holds it; a field that is None is left out."""
    row = {
        "id": "a",
        "engine": "llama.cpp",
        "build": "b1",
        "backend": "cuda",
        "device": "NVIDIA GeForce RTX 3090",
        "model": "dense",
        "workload": "copy",
        "setting": {"spec_types": ["draft-mtp", "ngram-cache"], "draft_n_max": 7},
        "against": {"spec_types": ["draft-mtp"]},
        "rate": 30.0,
        "against_rate": 20.0,
        "samples": 7,
        "source": "a test",
    }
    return {name: value for name, value in (row | fields).items() if value is not None}
