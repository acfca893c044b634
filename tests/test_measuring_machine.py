"""What a server program says of itself, in the words of every build, and what is made of it."""

import os
import stat
from pathlib import Path

import pytest

from quadgen.engines import help_text
from quadgen.engines.flags import shipped_tables
from quadgen.measuring.launch import Launch
from quadgen.measuring.machine import arguments_fingerprint, devices, flags_fingerprint, version
from quadgen.problems import Unavailable
from quadgen.sampling.machine import machine, processor

VERSIONS = [
    ("version: 0.1.0-dev (build 1, commit 7e4c0a9)", "0.1.0-dev (build 1, commit 7e4c0a9)", None, "7e4c0a9"),
    ("version: 0.6.0-dev (build 0, commit unknown)", "0.6.0-dev (build 0, commit unknown)", None, None),
    (
        "version: 0.1.0-dev (build 10444, commit 037f2f344)\nbuilt with GNU 11.4.0 for Linux x86_64",
        "0.1.0-dev (build 10444, commit 037f2f344)", "b10444", "037f2f344",
    ),
    ("ggml_cuda_init: found 1 device\nversion: 9859 (4fc4ec554)\r\n", "9859 (4fc4ec554)", "b9859", "4fc4ec554"),
    ("version: 0.7.0 (build 11669, commit Debian)", "0.7.0 (build 11669, commit Debian)", "b11669", None),
    ("version: of a fork\n", "of a fork", None, None),
    ("nothing of the kind", None, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("said", "whole", "build", "commit"), VERSIONS)
def test_every_form_of_a_version_is_read_and_no_build_is_number_0_or_1(
    said: str, whole: str | None, build: str | None, commit: str | None
) -> None:
    assert version(said) == (whole, build, commit)


def test_devices_are_read_with_the_parentheses_of_their_drivers() -> None:
    said = """Available devices:
  CUDA0: NVIDIA GeForce RTX 3090 (24126 MiB, 23700 MiB free)
  Vulkan0: llvmpipe (LLVM 15.0.6, 256 bits) (2048 MiB, 2048 MiB free)
  RPC0[127.0.0.1:50052]: 127.0.0.1:50052 (100 MiB, 50 MiB free)
"""
    assert devices(said) == (
        ("CUDA0", "NVIDIA GeForce RTX 3090"),
        ("Vulkan0", "llvmpipe (LLVM 15.0.6, 256 bits)"),
        ("RPC0[127.0.0.1:50052]", "127.0.0.1:50052"),
    )
    assert devices("Available devices:\n  (none)\n") == ()


def test_the_flags_tell_builds_apart_that_call_themselves_alike() -> None:
    tables = shipped_tables()
    prints = {build: flags_fingerprint(tables[build].options) for build in tables}
    assert prints["b10434"] != prints["b10724"] != prints["b11434"]
    assert prints["b10705"] == prints["b10724"]  # whose flags are the same
    assert flags_fingerprint(reversed(tables["b11434"].options)) == prints["b11434"]


def test_where_a_model_lies_is_no_part_of_a_setting_and_every_other_word_is() -> None:
    here = arguments_fingerprint(["--model", "/srv/a.gguf", "-np", "1"], ["--model", "/srv/a.gguf"])
    assert arguments_fingerprint(["--model", "/models/a.gguf", "-np", "1"], ["--model", "/b/a.gguf"]) == here
    assert arguments_fingerprint(["--model", "/srv/a.gguf", "-np", "2"], ["--model", "/srv/a.gguf"]) != here
    assert arguments_fingerprint(["--model", "/srv/a.gguf", "-np"], ["1", "--model", "/srv/a.gguf"]) != here


def program(directory: Path, text: str) -> Launch:
    """A program that says something, and what it is told."""
    path = directory / "llama-server"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return Launch(program=str(path), arguments=(), environment=(("CUDA_VISIBLE_DEVICES", "1"),))


def test_a_program_is_asked_with_the_service_s_own_variables_and_no_options_of_the_user_s(tmp_path: Path) -> None:
    help_file = Path(__file__).parent / "data" / "llama-server-help-b11434.txt"
    launch = program(
        tmp_path,
        f"""case $1 in
--version) echo "version: 0.6.0-dev (build 11434, commit abcdef1$LLAMA_ARG_MODEL)" >&2;;
--list-devices) printf 'Available devices:\\n  CUDA0: card %s (1 MiB, 1 MiB free)\\n' "$CUDA_VISIBLE_DEVICES";;
--help) cat {help_file};;
esac""",
    )
    found = machine(launch, environ={"PATH": os.environ["PATH"], "LLAMA_ARG_MODEL": "x", "CUDA_VISIBLE_DEVICES": "0"})
    assert (found.build, found.commit, found.devices, found.names) == ("b11434", "abcdef1", ("card 1",), ("CUDA0",))
    assert found.device("CUDA0") == "card 1"
    assert found.device("CUDA1") is None
    assert found.fingerprint == flags_fingerprint(help_text.parse(help_file.read_text(encoding="utf-8")))
    assert found.image is None


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    launch = program(tmp_path, "echo; echo 'error while loading shared libraries: libcuda.so.1' >&2; exit 127")
    with pytest.raises(Unavailable) as failed:
        machine(launch, environ={"PATH": os.defpath})
    why = "error while loading shared libraries: libcuda.so.1"
    assert str(failed.value) == f"{launch.program} --version ends with status 127: {why}"


def test_a_processor_has_a_name_whatever_the_machine_is() -> None:
    assert processor({"PATH": "/nonexistent"}) not in ("", "unknown")
