"""The real llama-server and the facts of the files: what the one does with a head or a drafter, the other foretells."""

from pathlib import Path

import pytest

import serving
import tiny_facts
import tiny_pairs
from pairings import ALONE, PAIRS, WIDTHS, Alone, Pairing
from parts import llama_server
from quadgen.facts.heads import head
from quadgen.facts.pairing import widest
from speculating import QUICK, drafted, eventually, seen

pytestmark = [pytest.mark.loopback]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for tiny models."""
    return tmp_path_factory.mktemp("models")


def words(models: Path, target: str, *more: str) -> list[str]:
    """The words that serve a tiny model."""
    return ["--model", str(tiny_pairs.make(models, target)), "--ctx-size", "512", "--parallel", "1", "--metrics",
            *more, *QUICK]  # fmt: skip


TRIES = 3
"""A server that is killed by a signal may take its last line along, which another thread of it writes."""


def says(server: serving.Server, parts: tuple[str, ...]) -> bool:
    """Whether its log says all of them, soon."""
    eventually(lambda: all(part in "\n".join(server.log) for part in parts))
    return all(part in "\n".join(server.log) for part in parts)


@pytest.mark.parametrize("row", ALONE, ids=lambda row: row.file)
def test_a_server_does_with_a_head_what_its_facts_say(row: Alone, models: Path) -> None:
    with serving.start(llama_server(), *words(models, row.file)) as server:
        assert seen(server)[0] == row.plain, server.log
    mtp = ("--spec-type", "draft-mtp", "--spec-draft-n-max", "5")
    with serving.start(llama_server(), *words(models, row.file, *mtp)) as server:
        assert seen(server)[0] == row.drafting, server.log
        assert says(server, row.says), server.log
        if row.drafting == "drafts":
            assert drafted(server) == row.width == (head(tiny_facts.of(row.file)).widest or 5)


@pytest.mark.parametrize("row", PAIRS, ids=lambda row: row.title)
def test_a_server_does_with_a_drafter_what_the_facts_of_both_say(row: Pairing, models: Path) -> None:
    drafter = ("--spec-type", row.types, "--spec-draft-model", str(tiny_pairs.make(models, row.drafter)))
    flags = [word for name, value in row.flags.items() for word in (f"--{name}", str(value))]
    for attempt in range(TRIES):
        with serving.start(llama_server(), *words(models, row.target, *drafter, *flags)) as server:
            assert seen(server)[0] == row.then, server.log
            if says(server, row.says):
                return
            assert attempt + 1 < TRIES, server.log
            assert server.status is not None, server.log


@pytest.mark.parametrize(("spec_type", "drafter", "most"), WIDTHS)
def test_a_block_drafter_drafts_no_more_than_its_block(spec_type: str, drafter: str, most: int, models: Path) -> None:
    wide = ("--spec-type", spec_type, "--spec-draft-model", str(tiny_pairs.make(models, drafter)))
    with serving.start(llama_server(), *words(models, "plain", *wide, "--spec-draft-n-max", "20")) as server:
        assert seen(server)[0] == "drafts", server.log
        assert drafted(server) == most == widest(tiny_facts.of(drafter), spec_type)
