"""The command line: what each command prints, where, and the status it ends with."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from command import Done, quadgen
from fleets import ENGINES, run
from hosts import snapshot
from quadgen.cli.app import COMMANDS, GROUPS
from source import ROOT

EVERY = (*COMMANDS, *GROUPS)
REFUSED = ROOT / "examples/two-backends/refused.yml"
BROKEN = "version: 1\nhosts:\n  claw: {model: [}\n"


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Path:
    """A directory with a fleet that renders, one that is refused, and files that are no fleet."""
    (tmp_path / "fleet.yml").write_bytes((ROOT / "fleet.yml").read_bytes())
    (tmp_path / "refused.yml").write_bytes(REFUSED.read_bytes())
    (tmp_path / "broken.yml").write_text(BROKEN, encoding="utf-8")
    (tmp_path / "binary.yml").write_bytes(bytes(range(256)))
    (tmp_path / "utf-16.yml").write_bytes("version: 1\n".encode("utf-16"))
    (tmp_path / "empty.yml").write_bytes(b"")
    (tmp_path / "loop.yml").symlink_to("loop.yml")
    (tmp_path / "folder.yml").mkdir()
    (tmp_path / "tree/claw/etc/containers/systemd").mkdir(parents=True)
    return tmp_path


STATUS: dict[int, tuple[str, ...]] = {
    0: (
        "--help", "-h", "--version", "-V", "render fleet.yml -o out", "render fleet.yml -o out --host claw",
        "render fleet.yml -o out --diff", "check fleet.yml", "check", "render", "check --format sarif",
        "explain fleet.yml claw", "explain fleet.yml forge/chat", "explain fleet.yml forge --format json",
        "explain --code unmeasured-combination", "profiles", "profiles --backend cuda", "profiles --fleet fleet.yml",
        "profiles --format json", "schema", "explain refused.yml forge",
    ),
    1: (
        "render refused.yml", "render refused.yml --check", "check refused.yml", "check broken.yml", "check binary.yml",
        "check utf-16.yml", "check empty.yml", "render broken.yml", "render binary.yml", "explain binary.yml claw",
        "explain broken.yml claw", "explain refused.yml claw", "explain fleet.yml nobody",
        "explain fleet.yml forge/nobody", "profiles --fleet broken.yml", "profiles --fleet binary.yml",
        "check fleet.yml --host nobody", "render fleet.yml --host claw --host nobody",
    ),
    2: (
        "", "nonsense", "--nonsense", "render --nonsense", "check a b", "render fleet.yml -o", "explain fleet.yml",
        "explain", "explain --code no-such-code", "profiles --backend vulcan", "profiles --format github",
        "explain fleet.yml claw --format sarif", "check --format xml", "schema fleet.yml", "verify a b",
    ),
    3: ("render --check", "render fleet.yml -o out --check --diff", "render --check --host claw --format json"),
    4: (
        "check none.yml", "render none.yml", "explain none.yml claw", "profiles --fleet none.yml", "check folder.yml",
        "check loop.yml", "check fleet.yml/fleet.yml", "render fleet.yml -o fleet.yml",
        "render fleet.yml -o /proc/none", "verify none", "verify fleet.yml",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("status", "line"), [(status, line) for status, lines in STATUS.items() for line in lines])
def test_a_command_ends_with(status: int, line: str, place: Path) -> None:
    before = snapshot(place)
    done = quadgen(*line.split(), cwd=place)
    assert done.status == status, done.err
    assert "Traceback" not in done.err + done.out
    assert done.out or done.err
    if status != 0 or not line.startswith("render"):
        assert snapshot(place) == before


def test_a_file_that_may_not_be_read_is_the_environment_s_fault(place: Path) -> None:
    fleet, top = place / "fleet.yml", Path("/")
    fleet.chmod(0)
    assert quadgen("check", "absent.yml", cwd=top).status == 4  # every module is imported now
    uid = os.geteuid()
    if uid == 0:
        os.seteuid(65534)  # root reads everything
    try:
        done = quadgen("check", str(fleet), cwd=top)
    finally:
        os.seteuid(uid)
    assert done == Done(status=4, out="", err=f"quadgen: cannot read {fleet}: Permission denied\n")


def test_a_fleet_may_come_through_a_pipe(place: Path) -> None:
    command = [sys.executable, "-m", "quadgen", "check", "/dev/stdin"]
    done = subprocess.run(
        command, cwd=place, input=(place / "fleet.yml").read_bytes(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"quadgen: /dev/stdin: 3 hosts and 4 units are fine\n")


def rows(page: str) -> list[list[str]]:
    """The words of each row of the tables of a help, without those of further lines."""
    return [row.split() for row in re.findall(r"(?m)^│ (?:[* ]  )?(\S.*?) *│$", page)]


@pytest.mark.parametrize("command", EVERY)
def test_every_command_explains_itself_and_each_of_its_options(command: str, place: Path) -> None:
    done = run(command, "--help", cwd=place, COLUMNS="100", NO_COLOR="1")
    assert (done.returncode, done.stderr) == (0, "")
    described = {row[0]: row for row in rows(done.stdout)}
    assert f"quadgen {command}" in done.stdout
    for option in [name for name in described if name.startswith("--")]:
        words = [word for word in described[option][1:] if not word.startswith(("-", "<")) and not word.isupper()]
        assert words, f"{option} has no help"


def test_help_lists_every_command(place: Path) -> None:
    done = quadgen("--help", cwd=place)
    listed = [row[0] for row in rows(done.out)]
    assert [word for word in listed if not word.startswith("-")] == list(EVERY)


def test_the_version_is_the_package_s_and_the_same_both_ways(place: Path) -> None:
    from quadgen import __version__  # noqa: PLC0415 - what is printed

    for word in ("--version", "-V"):
        assert quadgen(word, cwd=place) == Done(status=0, out=f"quadgen {__version__}\n", err="")


def deaf(*words: str, cwd: Path, stdout: int | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command whose output goes to `stdout`, by default a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            [sys.executable, "-m", "quadgen", *words],
            cwd=cwd,
            stdout=writing if stdout is None else stdout,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("schema", 0),
        ("--help", 0),
        ("--version", 0),
        ("render --check --diff", 3),
        ("check refused.yml --format json", 1),
    ],
)
def test_whoever_stops_reading_gets_no_complaint_and_the_verdict_stays(line: str, status: int, place: Path) -> None:
    done = deaf(*line.split(), cwd=place)
    assert done.returncode == status
    assert b"Error" not in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("line", ["schema", "--help", "--version", "render --check --diff", "profiles --format json"])
def test_output_that_cannot_be_written_is_an_error(line: str, place: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("/dev/full is not on this machine")
    with Path("/dev/full").open("wb") as full:
        done = deaf(*line.split(), cwd=place, stdout=full.fileno())
    assert done.returncode == 4
    assert done.stderr.splitlines()[-1] == b"quadgen: cannot write the output: No space left on device"


def test_a_command_runs_where_its_output_is_closed(place: Path) -> None:
    shell = f"exec '{sys.executable}' -m quadgen \"$@\" >&-"
    for line, status in (("--version", 0), ("schema", 0), ("render --check --diff", 3)):
        done = subprocess.run(
            ["/bin/sh", "-c", shell, "sh", *line.split()], cwd=place, capture_output=True, check=False
        )
        assert (done.returncode, b"Traceback" in done.stderr) == (status, False)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_data_is_utf_8_whatever_the_locale(encoding: str, place: Path) -> None:
    (place / "fleet.yml").write_text(BROKEN.replace("[}", "漢}"), encoding="utf-8")
    done = run("check", "--format", "json", cwd=place, PYTHONIOENCODING=encoding, LC_ALL="C")
    assert (done.returncode, done.stderr) == (1, "")
    assert any("漢" in problem["message"] for problem in json.loads(done.stdout))


SERVICE_KEYS = {
    "name", "unit", "engine", "build", "backend", "model", "profile", "argv", "env", "evidence", "notes", "memory",
}  # fmt: skip


def explained(*words: str, cwd: Path) -> dict[str, Any]:
    done = quadgen("explain", *words, "--format", "json", cwd=cwd)
    assert done.status == 0, done.err
    told: dict[str, Any] = json.loads(done.out)
    return told


def test_explain_as_json_has_every_service_of_the_host_with_its_decisions(place: Path) -> None:
    told = explained("fleet.yml", "forge", cwd=place)
    assert told.keys() == {"host", "services", "refused"}
    assert told["host"] == "forge"
    chat, embed = told["services"]
    assert all(service.keys() >= SERVICE_KEYS for service in (chat, embed))
    assert {key: chat[key] for key in ("name", "unit", "engine", "build", "backend", "model", "profile")} == {
        "name": "chat", "unit": "chat.service", "engine": "cuda", "build": "b10715", "backend": "cuda",
        "model": "qwen3.8-27b", "profile": "copy",
    }  # fmt: skip
    assert chat["argv"][:2] == ["--model", "/srv/models/Qwen3.8-27B-UD-Q4_K_S.gguf"]
    assert all(isinstance(word, str) for word in chat["argv"])
    assert [word for one in chat["arguments"] for word in one["words"]] == chat["argv"]
    assert chat["evidence"] == ["rtx3090-cuda-27b-copy-copy"]
    assert chat["env"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert any("prose" in note for note in chat["notes"])
    assert (embed["profile"], embed["evidence"]) == ("none", [])


def test_explain_takes_one_service_of_a_host(place: Path) -> None:
    assert explained("fleet.yml", "forge/embed", cwd=place)["services"] == [
        explained("fleet.yml", "forge", cwd=place)["services"][1]
    ]
    assert [one["name"] for one in explained("fleet.yml", "claw/llama-server", cwd=place)["services"]] == [
        "llama-server"
    ]


HALO = """\
version: 1
engines:
  halogen: {kind: halogen, build: 0.17.0, backends: [rocm], image: "ghcr.io/peonist-ai/halogen-flash-server:0.17.0"}
  cpu: {kind: llama.cpp, build: b10434, backends: [cpu], image: "ghcr.io/ggml-org/llama.cpp:server-b10434"}
models:
  flash: {file: a-directory-with-a-long-name/and-one-below/qwen38-flash-next-w4b.hgn}
  small: {file: small.gguf, mtp: false, size: 1GiB}
hosts:
  halo: {backend: rocm, model: flash, memory: 110GiB}
  pair:
    memory: 128GiB
    services:
      chat: {backend: rocm, model: flash}
      extra: {backend: cpu, model: small, context: 4096, port: 8080}
"""


def test_explain_holds_against_a_host_s_memory_what_check_does(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(HALO)
    assert quadgen("check", "fleet.yml", cwd=tmp_path).status == 0
    alone = quadgen("explain", "fleet.yml", "halo", cwd=tmp_path).out
    assert "    at least 103.0 GiB of 110.0 GiB\n" in alone
    assert (
        "    20.0 GiB  reserve for its lookup table; not counted, since no service shares the host's memory with it\n"
        in alone
    )
    assert "    at least 123.0 GiB of 128.0 GiB\n" in quadgen("explain", "fleet.yml", "pair/chat", cwd=tmp_path).out
    for host, counted in (("halo", False), ("pair/chat", True)):
        memory = explained("fleet.yml", host, cwd=tmp_path)["services"][0]["memory"]
        assert [need["counted"] for need in memory["needs"]] == [True, True, True, True, counted]
        assert memory["total"] == sum(need["bytes"] for need in memory["needs"] if need["counted"])


def test_explain_puts_the_reason_of_a_long_value_below_it_in_the_column_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(HALO)
    lines = quadgen("explain", "fleet.yml", "halo", cwd=tmp_path).out.splitlines()
    at = lines.index(
        "    HALOGEN_CHECKPOINT=/models/a-directory-with-a-long-name/and-one-below/qwen38-flash-next-w4b.hgn"
    )
    reasons = [lines[at + 1], *(line for line in lines if line.startswith("    HALOGEN_MODEL_ID="))]
    columns = {line.index(word) for line, word in zip(reasons, ("hosts.halo.model", "default of"), strict=True)}
    assert len(columns) == 1


def test_explain_says_of_each_argument_which_layer_or_rule_put_it_there(place: Path) -> None:
    text = quadgen("explain", "fleet.yml", "claw", cwd=place).out
    origin = dict(line.strip().split("  ", 1) for line in text.splitlines() if line.startswith("    --"))
    assert {words: where.strip() for words, where in origin.items()} == {
        "--model /models/Qwen3.8-27B-UD-Q4_K_S.gguf": "hosts.claw.model",
        "--alias qwen3.8-27b": "default of `alias`",
        "--host 0.0.0.0": "rule: inside the container's own network, where PublishPort= decides who reaches it",
        "--port 8080": "default of `port`",
        "--ctx-size 32768": "groups.desk.context",
        "--parallel 1": "default of `slots`",
        "--metrics": "rule: every server is observable",
        "--n-gpu-layers all": "rule: a lost card is an error, never a slow server",
        "--fit off": "rule: a lost card is an error, never a slow server",
        "--device Vulkan0": "default of `devices`",
        "--spec-type draft-mtp": "hosts.claw.profile",
    }


def test_explain_names_the_model_where_the_model_says_a_file(tmp_path: Path) -> None:
    models = "  m: {file: m.gguf, mtp: head.gguf}\n  v: {file: v.gguf, mmproj: see.gguf, chat_template_file: t.jinja}\n"
    hosts = "  a: {model: m, backend: cpu, engine: cpu, slots: 2}\n  b: {model: v, backend: cpu, engine: cpu}\n"
    (tmp_path / "fleet.yml").write_text(f"{ENGINES}{models}defaults: {{context: 1024}}\nhosts:\n{hosts}")
    origin = {
        one["words"][0]: one["from"]
        for host in ("a", "b")
        for one in explained("fleet.yml", host, cwd=tmp_path)["services"][0]["arguments"]
    }
    assert origin["--spec-draft-model"] == "models.m.mtp"
    assert origin["--mmproj"] == "models.v.mmproj"
    assert origin["--chat-template-file"] == "models.v.chat_template_file"
    assert origin["--ctx-size"] == "defaults.context"
    (argument,) = [
        one
        for one in explained("fleet.yml", "a", cwd=tmp_path)["services"][0]["arguments"]
        if one["words"][0] == "--ctx-size"
    ]
    assert argument == {"words": ["--ctx-size", "2048"], "from": "defaults.context, hosts.a.slots"}


def test_explain_quotes_the_evidence_and_what_it_costs_elsewhere(place: Path) -> None:
    text = quadgen("explain", "fleet.yml", "forge/chat", cwd=place).out
    assert "94.0 -> 115.1 tok/s on copy, 1.22x [rtx3090-cuda-27b-copy-copy]" in text
    assert "costs 14% on prose [rtx3090-cuda-27b-copy-prose]" in text


def test_explain_of_a_refused_host_says_why_and_leaves_the_other_hosts_refusals_out(place: Path) -> None:
    done = quadgen("explain", "refused.yml", "claw", cwd=place)
    assert (done.status, done.err.count("error[")) == (1, 1)
    assert "error[unmeasured-combination]: no measurement says that copy wins on vulkan" in done.err
    done = quadgen("explain", "refused.yml", "forge", cwd=place)
    assert (done.status, done.err) == (0, "")
    assert "--spec-type draft-mtp,ngram-cache" in done.out


def test_a_service_that_does_not_exist_is_named_with_those_that_do(place: Path) -> None:
    done = quadgen("explain", "fleet.yml", "forge/chta", cwd=place)
    assert "there is no service named chta on the host forge" in done.err
    assert "did you mean chat?" in done.err


def test_a_code_is_explained_by_its_section_of_the_error_index(place: Path) -> None:
    done = quadgen("explain", "--code", "unmeasured-combination", cwd=place)
    index = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert done.out.startswith("## unmeasured-combination\n")
    assert done.out in index
    assert "\n## " not in done.out


def test_profiles_stand_where_measurements_put_them(place: Path) -> None:
    every = json.loads(quadgen("profiles", "--format", "json", cwd=place).out)
    keys = {"profile", "setting", "backend", "model", "verdict", "workload", "against", "ratio", "rows"}
    assert all(keys <= one.keys() for one in every)
    assert {one["backend"] for one in every} == {"cuda", "rocm", "vulkan", "sycl", "cpu"}
    assert {one["profile"] for one in every} == {"copy", "default", "none"}
    copy = {one["backend"]: one for one in every if one["profile"] == "copy"}
    assert (copy["cuda"]["verdict"], copy["cuda"]["rows"]) == ("wins", ["rtx3090-cuda-27b-copy-copy"])
    assert copy["vulkan"]["verdict"] == "unmeasured"
    assert {one["verdict"] for one in every if one["profile"] in ("default", "none")} == {"floor"}


def test_profiles_of_one_backend_are_a_part_of_all(place: Path) -> None:
    every = json.loads(quadgen("profiles", "--format", "json", cwd=place).out)
    for backend in ("cuda", "cpu"):
        some = json.loads(quadgen("profiles", "--backend", backend, "--format", "json", cwd=place).out)
        assert some == [one for one in every if one["backend"] == backend]
        text = quadgen("profiles", "--backend", backend, cwd=place).out
        # one block an engine, named where several have the backend
        kinds = dict.fromkeys(one["engine"] for one in some)
        blocks = [backend] if len(kinds) == 1 else [f"{backend}, {kind}" for kind in kinds]
        assert [line for line in text.splitlines() if not line.startswith(" ")] == blocks


def test_profiles_of_a_fleet_include_its_own(place: Path) -> None:
    words = ("profiles", "--fleet", "fleet.yml", "--backend", "cpu")
    some = json.loads(quadgen(*words, "--format", "json", cwd=place).out)
    (own,) = [one for one in some if one["profile"] == "rewrite"]
    assert (own["verdict"], own["model"], own["rows"]) == (
        "wins", "gemma-3-270m", ["epyc-cpu-gemma270m-ngram-simple-copy"],
    )  # fmt: skip
    assert "rewrite" in quadgen(*words, cwd=place).out
    assert "rewrite" not in quadgen("profiles", cwd=place).out


def test_one_host_is_rendered_alone_and_a_refusal_elsewhere_only_warns(place: Path) -> None:
    done = quadgen("render", "refused.yml", "--host", "forge", cwd=place)
    assert done.status == 0, done.err
    assert "warning[unmeasured-combination]" in done.err
    assert [path.name for path in (place / "rendered").iterdir()] == ["forge"]
    assert quadgen("render", "refused.yml", "--host", "claw", cwd=place).status == 1
    assert quadgen("render", "refused.yml", "--host", "claw", "--host", "forge", cwd=place).status == 1


def test_the_other_hosts_of_a_tree_stay_when_one_is_rendered(place: Path) -> None:
    quadgen("render", "fleet.yml", cwd=place)
    quadgen("render", "fleet.yml", "-o", "other", cwd=place)
    fleet = (place / "fleet.yml").read_text(encoding="utf-8")
    hearth = fleet.index("  hearth:")
    (place / "fleet.yml").write_text(fleet[:hearth].replace("context: 32768", "context: 16384"), encoding="utf-8")
    before = {name: snapshot(place / "rendered" / name, times=True) for name in ("forge", "hearth")}
    done = quadgen("render", "fleet.yml", "--host", "claw", "--diff", cwd=place)
    assert done.status == 0, done.err
    assert "forge" not in done.out + done.err
    assert {name: snapshot(place / "rendered" / name, times=True) for name in before} == before
    assert quadgen("render", "fleet.yml", "--host", "claw", "--check", cwd=place).status == 0
    assert quadgen("render", "fleet.yml", "--check", cwd=place).status == 3


def test_the_diff_of_a_first_render_adds_every_line_and_one_of_a_departure_takes_them(place: Path) -> None:
    first = quadgen("render", "fleet.yml", "--host", "claw", "--diff", cwd=place).out
    unit = (place / "rendered/claw/etc/containers/systemd/llama-server.container").read_text(encoding="utf-8")
    added = [line[1:] for line in first.splitlines() if line.startswith("+") and not line.startswith("+++")]
    assert "\n".join(unit.splitlines()) in "\n".join(added)
    (place / "fleet.yml").write_bytes((ROOT / "examples/one-host/fleet.yml").read_bytes())
    gone = quadgen("render", "fleet.yml", "--check", "--diff", cwd=place).out
    removed = [line[1:] for line in gone.splitlines() if line.startswith("-") and not line.startswith("---")]
    assert "\n".join(unit.splitlines()) in "\n".join(removed)


def test_the_json_of_a_render_is_one_document_also_where_something_is_in_the_way(place: Path) -> None:
    mine = place / "rendered/claw/etc/containers/systemd/llama-server.container"
    mine.parent.mkdir(parents=True)
    mine.write_text("[Container]\n", encoding="utf-8")
    done = quadgen("render", "fleet.yml", "--format", "json", cwd=place)
    assert (done.status, [problem["code"] for problem in json.loads(done.out)]) == (1, ["not-ours"])
    mine.unlink()
    done = quadgen("render", "fleet.yml", "--format", "json", cwd=place)
    assert (done.status, json.loads(done.out)) == (0, [])


def test_an_output_directory_in_a_place_that_does_not_exist_is_made(place: Path) -> None:
    assert quadgen("render", "fleet.yml", "-o", "a/b/c/", cwd=place).status == 0
    assert (place / "a/b/c/claw/manifest.json").is_file()


GENERATOR = """\
#!/bin/sh
case "$1" in
  -version) echo 5.4.2 ;;
  *) echo 'quadlet-generator[1]: converting "llama-server.container": it is Monday' >&2; exit 1 ;;
esac
"""


def test_verify_writes_nothing_where_a_generator_refuses(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = place / "quadlet"
    program.write_text(GENERATOR, encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("QUADGEN_QUADLET", str(program))
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    before = snapshot(place)
    done = quadgen("render", "fleet.yml", "--verify", cwd=place)
    assert done.status == 1
    assert "error[generator-refused]" in done.err
    assert "it is Monday" in done.err
    assert done.err.endswith("quadgen: nothing was written\n")
    assert snapshot(place) == before


def test_verify_with_a_generator_that_is_not_there_is_the_environment_s_fault(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUADGEN_QUADLET", "/nowhere/quadlet")
    for words in (("render", "fleet.yml", "--verify"), ("verify", "tree")):
        done = quadgen(*words, cwd=place)
        assert (done.status, done.err) == (
            4,
            "quadgen: QUADGEN_QUADLET names /nowhere/quadlet, which is not a program\n",
        )
    assert not (place / "rendered").exists()
