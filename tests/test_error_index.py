"""docs/errors.md: each section has an example, the example is reported with the section's code, and fixes fix it."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import quadgen
from measured_samples import samples
from pages import Fence, fences, read, said
from parts import missing, quadlets
from quadgen.cli.explaining import of_code
from quadgen.engines.help_text import parse
from quadgen.measuring.judging import Terms, judged
from quadgen.measuring.sample import Clock
from quadgen.problems import Rejected

PAGE = "docs/errors.md"
CODES = re.findall(r"(?m)^## (.+)$", read(PAGE))
JUDGED = {"foreign-drop-in", "generator-differs", "generator-refused", "not-verified", "systemd-refused"}
"""Codes whose examples need a real generator."""


def titled(fence: Fence) -> str | None:
    """The section that a fence stands in; None above the first."""
    above = read(PAGE).split("\n")[: fence.line]
    return next((line.removeprefix("## ") for line in reversed(above) if line.startswith("## ")), None)


EXAMPLES = [(titled(fence) or "", fence) for fence in fences(PAGE) if titled(fence)]
RUN = [pytest.param(code, fence, id=code) for code, fence in EXAMPLES if fence.language == "sh"]

MEASURED = [pytest.param(code, fence, id=code) for code, fence in EXAMPLES if fence.language == "json"]
TERMS = Terms(clock=Clock.WALL, min_gain=1.0, drafts=True, comparator_drafts=False, own="copy")


def codes(fence: Fence) -> set[str]:
    """The codes that a fence is reported with: what follows its kind."""
    return set(fence.words[1:] if fence.language == "yaml" else fence.words)


@pytest.fixture(name="shell")
def _shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which `quadgen` is a command, and the real generators are the only ones."""
    program = f"import sys; sys.argv[0] = 'quadgen'; sys.path.insert(0, {str(Path(quadgen.__file__).parents[1])!r})"
    command = tmp_path / "bin" / "quadgen"
    command.parent.mkdir()
    text = f'#!/bin/sh\nexec {sys.executable} -c "{program}; from quadgen.cli import main; main()" "$@"\n'
    command.write_text(text, encoding="utf-8")
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    generators = os.pathsep.join(map(str, quadlets().values()))
    return {
        "PATH": f"{command.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "HOME": str(tmp_path),
        "QUADGEN_QUADLET": generators,
    }


def test_there_is_a_section_for_every_code_in_the_order_of_the_alphabet() -> None:
    assert sorted(CODES) == CODES


@pytest.mark.parametrize("code", CODES)
def test_a_section_has_an_example_that_meets_its_code_and_no_other(code: str) -> None:
    named = [codes(fence) for section, fence in EXAMPLES if section == code]
    assert {code} in named
    assert all(each <= {code} for each in named)


@pytest.mark.parametrize("code", CODES)
def test_a_section_says_first_how_the_problem_ends(code: str) -> None:
    first = read(PAGE).partition(f"\n## {code}\n")[2].strip()
    assert first.startswith(("Error", "Warning", "Note"))
    for section, fence in EXAMPLES:
        if section == code and fence.language == "yaml" and codes(fence):
            assert {problem.severity.value for problem in said(fence.stand)} == {re.split(r"\W", first)[0].lower()}


@pytest.mark.parametrize(("code", "fence"), RUN)
def test_a_shell_example_ends_with_the_code(code: str, fence: Fence, shell: dict[str, str], tmp_path: Path) -> None:
    if code in JUDGED and not shell["QUADGEN_QUADLET"]:
        missing("a Quadlet generator")
    if code == "systemd-refused" and not shutil.which("systemd-analyze"):
        missing("systemd-analyze")
    here = tmp_path / "here"
    here.mkdir()
    (here / "fleet.yml").write_text(fence.above.fleet, encoding="utf-8")
    done = subprocess.run(
        ["/bin/sh", "-c", fence.text], cwd=here, env=shell, capture_output=True, text=True, check=False, timeout=120
    )
    assert f"[{code}]:" in done.stderr


@pytest.mark.parametrize(("code", "fence"), MEASURED)
def test_samples_of_an_example_are_judged_with_the_code(code: str, fence: Fence) -> None:
    arms = json.loads(fence.text)
    for fields in arms.values():
        if "text" in fields:
            fields["output"] = tuple(fields["text"].encode())
    counted = any("cpu_seconds" in fields for fields in arms.values())
    found = judged("copy", samples(**arms), replace(TERMS, clock=Clock.CPU) if counted else TERMS)
    first = read(PAGE).partition(f"\n## {code}\n")[2].strip()
    said = {(each.code, each.severity.value) for each in (*found.objections, *found.remarks)}
    assert said == {(code, re.split(r"\W", first)[0].lower())}


def test_the_text_that_is_no_help_text_is_refused_as_such() -> None:
    (fence,) = [fence for _, fence in EXAMPLES if fence.language == "text"]
    with pytest.raises(Rejected) as refused:
        parse(fence.text)
    assert {problem.code for problem in refused.value.problems} == codes(fence) == {"unreadable-help"}


@pytest.mark.parametrize("code", CODES)
def test_explain_prints_the_whole_section(code: str) -> None:
    text = of_code(code)
    assert text.startswith(f"## {code}\n")
    assert f"{text}\n" in read(PAGE)
    assert "\n## " not in text
