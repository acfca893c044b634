"""What the real llama-server of b11434 allocates on its CPU, beside what quadgen reckons from the headers alone.

The weights are as large to the last byte, but for the gaps between tensors. A compute buffer is an estimate: never less
than what the server prints, and never much more. The largest are of checkpoints with the shapes of real ones.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import memory_asks
import serving
import tiny_archs
import tiny_pairs
import wide_gguf
from memory_asks import MIB, resolved, sizes
from parts import gemma, llama_server
from quadgen.disk import windows
from quadgen.facts import reading
from quadgen.facts.record import Facts
from quadgen.resolution import Known, Resolution, Share

pytestmark = pytest.mark.loopback

QUICK = ("--fit", "off", "--no-warmup", "--log-verbosity", "4")
OWN = frozenset({"--model", "--alias", "--host", "--port", "--metrics"})
"""Arguments that a test says otherwise, or that need not be said."""
FACTOR, MARGIN = 1.5, 32
"""An estimate is at most so many times the truth, and so many MiB."""
PADDING = 32
"""Bytes between two tensors of a file, at most; a block has less than 64."""
HALF = 0.00501
"""What rounding to hundredths of a MiB hides."""


def printed(log: list[str], what: str) -> list[float]:
    """The sizes in MiB of a kind of buffer, in the order of the log; weights that are packed anew are another copy."""
    found = [re.search(rf" (\w+) +{what} size = +([\d.]+) MiB", line) for line in log]
    return [float(each[2]) for each in found if each is not None and each[1] != "CPU_REPACK"]


@cache
def read(path: Path) -> Facts:
    """What the header of a file says."""
    with windows.opened(str(path)) as sources:
        return reading.facts(sources)


def service(context: int, slots: int = 1, **flags: object) -> Resolution:
    """A service on the CPU, whose context is one slot's."""
    said = ", ".join(f"{name.replace('_', '-')}: {value}" for name, value in flags.items())
    return resolved(
        f"{{model: plain, backend: cpu, engine: cpu, context: {context}, slots: {slots}, flags: {{{said}}}}}"
    )


def words(found: Resolution) -> Iterator[str]:
    """The arguments of a service that matter here."""
    for argument in found.arguments:
        if argument.words[0] not in OWN:
            yield from map(str, argument.words)


def within(said: float, reckoned: float) -> bool:
    """Whether an estimate is one, both in MiB."""
    return said <= reckoned <= FACTOR * said + MARGIN


def buffers(found: tuple[Share, ...], before: str = "") -> float:
    """MiB of what is reckoned for the compute buffer on the host, with the logits for verifying."""
    verifying = 0 if before else sizes(found, "logits for verifying").get(None, 0)
    return (sizes(found, f"{before}compute buffer (estimated)")[None] + verifying) / MIB


SERVICES = (
    service(4096),
    service(32768),
    service(8192, ubatch_size=2048),
    service(8192, ubatch_size=64),
    service(2048, 4),
    service(2048, 4, kv_unified=True),
    service(2730, 3, swa_full=True),
    service(8192, flash_attn="off"),
    service(2048, 4, flash_attn="off"),
    service(256),
)
SOME = (SERVICES[1], SERVICES[4], SERVICES[7])
WHOLLY = frozenset({"llama", "qwen35moe", "mamba2"})
"""Dense, of experts beside states, and of states alone: what they need differs most."""


def models() -> Iterator[tuple[str, str, Resolution]]:
    for name in wide_gguf.MODELS:
        yield from (("wide", name, each) for each in (SERVICES if name in WHOLLY else SOME))
    for name in tiny_archs.MODELS:
        yield from (("tiny", name, each) for each in SOME[1:2])
    yield from (("gemma", "270m", each) for each in SOME[:2])


def made(directory: Path, kind: str, name: str) -> Path:
    if kind == "gemma":
        return gemma()
    makers = {"wide": wide_gguf.make, "tiny": tiny_archs.make, "pair": tiny_pairs.make}
    return makers[kind](directory, name)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checkpoints of this module are written."""
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize(
    ("kind", "name", "asked"), [pytest.param(*each, id=f"{each[0]}-{each[1]}-{at}") for at, each in enumerate(models())]
)
def test_a_server_allocates_what_its_model_says(kind: str, name: str, asked: Resolution, directory: Path) -> None:
    path = made(directory, kind, name)
    facts = read(path)
    found = memory_asks.shares(asked, Known(model=facts))
    with serving.start(llama_server(), "--model", str(path), *QUICK, *words(asked)) as server:
        assert server.ready, server.log
        (said,) = printed(server.log, "compute buffer")
        weights = sum(printed(server.log, "model buffer"))
    assert within(said, buffers(found)), (said, buffers(found))
    reckoned = sizes(found, "weights")[None] / MIB
    # what is mapped goes from the first tensor to the last, with the gaps and a head that is not used between them
    mapped = (facts.weights.total + PADDING * 64 * (len(facts.weights.blocks) + 1)) / MIB
    assert reckoned - HALF <= weights <= mapped + HALF


class Pair(NamedTuple):
    """A model, and how it is drafted for."""

    kind: str
    name: str
    spec_type: str
    width: int | None = None
    drafter: tuple[str, str] | None = None


DRAFTS = (
    Pair("wide", "llama", "ngram-mod"),
    Pair("wide", "qwen35", "draft-mtp", 5),
    Pair("wide", "qwen35moe", "draft-mtp", 7),
    Pair("wide", "deepseek2", "draft-mtp", 3),
    Pair("wide", "llama", "draft-simple", 8, ("wide", "llama")),
    Pair("tiny", "qwen35", "draft-mtp", 5, ("pair", "head")),
    Pair("tiny", "llama", "draft-eagle3", 5, ("pair", "eagle3")),
    Pair("tiny", "llama", "draft-dflash", 5, ("pair", "dflash")),
    Pair("tiny", "llama", "draft-dspark", 5, ("pair", "dspark")),
    Pair("gemma", "270m", "ngram-simple"),
)  # fmt: skip


@pytest.mark.parametrize("slots", [1, 4])
@pytest.mark.parametrize("pair", DRAFTS, ids=lambda pair: f"{pair.kind}-{pair.name}-{pair.spec_type}")
def test_a_server_allocates_for_a_drafter_what_both_files_say(pair: Pair, slots: int, directory: Path) -> None:
    path, asked = made(directory, pair.kind, pair.name), service(4096, slots)
    said = ["--model", str(path), "--spec-type", pair.spec_type]
    said += [] if pair.width is None else ["--spec-draft-n-max", str(pair.width)]
    known, mtp = Known(model=read(path)), pair.spec_type == "draft-mtp"
    if pair.drafter is not None:
        file = made(directory, *pair.drafter)
        said += ["--spec-draft-model", str(file)]
        known = Known(model=read(path), head=read(file) if mtp else None, draft=None if mtp else read(file))
    found = memory_asks.shares(asked, known, types=(pair.spec_type,), width=pair.width)
    with serving.start(llama_server(), *said, *QUICK, *words(asked)) as server:
        assert server.ready, server.log
        compute, weights = printed(server.log, "compute buffer"), printed(server.log, "model buffer")
    assert within(compute[0], buffers(found)), (compute, found)
    if pair.spec_type.startswith("draft-"):
        assert within(compute[-1], buffers(found, "MTP head: " if mtp else "draft model: ")), (compute, found)
    reckoned = sum(each.size for each in found if each.what.endswith("weights")) / MIB
    assert reckoned - 2 * HALF <= sum(weights) <= reckoned + 0.1, (weights, reckoned)
