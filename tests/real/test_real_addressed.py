"""Real servers that run already: what they say of themselves, and whether two of them can be compared."""

from pathlib import Path

import pytest

import tiny_gguf
from parts import llama_server
from quadgen.measuring.told import Told, compared
from quadgen.problems import Severity
from quadgen.sampling.addressed import Addressed, told
from quadgen.server.process import running

pytestmark = [pytest.mark.loopback, pytest.mark.usefixtures("no_proxies")]

QUICK = ("--no-warmup", "--ctx-size", "512", "--parallel", "2", "--fit", "off")


def asked(url: str, *types: str) -> Told:
    """What the server at an address says of itself."""
    with Addressed(url=url, types=types, environ={}).opened() as opened:
        assert opened.process is None
        assert opened.launch.types == types
        return told(opened.server)


def test_two_servers_say_what_they_are_and_what_they_speculate_with(tmp_path: Path) -> None:
    model = str(tiny_gguf.make(tmp_path, "plain"))
    server = llama_server()
    drafting = ("--model", model, *QUICK, "--spec-type", "ngram-simple,ngram-cache")
    with (
        running(server, drafting, environ={}) as first,
        running(server, ("--model", model, *QUICK), environ={}) as second,
    ):
        candidate, comparator = asked(first.url, "ngram-simple"), asked(second.url)
        again = asked(first.url)
    assert compared(candidate, comparator) == ()
    assert candidate.types == ("ngram-simple", "ngram-cache")
    assert (candidate.speculative, comparator.speculative, comparator.types) == (True, False, ())
    assert (candidate.file, candidate.slots, candidate.number) == ("plain.gguf", 2, "b11434")
    assert candidate.parameters
    assert candidate.size
    assert candidate.quantization == comparator.quantization
    assert [problem.code for problem in compared(candidate, again)] == ["unlike-servers"]


def test_another_checkpoint_or_number_of_slots_is_seen(tmp_path: Path) -> None:
    one, other = (str(tiny_gguf.make(tmp_path, name)) for name in ("plain", "larger"))
    server = llama_server()
    drafting = ("--model", one, *QUICK, "--spec-type", "ngram-simple")
    with (
        running(server, drafting, environ={}) as first,
        running(server, ("--model", other, *QUICK, "--parallel", "1"), environ={}) as second,
    ):
        problems = compared(asked(first.url), asked(second.url))
    assert [(each.code, each.severity) for each in problems] == [
        ("unlike-servers", Severity.ERROR), ("unlike-servers", Severity.NOTE),
    ]  # fmt: skip
