"""The formula of triage beside the real llama-server, whose acceptance is forced.

Times are CPU seconds of one thread, which other work on the machine hardly moves.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

import parts
import tiny_gguf
from command import quadgen
from quadgen.problems import Unavailable
from quadgen.projecting import Ask, Clock, Projection, project
from quadgen.projecting.fitting import AGREES

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies", "no_other_timed")]

ONE = ("--threads", "1", "--threads-batch", "1")
DRAFTER = ("--spec-draft-threads", "1", "--spec-draft-threads-batch", "1")
INNER = 4096
COUNTING = (1, *range(tiny_gguf.FIRST, tiny_gguf.FIRST + 20))
"""A prompt that the tiny models go on with."""


def ask(target: Path, draft: Path, *, prompt: tuple[int, ...] | None = None) -> Ask:
    made = Ask(
        server=str(parts.llama_server()),
        base=("--model", str(target), "--ctx-size", "1024", *ONE),
        spec_type="draft-simple",
        drafting=("--spec-draft-model", str(draft), *DRAFTER),
        widths=(3,),
        acceptances=(0.6,),
        clock=Clock.CPU,
    )
    return made if prompt is None else replace(made, prompt=prompt)


def run(asked: Ask) -> tuple[Projection, list[str]]:
    before, told = children(), []
    found = project(asked, environ=os.environ, notify=lambda _done, _of, what: told.append(what))
    assert children() == before
    return found, told


def children() -> set[str]:
    """Processes of this one."""
    tasks = Path("/proc/self/task").iterdir()
    return {child for task in tasks for child in (task / "children").read_text().split()}


def agreed(asked: Ask, widest: float) -> Projection:
    """What was measured once it agrees with the formula: other work puts one run off, a wrong formula every one."""
    for _ in range(3):
        found, told = run(asked)
        assert told[:2] == ["the target alone", f"width {asked.widths[0]} at p = 0"]
        if all(abs(point.ratio - 1) < AGREES for point in found.points):
            break
    for point in found.points:
        assert abs(point.ratio - 1) < AGREES, (found.costs, found.points, found.notes)
        assert abs(point.drawn - point.p) < widest
    return found


def stout(directory: Path) -> Path:
    """A tiny model with much to compute, beside which the work of the server around it is little."""
    plain = tiny_gguf.MODELS["plain"]()
    shapes = {name: tuple(INNER if size == tiny_gguf.INNER else size for size in shape)
              for name, shape in plain.shapes.items()}  # fmt: skip
    path = directory / "stout.gguf"
    tiny_gguf.write(path, replace(plain, keys={**plain.keys, "feed_forward_length": INNER}, shapes=shapes))
    return path


def test_formula_and_measurement_agree_for_a_tiny_pair(tmp_path: Path) -> None:
    tiny = stout(tmp_path)
    asked = replace(ask(tiny, tiny, prompt=COUNTING), tokens=80, samples=8, together=True)
    agreed(asked, 0.1)


def test_formula_and_measurement_agree_for_gemma_as_its_own_drafter() -> None:
    gemma = parts.gemma()
    asked = replace(ask(gemma, gemma), prompt="The sea", widths=(2,), tokens=16, samples=3, together=True)
    factor = agreed(asked, 0.3).costs.verify(3)
    assert 1.2 < factor < 6, "a CPU does not verify three tokens for the price of one, nor for twice that of three"


def test_a_drafter_that_does_not_fit_is_not_measured(tmp_path: Path) -> None:
    target, draft = tiny_gguf.make(tmp_path, "plain"), tiny_gguf.make(tmp_path, "larger")
    with pytest.raises(Unavailable) as refused:
        run(replace(ask(target, draft), samples=1))
    assert " does not run draft-simple: target and draft model do not have the same tokens; " in str(refused.value)


def test_a_drafter_that_drafts_less_says_how_much(tmp_path: Path) -> None:
    target, draft = tiny_gguf.make(tmp_path, "plain"), tiny_gguf.make(tmp_path, "dflash")
    asked = replace(ask(target, draft), spec_type="draft-dflash", widths=(9,), samples=1, clock=Clock.WALL)
    with pytest.raises(Unavailable, match=r"drafts 7 tokens a round at most: ask for no wider --width$"):
        run(asked)


def test_triage_puts_what_the_server_takes_into_its_verdict(tmp_path: Path) -> None:
    tiny = tiny_gguf.make(tmp_path, "plain")
    words = ["--drafter", "plain", "--width", "2", "--acceptance", "0.5", "--samples", "1", "--server-args=-t 1 -tb 1"]
    models: list[str | Path] = ["--target-model", tiny, "--draft-model", tiny]
    server: list[str | Path] = ["--project", "--server", parts.llama_server()]
    done = quadgen("triage", *words, *server, *models, "--format", "json", cwd=tmp_path)
    assert done.status == 0, done.err
    runs = [
        "0 of 4 done, now the target alone",
        "1 of 4 done, now width 2 at p = 0",
        "2 of 4 done, now width 2 at p = 0.5",
        "3 of 4 done, now the target alone",
    ]
    assert done.err.splitlines() == [f"quadgen: {each}" for each in runs]
    told = json.loads(done.out)
    seen = told["projected"]
    assert told["target"]["source"] == told["verify"]["source"] == told["drafter"]["source"] == "--project"
    assert told["target"]["step_ms"] == pytest.approx(seen["target_step_ms"])
    assert seen["verify_cost"].startswith("3:")
    (point,) = seen["points"]
    assert (point["width"], point["p"]) == (2, 0.5)
    assert point["ratio"] == pytest.approx(point["measured"] / point["formula"])
    assert point["client_rate"] > 0


def test_a_service_of_a_fleet_is_run_as_it_would_be(tmp_path: Path) -> None:
    """With the drafter that was asked for, whatever the profile of the fleet."""
    for name, model in (("m", "plain"), ("d", "draft")):
        tiny_gguf.make(tmp_path, model).rename(tmp_path / f"{name}.gguf")
    (tmp_path / "fleet.yml").write_text(
        f"""version: 1
engines:
  own: {{kind: llama.cpp, build: b11434, backends: [cpu], binary: {parts.llama_server()}}}
models: {{m: {{file: m.gguf}}, d: {{file: d.gguf}}}}
hosts:
  claw:
    {{runtime: systemd, backend: cpu, model: m, context: 1024, memory: 64GiB, models_dir: {tmp_path}}}
"""
    )
    assert quadgen("lock", "fleet.yml", "--models-dir", tmp_path, cwd=tmp_path).status == 0
    words = ["--drafter", "draft-simple", "--draft-model", "d", "--width", "2", "--acceptance", "0.5", "--samples", "1"]
    one = "--server-args=-t 1 -tb 1 -td 1 -tbd 1"
    done = quadgen("triage", "--fleet", "fleet.yml", "claw", *words, "--project", one, cwd=tmp_path)
    assert (done.status, done.out[:13]) == (0, "a plain draft"), done.err
    assert "\nrun on the real server with forced acceptance, by the server's clock, 1 sample of each\n" in done.out
