"""`quadgen flags show` and `diff`: what is printed of tables and of a fleet, and the status they end with."""

import json
from pathlib import Path

import pytest

from command import Done, quadgen
from quadgen.engines.flags import load_table, shipped_tables
from source import PACKAGE, ROOT

HELP = ROOT / "tests" / "data" / "llama-server-help-b11434.txt"
SHIPPED = (PACKAGE / "data" / "flags" / "llama.cpp-b11434.json").read_text(encoding="utf-8")
THREE = """\
version: 1
engines:
  cpu: {kind: llama.cpp, build: b10434, backends: [cpu], image: "ghcr.io/ggml-org/llama.cpp:server-b10434"}
models: {bge-m3: {file: bge-m3-Q8_0.gguf, mtp: false}}
defaults: {backend: cpu, model: bge-m3, context: 8192}
hosts:
  claw: {extra_args: [--no-mmap]}
  wren: {}
  finch: {extra_args: [--no-mmap]}
"""


def fork(directory: Path) -> str:
    """The help text of a fork with a flag of its own; gives the name of the file."""
    own = "--own N".ljust(40) + "a flag of its own (default: 1)"
    (directory / "fork.txt").write_text(f"{HELP.read_text(encoding='utf-8')}\n{own}\n", encoding="utf-8")
    return "fork.txt"


@pytest.mark.parametrize(
    "line",
    [
        "learn", "learn help.txt", "learn --build b1", "learn help.txt --build", "show nothing", "show b1x",
        "diff", "diff b10434", "diff b10434 fork", "diff fork b10434", "diff b10434 b11434 x", "show --format xml",
        "nonsense",
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_a_usage_error(line: str, tmp_path: Path) -> None:
    done = quadgen("flags", *line.split(), cwd=tmp_path)
    assert (done.status, done.out) == (2, "")


def test_without_a_build_the_known_ones_are_listed(tmp_path: Path) -> None:
    assert (
        quadgen("flags", "show", cwd=tmp_path).out
        == """\
b10434  248 options
b10705  256 options
b10724  256 options, the same as b10705
b11434  256 options
"""
    )
    told = json.loads(quadgen("flags", "show", "--format", "json", cwd=tmp_path).out)
    assert told[0] == {"build": "b10434", "options": 248}
    assert [each["build"] for each in told] == ["b10434", "b10705", "b10724", "b11434"]


def test_an_option_is_shown_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    names = ("ctx_size", "ngl", "--no-mmap", "LLAMA_ARG_FLASH_ATTN", "draft-max", "spec-type", "override-kv")
    done = quadgen("flags", "show", "b10434", *names, "--", "-hf", cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    assert (
        done.out
        == """\
-c, --ctx-size <int>
    default 0; env LLAMA_ARG_CTX_SIZE
-ngl, --gpu-layers, --n-gpu-layers <int|auto|all>
    default auto; env LLAMA_ARG_N_GPU_LAYERS
--mmap / --no-mmap
    deprecated: use --load-mode
    env LLAMA_ARG_MMAP
-fa, --flash-attn <on|off|auto>
    default auto; env LLAMA_ARG_FLASH_ATTN
--draft, --draft-n, --draft-max <text>
    removed: use --spec-draft-n-max or --spec-ngram-mod-n-max
    env LLAMA_ARG_DRAFT_MAX
--spec-type <none|draft-simple|draft-eagle3|draft-mtp|draft-dflash|draft-dspark|ngram-simple|ngram-map-k|\
ngram-map-k4v|ngram-mod|ngram-cache,...>
    default none; env LLAMA_ARG_SPEC_TYPE; each use adds to the ones before
--override-kv <text,...>
    each use adds to the ones before
-hf, -hfr, --hf-repo <text>
    default unused; env LLAMA_ARG_HF_REPO
"""
    )


def test_every_option_of_a_build_is_shown_in_the_order_of_their_names(tmp_path: Path) -> None:
    for build, table in shipped_tables().items():
        told = json.loads(quadgen("flags", "show", build, "--format", "json", cwd=tmp_path).out)
        assert (told["build"], told["exact"], told["note"]) == (build, True, None)
        assert [each["canonical"] for each in told["options"]] == sorted(one.canonical for one in table.options)
        text = quadgen("flags", "show", build, cwd=tmp_path).out
        assert len([line for line in text.splitlines() if not line.startswith(" ")]) == len(table.options)


def test_the_json_of_an_option_has_every_key_that_the_page_lists(tmp_path: Path) -> None:
    (told,) = json.loads(quadgen("flags", "show", "b11434", "fa", "--format", "json", cwd=tmp_path).out)["options"]
    assert told == {
        "canonical": "--flash-attn", "names": ["-fa", "--flash-attn"], "section": "common", "arity": 1,
        "negations": [], "values": ["on", "off", "auto"], "words": [], "number": None, "commas": False,
        "repeats": False, "env": "LLAMA_ARG_FLASH_ATTN", "default": "auto", "removed": None, "deprecated": None,
    }  # fmt: skip
    page = (
        (ROOT / "docs/commands.md")
        .read_text(encoding="utf-8")
        .partition("| key of an option |")[2]
        .partition("\n\n")[0]
    )
    assert all(f"`{key}`" in page for key in told)


def test_a_build_between_two_tables_says_so(tmp_path: Path) -> None:
    note = "no flag table is known for b11000: the flags are those that b10724 and b11434 both have"
    done = quadgen("flags", "show", "b11000", "ctx-size", cwd=tmp_path)
    assert (done.status, done.err) == (0, f"quadgen: {note}\n")
    told = json.loads(quadgen("flags", "show", "b11000", "ctx-size", "--format", "json", cwd=tmp_path).out)
    assert (told["build"], told["exact"], told["note"]) == ("b11000", False, note)
    assert quadgen("flags", "show", "b10715", "ctx-size", cwd=tmp_path).err == ""


def test_flags_that_a_build_lacks_are_answered_with_what_was_meant_or_when_they_were_there(tmp_path: Path) -> None:
    done = quadgen("flags", "show", "b11434", "ctx-siz", "--mlock", "ctx-size", "zzzz", "LOG_JSON", cwd=tmp_path)
    assert done == Done(
        status=1,
        out="-c, --ctx-size <int>\n    default 0; env LLAMA_ARG_CTX_SIZE\n",
        err="""\
error[unknown-flag]: llama-server b11434 has no --ctx-siz
  = hint: did you mean --ctx-size?

error[removed-flag]: llama-server b11434 has no --mlock, which b10434 and b10705 and b10724 have
  = hint: b10724 said: use --load-mode

error[unknown-flag]: llama-server b11434 has no --zzzz

error[unknown-flag]: llama-server b11434 has no LOG_JSON
  = hint: did you mean --log-jsonl?

quadgen: 4 errors
""",
    )
    done = quadgen("flags", "show", "b11434", "LLAMA_ARG_NO_MMAP", cwd=tmp_path)
    assert done.err.startswith(
        "error[removed-flag]: llama-server b11434 has no LLAMA_ARG_NO_MMAP, which b10434 and b10705 and b10724 have\n"
        "  = hint: b10724 said: use --load-mode\n"
    )
    line = ("flags", "show", "b10434", "lazy-mode", "ctx-size", "--format", "json")
    (told,) = json.loads(quadgen(*line, cwd=tmp_path).out)
    assert told["message"] == "llama-server b10434 has no --lazy-mode, which b10705 and b10724 and b11434 have"


def test_a_learned_table_is_shown_and_compared_by_its_file(tmp_path: Path) -> None:
    quadgen("flags", "learn", fork(tmp_path), "--build", "my-fork", "-o", "fork.json", cwd=tmp_path)
    done = quadgen("flags", "show", "fork.json", "own", cwd=tmp_path)
    assert done == Done(status=0, out="--own <int>\n    default 1\n", err="")
    done = quadgen("flags", "diff", "b11434", "./fork.json", cwd=tmp_path)
    assert done.out == "b11434 -> my-fork: 0 removed, 1 added, 0 changed\nadded\n  --own <int>\n"
    done = quadgen("flags", "diff", "fork.json", "fork.json", cwd=tmp_path)
    assert done == Done(status=0, out="my-fork -> my-fork: the same flags\n", err="")


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("none.json", 4, "quadgen: cannot read none.json: No such file or directory\n"),
        ("bad.json", 1, "error[unexpected-value]: bad.json is no flag table: Expecting value"),
        ("binary", 1, "error[unexpected-value]: binary is no flag table: "),
        ("folder", 4, "quadgen: cannot read folder: Is a directory\n"),
    ],
)
def test_a_file_that_is_no_table_is_refused(name: str, status: int, reason: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("", encoding="utf-8")
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    for words in (("show", name), ("diff", name, "b11434"), ("diff", "b11434", name)):
        done = quadgen("flags", *words, cwd=tmp_path)
        assert (done.status, done.out) == (status, "")
        assert done.err.startswith(reason)


def test_nothing_in_a_table_moves_the_cursor(tmp_path: Path) -> None:
    text = SHIPPED.replace('"default": "127.0.0.1"', '"default": "\\u001b[2J"').replace('"b11434"', '"a\\u001b[2Jb"')
    assert load_table(text).build == "a\x1b[2Jb"
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    for words in (("show", "t.json", "host"), ("diff", "t.json", "b11434"), ("show", "t.json", "nope")):
        done = quadgen("flags", *words, cwd=tmp_path)
        assert "\x1b" not in done.out + done.err
        assert "\\x1b[2J" in done.out + done.err


def test_what_an_upgrade_breaks_is_told_with_flag_successor_place_and_hosts(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(THREE, encoding="utf-8")
    done = quadgen("flags", "diff", "b10434", "b11434", "--fleet", "fleet.yml", cwd=tmp_path)
    title = "breaks in fleet.yml on b11434\n"
    assert (done.status, done.err) == (1, "quadgen: fleet.yml: b11434 brings 1 error to 2 services on 2 hosts\n")
    assert done.out.startswith("b10434 -> b11434: 3 removed, 11 added, 9 changed\nremoved\n")
    assert (
        done.out.partition(title)[2]
        == """\
  error[removed-flag]: llama-server b11434 has no --no-mmap any more
    hint: use --load-mode none
    fleet.yml:7:23: claw/llama-server
    fleet.yml:9:24: finch/llama-server
"""
    )
    back = quadgen("flags", "diff", "b11434", "b10434", "--fleet", "fleet.yml", cwd=tmp_path)
    taken = "quadgen: fleet.yml: no engine is on b11434; taken for it: cpu\n"
    assert (back.status, back.err) == (0, f"{taken}quadgen: fleet.yml: b10434 breaks nothing\n")
    assert "is mended in fleet.yml on b10434\n  error[removed-flag]" in back.out


def test_the_json_of_a_comparison_is_one_object(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(THREE, encoding="utf-8")
    words = ("flags", "diff", "b10434", "b11434", "--format", "json")
    told = json.loads(quadgen(*words, cwd=tmp_path).out)
    assert told.keys() == {"old", "new", "removed", "added", "changed", "fleet"}
    assert (told["old"], told["new"]) == ({"build": "b10434", "note": None}, {"build": "b11434", "note": None})
    assert [each["canonical"] for each in told["removed"]] == ["--direct-io", "--mlock", "--mmap"]
    assert told["changed"][0] == {
        "canonical": "--frequency-penalty",
        "was": "--frequency-penalty",
        "differences": [{"aspect": "env", "before": None, "after": "LLAMA_ARG_FREQUENCY_PENALTY"}],
    }
    assert told["fleet"] is None
    effect = json.loads(quadgen(*words, "--fleet", "fleet.yml", cwd=tmp_path).out)["fleet"]
    assert effect.keys() == {"file", "engines", "refused", "unrelated", "broken", "mended", "respelled"}
    assert effect["engines"] == ["cpu"]
    assert (effect["file"], effect["refused"], effect["unrelated"]) == ("fleet.yml", True, 0)
    (broken,) = effect["broken"]
    assert broken["places"] == [
        {"file": "fleet.yml", "line": 7, "column": 23, "services": [{"host": "claw", "service": "llama-server"}]},
        {"file": "fleet.yml", "line": 9, "column": 24, "services": [{"host": "finch", "service": "llama-server"}]},
    ]
    assert {key: broken[key] for key in ("code", "severity", "flag", "message", "notes")} == {
        "code": "removed-flag",
        "severity": "error",
        "flag": "--no-mmap",
        "message": "llama-server b11434 has no --no-mmap any more",
        "notes": [],
    }
    assert "--load-mode" in broken["hint"]


def test_a_fleet_that_is_refused_anyway_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(THREE.replace("wren: {}", "wren: {profile: none-such}"), encoding="utf-8")
    done = quadgen("flags", "diff", "b10434", "b11434", "--fleet", "fleet.yml", cwd=tmp_path)
    assert (done.status, done.err) == (
        1,
        """\
quadgen: fleet.yml: b11434 brings 1 error to 2 services on 2 hosts
quadgen: fleet.yml: 1 error with either build, see `quadgen check`; what is refused by that is not compared further
""",
    )


def test_a_fleet_that_cannot_be_read_ends_as_with_every_command(tmp_path: Path) -> None:
    (tmp_path / "bad.yml").write_text("hosts: [\n", encoding="utf-8")
    for name, status in (("none.yml", 4), ("bad.yml", 1)):
        done = quadgen("flags", "diff", "b10434", "b11434", "--fleet", name, cwd=tmp_path)
        assert (done.status, done.out) == (status, "")


def test_of_many_services_some_are_listed_for_people_and_all_for_machines(tmp_path: Path) -> None:
    hosts = "".join(f"  h{number:02}: {{}}\n" for number in range(30))
    text = THREE.partition("hosts:")[0].replace("context: 8192", "context: 8192, extra_args: [--no-mmap]")
    (tmp_path / "fleet.yml").write_text(f"{text}hosts:\n{hosts}", encoding="utf-8")
    words = ("flags", "diff", "b10434", "b11434", "--fleet", "fleet.yml")
    out = quadgen(*words, cwd=tmp_path).out
    assert "h19/llama-server and 10 more\n" in out
    told = json.loads(quadgen(*words, "--format", "json", cwd=tmp_path).out)
    assert len(told["fleet"]["broken"][0]["places"][0]["services"]) == 30


@pytest.mark.parametrize("command", ["learn", "show", "diff"])
def test_each_of_its_commands_explains_itself(command: str, tmp_path: Path) -> None:
    done = quadgen("flags", command, "--help", cwd=tmp_path)
    assert done.status == 0
    assert f"quadgen flags {command}" in done.out


def test_a_name_that_no_file_can_have_is_no_build_either(tmp_path: Path) -> None:
    assert quadgen("flags", "show", "x" * 5000, cwd=tmp_path).status == 2
    done = quadgen("flags", "learn", HELP, "--build", "b1", "-o", "x" * 300, cwd=tmp_path)
    assert (done.status, done.err) == (4, f"quadgen: cannot write {'x' * 300}: File name too long\n")
