"""Whatever Podman a host has: no key that it does not know, the argument that says the same, or a refusal by name."""

import json
import re

import pytest
import yaml

from everything import BACKENDS, everything
from fleets import CPU, accepted, one, refusal, refusals, unit, units, values
from source import PACKAGE

FLOORS: dict[str, dict[str, str]] = yaml.safe_load((PACKAGE / "data" / "quadlet-keys.yml").read_text(encoding="utf-8"))
SYSTEMD_S_OWN = {"Unit", "Service", "Install"}
VERSIONS = {
    "4.4.0": {"probe": False, "retries": False},
    "4.6.0": {"probe": False, "retries": False},
    "4.7.0": {"probe": True, "retries": False},
    "4.9.5": {"probe": True, "retries": False},
    "5.0.0": {"probe": True, "retries": True},
    "5.2.0": {"probe": True, "retries": True},
    "5.4.2": {"probe": True, "retries": True},
    "5.6.0": {"probe": True, "retries": True},
    "5.8.6": {"probe": True, "retries": True},
}


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def keys(text: str) -> list[tuple[str, str]]:
    """Every key of a unit with its section, read as plainly as can be."""
    section = ""
    found = []
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found.append((section, line.partition("=")[0]))
    return found


def too_new(text: str, podman: str) -> set[str]:
    return {
        key
        for section, key in keys(text)
        if section not in SYSTEMD_S_OWN and numbers(FLOORS[section][key]) > numbers(podman)
    } | ({"Notify=healthy"} if "\nNotify=healthy\n" in text and numbers(podman) < (5, 0) else set())


@pytest.mark.parametrize("podman", VERSIONS)
def test_no_unit_has_a_key_that_is_newer_than_its_podman(podman: str) -> None:
    texts = units(accepted(everything(podman, **VERSIONS[podman])))
    containers = {path: text for path, text in texts.items() if path.endswith(".container")}
    assert len(containers) == 2 * len(BACKENDS)
    assert {path: found for path, text in containers.items() if (found := too_new(text, podman))} == {}


def test_the_newest_podman_is_told_by_keys_what_an_older_one_is_told_by_arguments() -> None:
    newest = units(accepted(everything("5.8.6")))
    assert {line for text in newest.values() for line in values(text, "Container", "PodmanArgs")} == {"--cpus=4"}
    older = units(accepted(everything("5.4.2")))
    assert all(too_new(text, "5.4.2") == {"Memory", "AppArmor", "HttpProxy", "Retry", "RetryDelay"}
               for text in newest.values())  # fmt: skip
    assert not any(too_new(text, "5.4.2") for text in older.values())


def manifest(text: str) -> str:
    (tree,) = accepted(text).trees
    podman: str = json.loads(tree.manifest)["requires"]["podman"]
    return podman


@pytest.mark.parametrize(
    ("fields", "podman", "least"),
    [
        ("health: false", "4.4.0", "4.4.0"),
        ("port: 8080", "4.7.0", "4.7.0"),
        ("port: 8080", "4.9.0", "4.7.0"),
        ("health: false", "4.9.0", "4.6.0"),
        ("port: 8080", "5.4.2", "5.0.0"),
        ("health: false, unit: {Container: {Retry: 3}}", "5.0.0", "5.0.0"),
        ("limits: {memory: 1g}", "5.4.2", "5.0.0"),
        ("limits: {memory: 1g}", "5.8.6", "5.5.0"),
    ],
)
def test_the_manifest_names_the_least_podman_that_takes_the_keys_and_the_arguments(
    fields: str, podman: str, least: str
) -> None:
    assert manifest(one(f'{CPU}, podman: "{podman}", {fields}}}')) == least


@pytest.mark.parametrize("backend", ["cuda", "rocm", "vulkan"])
@pytest.mark.parametrize(("podman", "key"), [("5.0.0", False), ("5.1.0", True), ("5.4.2", True)])
def test_a_user_s_container_keeps_the_groups_of_the_card_on_every_podman(
    backend: str, podman: str, *, key: bool
) -> None:
    text = unit(one(f'{{model: plain, backend: {backend}, context: 4096, rootless: ada, podman: "{podman}"}}'))
    assert values(text, "Container", "GroupAdd") == (["keep-groups"] if key else [])
    assert ("--group-add=keep-groups" in values(text, "Container", "PodmanArgs")) is not key


@pytest.mark.parametrize(
    ("podman", "said"), [("4.4.0", ["--read-only-tmpfs=true"]), ("4.7.2", ["--read-only-tmpfs=true"]), ("4.8.0", [])]
)
def test_a_read_only_container_can_write_to_its_tmp_on_every_podman(podman: str, said: list[str]) -> None:
    """Before it had a key for it, Quadlet wrote --read-only-tmpfs=false: pkg/systemd/quadlet/quadlet.go at 4.7.2."""
    text = unit(one(f'{CPU}, health: false, podman: "{podman}"}}'))
    arguments = values(text, "Container", "PodmanArgs")
    assert [word for word in arguments if "read-only-tmpfs" in word] == said


@pytest.mark.parametrize(("podman", "argument"), [("4.7.0", True), ("4.9.5", True), ("5.0.0", False)])
def test_readiness_is_told_by_an_argument_where_only_podman_itself_knows_it(podman: str, *, argument: bool) -> None:
    text = unit(one(f'{CPU}, podman: "{podman}"}}'))
    assert values(text, "Container", "Notify") == ([] if argument else ["healthy"])
    assert ("--sdnotify=healthy" in values(text, "Container", "PodmanArgs")) is argument


@pytest.mark.parametrize("podman", ["4.4.0", "4.6.2"])
def test_a_podman_that_cannot_wait_for_a_probe_is_refused_with_the_ways_out(podman: str) -> None:
    problem = refusal(one(f'{CPU}, podman: "{podman}"}}'))
    assert problem.code == "unsupported-key"
    words = "no Notify=healthy (new in 5.0.0, and as --sdnotify=healthy in 4.7.0)"
    assert problem.message == f"Podman {podman} has {words}"
    assert problem.hint == (
        "use Podman 4.7.0 or newer, or runtime: systemd, or `health: false` to start without waiting for the server"
    )
    assert unit(one(f'{CPU}, podman: "4.7.0"}}'))
    assert unit(one(f'{CPU}, podman: "{podman}", health: false}}'))
    assert unit(one(f'{CPU}, podman: "{podman}", runtime: systemd}}'))


def test_keys_that_a_template_of_the_fleet_writes_are_refused_by_name() -> None:
    template = (PACKAGE.parents[1] / "templates" / "llama.cpp.container.j2").read_text(encoding="utf-8")
    own = template.replace("RunInit=true\n", "RunInit=true\nLogOpt=tag=x\nStartWithPod=true\n")
    assert own != template
    text = one(f'{CPU}, podman: "5.1.0"}}')
    problem = refusal(text, {"templates/llama.cpp.container.j2": own})
    assert problem.code == "unsupported-key"
    assert problem.message == "Podman 5.1.0 has no LogOpt= (new in 5.2.0) and no StartWithPod= (new in 5.3.0)"
    assert problem.hint == "take the key out of the template, or use a newer Podman"


@pytest.mark.parametrize(
    ("key", "value", "podman", "since", "least"),
    [
        ("ReloadCmd", "/bin/x", "5.4.2", "new in 5.5.0", "5.5.0"),
        ("HealthLogDestination", "local", "5.2.0", "new in 5.3.0", "5.3.0"),
        ("StartWithPod", "false", "5.2.0", "new in 5.3.0", "5.3.0"),
        ("Retry", "3", "4.9.5", "new in 5.5.0, and as --retry in 5.0.0", "5.0.0"),
        ("SecurityLabelNested", "true", "4.4.4", "new in 4.6.0, and as --security-opt=label=nested in 4.5.0", "4.5.0"),
        ("GlobalArgs", "--log-level=debug", "4.7.0", "new in 4.8.0", "4.8.0"),
    ],
)
def test_a_key_without_an_argument_is_refused_with_the_version_that_helps(
    key: str, value: str, podman: str, since: str, least: str
) -> None:
    fields = f"health: false, unit: {{Container: {{{key}: {value}}}}}"
    problem = refusal(one(f'{CPU}, podman: "{podman}", {fields}}}'))
    assert problem.code == "unsupported-key"
    assert problem.message == f"Podman {podman} has no {key}= ({since}), and would drop the whole unit"
    assert problem.hint == f"use Podman {least} or newer, or leave the key out"
    assert unit(one(f'{CPU}, podman: "{least}", {fields}}}'))


@pytest.mark.parametrize(
    ("words", "podman", "since"),
    [("--retry=3", "4.9.5", "5.0.0"), ("--no-hostname", "5.3.2", "5.4.0"), ("--rdt-class x", "4.7.2", "4.8.0")],
)
def test_an_argument_of_the_fleet_s_own_is_one_that_its_podman_has(words: str, podman: str, since: str) -> None:
    fields = f'health: false, unit: {{Container: {{PodmanArgs: "{words}"}}}}'
    problem = refusal(one(f'{CPU}, podman: "{podman}", {fields}}}'))
    assert (problem.code, f"(new in {since})" in problem.message) == ("unsupported-key", True)
    assert words in values(unit(one(f'{CPU}, podman: "{since}", {fields}}}')), "Container", "PodmanArgs")


def test_a_null_takes_out_the_argument_that_stands_for_quadgen_s_own_key() -> None:
    fields = 'limits: {nofile: 4096}, podman: "4.6.0", health: false'
    said = "--ulimit=nofile=4096:4096"
    assert said in values(unit(one(f"{CPU}, {fields}}}")), "Container", "PodmanArgs")
    text = unit(one(f"{CPU}, {fields}, unit: {{Container: {{Ulimit: null}}}}}}"))
    assert said not in values(text, "Container", "PodmanArgs")


@pytest.mark.parametrize("value", ['"x"', '"x', 'x"'])
def test_a_quote_at_an_end_is_refused_since_it_is_lost_on_the_way(value: str) -> None:
    """Podman up to 5.8.1 strips double quotes from each end by itself, later ones a matching pair."""
    (problem,) = refusals(one(f"{CPU}, unit: {{Container: {{HostName: {json.dumps(value)}}}}}}}"))
    assert problem.code == "unsafe-value"


def test_the_independent_reader_of_this_file_would_see_a_key_that_is_too_new() -> None:
    text = unit(one(f'{CPU}, podman: "5.8.6", limits: {{memory: 1g}}}}'))
    assert too_new(text, "5.4.2") == {"Memory"}
    assert re.search(r"(?m)^Memory=1073741824$", text)
