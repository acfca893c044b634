"""`quadgen verify` with the real judges: Podman's generators and `systemd-analyze`."""

import os
from pathlib import Path

import pytest

from parts import Quadlet, each_quadlet, generators, missing
from quadgen.problems import Problem, Severity, Unavailable
from quadgen.verify import Generator, find_generators, find_systemd_analyze, verify_tree
from trees import BARE, CHAT, FORGE, QUADLETS, UNITS, USER_QUADLETS, USER_UNITS, write_host


@pytest.fixture(name="systemd")
def _systemd() -> str:
    return find_systemd_analyze(os.environ) or str(missing("systemd-analyze"))


def generator(quadlet: Quadlet) -> Generator:
    return Generator(version=quadlet.version, path=str(quadlet.program or missing(f"Quadlet {quadlet.version}")))


def judge(root: Path | str, *quadlets: Quadlet, systemd: str | None) -> list[Problem]:
    return verify_tree(
        str(root),
        generators=[generator(quadlet) for quadlet in quadlets],
        systemd_analyze=systemd,
        hosts=None,
        progress=lambda *_: None,
    )


def seen(problems: list[Problem]) -> list[tuple[str, str, int]]:
    return [
        (
            problem.code,
            problem.place.file.rpartition("/")[2] if problem.place else "",
            problem.place.line if problem.place else 0,
        )
        for problem in problems
    ]


def line_of(text: str, start: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if line.startswith(start))


def test_a_good_host_of_both_kinds_passes_every_judge(tmp_path: Path, systemd: str) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": CHAT, f"{UNITS}/forge.service": FORGE})
    assert judge(tmp_path, *generators(), systemd=systemd) == []


def test_a_good_rootless_host_passes_every_judge(tmp_path: Path, systemd: str) -> None:
    write_host(tmp_path, {f"{USER_QUADLETS}/chat.container": CHAT, f"{USER_UNITS}/forge.service": FORGE})
    assert judge(tmp_path, *generators(), systemd=systemd) == []


@each_quadlet
def test_a_relative_directory_is_verified_like_any_other(
    quadlet: Quadlet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, systemd: str
) -> None:
    write_host(tmp_path / "rendered", {f"{QUADLETS}/chat.container": CHAT.replace("ReadOnly=", "ReadOnyl=")})
    monkeypatch.chdir(tmp_path)
    (problem,) = judge("rendered", quadlet, systemd=systemd)
    assert problem.place is not None
    assert problem.place.file == f"rendered/claw/{QUADLETS}/chat.container"


@each_quadlet
def test_the_directory_of_one_host_can_be_given(quadlet: Quadlet, tmp_path: Path) -> None:
    directory = write_host(tmp_path, {f"{QUADLETS}/chat.container": CHAT.replace("ReadOnly=", "ReadOnyl=")})
    (problem,) = judge(directory, quadlet, systemd=None)[1:]
    assert (problem.host, problem.service) == ("claw", "chat")


@each_quadlet
def test_an_unknown_key_is_refused_at_its_line_in_the_words_of_the_generator(
    quadlet: Quadlet, tmp_path: Path, systemd: str
) -> None:
    text = CHAT.replace("ReadOnly=", "ReadOnyl=")
    write_host(tmp_path, {f"{QUADLETS}/chat.container": text, f"{QUADLETS}/embed.container": BARE})
    (problem,) = judge(tmp_path, quadlet, systemd=systemd)
    assert problem.code == "generator-refused"
    assert problem.message == "the Quadlet generator makes no service of chat.container"
    assert problem.place is not None
    assert (problem.place.line, problem.place.text) == (line_of(text, "ReadOnyl"), "ReadOnyl=true")
    assert problem.notes == (
        "converting \"chat.container\": unsupported key 'ReadOnyl' in group 'Container' in chat.container",
        f"with Quadlet {quadlet.version}",
    )


@each_quadlet
def test_a_file_that_cannot_be_parsed_names_the_neighbours_that_it_takes_along(
    quadlet: Quadlet, tmp_path: Path, systemd: str
) -> None:
    files = {f"{QUADLETS}/{name}.container": BARE for name in ("chat", "embed")}
    write_host(tmp_path, {**files, f"{QUADLETS}/night.container": "[Container]\nImage\n"})
    problems = judge(tmp_path, quadlet, systemd=systemd)
    assert seen(problems) == [
        ("generator-refused", "chat.container", 1),
        ("generator-refused", "embed.container", 1),
        ("generator-refused", "night.container", 2),
    ]
    assert all("error loading" in problem.notes[0] for problem in problems)


@each_quadlet
def test_an_empty_argument_is_seen_although_the_generator_is_content(quadlet: Quadlet, tmp_path: Path) -> None:
    text = BARE.replace("--port 8080", '--alias "" --port 8080')
    write_host(tmp_path, {f"{QUADLETS}/chat.container": text})
    assert seen(judge(tmp_path, quadlet, systemd=None)[1:]) == [("generator-differs", "chat.container", 3)]


@each_quadlet
def test_the_second_unit_of_a_name_is_not_passed_over_in_silence(
    quadlet: Quadlet, tmp_path: Path, systemd: str
) -> None:
    write_host(
        tmp_path,
        {f"{QUADLETS}/chat.container": BARE, f"{QUADLETS}/old/chat.container": BARE.replace("80", "90")},
    )
    (problem,) = judge(tmp_path, quadlet, systemd=systemd)
    assert problem.code == "generator-refused"
    assert problem.message == "the Quadlet generator passes over old/chat.container: chat.container comes first"


@each_quadlet
@pytest.mark.parametrize("device", ["/dev/null", "/dev/no-such-device", "nvidia.com/gpu=all"])
def test_an_optional_device_is_refused_whatever_this_machine_has(quadlet: Quadlet, tmp_path: Path, device: str) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": f"{BARE}AddDevice=-{device}\n"})
    (problem,) = judge(tmp_path, quadlet, systemd=None)[1:]
    assert (problem.code, problem.message) == (
        "generator-differs",
        "chat.container: AddDevice= does not arrive as it is written",
    )
    assert problem.notes[0] == f"meant and not passed on: --device -{device}"


@each_quadlet
@pytest.mark.parametrize("folder", ["chat-big.container.d", "chat-.container.d", "container.d", "old/container.d"])
def test_a_drop_in_that_changes_the_command_is_a_difference(
    quadlet: Quadlet, tmp_path: Path, systemd: str, folder: str
) -> None:
    drop_in = f"{QUADLETS}/{folder}/10-mine.conf"
    write_host(
        tmp_path,
        {f"{QUADLETS}/chat-big.container": BARE, drop_in: "[Container]\nExec=--port 9090\n"},
        unlisted=[drop_in],
    )
    foreign, differs = sorted(judge(tmp_path, quadlet, systemd=systemd), key=lambda problem: problem.code)
    assert (differs.code, differs.severity) == ("generator-differs", Severity.ERROR)
    assert differs.notes == (
        "from word 2, meant: 8080",
        "and passed on: 9090",
        f"{folder}/10-mine.conf is a drop-in of it",
        f"with Quadlet {quadlet.version}",
    )
    assert (foreign.code, foreign.severity) == ("foreign-drop-in", Severity.WARNING)


@each_quadlet
def test_what_the_generator_copies_unread_systemd_judges_at_the_line_of_the_quadlet(
    quadlet: Quadlet, tmp_path: Path, systemd: str
) -> None:
    text = CHAT.replace("Restart=", "Restrat=").replace("=900", "=abc")
    write_host(tmp_path, {f"{QUADLETS}/chat.container": text})
    assert seen(judge(tmp_path, quadlet, systemd=systemd)) == [
        ("systemd-refused", "chat.container", line_of(text, "Restrat")),
        ("systemd-refused", "chat.container", line_of(text, "TimeoutStartSec")),
    ]


@pytest.mark.parametrize("directory", [UNITS, USER_UNITS])
@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("Restart=on", "Restrat=on"),
        ("TimeoutStartSec=900", "TimeoutStartSec=abc"),
        ("[Install]", "[Instal]"),
        ("%d/key", "%z/key"),
        ("ExecStart=/opt/llama.cpp/llama-server", "ExecStart=opt/llama-server"),
        ("ExecStart=/opt/llama.cpp/llama-server", "ExecStart=/opt/llama.cpp/"),
    ],
)
def test_systemd_refuses_a_native_unit_at_its_line(
    tmp_path: Path, systemd: str, directory: str, good: str, bad: str
) -> None:
    text = FORGE.replace(good, bad)
    write_host(tmp_path, {f"{directory}/forge.service": text})
    (problem,) = judge(tmp_path, systemd=systemd)
    assert problem.place is not None
    line = next(number for number, line in enumerate(text.split("\n"), 1) if bad in line)
    assert (problem.code, problem.service, problem.place.line) == ("systemd-refused", "forge", line)


def test_a_unit_that_the_tree_requires_and_does_not_hold_is_stood_in_for(tmp_path: Path, systemd: str) -> None:
    names = "net.service gate.target big.slice door.socket clock.timer watch.path srv-my\\x20m.mount a@b.service"
    write_host(tmp_path, {f"{UNITS}/forge.service": FORGE.replace("[Service]", f"Requires={names}\n\n[Service]")})
    assert judge(tmp_path, systemd=systemd) == []


@each_quadlet
def test_a_native_unit_must_not_hide_a_generated_service(quadlet: Quadlet, tmp_path: Path, systemd: str) -> None:
    write_host(
        tmp_path,
        {f"{QUADLETS}/chat.container": BARE, f"{UNITS}/chat.service": FORGE.replace("chat", "embed")},
    )
    assert seen(judge(tmp_path, quadlet, systemd=systemd)) == [("name-clash", "chat.service", 1)]


@each_quadlet
def test_a_lone_semicolon_is_a_second_command_to_systemd(quadlet: Quadlet, tmp_path: Path, systemd: str) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": BARE.replace("8080", "8080 ; /bin/x")})
    problems = judge(tmp_path, quadlet, systemd=systemd)
    assert seen(problems) == [
        ("systemd-refused", "chat.container", 1),
        ("generator-differs", "chat.container", 3),
    ]


def test_a_problem_says_which_generators_met_it(tmp_path: Path) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": f"{BARE}[Service]\nUser=ada\nKillMode=process\n"})
    old, new = generators()
    notes = [problem.notes[-1] for problem in judge(tmp_path, old, new, systemd=None)[1:]]
    assert notes == [f"with Quadlet {new.version}", f"with Quadlet {old.version} and {new.version}"]


def test_a_blank_in_a_volume_is_no_fault_of_the_unit(tmp_path: Path, systemd: str) -> None:
    text = f"{BARE}Volume=/srv/my models:/models:ro\n"
    write_host(tmp_path, {f"{QUADLETS}/chat.container": text})
    problems = judge(tmp_path, *generators(), systemd=systemd)
    assert [(problem.severity, problem.notes) for problem in problems] == [(Severity.WARNING, ("with Quadlet 5.4.2",))]


@each_quadlet
def test_no_host_is_judged_by_a_generator_older_than_its_podman(quadlet: Quadlet, tmp_path: Path) -> None:
    write_host(
        tmp_path,
        {f"{QUADLETS}/chat.container": f"{BARE}NoSuchKey=1\n"},
        manifest={"requires": {"podman": "99.1"}},
    )
    unread, service = (
        judge(tmp_path, quadlet, systemd=None),
        f"the host needs Podman 99.1, not {quadlet.version}",
    )
    assert [(problem.code, problem.severity) for problem in unread] == [("not-verified", Severity.WARNING)]
    assert unread[0].message == f"1 Quadlet was not verified: {service}"


@each_quadlet
def test_a_generator_is_found_by_the_variable(quadlet: Quadlet, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(generator(quadlet).path)
    monkeypatch.chdir(program.parent)
    twice = os.pathsep.join((program.name, str(program)))
    assert find_generators({"QUADGEN_QUADLET": twice}) == (generator(quadlet), generator(quadlet))


@each_quadlet
def test_a_tree_of_quadlets_without_a_generator_cannot_be_verified(
    quadlet: Quadlet, tmp_path: Path, systemd: str
) -> None:
    write_host(tmp_path, {f"{QUADLETS}/chat.container": CHAT})
    with pytest.raises(Unavailable, match="1 Quadlet was not verified: no Quadlet generator at /usr/libexec"):
        judge(tmp_path, systemd=systemd)
    assert judge(tmp_path, quadlet, systemd=systemd) == []
