"""The real llama-server and quadgen on the same settings: what the one does, the other allows or refuses."""

import json
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

import serving
import tiny_gguf
from compositions import FILES, NEEDS, OPTIONS, ROOM, TOGETHER, Composition
from fleets import native_words, problems, unit
from parts import llama_server
from quadgen.engines.draft_settings import width
from quadgen.engines.drafters import DRAFTERS
from quadgen.problems import Severity
from speculating import ADDED, QUICK, WORDS, ask, drafted, eventually, seen

pytestmark = [pytest.mark.loopback]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with every tiny model."""
    directory = tmp_path_factory.mktemp("models")
    for name in tiny_gguf.MODELS:
        tiny_gguf.make(directory, name)
    return directory


def fleet(row: Composition, models: Path) -> tuple[str, dict[str, str]]:
    """A host that asks for the setting, and a row that says that it wins."""
    kinds = [kind for kind in row.types.split(",") if kind]
    head = "draft-mtp" in kinds and row.drafter == "head"
    said: dict[str, Any] = {"spec_types": kinds}
    if row.draft_n_max is not None:
        said["draft_n_max"] = row.draft_n_max
    if row.flags:
        said["flags"] = dict(row.flags)
    if row.drafter is not None and not head:
        said["draft_model"] = "drafter"
    measured = {
        "id": "won", "engine": "llama.cpp", "build": "b11434", "backend": "cpu", "device": "any", "model": "target",
        "workload": "copy", "setting": said, "against": "none", "ratio": 2.0, "samples": 7, "source": "this test",
    }  # fmt: skip
    mtp = f"{row.drafter}.gguf" if head else row.target in ("headed", "stripped")
    host = {
        "runtime": "systemd", "models_dir": str(models), "backend": "cpu", "model": "target", "context": 512,
        "slots": row.slots, "profile": "tried", "flags": dict(row.service),
    }  # fmt: skip
    whole = {
        "version": 1,
        "measurements": "rows.yml",
        "engines": {
            "cpu": {"kind": "llama.cpp", "build": "b11434", "backends": ["cpu"], "binary": "/opt/llama-server"}
        },
        "models": {"target": {"file": f"{row.target}.gguf", "mtp": mtp}, "drafter": {"file": f"{row.drafter}.gguf"}},
        "profiles": {"tried": {**said, "workload": "copy", "against": "none"}},
        "hosts": {"box": host},
    }
    return json.dumps(whole), {"rows.yml": json.dumps({"version": 1, "measurements": [measured]})}


def words(row: Composition, models: Path) -> list[str]:
    """The words that ask the engine itself for the setting."""
    found = ["--model", str(models / f"{row.target}.gguf"), "--ctx-size", str(512 * row.slots), "--metrics"]
    found += ["--parallel", str(row.slots)]
    found += ["--spec-type", row.types] if row.types else []
    found += ["--spec-draft-n-max", str(row.draft_n_max)] if row.draft_n_max is not None else []
    found += ["--spec-draft-model", str(models / f"{row.drafter}.gguf")] if row.drafter else []
    for name, value in (*row.flags.items(), *row.service.items()):
        found += [f"--{name}", str(value)]
    return found


def rendered(row: Composition, models: Path) -> list[str]:
    """The words that quadgen renders for it, without the port that a test cannot have."""
    _, *found = native_words(unit(*fleet(row, models)))
    port = found.index("--port")
    return found[:port] + found[port + 2 :]


def check_engine(server: serving.Server, row: Composition) -> None:
    then, active = seen(server, row.slots)
    assert then == row.then, server.log
    eventually(lambda: all(part in "\n".join(server.log) for part in row.says))
    assert [part for part in row.says if part not in "\n".join(server.log)] == [], server.log
    if then in ("drafts", "idle"):
        asked = (row.active or row.types).split(",")
        assert active == [kind for kind in DRAFTERS if kind in asked], "all of them, in the engine's own order"
    if then == "drafts":
        assert drafted(server) == max(width(kind, row.draft_n_max, row.flags) for kind in active)


def check(row: Composition, models: Path) -> None:
    program = llama_server()
    found = [problem for problem in problems(*fleet(row, models)) if problem.file is None]  # of the fleet itself
    errors = [problem.code for problem in found if problem.severity is Severity.ERROR]
    warned = [problem.code for problem in found if problem.severity is Severity.WARNING]
    assert errors == ([] if row.code is None else [row.code]), [problem.message for problem in found]
    assert warned == ([] if row.warns is None else [row.warns]), [problem.message for problem in found]
    asked = words(row, models)
    if row.code is None:
        ours = rendered(row, models)
        assert options(asked).items() <= options(ours).items()
        asked = ours
    with serving.start(program, *asked, *QUICK) as server:
        check_engine(server, row)


def options(argv: list[str]) -> dict[str, str]:
    """Each option with its value, or with nothing."""
    return {
        word: "" if after.startswith("--") else after
        for word, after in zip(argv, [*argv[1:], "--"], strict=True)
        if word.startswith("--")
    }


@pytest.mark.parametrize("row", NEEDS, ids=lambda row: row.title)
def test_a_type_without_what_it_needs_is_refused_whatever_the_engine_does_then(row: Composition, models: Path) -> None:
    check(row, models)


@pytest.mark.parametrize("row", TOGETHER, ids=lambda row: row.title)
def test_types_go_together_as_the_engine_says_or_are_refused(row: Composition, models: Path) -> None:
    check(row, models)


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.title)
def test_an_option_does_what_the_table_of_drafters_says(row: Composition, models: Path) -> None:
    check(row, models)


@pytest.mark.parametrize("row", FILES, ids=lambda row: row.title)
def test_what_only_the_files_say_shows_at_the_server(row: Composition, models: Path) -> None:
    check(row, models)


def test_the_table_has_every_type_and_each_outcome() -> None:
    rows = (*NEEDS, *TOGETHER, *OPTIONS, *FILES)
    assert {row.types for row in rows} >= set(DRAFTERS)
    assert {row.then for row in rows} == {"exits", "aborts", "dies", "fails", "plain", "idle", "drafts"}
    assert len({row.title for row in rows}) == len(rows)


def test_a_type_that_was_skipped_is_still_told_among_the_requested_ones(models: Path) -> None:
    row = next(row for row in NEEDS if row.types == "draft-dflash,ngram-cache")
    with serving.start(llama_server(), *words(row, models), *QUICK) as server:
        assert ask(server, 0) is not None
        _, (slot,) = server.get("/slots")
        assert slot["params"]["speculative.types"] == "none,draft-dflash,ngram-cache"
        _, properties = server.get("/props")
        assert properties["default_generation_settings"]["params"]["speculative.types"] == "none"


def running(models: Path, *more: str, env: Mapping[str, str] = serving.NOTHING) -> list[str]:
    """The types that run beside these words."""
    with serving.start(llama_server(), "--model", str(models / "plain.gguf"), *more, *QUICK, env=env) as server:
        assert server.ready, server.log
        return [found[1] for found in map(ADDED.search, server.log) if found]


def test_types_add_up_over_options_variables_and_config_files(models: Path, tmp_path: Path) -> None:
    both = ["ngram-mod", "ngram-cache"]
    variable = {"LLAMA_ARG_SPEC_TYPE": "ngram-cache"}
    assert running(models, "--spec-type", "ngram-mod", "--spec-type", "ngram-cache") == both
    assert running(models, "--spec-type", "ngram-mod", env=variable) == both
    assert running(models, "--spec-type", "none", env=variable) == ["ngram-cache"], "none takes nothing back"
    config = tmp_path / "llama.cpp" / "config.ini"
    config.parent.mkdir()
    config.write_text("spec-type = ngram-cache\n")
    door = {"XDG_CONFIG_HOME": str(tmp_path)}
    assert running(models, env=door) == ["ngram-cache"]
    assert running(models, "--spec-type", "ngram-mod", env=door) == both
    assert running(models, "--spec-type", "ngram-mod", env={"XDG_CONFIG_HOME": "/nonexistent"}) == ["ngram-mod"]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--device", "CUDA0"], "invalid device: CUDA0"),
        (["--spec-draft-device", "Vulkan0"], "invalid device: Vulkan0"),
        (["--cache-type-v", "q8_0", "--flash-attn", "off"], "quantized V cache requires flash_attn to be enabled"),
    ],
)
def test_a_server_ends_where_quadgen_refuses_a_device_or_a_cache(more: list[str], line: str, models: Path) -> None:
    with serving.start(llama_server(), "--model", str(models / "plain.gguf"), *more, *QUICK) as server:
        assert (server.ready, server.status) == (False, 1)
        assert line in "\n".join(server.log)


def test_without_a_model_it_is_a_healthy_router_that_serves_none() -> None:
    with serving.start(llama_server(), "--log-verbosity", "4") as server:
        assert server.ready
        assert server.get("/models") == (200, {"data": [], "object": "list"})
        assert "router mode" in "\n".join(server.log)


def test_only_a_server_that_is_asked_loads_the_head_of_its_model(models: Path) -> None:
    with serving.start(llama_server(), "--model", str(models / "headed.gguf"), *QUICK) as server:
        assert server.ready
        assert "model has unused tensor blk.2.nextn.eh_proj.weight" in "\n".join(server.log)


def test_a_certificate_without_a_key_is_served_in_plain_http(models: Path) -> None:
    words = ("--ssl-cert-file", "/nonexistent/cert.pem")
    with serving.start(llama_server(), "--model", str(models / "plain.gguf"), *words, *QUICK) as server:
        assert server.ready, server.log


def test_a_batch_that_holds_no_token_of_each_slot_ends_the_server_at_load(models: Path) -> None:
    for size, ready in (("2", False), ("3", True)):
        words = ("--batch-size", size, "--parallel", "3", "--ctx-size", "1536")
        with serving.start(llama_server(), "--model", str(models / "plain.gguf"), *words, *QUICK) as server:
            assert server.ready is ready, server.log


def test_drafts_of_all_slots_share_one_batch(models: Path) -> None:
    words = ("--spec-type", "ngram-cache", "--batch-size", "16", "--parallel", "8", "--ctx-size", "16384")
    with serving.start(llama_server(), "--model", str(models / "plain.gguf"), *words, *QUICK) as server:
        assert server.ready, server.log
        body = {"prompt": WORDS, "n_predict": 900, "temperature": 0, "ignore_eos": True, "cache_prompt": False}

        def post(slot: int) -> None:
            with suppress(OSError, HTTPException):
                server.post("/completion", body | {"id_slot": slot})

        asking = [threading.Thread(target=post, args=(slot,)) for slot in range(8)]
        for each in asking:
            each.start()
        for each in asking:
            each.join()
        eventually(lambda: server.status is not None and ROOM[0] in "\n".join(server.log))
        assert server.status == -signal.SIGABRT
        assert ROOM[0] in "\n".join(server.log)
