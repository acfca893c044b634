"""The keys of a service unit are those that real systemds list, in the section they belong to."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from quadgen.systemd_keys import SECTIONS, known, nearest, repeats, section_of
from source import PACKAGE, ROOT

TABLE: dict[str, dict[str, str]] = json.loads((PACKAGE / "data" / "systemd-keys.json").read_text(encoding="utf-8"))
MOVED = {"StartLimitInterval", "StartLimitBurst", "StartLimitAction", "FailureAction", "RebootArgument"}
"""Still read in [Service], for units older than their move to [Unit]."""


def items(text: str) -> dict[str, dict[str, str]]:
    """What `systemd --dump-configuration-items` lists, by section: each key and the form of its value."""
    found: dict[str, dict[str, str]] = {}
    section: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("["):
            section = found.setdefault(line[1:-1], {})
        elif "=" in line:
            key, _, form = line.partition("=")
            section[key] = form
    return found


DUMPS = {
    version: items((ROOT / "tests" / "data" / f"systemd-items-{version}.txt").read_text(encoding="utf-8"))
    for version in (252, 257, 262)
}


@pytest.mark.parametrize("section", SECTIONS)
def test_the_table_is_the_union_of_what_the_systemds_list(section: str) -> None:
    listed = set().union(*(dump[section] for dump in DUMPS.values()))
    assert set(TABLE[section]) == listed - (MOVED if section == "Service" else set())


def test_the_table_says_where_it_comes_from() -> None:
    assert set(TABLE) == {"source", *SECTIONS}
    assert "--dump-configuration-items" in TABLE["source"]


def test_what_has_moved_is_known_where_it_belongs() -> None:
    for key in MOVED:
        assert key in DUMPS[262]["Service"]
        assert not known("Service", key)
        assert section_of(key) == ("Unit",)


def test_a_key_that_takes_several_values_on_a_line_takes_several_lines() -> None:
    listed = {
        (section, key)
        for dump in DUMPS.values()
        for section in SECTIONS
        for key, form in dump[section].items()
        if (form.endswith("[...]") and "MOUNTFLAG" not in form) or form == "CONDITION"
    }
    assert len(listed) > 100
    assert [pair for pair in listed if not repeats(*pair)] == []


def test_every_key_is_a_list_or_is_not() -> None:
    assert {kind for section in SECTIONS for kind in TABLE[section].values()} == {"list", "one"}


@pytest.mark.parametrize(
    ("section", "key", "expected"),
    [
        ("Unit", "After", True),
        ("Unit", "Wants", True),
        ("Unit", "AssertPathExists", True),
        ("Unit", "Description", False),
        ("Unit", "StartLimitBurst", False),
        ("Service", "Environment", True),
        ("Service", "ExecStartPre", True),
        ("Service", "LoadCredential", True),
        ("Service", "ReadWritePaths", True),
        ("Service", "SystemCallFilter", True),
        ("Service", "DeviceAllow", True),
        ("Service", "MemoryMax", False),
        ("Service", "Restart", False),
        ("Service", "LimitNOFILE", False),
        ("Install", "WantedBy", True),
        ("Install", "DefaultInstance", False),
        ("Service", "Nope", False),
        ("Nope", "After", False),
        ("source", "U", False),
    ],
)
def test_a_key_that_is_a_list_repeats(section: str, key: str, *, expected: bool) -> None:
    assert repeats(section, key) is expected


@pytest.mark.parametrize(
    ("section", "key", "expected"),
    [
        ("Service", "Restart", True),
        ("Service", "Restrat", False),
        ("Service", "restart", False),
        ("Service", "KillSignal", True),
        ("Service", "CPUQuota", True),
        ("Service", "Image", False),
        ("Unit", "StartLimitBurst", True),
        ("Unit", "Restart", False),
        ("Install", "WantedBy", True),
        ("Service", "X-Anything", True),
        ("Container", "X-Anything", False),
        ("source", "source", False),
    ],
)
def test_a_key_is_known_in_its_own_section_only(section: str, key: str, *, expected: bool) -> None:
    assert known(section, key) is expected


def test_a_key_names_the_sections_that_it_belongs_to() -> None:
    assert section_of("StartLimitIntervalSec") == ("Unit",)
    assert section_of("Restart") == ("Service",)
    assert section_of("WantedBy") == ("Install",)
    assert section_of("Restrat") == ()


@pytest.mark.parametrize(
    ("section", "asked", "meant"),
    [
        ("Service", "Restrat", "Restart"),
        ("Service", "restart", "Restart"),
        ("Service", "TimeOutStartSec", "TimeoutStartSec"),
        ("Unit", "afetr", "After"),
        ("Service", "Frobnicate", None),
        ("Nope", "Restart", None),
    ],
)
def test_a_typo_is_answered_with_the_key_that_was_meant(section: str, asked: str, meant: str | None) -> None:
    assert nearest(section, asked) == meant


def test_the_systemd_of_this_machine_lists_nothing_that_is_not_known() -> None:
    program = shutil.which("systemd", path="/usr/lib/systemd:/lib/systemd")
    if program is None or not Path(program).is_file():
        pytest.skip("no systemd on this machine; three are kept in tests/data")
    done = subprocess.run([program, "--dump-configuration-items"], capture_output=True, text=True, check=True)
    listed = items(done.stdout)
    missing = [(section, key) for section in SECTIONS for key in listed[section] if not known(section, key)]
    assert set(missing) <= {("Service", key) for key in MOVED}
