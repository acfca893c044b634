"""Whatever stands in a fleet file, the answer is problems with places, or units with the decided words."""

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command import quadgen
from fleets import compile_text, problems, started, values
from junk import FLEET, ROWS, fleets, written
from parts import REQUIRED, Quadlet, generators
from quadgen.cli import console
from quadgen.engines.side_doors import reaches_speculation_flag
from quadgen.pipeline import Compiled
from quadgen.problems import Problem, Rejected, Severity
from quadgen.resolution import Resolution
from quadgen.unitfile import read
from systemd_words import command, specified


def compiled(text: str) -> Compiled | list[Problem]:
    try:
        return compile_text(text, {"rows.yml": ROWS})
    except Rejected as rejected:
        return list(rejected.problems)


def check_problems(found: list[Problem], text: str) -> None:
    """Each has a place in a file of the fleet, and can be shown in every form, without a sign that does not show."""
    lines = {"fleet.yml": text.split("\n"), "rows.yml": ROWS.split("\n")}
    for problem in found:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", problem.code), problem
        assert problem.place is not None, problem
        if problem.place.file in lines:
            assert 1 <= problem.place.line <= len(lines[problem.place.file]), problem
        assert problem.place.column >= 1, problem
        assert "Input should" not in problem.message, problem
        assert problem.code != "unit-changed-by-template", "what a fleet says is refused where it says it"
        shown = console.text(problem)
        assert shown.replace("\n", "").isprintable(), problem
        head = shown.split("\n")
        assert head[0].startswith(f"{problem.severity}[{problem.code}]: "), problem
        assert all(line.startswith((" ", str(problem.place.line))) for line in head[1:] if line), problem
    assert len({console.text(problem) for problem in found}) == len(found), "one problem is told twice"


def decided(resolution: Resolution) -> list[str]:
    """The server's arguments as systemd will have them, a specifier as systemd_words shows it."""
    words = [word for argument in resolution.arguments for word in argument.words]
    return [word if isinstance(word, str) else specified(str(word).encode()).decode() for word in words]


def check_speculation(resolution: Resolution) -> None:
    """Only a profile speculates, and one that is no floor has a row for it."""
    for argument in resolution.arguments:
        flag, *rest = map(str, argument.words)
        if reaches_speculation_flag(flag):
            assert argument.why in ("profile", "mtp", "draft_device"), argument
        assert not any(word.startswith("-") and reaches_speculation_flag(word) for word in rest), argument
    if resolution.decision.types and not resolution.decision.profile.floor:
        assert resolution.decision.rows, resolution.name


def check_units(done: Compiled, quadlets: list[Quadlet]) -> None:
    """Each unit starts the server with the decided words, by systemd's rules and by the real generators."""
    files = {(tree.host, file.path): file.data.decode() for tree in done.trees for file in tree.files}
    for host, services in done.resolved.hosts.items():
        containers = {}
        for resolution in services:
            check_speculation(resolution)
            (text,) = (
                text for (name, path), text in files.items() if name == host and Path(path).stem == resolution.name
            )
            read(text)
            if resolution.host.runtime == "podman":
                (line,) = values(text, "Container", "Exec")
                assert command(line) == decided(resolution)
                containers[resolution.name] = text
            else:
                (line,) = values(text, "Service", "ExecStart")
                assert command(line) == [resolution.binary, *decided(resolution)]
        for quadlet in quadlets if containers else ():
            check_generated(quadlet, containers, {each.name: each for each in services})


def check_generated(quadlet: Quadlet, containers: dict[str, str], services: dict[str, Resolution]) -> None:
    if quadlet.version.startswith("5.4.") and any(each.host.podman != "5.4.2" for each in services.values()):
        return
    with tempfile.TemporaryDirectory() as directory:
        for network in {name for each in services.values() for name in each.networks if name.endswith(".network")}:
            Path(directory, network).write_text("[Network]\n", encoding="utf-8")
        for volume in {mount.source for each in services.values() for mount in each.mounts}:
            if volume.endswith(".volume") and "/" not in volume:
                Path(directory, volume).write_text("[Volume]\n", encoding="utf-8")
        for name, text in containers.items():
            Path(directory, f"{name}.container").write_bytes(text.encode())
        run = quadlet.run(Path(directory))
    assert (run.status, run.messages) == (0, []), containers
    for name in containers:
        assert started(run.services[f"{name}.service"], services[name].image).server == decided(services[name])


QUADLETS = [quadlet for quadlet in generators() if quadlet.program is not None] if REQUIRED else []
"""The real generators cost a process for each example: where parts are required, they judge too."""


@settings(max_examples=settings().max_examples * 2)
@given(fleet=fleets())
def test_a_fleet_with_anything_in_it_is_refused_with_places_or_compiled_to_what_was_decided(fleet: Any) -> None:
    text = written(fleet).lstrip("\n") + "\n"
    done = compiled(text)
    if isinstance(done, list):
        assert any(problem.severity is Severity.ERROR for problem in done)
        check_problems(done, text)
        return
    check_problems(list(done.problems), text)
    if not done.refused:
        check_units(done, QUADLETS)


def test_the_good_fleet_compiles_and_says_almost_every_field() -> None:
    done = compiled(written(FLEET).lstrip("\n") + "\n")
    assert isinstance(done, Compiled)
    assert [problem for problem in done.problems if problem.severity is Severity.ERROR] == []
    assert {tree.host: len(tree.files) for tree in done.trees} == {"claw": 3, "hearth": 1, "nook": 1}
    check_units(done, QUADLETS)


@given(data=st.binary(max_size=80) | st.text(max_size=80).map(lambda text: text.encode(errors="surrogatepass")))
def test_bytes_that_are_no_fleet_are_refused_with_places(data: bytes) -> None:
    found = problems(data)
    assert any(problem.severity is Severity.ERROR for problem in found)
    for problem in found:
        assert problem.place is not None
        assert console.text(problem).replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("version: 1\nhosts: {}\n", 0),
        ('version: 1\nhosts: {"a\\nb": {}}\n', 1),
        ("version: 1\nhosts: {a: {port: 1e999, gpus: [~], unit: [x]}}\n", 1),
        ("a: &a [*a]\n", 1),
    ],
)
def test_the_command_ends_with_0_or_1_and_without_a_traceback(text: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(text, encoding="utf-8")
    done = quadgen("check", cwd=tmp_path)
    assert (done.status, "Traceback" in done.err) == (status, False), done.err


def test_a_fleet_cannot_colour_the_terminal_move_its_cursor_or_turn_a_line_around(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text('version: 1\nhosts: {}\n"\\e]0;x\\a\\r": 1\n"b\\u202ec": 1\n', encoding="utf-8")
    shown = quadgen("check", cwd=tmp_path).err
    assert shown.replace("\n", "").isprintable()
    assert "`\\x1b]0;x\\x07\\r` is not a key of this file" in shown
    assert "`b\\u202ec` is not a key of this file" in shown
    (tmp_path / "fleet.yml").write_text("version: 1\nhosts: {}\n# \u202e\n", encoding="utf-8")
    shown = quadgen("check", cwd=tmp_path).err
    assert shown.replace("\n", "").isprintable()
    assert "error[yaml-syntax]: U+202E turns the text around it" in shown
    assert "3 | # \ufffd\n" in shown


def test_a_file_without_an_end_is_not_read_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quadgen.disk.reading.LARGEST", 4096)
    engine = "kind: llama.cpp, build: b1, backends: [cpu], image: x.io/y:b1, flags: /dev/zero"
    (tmp_path / "fleet.yml").write_text(f"version: 1\nengines: {{e: {{{engine}}}}}\nhosts: {{}}\n", encoding="utf-8")
    done = quadgen("check", cwd=tmp_path)
    assert (done.status, "error[missing-file]: cannot read /dev/zero" in done.err) == (1, True)
