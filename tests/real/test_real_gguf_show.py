"""`quadgen gguf` on a real checkpoint of 262144 tokens: what it says, how long it takes, and with how much memory."""

import json
import os
import subprocess
import sys
from pathlib import Path

import parts
from command import quadgen
from pages import read

MIB = 2**20


def test_what_is_said_of_gemma_3_is_what_is_known_of_it(tmp_path: Path) -> None:
    done = quadgen("gguf", "show", parts.gemma(), "--format", "json", cwd=tmp_path)
    found = json.loads(done.out)
    assert (done.status, found["architecture"], found["quantization"]) == (0, "gemma3", "Q4_K_M")
    assert (found["parameters"], found["context"], found["mtp"]["state"]) == (268098176, 32768, "none")
    tokenizer = found["tokenizer"]
    assert {name: tokenizer[name] for name in ("model", "size", "merges", "begins_with", "ends_with")} == {
        "model": "llama", "size": 262144, "merges": 0, "begins_with": 2, "ends_with": None,
    }  # fmt: skip
    # 3 full layers and 15 with a window, one head of 256 keys and 256 values in each, 2 bytes a number
    assert found["kv"]["full"] == {"layers": 3, "bytes_per_token": 3 * 512 * 2}
    assert found["kv"]["window"] == {"tokens": 512, "layers": 15, "bytes_per_token": 15 * 512 * 2}
    assert found["kv"]["trained"]["bytes"] == (32768 * 3 + 1024 * 15) * 512 * 2


def test_a_checkpoint_is_identical_to_itself(tmp_path: Path) -> None:
    done = quadgen("gguf", "compare", parts.gemma(), parts.gemma(), cwd=tmp_path)
    assert (done.status, "\ntokens: identical\n" in done.out) == (0, True)


def _cost(*words: str) -> tuple[float, int]:
    """Seconds of a processor that a command takes, the least of five; and the most bytes of memory."""
    program = (
        "import os, resource, subprocess, sys; "
        f"subprocess.run([sys.executable, '-m', 'quadgen', *{words!r}], check=True, stdout=subprocess.DEVNULL); "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime, used.ru_maxrss)"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", program], env=dict(os.environ), capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(5)
    ]
    return min(float(seconds) for seconds, _ in told), max(int(size) * 1024 for _, size in told)


def test_showing_it_takes_a_third_of_a_second_and_a_few_megabytes() -> None:
    plain, least = _cost("--version")
    shown, most = _cost("gguf", "show", str(parts.gemma()))
    assert shown - plain < max(0.35, 18 * plain)  # starting Python takes 0.02 s where nothing else runs
    assert most - least < 64 * MIB


def test_the_documents_show_it_as_the_command_does(tmp_path: Path) -> None:
    name = "gemma-3-270m-q4_k_m.gguf"
    (tmp_path / name).symlink_to(parts.gemma())
    assert f"```text\n{quadgen('gguf', 'show', name, cwd=tmp_path).out}```" in read("docs/commands.md")
