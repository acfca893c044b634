"""What people lost between a line of a unit and the server's arguments, each through the whole chain."""

import json
from pathlib import Path

import pytest

from fleets import (
    CPU,
    after,
    flow,
    marked,
    native_environment,
    native_words,
    one,
    podman_run,
    refusal,
    unit,
    values,
)
from parts import Quadlet, each_quadlet


def both(fields: str) -> tuple[str, str]:
    """The `.container` and the `.service` of one service with these fields."""
    return unit(one(f"{CPU}, {fields}}}")), unit(one(f"{CPU}, {fields}, runtime: systemd}}"))


# https://github.com/lemonade-sdk/lemonade/issues/1939
JSON_FLAGS = [
    ("""'{"enable_thinking":false}'""", '{"enable_thinking":false}'),
    ("{enable_thinking: false}", '{"enable_thinking":false}'),
    ("{b: 1, a: {d: [x, 'y z'], c: null}}", '{"a":{"c":null,"d":["x","y z"]},"b":1}'),
    ("""'{ "a" : "it''s 100% $HOME" }'""", """{ "a" : "it's 100% $HOME" }"""),
    ("{path: 'C:\\x', quote: '\"', é: on}", '{"path":"C:\\\\x","quote":"\\"","é":"on"}'),
]


@each_quadlet
@pytest.mark.parametrize(("written", "meant"), JSON_FLAGS)
def test_json_of_a_flag_reaches_the_server_with_its_quotes(
    quadlet: Quadlet, written: str, meant: str, tmp_path: Path
) -> None:
    container, native = both(f"flags: {{chat-template-kwargs: {written}, jinja: true}}")
    argv = podman_run(quadlet, tmp_path / "u", container).server
    for words in (argv, native_words(native)):
        assert after(words, "--chat-template-kwargs") == meant
        assert "--jinja" in words
    assert json.loads(meant)


@pytest.mark.parametrize("written", ["{enable_thinking:false}", "{", "{'a': 1}", "true}"])
@pytest.mark.parametrize("flag", ["chat-template-kwargs", "json-schema"])
def test_a_flag_that_takes_json_refuses_what_is_none(flag: str, written: str) -> None:
    problem = refusal(one(f"{CPU}, flags: {{{flag}: {flow(written)}}}}}"))
    assert (problem.code, problem.message) == ("bad-flag-value", f"--{flag} takes JSON, and its value is none")
    assert (problem.host, marked(problem)) == ("claw", flow(written))


def test_json_in_extra_arguments_is_checked_too() -> None:
    problem = refusal(one(f"{CPU}, extra_args: [--json-schema, '{{a}}']}}"))
    assert problem.code == "bad-flag-value"


# https://github.com/containers/podman/issues/26542
BACKSLASHES = [
    r"\.ffn_(up|down|gate)_exps\.=CPU",
    r"blk\.(\d+)\.ffn_.*_exps\.weight=CPU",
    r"\x41\n\q=CPU",
    "ends in \\",
    "C:\\models\\x",
    'a "b" c',
    "it's",
    " blanks around ",
    "100% $HOME ${HOME} %h $$ %%",
    "line\nline",
    "tab\there",
    "#no comment",
    "{a,b}",
    "é ü 日本語",
    "-x",
]


@each_quadlet
def test_no_value_takes_the_arguments_after_it_along(quadlet: Quadlet, tmp_path: Path) -> None:
    words = [word for value in BACKSLASHES for word in ("--reverse-prompt", value)]
    container, native = both(f"extra_args: [{', '.join(map(flow, words))}, --jinja]")
    argv = podman_run(quadlet, tmp_path / "u", container).server
    for found in (argv, native_words(native)):
        assert found[-len(words) - 1 :] == [*words, "--jinja"]
        assert "--model" in found


@each_quadlet
@pytest.mark.parametrize("value", BACKSLASHES)
def test_a_flag_s_value_arrives_as_it_was_written(quadlet: Quadlet, value: str, tmp_path: Path) -> None:
    container, native = both(f"flags: {{reverse-prompt: [{flow(value)}, x], chat-template: {flow(value)}}}")
    argv = podman_run(quadlet, tmp_path / "u", container).server
    for words in (argv, native_words(native)):
        assert after(words, "--chat-template") == value
        assert words[words.index("--reverse-prompt") + 1] == value
        assert words[-1] == value


def test_a_value_that_no_unit_carries_is_refused_at_its_field() -> None:
    for text in ("\\0", "\\uFFFE", "\\x07"):
        problem = refusal(one(f'{CPU}, alias: "a{text}b"}}'))
        assert (problem.code, problem.path) == ("unsafe-value", ("hosts", "claw", "alias"))


# https://github.com/containers/podman/issues/26259
@each_quadlet
@pytest.mark.parametrize(
    "value",
    [
        "--a=false --b=true",
        "a b",
        " a ",
        "'a' \"b\"",
        "x=y=z",
        "",
        "a\\",
        r"\d",
        "a,b;c",
        "é",
        "#",
        "a$b%c",
        "$HOME %h",
    ],
)
def test_a_variable_is_one_assignment_whatever_its_value(quadlet: Quadlet, value: str, tmp_path: Path) -> None:
    container, native = both(f"env: {{EXTRA: {flow(value)}, LAST: z}}")
    words = podman_run(quadlet, tmp_path / "u", container)
    assert {f"EXTRA={value}", "LAST=z"} <= set(words.options("--env"))
    found = native_environment(native)
    assert (found["EXTRA"], found["LAST"]) == (value, "z")


@each_quadlet
def test_labels_are_carried_like_variables(quadlet: Quadlet, tmp_path: Path) -> None:
    text = unit(one(f"{CPU}, labels: {{a.b/c: 'x \"y\" 100% $z', empty: ''}}}}"))
    assert podman_run(quadlet, tmp_path / "u", text).options("--label") == ['a.b/c=x "y" 100% $z', "empty="]


# https://github.com/containers/podman/issues/20992
ROOT = "/root"
"""The home of a rootful service."""


@each_quadlet
@pytest.mark.parametrize(
    ("written", "mounted"),
    [
        ("/srv/my models:/data:ro,z", "/srv/my models:/data:ro,z"),
        ("/srv/a:/in the box", "/srv/a:/in the box"),
        ("/srv/100%:/a$b:ro", "/srv/100%:/a$b:ro"),
        ("/srv/a\\b:/c", "/srv/a\\b:/c"),
        ("~/notes:/notes:ro", f"{ROOT}/notes:/notes:ro"),
    ],
)
def test_a_volume_is_one_word_without_quotes_of_its_own(
    quadlet: Quadlet, written: str, mounted: str, tmp_path: Path
) -> None:
    text = unit(one(f"{CPU}, volumes: [{flow(written)}]}}"))
    words = podman_run(quadlet, tmp_path / "u", text)
    assert mounted in words.options("-v")
    assert "/srv/models:/models:ro,z" in words.options("-v")


def test_home_in_a_volume_is_that_of_the_rootless_user() -> None:
    text = unit(one(f"{CPU}, rootless: ada, volumes: '~/notes:/notes'}}"))
    assert "/home/ada/notes:/notes" in values(text, "Container", "Volume")


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("/srv/a:b:/data:ro", "'/srv/a:b:/data:ro' is no src:dst[:options]"),
        ("/srv/a", "'/srv/a' is no src:dst[:options]"),
        ("models:/data", "'models' names a volume that nothing declares"),
        ("./models:/data", "'./models' is no absolute path"),
        ("/srv/a:data", "'data' is no absolute path without .."),
        ("/srv/../etc:/data", "'/srv/../etc' is no absolute path without .."),
        ("/srv/a:/data/..", "'/data/..' is no absolute path without .."),
        ("/srv/a:/data:readonly", "'readonly' is no mount option"),
        ("/srv/a:/models", "/models is mounted already"),
        ("/srv/a:/models/", "/models/ is mounted already"),
    ],
)
def test_a_volume_that_podman_would_read_otherwise_is_refused(written: str, reason: str) -> None:
    problem = refusal(one(f"{CPU}, volumes: ['{written}']}}"))
    assert (problem.message, (problem.path or ())[:3]) == (reason, ("hosts", "claw", "volumes"))


@pytest.mark.parametrize("written", ['/srv/"a":/data', "/srv/it's:/data", "/srv/a:/data\\"])
def test_a_volume_with_quotes_which_would_stay_in_the_path_is_refused(written: str) -> None:
    problem = refusal(one(f"{CPU}, volumes: [{flow(written)}]}}"))
    assert (problem.code, problem.path) == ("unsafe-value", ("hosts", "claw", "volumes"))


# https://github.com/containers/podman/issues/26542: an empty argument, and a lone semicolon, end the list
@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ('flags: {chat-template: "", jinja: true}', '""'),
        ('flags: {chat-template: ";"}', '";"'),
        ('alias: ";"', '";"'),
    ],
)
def test_an_argument_that_a_quadlet_cannot_carry_is_refused_naming_the_flag(fields: str, where: str) -> None:
    problem = refusal(one(f"{CPU}, {fields}}}"))
    flag = "--alias" if "alias" in fields else "--chat-template"
    assert (problem.code, marked(problem)) == ("unsafe-value", where)
    assert problem.message.startswith(f"{flag}: ")
    assert problem.hint == "leave it out, or use runtime: systemd"


@pytest.mark.parametrize("item", ["''", "';'"])
def test_an_item_that_a_quadlet_cannot_carry_is_refused(item: str) -> None:
    problem = refusal(one(f"{CPU}, extra_args: [--chat-template, {item}, --jinja]}}"))
    assert (problem.code, problem.path) == ("unsafe-value", ("hosts", "claw", "extra_args"))


@pytest.mark.parametrize(("written", "word"), [('""', ""), ('";"', ";")])
def test_a_native_unit_carries_them_as_one_argument_each(written: str, word: str) -> None:
    text = unit(one(f"{CPU}, runtime: systemd, flags: {{chat-template: {written}, jinja: true}}}}"))
    assert native_words(text)[-3:] == ["--chat-template", word, "--jinja"]


@each_quadlet
def test_a_generator_really_loses_what_is_refused(quadlet: Quadlet, tmp_path: Path) -> None:
    text = unit(one(f"{CPU}, flags: {{chat-template: gone, jinja: true}}}}")).replace(" gone ", ' "" ')
    argv = podman_run(quadlet, tmp_path / "u", text).server
    assert argv[-1] == "--chat-template"
