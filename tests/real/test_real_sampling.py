"""Samples of the real llama-server: what is proven of it, what a warm-up leaves, and how it fails."""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import parts
import tiny_gguf
from quadgen.measuring.launch import Launch
from quadgen.measuring.sample import Arm, Clock, Sample, Turn, turns
from quadgen.problems import Problem, Rejected
from quadgen.sampling.journal import Journal
from quadgen.sampling.opening import Opened, Started
from quadgen.sampling.run import FAINT, NEUTRAL, Failed, Progress, Setup, take

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

OPTIONS = ("--ctx-size", "1024", "--parallel", "1", "--threads", "1", "--threads-batch", "1", "--no-warmup",
           "--cache-ram", "0", "--metrics", "--slots", "--log-verbosity", "4")  # fmt: skip
ROUND = turns(("copy",), range(1))
COUNT = "".join(map(chr, range(33, 127)))
COPY = COUNT * 2 + COUNT[:20]
"""A tiny model says the byte after each byte, and so copies what stands here."""
OTHER = "and on the pier nobody could say where it went " * 6


def server(model: Path, *types: str, more: Sequence[str | Path] = ()) -> Started:
    """A server of these drafters."""
    spec = ("--spec-type", ",".join(types)) if types else ()
    words = tuple(map(str, ("--model", model, *OPTIONS, *spec, *more)))
    launch = Launch(program=str(parts.llama_server()), arguments=words, types=types, ready_within=60)
    return Started(launch=launch, environ=os.environ)


def setup(candidate: Started, comparator: Started, tokens: int = 60, **named: bool) -> Setup:
    return Setup(
        candidate=candidate, comparator=comparator, prompt=lambda workload, _: OTHER if workload == "other" else COPY,
        tokens=tokens, count_cpu=True, **named,
    )  # fmt: skip


def taken(
    directory: Path, asked: Setup, of: Sequence[Turn] = ROUND, notify: Callable[[Progress], object] = lambda _: None
) -> tuple[Sample, ...]:
    """The samples; afterwards no process is left."""
    before = children()
    try:
        with Journal.opened(directory, "key", resume=True) as journal:
            return take(asked, of, journal, notify=notify)
    finally:
        assert children() == before


def children() -> set[str]:
    """Processes of this one."""
    tasks = Path("/proc/self/task").iterdir()
    return {child for task in tasks for child in (task / "children").read_text().split()}


def refused(directory: Path, asked: Setup) -> Problem:
    with pytest.raises(Rejected) as caught:
        taken(directory, asked)
    (problem,) = caught.value.problems
    assert problem.code == "not-speculating"
    return problem


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that goes on in no time."""
    parts.llama_server()
    return tiny_gguf.make(tmp_path_factory.mktemp("models"), "plain")


def test_both_arms_are_sampled_with_the_same_text_and_say_the_same(tiny: Path, tmp_path: Path) -> None:
    one, other = taken(tmp_path, setup(server(tiny, "ngram-simple", "ngram-map-k"), server(tiny)))
    assert (one.turn.arm, other.turn.arm) == (Arm.CANDIDATE, Arm.COMPARATOR)
    assert one.tokens == other.tokens == 59
    assert (one.prompt, one.cached) == (other.prompt, other.cached)
    assert one.cached == 0
    assert one.output == other.output
    assert len(one.output) == 60
    assert one.drafted >= one.accepted > 0
    assert one.rounds > 0
    assert (other.drafted, other.accepted, other.rounds) == (0, 0, 0)
    for each in (one, other):
        assert each.rate(Clock.WALL) > 0
        assert each.rate(Clock.CPU) > 0


def test_tokens_that_end_within_a_character_are_counted_although_they_have_no_event(tiny: Path, tmp_path: Path) -> None:
    asked = replace(setup(server(tiny), server(tiny), tokens=250), prompt=lambda _, __: "~")
    (sample, _) = taken(tmp_path, asked)
    assert sample.tokens == 249
    assert len(sample.output) < 250, "a tiny model says all bytes, one after the other"


def test_all_drafters_that_must_run_are_looked_for_in_the_log(tiny: Path, tmp_path: Path) -> None:
    started = server(tiny, "ngram-simple", "ngram-mod")
    asked = replace(started, launch=replace(started.launch, types=("ngram-simple", "ngram-cache")))
    problem = refused(tmp_path, setup(asked, server(tiny)))
    assert problem.message == ("the server of the candidate runs without ngram-cache, and nothing of it is measured")
    plain = replace(started, launch=replace(started.launch, types=()))
    assert refused(tmp_path, setup(server(tiny, "ngram-simple"), plain)).message == (
        "the server of the comparator speculates, and its profile does not (/slots says so)"
    )


def test_a_text_that_the_server_itself_finds_too_long_is_said_with_its_count(tiny: Path, tmp_path: Path) -> None:
    asked = replace(setup(server(tiny), server(tiny)), prompt=lambda _, __: "a" * 2000)
    with pytest.raises(Rejected) as caught:
        taken(tmp_path, asked)
    (problem,) = caught.value.problems
    assert problem.code == "workload-too-long"
    said = r"copy cannot be measured: its text of round 1 has 20\d\d tokens here, and the context has 1024"
    assert re.fullmatch(said, problem.message)


def test_a_drafter_of_another_vocabulary_is_not_measured_and_the_log_says_why(tiny: Path, tmp_path: Path) -> None:
    draft = tiny_gguf.make(tiny.parent, "larger")
    asked = server(tiny, "draft-simple", more=("--spec-draft-model", draft))
    problem = refused(tmp_path, setup(asked, server(tiny)))
    assert problem.message == (
        "the server of the candidate runs without draft-simple, and nothing of it is measured:"
        " target and draft model do not have the same tokens"
    )
    assert problem.hint == "take a drafter that was made from the target's family, with the same tokens"


def test_a_drafter_that_is_passed_over_beside_one_that_runs_is_missed(tiny: Path, tmp_path: Path) -> None:
    asked = server(tiny, "draft-eagle3", "ngram-simple")
    assert refused(tmp_path, setup(asked, server(tiny))).message.startswith(
        "the server of the candidate runs without draft-eagle3, and nothing of it is measured"
    )


def test_a_model_that_is_missing_is_said_with_what_the_server_said(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"^llama-server ended with status 1 before it answered: ") as failed:
        taken(tmp_path, setup(server(tmp_path / "none.gguf"), server(tmp_path / "none.gguf")))
    assert failed.value.turn == ROUND[0]
    assert any("none.gguf" in line for line in failed.value.last)


def test_a_server_without_memory_says_so(tiny: Path, tmp_path: Path) -> None:
    started = server(tiny)
    wrapper = tmp_path / "llama-server"
    wrapper.write_text(f'#!/bin/sh\nulimit -v 200000\nexec {started.launch.program} "$@" --ctx-size 4000000\n')
    wrapper.chmod(0o755)
    small = replace(started, launch=replace(started.launch, program=str(wrapper)))
    with pytest.raises(Failed) as failed:
        taken(tmp_path, setup(small, small))
    assert str(failed.value).startswith(
        "llama-server ended with status 1 before it answered: the host's memory does not hold a buffer"
    )


def test_a_port_that_is_taken_is_no_matter(tiny: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken_already:
        port = str(taken_already.getsockname()[1])
        assert len(taken(tmp_path, setup(server(tiny, more=("--port", port)), server(tiny)))) == 2


@contextmanager
def while_it_answers(asked: Setup, number: signal.Signals) -> Iterator[Setup]:
    """Send the candidate's server a signal, in the middle of its timed answer."""
    pids: list[int] = []
    inner = asked.candidate

    class Seen:
        @contextmanager
        def opened(self) -> Iterator[Opened]:
            with inner.opened() as opened:
                pids.append(int(getattr(opened.process, "pid")))  # noqa: B009 - a process has more than is asked of it
                yield opened

    def later() -> None:
        while not pids:
            time.sleep(0.01)
        log = Path(f"/proc/{pids[0]}/fd/2")
        while log.read_bytes().count(b"processing task") < 2:  # the warm-up, and the request
            time.sleep(0.005)
        os.kill(pids[0], number)

    thread = threading.Thread(target=later)
    thread.start()
    try:
        yield replace(asked, candidate=Seen())
    finally:
        thread.join()


def test_a_server_that_is_killed_in_the_middle_of_a_sample_is_a_failure_that_says_so(
    tiny: Path, tmp_path: Path
) -> None:
    asked = setup(server(tiny, more=("--ctx-size", "200000")), server(tiny), tokens=150_000)
    with while_it_answers(asked, signal.SIGKILL) as watched, pytest.raises(Failed) as failed:
        taken(tmp_path, watched)
    assert str(failed.value).startswith("llama-server ended by SIGKILL, as the kernel ends what takes the last memory")
    assert failed.value.turn == ROUND[0]
    assert failed.value.last


def test_a_server_that_hangs_is_given_up_and_ended(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quadgen.sampling.run._GONE", 0.1)
    asked = setup(replace(server(tiny, more=("--ctx-size", "200000")), patience=1.0), server(tiny), tokens=150_000)
    with while_it_answers(asked, signal.SIGSTOP) as watched, pytest.raises(Failed) as failed:
        taken(tmp_path, watched)
    assert "/completion: its answer is not whole" in str(failed.value)
    assert failed.value.last


def test_what_is_interrupted_leaves_no_server_and_goes_on_where_it_was(tiny: Path, tmp_path: Path) -> None:
    asked, of = setup(server(tiny, "ngram-simple"), server(tiny)), turns(("copy", "prose"), range(1))

    def interrupt(progress: Progress) -> None:
        if progress.done == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        taken(tmp_path, asked, of, interrupt)
    told: list[int] = []
    samples = taken(tmp_path, asked, of, lambda progress: told.append(progress.done))
    assert told == [3, 4]
    assert [each.turn for each in samples] == list(of)


def test_a_warm_up_that_leaves_nothing_is_a_pass_over_one_token(tiny: Path) -> None:
    prompt, tokens = FAINT
    with server(tiny).opened() as opened:
        answer = opened.server.post("/completion", {"prompt": prompt, "n_predict": tokens})
    assert isinstance(answer, dict)
    assert (answer["timings"]["prompt_n"], answer["timings"]["predicted_n"]) == (1, 1)


def test_another_warm_up_drafts_so_that_passes_over_drafts_are_warm() -> None:
    with server(parts.gemma(), "ngram-simple").opened() as opened:
        answer = opened.server.post("/completion", {"prompt": NEUTRAL, "n_predict": 8, "temperature": 0})
    assert isinstance(answer, dict)
    assert answer["timings"]["draft_n"] > 0


TYPES = pytest.mark.parametrize("types", ["ngram-cache", "ngram-mod", "ngram-map-k", "ngram-map-k4v"])


def drafted(directory: Path, asked: Setup, *workloads: str) -> list[tuple[int, int]]:
    """Drafted and accepted tokens of the candidate's answers."""
    of = [turn for turn in turns(workloads, range(1)) if turn.arm is Arm.CANDIDATE]
    return [(each.drafted, each.accepted) for each in taken(directory, asked, of)]


def test_a_drafter_that_remembers_drafts_a_copy_only_where_it_is_fresh(tiny: Path, tmp_path: Path) -> None:
    asked = setup(server(tiny, "ngram-map-k"), server(tiny))
    (first,) = drafted(tmp_path / "first", replace(asked, fresh=True), "copy")
    assert first[1] > 30
    assert drafted(tmp_path / "fresh", replace(asked, fresh=True), "other", "copy")[1] == first
    assert drafted(tmp_path / "kept", asked, "other", "copy")[1] == (0, 0)


@TYPES
def test_a_warm_up_leaves_nothing_to_a_drafter_that_is_to_be_fresh(
    types: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = setup(server(tiny, types), server(tiny), fresh=True)
    warm = drafted(tmp_path / "with", asked, "copy")
    monkeypatch.setattr("quadgen.sampling.run.warm", lambda *_: None)
    assert drafted(tmp_path / "without", asked, "copy") == warm
    assert warm[0][1] > 10
