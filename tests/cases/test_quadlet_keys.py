"""Keys that a Podman does not know, names that no unit can have, ports in odd forms: refused, or written right."""

from pathlib import Path

import pytest

from fleets import (
    CPU,
    accepted,
    after,
    flow,
    generated,
    marked,
    one,
    podman_run,
    refusal,
    refusals,
    unit,
    units,
    values,
)
from parts import OLDEST, Quadlet, each_quadlet

# https://github.com/Glyndor/podup/pull/952
NEWER = {"AppArmor": "unconfined", "HttpProxy": "false", "Retry": "3", "RetryDelay": "5s"}


def test_the_memory_limit_is_an_argument_where_podman_has_no_key_for_it() -> None:
    fields = f"{CPU}, limits: {{memory: 64g}}"
    for version, expected in (("5.4.2", []), ("5.5.0", ["68719476736"]), ("5.8.6", ["68719476736"])):
        text = unit(one(f'{fields}, podman: "{version}"}}'))
        assert values(text, "Container", "Memory") == expected
        assert values(text, "Container", "PodmanArgs") == ([] if expected else ["--memory=68719476736"])


@each_quadlet
def test_every_generator_takes_the_unit_for_the_oldest_podman_and_both_limit_the_memory(
    quadlet: Quadlet, tmp_path: Path
) -> None:
    keys = ", ".join(f'{key}: "{value}"' for key, value in NEWER.items())
    text = unit(one(f"{CPU}, limits: {{memory: 1GiB}}, unit: {{Container: {{{keys}}}}}}}"))
    words = podman_run(quadlet, tmp_path / "u", text)
    assert {"--memory=1073741824", "--security-opt=apparmor=unconfined", "--http-proxy=false", "--retry=3"} <= set(
        words.podman
    )
    assert "--retry-delay=5s" in words.podman


@each_quadlet
def test_a_key_that_is_too_new_costs_the_whole_unit_so_it_is_written_only_where_podman_knows_it(
    quadlet: Quadlet, tmp_path: Path
) -> None:
    keys = ", ".join(f'{key}: "{value}"' for key, value in NEWER.items())
    text = unit(one(f'{CPU}, podman: "5.8.6", limits: {{memory: 1g}}, unit: {{Container: {{{keys}}}}}}}'))
    assert {key: values(text, "Container", key) for key in NEWER} == {key: [value] for key, value in NEWER.items()}
    run = generated(quadlet, tmp_path / "u", u=text)
    assert list(run.services) == ([] if quadlet.version == OLDEST else ["u.service"])


def test_a_null_leaves_out_an_argument_that_stands_for_a_newer_key() -> None:
    assert "AppArmor" not in unit(one(f"{CPU}, unit: {{Container: {{AppArmor: null}}}}}}"))


@pytest.mark.parametrize("key", ["ReloadCmd", "ReloadSignal"])
def test_a_newer_key_that_no_argument_stands_for_is_refused_with_the_version_that_has_it(key: str) -> None:
    fields = f"unit: {{Container: {{{key}: HUP}}}}"
    problem = refusal(one(f"{CPU}, {fields}}}"))
    assert (problem.code, marked(problem)) == ("unsupported-key", key)
    assert problem.message == f"Podman 5.4.2 has no {key}= (new in 5.5.0), and would drop the whole unit"
    assert problem.hint == "state the host's Podman as `podman:` where it is 5.5.0 or newer, or leave the key out"
    assert values(unit(one(f'{CPU}, podman: "5.5.0", {fields}}}')), "Container", key) == ["HUP"]


@pytest.mark.parametrize("key", ["IpcMode", "AppAmor", "image", "Restart"])
def test_a_key_that_no_podman_has_is_refused(key: str) -> None:
    problem = refusal(one(f"{CPU}, unit: {{Container: {{{key}: x}}}}}}"))
    assert (problem.code, marked(problem)) == ("unsupported-key", key)


@pytest.mark.parametrize("version", ["4.3.1", "4.3", "3.4.4"])
def test_a_podman_without_quadlet_is_refused_and_pointed_to_native_units(version: str) -> None:
    problem = refusal(one(f'{CPU}, podman: "{version}"}}'))
    assert (problem.code, problem.hint) == ("unsupported-key", "use runtime: systemd")
    assert unit(one(f'{CPU}, podman: "{version}", runtime: systemd}}'))


def test_what_is_no_version_is_refused() -> None:
    for version in ("five", "5.x", "''"):
        assert refusals(one(f"{CPU}, podman: {version}}}"))[0].code == "unexpected-value"


# https://github.com/onlyati/quadlet-lsp/pull/33
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("qwen3.6:27b", "name it qwen3.6-27b"),
        ("a+b", "name it a-b"),
        ("Ünï", "name it n"),
        ("-lead", "name it lead"),
        (".hidden", "name it hidden"),
        ("../x", "name it x"),
        ("a/b", "name it a-b"),
        ("x y", "name it x-y"),
        ("a@b", "name it a-b"),
        ("a\\b", "name it a-b"),
        ("%h", "name it h"),
        ("x" * 201, None),
        ("", None),
        ("日本", None),
    ],
)
@pytest.mark.parametrize("what", ["service", "host"])
def test_a_name_that_no_unit_container_or_directory_can_have_is_refused_with_one_that_can(
    what: str, name: str, hint: str | None
) -> None:
    service = f"{{backend: cpu, engine: cpu, services: {{{flow(name)}: {{model: plain, context: 4096}}}}}}"
    text = one(service) if what == "service" else one(f"{CPU}}}", host=flow(name))
    (problem, *more) = refusals(text)
    assert (problem.code, problem.hint) == ("unsafe-value", hint)
    assert f"cannot name a {what}" in problem.message
    assert [other.code for other in more if other.path != problem.path] == []


@each_quadlet
def test_a_service_has_one_name_as_file_unit_and_container(quadlet: Quadlet, tmp_path: Path) -> None:
    names = ["qwen3.6-27b", "A_b.c-d", "0", "x" * 200]
    services = ", ".join(
        f'"{name}": {{model: plain, context: 4096, port: {8080 + at}}}' for at, name in enumerate(names)
    )
    compiled = accepted(one(f"{{backend: cpu, engine: cpu, services: {{{services}}}}}"))
    rendered = {path.rpartition("/")[2].removesuffix(".container"): text for path, text in units(compiled).items()}
    assert set(rendered) == set(names)
    (tmp_path / "u").mkdir()
    for name, text in rendered.items():
        (tmp_path / "u" / f"{name}.container").write_text(text)
        assert values(text, "Container", "ContainerName") == [name]
        assert len(f".{name}.container.quadgen-new") <= 255
    run = quadlet.run(tmp_path / "u")
    assert (run.status, run.messages, set(run.services)) == (0, [], {f"{name}.service" for name in names})


# https://github.com/Glyndor/podup/pull/952
@each_quadlet
@pytest.mark.parametrize(
    ("fields", "published"),
    [
        ("", "127.0.0.1:8080:8080"),
        ("port: 1", "127.0.0.1:1:1"),
        ("port: 65535", "127.0.0.1:65535:65535"),
        ("bind: 192.168.1.5, port: 80", "192.168.1.5:80:80"),
        ("bind: '::1'", "[::1]:8080:8080"),
        ("bind: 'fd00::2', port: 9000", "[fd00::2]:9000:9000"),
        ("bind: localhost", "127.0.0.1:8080:8080"),
        ("bind: '::'", "[::]:8080:8080"),
    ],
)
def test_a_published_port_has_the_one_form_that_podman_takes(
    quadlet: Quadlet, fields: str, published: str, tmp_path: Path
) -> None:
    text = unit(one(f"{CPU}, api_key: false{', ' if fields else ''}{fields}}}"))
    words = podman_run(quadlet, tmp_path / "u", text)
    assert words.options("--publish") == [published]
    assert after(words.server, "--port") == published.rpartition(":")[2]


@pytest.mark.parametrize(
    "port", ["99999", "0", "-1", "65536", "'8080'", "'8080:8080'", "http", "8080.0", "8e3", "true"]
)
def test_a_port_out_of_range_or_with_more_in_it_is_refused(port: str) -> None:
    problem = refusal(one(f"{CPU}, port: {port}}}"))
    assert (problem.code, problem.path, marked(problem)) == ("unexpected-value", ("hosts", "claw", "port"), port)
    assert problem.message.startswith("`port` takes a port from 1 to 65535")


@pytest.mark.parametrize(
    ("bind", "hint"),
    [
        ("'[::1]'", "write ::1"),
        ("'127.0.0.1:8080'", "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"),
        ("300.1.1.1", "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"),
        ("127.1", "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"),
        ("claw.lan", "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"),
        ("'*'", "such as 127.0.0.1, 0.0.0.0 or ::1; the port is `port`"),
    ],
)
def test_an_address_that_is_none_is_refused(bind: str, hint: str) -> None:
    problem = refusal(one(f"{CPU}, api_key: false, bind: {bind}}}"))
    assert (problem.code, problem.hint, marked(problem)) == ("unexpected-value", hint, bind)


def test_loopback_with_a_port_in_it_is_another_address_and_so_an_open_one() -> None:
    problem = refusal(one(f"{CPU}, bind: '::1:8080'}}"))
    assert (problem.code, marked(problem)) == ("exposed", "'::1:8080'")
