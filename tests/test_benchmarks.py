"""The benchmark compares like with like: two programs that write the same files, and no file of them twice."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tiny_gguf
from ansible_run import as_root
from command import quadgen
from hosts import snapshot
from quadgen.observed.log import read_log
from source import ROOT

HOSTS = 20


def script(*words: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run one of the benchmark's programs from the checkout's root."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [sys.executable, "-m", *map(str, words)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


@pytest.fixture(scope="module")
def fleets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two revisions of one fleet."""
    directory = tmp_path_factory.mktemp("fleets")
    files = (directory / "one.yml", directory / "two.yml")
    for revision, file in enumerate(files, 1):
        file.write_bytes(script("benchmarks.fleets", str(HOSTS), "--revision", str(revision)).stdout)
    return files


def render(fleet: Path, output: Path) -> dict[str, bytes]:
    """Every file that quadgen writes, by path; the fleet must pass without a word."""
    done = quadgen("render", fleet, "-o", output, cwd=output.parent)
    assert done.status == 0, done.err
    assert done.err.count("\n") == 1, done.err
    return contents(output)


def contents(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in output.rglob("*") if path.is_file()}


def test_the_plain_script_writes_the_same_bytes(fleets: tuple[Path, Path], tmp_path: Path) -> None:
    """Where a unit has changed, benchmarks/templates and benchmarks/plain.py follow it by hand."""
    ours = render(fleets[0], tmp_path / "quadgen")
    done = script("benchmarks.plain", fleets[0], tmp_path / "plain")
    assert done.returncode == 0, done.stderr.decode()
    assert contents(tmp_path / "plain") == ours


def test_the_plain_script_compares_without_writing(fleets: tuple[Path, Path], tmp_path: Path) -> None:
    render(fleets[0], tmp_path / "out")
    before = snapshot(tmp_path)
    same, other, nothing = (
        script("benchmarks.plain", fleet, tmp_path / output, "--compare").returncode
        for fleet, output in ((fleets[0], "out"), (fleets[1], "out"), (fleets[0], "absent"))
    )
    assert (same, other, nothing) == (0, 3, 3)
    assert snapshot(tmp_path) == before


def test_another_revision_changes_every_file(fleets: tuple[Path, Path], tmp_path: Path) -> None:
    one, two = (render(fleet, tmp_path / fleet.stem) for fleet in fleets)
    assert one.keys() == two.keys()
    assert not [path for path in one if one[path] == two[path]]


def test_no_two_services_have_the_same_unit(fleets: tuple[Path, Path], tmp_path: Path) -> None:
    written = render(fleets[0], tmp_path / "out")
    assert len(set(written.values())) == len(written)
    assert len([path for path in written if path.endswith("manifest.json")]) == HOSTS


def test_a_fleet_of_one_host_declares_only_what_that_host_uses() -> None:
    text = script("benchmarks.fleets", "1").stdout.decode()
    assert "vulkan:" in text
    assert "cuda" not in text
    assert "profiles:" not in text


def test_the_benchmark_of_headers_reads_a_checkpoint_that_is_named(tmp_path: Path) -> None:
    model = tiny_gguf.make(tmp_path, "plain")
    done = script("benchmarks.bench_gguf", model, "--runs", "1", "--starts", "1", "--json")
    assert done.returncode == 0, done.stderr.decode()
    cases = json.loads(done.stdout)
    assert [(case["case"].partition(",")[0], case["runs"]) for case in cases] == [
        ("reader", 1), ("gguf show", 1), ("gguf show", 1), ("reader", 1), ("gguf show", 1)
    ]  # fmt: skip
    assert all(case["quadgen"] > 0 and case["other"] > 0 for case in cases)


def test_the_benchmark_of_headers_says_where_a_checkpoint_comes_from(tmp_path: Path) -> None:
    done = script("benchmarks.bench_gguf", tmp_path / "none.gguf")
    assert (done.returncode, done.stderr.decode()) == (
        1, f"there is no {tmp_path}/none.gguf; `make parts` fetches a checkpoint\n"
    )  # fmt: skip


def test_the_benchmark_of_logs_reads_one_whose_requests_differ() -> None:
    done = script("benchmarks.bench_observe", "--size", "0.5", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr.decode()
    cases = json.loads(done.stdout)
    assert [case["case"].partition(",")[0] for case in cases] == ["observe"] * 3
    assert all(case["quadgen"] > 0 for case in cases)


def test_the_log_of_the_benchmark_has_the_size_and_the_counts_that_it_should(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    done = script("benchmarks.bench_observe", "--size", "0.5", "--write", path)
    assert done.returncode == 0, done.stderr.decode()
    assert 500_000 <= path.stat().st_size < 510_000
    found = read_log("server.log", [path.read_bytes()])
    text = path.read_text()
    assert found.drafting.requests == text.count("draft acceptance") == text.count(" |        eval time") > 400
    assert len(set(re.findall(r"draft acceptance.*", text))) > 300


@as_root
@pytest.mark.skipif("CI" not in os.environ, reason="twelve runs of Ansible: with CI=true")
def test_the_benchmark_of_pulls_counts_runs_that_change_nothing() -> None:
    done = script("benchmarks.bench_pull", "--services", "1", "--runs", "1", "--json")
    assert done.returncode == 0, done.stderr.decode()
    cases = json.loads(done.stdout)
    assert [case["case"] for case in cases] == [
        "pull of 1, times a copy", "play of 1, times a copy", "play of 1, times a copy in one call"
    ]  # fmt: skip
    assert all(case["quadgen"] > 0 and case["other"] > 0 for case in cases)
