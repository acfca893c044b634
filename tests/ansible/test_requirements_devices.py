"""Cards: their nodes, the groups that own them, and what CDI says of them."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from good_hosts import ADA, MANAGER, RENDER, Host, good
from plugins.module_utils import access, cdi
from plugins.module_utils.people import NOBODY_KNOWN, Person
from source import ROOT

STUDIO = ROOT / "examples/rootless/rendered/studio"
HALO = ROOT / "examples/halogen/rendered/halo"
FORGE = ROOT / "examples/two-backends/rendered/forge"
NATIVE = ROOT / "rendered/forge"
AGAIN = f"systemctl restart user@{ADA}.service, which ends its services and sessions"
NODE = "/dev/dri/renderD128"
GENERATE = "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, after each update of the driver"
NVIDIA = """\
---
cdiVersion: 0.5.0
containerEdits:
  deviceNodes:
  - path: /dev/nvidiactl
  env:
  - NVIDIA_VISIBLE_DEVICES=void
  hooks:
  - args:
    - nvidia-cdi-hook
    hookName: createContainer
    path: /usr/bin/nvidia-cdi-hook
  mounts:
  - containerPath: /usr/lib/libcuda.so.580.1
    hostPath: /usr/lib/libcuda.so.580.1
    options:
    - ro
devices:
- containerEdits:
    deviceNodes:
    - name: nothing
      path: /dev/nvidia0
  name: "0"
- containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
  name: GPU-2f7a9b1c
- name: all  # of them
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
kind: nvidia.com/gpu
"""
"""As nvidia-ctk writes it, keys in the order of the alphabet."""


@pytest.fixture(autouse=True)
def _systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def at(tmp_path: Path) -> Callable[[Path], Host]:
    return lambda tree: good(tmp_path / "root", tree)


def groups(host: Host, render: str, *, gid: int = RENDER) -> None:
    host.put("/etc/group", f"render:x:{gid}:{render}\nvideo:x:4300:\n")


def test_a_card_that_is_not_there(at: Callable[[Path], Host]) -> None:
    host = at(HALO)
    host.at("/dev/kfd").unlink()
    host.at(NODE).rename(host.at("/dev/dri/card0"))
    assert host.unmet() == [
        "there is no card that computes in /dev/dri: no renderD*; the driver of its GPU is not loaded",
        "there is no /dev/kfd: the driver of its GPU is not loaded, or the card is gone",
    ]


def test_a_user_outside_of_the_group_of_a_node(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    groups(host, "bob")
    sentence = f"ada may not use {NODE}, of the group render; usermod --append --groups render ada, then {AGAIN}"
    assert host.unmet() == [sentence]
    host.at(NODE).chmod(0o666)
    assert host.unmet() == []  # whoever may use it anyway needs no group


def test_a_user_needs_no_group_whose_nodes_only_show_pictures(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.put("/dev/dri/card0", mode=0o600)
    assert "ada" not in host.at("/etc/group").read_text().splitlines()[1]
    assert host.unmet() == []


def test_a_group_counts_once_the_users_systemd_has_it(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.programs.pid = MANAGER
    host.put(f"/proc/{MANAGER}/status", f"Name:\tsystemd\nGid:\t{ADA}\t{ADA}\t{ADA}\t{ADA}\nGroups:\t4300 \n")
    assert host.unmet() == [
        f"ada is in the group render, but its systemd was started before, and may not use {NODE}; {AGAIN}"
    ]
    host.put(f"/proc/{MANAGER}/status", f"Gid:\t{ADA}\t{ADA}\t{ADA}\t{ADA}\nGroups:\t4300 {RENDER} \n")
    assert host.unmet() == []


def test_a_node_of_a_foreign_group_is_no_matter_of_membership(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    groups(host, "ada", gid=4400)
    host.put("/etc/group", f"{host.at('/etc/group').read_text()}staff:x:{RENDER}:\n")
    assert host.unmet() == [
        f"ada may not use {NODE}, of the group staff; let a group of that user's read and write it, by a rule for udev"
    ]


def test_a_node_that_is_closed_to_its_own_group(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    host.at(NODE).chmod(0o600)
    assert host.unmet() == [
        f"ada may not use {NODE}, of the group render; let a group of that user's read and write it, by a rule for udev"
    ]


def test_native_units_start_with_groups_that_must_exist(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    host.manifest["requires"]["groups"] = ["render", "video"]
    assert host.unmet() == []
    host.put("/etc/group", "video:x:44:\n")
    assert host.unmet() == ["there is no group render, which units here start with; groupadd --system render"]


def entry(tag: int, bits: int, number: int = 0xFFFFFFFF) -> bytes:
    return struct.pack("<HHI", tag, bits, number)


@pytest.mark.parametrize(
    ("entries", "allowed"),
    [
        ([entry(1, 6), entry(2, 6, ADA), entry(4, 0), entry(0x10, 6), entry(0x20, 0)], True),
        ([entry(1, 6), entry(2, 6, ADA), entry(4, 0), entry(0x10, 4), entry(0x20, 6)], False),  # masked
        ([entry(1, 6), entry(2, 6, 17), entry(4, 0), entry(0x10, 6), entry(0x20, 0)], False),
        ([entry(1, 6), entry(4, 0), entry(8, 6, 4300), entry(0x10, 6), entry(0x20, 0)], True),
        ([entry(1, 6), entry(4, 6), entry(8, 0, 4300), entry(0x10, 6), entry(0x20, 6)], False),  # a group says no
    ],
)
def test_an_access_list_counts_as_the_kernel_counts_it(entries: list[bytes], *, allowed: bool, tmp_path: Path) -> None:
    node = tmp_path / "node"
    node.touch()
    try:
        os.setxattr(node, "system.posix_acl_access", struct.pack("<I", 2) + b"".join(entries))
    except OSError as error:
        pytest.skip(f"no access lists here: {error.strerror}")
    ada = Person("ada", ADA, ADA, frozenset({ADA, 4300}), "/home/ada")
    assert access.may(str(node), ada, access.READ | access.WRITE) is allowed


@pytest.mark.parametrize("mode", [0o000, 0o004, 0o040, 0o044, 0o400, 0o404, 0o440, 0o444, 0o600, 0o664])
def test_a_mode_counts_as_the_kernel_counts_it(mode: int, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    file = tmp_path / "file"
    file.touch()
    file.chmod(mode)
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_mode & 0o005 != 0o005:
            directory.chmod(0o755)
    os.chown(file, 4401, 4402)
    for uid, groups_ in ((4401, [4403]), (4404, [4402]), (4404, [4405])):
        pid = os.fork()
        if pid == 0:
            os.setgroups(groups_)
            os.setgid(groups_[0])
            os.setuid(uid)
            os._exit(0 if os.access(file, os.R_OK) else 1)
        kernel = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        who = Person("somebody", uid, groups_[0], frozenset(groups_), "/")
        assert access.may(str(file), who, access.READ) is kernel


def test_who_has_no_id_yet_owns_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o600)
    made_up = Person("a user of its own", NOBODY_KNOWN, NOBODY_KNOWN, frozenset(), "/")
    assert access.may(str(tmp_path / "file"), made_up, access.READ) is False
    assert access.may(str(tmp_path / "gone"), made_up, access.READ) is None


def yaml_host(host: Host, text: str = NVIDIA) -> Path:
    host.at("/etc/cdi/card.json").unlink()
    host.put("/usr/lib/libcuda.so.580.1")
    return host.put("/etc/cdi/nvidia.yaml", text)


def test_a_specification_in_yaml_is_read_without_a_library(at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    place = yaml_host(host)
    assert host.unmet() == []
    found = cdi.read(str(place))
    assert found is not None
    assert found.devices == ("nvidia.com/gpu=0", "nvidia.com/gpu=GPU-2f7a9b1c", "nvidia.com/gpu=all")
    indented = NVIDIA.replace("\n- ", "\n  - ").replace("\n    deviceNodes", "\n      deviceNodes")
    indented = indented.replace("\n  name: ", "\n    name: ").replace("\n  containerEdits:", "\n    containerEdits:")
    place.write_text(indented)
    again = cdi.read(str(place))
    assert again is not None
    assert again.devices == found.devices


def test_a_card_that_no_specification_declares(at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    yaml_host(host)
    host.manifest["requires"]["cdi"] = ["amd.com/gpu=0", "nvidia.com/gpu=1", "vendor.example/npu=0"]
    known = "(there are nvidia.com/gpu=0, nvidia.com/gpu=GPU-2f7a9b1c, nvidia.com/gpu=all)"
    assert host.unmet() == [
        f"no CDI specification declares amd.com/gpu=0 {known}; amd-ctk cdi generate --output=/etc/cdi/amd.json",
        f"no CDI specification declares nvidia.com/gpu=1 {known}; {GENERATE}",
        f"no CDI specification declares vendor.example/npu=0 {known}; put its specification into /etc/cdi",
    ]
    host.at("/etc/cdi/nvidia.yaml").unlink()
    host.manifest["requires"]["cdi"] = ["nvidia.com/gpu=0"]
    assert host.unmet() == [f"no CDI specification declares nvidia.com/gpu=0; {GENERATE}"]


def test_a_specification_from_before_an_update_of_the_driver(at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    place = yaml_host(host)
    host.at("/usr/lib/libcuda.so.580.1").unlink()
    gone = "mounts /usr/lib/libcuda.so.580.1, which is gone"
    assert host.unmet() == [f"{place} is stale: nvidia.com/gpu=0 {gone}; {GENERATE}"]
    place.unlink()
    data = {
        "kind": "nvidia.com/gpu",
        "devices": [{"name": "0"}],
        "containerEdits": {"mounts": [{"hostPath": "/usr/lib/libcuda.so.580.1"}]},
    }
    place = host.put("/run/cdi/nvidia.json", json.dumps(data))
    assert host.unmet() == [f"{place} is stale: nvidia.com/gpu=0 {gone}; {GENERATE}"]


def test_of_two_specifications_one_that_is_right_is_enough(at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    host.put("/run/cdi/nvidia.yaml", NVIDIA)  # stale, and which of them counts is a matter of Podman's version
    assert host.unmet() == []


def test_cuda_in_a_sandbox_needs_its_module_loaded_before(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    host.put("/proc/devices", "Character devices:\n195 nvidia\n")
    mend = "modprobe nvidia-uvm, and write that name into /etc/modules-load.d/nvidia-uvm.conf"
    assert host.unmet() == [f"the kernel module nvidia-uvm is not loaded, and units here cannot load it; {mend}"]
    host.put("/proc/devices", "Character devices:\n195 nvidia\n510 nvidia-uvm\n")
    assert host.unmet() == []


@pytest.mark.parametrize(
    "text",
    ["{kind: nvidia.com/gpu, devices: [{name: '0'}]}\n", "kind: nvidia.com/gpu\ndevices: [{name: '0'}]\n", "\n"],
)
def test_a_specification_that_only_podman_can_read_is_left_to_it(text: str, at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    yaml_host(host, text)
    assert host.unmet() == []


def test_a_broken_specification_declares_nothing(at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    for data in ("{", "[]", '{"kind": 3}', '{"kind": "nvidia.com/gpu", "devices": [3, {"name": 0}, {"name": "1"}]}'):
        host.put("/etc/cdi/card.json", data)
        (sentence,) = host.unmet()
        assert sentence.startswith("no CDI specification declares nvidia.com/gpu=0")


@pytest.mark.parametrize("setting", ["/etc/containers/containers.conf", "/etc/containers/containers.conf.d/cdi.conf"])
def test_specifications_may_be_where_containers_conf_says(setting: str, at: Callable[[Path], Host]) -> None:
    host = at(FORGE)
    host.put("/opt/cdi/card.json", host.at("/etc/cdi/card.json").read_bytes())
    host.at("/etc/cdi/card.json").unlink()
    host.put(setting, '[engine]\n#cdi_spec_dirs = ["/opt/cdi"]\n')
    assert len(host.unmet()) == 1
    host.put(setting, '[engine]\ncdi_spec_dirs = [\n  "/etc/cdi",\n  "/opt/cdi",\n]\n')
    assert host.unmet() == []
