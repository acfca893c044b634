"""A short run of the fuzzer of headers; tests/fuzz_gguf.py runs for as long as one likes."""

import fuzz_gguf


def test_broken_files_are_refused_quickly_and_nothing_else_happens() -> None:
    tally = fuzz_gguf.Tally()
    for tally, fault in fuzz_gguf.run(seconds=2, seed=3):  # noqa: B007 - the last one is looked at
        assert fault is None
    assert tally.executions > 100
    assert 0 < tally.read < tally.executions
