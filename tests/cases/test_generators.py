"""What other generators of units got wrong, each through the whole chain and the real Quadlet."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleets import (
    CPU,
    ENGINES,
    accepted,
    after,
    flow,
    generated,
    marked,
    native_environment,
    native_words,
    one,
    podman_run,
    problems,
    refusal,
    started,
    unit,
    units,
    values,
)
from hostile import SNIPPETS
from parts import Quadlet, each_quadlet
from systemd_words import assignments, specified

REAL = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
CPU_IMAGE = "ghcr.io/ggml-org/llama.cpp:server-b10715"
BATCH = 12
"""Hosts in one run of a generator."""


def fleet(hosts: dict[str, Any]) -> str:
    """A fleet of hosts as Python holds them: JSON is YAML."""
    return f"{ENGINES}hosts: {flow(hosts)}\n"


def cpu(**fields: Any) -> dict[str, Any]:
    return {"model": "plain", "backend": "cpu", "engine": "cpu", "context": 4096, **fields}


# https://github.com/containers/podman/issues/9176
DOLLARS = ["a$b%c", "100%", "50% faster", "$HOME", "${HOME}", "%h", "%%", "$$", "%", "$", "a%20b", "$$${X}%%%d", "%z"]


@each_quadlet
@pytest.mark.parametrize("text", DOLLARS)
def test_nothing_expands_what_a_fleet_says(quadlet: Quadlet, text: str, tmp_path: Path) -> None:
    fields = {"env": {"PW": text}, "labels": {"l": text}, "alias": text, "flags": {"chat-template": text}}
    container = unit(fleet({"claw": cpu(**fields)}))
    words = podman_run(quadlet, tmp_path / "u", container)
    assert f"PW={text}" in words.options("--env")
    assert f"l={text}" in words.options("--label")
    argv = words.server
    assert (after(argv, "--alias"), after(argv, "--chat-template")) == (text, text)


@pytest.mark.parametrize("text", DOLLARS)
def test_nothing_expands_what_a_native_unit_says(text: str) -> None:
    fields = {"env": {"PW": text}, "alias": text, "flags": {"chat-template": text}, "runtime": "systemd"}
    native = unit(fleet({"claw": cpu(**fields)}))
    argv = native_words(native)
    assert (after(argv, "--alias"), after(argv, "--chat-template")) == (text, text)
    assert native_environment(native)["PW"] == text


@each_quadlet
def test_dollar_and_percent_are_doubled_where_each_is_read_and_only_there(quadlet: Quadlet, tmp_path: Path) -> None:
    fields = {"env": {"PW": "a$b%c"}, "flags": {"chat-template": "d$e%f"}}
    container = unit(fleet({"claw": cpu(**fields)}))
    native = unit(fleet({"claw": cpu(**fields, runtime="systemd")}))
    assert "PW=a$$b%%c" in "".join(values(container, "Container", "Environment"))
    assert "d$$e%%f" in values(container, "Container", "Exec")[0]
    assert "PW=a$b%%c" in "".join(values(native, "Service", "Environment"))
    assert "d$$e%%f" in values(native, "Service", "ExecStart")[0]
    assert "PW=a$b%c" in podman_run(quadlet, tmp_path / "u", container).options("--env")


@each_quadlet
@pytest.mark.parametrize("runtime", ["podman", "systemd"])
def test_a_model_s_name_stands_in_the_description_as_it_is(quadlet: Quadlet, runtime: str, tmp_path: Path) -> None:
    name = "50% faster $HOME %h"
    models = f"  {flow(name)}: {{file: fast.gguf}}\n"
    text = unit(
        one(f"{{model: {flow(name)}, backend: cpu, context: 1, runtime: {runtime}, engine: cpu}}", above=models)
    )
    if runtime == "podman":
        made = generated(quadlet, tmp_path / "u", u=text).services["u.service"]
        (description,) = assignments(made, "Description", "Unit")
    else:
        (description,) = values(text, "Unit", "Description")
    assert specified(description.encode()).decode() == f"llama-server: {name} on cpu"


@pytest.fixture(name="carried", scope="module")
def _carried() -> tuple[dict[int, str], dict[int, set[str]]]:
    """Each hostile text as a service's alias, variable and label: the units, and the fields that were refused."""
    services = {
        f"s{at}": {"alias": text or "x", "env": {"X": text}, "labels": {"l": text}, "publish": False}
        for at, text in enumerate(SNIPPETS)
    }
    refused: dict[int, set[str]] = {}
    for problem in problems(fleet({"claw": {**cpu(), "services": services}})):
        path = problem.path or ()
        assert path[:3] == ("hosts", "claw", "services"), problem.message
        assert problem.code in ("unsafe-value", "unexpected-value"), problem.message
        refused.setdefault(int(str(path[3])[1:]), set()).add(str(path[4]))
        for field in {str(path[4])} & set(services[str(path[3])]):
            del services[str(path[3])][field]
    compiled = accepted(fleet({"claw": {**cpu(), "services": services}}))
    rendered = {int(Path(path).stem[1:]): text for path, text in units(compiled).items()}
    return rendered, refused


@each_quadlet
def test_every_hostile_text_arrives_whole_or_was_refused_at_its_field(
    quadlet: Quadlet, carried: tuple[dict[int, str], dict[int, set[str]]], tmp_path: Path
) -> None:
    rendered, refused = carried
    assert sorted(rendered) == list(range(len(SNIPPETS)))
    made = generated(quadlet, tmp_path / "u", **{f"s{at}": text for at, text in rendered.items()})
    assert (made.status, made.messages, len(made.services)) == (0, [], len(SNIPPETS))
    for at, text in enumerate(SNIPPETS):
        words = started(made.services[f"s{at}.service"], CPU_IMAGE)
        argv = words.server
        lost = refused.get(at, set())
        assert ("env" in lost) == (f"X={text}" not in words.options("--env")), text
        assert ("labels" in lost) == (f"l={text}" not in words.options("--label")), text
        if "alias" not in lost:
            assert after(argv, "--alias") == (text or "x")
        assert argv[-1] == "--metrics", "the arguments after a hostile one are still there"


def test_what_is_refused_of_hostile_texts_is_little(carried: tuple[dict[int, str], dict[int, set[str]]]) -> None:
    for at in carried[1]:
        unseen = re.search(r"[\x00-\x1f\x7f-\x9f\u200b\u2028\ufeff\ufffe\ufdd0\U0010fffe]", SNIPPETS[at])
        assert unseen or SNIPPETS[at] in (";", "~", "~/x")


# https://github.com/containers/ramalama/issues/1078
LIMITS: list[dict[str, Any]] = [
    {},
    {"memory": "1g"},
    {"nofile": 1024, "memlock": "unlimited"},
    {"cpus": 2, "pids": 9},
]


@st.composite
def hosts(draw: st.DrawFn) -> tuple[dict[str, Any], Counter[str]]:
    """A host with fields of every kind, and how often each key must stand in its unit beyond a plain host's."""
    number = st.integers(0, 3)
    volumes = [f"/srv/v{at}:/v{at}:ro,z" for at in range(draw(number))]
    env = {f"E{at}": draw(st.sampled_from(["x", "a b", "ends in \\", ""])) for at in range(draw(number))}
    labels = {f"l{at}": "y" for at in range(draw(number))}
    secrets = {f"S{at}": "name" for at in range(draw(number))} | {f"/run/s{at}": "name" for at in range(draw(number))}
    networks = [f"n{at}" for at in range(draw(number))]
    limits: dict[str, Any] = draw(st.sampled_from(LIMITS))
    health = draw(st.sampled_from([False, {}, {"start_period": "5m"}]))
    publish = draw(st.booleans())
    expected = Counter(
        Volume=len(volumes), Environment=len(env), Label=len(labels), Secret=len(secrets), Network=len(networks),
        PublishPort=int(publish), Ulimit=len(limits.keys() & {"nofile", "memlock"}),
        PidsLimit=int("pids" in limits), PodmanArgs=len(limits.keys() & {"memory", "cpus"}),
    )  # fmt: skip
    if health is not False:
        expected.update(["HealthCmd", "HealthInterval", "HealthTimeout", "HealthRetries", "HealthStartupCmd", "Notify"])
        expected.update(["HealthStartupInterval", "HealthStartupTimeout", *["HealthStartPeriod"] * bool(health)])
    fields = {
        "volumes": volumes, "env": env, "labels": labels, "secrets": secrets, "network": networks, "limits": limits,
        "health": health, "publish": publish,
    }  # fmt: skip
    return cpu(**{key: value for key, value in fields.items() if value != []}), +expected


def keys_of(text: str) -> Counter[str]:
    """How often each key stands in [Container], where every line must be a key with its value."""
    keys: Counter[str] = Counter()
    section = ""
    for line in text.split("\n"):
        if line.startswith("["):
            section = line
        elif line and not line.startswith("#"):
            assert re.fullmatch(r"[A-Z][A-Za-z0-9]+=\S.*", line), line
            keys[line.partition("=")[0]] += section == "[Container]"
    return +keys


@each_quadlet
@REAL
@given(batch=st.lists(hosts(), min_size=BATCH, max_size=BATCH))
def test_every_key_stands_on_a_line_of_its_own_as_often_as_was_decided(
    quadlet: Quadlet, batch: list[tuple[dict[str, Any], Counter[str]]], tmp_path: Path
) -> None:
    plain = keys_of(unit(fleet({"plain": cpu(publish=False, health=False)})))
    compiled = accepted(fleet({f"h{at}": fields for at, (fields, _) in enumerate(batch)}))
    texts = {f"u{at}": text for at, text in enumerate(units(compiled).values())}
    made = generated(quadlet, tmp_path / "u", **texts)
    assert (made.status, made.messages, len(made.services)) == (0, [], len(batch))
    for (_, expected), (name, text) in zip(batch, texts.items(), strict=True):
        assert text == text.strip("\n") + "\n"
        assert keys_of(text) == plain + expected
        words = started(made.services[f"{name}.service"], CPU_IMAGE)
        for option, key in (
            ("-v", "Volume"),
            ("--env", "Environment"),
            ("--label", "Label"),
            ("--publish", "PublishPort"),
        ):
            assert len(words.options(option)) == (plain + expected)[key]


# https://github.com/containers/podlet/issues/160
@each_quadlet
@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ("", "http://127.0.0.1:8080/health"),
        ("port: 9000", "http://127.0.0.1:9000/health"),
        ("bind: '::1', network: host", "http://[::1]:8080/health"),
        ("network: host, bind: 0.0.0.0, api_key: false", "http://127.0.0.1:8080/health"),
        ("flags: {api-prefix: /v}", "http://127.0.0.1:8080/v/health"),
    ],
)
def test_the_health_check_is_an_array_that_podman_gets_as_it_is(
    quadlet: Quadlet, fields: str, url: str, tmp_path: Path
) -> None:
    text = unit(one(f"{CPU}{', ' if fields else ''}{fields}}}"))
    (written,) = values(text, "Container", "HealthCmd")
    assert written.startswith('["curl",')
    words = podman_run(quadlet, tmp_path / "u", text)
    for option in ("--health-cmd", "--health-startup-cmd"):
        assert words.options(option) == [written]
    assert (json.loads(written)[0], json.loads(written)[-1]) == ("curl", url)
    assert "--noproxy" in json.loads(written)
    assert "--sdnotify=healthy" in words.podman


def test_without_a_probe_nothing_waits_for_health() -> None:
    text = unit(one(f"{CPU}, health: false}}"))
    assert not [line for line in text.splitlines() if line.startswith(("Health", "Notify"))]


def test_the_probe_s_command_cannot_be_written_by_hand() -> None:
    problem = refusal(
        one(f"{CPU}, unit: {{Container: {{HealthCmd: 'curl -f http://127.0.0.1:8080/health || exit 1'}}}}}}")
    )
    assert (problem.code, problem.message) == ("unexpected-value", "HealthCmd= is decided by `health`")
    problem = refusal(one(f"{CPU}, health: {{cmd: curl}}}}"))
    assert (problem.code, marked(problem)) == ("unknown-key", "cmd")
