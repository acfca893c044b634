"""What no file of the repository may say, and what its error codes owe the reader."""

import ast
import re
import shutil
import subprocess
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from source import ROOT, modules, texts

PLACE = "work"
"""A directory that machines have at their top."""

HERE = Path(__file__).relative_to(ROOT)

UNSAID = {
    "a path of the machine it was written on": r"(?<![\w.~-])/(?:work|root)/[\w.]",
    "an unfinished place": r"\b(?:TODO|FIXME|XXX)\b|NotImplementedError",
    "a merge that was left open": r"(?m)^(?:<<<<<<<|>>>>>>>) ",
}
"""What is wrong with a text that matches."""

SLUG = re.compile(r"[a-z]+(?:-[a-z]+)*")
HEADING = re.compile(r"(?m)^## (.+?)$")
"""`quadgen explain --code` takes every section of docs/errors.md for a code."""
REPORTING = frozenset({"add", "warn", "refuse", "note", "Problem", "PydanticCustomError"})
"""Callables that take a code first and a sentence second."""
EXCUSE = re.compile(r"#\s*(?:noqa|type: ignore)(?P<rest>.*)")
EXCUSED = re.compile(r":? ?\[?[A-Za-z0-9, -]*\]?\s*(?:- |# )\S")


@cache
def codes() -> dict[str, str]:
    """Each problem code that the source reports, with the first place that does."""
    found: dict[str, str] = {}
    for module in modules():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call):
                for code in reported(node):
                    found.setdefault(code, module.at(node))
    return found


def reported(call: ast.Call) -> list[str]:
    """The codes that one call names, either branch of a conditional included."""
    callee = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    if callee in REPORTING and len(call.args) > 1:
        named.append(call.args[0])
    return [
        part.value
        for value in named
        for part in ([value] if not isinstance(value, ast.IfExp) else [value.body, value.orelse])
        if isinstance(part, ast.Constant) and isinstance(part.value, str) and SLUG.fullmatch(part.value)
    ]


@pytest.mark.parametrize("what", UNSAID)
def test_no_file_says(what: str) -> None:
    pattern = re.compile(UNSAID[what])
    said = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
        for name, text in texts().items()
        if name not in (HERE, Path("LICENSE"))
        for match in pattern.finditer(text)
    ]
    assert not said, "\n".join(said[:20])


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of the machine it was written on", f"see /{PLACE}/notes and more"),
        ("a path of the machine it was written on", "(/root/.cache)"),
        ("an unfinished place", "# TODO later"),
        ("a merge that was left open", "a\n<<<<<<< HEAD\n"),
    ],
)
def test_the_patterns_find_what_they_are_for(what: str, text: str) -> None:
    assert re.search(UNSAID[what], text)


@pytest.mark.parametrize(
    "text", [f"a/{PLACE}/b", "rendered/box/root/.config", f"./{PLACE}/x", f"~/{PLACE}/", "the ledger"]
)
def test_the_patterns_leave_alone_what_is_no_path_of_a_machine(text: str) -> None:
    assert not any(re.search(pattern, text) for pattern in UNSAID.values())


def test_no_file_names_the_directory_that_this_checkout_lies_in() -> None:
    if len(ROOT.parts) < 3:
        pytest.skip("a checkout at the top of the file system has no telling name")
    assert not [str(name) for name, text in texts().items() if str(ROOT) in text]


def test_git_tracks_nothing_that_it_is_told_to_ignore() -> None:
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing is tracked")
    command = [git, "-c", f"safe.directory={ROOT}", "ls-files", "--cached", "--ignored", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert listed[:5] == []


def test_every_exception_to_a_lint_rule_says_why() -> None:
    silent = [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts().items()
        if name.suffix == ".py" and name != HERE
        for number, line in enumerate(text.splitlines(), 1)
        if (excuse := EXCUSE.search(line)) and not EXCUSED.match(excuse["rest"])
    ]
    assert not silent, "\n".join(silent)


def test_every_problem_code_has_its_heading_in_the_error_index() -> None:
    headings = set(HEADING.findall((ROOT / "docs" / "errors.md").read_text(encoding="utf-8")))
    missing = {code: place for code, place in codes().items() if code not in headings}
    assert not missing, "\n".join(f"{place}: {code}" for code, place in sorted(missing.items()))


def test_the_error_index_has_no_code_twice_and_none_that_the_program_does_not_know() -> None:
    headings = HEADING.findall((ROOT / "docs" / "errors.md").read_text(encoding="utf-8"))
    known = {
        node.value
        for module in modules()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert len(headings) == len(set(headings))
    assert not [code for code in headings if code not in known]


def test_every_problem_code_is_met_by_a_test() -> None:
    words: dict[str, set[Path]] = defaultdict(set)
    for name, text in texts().items():
        if name.parts[0] == "tests" and name != HERE:
            for word in re.findall(r"(?<=[\"'`\[/])[a-z]+(?:-[a-z]+)*(?=[\"'`\]/])", f"{name}\n{text}"):
                words[word].add(name)
    unmet = {code: place for code, place in codes().items() if not words[code]}
    assert not unmet, "\n".join(f"{place}: {code}" for code, place in sorted(unmet.items()))


def test_the_source_reports_problems_at_all() -> None:
    assert {"yaml-syntax", "unmeasured-combination", "head-missing", "not-ours"} <= set(codes())
