"""What each Podman's Quadlet accepts, and how it reads it, as the real generators do."""

from pathlib import Path
from typing import get_args

import pytest
import yaml

from parts import Quadlet, each_quadlet
from quadgen.quadlet_keys import Reader, argument, argument_floor, at_least, floor, lacking, nearest, reader, repeats
from source import PACKAGE

FLOORS: dict[str, dict[str, str]] = yaml.safe_load((PACKAGE / "data" / "quadlet-keys.yml").read_text(encoding="utf-8"))
CONTAINER = FLOORS["Container"]
PAIRS = {
    "AddDevice": ("/dev/aaa", "/dev/bbb"), "AddHost": ("aaa:1.1.1.1", "bbb:2.2.2.2"), "Annotation": ("aaa=1", "bbb=1"),
    "Environment": ("aaa=1", "bbb=1"), "EnvironmentFile": ("/aaa", "/bbb"), "ExposeHostPort": ("111", "222"),
    "GIDMap": ("0:111:1", "0:222:1"), "IP": ("10.0.0.111", "10.0.0.222"), "Image": ("localhost/aaa", "localhost/bbb"),
    "Label": ("aaa=1", "bbb=1"), "Mount": ("type=tmpfs,destination=/aaa", "type=tmpfs,destination=/bbb"),
    "PublishPort": ("111:1", "222:1"), "RemapGid": ("0:111:1", "0:222:1"), "RemapUid": ("0:111:1", "0:222:1"),
    "Sysctl": ("aaa=1", "bbb=1"), "Tmpfs": ("/aaa", "/bbb"), "UIDMap": ("0:111:1", "0:222:1"),
    "Volume": ("/aaa:/aaa", "/bbb:/bbb"),
}  # fmt: skip
"""Two values of a key that must look like something."""
BESIDE = {
    "Group": "User=u\n", "RemapGid": "RemapUsers=manual\n", "RemapUid": "RemapUsers=manual\n",
    "SubGIDMap": "SubUIDMap=u\n", "SubUIDMap": "SubGIDMap=u\n",
}  # fmt: skip
"""What a key cannot do without."""
APART = {"Pod", "RemapUsers", "RemapUidSize", "ReloadSignal", "Notify"}
"""Keys that cannot show two values: they want a closed word or another unit."""


def test_the_quick_form_of_the_table_is_the_table() -> None:
    assert {section: {key: floor(section, key) for key in keys} for section, keys in FLOORS.items()} == FLOORS
    assert floor("Container", "Nope") is None
    assert floor("Nope", "Image") is None


def test_every_key_of_a_container_has_a_reader_and_no_other_word_has() -> None:
    assert {key for key in CONTAINER if reader(key) is None} == set()
    assert {reader(key) for key in CONTAINER} == set(get_args(Reader))
    assert reader("Nope") is None


NO_ARGUMENT = {
    "ContainersConfModule", "GlobalArgs", "HealthLogDestination", "HealthMaxLogCount", "HealthMaxLogSize", "Mount",
    "Pod", "ReloadCmd", "ReloadSignal", "Rootfs", "ServiceName", "StartWithPod",
}  # fmt: skip
"""What podman-run(1) cannot be told, or not in every case, or not before Quadlet could."""


def test_every_key_newer_than_the_first_quadlet_has_an_argument_or_a_reason_for_none() -> None:
    newer = {key for key, since in CONTAINER.items() if since != "4.4.0"}
    assert {key for key in newer if argument(key, "x", "5.4.2") is None} == NO_ARGUMENT
    assert {key for key in set(CONTAINER) - newer if argument(key, "x", "5.4.2") is not None} == {"Notify"}


def test_each_argument_is_one_word_that_the_value_ends() -> None:
    for key in set(CONTAINER) - NO_ARGUMENT:
        said = argument(key, "true", "5.4.2")
        assert said is None or (said.startswith("--") and " " not in said), key


def test_a_switch_that_is_off_needs_no_argument_where_that_is_podman_s_own_choice() -> None:
    assert argument("SecurityLabelDisable", "true", "4.4.0") == "--security-opt=label=disable"
    assert argument("SecurityLabelDisable", "false", "4.4.0") == ""
    assert argument("HttpProxy", "false", "5.4.2") == "--http-proxy=false"


@pytest.mark.parametrize(
    ("key", "value", "since", "before"),
    [
        ("Notify", "healthy", "4.7.0", "4.6.2"),
        ("Retry", "3", "5.0.0", "4.9.5"),
        ("RetryDelay", "5s", "5.0.0", "4.9.5"),
        ("SecurityLabelNested", "true", "4.5.0", "4.4.4"),
    ],
)
def test_an_argument_that_podman_learned_later_stands_for_nothing_before(
    key: str, value: str, since: str, before: str
) -> None:
    assert argument(key, value, before) is None
    said = argument(key, value, since)
    assert said is not None
    assert argument_floor(said) == since
    assert argument_floor("--memory=1g") is None


def test_a_podman_lacks_what_is_newer_than_it_and_healthy_before_5_0() -> None:
    assert lacking("5.8.6") == set()
    assert lacking("5.4.2") == {"AppArmor", "HttpProxy", "Memory", "ReloadCmd", "ReloadSignal", "Retry", "RetryDelay"}
    assert "Notify" in lacking("4.9.5")
    assert "Notify" not in lacking("5.0.0")


@pytest.mark.parametrize(
    ("section", "key", "expected"),
    [
        ("Container", "Environment", True),
        ("Container", "Volume", True),
        ("Container", "AddDevice", True),
        ("Container", "PodmanArgs", True),
        ("Container", "Exec", False),
        ("Container", "Image", False),
        ("Container", "ReadOnly", False),
        ("Container", "Nope", False),
        ("Quadlet", "DefaultDependencies", False),
        ("Pod", "Volume", False),
    ],
)
def test_a_key_that_is_a_list_repeats(section: str, key: str, *, expected: bool) -> None:
    assert repeats(section, key) is expected


@pytest.mark.parametrize(
    ("section", "asked", "meant"),
    [
        ("Container", "Enviroment", "Environment"),
        ("Container", "image", "Image"),
        ("Container", "AddDevices", "AddDevice"),
        ("Container", "Frobnicate", None),
        ("Quadlet", "DefaultDependency", "DefaultDependencies"),
        ("Nope", "Image", None),
    ],
)
def test_a_typo_is_answered_with_the_key_that_was_meant(section: str, asked: str, meant: str | None) -> None:
    assert nearest(section, asked) == meant


@pytest.mark.parametrize(
    ("version", "wanted", "expected"),
    [
        ("5.4.2", "5.3.0", True),
        ("5.4.2", "5.4.2", True),
        ("5.4.2", "5.4.3", False),
        ("5.10.1", "5.4.2", True),
        ("5.4", "5.4.0", True),
        ("5.4", "5.4.1", False),
        ("6", "5.9.9", True),
        ("v5.4.2", "5.4.2", True),
        ("5.8.0-rc1", "5.8.0", False),
        ("5.8.0~rc1", "5.8.0", False),
        ("5.8.0-rc1", "5.7.9", True),
        ("5.8.0-dev", "5.8.0", False),
        ("5.4.2+ds1-2+b2", "5.4.2", True),
        ("5.4.2-2ubuntu1", "5.4.2", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, wanted: str, *, expected: bool) -> None:
    assert at_least(version, wanted) is expected


@pytest.mark.parametrize(
    "junk",
    ["", "latest", "5.x", "5.4.2.1", " 5.4.2", "5.4.2 ", "-5", "\N{ARABIC-INDIC DIGIT FIVE}.4", "5..4", "5.4.2\n"],
)
def test_what_is_no_version_is_compared_with_nothing(junk: str) -> None:
    assert at_least(junk, "5.3.0") is None
    assert at_least("5.3.0", junk) is None


def values(key: str) -> tuple[str, str]:
    return ("true", "true") if reader(key) == "bool" else PAIRS.get(key, ("aaa", "bbb"))


@each_quadlet
def test_a_real_generator_takes_exactly_the_keys_that_its_version_has(quadlet: Quadlet, tmp_path: Path) -> None:
    asked = set(CONTAINER) - {"Pod", "RemapUsers"}
    for key in asked:
        image = "" if key in ("Image", "Rootfs") else "Image=localhost/x\n"
        text = f"[Container]\n{image}{BESIDE.get(key, '')}{key}={values(key)[0]}\n"
        (tmp_path / f"{key}.container").write_text(
            text if key != "ServiceName" else f"{text}[Unit]\n", encoding="utf-8"
        )
    services = quadlet.run(tmp_path).services.keys()
    taken = {"ServiceName" if name == "aaa.service" else name.removesuffix(".service") for name in services}
    assert taken == {key for key in asked if at_least(quadlet.version, CONTAINER[key])}


@each_quadlet
def test_a_real_generator_adds_up_the_lines_of_the_keys_that_repeat_and_of_no_others(
    quadlet: Quadlet, tmp_path: Path
) -> None:
    asked = {
        key
        for key, since in CONTAINER.items()
        if reader(key) != "bool" and key not in APART and quadlet.program and at_least(quadlet.version, since)
    }
    for key in asked:
        image = "" if key in ("Image", "Rootfs") else "Image=localhost/x\n"
        first, second = values(key)
        text = f"[Container]\n{image}{BESIDE.get(key, '')}{key}={first}\n{key}={second}\n"
        (tmp_path / f"{key}.container").write_text(text, encoding="utf-8")
    found = quadlet.run(tmp_path).services
    for key in asked:
        first, second = values(key)
        service = found["bbb.service" if key == "ServiceName" else f"{key}.service"]
        lines = [line for line in service.splitlines() if line.startswith(("ExecStart=", "ExecReload="))]
        generated = "\n".join(lines) if key != "ServiceName" else "bbb"
        assert second in generated, key
        assert (first in generated) is repeats("Container", key), key
