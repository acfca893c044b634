"""What servers of a measurement are asked, in which order, and what is made of their answers."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import file_server
from quadgen.measuring.sample import Arm, Clock, Sample, Turn, turns
from quadgen.problems import Rejected, Unavailable
from quadgen.sampling.asking import ask
from quadgen.sampling.journal import Journal
from quadgen.sampling.run import FAINT, NEUTRAL, Failed, Progress, Setup, take
from quadgen.server.failures import NoAnswer
from sampled import Arms, Engine, Logged, sample

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

TURN = Turn(arm=Arm.CANDIDATE, workload="prose", round=0)
ROUNDED = "".join(
    f"llamacpp:{name}_total 2e+06\n"
    for name in ("tokens_predicted", "spec_decode_num_draft_tokens", "spec_decode_num_accepted_tokens",
                 "spec_decode_num_drafts")
)  # fmt: skip
"""Counters of a server that ran for long: six digits."""
BOTH = turns(("prose", "copy"), range(2))


class Bench:
    """Both arms of one measurement, and what came of it."""

    def __init__(self, directory: Path, *, texts: int | None = None, **named: bool) -> None:
        self.directory = directory
        self.story: list[str] = []
        self.told: list[Progress] = []
        self.speculating, self.plain = Engine(), Engine(speculative=False)
        self.setup = Setup(
            candidate=Arms(engine=self.speculating, types=("ngram-simple",), story=self.story),
            comparator=Arms(engine=self.plain, story=self.story),
            prompt=self._prompt, tokens=20, count_cpu=False, texts=texts, **named,
        )  # fmt: skip

    def take(self, of: Sequence[Turn] = BOTH, *, resume: bool = False) -> tuple[Sample, ...]:
        with Journal.opened(self.directory, "key", resume=resume) as journal:
            return take(self.setup, of, journal, notify=self._told)

    def _prompt(self, workload: str, number: int) -> str:
        self.story.append(f"{workload} {number}")
        return f"{number} {workload} " * 200

    def _told(self, progress: Progress) -> None:
        self.told.append(progress)

    def asked(self, engine: Engine) -> list[tuple[str, int]]:
        return [(" ".join(body["prompt"].split()[:2]), body["n_predict"]) for body in engine.asked]


def opened(story: Sequence[str]) -> str:
    """Which servers came and went: `+A -A +B …`."""
    return " ".join({"opens": "+", "ends": "-"}[end] + name for name, end in map(str.split, story) if end in
                    {"opens", "ends"})  # fmt: skip


def test_the_servers_of_both_arms_take_turns_and_one_is_there_at_a_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    samples = bench.take()
    assert [each.turn for each in samples] == list(BOTH)
    assert opened(bench.story) == "+A -A +B -B +B -B +A -A"
    timed = [("0 prose", 20), ("0 copy", 20), ("1 prose", 20), ("1 copy", 20)]
    for engine in (bench.speculating, bench.plain):
        assert [each for each in bench.asked(engine) if each[1] == 20] == timed


def test_a_server_is_warmed_up_with_a_text_that_no_round_has_and_that_is_no_sample(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.take(BOTH[:1])
    warm, timed = bench.speculating.asked
    assert (warm["prompt"], warm["n_predict"], timed["n_predict"]) == (NEUTRAL, 8, 20)


def test_a_drafter_that_remembers_has_a_server_for_each_request_and_a_warm_up_that_leaves_nothing(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, fresh=True)
    bench.take()
    assert opened(bench.story) == "+A -A +A -A +B -B +B -B +A -A +A -A"
    assert [(body["prompt"], body["n_predict"]) for body in bench.speculating.asked[::2]] == [FAINT] * 4


def test_the_comparator_can_be_fresh_as_well(tmp_path: Path) -> None:
    bench = Bench(tmp_path, comparator_fresh=True)
    bench.take(BOTH[:4])
    assert opened(bench.story) == "+A -A +B -B +B -B"


def test_as_production_has_it_both_have_one_server_and_a_whole_request_before(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fresh=True, steady=True)
    bench.take()
    assert opened(bench.story) == "+A +B -B -A"
    assert [body["n_predict"] for body in bench.speculating.asked] == [20] * 5


def test_servers_that_are_kept_are_warmed_up_with_no_text_of_a_round(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fresh=True, steady=True, texts=2)
    bench.take()
    assert [body["prompt"] for body in bench.speculating.asked][::5] == [NEUTRAL]


def test_what_kept_servers_remembered_is_gone_and_their_rounds_are_taken_anew(tmp_path: Path) -> None:
    of = turns(("copy",), range(4))
    Bench(tmp_path, fresh=True, steady=True, texts=2).take(of[:6])
    bench = Bench(tmp_path, fresh=True, steady=True, texts=2)
    samples = bench.take(of, resume=True)
    assert [each.turn for each in samples] == list(of)
    assert bench.asked(bench.plain)[1:] == [("2 copy", 20), ("3 copy", 20)]
    assert bench.told[0].done == 4
    with Journal.opened(tmp_path, "key", resume=True) as journal:
        assert sorted(each.turn.round for each in journal.samples) == [0, 0, 1, 1, 2, 2, 3, 3]
    plain = Bench(tmp_path / "plain", steady=True)
    plain.take(of[:5])
    again = Bench(tmp_path / "plain", steady=True)
    again.take(of, resume=True)
    assert again.told[0].done == 5


def test_servers_that_are_kept_end_before_a_text_comes_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, fresh=True, steady=True, texts=2)
    samples = bench.take(of := turns(("copy",), range(5)))
    assert opened(bench.story) == "+A +B -B -A +A +B -B -A +A +B -B -A"
    assert [each.turn for each in samples] == list(of)


def test_together_servers_stay_but_for_those_that_are_to_be_fresh(tmp_path: Path) -> None:
    bench = Bench(tmp_path, together=True)
    bench.take()
    assert opened(bench.story) == "+A +B -B -A"
    fresh = Bench(tmp_path, together=True, fresh=True)
    fresh.take()
    assert opened(fresh.story) == "+A -A +A -A +B +A -A +A -A -B"


def test_what_is_kept_from_before_is_not_asked_again_and_half_a_round_is_completed(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    first.take(BOTH[:3])
    bench = Bench(tmp_path)
    assert [each.turn for each in bench.take(resume=True)] == list(BOTH)
    assert opened(bench.story) == "+B -B +B -B +A -A"
    assert bench.asked(bench.plain)[1:2] == [("0 copy", 20)]
    again = Bench(tmp_path)
    assert again.take(resume=True) == bench.take(resume=True)
    assert again.story == []
    assert (again.told[-1].done, again.told[-1].turn) == (8, None)


def test_how_far_it_is_is_said_before_each_sample_and_at_the_end(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.take()
    assert [(each.done, each.total, each.turn) for each in bench.told] == [
        (number, 8, BOTH[number] if number < 8 else None) for number in range(9)
    ]
    left = [each.left for each in bench.told]
    assert left[:3] == [None] * 3
    assert all(each is not None and each >= 0 for each in left[3:])
    end = bench.told[-1]
    assert end.left == 0
    assert end.spent.asked + end.spent.loading + end.spent.own == pytest.approx(end.elapsed)
    assert min(end.spent.asked, end.spent.loading, end.spent.own) > 0


def test_a_server_that_does_not_speculate_as_it_must_is_not_measured(tmp_path: Path) -> None:
    for engine in ("speculating", "plain"):
        bench = Bench(tmp_path)
        getattr(bench, engine).speculative = engine == "plain"
        with pytest.raises(Rejected) as refused:
            bench.take()
        assert [problem.code for problem in refused.value.problems] == ["not-speculating"]
        assert all(body["n_predict"] == 20 or body["n_predict"] == 8 for body in bench.speculating.asked)
        assert getattr(bench, engine).asked == []


def test_a_failure_names_what_was_to_be_taken_and_samples_before_it_are_kept(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.plain.timings = {"predicted_n": 4}
    with pytest.raises(Failed, match=r"^http://127\S+ generated 4 of 20 tokens \(limit\)$") as failed:
        bench.take()
    assert failed.value.turn == BOTH[2]
    assert opened(bench.story) == "+A -A +B -B"
    with Journal.opened(tmp_path, "key", resume=True) as journal:
        assert [each.turn for each in journal.samples] == list(BOTH[:2])


def asked(engine: Engine, tokens: int = 20) -> Sample:
    arms = Arms(engine=engine, types=("ngram-simple",))
    with arms.opened() as one:
        return ask(one, TURN, "The sea", tokens, count_cpu=True, asking=nullcontext())


def test_a_sample_is_what_the_engine_counts_and_times() -> None:
    engine = Engine()
    assert asked(engine) == sample(
        turn=TURN, tokens=19, seconds=0.1, drafted=19, accepted=10, output=tuple(range(20)), text="x" * 20
    )
    (body,) = engine.asked
    assert body == {
        "prompt": "The sea", "n_predict": 20, "temperature": 0, "seed": 1, "ignore_eos": True, "stop": [],
        "cache_prompt": False, "return_tokens": True, "stream": True,
    }  # fmt: skip


def test_a_sample_says_what_came_from_a_cache_and_that_the_context_was_full() -> None:
    found = asked(Engine(timings={"cache_n": 5, "predicted_n": 9}, last={"truncated": True}, ids=9, uncounted=-11))
    assert (found.cached, found.tokens, found.truncated) == (5, 8, True)


@dataclass
class Counted(Logged):
    """A server whose CPU clock says what a test likes."""

    seconds: Iterator[float] = field(default_factory=lambda: iter(()))

    def cpu_seconds(self) -> float:
        return next(self.seconds)


def counted(prompt_ms: float, *seconds: float, predicted_ms: float = 100.0) -> tuple[float | None, int]:
    """CPU seconds of a sample, and how often the server was asked."""
    engine = Engine(timings={"prompt_ms": prompt_ms, "predicted_ms": predicted_ms})
    with Arms(engine=engine, types=("ngram-simple",)).opened() as one:
        watched = replace(one, process=Counted("", seconds=iter(seconds)))
        found = ask(watched, TURN, "The sea", 20, count_cpu=True, asking=nullcontext())
    return found.cpu_seconds, len(engine.asked)


def test_the_work_of_a_sample_is_counted_from_its_first_event_on() -> None:
    assert counted(60_000, 1.0, 3.0, 8.0) == (5.0, 1)


def test_what_was_done_before_the_first_event_was_read_is_made_up_for() -> None:
    late, whole = 500_000, 10_000_000  # beside which it is no matter how long the test takes
    cpu, asked = counted(-late, 1.0, 3.0, 8.0, predicted_ms=whole)
    assert cpu == pytest.approx(5.0 / (1 - late / whole), rel=1e-3)
    assert asked == 1


def test_where_the_first_event_is_read_late_the_work_for_the_prompt_is_counted_by_itself() -> None:
    assert counted(-60_000, 1.0, 7.9, 8.0, 10.0, 11.0, 11.5) == (7.0 - 1.5, 2)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"timings": {"predicted_n": 19}, "last": {"stop_type": "eos"}}, r"generated 19 of 20 tokens \(eos\)"),
        ({"timings": {"predicted_n": 1}, "last": {"truncated": True}}, r"generated 1 of 20 tokens \(limit\)"),
        ({"timings": {"predicted_ms": 0}}, "says that it generated 20 tokens in 0 seconds"),
        ({"timings": {"predicted_ms": float("nan")}}, "says that it generated 20 tokens in nan seconds"),
        ({"timings": {"predicted_ms": 10**400}}, "says that it generated 20 tokens in inf seconds"),
        ({"timings": {"predicted_ms": None}}, "says no number of predicted_ms with its times"),
        ({"timings": {"prompt_n": None}}, "says no number of prompt_n with its times"),
        ({"timings": {"draft_n": -1}}, "says no number of draft_n with its times"),
        ({"last": {"timings": None}}, "ends an answer without its times"),
        ({"last": {"stop": False}}, "broke its answer off without a word"),
        ({"ids": 12}, "sent 12 ids of 20 tokens"),
        ({"ids": 21}, "sent 21 ids of 20 tokens"),
        ({"uncounted": 3}, "answered others meanwhile: measure a server that nobody else asks"),
        ({"counters": "llamacpp:tokens_predicted_total {generated}\n"}, "does not count drafts at /metrics, .* b10434"),
        ({"rounds": 2 * 10**6, "counters": ROUNDED}, "has counted so many drafts that .*: start it anew"),
    ],
)  # fmt: skip
def test_an_answer_that_lacks_something_is_no_sample(said: dict[str, Any], why: str) -> None:
    engine = Engine(**said)
    with pytest.raises(Unavailable, match=rf"^http://127.0.0.1:\d+ {why}$"):
        asked(engine)


ODD = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({}))
KEYS = st.sampled_from(["predicted_n", "predicted_ms", "prompt_n", "cache_n", "draft_n", "draft_n_accepted"])


@given(st.dictionaries(KEYS, ODD), st.dictionaries(st.sampled_from(["stop", "truncated", "stop_type", "tokens"]), ODD))
def test_whatever_an_answer_says_it_is_a_sample_or_refused(timings: dict[str, Any], last: dict[str, Any]) -> None:
    try:
        found = asked(Engine(timings=timings, last=last))
    except Unavailable:
        return
    assert found.rate(Clock.WALL) > 0
    assert min(found.tokens, found.rounds) > 0
    assert min(found.prompt, found.cached) >= 0
    assert 0 <= found.accepted <= found.drafted


def test_a_request_that_drafts_nothing_is_a_sample_whatever_is_rounded() -> None:
    assert asked(Engine(speculative=False, counters=ROUNDED)).rounds == 0


def test_counters_that_are_switched_off_say_how_they_are_switched_on() -> None:
    engine = Engine()
    answers = engine.answers | {"/metrics": file_server.status(501)}
    engine_type = type("Off", (), {"answers": answers})
    with pytest.raises(NoAnswer, match=r"start the server with --metrics$"):
        asked(engine_type())
