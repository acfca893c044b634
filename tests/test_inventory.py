"""What a fleet is to Ansible: hosts, groups and variables; and what Ansible would misread."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleets import CPU, ENGINES, compile_text, flow, one
from quadgen.fleet.values import NAME
from quadgen.inventory import Host, Inventory, Reached, Service, listing, read, variables
from quadgen.problems import Problem, Rejected
from source import ROOT

FLEETS = [ROOT / "fleet.yml", *sorted((ROOT / "examples").glob("*/fleet.yml"))]


def inventory(text: str) -> Inventory:
    return read("fleet.yml", text.encode())


def refused(text: str) -> list[Problem]:
    with pytest.raises(Rejected) as caught:
        inventory(text)
    return list(caught.value.problems)


def hosts(**fields: str) -> str:
    """A fleet of CPU hosts with these fields beside the usual."""
    return ENGINES + "hosts:\n" + "".join(f"  {name}: {CPU}{more}}}\n" for name, more in fields.items())


def address(text: str) -> Reached | None:
    (host,) = inventory(hosts(claw=f", address: {flow(text)}")).hosts
    return host.address


def test_a_host_is_in_a_group_for_each_thing_that_a_playbook_is_aimed_at() -> None:
    found = inventory(f"""\
{ENGINES}groups: {{desk: {{context: 4096}}, rack: {{}}}}
hosts:
  claw: {{model: plain, backend: cpu, engine: cpu, groups: [desk, rack]}}
  forge:
    backend: cuda
    runtime: systemd
    services:
      chat: {{model: headed, profile: copy}}
      embed: {{model: plain, profile: none, port: 8081}}
""")
    assert found.groups == {
        "backend_cpu": ("claw",),
        "backend_cuda": ("forge",),
        "engine_cpu": ("claw",),
        "engine_cuda": ("forge",),
        "group_desk": ("claw",),
        "group_rack": ("claw",),
        "model_headed": ("forge",),
        "model_plain": ("claw", "forge"),
        "profile_copy": ("forge",),
        "profile_default": ("claw",),
        "profile_none": ("forge",),
        "quadgen": ("claw", "forge"),
        "runtime_podman": ("claw",),
        "runtime_systemd": ("forge",),
    }
    assert listing(found)["all"] == {"children": [*found.groups, "ungrouped"]}
    assert [*listing(found)["_meta"]["hostvars"]] == ["claw", "forge"]


def test_the_variables_of_a_host_say_how_it_is_reached_and_what_runs_there() -> None:
    (host,) = inventory(one(CPU + ", address: 'ada@claw.example.org:2222', rootless: llm, port: 9000}")).hosts
    assert variables(host) == {
        "ansible_host": "claw.example.org",
        "ansible_port": 2222,
        "ansible_user": "ada",
        "quadgen_groups": [],
        "quadgen_host": "claw",
        "quadgen_rootless": "llm",
        "quadgen_runtime": "podman",
        "quadgen_services": [
            {
                "backend": "cpu",
                "bind": "127.0.0.1",
                "build": "b10715",
                "engine": "cpu",
                "model": "plain",
                "name": "llama-server",
                "port": 9000,
                "profile": "default",
                "unit": "llama-server.service",
            }
        ],
    }


@pytest.mark.parametrize("path", FLEETS, ids=lambda path: str(path.relative_to(ROOT).parent))
def test_what_is_said_of_a_service_is_what_was_decided_for_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    beside = {
        str(file.relative_to(path.parent)): file.read_text(encoding="utf-8")
        for file in (*path.parent.glob("measurements/*.yml"), *path.parent.glob("*.lock.yml"))
    }
    compiled = compile_text(text, beside)
    said = {(host.name, service.name): service for host in inventory(text).hosts for service in host.services}
    decided = [each for services in compiled.resolved.hosts.values() for each in services]
    assert decided
    for each in decided:
        assert said[each.host.name, each.name] == Service(
            name=each.name,
            engine=each.engine.name,
            build=each.engine.build,
            backend=each.backend,
            model=each.model.name,
            profile=each.decision.profile.name,
            port=each.port,
            bind=each.binds,
        )


@pytest.mark.parametrize(
    ("fields", "bind"),
    [
        ("", "127.0.0.1"),
        (", publish: false", None),
        (", publish: false, network: host", "127.0.0.1"),
        (", publish: false, runtime: systemd", "127.0.0.1"),
        (", bind: '::1'", "::1"),
    ],
)
def test_a_service_that_takes_no_port_of_its_host_has_no_address_there(fields: str, bind: str | None) -> None:
    (host,) = inventory(hosts(claw=fields)).hosts
    assert host.services[0].bind == bind


def test_a_service_that_nothing_measured_allows_is_listed_as_it_was_asked_for() -> None:
    text = one("{model: headed, backend: vulkan, profile: copy, context: 4096}")
    assert compile_text(text).refused
    assert inventory(text).groups["profile_copy"] == ("claw",)


def test_a_service_whose_engine_cannot_be_told_has_none() -> None:
    (host,) = inventory(one("{model: plain, backend: cpu}")).hosts  # two engines have cpu
    assert (host.services[0].engine, host.services[0].build, host.services[0].backend) == (None, None, "cpu")
    (host,) = inventory(one("{model: plain}")).hosts
    assert (host.services[0].engine, host.services[0].backend, host.services[0].port) == (None, None, 8080)


def test_a_host_without_a_service_is_a_host() -> None:
    found = inventory(ENGINES + "hosts: {bare: {}}\n")
    assert found.hosts == (
        Host(name="bare", address=None, runtime="podman", rootless=None, groups=(), services=()),
    )  # fmt: skip
    assert found.groups == {"quadgen": ("bare",), "runtime_podman": ("bare",)}


def test_mistakes_in_the_shape_of_the_fleet_are_all_told_with_their_places() -> None:
    found = refused(hosts(claw=", ports: 80", forge=", slots: many"))
    assert [(problem.code, problem.place is not None) for problem in found] == [
        ("unknown-key", True),
        ("unexpected-value", True),
    ]


def test_a_group_that_is_not_there_would_leave_the_host_out_of_a_play() -> None:
    text = hosts(claw=", groups: [dsek]").replace("hosts:", "groups: {desk: {}}\nhosts:")
    (problem,) = refused(text)
    assert (problem.code, problem.host, problem.hint) == ("unexpected-value", "claw", "did you mean desk?")


@pytest.mark.parametrize(
    ("text", "reached"),
    [
        ("claw", Reached("claw")),
        ("claw.example.org", Reached("claw.example.org")),
        ("10.0.0.7", Reached("10.0.0.7")),
        ("10.0.0.7:22", Reached("10.0.0.7", 22)),
        ("ada@claw", Reached("claw", None, "ada")),
        ("fe80::1%eth0", Reached("fe80::1%eth0")),
        ("[::1]", Reached("::1")),
        ("ada@[2001:db8::7]:2222", Reached("2001:db8::7", 2222, "ada")),
    ],
)
def test_an_address_is_taken_apart_as_ssh_does(text: str, reached: Reached) -> None:
    assert address(text) == reached


@pytest.mark.parametrize(
    "text",
    ["second shelf", "-oProxyCommand=sh", "ada@-x", "http://claw", "claw:70000", "claw:", "[claw]", "[::1", "{{ x }}"],
)
def test_an_address_that_is_none_is_refused_where_it_stands(text: str) -> None:
    (problem,) = refused(hosts(claw=f", address: {flow(text)}"))
    assert problem.code == "unexpected-value"
    assert problem.message == f"`address` takes a name or an IP address, and {text!r} is none that Ansible can reach"
    assert problem.place is not None


@pytest.mark.parametrize("name", ["all", "ungrouped", "quadgen", "backend_cpu"])
def test_a_host_that_ansible_would_take_for_a_group_is_refused(name: str) -> None:
    (problem,) = refused(hosts(**{name: ""}))
    assert (problem.code, problem.host) == ("name-clash", name)
    assert problem.message == (
        f"the host {name} is called like a group of Ansible's, whose every host would get its variables"
    )


def test_two_names_that_would_become_one_group_are_refused() -> None:
    models = "models:\n  a.b: {file: a.gguf, mtp: false}\n  a-b: {file: b.gguf, mtp: false}\n"
    text = hosts(claw="", forge="").replace("models:\n", models).replace("plain, backend", "a.b, backend", 1)
    (problem,) = refused(text.replace("model: plain, backend", "model: a-b, backend"))
    assert (problem.code, problem.message) == (
        "name-clash",
        "the models a.b and a-b would be one group of Ansible's, model_a_b",
    )
    assert problem.place is not None
    assert problem.place.text.startswith("  a-b:")


def test_names_that_no_host_uses_are_in_nobodys_way() -> None:
    models = "models:\n  a.b: {file: a.gguf, mtp: false}\n  a-b: {file: b.gguf, mtp: false}\n"
    assert "model_a_b" not in inventory(hosts(claw="").replace("models:\n", models)).groups


def trusted(value: Any) -> list[str]:
    """The texts that Ansible takes for templates, where they look like such."""
    if isinstance(value, dict):
        return (
            [] if value.keys() == {"__ansible_unsafe"} else [text for each in value.values() for text in trusted(each)]
        )
    if isinstance(value, list):
        return [text for each in value for text in trusted(each)]
    return [value] if isinstance(value, str) else []


@given(st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=20))
@example("{{ 7 * 7 }}")
def test_no_name_of_a_fleet_is_a_template_or_a_group_that_ansible_renames(name: str) -> None:
    model = "x" + name
    text = f"{ENGINES}  {flow(model)}: {{file: m.gguf, mtp: false}}\nhosts:\n  claw: {CPU}}}\n"
    found = inventory(text.replace("model: plain", f"model: {flow(model)}"))
    shown = listing(found)
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", group) for group in found.groups)
    assert not [text for text in trusted(shown) if "{" in text or "#" in text]
    (service,) = shown["_meta"]["hostvars"]["claw"]["quadgen_services"]
    assert service["model"] in (model, {"__ansible_unsafe": model})


@given(st.from_regex(NAME, fullmatch=True).filter(lambda name: name not in ("all", "ungrouped", "quadgen")))
def test_a_host_is_found_by_the_name_that_the_fleet_gives_it(name: str) -> None:
    assert inventory(f"{ENGINES}hosts:\n  {flow(name)}: {CPU}}}\n").host(name).name == name
