"""The comparison of a `.container` with the command line that a generator made of it, on values."""

import pytest

from quadgen.problems import Problem, Severity
from quadgen.verify.generator import Generated
from quadgen.verify.layout import SYSTEM, Host, Manager, UnitFile
from quadgen.verify.words import compare

IMAGE = "ghcr.io/ggml-org/llama.cpp:server"
RUN = "/usr/bin/podman run --name systemd-%N --rm -d"


def problems_of(unit: str, *commands: str, drop_in: str | None = None, listed: bool = True) -> list[Problem]:
    file = UnitFile(path="etc/chat.container", below="chat.container", data=unit.encode())
    others = [UnitFile(path=f"etc/{drop_in}", below=drop_in, data=b"")] if drop_in else []
    manager = Manager(name=SYSTEM, quadlets=(file, *others), units=())
    host = Host(
        name="claw",
        directory="rendered/claw",
        managers=(manager,),
        listed={file.path: "chat"} if listed else {},
        podman=None,
        problems=(),
    )
    starts = "".join(f"ExecStart={command}\n" for command in commands)
    text = f"[X-Mine]\nExecStart=/bin/not-this\n\n[Service]\nType=notify\n{starts}"
    return list(compare(host, manager, [Generated(name="chat.service", text=text, source=file)]))


def messages(problems: list[Problem]) -> list[tuple[str, int | None]]:
    return [
        (problem.message.removeprefix("chat.container: "), problem.place.line if problem.place else None)
        for problem in problems
    ]


def unit(*lines: str) -> str:
    return "\n".join(("[Container]", f"Image={IMAGE}", *lines, ""))


@pytest.mark.parametrize(
    ("line", "right", "wrong"),
    [
        ('Environment="A=b c"', r'--env "A=b\x20c"', "--env A=b --env c"),
        ('Label="a={\\"b\\":1}"', r'--label "a={\"b\":1}"', "--label a={b:1}"),
        ("Annotation=a=b", "--annotation a=b", ""),
        ("Volume=/srv/models:/models:ro", "-v /srv/models:/models:ro", "-v /srv/models:/models"),
        ("Volume=%h/models:/models", "-v %h/models:/models", ""),
        (
            "PublishPort=127.0.0.1:8080:8080",
            "--publish 127.0.0.1:8080:8080",
            "--publish 8080:8080 --publish 127.0.0.1:8080:8080",
        ),
        ("AddDevice=/dev/dri", "--device /dev/dri", ""),
        ("DropCapability=ALL", "--cap-drop all", "--cap-drop ALL"),
        ("AddCapability=SYS_NICE", "--cap-add sys_nice", "--cap-add sys_nice --cap-add all"),
        ("GroupAdd=keep-groups", "--group-add keep-groups", "--group-add 0"),
        ("Ulimit=memlock=-1:-1", "--ulimit memlock=-1:-1", ""),
        ("Secret=key,type=env", "--secret key,type=env", "--secret key"),
        ("AutoUpdate=registry", "--label io.containers.autoupdate=registry", ""),
        ('HealthCmd=["a","b"]', r'--health-cmd "[\"a\",\"b\"]"', "--health-cmd [a,b]"),
        ('HealthStartupCmd=["a","b"]', r'--health-startup-cmd "[\"a\",\"b\"]"', ""),
    ],
)
def test_each_option_that_is_lost_or_changed_is_a_difference(line: str, right: str, wrong: str) -> None:
    assert problems_of(unit(line), f"{RUN} {right} {IMAGE}") == []
    (problem,) = problems_of(unit(line), f"{RUN} {wrong} {IMAGE}")
    assert (problem.code, problem.severity, problem.service) == ("generator-differs", Severity.ERROR, "chat")
    assert "does not arrive as it is written" in problem.message


def test_the_notes_say_what_is_lost_and_what_came_instead() -> None:
    (problem,) = problems_of(unit("PublishPort=127.0.0.1:80:80"), f"{RUN} --publish 80:80 {IMAGE}")
    assert problem.notes == (
        "meant and not passed on: --publish 127.0.0.1:80:80",
        "passed on and not meant: --publish 80:80",
    )


@pytest.mark.parametrize(
    ("arrived", "notes"),
    [
        ("--a", ("from word 2, meant: 'b c' --d", "and passed on: nothing")),
        ('--a "b c" --d --e', ("from word 4, meant: nothing", "and passed on: --e")),
        ("--a b c --d", ("from word 2, meant: 'b c' --d", "and passed on: b c --d")),
        ("", ("from word 1, meant: --a 'b c' --d", "and passed on: nothing")),
    ],
)
def test_every_word_after_the_image_counts(arrived: str, notes: tuple[str, ...]) -> None:
    problems = problems_of(unit('Exec=--a "b c" --d'), f"{RUN} {IMAGE} {arrived}")
    assert messages(problems) == [("Exec= does not arrive as it is written", 3)]
    assert problems[0].notes == notes


def test_only_the_last_exec_counts_and_an_empty_value_forgets_what_was_before() -> None:
    lines = ("Exec=--a", "Exec=--b", "Environment=A=1", "Environment=", "Environment=B=1", "Environment=B=2")
    assert problems_of(unit(*lines), f"{RUN} --env B=2 {IMAGE} --b") == []


def test_podman_arguments_stand_in_front_of_the_image_and_are_no_options_of_a_key() -> None:
    lines = ("PodmanArgs=--env X=1", "PodmanArgs=--memory=4g", "Exec=--a")
    assert problems_of(unit(*lines), f"{RUN} --env X=1 --memory=4g {IMAGE} --a") == []
    lost = problems_of(unit(*lines), f"{RUN} --env X=1 {IMAGE} --a")
    assert messages(lost) == [(f"the service does not run --env X=1 --memory=4g {IMAGE}", 2)]


def test_another_image_is_a_difference() -> None:
    problems = problems_of(unit("Exec=--a"), f"{RUN} docker.io/library/other:1 --a")
    assert messages(problems) == [(f"the service does not run {IMAGE}", 2)]


def test_what_another_quadlet_makes_is_not_compared_by_name() -> None:
    text = "[Container]\nImage=big.image\nVolume=cache.volume:/cache\nVolume=./here:/x\nExec=--a\n"
    options = "-v systemd-cache:/cache -v /etc/containers/systemd/here:/x"
    assert problems_of(text, f"{RUN} {options} localhost/big:latest --a") == []
    assert len(problems_of(text, f"{RUN} {options} localhost/big:latest --b")) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('Exec=--a "" --b', "Exec=: an empty argument cuts off all later ones"),
        (r"Exec=--a \d", "Exec=: "),
        ("Environment=A", "Environment=: "),
        ("Secret=''", "Secret=: "),
    ],
)
def test_a_value_that_the_generator_reads_in_its_own_way_is_a_difference(line: str, reason: str) -> None:
    ((message, number),) = messages(problems_of(unit(line), f"{RUN} {IMAGE}"))
    assert message.startswith(reason)
    assert number == 3


def test_text_that_two_readers_join_in_different_ways_is_an_error_only_where_it_is_ours() -> None:
    text = unit("Label=a=b\\", "c", "Exec=--a")
    assert [problem.severity for problem in problems_of(text, f"{RUN} {IMAGE} --a")] == [Severity.ERROR]
    foreign = problems_of(text, f"{RUN} {IMAGE} --a", listed=False)
    assert [problem.severity for problem in foreign] == [Severity.WARNING]


def test_a_unit_that_is_not_utf_8_is_named_with_its_line() -> None:
    file = UnitFile(path="chat.container", below="chat.container", data=b"[Container]\nImage=a\xff\n")
    manager = Manager(name=SYSTEM, quadlets=(file,), units=())
    host = Host(name="claw", directory="claw", managers=(manager,), listed={}, podman=None, problems=())
    made = Generated(name="chat.service", text="", source=file)
    assert messages(list(compare(host, manager, [made]))) == [("it is not UTF-8 text", 2)]


@pytest.mark.parametrize("commands", [(), (f"{RUN} {IMAGE}", "/bin/own")])
def test_a_service_has_one_command(commands: tuple[str, ...]) -> None:
    found = messages(problems_of(unit(), *commands))
    assert found == [(f"its service has {len(commands)} lines of ExecStart=, and systemd takes one", 1)]


def test_a_generated_command_that_systemd_cuts_in_two_points_at_the_words_of_the_unit() -> None:
    found = messages(problems_of(unit("Exec=--a"), f"{RUN} {IMAGE} --a ; /bin/b"))
    assert found == [("the generated ExecStart= is broken: a ; by itself starts a second command", 3)]


@pytest.mark.parametrize(
    ("drop_in", "merged"),
    [
        ("chat.container.d/x.conf", True),
        ("container.d/x.conf", True),
        ("deep/chat.container.d/x.conf", True),
        ("chat.container.d/x.txt", False),
        ("embed.container.d/x.conf", False),
        ("x.conf", False),
    ],
)
def test_a_difference_names_the_drop_ins_that_were_merged(drop_in: str, merged: bool) -> None:  # noqa: FBT001 - a column of the table
    (problem,) = problems_of(unit("Exec=--a"), f"{RUN} {IMAGE} --b", drop_in=drop_in)
    assert (f"{drop_in} is a drop-in of it" in problem.notes) is merged
