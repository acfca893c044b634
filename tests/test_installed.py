"""The files of a host against its rendered tree, as values."""

import json
from dataclasses import replace
from typing import Any

import pytest

from installed_hosts import AT_HOME, LLM, NATIVE, QUADLET, SERVICE, TEXT, host, said, seen, there, told
from quadgen.installed.declared import declared
from quadgen.installed.places import (
    is_of_vendor,
    quadlet_directories,
    quadlet_drop_ins,
    unit_directories,
    unit_drop_ins,
)
from quadgen.installed.seen import Kind, State, state
from quadgen.problems import Collector, Severity

PLACE = f"/mnt/{QUADLET}"


def test_a_host_that_is_as_it_was_rendered_has_no_problem() -> None:
    assert told(host(), seen(host())) == []


def test_a_file_that_is_not_there_is_missing() -> None:
    (problem,) = said(host(), seen(host(), files={}))
    assert (problem.code, problem.message) == ("file-missing", f"{PLACE} is not there")
    assert (problem.host, problem.service, problem.place and problem.place.file) == ("claw", "chat", PLACE)


def test_a_changed_file_comes_with_the_line_and_a_difference_that_is_bounded() -> None:
    changed = TEXT.replace(b"--ctx-size 1024", b"--ctx-size 2048")
    (problem,) = said(host(), seen(host(), files={QUADLET: there(QUADLET, changed)}))
    assert (problem.code, problem.message) == ("file-changed", f"{PLACE} is not what was rendered")
    assert problem.place is not None
    assert changed.split(b"\n")[problem.place.line - 1].startswith(b"Exec=")
    assert problem.notes[:2] == (f"--- {PLACE}", f"+++ rendered/claw/{QUADLET}")
    assert [note[:5] for note in problem.notes[2:]] == ["@@ -3", " Stop", "-Exec", "+Exec", " "]
    (problem,) = said(host(), seen(host(), files={QUADLET: there(QUADLET, b"x\n" * 100)}))
    assert problem.notes[-1].startswith("... and ")
    assert len(problem.notes) == 25


def test_a_missing_line_end_is_a_difference_that_shows() -> None:
    (problem,) = said(host(), seen(host(), files={QUADLET: there(QUADLET, TEXT[:-1])}))
    assert problem.notes[-2:] == ("-WantedBy=multi-user.target (without a line end)", "+WantedBy=multi-user.target")


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (there(QUADLET, TEXT, mode=0o600), "has the mode 0600, and should have 0644"),
        (there(QUADLET, kind=Kind.LINK, target="/tmp/x"), "is a symbolic link to /tmp/x, and should be a file"),  # noqa: S108 - a text
        (there(QUADLET, kind=Kind.DIRECTORY), "is a directory, and should be a file"),
        (there(QUADLET, kind=Kind.OTHER), "is neither a file nor a directory, and should be a file"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_plain_file_of_its_mode_is_another(found: object, message: str) -> None:
    assert told(host(), seen(host(), files={QUADLET: found})) == [("file-changed", f"{PLACE} {message}")]


@pytest.mark.parametrize(("path", "owner", "right"), [(QUADLET, 1000, 0), (AT_HOME, 0, 1000)])
def test_a_file_belongs_to_whose_manager_reads_it_and_of_an_image_nobody_can_tell(
    path: str, owner: int, right: int
) -> None:
    one = host(path, user="llm" if path == AT_HOME else None)
    files = {path: there(path, TEXT, owner=owner)}
    message = f"/{path} belongs to the user {owner}, and should belong to {right}"
    assert told(one, seen(one, files=files, root="/")) == [("file-changed", message)]
    assert told(one, seen(one, files=files)) == []


def test_what_an_earlier_tree_left_is_named_and_what_is_gone_or_declared_is_not() -> None:
    old, gone = "etc/containers/systemd/old.container", "etc/containers/systemd/gone.container"
    what = seen(host())
    what = replace(
        what,
        files={**what.files, old: there(old)},
        state=State(path="var/lib/quadgen/state.json", host="claw", files=(gone, old, QUADLET)),
    )
    assert told(host(), what) == [
        ("left-over", f"/mnt/{old} is of an earlier tree, and this one does not declare it"),
    ]


def test_a_state_of_another_host_is_not_read_as_this_one_s() -> None:
    what = seen(host(), state=State(path="var/lib/quadgen/state.json", host="forge", files=(QUADLET,)))
    assert told(host(), what) == [("not-ours", "the state of this machine is that of forge, not of claw")]


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "host": "claw"}', '{"version": 1}', '{"version": 1, "host": "a", "files": []}']
)
def test_what_is_no_state_is_none(text: str) -> None:
    found = state("s", text.encode())
    assert found is None or found.files == ()


def test_a_state_has_plain_paths_units_and_digests_only() -> None:
    whole = {
        "version": 1, "host": "claw", "files": {"/etc/a": "x", "etc/b": "x", "../c": "x", "": "x"},
        "services": {"chat.service": {"user": "llm", "restart": "x"}, "--now": {}},
        "running": {"chat.service": "x", "b": 1},
    }  # fmt: skip
    found = state("s", json.dumps(whole).encode())
    assert found == State(
        path="s",
        host="claw",
        files=("etc/a", "etc/b"),
        services=(("chat.service", "llm"),),
        running={"chat.service": "x"},
    )


def test_drop_ins_are_listed_with_what_they_set() -> None:
    other = there(f"{QUADLET}.d/10.conf", b"[Container]\nExec=--help\n# no\n[Service]\nNice=5\n")
    (problem,) = said(host(), seen(host(), other))
    assert problem.message == f"/mnt/{QUADLET}.d/10.conf changes chat.service, and no manifest lists it"
    assert (problem.code, problem.severity) == ("foreign-drop-in", Severity.ERROR)
    assert problem.notes == ("[Container] Exec=--help", "[Service] Nice=5")
    (problem,) = said(host(), seen(host(), there(f"{QUADLET}.d/10.conf", b"nonsense\n")))
    assert problem.notes == ("it cannot be read: line 1: a line is a comment, a [Section] or Key=value",)


def test_a_drop_in_of_the_distribution_for_every_service_is_a_note() -> None:
    other = there(
        "usr/lib/systemd/system/service.d/10-timeout-abort.conf", b"[Service]\nTimeoutStopFailureMode=abort\n"
    )
    (problem,) = said(host(), seen(host(), other))
    assert problem.severity is Severity.NOTE
    assert not is_of_vendor("usr/lib/systemd/system/chat.service.d/a.conf")
    assert not is_of_vendor("etc/systemd/system/service.d/a.conf")


@pytest.mark.parametrize(
    ("path", "first", "before"),
    [
        (QUADLET, "run/containers/systemd/chat.container", True),
        (QUADLET, "etc/systemd/system/chat.service", True),
        (QUADLET, "usr/lib/systemd/system/chat.service", False),
        (NATIVE, "etc/systemd/system.control/chat.service", True),
        (NATIVE, "run/systemd/system/chat.service", False),
        (AT_HOME, "run/user/1000/containers/systemd/chat.container", True),
        (AT_HOME, "home/llm/.config/systemd/user/chat.service", True),
        (AT_HOME, "home/llm/.local/share/systemd/user/chat.service", False),
    ],
)
def test_a_file_of_the_name_counts_where_it_is_found_first(path: str, first: str, *, before: bool) -> None:
    one = host(path, SERVICE if path == NATIVE else TEXT, user="llm" if path == AT_HOME else None)
    others = [there(first, b"[Service]\n"), there(path, one.files[0].data)]
    found = told(one, seen(one, *others))
    assert found == ([("unit-shadowed", f"/mnt/{first} comes before /mnt/{path}")] if before else [])


def test_a_second_quadlet_of_the_name_further_down_is_passed_over() -> None:
    others = [there(QUADLET, TEXT), there("etc/containers/systemd/sub/chat.container", TEXT)]
    assert told(host(), seen(host(), *others)) == []


@pytest.mark.parametrize("found", [{"kind": Kind.LINK, "target": "/dev/null"}, {}])
def test_a_unit_that_is_empty_or_a_link_to_nothing_masks(found: dict[str, Any]) -> None:
    (problem,) = said(host(), seen(host(), there("run/systemd/system/chat.service", **found)))
    assert problem.message == "/mnt/run/systemd/system/chat.service masks chat.service"
    assert problem.hint == "systemctl unmask --runtime chat.service"


def test_podman_and_systemd_look_where_their_manuals_say() -> None:
    assert quadlet_directories(None, "5.4.2") == (
        "run/containers/systemd", "etc/containers/systemd", "usr/share/containers/systemd",
    )  # fmt: skip
    assert quadlet_directories(None, "5.2.0")[0] == "etc/containers/systemd"
    assert quadlet_directories(LLM, "5.8.2") == (
        "run/user/1000/containers/systemd", "home/llm/.config/containers/systemd", "etc/containers/systemd/users",
        "etc/containers/systemd/users/1000",
    )  # fmt: skip
    assert len(quadlet_directories(LLM, None)) == 6
    assert unit_drop_ins("a-b-c.service") == ("a-b-c.service.d", "a-b-.service.d", "a-.service.d", "service.d")
    assert quadlet_drop_ins("a-b.container", "5.1.0") == ("a-b.container.d",)
    assert quadlet_drop_ins("a-b.container", "4.9.3") == ()
    assert quadlet_drop_ins("a-b.container", None) == ("a-b.container.d", "a-.container.d", "container.d")
    assert unit_directories(LLM).index("home/llm/.config/systemd/user") < unit_directories(LLM).index(
        "run/user/1000/systemd/generator"
    )


def test_a_manifest_of_an_earlier_quadgen_says_by_its_units_what_starts_by_itself() -> None:
    entry = {"path": AT_HOME, "service": "chat", "unit": "chat.service"}
    whole = json.dumps({"version": 1, "host": "claw", "files": [entry]}).encode()
    for data, starts in ((TEXT, True), (b"[Container]\n", False)):
        found = declared("claw", "d", whole, {AT_HOME: data}.get, Collector())
        assert found is not None
        (file,) = found.files
        assert (file.autostart, file.mode, file.user, file.home) == (starts, 0o644, "llm", "home/llm")


def test_a_manifest_that_lists_what_is_not_there_is_refused() -> None:
    problems = Collector()
    whole = json.dumps({"version": 1, "host": "claw", "files": [{"path": "etc/a"}]}).encode()
    assert declared("claw", "d", whole, lambda _: None, problems)
    assert [problem.code for problem in problems.problems] == ["file-missing"]
    assert declared("other", "d", whole, lambda _: None, Collector()) is None
