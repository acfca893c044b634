"""The committed trees before the programs that will read them: Podman's generators, and systemd."""

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from command import Done, quadgen
from fleets import ENGINES
from parts import Quadlet, each_quadlet, generators, missing
from quadgen.verify import Generator, find_systemd_analyze, verify_tree
from source import ROOT
from systemd_words import assignments, command, specified

FLEETS = [ROOT, *sorted(path.parent for path in ROOT.glob("examples/*/fleet.yml"))]
each_fleet = pytest.mark.parametrize("directory", FLEETS, ids=lambda path: str(path.relative_to(ROOT)))
CHAT = "studio/home/ada/.config/containers/systemd/chat.container"
NOOK = "nook/home/ada/.config/systemd/user/llama-server.service"
PROGRAM = re.compile(r"^(Exec\w+=)(/[\w./-]+)", re.MULTILINE)
EXPOSURE = re.compile(r"Overall exposure level for \S+: (\d+\.\d+) ")
CPU_BOUND, GPU_BOUND = 2.0, 2.5
"""What `systemd-analyze security` may say of a system unit; lower is better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One committed unit, and what `explain` says of its service."""

    path: Path
    user: bool
    told: dict[str, Any]

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @property
    def argv(self) -> list[str]:
        """What the server shall receive, with a specifier as `systemd_words` marks it."""
        return [re.sub(r"^%(\w)/", r"<%\1>/", word) for word in self.told["argv"]]


@pytest.fixture(name="systemd")
def _systemd() -> str:
    return find_systemd_analyze(os.environ) or str(missing("systemd-analyze"))


def units(directory: Path, suffix: str) -> dict[str, list[Unit]]:
    """The units of each host that has some, by what `explain` says; every file of the suffix must be among them."""
    found: dict[str, list[Unit]] = {}
    for host in sorted(path.name for path in (directory / "rendered").iterdir()):
        done = quadgen("explain", "fleet.yml", host, "--format", "json", cwd=directory)
        assert done.status == 0, done.err
        base = directory / "rendered" / host
        told = [one for one in json.loads(done.out)["services"] if one["file"].endswith(suffix)]
        assert sorted(base / one["file"] for one in told) == sorted(base.rglob(f"*{suffix}"))
        mine = [Unit(path=base / one["file"], user=one["file"].startswith("home/"), told=one) for one in told]
        if mine:
            found[host] = mine
    return found


@each_fleet
def test_the_committed_tree_holds_units_of_services_that_are_explained(directory: Path) -> None:
    assert units(directory, ".container") or units(directory, ".service")


@each_quadlet
@each_fleet
def test_the_generator_makes_a_service_of_every_unit_and_passes_the_words_that_explain_shows(
    quadlet: Quadlet, directory: Path, tmp_path: Path
) -> None:
    for host, found in units(directory, ".container").items():
        place = tmp_path / host
        place.mkdir()
        networks = {name for unit in found for name in assignments(unit.text, "Network", "Container") if "." in name}
        for name in networks:  # a unit of the administrator's own
            (place / name).write_text("[Network]\n", encoding="utf-8")
        for unit in found:
            (place / unit.path.name).write_text(unit.text, encoding="utf-8")
        run = quadlet.run(place, user=found[0].user)
        assert (run.status, run.messages) == (0, [])
        beside = {f"{name.removesuffix('.network')}-network.service" for name in networks}
        assert run.services.keys() == {f"{unit.path.stem}.service" for unit in found} | beside
        for unit in found:
            (line,) = assignments(run.services[f"{unit.path.stem}.service"], "ExecStart")
            (image,) = assignments(unit.text, "Image", "Container")
            words = command(line)
            assert words[words.index(image) + 1 :] == unit.argv


@each_fleet
def test_a_native_unit_passes_the_words_that_explain_shows(directory: Path) -> None:
    for found in units(directory, ".service").values():
        for unit in found:
            (line,) = assignments(unit.text, "ExecStart")
            program, *words = command(line)
            assert words == unit.argv
            assert program.endswith("/llama-server")


@each_fleet
def test_variables_are_those_that_explain_shows(directory: Path) -> None:
    for suffix, section in ((".container", "Container"), (".service", "Service")):
        for found in units(directory, suffix).values():
            for unit in found:
                said = [line.split("=", 1) for line in assignments(unit.text, "Environment", section)]
                told = {name: specified(value.encode()) for name, value in unit.told["env"].items()}
                assert {name: specified(value.encode()) for name, value in said} == told


@each_fleet
def test_systemd_has_nothing_to_say_of_a_native_unit(directory: Path, systemd: str, tmp_path: Path) -> None:
    for host, found in units(directory, ".service").items():
        place = tmp_path / host
        place.mkdir()
        for unit in found:
            (place / unit.path.name).write_text(PROGRAM.sub(r"\1/bin/true", unit.text), encoding="utf-8")
        assert verdict(systemd, [place / unit.path.name for unit in found], tmp_path, user=found[0].user) == ""


def test_systemd_would_say_what_is_wrong_with_a_unit(systemd: str, tmp_path: Path) -> None:
    unit = tmp_path / "chat.service"
    unit.write_text("[Service]\nExecStart=/bin/true\nProtectHmoe=yes\n", encoding="utf-8")
    assert "ProtectHmoe" in verdict(systemd, [unit], tmp_path, user=False)


def verdict(systemd: str, files: list[Path], home: Path, *, user: bool) -> str:
    """Everything that `systemd-analyze verify` prints."""
    done = subprocess.run(
        [systemd, "verify", "--man=no", *(["--user"] if user else []), *files],
        env={"HOME": str(home), "XDG_RUNTIME_DIR": str(home), "LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout + done.stderr


@each_fleet
def test_every_judge_takes_the_committed_tree_as_it_was_meant(directory: Path, systemd: str) -> None:
    judges = [
        Generator(version=each.version, path=str(each.program or missing(f"Quadlet {each.version}")))
        for each in generators()
    ]
    found = verify_tree(
        str(directory / "rendered"), generators=judges, systemd_analyze=systemd, hosts=None, progress=lambda *_: None
    )
    assert found == []


@pytest.fixture(name="both")
def _both(monkeypatch: pytest.MonkeyPatch, systemd: str) -> str:
    """Make the command line ask both generators; what it calls them and systemd."""
    programs = [str(each.program or missing(f"Quadlet {each.version}")) for each in generators()]
    monkeypatch.setenv("QUADGEN_QUADLET", os.pathsep.join(programs))
    return " and ".join([*(f"Quadlet {each.version}" for each in generators()), Path(systemd).name])


@each_fleet
def test_a_render_that_verifies_writes_what_both_generators_and_systemd_take(
    directory: Path, both: str, tmp_path: Path
) -> None:
    done = quadgen("render", "fleet.yml", "-o", tmp_path / "out", "--verify", cwd=directory)
    assert done.status == 0, done.err
    done = quadgen("verify", "out", cwd=tmp_path)
    assert done == Done(status=0, out="", err=f"quadgen: out: {both} take every unit as it was meant\n")


def test_verify_ends_with_1_where_a_generator_or_systemd_refuses(both: str, tmp_path: Path) -> None:
    done = quadgen("render", "fleet.yml", "-o", tmp_path / "out", cwd=ROOT / "examples/rootless")
    assert done.status == 0, both
    for path, key in ((CHAT, "ReadOnly"), (NOOK, "UMask")):
        text = (tmp_path / "out" / path).read_text(encoding="utf-8")
        (tmp_path / "out" / path).write_text(text.replace(f"\n{key}=", f"\n{key}x="), encoding="utf-8")
    done = quadgen("verify", "out", "--format", "json", cwd=tmp_path)
    told = {(one["code"], one["file"]) for one in json.loads(done.out)}
    assert (done.status, told) == (
        1, {("generator-refused", f"out/{CHAT}"), ("systemd-refused", f"out/{NOOK}")},
    )  # fmt: skip


def exposure(systemd: str, unit: Path) -> float:
    """The number that `systemd-analyze security` gives a unit file of the system's manager."""
    done = subprocess.run(
        [systemd, "security", "--offline=true", "--no-pager", unit],
        env={"LC_ALL": "C.UTF-8", "SYSTEMD_COLORS": "0", "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "unrecognized option" in done.stderr:
        missing("systemd-analyze 250 or later, for `security --offline`")
    said = EXPOSURE.search(done.stdout)
    assert said, done.stdout + done.stderr
    return float(said[1])


HOSTS = {
    "as it comes": "",
    "open to others": ", bind: 0.0.0.0, api_key: {secret: key}",
    "as a user of the host": ", user: llm",
    "with its models below a home": ", user: llm, models_dir: ~/models, home: /home/llm",
    "that fetches its model": ", model: far",
}
BACKENDS = {"cpu": "cpu, engine: cpu", "cuda": "cuda", "vulkan": "vulkan", "rocm": "rocm", "sycl": "sycl"}


@pytest.mark.parametrize("what", HOSTS)
def test_a_native_service_is_closed_off_as_well_as_its_backend_allows(what: str, systemd: str, tmp_path: Path) -> None:
    models = "  far: {url: https://example.org/far.gguf, mtp: false}\n"
    defaults = "defaults: {runtime: systemd, model: plain, context: 4096}\n"
    hosts = "".join(f"  {name}: {{backend: {backend}{HOSTS[what]}}}\n" for name, backend in BACKENDS.items())
    (tmp_path / "fleet.yml").write_text(f"{ENGINES}{models}{defaults}hosts:\n{hosts}", encoding="utf-8")
    done = quadgen("render", "fleet.yml", cwd=tmp_path)
    assert done.status == 0, done.err
    for name in BACKENDS:
        unit = tmp_path / "rendered" / name / "etc/systemd/system/llama-server.service"
        assert exposure(systemd, unit) <= (CPU_BOUND if name == "cpu" else GPU_BOUND), name


def test_the_bound_would_be_missed_without_the_sandbox(systemd: str, tmp_path: Path) -> None:
    unit = tmp_path / "chat.service"
    unit.write_text("[Service]\nExecStart=/bin/true\nNoNewPrivileges=yes\n", encoding="utf-8")
    assert exposure(systemd, unit) > GPU_BOUND


@each_fleet
def test_the_native_units_of_the_system_are_closed_off(directory: Path, systemd: str) -> None:
    for found in units(directory, ".service").values():
        for unit in found:
            if not unit.user:
                bound = CPU_BOUND if unit.told["backend"] == "cpu" else GPU_BOUND
                assert exposure(systemd, unit.path) <= bound
