"""What a host lacks: each thing in one sentence that says how to mend it, and not a word about a host that is well."""

import os
import pwd
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from good_hosts import ADA, MANAGER, Host, good
from plugins.module_utils import managers, requirements, shadows
from source import ROOT

RENDERED = sorted({path.parent for path in ROOT.glob("examples/*/rendered/*/manifest.json")})
STUDIO = ROOT / "examples/rootless/rendered/studio"
HALO = ROOT / "examples/halogen/rendered/halo"
CLAW = ROOT / "examples/two-backends/rendered/claw"
FORGE = ROOT / "examples/two-backends/rendered/forge"
NATIVE = ROOT / "rendered/forge"
LINGER = "ada does not linger: its services end at logout and do not start at boot; loginctl enable-linger ada"
IDS = (
    "ada has no ids of its own in /etc/subuid, which rootless Podman needs; usermod --add-subuids 100000-165535 "
    "--add-subgids 100000-165535 ada, with a range that nobody has, then podman system migrate as that user"
)
NO_KEY = "the Podman of ada has no secret llama-key; as ada: podman secret create llama-key FILE"
QUADLETS = "/home/ada/.config/containers/systemd"
NETWORK = f"there is no llm.network, which units here join; put that Quadlet file into {QUADLETS}"
GENERATOR = (
    "Podman's Quadlet generator is neither /usr/libexec/podman/quadlet nor /usr/lib/podman/quadlet; "
    "install Podman whole"
)
AGAIN = f"systemctl restart user@{ADA}.service, which ends its services and sessions"


@pytest.fixture(autouse=True)
def _systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").symlink_to(shutil.which("true") or "/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def at(tmp_path: Path) -> Callable[[Path], Host]:
    return lambda tree: good(tmp_path / "root", tree)


@pytest.mark.parametrize("tree", [*RENDERED, NATIVE], ids=lambda tree: str(tree.relative_to(ROOT)))
def test_a_host_that_has_everything_is_told_nothing(tree: Path, at: Callable[[Path], Host]) -> None:
    assert at(tree).unmet() == []


@pytest.mark.parametrize(
    "manifest", [{}, {"requires": None}, {"requires": {"secrets": None, "files": [1]}, "files": 3}]
)
def test_a_manifest_that_names_nothing_asks_for_nothing(manifest: dict[str, Any], at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.manifest = manifest
    assert host.unmet() == []


def test_an_empty_machine_lacks_everything_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "root").mkdir()
    host = good(tmp_path / "was", STUDIO)
    host.root = tmp_path / "root"
    host.put("/etc/passwd", f"ada:x:{ADA}:{ADA}::/home/ada:/bin/sh\n")
    host.put("/etc/subuid")
    host.programs.podman = None
    files = [name for name in host.manifest["requires"]["files"] if name.startswith("/home/ada/models/")]
    assert len(files) == 3
    assert host.unmet() == [
        "systemd is not there: no systemctl; quadgen's units need it",
        "Podman is not there; install it, 5.3.0 or later",
        GENERATOR,
        LINGER,
        IDS,
        "there is no /dev/dri: the driver of its GPU is not loaded, or the card is gone",
        NO_KEY,
        NETWORK,
        *(f"{file} is not there, nor is /home; put it there, or mount what holds it" for file in files),
    ]


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("podman version 5.2.9", "5.2.9"),
        ("podman version 4.10.0", "4.10.0"),
        ("podman version 5.3.0", None),
        ("podman version 5.10.0-dev", None),
        ("podman version 6.0.0", None),
        ("a word of a wrapper", None),
    ],
)
def test_an_older_podman_would_drop_units(said: str, version: str | None, at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.programs.podman = f"{said}\n"
    sentence = (
        f"Podman is {version}, and the units were rendered for 5.3.0 or later: an older one drops a unit for a key "
        f'that it does not know; update it, or say `podman: "{version}"` for this host and render again'
    )
    assert host.unmet() == ([sentence] if version else [])


def test_a_generator_where_systemd_looks_for_it_is_enough(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.at("/usr/libexec/podman/quadlet").unlink()
    host.put("/usr/lib/systemd/system-generators/podman-system-generator")
    assert len(host.unmet()) == 1  # it is the system's, and these are units of a user
    host.put("/usr/lib/systemd/user-generators/podman-user-generator")
    assert host.unmet() == []


def test_a_secret_must_be_in_the_podman_of_who_runs_the_units(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.unmet()
    assert ("ada", "podman", "secret", "ls", "--format={{.Name}}") in host.programs.calls
    host.programs.secrets = ["llama-key-2"]
    assert host.unmet() == [NO_KEY]
    host.programs.broken = "Error: database is locked"
    assert host.unmet() == ["the Podman of ada cannot be asked for its secrets: Error: database is locked"]


def test_a_secret_of_the_system_is_the_systems(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.manifest["requires"]["secrets"] = ["llama-key"]
    assert host.unmet() == ["Podman has no secret llama-key; podman secret create llama-key FILE"]
    assert ("", "podman", "secret", "ls", "--format={{.Name}}") in host.programs.calls


def test_a_network_is_podmans_or_a_file_of_quadlets(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.manifest["requires"]["networks"] = ["bridge", "llm", "llm.network", "pasta"]
    assert host.unmet() == ["the Podman of ada has no network llm; as ada: podman network create llm"]
    host.programs.networks.append("llm")
    assert host.unmet() == []
    network = host.at("/home/ada/.config/containers/systemd/llm.network")
    moved = host.put(f"/etc/containers/systemd/users/{ADA}/nets/llm.network")
    network.unlink()
    assert host.unmet() == []
    moved.unlink()
    assert host.unmet() == [NETWORK]


def test_a_user_who_is_not_there_is_said_once(at: Callable[[Path], Host]) -> None:
    host = at(HALO)
    host.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    host.at("/var/lib/systemd/linger/ada").unlink()
    assert host.unmet() == ["there is no user ada; useradd --create-home ada"]


def test_a_user_who_does_not_linger(at: Callable[[Path], Host]) -> None:
    host = at(HALO)
    host.at("/var/lib/systemd/linger/ada").unlink()
    assert host.unmet() == [LINGER]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/etc/nsswitch.conf", "passwd: files\nsubid: sss\n"),
        ("/home/ada/.config/containers/storage.conf", '[storage.options.overlay]\nignore_chown_errors = "true"\n'),
        ("/etc/subuid", f"{ADA}:100000:65536\n"),
    ],
)
def test_ids_for_images_may_come_from_elsewhere(path: str, text: str, at: Callable[[Path], Host]) -> None:
    host = at(HALO)
    host.put("/etc/subuid", "bob:100000:65536\n")
    assert host.unmet() == [IDS]
    host.put(path, text)
    assert host.unmet() == []


def test_the_limit_of_memory_is_that_of_the_users_systemd(at: Callable[[Path], Host]) -> None:
    host = at(HALO)
    host.programs.memlock = "8388608"
    mend = (
        "put [Service] and LimitMEMLOCK=infinity into /etc/systemd/system/user@.service.d/memlock.conf, "
        f"then systemctl daemon-reload and {AGAIN}"
    )
    assert host.unmet() == [f"ada may not lock enough memory: 8388608 bytes; {mend}"]
    host.put("/etc/security/limits.d/95-llm.conf", "#ada - memlock 1\n")
    assert len(host.unmet()) == 1
    host.put("/etc/security/limits.d/95-llm.conf", "@llm\t- memlock unlimited\n")
    assert host.unmet() == []  # until it runs nobody knows
    host.programs.pid = MANAGER
    limits = "Max locked memory         8388608              8388608              bytes     \n"
    host.put(f"/proc/{MANAGER}/limits", f"Max processes             1                    1       \n{limits}")
    assert host.unmet() == [f"ada may not lock enough memory: 8388608 bytes; {mend}"]
    host.programs.memlock = "infinity"
    assert host.unmet() == [f"ada may not lock enough memory: 8388608 bytes, until its systemd starts anew; {AGAIN}"]
    host.programs.memlock = "8388608"
    host.put(f"/proc/{MANAGER}/limits", limits.replace("8388608", "unlimited"))
    assert host.unmet() == []


def test_a_limit_of_memory_that_nobody_needs_is_not_asked_for(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.programs.memlock = "8388608"
    assert host.unmet() == []


def test_a_credential_is_a_file_of_its_own(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    host.manifest["requires"]["credentials"] = ["llama-key"]
    sentence = "there is no credential llama-key in /etc/credstore; install -D -m 0600 FILE /etc/credstore/llama-key"
    assert host.unmet() == [sentence]
    host.put("/etc/credstore/llama-key", b"key", 0o600)
    assert host.unmet() == []


def test_a_credential_of_a_user_is_read_by_that_user(at: Callable[[Path], Host]) -> None:
    host = at(ROOT / "examples/rootless/rendered/nook")
    host.manifest["requires"]["credentials"] = ["llama-key"]
    path = "/home/ada/.config/credstore/llama-key"
    assert host.unmet() == [
        f"there is no credential llama-key in /home/ada/.config/credstore; as ada: install -D -m 0600 FILE {path}"
    ]
    host.put(path, b"key", 0o600)
    assert host.unmet() == [f"ada may not read its credential {path}; chown ada {path}"]


def test_a_program_must_be_there_and_be_one(at: Callable[[Path], Host]) -> None:
    host = at(ROOT / "examples/rootless/rendered/nook")
    server = "/home/ada/llama.cpp/b10434/llama-server"
    host.at(server).chmod(0o644)
    host.at("/usr/bin/curl").unlink()
    assert host.unmet() == ["curl is not there; install it", f"{server} is no program; chmod 0755 {server}"][::-1]
    host.at(server).unlink()
    host.put("/usr/local/bin/curl")
    assert host.unmet() == [f"{server} is not there; install it"]


def test_the_real_programs_are_asked_as_the_user_of_the_services(
    tmp_path: Path, at: Callable[[Path], Host], monkeypatch: pytest.MonkeyPatch
) -> None:
    host = at(STUDIO)
    me = pwd.getpwuid(os.geteuid()).pw_name
    passwd = host.at("/etc/passwd")
    passwd.write_text(passwd.read_text().replace("ada", me))
    host.put(f"/var/lib/systemd/linger/{me}")
    for key in ("linger", "users"):
        host.manifest["requires"][key] = [me]
    host.manifest["requires"]["networks"] = host.manifest["requires"]["groups"] = []
    host.put("/etc/subuid", f"{me}:1:1\n")
    host.put("/etc/subgid", f"{me}:1:1\n")
    program = tmp_path / "bin/podman"
    said = 'case "$1" in --version) echo podman version 5.4.2;; *) echo "$USER-$XDG_RUNTIME_DIR-$2";; esac'
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(0o755)
    host.manifest["requires"]["secrets"] = [f"{me}-/run/user/{os.geteuid()}-ls"]
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/elsewhere")
    assert requirements.unmet(host.manifest, str(host.root), managers.run) == []


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(["ada", "chat.service", "/srv"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from([
    *("cdi", "checkpoints", "credentials", "devices", "files", "groups", "linger", "memlock", "networks", "podman"),
    *("programs", "secrets", "users"),
])  # fmt: skip
ENTRY = st.dictionaries(st.sampled_from(["path", "unit", "user", "image", "after", "files", "size"]), ODD, max_size=4)
LIST = st.lists(ENTRY, max_size=3) | st.lists(ODD, max_size=3) | ODD


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Host:
    return good(tmp_path_factory.mktemp("host"), STUDIO)


@given(requires=st.dictionaries(KINDS, LIST, max_size=6) | ODD, files=LIST, services=LIST)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_odd_manifest_ends_no_pull_with_a_fault_of_the_code(
    requires: Any, files: Any, services: Any, whole: Host
) -> None:
    manifest = {"requires": requires, "files": files, "services": services}
    host = replace(whole, manifest=manifest)
    assert all(map(str.isprintable, shadows.unmet(manifest, str(host.root), ())))
    assert all(isinstance(sentence, str) for sentence in host.unmet())
