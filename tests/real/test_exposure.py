"""What `systemd-analyze security` makes of native system units, whatever they compute on and whoever reaches them."""

import os
import re
from pathlib import Path

import pytest

from fleets import ENGINES, unit
from parts import missing
from quadgen.verify import find_systemd_analyze
from quadgen.verify.programs import run

CPU, GPU = 2.0, 2.5
"""The most that either kind of unit may leave open, of 10."""
KEY = "api_key: {secret: k}"


@pytest.fixture(scope="module")
def analyze() -> str:
    return find_systemd_analyze(os.environ) or str(missing("systemd-analyze"))


@pytest.mark.parametrize(
    ("backend", "fields", "most"),
    [
        ("cpu", "", CPU),
        ("cpu", f"bind: 0.0.0.0, {KEY}", CPU),
        ("cpu", "user: llm", CPU),
        ("cpu", "models_dir: /home/ada/models", CPU),
        *((backend, "", GPU) for backend in ("cuda", "rocm", "vulkan", "sycl")),
        ("cuda", f"bind: 0.0.0.0, {KEY}", GPU),
        ("rocm", "user: llm, models_dir: /home/ada/models", GPU),
    ],
)
def test_a_native_unit_leaves_little_open(analyze: str, backend: str, fields: str, most: float, tmp_path: Path) -> None:
    text = unit(
        f"{ENGINES}hosts:\n  claw: {{model: plain, backend: {backend}, engine: {backend}, context: 4096, "
        f"runtime: systemd{fields and ', '}{fields}}}\n"
    )
    (tmp_path / "u.service").write_text(text, encoding="utf-8")
    argv = [analyze, "security", "--offline=true", "--no-pager", str(tmp_path / "u.service")]
    said = run(argv, environ={}, timeout=30).stdout
    (level,) = re.findall(r"Overall exposure level for u\.service: (\d+\.\d+)", said)
    assert float(level) <= most, said
