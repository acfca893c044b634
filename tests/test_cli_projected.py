"""`quadgen triage --project`: what is wrong with its options before a server is started, and what it prints."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from command import quadgen
from quadgen.breakeven import Costs, Verify
from quadgen.cli import projected
from quadgen.cli.triage_asking import Asked, question
from quadgen.cli.triage_files import Files
from quadgen.projecting import Ask, Clock, Point, Projection

ASKED = Asked(
    drafter="plain", target_rate=None, commit_per_round=None, target_step=None, plain_step=None, target_log=None,
    draft_step=None, draft_log=None, width="3", drafting_share=None, acceptance="0.6", verify_cost=None,
    verify_log=None,
)  # fmt: skip
RUN = projected.Run(
    project=True, server="/none/llama-server", target_model="t.gguf", draft_model="d.gguf", server_args="-t 1 -ngl '9'",
    clock="cpu", samples=2,
)  # fmt: skip
POINT = Point(
    width=3, p=0.6, drawn=0.5915, rounds=90, tokens_per_round=2.148, round_time=0.2, formula=11.0, client_rate=9.75
)
FOUND = Projection(
    clock=Clock.WALL,
    samples=3,
    costs=Costs(target_step=0.05, draft_step=0.02, verify=Verify(points=((4, 2.75),))),
    client_rate=19.0,
    points=(POINT,),
    notes=("other work goes on here",),
)
SERVER = ["--server", "/none/llama-server"]
MODELS = ["--target-model", "t.gguf", "--draft-model", "d.gguf"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["plain", "--project", *MODELS], "Invalid value for --server: say which llama-server --project is to run"),
        (["plain", "--project", *SERVER], "Invalid value for --target-model: say which model --project is to load"),
        (
            ["draft-eagle3", "--project", *SERVER, *MODELS[:2]],
            "Invalid value for --draft-model: a trained head (draft-eagle3) is a file of its own: name it for",
        ),
        (
            ["head", "--project", *SERVER, *MODELS],
            "Invalid value for --drafter: --project runs it: say which head, draft-eagle3 or draft-mtp",
        ),
        (["ngram-mod", "--project", *SERVER, *MODELS], "Invalid value for --project: an n-gram drafter drafts only"),
        (["plain", "--draft-step", "1", *SERVER], "Invalid value for --server: only --project runs a server"),
        (
            ["plain", "--project", *SERVER, *MODELS, "--server-args", "'"],
            "Invalid value for --server-args: these cannot be split into words: no closing quotation",
        ),
        (
            ["plain", "--project", *SERVER, *MODELS, "--server-args=-t 1 --spec-type ngram-cache"],
            "Invalid value for --server-args: --spec-type is none of them: --project decides what drafts",
        ),
        (
            ["plain", "--project", *SERVER, *MODELS, "--server-args=--log-disable"],
            "Invalid value for --server-args: --log-disable is none of them",
        ),
        (
            ["plain", "--project", *SERVER, *MODELS, "--verify-cost", "x"],
            "Invalid value for --verify-cost: 'x' is no number",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_with_an_option_is_said_before_a_server_is_started(
    tmp_path: Path, words: list[str], complaint: str
) -> None:
    done = quadgen("triage", "--drafter", *words, cwd=tmp_path)
    assert done.status == 2
    assert complaint in " ".join(done.err.replace("│", " ").split())


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    done = quadgen("triage", "--drafter", "plain", "--project", *SERVER, *MODELS, cwd=tmp_path)
    assert (done.status, done.out) == (4, "")
    assert done.err == "quadgen: cannot read /none/llama-server: No such file or directory\n"


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("/bin/true", None, "/bin/true --help holds no options of a help text"),
        ("m.gguf", b"GGUF" + bytes(2**20), "m.gguf has more than 1 MiB, which no help text has"),
        ("help.txt", b"what it says\n" * 3, "help.txt holds no options of a help text"),
    ],
)
def test_what_is_no_llama_server_is_not_taken_for_its_help(
    tmp_path: Path, name: str, data: bytes | None, says: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    done = quadgen("triage", "--drafter", "plain", "--project", "--server", name, *MODELS, cwd=tmp_path)
    assert (done.status, done.out) == (1, "")
    assert f"error[unreadable-help]: {name} is no llama-server: {says}\n" in done.err
    assert "= hint: name the program to run with --server, or as `binary` of the engine in the fleet\n" in done.err


def test_the_options_make_a_run() -> None:
    assert projected.ask(RUN, ASKED, Files({})) == Ask(
        server="/none/llama-server",
        base=("--model", "t.gguf", "-t", "1", "-ngl", "9"),
        spec_type="draft-simple",
        drafting=("--spec-draft-model", "d.gguf"),
        widths=(3,),
        acceptances=(0.6,),
        clock=Clock.CPU,
        samples=2,
    )


def test_an_acceptance_that_comes_through_a_pipe_is_there_for_the_run_and_for_the_verdict() -> None:
    receive, send = os.pipe()
    with os.fdopen(receive, "rb"), os.fdopen(send, "wb") as pipe:
        pipe.write(b'{"kind": "agreement", "acceptance": {"low": 0.5, "high": 0.7}}')
        pipe.close()
        files, piped = Files({}), replace(ASKED, acceptance=f"/dev/fd/{receive}")
        assert projected.ask(RUN, piped, files).acceptances == (0.5, 0.7)
        assert question(projected.filled(piped, FOUND), files).acceptance.ends == (0.5, 0.7)


def test_a_head_may_lie_in_the_target() -> None:
    run = projected.ask(replace(RUN, draft_model=None), replace(ASKED, drafter="draft-mtp"), Files({}))
    assert (run.spec_type, run.drafting) == ("draft-mtp", ())


def test_what_was_measured_fills_in_what_nobody_said() -> None:
    asked = projected.filled(ASKED, FOUND)
    made = projected.named(question(asked, Files({})), ASKED)
    assert (made.target.step, made.target.commit, made.target.source) == (0.05, 1, "--project")
    assert made.target.internal
    assert made.draft_step is not None
    assert (made.draft_step.value, made.draft_step.source) == (0.02, "--project")
    assert (made.verify.factor(4), made.verify.source, made.verify.mirrored) == (2.75, "--project", True)


def test_what_somebody_said_goes_first() -> None:
    said = replace(ASKED, target_rate=9.0, draft_step=7.0, verify_cost="1.5")
    made = projected.named(question(projected.filled(said, FOUND), Files({})), said)
    assert (made.target.rate, made.target.plain_step) == (9.0, 0.05)
    assert made.draft_step is not None
    assert (made.draft_step.value, made.draft_step.source) == (0.007, "--draft-step")
    assert (made.verify.factor(4), made.verify.mirrored) == (1.5, False)


def test_measurement_and_formula_stand_side_by_side() -> None:
    assert projected.as_text(FOUND) == (
        "run on the real server with forced acceptance, by the server's clock, 3 samples of each\n"
        "  a pass of the target takes 50 ms\n"
        "  a pass of the drafter takes 20 ms\n"
        "  verifying costs --verify-cost 4:2.75\n"
        "      width     p   drawn   tokens    round   measured   formula   ratio   client\n"
        "          3   0.6   0.592     2.15   200 ms       10.7      11.0    0.98      9.8\n"
        "note: other work goes on here\n"
    )


def test_cpu_seconds_say_nothing_of_clients() -> None:
    text = projected.as_text(replace(FOUND, clock=Clock.CPU, points=(replace(POINT, client_rate=None),)))
    assert text.startswith("run on the real server with forced acceptance, in CPU seconds, 3 samples of each\n")
    assert "client" not in text
