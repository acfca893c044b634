"""The same fleet is the same bytes: wherever, whenever and by whomever it is rendered, also by two at once."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import quadgen
from fleets import ENGINES
from hosts import snapshot

MODELS = "  far: {file: Größe.gguf, mtp: false}\n"
FLEET = f"""\
{ENGINES}{MODELS}measurements: ["measured/**/*.yml"]
profiles:
  lookup: {{spec_types: [ngram-mod, ngram-cache], workload: copy, against: none, flags: {{spec-ngram-mod-n-max: 48}}}}
defaults: {{context: 4096, labels: {{z: "1", a: größer, m: "İ ß"}}}}
groups:
  desk: {{env: {{Z: last, A: first}}, labels: {{b: "2"}}}}
hosts:
  claw:
    backend: vulkan
    gpus: [{{name: NVIDIA GeForce RTX 3090, vram: 24GiB}}]
    groups: [desk]
    services:
      chat: {{model: headed, api_key: {{secret: key}}, secrets: {{B: two, A: one}}, volumes: [/b:/b:ro, /a:/a]}}
      embed: {{model: far, backend: cpu, engine: cpu, port: 8081, after: chat,
              flags: {{pooling: cls, embeddings: true}}}}
  forge: {{backend: cuda, runtime: systemd, model: headed, profile: copy}}
  nook: {{backend: cpu, engine: cpu, rootless: ada, model: plain, profile: lookup}}
"""
ROW = """\
version: 1
measurements:
- {id: %s, engine: llama.cpp, build: b10715, backend: cpu, device: any, model: plain, workload: copy, samples: 3,
   setting: {spec_types: [ngram-cache, ngram-mod], flags: {spec-ngram-mod-n-max: 48}}, against: {spec_types: []},
   rate: %s, against_rate: 10.0, source: a test}
"""
LEDGERS = {
    "measured/b.yml": ROW % ("b", 21.0),
    "measured/a.yml": ROW % ("a", 20.0),
    "measured/c/d.yml": ROW % ("c", 19.0),
}
NOBODY = 65534
RUN = [sys.executable, "-m", "quadgen", "render"]
USUAL = {
    "PATH": os.environ.get("PATH", os.defpath),
    "PYTHONPATH": str(Path(quadgen.__file__).parents[1]),
    "PYTHONDONTWRITEBYTECODE": "1",
}


@pytest.fixture(name="place", scope="module")
def _place() -> Iterator[Path]:
    """A directory that others may enter (pytest closes its own), with a fleet that has ledgers and templates."""
    with tempfile.TemporaryDirectory(prefix="quadgen-test-") as name:
        place = Path(name).resolve()
        place.chmod(0o755)
        lay_out(place / "fleet", ["measured/b.yml", "measured/a.yml", "measured/c/d.yml"])
        yield place


def lay_out(directory: Path, ledgers: list[str]) -> None:
    """Write the fleet and its ledgers, in this order, which is the one that a directory may list them in."""
    directory.mkdir()
    for name in ledgers:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(LEDGERS[name], encoding="utf-8")
    (directory / "fleet.yml").write_text(FLEET, encoding="utf-8")
    (directory / "templates").mkdir()
    (directory / "templates/other.j2").write_text("nothing of ours", encoding="utf-8")


def render(
    fleet: str, out: str | Path, *, cwd: Path, around: Mapping[str, str] = USUAL, umask: int = -1
) -> dict[str, tuple[object, ...]]:
    """Render in a process of its own; what stands in `out` afterwards."""
    done = subprocess.run(
        [*RUN, fleet, "-o", str(out)],
        cwd=cwd,
        env={**USUAL, **around},
        umask=umask,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return snapshot(cwd / out)


@pytest.fixture(name="usual", scope="module")
def _usual(place: Path) -> dict[str, tuple[object, ...]]:
    """What the fleet comes to where nothing is special."""
    return render("fleet.yml", place / "usual", cwd=place / "fleet")


AROUND: dict[str, dict[str, str]] = {
    "hash seed 0": {"PYTHONHASHSEED": "0"},
    "hash seed 1": {"PYTHONHASHSEED": "1"},
    "hash seed 4294967295": {"PYTHONHASHSEED": "4294967295"},
    "locale C": {"LC_ALL": "C", "LANG": "C"},
    "locale C in ASCII": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "locale C.UTF-8": {"LC_ALL": "C.UTF-8"},
    "a Turkish locale": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8", "LANGUAGE": "tr"},
    "a Latin-1 locale": {"LC_ALL": "de_DE.ISO-8859-1", "PYTHONIOENCODING": "latin-1"},
    "a time zone in the east": {"TZ": "Pacific/Kiritimati"},
    "a time zone in the west": {"TZ": "Etc/GMT+12"},
    "no home": {"HOME": "/nonexistent"},
    "somebody else's name": {"HOME": "/home/ada", "USER": "ada", "LOGNAME": "ada", "XDG_CONFIG_HOME": "/home/ada/.c"},
    "no programs at all": {"PATH": "/nonexistent"},
    "a narrow terminal without colour": {"COLUMNS": "20", "NO_COLOR": "1", "TERM": "dumb"},
    "colour at any price": {"FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"},
    "variables of llama-server": {"LLAMA_ARG_SPEC_TYPE": "ngram-mod", "LLAMA_CACHE": "/x", "HF_TOKEN": "x"},
    "variables of Podman and systemd": {"CONTAINER_HOST": "tcp://x", "SYSTEMD_UNIT_PATH": "/x"},
    "cards that are hidden": {"CUDA_VISIBLE_DEVICES": "7", "GGML_VK_VISIBLE_DEVICES": "7"},
    "an optimising Python": {"PYTHONOPTIMIZE": "2"},
}  # fmt: skip


@pytest.mark.parametrize("what", AROUND)
def test_the_environment_changes_no_byte(what: str, place: Path, usual: dict[str, tuple[object, ...]]) -> None:
    assert render("fleet.yml", place / what, cwd=place / "fleet", around=AROUND[what]) == usual


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o027, 0o077], ids=oct)
def test_the_umask_changes_no_byte_and_no_mode(umask: int, place: Path, usual: dict[str, tuple[object, ...]]) -> None:
    made = render("fleet.yml", place / oct(umask), cwd=place / "fleet", umask=umask)
    assert made == usual
    assert {mode for mode, *_ in made.values()} == {"0o40755", "0o100644"}


def test_the_way_to_the_fleet_changes_no_byte_and_leaks_into_none(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    fleet = place / "fleet/fleet.yml"
    (place / "link.yml").symlink_to(fleet)
    (place / "folder").symlink_to(place / "fleet", target_is_directory=True)
    ways = [
        (place / "fleet", "./fleet.yml"),
        (place / "fleet", str(fleet)),
        (place, "fleet/fleet.yml"),
        (place, "fleet/../fleet//fleet.yml"),
        (place, "folder/fleet.yml"),
        (Path("/"), str(fleet)),
    ]
    for number, (cwd, way) in enumerate(ways):
        assert render(way, place / f"way{number}", cwd=cwd) == usual, way
    written = b"".join(data for _, data in usual.values() if isinstance(data, bytes))
    assert str(place).encode() not in written
    assert b"fleet.yml" not in written


def test_the_way_to_the_output_changes_no_byte(place: Path, usual: dict[str, tuple[object, ...]]) -> None:
    assert render("fleet.yml", "rendered", cwd=place / "fleet") == usual
    assert render("fleet.yml", "a/b/../c/", cwd=place / "fleet") == usual
    (place / "elsewhere").mkdir(mode=0o755)
    (place / "fleet/link").symlink_to(place / "elsewhere", target_is_directory=True)
    render("fleet.yml", "link", cwd=place / "fleet")
    assert snapshot(place / "elsewhere") == usual


def test_the_order_in_which_files_came_into_being_changes_no_byte(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    lay_out(place / "other", ["measured/c/d.yml", "measured/a.yml", "measured/b.yml"])
    assert render("fleet.yml", place / "order", cwd=place / "other") == usual


def test_what_is_rendered_over_something_else_is_what_is_rendered_anew(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    (place / "old.yml").write_text(FLEET.replace("  nook:", "  cove:").replace("embed:", "rank:"), encoding="utf-8")
    shutil.copytree(place / "fleet/measured", place / "measured")
    render("old.yml", place / "over", cwd=place)
    assert render("fleet.yml", place / "over", cwd=place / "fleet") == usual


def test_another_user_whose_home_is_read_only_renders_the_same(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    home, out = place / "home", place / "theirs"
    home.mkdir(mode=0o555)
    out.mkdir(mode=0o755)
    for directory in (home, out):
        os.chown(directory, NOBODY, NOBODY)
    program = [python_of_nobody(), *RUN[1:], "fleet.yml", "-o", str(out)]
    around = {**USUAL, "HOME": str(home), "PYTHONPATH": f"{USUAL['PYTHONPATH']}:{Path(pytest.__file__).parents[1]}"}
    done = subprocess.run(
        program,
        cwd=place / "fleet",
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env=around,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()
    assert snapshot(out) == usual
    assert list(home.iterdir()) == []
    assert {path.stat().st_uid for path in out.rglob("*")} == {NOBODY}


def python_of_nobody() -> str:
    """A Python of the version that runs the tests, and that another user can start; skips where there is none."""
    for python in (sys.executable, f"/usr/bin/python{sys.version_info.major}.{sys.version_info.minor}"):
        with contextlib.suppress(OSError):
            if (
                subprocess.run([python, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=[], check=False).returncode
                == 0
            ):
                return python
    pytest.skip("another user cannot start this version of Python")


def test_a_fleet_that_nobody_may_write_to_is_rendered_without_leaving_a_trace_in_it(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    lay_out(place / "read-only", sorted(LEDGERS))
    for path in (place / "read-only", *(place / "read-only").rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = snapshot(place / "read-only", times=True)
    assert render("read-only/fleet.yml", place / "from read-only", cwd=place) == usual
    assert snapshot(place / "read-only", times=True) == before
    for path in (place / "read-only", *(place / "read-only").rglob("*")):
        path.chmod(0o755)  # so that pytest can remove it


def test_two_renders_at_once_into_one_directory_end_as_one_of_the_two(
    place: Path, usual: dict[str, tuple[object, ...]]
) -> None:
    other = FLEET.replace("context: 4096", "context: 8192").replace("  nook:", "  cove:").replace("embed:", "rank:")
    (place / "fleet/other.yml").write_text(other, encoding="utf-8")
    ends = [usual, render("other.yml", place / "end", cwd=place / "fleet")]
    for number in range(4):
        out = place / f"both{number}"
        runs = [
            subprocess.Popen(
                [*RUN, fleet, "-o", out],
                cwd=place / "fleet",
                env=USUAL,
                stderr=subprocess.PIPE,
            )
            for fleet in ("fleet.yml", "other.yml", "fleet.yml", "other.yml")
        ]
        said = [run.communicate(timeout=120)[1] for run in runs]
        assert [run.returncode for run in runs] == [0] * len(runs), said
        assert snapshot(out) in ends
