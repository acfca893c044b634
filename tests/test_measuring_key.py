"""When one measurement goes on with the samples of another, and what its servers see of the shell."""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quadgen.cli import measuring_environ, measuring_key
from quadgen.cli.measuring_asked import Asked
from quadgen.cli.measuring_values import Prepared, Subject
from quadgen.evidence import Policy, Request, Setting
from quadgen.measuring.launch import Launch
from quadgen.measuring.sample import Clock
from quadgen.measuring.workloads import shipped
from quadgen.sampling.opening import Started

SETTING = Setting.of(("draft-simple",))
REQUEST = Request(
    engine="llama.cpp", build="b11434", backend="vulkan", devices=(), model="gemma", header="ab", quantization="Q4_K_M",
    setting=SETTING, against=Setting.of(()), default=Setting.of(()), workload="copy", policy=Policy(),
)  # fmt: skip
SUBJECT = Subject(
    what="claw", profile="drafted", against="none", floor=False, own="copy", decides=True, request=REQUEST,
    launches=(Launch(program="/s", arguments=()), Launch(program="/s", arguments=())), clock=Clock.WALL, context=4096,
    carries=False, comparator_carries=False, program="llama-server 0.6.0", build="b11434", commit="abcdef1",
    fingerprint="f0", device="RX 7900 XTX", comparator_drafts=False,
)  # fmt: skip
FILES = ("llama-server", "model.gguf", "draft.gguf")


@pytest.fixture(name="ready")
def _ready(tmp_path: Path) -> Prepared:
    program, *files = (tmp_path / name for name in FILES)
    for path in (program, *files):
        path.write_bytes(b"12345")
    launch = Launch(program=str(program), arguments=("--model", str(files[0])))
    subject = replace(SUBJECT, launches=(launch, launch))
    source = Started(launch=launch, environ={})
    return Prepared(
        subject=subject, candidate=source, comparator=source, min_gain=1.0, name="claw", host="claw", place="claw",
        asks=True, taken=frozenset(), compiled=None, files=tuple(map(str, files)),
    )  # fmt: skip


def key(ready: Prepared, **asked: Any) -> str:
    return measuring_key.key(ready, shipped(), Asked(**asked))


def of(ready: Prepared, **subject: Any) -> Prepared:
    return replace(ready, subject=replace(ready.subject, **subject))


def rewritten(number: int) -> Callable[[Prepared], Prepared]:
    """The same with a file that was written again, of the same size."""

    def change(ready: Prepared) -> Prepared:
        launches = ready.subject.launches
        assert launches is not None
        os.utime((launches[0].program, *ready.files)[number], ns=(1, 1))
        return ready

    return change


def longer(ready: Prepared) -> Prepared:
    """The same with a draft model of another size, of the same time."""
    found = Path(ready.files[1])
    before = found.stat().st_mtime_ns
    found.write_bytes(b"123456")
    os.utime(found, ns=(before, before))
    return ready


@pytest.mark.parametrize(
    "change",
    [
        *map(rewritten, range(len(FILES))),
        longer,
        lambda ready: of(ready, image="0" * 64),
        lambda ready: of(ready, device="RX 6900 XT"),
        lambda ready: of(ready, fingerprint="f1"),
        lambda ready: of(ready, commit="abcdef2"),
        lambda ready: replace(ready, variables={"GGML_VK_VISIBLE_DEVICES": "1"}),
    ],
    ids=[*FILES, "length", "image", "device", "fingerprint", "commit", "variables"],
)
def test_samples_of_another_thing_are_not_gone_on_with(change: Callable[[Prepared], Prepared], ready: Prepared) -> None:
    before = key(ready)
    assert key(change(ready)) != before


def test_a_part_of_a_model_that_was_written_again_is_another_thing(ready: Prepared, tmp_path: Path) -> None:
    first, second = (tmp_path / f"m-0000{number}-of-00002.gguf" for number in (1, 2))
    second.write_bytes(b"2")
    parts = replace(ready, files=(str(first),))
    before = key(parts)
    second.write_bytes(b"22")
    assert key(parts) != before
    assert key(replace(ready, files=(str(second),)))


@pytest.mark.parametrize("asked", [{"steady": True}, {"together": True}, {"samples": 9}, {"tokens": 9}])
def test_samples_that_were_taken_in_another_way_are_not_gone_on_with(asked: dict[str, Any], ready: Prepared) -> None:
    assert key(ready, **asked) != key(ready)


def test_a_run_that_goes_on_is_the_same(ready: Prepared) -> None:
    assert key(ready, resume=True, output="rows.yml") == key(ready)


SHELL = {
    "PATH": "/bin", "HOME": "/root", "LANG": "C", "TERM": "xterm", "SSH_CLIENT": "::1", "GGML_VK_VISIBLE_DEVICES": "0",
    "CUDA_VISIBLE_DEVICES": "1", "OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": "/lib", "LD_PRELOAD": "x.so",
    "LLAMA_ARG_PORT": "1", "HSA_OVERRIDE_GFX_VERSION": "10.3.0",
}  # fmt: skip


def test_a_server_of_a_fleet_sees_what_its_unit_would() -> None:
    assert measuring_environ.of_unit(SHELL, named=False) == {"PATH": "/bin", "HOME": "/root", "LANG": "C"}


def test_a_program_that_is_named_finds_its_libraries() -> None:
    found = measuring_environ.of_unit(SHELL, named=True)
    assert found == {"PATH": "/bin", "HOME": "/root", "LANG": "C", "LD_LIBRARY_PATH": "/lib"}


def test_what_a_shell_says_to_the_engine_makes_another_measurement_and_who_is_logged_in_does_not() -> None:
    assert set(measuring_environ.telling(SHELL)) == {
        "GGML_VK_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS", "LD_LIBRARY_PATH", "LD_PRELOAD",
        "HSA_OVERRIDE_GFX_VERSION",
    }  # fmt: skip
