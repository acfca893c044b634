"""`quadgen measure` up to the first server that it would start: what is refused once program and fleet are known."""

from pathlib import Path

import pytest

from command import Done, quadgen

PROGRAM = """\
#!/bin/sh
case $1 in
--version) echo 'version: 0.6.0-dev (build 11434, commit abcdef1)' ;;
--list-devices) printf 'Available devices:\\n  (none)\\n' ;;
--help) printf -- '----- common params -----\\n-h,    --help\\n' ;;
*) echo 'E cannot go on'; exit 1 ;;
esac
"""
FLEET = ("--fleet", "fleet.yml", "box")
ALONE = ("model.gguf", "--server", "./llama-server", "--backend", "cpu", "--profile", "ngram-mod")
EMPTY = b"GGUF\3\0\0\0" + bytes(16)
"""A checkpoint without a key or a tensor."""


@pytest.fixture(name="here")
def _here(tmp_path: Path) -> Path:
    program = tmp_path / "llama-server"
    program.write_text(PROGRAM, encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "model.gguf").write_bytes(EMPTY)
    (tmp_path / "fleet.yml").write_text(
        f"""\
version: 1
engines: {{cpu: {{kind: llama.cpp, build: b11434, backends: [cpu, cuda], binary: {program}}}}}
models: {{small: {{file: {tmp_path / "model.gguf"}}}}}
profiles:
  lookup: {{spec_types: [ngram-mod], workload: copy, against: none}}
  chat: {{spec_types: [ngram-mod], workload: support-chat, against: none}}
hosts: {{box: {{runtime: systemd, backend: cpu, model: small, context: 4096}}}}
""",
        encoding="utf-8",
    )
    return tmp_path


def measure(here: Path, *words: str) -> Done:
    return quadgen("measure", *FLEET, *words, cwd=here)


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (
            ("--profile", "lookup", "--workload", "prose"),
            "Invalid value for --workload: lookup must win on copy, so that has to be measured: --workload copy",
        ),
        (
            ("--profile", "chat"),
            "chat must win on support-chat, so that has to be measured: --workload support-chat=FILE, with texts of",
        ),
        (("--profile", "lookup", "--workload", "poem"), "there is no 'poem': prose, code-edit, copy, or NAME=FILE"),
        (("--profile", "lookup", "-o", "rows.yml"), "Invalid value for --output: fleet.yml does not read rows.yml"),
    ],
)
def test_what_does_not_go_with_the_fleet_is_a_usage_error(words: tuple[str, ...], complaint: str, here: Path) -> None:
    done = measure(here, *words)
    assert (done.status, done.out) == (2, "")
    assert complaint in done.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--profile", "lookups"), "unknown-profile"),
        (("--profile", "none"), "unexpected-value"),
        (("--profile", "copy"), "head-missing"),
        (("--profile", "lookup", "--tokens", "4000"), "workload-too-long"),
        (("--profile", "lookup"), "server-ended"),
    ],
)
def test_what_cannot_be_measured_is_a_problem_with_its_code(words: tuple[str, ...], code: str, here: Path) -> None:
    done = measure(here, *words)
    assert done.status == (4 if code == "server-ended" else 1)
    assert f"error[{code}]: " in done.err
    assert not (here / "measurements").exists()


def test_a_build_that_the_program_denies_is_a_usage_error_without_a_fleet(here: Path) -> None:
    done = quadgen("measure", *ALONE, "--build", "b10434", cwd=here)
    assert done.status == 2
    assert "Invalid value for --build: the program says that it is b11434: leave this out" in done.err


def test_types_that_no_engine_has_are_a_usage_error_also_of_servers_that_run(here: Path) -> None:
    urls = ("--url", "http://127.0.0.1:1", "--against-url", "http://127.0.0.1:2", "--backend", "cpu")
    done = quadgen("measure", *urls, "--profile", "ngram-mood", cwd=here)
    assert done.status == 2
    assert "'ngram-mood' is neither a built-in profile nor types of --spec-type" in done.err


@pytest.mark.parametrize(
    ("words", "seen"), [(("--fleet", "fleet.yml", "box", "--profile", "lookup"), "none"), (ALONE, "5")]
)
def test_what_a_shell_says_to_the_engine_reaches_no_server_of_a_fleet_and_one_without(
    words: tuple[str, ...], seen: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "llama-server").write_text("#!/bin/sh\necho threads: ${OMP_NUM_THREADS:-none} >&2\nexit 3\n", "utf-8")
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    done = quadgen("measure", *words, cwd=here)
    assert f"llama-server --version ends with status 3: threads: {seen}\n" in done.err
