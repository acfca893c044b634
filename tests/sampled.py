"""A server that answers as llama-server does, for tests of what is asked of it and when.

engine = Engine()
with file_server.started(engine.answers) as server: ...
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import file_server
from file_server import Answer, Reply, Seen
from quadgen.measuring.launch import Launch
from quadgen.measuring.sample import Arm, Sample, Turn
from quadgen.sampling.opening import Opened
from quadgen.server.client import connected
from quadgen.server.process import Died

NOTHING: Mapping[str, str] = {}
_COUNTERS = (
    "llamacpp:tokens_predicted_total {generated}\n"
    "llamacpp:spec_decode_num_draft_tokens_total {drafted}\n"
    "llamacpp:spec_decode_num_accepted_tokens_total {accepted}\n"
    "llamacpp:spec_decode_num_drafts_total {rounds}\n"
)


@dataclass(slots=True, kw_only=True)
class Engine:
    """What it says; a test changes it as it likes."""

    speculative: bool = True
    timings: dict[str, Any] = field(default_factory=dict)
    """Over those that it would say."""
    last: dict[str, Any] = field(default_factory=dict)
    """Over its last event."""
    ids: int | None = None
    """So many are sent, instead of one a token."""
    counters: str = _COUNTERS
    uncounted: int = 0
    """Tokens that another client gets meanwhile."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    """What was asked of /completion."""
    generated: int = 0
    drafted: int = 0
    accepted: int = 0
    rounds: int = 0

    @property
    def answers(self) -> dict[str, Answer]:
        return {"/slots": self._slots, "/metrics": self._metrics, "/completion": self._completion}

    def _slots(self, _: Seen) -> Reply:
        return Reply(200, NOTHING, json.dumps([{"id": 0, "speculative": self.speculative}]).encode())

    def _metrics(self, _: Seen) -> Reply:
        said = self.counters.format(
            generated=self.generated, drafted=self.drafted, accepted=self.accepted, rounds=self.rounds
        )
        return Reply(200, NOTHING, said.encode())

    def _completion(self, seen: Seen) -> Reply:
        body = json.loads(seen.body)
        self.asked.append(body)
        tokens = body["n_predict"]
        drafting = {"draft_n": tokens - 1, "draft_n_accepted": tokens // 2} if self.speculative else {}
        self.generated += tokens + self.uncounted
        self.drafted += drafting.get("draft_n", 0)
        self.accepted += drafting.get("draft_n_accepted", 0)
        self.rounds += 2 if self.speculative else 0
        timings = {
            "cache_n": 0, "prompt_n": 7, "prompt_ms": 5.0, "predicted_n": tokens, "predicted_ms": 100.0, **drafting,
            **self.timings,
        }  # fmt: skip
        count = tokens if self.ids is None else self.ids
        events = [{"content": "x", "tokens": [n], "stop": False, "tokens_predicted": n + 1} for n in range(count)]
        end = {"content": "", "tokens": [], "stop": True, "stop_type": "limit", "timings": timings, **self.last}
        return Reply(200, NOTHING, b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in (*events, end)))


@dataclass(slots=True, kw_only=True)
class Arms:
    """Both arms as sources, and in which order their servers came and went."""

    engine: Engine
    types: tuple[str, ...] = ()
    story: list[str] = field(default_factory=list)

    @contextmanager
    def opened(self) -> Iterator[Opened]:
        name = "B" if not self.types else "A"
        self.story.append(f"{name} opens")
        with (
            file_server.started(self.engine.answers) as there,
            connected(there.url(), environ={}) as server,
        ):
            try:
                yield Opened(server=server, process=None, launch=Launch(program="s", arguments=(), types=self.types))
            finally:
                self.story.append(f"{name} ends")


@dataclass
class Logged:
    """A server of which there is nothing but its log."""

    text: str
    url: str = ""
    status: int | None = None

    def cpu_seconds(self) -> float:
        return 0.0

    def log(self) -> str:
        return self.text

    def chunks(self) -> Iterator[bytes]:
        yield from (self.text[at : at + 7].encode() for at in range(0, len(self.text), 7))

    def last(self) -> tuple[str, ...]:
        return tuple(self.text.splitlines()[-2:])

    def ended_within(self, seconds: float) -> bool:
        return seconds < 0

    def died(self, when: str) -> Died:
        return Died(when, ())


def sample(number: int = 0, arm: Arm = Arm.CANDIDATE, **named: Any) -> Sample:
    """One of made-up figures."""
    told: dict[str, Any] = {
        "turn": Turn(arm=arm, workload="prose", round=number), "tokens": 99, "seconds": 1.5, "cpu_seconds": None,
        "prompt": 7, "cached": 0, "drafted": 8, "accepted": 3, "rounds": 2, "output": (1, 2, 3), "text": "é\u2028\n",
    }  # fmt: skip
    return Sample(**told | named)
