"""`quadgen measure`: which options go together, before anything is read or started."""

from pathlib import Path

import pytest

from command import quadgen

FLEET = ("--fleet", "fleet.yml")
ALONE = ("m.gguf", "--server", "llama-server", "--backend", "cpu", "--profile", "ngram-mod")
URLS = ("--url", "http://127.0.0.1:1", "--against-url", "http://127.0.0.1:2")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "Invalid value for HOST[/SERVICE]|MODEL: name a checkpoint, or a service with --fleet, or a server"),
        (FLEET, "Invalid value for HOST[/SERVICE]|MODEL: say which service of the fleet is measured"),
        ((*FLEET, "/chat", "--profile", "copy"), "Invalid value for HOST[/SERVICE]|MODEL: name the host before the"),
        ((*FLEET, "claw"), "Invalid value for --profile: say which profile of the fleet is measured"),
        ((*FLEET, "claw", "--profile", "copy", "--backend", "cpu"), "Invalid value for --backend: the fleet says it"),
        ((*FLEET, "claw", "--profile", "copy", "--url", "x:1"), "Invalid value for --url: the fleet says it all"),
        (URLS[:2], "Invalid value for --against-url: name the server that it must beat"),
        (URLS, "Invalid value for --backend: say what both compute on: no server tells"),
        ((*URLS, "--backend", "cpu", "claw"), "Invalid value for HOST[/SERVICE]|MODEL: both servers run already"),
        ((*URLS, "--backend", "cpu", "--steady"), "Invalid value for --steady: both servers run already"),
        (("m.gguf",), "Invalid value for --server: say which llama-server is run"),
        (ALONE[:3], "Invalid value for --backend: say what it computes on"),
        (ALONE[:5], "Invalid value for --profile: say what is measured: a profile, or types"),
        ((*ALONE[:3], "--backend", "gpu", *ALONE[5:]), "Invalid value for --backend: there is no 'gpu': one of cuda"),
        ((*ALONE, "--against-url", "x:1"), "Invalid value for --against-url: goes with --url alone"),
        ((*ALONE, "--host", "claw"), "Invalid value for --host: goes with --plan alone"),
        ((*ALONE, "--format", "shell"), "Invalid value for --format: only --plan makes a script"),
        ((*ALONE, "--steady", "--together"), "Invalid value for --together: --steady keeps both running as well"),
        ((*ALONE, "--server-args", "'"), "Invalid value for --server-args: these cannot be split into words"),
        ((*ALONE, "--workload", "x="), "Invalid value for --workload: takes NAME or NAME=FILE, and 'x=' is neither"),
        ((*ALONE, "--workload", "copy", "--workload", "copy=f"), "Invalid value for --workload: copy is there twice"),
        ((*ALONE, "-o", ""), "Invalid value for --output: name a ledger, or - for standard output"),
        ((*ALONE, "--samples", "2"), "Invalid value for '--samples': "),
        (("--plan", "fleet.yml", "claw"), "Invalid value for HOST[/SERVICE]|MODEL: --plan runs nothing"),
        (("\udcff.gguf", *ALONE[1:]), "Invalid value for HOST[/SERVICE]|MODEL: this is not UTF-8, and rows are"),
        ((*ALONE, "--workload", "x=\udcff"), "Invalid value for --workload: this is not UTF-8"),
        (("--plan", "\udcff.yml"), "Invalid value for --plan: this is not UTF-8"),
        (("--plan", "fleet.yml", "--samples", "9"), "Invalid value for --samples: --plan runs nothing"),
        (("--plan", "fleet.yml", "--tokens", "64"), "Invalid value for --tokens: --plan runs nothing"),
        (("--plan", "fleet.yml", "--profile", "copy"), "Invalid value for --profile: --plan runs nothing"),
    ],
)
def test_options_that_make_no_sense_together_are_refused_at_once(
    words: tuple[str, ...], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    done = quadgen("measure", *words, cwd=tmp_path)
    assert done.status == 2
    assert done.out == ""
    assert complaint in done.err
