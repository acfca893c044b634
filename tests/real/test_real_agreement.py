"""`quadgen agreement` against real servers: its counts are those of a server that speculates with the pair."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader

import serving
import tiny_gguf
import tiny_pairs
from command import Done, quadgen
from parts import gemma, llama_server
from speculating import QUICK

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TEXTS = ("a plain text", "Why is that so?", "x = [1, 2, 3]\n", "0")
LEAD = 3 + 0xC3
"""The token of a byte that begins a character."""
_COUNTED = re.compile(r"^llamacpp:spec_decode_num_(\w+)_total(?:\{position=\"(\d+)\"\})? (\d+)", re.MULTILINE)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for tiny models, with the prompts beside them."""
    directory = tmp_path_factory.mktemp("models")
    (directory / "prompts.txt").write_text("\n---\n".join(TEXTS), encoding="utf-8")
    return directory


def stumbling(models: Path) -> Path:
    """A drafter that takes some tokens for those after them, here and there."""
    path = models / "stumbling.gguf"
    if not path.exists():
        shutil.copy(tiny_pairs.make(models, "plain"), path)
        reader = GGUFReader(path, "r+")
        (output,) = [each.data for each in reader.tensors if each.name == "output.weight"]
        rows = np.array([row for row in range(16, tiny_gguf.VOCABULARY - 1, 2) if row * 7 % 11 < 4])
        output[[*rows, *(rows + 1)]] = output[[*(rows + 1), *rows]]
        reader.data.flush()
    return path


@contextmanager
def served(*models: Path, words: tuple[str, ...] = ()) -> Iterator[list[serving.Server]]:
    """A server of each model."""
    with ExitStack() as stack:
        common = ("--ctx-size", "1024", "--parallel", "1", *QUICK, *words)
        started = [
            stack.enter_context(serving.start(llama_server(), "--model", str(model), *common, timeout=200))
            for model in models
        ]
        assert all(each.ready for each in started), started[0].log
        yield started


def address(server: serving.Server) -> str:
    """Where it listens."""
    return next(line.split()[-1] for line in server.log if " listening on http://" in line)


def asked(servers: list[serving.Server], models: Path, *words: str) -> Done:
    """The command's answer about a target and a drafter."""
    urls = [address(each) for each in (servers * 2)[:2]]
    return quadgen("agreement", *urls, "--prompts", str(models / "prompts.txt"), *words, cwd=models)


def counted(server: serving.Server) -> tuple[dict[str, int], list[int]]:
    """What a server says of its drafts, and of each position."""
    found = [(name, at, int(number)) for name, at, number in _COUNTED.findall(server.get("/metrics")[1])]
    return {name: number for name, at, number in found if not at}, [number for _, at, number in found if at]


def speculated(models: Path, target: Path, draft: Path, width: int, tokens: int) -> tuple[dict[str, int], list[int]]:
    """The same prompts written by a server that drafts."""
    drafting = ("--metrics", "--spec-type", "draft-simple", "--spec-draft-model", str(draft),
                "--spec-draft-n-max", str(width))  # fmt: skip
    with served(target, words=drafting) as (server,):
        for text in (models / "prompts.txt").read_text(encoding="utf-8").split("\n---\n"):
            body = {"prompt": text.strip(), "n_predict": tokens, "temperature": 0, "cache_prompt": False}
            assert server.post("/completion", body)[0] == 200
        return counted(server)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_the_counts_are_those_of_a_server_that_drafts_with_the_pair(width: int, models: Path) -> None:
    target, draft = tiny_pairs.make(models, "plain"), stumbling(models)
    with served(target, draft) as servers:
        done = asked(servers, models, "--width", str(width), "--tokens", "50", "--format", "json")
    assert done.status == 0, done.err
    told = json.loads(done.out)
    total, positions = speculated(models, target, draft, width, 50)
    assert told["counted"] == told["with_loops"]
    assert [told["counted"][name] for name in ("rounds", "drafted", "accepted")] == [
        total["drafts"], total["draft_tokens"], total["accepted_tokens"],
    ]  # fmt: skip
    assert [each["accepted"] for each in told["positions"]] == positions
    assert 0 < told["counted"]["accepted_of_drafted"] < 1
    assert told["acceptance"]["low"] < told["acceptance"]["estimate"] < told["acceptance"]["high"]


def test_a_model_agrees_with_itself(models: Path) -> None:
    with served(tiny_pairs.make(models, "plain")) as servers:
        done = asked(servers, models, "--tokens", "30")
    assert done.status == 0, done.err
    assert re.search(r"(?m)^p = 1\.000 per position, 95% interval 0\.9\d\d to 1\.000, at temperature 0$", done.out)
    assert "tokens   the same 320 in both" in done.out
    assert "note: target and drafter are the same server: it agrees with itself" in done.out


def test_gemma_agrees_with_itself_as_often_as_it_accepts_its_own_drafts(tmp_path: Path) -> None:
    (tmp_path / "prompts.txt").write_text("The capital of France is\n---\nOne, two, three,", encoding="utf-8")
    with served(gemma()) as servers:
        done = asked(servers, tmp_path, "--tokens", "16", "--format", "json")
    assert done.status == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    total, _ = speculated(tmp_path, gemma(), gemma(), 3, 16)
    assert (told["tokenizers"]["same"], told["tokenizers"]["unread"], told["target"]["tokens"]) == (True, 0, 262144)
    assert told["chat"] is False  # the template that the server shows is not the model's own
    whole = told["with_loops"]["accepted_of_drafted"]
    assert whole > 0.7
    assert total["accepted_tokens"] / total["draft_tokens"] > 0.7


def test_tokens_that_differ_give_no_number(models: Path) -> None:
    cases = {
        "larger": "the target has 320 tokens and the drafter 449",
        "other-word": 'token 300 is " w41" to the target and " other" to the drafter',
        "no-bos": "the target puts token 1 around every text and the drafter nothing, and llama.cpp refuses",
    }
    with served(tiny_pairs.make(models, "plain"), *(tiny_pairs.make(models, name) for name in cases)) as (one, *others):
        for why, other in zip(cases.values(), others, strict=True):
            done = asked([one, other], models)
            assert done.status == 1
            assert f"no estimate: the tokenizers differ: {why}" in " ".join(done.out.split())


def test_bytes_that_are_no_text_are_told_apart(models: Path) -> None:
    swapped = replace(tiny_gguf.MODELS["plain"](), texts={LEAD: "<0xC4>", LEAD + 1: "<0xC3>"})
    tiny_gguf.write(models / "swapped.gguf", swapped)
    with served(tiny_pairs.make(models, "plain"), models / "swapped.gguf") as servers:
        done = asked(servers, models, "--format", "json")
    assert done.status == 1
    told = json.loads(done.out)
    assert told["acceptance"] is None
    assert told["tokenizers"] == {
        "same": False, "differing": 2, "unread": 0,
        "first_difference": {"id": LEAD, "target": r'"\xc3"', "draft": r'"\xc4"'},
    }  # fmt: skip


def test_a_target_of_which_nothing_is_left_says_which_prompt_it_was(models: Path) -> None:
    with served(tiny_pairs.make(models, "plain"), stumbling(models)) as servers:
        servers[1].kill()
        done = asked(servers, models)
    assert done.status == 4
    assert "nothing listens at" in done.err


def test_two_models_of_one_router_are_told_apart(models: Path, tmp_path: Path) -> None:
    for path in (tiny_pairs.make(models, "plain"), stumbling(models)):
        shutil.copy(path, tmp_path)
    (tmp_path / "prompts.txt").write_text("\n---\n".join(TEXTS), encoding="utf-8")
    router = ("--models-dir", str(tmp_path), "--ctx-size", "1024", "--parallel", "1", *QUICK[:2])
    with serving.start(llama_server(), *router) as server:
        unsaid = asked([server], tmp_path)
        done = asked([server], tmp_path, "--model", "plain", "--draft-model", "stumbling", "--tokens", "30")
    assert unsaid.status == 4
    assert "it serves several models: say which with --model, or --draft-model" in unsaid.err
    assert done.status == 0, done.err
    assert re.search(r"(?m)^target   http://\S+ \(plain\)$", done.out)
    assert "the same server" not in done.out
