"""What systemd loaded and what runs, against the files on the host; on captures of a booted Debian 13."""

from dataclasses import replace
from typing import Any

import pytest

from installed_hosts import (
    AT_HOME,
    GENERATED,
    NATIVE,
    QUADLET,
    SERVICE,
    TEXT,
    WORDS,
    captured,
    host,
    loaded,
    running,
    said,
    there,
    told,
)
from quadgen.installed.places import Account
from quadgen.installed.running import container_name
from quadgen.installed.seen import Container, Loaded, Process, Seen, State
from quadgen.problems import Severity

RUN = "/run/systemd/system"
CHANGES = "changes chat.service, and no manifest lists it"
KEY = (None, "chat.service")
STALE = ("service-stale", "chat.service runs something else than its file on this host says")


def contained(**rest: Any) -> Seen:
    """The captured container, with some of it otherwise."""
    what = running(host())
    runs = what.running[KEY]
    assert isinstance(runs, Container)
    return replace(what, running={KEY: replace(runs, **rest)})


def container_words() -> tuple[str, ...]:
    runs = running(host()).running[KEY]
    assert isinstance(runs, Container)
    return runs.words


def native(**rest: Any) -> Seen:
    one = host(NATIVE, SERVICE)
    return replace(running(one), running={KEY: Process(**{"words": WORDS, "environment": None, **rest})})


@pytest.mark.parametrize("path", [QUADLET, NATIVE, AT_HOME])
def test_a_service_that_runs_as_it_stands_on_disk_has_no_problem(path: str) -> None:
    one = host(path, SERVICE if path == NATIVE else TEXT, user="llm" if path == AT_HOME else None)
    assert told(one, running(one)) == []


def test_a_capture_of_a_host_where_all_is_well_is_read_as_such() -> None:
    chat = captured("show.txt", "chat.service")
    assert (chat.load, chat.active, chat.source, chat.drop_ins) == ("loaded", "active", f"/{QUADLET}", ())
    assert chat.process > 1
    assert told(host(), running(host(), loaded={KEY: chat})) == []
    assert captured("show.txt", "nope.service").load == "not-found"


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        ("show-masked.txt", [("unit-not-loaded", "chat.service is masked")]),
        ("show-assert.txt", [
            ("reload-due", "the files of chat.service changed since systemd read them"),
            ("service-down", "chat.service should run, and is failed (failed)"),
            ("foreign-drop-in", f"{RUN}/chat.service.d/a b.conf {CHANGES}"),
            ("foreign-drop-in", f"{RUN}/service.d/c.conf {CHANGES}"),
        ]),
    ],
)  # fmt: skip
def test_captures_of_hosts_where_something_is_wrong_are_told_as_such(name: str, codes: list[tuple[str, str]]) -> None:
    found = said(host(), running(host(), loaded={KEY: captured(name, "chat.service")}, running={}))
    assert [(problem.code, problem.message) for problem in found] == codes
    notes = next((problem.notes for problem in found if problem.code == "service-down"), ())
    if notes:
        assert notes[-1] == "one of its AssertPathExists= is not met"


def test_a_service_that_dies_again_and_again_is_down_and_not_starting() -> None:
    one = host(NATIVE, SERVICE)
    dying = replace(captured("show-failing.txt", "nchat.service"), fragment=f"/{NATIVE}")
    (problem,) = said(one, running(one, loaded={KEY: dying}, running={}))
    assert problem.message == "chat.service should run, and is activating (auto-restart)"
    assert problem.notes[:2] == ("its result is exit-code", "its program ended with status 1")


def test_a_service_that_starts_for_the_first_time_is_a_warning() -> None:
    (problem,) = said(host(), running(host(), loaded=loaded(host(), active="activating", sub="start"), running={}))
    assert (problem.code, problem.severity) == ("service-down", Severity.WARNING)


def test_a_service_whose_start_waits_for_another_unit_is_a_warning() -> None:
    """As right after boot: a unit is inactive until what it comes after has loaded its model."""
    waits = captured("show-waits.txt", "side.service")
    assert (waits.active, waits.queued, captured("show.txt", "chat.service").queued) == ("inactive", True, False)
    units = loaded(host(), active="inactive", sub="dead", queued=True)
    (problem,) = said(host(), running(host(), loaded=units, running={}))
    assert (problem.code, problem.severity) == ("service-down", Severity.WARNING)
    assert problem.message == "chat.service is still starting: inactive (dead), and waits for another unit"


@pytest.mark.parametrize(
    ("service", "partner", "down"),
    [
        ({}, "inactive", True),
        ({"autostart": False}, "inactive", False),
        ({"conflicts": ["n.service"]}, "active", False),
    ],
)
def test_a_service_need_not_run_unless_it_starts_by_itself_and_no_partner_runs(
    service: dict[str, Any], partner: str, *, down: bool
) -> None:
    one = host(**service)
    units = {
        **loaded(one, active="inactive", sub="dead"),
        (None, "n.service"): Loaded(unit="n.service", load="loaded", active=partner),
    }
    found = told(one, running(one, loaded=units, running={}))
    assert found == ([("service-down", "chat.service should run, and is inactive (dead)")] if down else [])
    failed = loaded(host(autostart=False), active="failed", sub="failed")
    assert told(host(autostart=False), running(host(), loaded=failed, running={})) == [
        ("service-down", "chat.service is failed (failed)")
    ]


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ({"source": "/run/containers/systemd/chat.container"}, "from /run/containers/systemd/chat.container"),
        ({"fragment": "/usr/lib/systemd/system/chat.service"}, "from /usr/lib/systemd/system/chat.service"),
    ],
)
def test_a_unit_that_systemd_has_from_elsewhere_is_shadowed(rest: dict[str, Any], message: str) -> None:
    found = told(host(), running(host(), loaded=loaded(host(), **rest)))
    assert found == [("unit-shadowed", f"systemd loaded chat.service {message}, and not from /{QUADLET}")]


def test_a_home_directory_behind_a_link_is_no_other_place() -> None:
    one = host(AT_HOME, user="llm")
    where = loaded(one, source=f"/var/{AT_HOME}", fragment="/run/user/1000/systemd/generator/chat.service")
    assert told(one, running(one, loaded=where)) == []


def test_what_was_found_on_disk_is_not_told_again_by_systemd() -> None:
    drop_in = there(f"{NATIVE}.d/a.conf", b"[Service]\nNice=5\n")
    one = host(NATIVE, SERVICE)
    what = replace(running(one, loaded=loaded(one, drop_ins=(f"/{NATIVE}.d/a.conf",))), others={KEY: (drop_in,)})
    assert [problem.notes for problem in said(one, what)] == [("[Service] Nice=5",)]
    masked = there("etc/systemd/system/chat.service")
    what = replace(
        running(host(), loaded={KEY: captured("show-masked.txt", "chat.service")}, running={}), others={KEY: (masked,)}
    )
    assert [code for code, _ in told(host(), what)] == ["unit-shadowed"]


def test_a_native_service_that_nothing_starts_with_the_machine_is_told() -> None:
    one = host(NATIVE, SERVICE)
    message = "chat.service is disabled: nothing starts it with the machine"
    assert told(one, running(one, loaded=loaded(one, enabled="disabled"))) == [("unit-not-enabled", message)]
    hand = host(NATIVE, SERVICE, autostart=False)
    assert told(hand, running(hand, loaded=loaded(hand, enabled="disabled"))) == []


def test_a_container_that_was_made_before_the_file_was_replaced_is_stale() -> None:
    changed = GENERATED.replace(b"--ctx-size 1024", b"--ctx-size 2048")
    (problem,) = said(host(), running(host(), generated={KEY: changed}))
    assert (problem.code, problem.message) == STALE
    assert problem.notes == (
        "from word 11 on disk: 2048 --parallel 1 --metrics",
        "and it runs with: 1024 --parallel 1 --metrics",
    )


def test_the_order_in_which_the_generator_writes_options_says_nothing() -> None:
    text = GENERATED.replace(b"--pull never --stop-timeout 30 ", b"--stop-timeout 30 --pull never ")
    assert text != GENERATED
    assert told(host(), running(host(), generated={KEY: text})) == []
    assert told(host(), running(host(), generated={KEY: GENERATED.replace(b" --cidfile=%t/%N.cid", b"")})) == []


def test_an_option_that_came_or_went_is_named() -> None:
    text = GENERATED.replace(b"--pull never", b"--tz local")
    (problem,) = said(host(), running(host(), generated={KEY: text}))
    assert problem.notes == (
        "on disk, and it does not run with it: --tz local",
        "it runs with it, and not on disk: --pull never",
    )


def test_another_image_on_disk_is_the_first_word_that_differs() -> None:
    text = GENERATED.replace(b"localhost/llama-server:test", b"localhost/llama-server:next")
    (problem,) = said(host(), running(host(), generated={KEY: text}))
    assert problem.notes[0].startswith("from word 1 on disk: localhost/llama-server:next --model ")
    assert len(problem.notes) == 2


@pytest.mark.parametrize(
    ("rest", "note"),
    [
        ({"unit": None}, "the container chat was started by hand"),
        ({"unit": "other.service"}, "the container chat was started by other.service"),
        ({"running": False}, "the container chat does not run"),
        (
            {"named": "ab" * 32},
            "localhost/llama-server:test names the image abababababab now, and it runs 115d37362fd6",
        ),
    ],
)
def test_a_container_that_is_not_the_unit_s_own_or_of_an_older_image_is_stale(rest: dict[str, Any], note: str) -> None:
    (problem,) = said(host(), contained(**rest))
    assert (problem.code, problem.notes) == ("service-stale", (note,))


def test_a_container_that_is_not_there_is_told_by_its_name() -> None:
    (problem,) = said(host(), replace(contained(), running={KEY: None}))
    assert problem.notes == ("there is no container chat",)
    assert container_name(b"[Service]\nExecStart=/usr/bin/podman run --name=systemd-%N x\n", "a.service") == "systemd-a"
    assert container_name(b"", "a.service") == "systemd-a"


def test_an_image_that_has_no_name_any_more_is_not_held_against_a_service() -> None:
    assert told(host(), contained(named=None)) == []


def test_a_native_service_is_compared_word_by_word_but_for_what_specifiers_stand_for() -> None:
    one = host(NATIVE, SERVICE)
    assert told(one, native()) == []
    (problem,) = said(one, native(words=(*WORDS[:-1], "9090")))
    assert problem.notes == ("from word 9 on disk: 8080", "and it runs with: 9090")
    (problem,) = said(one, native(words=(*WORDS, "--slots")))
    assert problem.notes == ("from word 10 on disk: nothing", "and it runs with: --slots")
    (problem,) = said(one, native(words=(*WORDS[:4], "/elsewhere", *WORDS[5:])))
    assert problem.notes[0].startswith("from word 5 on disk: %d/key ")


def test_the_variables_of_a_native_service_are_compared_where_they_may_be_seen() -> None:
    one = host(NATIVE, SERVICE)
    (problem,) = said(one, native(environment={"GREETING": "hello"}))
    assert problem.notes == ("on disk GREETING=100% of it, and it runs with GREETING=hello",)
    (problem,) = said(one, native(environment={}))
    assert problem.notes == ("on disk GREETING=100% of it, and it runs without GREETING",)


def test_a_key_that_somebody_wrote_into_a_command_line_is_not_shown() -> None:
    one = host(NATIVE, SERVICE)
    words = (*WORDS, "--api-key", "hunter2", "--hf-token=hunter2", "LLAMA_API_KEY=hunter2")
    (problem,) = said(one, native(words=words))
    assert "hunter2" not in str(problem)
    assert problem.notes[1] == "and it runs with: --api-key ... --hf-token=... LLAMA_API_KEY=..."


def test_a_service_that_was_started_from_an_earlier_tree_is_stale_whatever_its_command_line() -> None:
    one = host(NATIVE, SERVICE)
    older = State(path="s", host="claw", running={"chat.service": "old" * 8})
    (problem,) = said(one, replace(native(), state=older))
    assert problem.notes == (
        "it was last started from an earlier tree: restart oldoldoldold, and this one has newnewnewnew",
    )
    assert told(one, replace(native(), state=replace(older, running={"chat.service": "new" * 8}))) == []


def test_a_service_that_left_the_tree_and_runs_is_left_over() -> None:
    state = State(path="s", host="claw", services=(("old.service", None), ("chat.service", None)))
    units = {**loaded(host()), (None, "old.service"): Loaded(unit="old.service", load="loaded", active="active")}
    assert told(host(), running(host(), state=state, loaded=units)) == [
        ("left-over", "old.service is of an earlier tree and still runs")
    ]


def test_the_hints_speak_with_the_manager_of_the_user() -> None:
    one = host(AT_HOME, user="llm")
    what = running(one, loaded=loaded(one, active="failed", sub="failed"), running={})
    (problem,) = said(one, what)
    hint = "journalctl _SYSTEMD_USER_UNIT=chat.service; systemctl --user -M llm@ start chat.service"
    assert problem.hint == hint
    assert what.accounts["llm"] == Account(name="llm", uid=1000, gid=1000, home="home/llm")
