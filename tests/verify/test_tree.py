"""What a tree is judged by: what the two programs say, and what is left out without one. They are stand-ins."""

import tempfile
from pathlib import Path

import pytest

from quadgen.problems import Problem, Severity, Unavailable
from quadgen.verify import verify_tree
from trees import BARE, CONTENT, FORGE, QUADLETS, UNITS, USER_QUADLETS, script, verify, write_host


@pytest.fixture(name="content")
def _content(tmp_path: Path) -> str:
    return script(tmp_path / "quadlet", CONTENT)


@pytest.fixture(name="quiet")
def _quiet(tmp_path: Path) -> str:
    return script(tmp_path / "systemd-analyze", "exit 0")


def codes(problems: list[Problem]) -> list[tuple[str, Severity]]:
    return [(problem.code, problem.severity) for problem in problems]


def test_nothing_is_said_of_a_tree_that_both_programs_take(tmp_path: Path, content: str, quiet: str) -> None:
    write_host(tmp_path / "tree", {f"{QUADLETS}/chat.container": BARE, f"{UNITS}/forge.service": FORGE})
    assert verify(tmp_path / "tree", quadlet=content, systemd=quiet) == []


def test_without_any_program_the_error_names_what_was_looked_for(tmp_path: Path) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": BARE, f"{UNITS}/forge.service": FORGE})
    with pytest.raises(Unavailable) as raised:
        verify(tmp_path)
    assert str(raised.value) == (
        "1 Quadlet was not verified: no Quadlet generator at /usr/libexec/podman/quadlet or "
        "/usr/lib/podman/quadlet, and QUADGEN_QUADLET names none; "
        "1 service was not verified: no systemd-analyze on PATH"
    )


def test_a_tree_of_native_units_needs_systemd_alone(tmp_path: Path, quiet: str, content: str) -> None:
    write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    assert verify(tmp_path, systemd=quiet) == []
    with pytest.raises(Unavailable, match="no systemd-analyze on PATH"):
        verify(tmp_path, quadlet=content)


def test_what_one_missing_program_leaves_unverified_is_counted(tmp_path: Path, content: str, quiet: str) -> None:
    root = tmp_path / "tree"
    write_host(root, {f"{QUADLETS}/chat.container": BARE, f"{UNITS}/forge.service": FORGE})
    (problem,) = verify(root, quadlet=content)
    assert codes([problem]) == [("not-verified", Severity.WARNING)]
    assert problem.message == "2 services were not verified: no systemd-analyze on PATH"
    (problem,) = verify(root, systemd=quiet)
    assert problem.message.startswith("1 Quadlet was not verified: no Quadlet generator at ")


def test_a_generator_that_says_nothing_and_makes_nothing_is_not_believed(tmp_path: Path) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": BARE, f"{USER_QUADLETS}/embed.container": BARE})
    problems = verify(tmp_path, quadlet=script(tmp_path / "quadlet", "exit 0"))[1:]
    assert [problem.message for problem in problems] == [
        "the Quadlet generator makes no service of chat.container",
        "the Quadlet generator makes no service of embed.container",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 3", "ended with status 3 and gave no reason"),
        ("echo quadlet-generator[7]: odd >&2", "the Quadlet generator complains"),
        ("echo Warning: chat.container is odd >&2", "the Quadlet generator warns about chat.container"),
    ],
)
def test_a_generator_that_makes_every_service_and_objects_is_heard(tmp_path: Path, text: str, message: str) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": BARE})
    problems = verify(tmp_path, quadlet=script(tmp_path / "quadlet", f"{CONTENT}\n{text}"))[1:]
    assert codes(problems) == [("generator-refused", Severity.ERROR)]
    assert message in problems[0].message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exit 1", "systemd-analyze verify ended with status 1 and gave no reason"),
        ("echo on the output", "systemd objects: on the output"),
        ("echo forge.service: bad >&2", "systemd objects to forge.service: bad"),
    ],
)
def test_whatever_systemd_prints_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    (problem,) = verify(tmp_path, systemd=script(tmp_path / "systemd-analyze", text))
    assert (problem.code, problem.severity) == ("systemd-refused", Severity.ERROR)
    assert problem.message == message


def test_a_hung_program_is_a_problem_of_the_host(tmp_path: Path, quiet: str) -> None:
    hung = script(tmp_path / "hung", "sleep 60 & sleep 60")
    write_host(tmp_path / "tree", {f"{QUADLETS}/chat.container": BARE, f"{UNITS}/forge.service": FORGE})
    (problem,) = verify(tmp_path / "tree", quadlet=hung, systemd=quiet, timeout=0.3)
    assert (problem.code, problem.host) == ("generator-refused", "claw")
    assert problem.message == "the Quadlet generator did not end within 0.3 seconds"
    (unread, problem) = verify(tmp_path / "tree", systemd=hung, timeout=0.3)
    assert unread.code == "not-verified"
    assert problem.message == "systemd-analyze verify did not end within 0.3 seconds"


def test_the_manager_of_a_user_is_told_apart(tmp_path: Path) -> None:
    said = tmp_path / "said"
    quadlet = script(tmp_path / "quadlet", f'echo "q $*" >> {said}\n{CONTENT}')
    systemd = script(tmp_path / "systemd-analyze", f'echo "s $1 $2 $3" >> {said}')
    write_host(tmp_path / "tree", {f"{USER_QUADLETS}/chat.container": BARE})
    assert verify(tmp_path / "tree", quadlet=quadlet, systemd=systemd) == []
    assert said.read_text() == "q -dryrun -user\ns verify --man=no --user\n"


def test_a_systemd_that_cannot_work_here_is_unavailable(tmp_path: Path) -> None:
    write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    text = "echo Failed to initialize manager: No such device or address >&2; exit 1"
    with pytest.raises(Unavailable, match="cannot work here: Failed to initialize manager: No such device"):
        verify(tmp_path, systemd=script(tmp_path / "systemd-analyze", text))


def test_no_room_for_copies_is_unavailable(tmp_path: Path, quiet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(Unavailable, match=f"cannot write {tmp_path}/none/.*: No such file or directory"):
        verify(tmp_path, systemd=quiet)
    (tmp_path / "a:b").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "a:b"))
    with pytest.raises(Unavailable, match="holds a colon"):
        verify(tmp_path, systemd=quiet)


def test_progress_counts_the_hosts_and_problems_come_in_their_order(tmp_path: Path) -> None:
    names = [f"h{number}" for number in range(8)]
    for name in names:
        (write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})).rename(tmp_path / name)
    steps: list[tuple[int, int, str]] = []
    problems = verify_tree(
        str(tmp_path),
        generators=[],
        systemd_analyze=script(tmp_path / "systemd-analyze", "echo no"),
        hosts=None,
        progress=lambda done, total, host: steps.append((done, total, host)),
    )
    assert [problem.host for problem in problems] == names
    assert [(done, total) for done, total, _ in steps] == [(number, 8) for number in range(1, 9)]
    assert sorted(host for _, _, host in steps) == names


def test_a_failure_on_one_host_ends_the_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (write_host(tmp_path, {f"{UNITS}/forge.service": FORGE})).rename(tmp_path / name)
    with pytest.raises(Unavailable, match="cannot run /nowhere/systemd-analyze: No such file or directory"):
        verify(tmp_path, systemd="/nowhere/systemd-analyze")
