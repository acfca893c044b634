"""`quadgen plan`: what a change does to hosts and services, between the committed tree and the fleet as it stands."""

import json
from pathlib import Path

import pytest

from repositories import FLEET, Fleet, repository, services


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return repository(tmp_path / "fleet")


def test_nothing_is_told_where_nothing_changed(fleet: Fleet) -> None:
    done = fleet.plan()
    assert (done.status, done.err) == (0, "")
    head, rest = done.out.split("\n", 1)
    assert head.startswith("HEAD (")
    assert head.endswith("), as it was rendered -> the working copy")
    assert rest == "\nnothing changes on 3 hosts\n"


def test_a_change_of_a_group_is_told_once_with_its_arguments_and_its_hosts(fleet: Fleet) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    done = fleet.plan()
    assert done.status == 0
    assert done.out.split("\n")[2:] == [
        "~ llama-server.service restarts on claw",
        "    ~ --ctx-size 4096 -> 6144",
        "",
        "~ chat.service restarts on wren",
        "    ~ --ctx-size 4096 -> 6144",
        "",
        "~ embed.service restarts on wren",
        "    ~ --ctx-size 4096 -> 6144",
        "",
        "3 changed (3 restart) on 2 of 3 hosts",
        "",
    ]


def test_hosts_with_the_same_change_are_counted_and_a_few_of_them_named(tmp_path: Path) -> None:
    hosts = "".join(f"  node-{number}: {{model: plain, backend: cpu, engine: cpu}}\n" for number in range(9))
    text = FLEET.partition("groups:")[0] + "defaults: {context: 4096}\nhosts:\n" + hosts
    fleet = repository(tmp_path / "fleet", text)
    fleet.change("context: 4096", "context: 6144")
    assert "~ llama-server.service restarts on 9 hosts (node-0, node-1, node-2 and 6 more)\n" in fleet.plan().out


def test_new_evidence_replaces_a_file_and_restarts_nothing(fleet: Fleet) -> None:
    row = (
        "version: 1\nmeasurements:\n- {id: own-copy, engine: llama.cpp, build: b10715, backend: cuda,"
        " device: any, samples: 7, model: qwen3.8-27b, workload: copy,"
        " setting: {spec_types: [draft-mtp, ngram-cache], draft_n_max: 7},"
        " against: {spec_types: [draft-mtp]}, rate: 150, against_rate: 100, source: here, date: 2027-01-01}\n"
    )
    fleet.write(row, "measurements/own.yml")
    told = fleet.told()
    assert list(services(told)) == ["forge/llama-server"]
    changed = services(told)["forge/llama-server"]
    assert (changed["change"], changed["restart"], changed["arguments"], changed["keys"]) == ("changed", False, [], [])
    assert [row.rpartition(" ")[2] for row in changed["evidence"]["new"]] == ["[own-copy]"]
    assert "1.50x" in changed["evidence"]["new"][0]
    assert told["summary"] == {
        "created": 0, "changed": 1, "restarted": 0, "removed": 0, "refused": 0, "touched": 1, "hosts": 3
    }  # fmt: skip
    assert "~ llama-server.service has its file replaced, and goes on running, on forge\n" in fleet.plan().out
    assert fleet.plan().out.endswith("1 changed (none restarts) on 1 of 3 hosts\n")


def test_what_becomes_of_program_environment_mounts_and_other_keys_is_told_apart(fleet: Fleet) -> None:
    fleet.change(
        'profile: copy, podman: "5.4.2"',
        'profile: copy, podman: "5.4.2", env: {GGML_X: "1"}, volumes: ["/srv/a:/a:ro"], port: 9000, stop_timeout: 40s,'
        " image: example.org/llama:1",
    )
    changed = services(fleet.told())["forge/llama-server"]
    assert changed["restart"]
    assert changed["program"]["new"] == ["example.org/llama:1"]
    assert changed["environment"] == [{"name": "GGML_X", "old": [], "new": ["1"]}]
    assert changed["mounts"] == {"old": [], "new": ["/srv/a:/a:ro"]}
    assert {each["name"]: (each["old"], each["new"]) for each in changed["arguments"]} == {
        "--port": (["8080"], ["9000"])
    }
    keys = {each["name"]: each for each in changed["keys"]}
    assert keys["[Container] PublishPort"]["new"] == ["127.0.0.1:9000:9000"]
    assert keys["[Container] StopTimeout"] == {"name": "[Container] StopTimeout", "old": ["30"], "new": ["40"]}
    text = fleet.plan().out
    assert "    + environment GGML_X 1\n" in text
    assert "    + mount /srv/a:/a:ro\n" in text
    assert text.count("[Container] Health") == 1  # the startup probe says what the probe says


def test_a_new_host_and_a_new_service_say_what_they_run(fleet: Fleet) -> None:
    fleet.change("hosts:\n", "hosts:\n  gull: {model: plain, backend: cpu, engine: cpu, context: 4096}\n")
    fleet.change("      embed:", "      third: {model: plain, port: 8082}\n      embed:")
    done = fleet.plan()
    assert done.status == 0
    assert "+ gull is new in the fleet\n" in done.out
    assert "+ third.service is created on wren\n    plain on cpu, llama.cpp b10715\n    + program " in done.out
    assert "gull must have\n" in done.out
    assert "    + file /srv/models/plain.gguf\n" in done.out
    assert done.out.endswith("2 created on 2 of 4 hosts\n")


def test_a_host_that_leaves_the_fleet_is_to_be_marked_in_the_inventory(fleet: Fleet) -> None:
    text = (fleet.root / "fleet.yml").read_text(encoding="utf-8")
    fleet.write("".join(line for line in text.splitlines(keepends=True) if "claw" not in line))
    done = fleet.plan()
    assert done.status == 0
    assert "- claw leaves the fleet\n    1 service with it\n    mark it as retired" in done.out
    assert "`quadgen_retired: true`" in done.out
    assert done.out.endswith("1 removed on 1 of 3 hosts\n")


def test_a_service_that_is_renamed_is_stopped_and_created(fleet: Fleet) -> None:
    fleet.change("      embed:", "      vectors:")
    found = services(fleet.told())
    assert {name: each["change"] for name, each in found.items()} == {
        "wren/embed": "removed",
        "wren/vectors": "created",
    }
    assert "- embed.service is stopped and removed on wren\n" in fleet.plan().out


def test_another_user_or_runtime_moves_the_file_and_restarts_the_service(fleet: Fleet) -> None:
    fleet.change("claw: {groups: [desk]", "claw: {groups: [desk], rootless: ada")
    changed = services(fleet.told())["claw/llama-server"]
    assert changed["moved_from"] == "etc/containers/systemd/llama-server.container"
    assert changed["file"] == "home/ada/.config/containers/systemd/llama-server.container"
    assert (changed["change"], changed["restart"]) == ("changed", True)
    needs = {(each["kind"], each["value"]) for each in fleet.told()["hosts"][0]["needs"]}
    assert {("linger", "ada"), ("users", "ada")} <= needs


def test_a_service_that_is_not_started_by_itself_restarts_where_it_runs(fleet: Fleet) -> None:
    fleet.change(
        "model: plain, backend: cpu, engine: cpu}", "model: plain, backend: cpu, engine: cpu, autostart: false}"
    )
    assert "~ llama-server.service restarts where it runs on claw\n" in fleet.plan().out


def test_what_a_host_must_newly_have_and_no_longer_needs_is_told(fleet: Fleet) -> None:
    fleet.change("profile: copy", "profile: copy, secrets: {TOKEN: hub}")
    done = fleet.plan()
    assert "~ forge must have\n    + Podman secret hub\n" in done.out
    fleet.commit()
    fleet.change(", secrets: {TOKEN: hub}", "")
    assert "~ forge needs no longer\n    - Podman secret hub is no longer needed\n" in fleet.plan().out


def test_hosts_that_are_asked_about_are_the_only_ones_told_of(fleet: Fleet) -> None:
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    told = fleet.told("--host", "claw")
    assert list(services(told)) == ["claw/llama-server"]
    assert told["summary"]["hosts"] == 1
    done = fleet.plan("--host", "clew")
    assert done.status == 1
    assert "neither state of the fleet has a host clew" in done.err
    assert "did you mean claw?" in done.err


def test_a_host_that_has_left_can_be_asked_about(fleet: Fleet) -> None:
    text = (fleet.root / "fleet.yml").read_text(encoding="utf-8")
    fleet.write("".join(line for line in text.splitlines(keepends=True) if "claw" not in line))
    assert fleet.told("--host", "claw")["hosts"][0]["change"] == "removed"


def test_a_file_of_a_host_that_nobody_lists_changes_nothing(fleet: Fleet) -> None:
    fleet.write("hello", "rendered/claw/README")
    fleet.write("hello", "rendered/notes/README")
    fleet.commit()
    assert fleet.told()["summary"]["touched"] == 0


def test_a_committed_manifest_that_is_not_quadgens_is_noted(fleet: Fleet) -> None:
    fleet.write("{}", "rendered/claw/manifest.json")
    fleet.commit(render=False)
    told = fleet.told()
    assert told["hosts"] == []
    assert told["notes"] == ["the committed claw/manifest.json is not quadgen's, so nothing is said of claw"]


def test_a_unit_that_cannot_be_read_is_told_as_changed_all_the_same(fleet: Fleet) -> None:
    fleet.write("[Container\nnothing", "rendered/claw/etc/containers/systemd/llama-server.container")
    fleet.commit(render=False)
    changed = services(fleet.told())["claw/llama-server"]
    assert (changed["change"], changed["compared"]) == ("changed", False)
    assert "cannot be read as a unit" in fleet.plan().out


def test_a_file_that_was_never_committed_is_created(fleet: Fleet) -> None:
    fleet.git("rm", "--quiet", "rendered/claw/etc/containers/systemd/llama-server.container")
    fleet.commit(render=False)
    assert services(fleet.told())["claw/llama-server"]["change"] == "created"


def test_the_keys_of_the_json_form_are_those_that_the_page_lists(fleet: Fleet) -> None:
    fleet.change("profile: copy", "profile: copy, secrets: {TOKEN: hub}")
    fleet.change("hosts:\n", "hosts:\n  gull: {model: nothing, backend: cpu, engine: cpu}\n")
    told = fleet.told()
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    section = page.partition("\n## plan\n")[2].partition("\n## ")[0]
    keys = {
        *told,
        *told["summary"],
        *told["from"],
        *told["hosts"][0],
        *told["hosts"][0]["services"][0],
        *told["refused"][0],
    }
    assert {key for key in keys if f"`{key}`" not in section} == set()


def test_the_plan_of_the_page_is_what_the_command_prints(tmp_path: Path) -> None:
    page = (Path(__file__).parents[1] / "docs" / "commands.md").read_text(encoding="utf-8")
    fleet = repository(tmp_path / "fleet")
    fleet.change("desk: {context: 4096}", "desk: {context: 6144}")
    fleet.change("profile: copy", "profile: copy, secrets: {HF_TOKEN: hub}")
    fleet.change("      embed:", "      vectors:")
    commit = fleet.git("rev-parse", "--short=12", "HEAD").strip()
    assert f"$ quadgen plan\n{fleet.plan().out.replace(commit, '3f2a1bc09d7e')}" in page


def test_the_json_form_is_one_document(fleet: Fleet) -> None:
    done = fleet.plan("--format", "json")
    assert (done.status, done.err) == (0, "")
    assert json.loads(done.out)["from"]["source"] == "rendered"
