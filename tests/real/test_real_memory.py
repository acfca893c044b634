"""The caches of contexts, as the real llama-server prints them and as `quadgen.facts.kv` reckons them."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

import parts
import serving
import tiny_archs
import tiny_facts
import tiny_pairs
from parts import llama_server
from quadgen.disk import windows
from quadgen.facts import kv, reading
from quadgen.facts.kv import Cache, Context
from quadgen.facts.record import Facts

pytestmark = pytest.mark.loopback

QUICK = ("--fit", "off", "--no-warmup", "--log-verbosity", "4")
_SIZE = re.compile(
    r" llama_(kv_cache|memory_recurrent): size = +([\d.]+) MiB \( *(\d+) cells, +(\d+) layers, +(\d+)"
)  # fmt: skip
HALF = 0.00501
"""What rounding to hundredths of a MiB hides."""


class Printed(NamedTuple):
    """One cache, as the server says it."""

    state: bool
    cells: int
    size: float
    """MiB."""


def printed(log: Iterable[str]) -> list[Printed]:
    """Every cache of a log in its order; those without layers are none."""
    found = (found for found in map(_SIZE.search, log) if found is not None)
    return [Printed(each[1] == "memory_recurrent", int(each[3]), float(each[2])) for each in found if int(each[4])]


def agree(said: list[Printed], reckoned: Iterable[Cache]) -> bool:
    """Whether they are the same caches, and as large to a hundredth of a MiB."""
    caches = list(reckoned)
    return len(said) == len(caches) and all(
        one.state is (other.what == "recurrent state")
        and one.cells == other.cells
        and abs(one.size - other.size / 2**20) < HALF
        for one, other in zip(said, caches, strict=True)
    )


def words(context: Context, *, draft: Context | None = None) -> list[str]:
    """The arguments that ask for a context, and for the types of the draft's."""
    said = ["--ctx-size", str(context.tokens), "--parallel", str(context.slots), "--ubatch-size", str(context.ubatch)]
    said += ["--cache-type-k", context.type_k, "--cache-type-v", context.type_v]
    said += ["--kv-unified"] if context.unified else ["--no-kv-unified"]
    said += ["--swa-full"] if context.swa_full else []
    said += [] if context.flash else ["--flash-attn", "off"]
    if draft is not None:
        said += ["--spec-draft-type-k", draft.type_k, "--spec-draft-type-v", draft.type_v]
    return said


def known(found: tuple[Cache, ...] | kv.Unknown) -> tuple[Cache, ...]:
    """The caches, which are known."""
    assert not isinstance(found, kv.Unknown), found.reason
    return found


CONTEXTS = (
    Context(8192, 1),
    Context(1000, 3),
    Context(8192, 4, unified=True, ubatch=256),
    Context(8192, 32, type_k="q8_0", type_v="q8_0"),
    Context(4096, 2, swa_full=True, type_k="bf16", type_v="bf16"),
    Context(2048, 5, flash=False, type_k="f32", type_v="f32"),
    Context(4096, 1, type_k="q5_1", type_v="iq4_nl"),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the checkpoints of this module are written."""
    return tmp_path_factory.mktemp("models")


@pytest.mark.parametrize("name", tiny_archs.MODELS)
def test_a_server_keeps_for_each_architecture_what_its_facts_say(name: str, models: Path) -> None:
    path = tiny_archs.make(models, name)
    facts = tiny_facts.of_model(tiny_archs.MODELS[name](), name)
    for context in CONTEXTS:
        refused = kv.refusal(facts, context)
        with serving.start(llama_server(), "--model", str(path), *QUICK, *words(context)) as server:
            assert server.ready is (refused is None), (context, refused, server.log)
            if refused is None:
                said, caches = printed(server.log), known(kv.caches(facts, context))
                assert agree(said, caches), (context, said, [(one.what, one.size / 2**20) for one in caches])


DRAFTS = (
    ("llama", "draft", "draft-simple"),
    ("gemma3", "gemma3", "draft-simple"),
    ("llama", "eagle3", "draft-eagle3"),
    ("llama", "dflash", "draft-dflash"),
    ("llama", "dspark", "draft-dspark"),
    ("qwen35", None, "draft-mtp"),
    ("qwen35", "head", "draft-mtp"),
    ("qwen35-listed", None, "draft-mtp"),
    ("qwen35", "draft", "draft-simple"),
    ("deepseek2", None, "draft-mtp"),
    ("nemotron_h_moe", None, "draft-mtp"),
    ("step35", None, "draft-mtp"),
)


@pytest.mark.parametrize(("target", "drafter", "spec_type"), DRAFTS)
@pytest.mark.parametrize(
    ("context", "draft"),
    [
        (Context(8192, 2), Context(8192, 2)),
        (
            Context(8192, 8, unified=True, ubatch=256),
            Context(8192, 8, unified=True, ubatch=256, type_k="f32", type_v="f32"),
        ),
        (Context(1000, 3), Context(1000, 3, type_k="q8_0", type_v="q8_0")),
    ],
    ids=["split", "unified", "odd"],
)
def test_a_server_keeps_for_a_drafter_what_the_facts_of_both_say(
    target: str, drafter: str | None, spec_type: str, context: Context, draft: Context, models: Path
) -> None:
    width = 5
    facts = tiny_facts.of_model(tiny_archs.MODELS[target](), target)
    said = ["--model", str(tiny_archs.make(models, target)), "--spec-type", spec_type]
    said += ["--spec-draft-n-max", str(width)]
    if drafter is None:
        second = kv.head_caches(facts, draft)
    else:
        known_as = tiny_archs.MODELS if drafter in tiny_archs.MODELS else tiny_pairs.MODELS
        made_of = known_as[drafter]()
        path = (tiny_archs if drafter in tiny_archs.MODELS else tiny_pairs).make(models, drafter)
        said += ["--spec-draft-model", str(path)]
        second = kv.draft_caches(facts, tiny_facts.of_model(made_of, drafter), draft)
    rollback = 0 if spec_type == "draft-simple" else width
    caches = [*known(kv.caches(facts, context._replace(rollback=rollback))), *known(second)]
    with serving.start(llama_server(), *said, *QUICK, *words(context, draft=draft)) as server:
        assert server.ready, server.log
        found = printed(server.log)
    assert agree(found, caches), (found, [(one.what, one.size / 2**20) for one in caches])


def test_a_gemma4_assistant_keeps_nothing_of_its_own(models: Path) -> None:
    context = Context(4096, 2)
    target, drafter = "gemma4", "gemma4-assistant"
    facts = tiny_facts.of_model(tiny_archs.MODELS[target](), target)
    caches = known(kv.caches(facts, context))
    said = ["--model", str(tiny_archs.make(models, target)), "--spec-type", "draft-mtp"]
    said += ["--spec-draft-model", str(tiny_archs.make(models, drafter))]
    assert kv.draft_caches(facts, tiny_facts.of_model(tiny_archs.DRAFTERS[drafter](), drafter), context) == ()
    with serving.start(llama_server(), *said, *QUICK, *words(context)) as server:
        assert server.ready, server.log
        assert sum("sharing with layer" in line for line in server.log) == 2
        assert sum("KV buffer size" in line for line in server.log) == len(caches)


def gemma() -> tuple[Path, Facts]:
    """Gemma 3 270M, which is a real model, or a skip."""
    path = parts.gemma()
    with windows.opened(str(path)) as sources:
        return path, reading.facts(sources)


@pytest.mark.parametrize(
    ("context", "full", "window"),
    [
        (Context(2048, 1), 6.00, 15.00),
        (Context(8192, 1), 24.00, 15.00),
        (Context(2048, 1, type_k="q8_0", type_v="q8_0"), 3.19, 7.97),
        (Context(8192, 1, type_k="q8_0", type_v="q4_0"), 9.75, 6.09),
        (Context(4096, 1, type_k="q5_1", type_v="iq4_nl"), 3.94, 4.92),
        (Context(8192, 4), 24.00, 60.00),
        (Context(8192, 4, unified=True), 24.00, 37.50),
        (Context(8192, 1, swa_full=True), 24.00, 120.00),
        (Context(1000, 3), 4.50, 22.50),
    ],
)
def test_a_real_model_keeps_what_its_facts_say(context: Context, full: float, window: float) -> None:
    path, facts = gemma()
    caches = known(kv.caches(facts, context))
    assert [round(one.size / 2**20, 2) for one in caches] == [full, window]
    with serving.start(llama_server(), "--model", str(path), *QUICK, *words(context)) as server:
        assert server.ready, server.log
        assert agree(printed(server.log), caches), printed(server.log)
