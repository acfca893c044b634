"""Problems for programs and for terminals: JSON, GitHub's annotations, SARIF, colour."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import quadgen as package
from command import Done, quadgen
from fleets import CPU, ENGINES, one

FLEET = f"""\
{ENGINES}groups: {{desk: {{port: 99999}}}}
hosts:
  claw: {CPU}, groups: [desk]}}
  forge: {{model: headed, backend: vulkan, context: 4096, services: {{chat: {{profile: copy}}}}}}
  nook: {{model: plain, backend: cpu, engine: cpu}}
"""
"""An error in a group, one of a service, and a warning."""
KEYS = ["code", "severity", "message", "file", "line", "column", "host", "service", "notes", "hint"]


def said(directory: Path, text: str, form: str, *, name: str = "fleet.yml", command: str = "check") -> Done:
    (directory / name).write_text(text)
    return quadgen(command, name, f"--format={form}", cwd=directory)


def test_the_json_form_is_a_list_of_objects_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    done = said(tmp_path, FLEET, "json")
    records = json.loads(done.out)
    assert done.status == 1
    assert all(list(record) == KEYS for record in records)
    assert [(record["code"], record["severity"], record["host"], record["service"]) for record in records] == [
        ("unexpected-value", "error", None, None),
        ("unmeasured-combination", "error", "forge", "chat"),
        ("context-unknown", "warning", "nook", "llama-server"),
    ]
    first, second, _ = records
    assert (first["file"], first["line"], first["column"]) == ("fleet.yml", ENGINES.count("\n") + 1, 23)
    assert first["notes"] == ["1 host inherits this: claw"]
    assert second["hint"].startswith("use `profile: default`, or bring a number: ")
    assert len(second["notes"]) == 4
    assert first["hint"] is None


@pytest.mark.parametrize("command", ["check", "render"])
def test_without_problems_the_json_form_is_an_empty_list_and_nothing_else_is_on_standard_output(
    command: str, tmp_path: Path
) -> None:
    done = said(tmp_path, one(f"{CPU}}}"), "json", command=command)
    assert (done.status, done.out) == (0, "[]\n")
    assert done.err.startswith("quadgen: ")


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_a_file_that_is_no_yaml_is_told_in_the_form_that_was_asked_for(form: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text("hosts: [\n")
    for words in ([f"--format={form}"], ["--format", form]):
        done = quadgen("check", *words, cwd=tmp_path)
        assert (done.status, done.err) == (1, "")
        assert "yaml-syntax" in done.out
        if form != "github":
            json.loads(done.out)


def test_a_form_that_there_is_not_is_a_matter_of_usage(tmp_path: Path) -> None:
    assert said(tmp_path, FLEET, "xml").status == 2


def unescaped(text: str) -> str:
    """What GitHub shows of a workflow command's value (actions/toolkit, packages/core/src/command.ts)."""
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:]*,)*\w+=[^,:]*)::(.*)")


def annotations(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = []
    for line in text.splitlines():
        parts = COMMAND.fullmatch(line)
        assert parts, line
        properties = dict(item.split("=", 1) for item in parts[2].split(","))
        found.append((parts[1], {key: unescaped(value) for key, value in properties.items()}, unescaped(parts[3])))
    return found


def test_the_github_form_is_one_workflow_command_a_line(tmp_path: Path) -> None:
    done = said(tmp_path, FLEET, "github")
    found = annotations(done.out)
    assert [(level, properties["title"]) for level, properties, _ in found] == [
        ("error", "unexpected-value"),
        ("error", "unmeasured-combination"),
        ("warning", "context-unknown"),
    ]
    first, second = found[0], found[1]
    line = str(ENGINES.count("\n") + 1)
    assert first[1] == {"file": "fleet.yml", "line": line, "col": "23", "endColumn": "28", "title": "unexpected-value"}
    assert second[2].splitlines()[0] == "no measurement says that copy wins on vulkan for headed"
    assert "note" not in second[2]
    assert second[2].count("\n") == 5


def test_names_and_texts_with_signs_of_their_own_are_escaped_for_github(tmp_path: Path) -> None:
    name = "a,b:c 100%.yml"
    text = one(f"{CPU}, alias: 'x', profile: '50%: a, b'}}")
    done = said(tmp_path, text, "github", name=name)
    ((level, properties, message),) = annotations(done.out)
    assert (level, properties["file"]) == ("error", name)
    assert message.startswith("there is no profile named 50%: a, b\n")


def sarif(text: str) -> dict[str, Any]:
    """A log, checked by what https://docs.oasis-open.org/sarif/sarif/v2.1.0/ requires."""
    log: dict[str, Any] = json.loads(text)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (ran,) = log["runs"]
    driver = ran["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("quadgen", package.__version__)
    rules = [rule["id"] for rule in driver["rules"]]
    assert len(rules) == len(set(rules))
    assert ran["columnKind"] == "unicodeCodePoints"
    for result in ran["results"]:
        assert result["ruleId"] in rules
        assert result["level"] in ("error", "warning", "note", "none")
        assert result["message"]["text"]
        for location in result.get("locations", ()):
            physical = location["physicalLocation"]
            assert re.fullmatch(r"[\w./~%-]+", physical["artifactLocation"]["uri"], re.ASCII)
            region = physical["region"]
            assert region["startLine"] >= 1
            assert 1 <= region["startColumn"] <= region["endColumn"]
    return log


def test_the_sarif_form_has_what_its_standard_requires(tmp_path: Path) -> None:
    log = sarif(said(tmp_path, FLEET, "sarif").out)
    results = log["runs"][0]["results"]
    assert [(result["ruleId"], result["level"]) for result in results] == [
        ("unexpected-value", "error"),
        ("unmeasured-combination", "error"),
        ("context-unknown", "warning"),
    ]
    region = results[0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": ENGINES.count("\n") + 1, "startColumn": 23, "endColumn": 28}


def test_a_note_is_a_note_and_a_clean_fleet_an_empty_run_in_sarif(tmp_path: Path) -> None:
    derived = (
        one(f"{CPU}}}")
        .replace('"ghcr.io/ggml-org/llama.cpp:server-b10715"', "null")
        .replace(",\n    image: null", "", 1)
    )
    (result,) = sarif(said(tmp_path, derived, "sarif").out)["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("image-unverified", "note")
    assert sarif(said(tmp_path, one(f"{CPU}}}"), "sarif").out)["runs"][0]["results"] == []


def test_a_file_s_name_becomes_an_address_in_sarif(tmp_path: Path) -> None:
    log = sarif(said(tmp_path, "hosts: [\n", "sarif", name="my flöte.yml").out)
    physical = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "my%20fl%C3%B6te.yml"}


SECRETS = [
    "api_key: hunter2\nenv: {HF_TOKEN: hunter2, A: [1]}\n",
    "env: {A: [1], LLAMA_API_KEY: hunter2, HF_TOKEN: hunter2, B: {}}\n",
    "extra_args: [--api-key, hunter2, --hf-token, hunter2, --no-such-flag]\n",
    "extra_args: [--no-such-flag, --api-key=hunter2]\nflags: {api_key: hunter2, tmep: 1}\n",
    "api_key: [hunter2]\n",
    "api_key: >\n  hunter2\n",
]


@pytest.mark.parametrize("form", ["json", "github", "sarif", "text"])
@pytest.mark.parametrize("fields", SECRETS)
def test_no_form_repeats_a_key_that_stands_in_the_fleet(fields: str, form: str, tmp_path: Path) -> None:
    done = said(tmp_path, one(f"model: plain\nbackend: cpu\nengine: cpu\ncontext: 1\n{fields}"), form)
    assert done.status == 1
    assert "literal-secret" in done.out + done.err
    assert "hunter2" not in done.out + done.err


def on_a_terminal(directory: Path, **environment: str) -> str:
    """What a check prints where standard error is a terminal."""
    (directory / "fleet.yml").write_text(FLEET)
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "quadgen", "check"]
    path = str(Path(package.__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": path, "TERM": "xterm", **environment}
    with subprocess.Popen(command, cwd=directory, env=variables, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        text = b""
        while chunk := _read(ours):
            text += chunk
        assert process.wait() == 1
    os.close(ours)
    return text.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # Linux says so where the other end is closed
        return b""


def test_a_terminal_is_shown_colour_unless_no_color_or_a_dumb_terminal_says_otherwise(tmp_path: Path) -> None:
    coloured = on_a_terminal(tmp_path)
    assert coloured.startswith("\x1b[1;31merror[unexpected-value]\x1b[0m: \x1b[1m`port` takes a port from 1 to 65535")
    plain = on_a_terminal(tmp_path, NO_COLOR="1")
    assert plain == re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert on_a_terminal(tmp_path, TERM="dumb") == plain


def test_what_is_no_terminal_is_shown_none(tmp_path: Path) -> None:
    assert "\x1b" not in said(tmp_path, FLEET, "text").err
