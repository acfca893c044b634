"""What YAML did to people's values between the file and the server, through the whole chain."""

from pathlib import Path

import pytest

from fleets import (
    CPU,
    ENGINES,
    after,
    marked,
    native_words,
    one,
    podman_run,
    refusal,
    refusals,
    unit,
    values,
)
from parts import Quadlet, each_quadlet


def words(fields: str) -> list[str]:
    """The words of a native server with these fields."""
    return native_words(unit(one(f"{CPU}, runtime: systemd, {fields}}}")))


# https://github.com/hiyouga/LlamaFactory/pull/4446
@each_quadlet
@pytest.mark.parametrize(
    "flags",
    [
        "{flash-attn: off, jinja: yes, log-colors: on}",
        "{flash-attn: 'off', jinja: 'yes', log-colors: \"on\"}",
        "{flash-attn: false, jinja: true, log-colors: true}",
        "{flash-attn: off, jinja: on, log-colors: on}",
    ],
)
def test_on_and_off_are_words_and_never_true_and_false(quadlet: Quadlet, flags: str, tmp_path: Path) -> None:
    text = unit(one(f"{CPU}, flags: {flags}, env: {{COUNTRY: no, ANSWER: yes}}}}"))
    found = podman_run(quadlet, tmp_path / "u", text)
    assert found.server[-5:] == ["--flash-attn", "off", "--jinja", "--log-colors", "on"]
    assert {"COUNTRY=no", "ANSWER=yes"} <= set(found.options("--env"))
    assert "True" not in text
    assert "False" not in text


@pytest.mark.parametrize("word", ["off", "no", "false", "'false'", "Off", "0"])
def test_a_switch_is_turned_off_by_any_word_for_it(word: str) -> None:
    assert words(f"flags: {{jinja: {word}}}")[-1] == "--no-jinja"
    assert words(f"flags: {{no-jinja: {word}}}")[-1] == "--jinja"


@pytest.mark.parametrize("word", ["auto", "on", "off"])
def test_a_flag_with_words_of_its_own_gets_the_one_that_was_written(word: str) -> None:
    assert words(f"flags: {{flash-attn: {word}}}")[-2:] == ["--flash-attn", word]


@pytest.mark.parametrize("field", ["publish", "autostart"])
@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "0", "'true'"])
def test_a_field_that_is_true_or_false_takes_no_other_word(field: str, word: str) -> None:
    problem = refusal(one(f"{CPU}, {field}: {word}}}"))
    assert (problem.code, problem.path, marked(problem)) == ("unexpected-value", ("hosts", "claw", field), word)
    assert problem.message.startswith(f"`{field}` takes true or false, not ")


# https://github.com/docker/compose/issues/5267
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("  claw: {model: plain}\n", "  claw: {model: plain}\n"),
        ("  claw:\n    model: plain\n    context: 1\n", "    context: 2\n"),
        ("  claw:\n    env:\n      A: x\n", "      A: x\n"),
        ("  claw:\n    services:\n      chat: {model: plain}\n", "      chat: {model: plain}\n"),
        ("  claw: {model: plain}\n", "version: 1\n"),
        ("  claw: {model: plain}\n", "hosts: {}\n"),
    ],
)
def test_a_key_that_is_given_twice_is_refused_with_both_lines(before: str, after: str) -> None:
    text = f"{ENGINES}hosts:\n{before}"
    second = text.count("\n") + 1
    problem = refusal(text + after)
    key = after.partition(":")[0].strip()
    first = next(number for number, line in enumerate(text.split("\n"), 1) if line.strip().startswith(f"{key}:"))
    assert (problem.code, marked(problem)) == ("duplicate-key", key)
    assert problem.message == f"`{key}` is given twice: lines {first} and {second}"
    assert problem.place is not None
    assert problem.place.line == second


def test_a_key_that_is_given_twice_on_one_line_is_refused_and_every_other_one_too() -> None:
    found = [(problem.code, problem.message) for problem in refusals("a: {b: 1, b: 2}\nc: 1\nc: 2\nc: 3\n")]
    assert found == [
        ("duplicate-key", "`b` is given twice on line 1"),
        ("duplicate-key", "`c` is given 3 times: lines 2, 3 and 4"),
    ]


def test_a_key_beside_a_merge_is_no_duplicate_and_wins() -> None:
    above = "x-base: &base {model: plain, backend: cpu, engine: cpu, context: 4096, alias: merged}\n"
    text = unit(one("{<<: *base, alias: own}", above=above))
    assert "--alias own " in values(text, "Container", "Exec")[0]


# https://github.com/opensanctions/opensanctions/issues/3845
@pytest.mark.parametrize("field", ["port", "context", "slots"])
@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("08080", "write 8080"),
        ("0755", "write 755"),
        ("010", "write 10"),
        ("'080'", "write 80"),
        ("0o17", "write 15"),
        ("0x10", "write 16"),
        ("8_080", "write 8080"),
        ("+8", "write 8"),
        ("8.0", "write 8"),
        ("1e2", "write 100"),
        ("22:22", None),
        ("eight", None),
    ],
)
def test_a_number_that_readers_of_yaml_take_differently_is_refused(field: str, written: str, hint: str | None) -> None:
    problem = refusal(one(f"{CPU.replace(', context: 4096', '')}, {field}: {written}}}"))
    assert (problem.code, marked(problem)) == ("unexpected-value", written)
    assert problem.hint == hint or (field == "slots" and problem.hint is None), "a hint that fits the field"
    assert problem.message.startswith(f"`{field}` takes ")
    assert problem.message.endswith(", in plain decimal digits")


def test_a_published_port_in_compose_s_words_is_pointed_to_the_field() -> None:
    problem = refusal(one(f'{CPU}, ports: ["08080:8080"]}}'))
    assert (problem.code, marked(problem), problem.hint) == ("unknown-key", "ports", "it is called `port` here")


# https://github.com/yaml/pyyaml/issues/116
@each_quadlet
def test_a_plain_scalar_reaches_the_server_as_it_was_written(quadlet: Quadlet, tmp_path: Path) -> None:
    written = {
        "A": "1.10", "B": "11.0", "C": "1e5", "D": "0x10", "E": "+5", "F": ".5", "G": "010", "H": "12:30:00",
        "I": "2026-01-01", "J": "1_000", "K": "1.", "L": "-0", "M": ".inf", "N": "0o17", "O": "nan", "P": "5.10",
    }  # fmt: skip
    body = ", ".join(f"{name}: {value}" for name, value in written.items())
    text = unit(one(f"{CPU}, alias: 1.10, flags: {{temp: 0.80}}, env: {{{body}}}, labels: {{{body}}}}}"))
    found = podman_run(quadlet, tmp_path / "u", text)
    assert {f"{name}={value}" for name, value in written.items()} <= set(found.options("--env"))
    assert {f"{name}={value}" for name, value in written.items()} <= set(found.options("--label"))
    assert (after(found.server, "--alias"), after(found.server, "--temperature")) == ("1.10", "0.80")


def test_a_version_without_quotes_is_the_one_that_was_written() -> None:
    for written, key in (("5.10", "Memory"), ("5.1", "PodmanArgs"), ("'5.10'", "Memory")):
        text = unit(one(f"{CPU}, podman: {written}, limits: {{memory: 1g}}}}"))
        assert values(text, "Container", key)


def test_a_build_of_digits_alone_is_text() -> None:
    text = one(f"{CPU}, image: 'registry.lan/llama:1.10'}}").replace(
        "build: b10715, backends: [cpu]", "build: 1.10, backends: [cpu]"
    )
    assert "# plain on cpu, llama.cpp 1.10\n" in unit(text)


@pytest.mark.parametrize("field", ["env: {X: %s}", "labels: {X: %s}", "alias: %s"])
@pytest.mark.parametrize(
    ("word", "said"), [("true", "true is none"), ("False", "false is none"), ("[a]", "not a list")]
)
def test_a_truth_value_or_a_list_is_no_text(field: str, word: str, said: str) -> None:
    problem = refusal(one(f"{CPU}, {field % word}}}"))
    assert (problem.code, marked(problem)) == ("unexpected-value", word)
    assert said in problem.message


@pytest.mark.parametrize("flag", ["threads", "n-predict"])
@pytest.mark.parametrize("value", ["1e5", "8k", "4.0", "'8 '", "1_000"])
def test_a_whole_number_that_the_server_would_read_in_part_is_refused(flag: str, value: str) -> None:
    problem = refusal(one(f"{CPU}, flags: {{{flag}: {value}}}}}"))
    assert (problem.code, marked(problem)) == ("bad-flag-value", value)


def test_null_takes_out_what_a_lower_layer_says() -> None:
    above = "defaults: {env: {A: x, B: y}, alias: low}\n"
    text = unit(one(f"{CPU}, env: {{A: null, B: ~}}, alias: null}}", above=above))
    assert values(text, "Container", "Environment") == ["HOME=/cache", "XDG_CONFIG_HOME=/nonexistent"]
    assert "--alias plain " in values(text, "Container", "Exec")[0]
