"""Files that a host must have: there, whole, and open to who reads them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from good_hosts import Host, good
from plugins.module_utils import needed_files
from source import ROOT

STUDIO = ROOT / "examples/rootless/rendered/studio"
CLAW = ROOT / "examples/two-backends/rendered/claw"
HALO = ROOT / "examples/halogen/rendered/halo-shared"
NATIVE = ROOT / "rendered/forge"
NOOK = ROOT / "examples/rootless/rendered/nook"
MODEL = "/srv/models/Qwen3.8-27B-UD-Q4_K_S.gguf"
SEEN = "and in its container nothing is where that link points,"
ROOTED = "root without capabilities"
NOT_MINE = pytest.mark.skipif(os.geteuid() == 0, reason="root's own file is open to a container's root")


@pytest.fixture(autouse=True)
def _systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/systemctl").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def at(tmp_path: Path) -> Callable[[Path], Host]:
    return lambda tree: good(tmp_path / "root", tree)


def rewritten(host: Host, tmp_path: Path, change: Callable[[str], str]) -> None:
    """Change every unit of the host's tree."""
    for entry in host.manifest["files"]:
        place = tmp_path / "tree" / entry["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(change((host.tree / entry["path"]).read_text()))
    host.tree = tmp_path / "tree"


def saying(line: str) -> Callable[[str], str]:
    return lambda text: text.replace("[Container]", f"[Container]\n{line}")


def test_a_file_that_is_not_there(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.at(MODEL).unlink()
    assert host.unmet() == [f"{MODEL} is not there; put it there"]
    host.at("/srv/models").rmdir()
    assert host.unmet() == [f"{MODEL} is not there, nor is /srv/models; put it there, or mount what holds it"]
    host.put("/srv/models")
    assert host.unmet() == [f"{MODEL} is not there; put it there"]


@pytest.mark.parametrize("path", [MODEL, MODEL.strip("/")])
def test_a_file_below_a_root_that_is_not_there(path: str, tmp_path: Path) -> None:
    said = list(needed_files.unmet({}, str(tmp_path / "gone"), [path], None))
    assert len(said) == 1
    assert said[0].startswith(f"{path} is not there, nor is ")


@pytest.mark.parametrize("target", ["blobs/1", MODEL.rpartition("/")[2]])
def test_a_link_that_leads_nowhere(target: str, at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.at(MODEL).unlink()
    host.at(MODEL).symlink_to(target)
    assert host.unmet() == [f"{MODEL} is a link to {target}, which is not there; put the file itself there"]


def test_what_a_unit_mounts_by_itself_is_not_missing_yet(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.at(MODEL).unlink()
    host.put("/etc/fstab", "# nas:/m /srv nfs\nnas:/other /srv/mod nfs noauto 0 0\nbroken\n")
    assert len(host.unmet()) == 1
    host.put("/etc/fstab", "nas:/m\t/srv/models/ nfs noauto,x-systemd.automount 0 0\n")
    assert host.unmet() == []
    host.at("/etc/fstab").unlink()
    host.manifest["services"][0]["after"] = ["other.service", "srv-mo.mount"]
    assert len(host.unmet()) == 1
    host.manifest["services"][0]["after"] = ["other.service", "srv-models.mount"]
    assert host.unmet() == []


def test_a_mount_with_a_dash_in_its_path(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.manifest["requires"]["files"] = ["/srv/big-models/x.gguf"]
    host.manifest["services"][0]["after"] = [r"srv-big\x2dmodels.mount"]
    assert host.unmet() == []


def test_a_checkpoint_has_the_size_that_was_recorded(at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.manifest["requires"]["checkpoints"] = [{"files": [MODEL], "size": 4}]
    assert host.unmet() == []
    host.put(MODEL, b"GG")
    mend = "a broken copy, or another checkpoint; copy it again, or record it with quadgen lock"
    assert host.unmet() == [f"{MODEL} has 2 bytes, and 4 were recorded: {mend}"]
    host.put("/srv/models/b.gguf", b"UF")
    host.manifest["requires"]["checkpoints"] = [{"files": [MODEL, "/srv/models/b.gguf"], "size": 4}]
    assert host.unmet() == []
    host.manifest["requires"]["checkpoints"][0]["size"] = 5
    assert host.unmet() == [f"{MODEL} and its shards have 4 bytes, and 5 were recorded: {mend}"]
    host.at("/srv/models/b.gguf").unlink()  # which `files` would say
    assert host.unmet() == []


def test_a_file_that_a_user_may_not_read(at: Callable[[Path], Host]) -> None:
    host = at(STUDIO)
    file = "/home/ada/models/bge-m3-Q8_0.gguf"
    host.at(file).chmod(0o600)
    assert host.unmet() == [f"embed.service runs as ada, who may not read {file}; chmod a+r {file}"]
    host.at(file).chmod(0o604)
    host.at("/home/ada").chmod(0o700)
    (sentence,) = host.unmet()  # of three files behind it
    assert sentence.startswith("chat.service runs as ada, who may not enter /home/ada, which holds /home/ada/models/")
    assert sentence.endswith(".gguf; chmod a+x /home/ada")


@pytest.mark.parametrize("line", ["User=1000", "UserNS=keep-id:uid=1000", "PodmanArgs=--user=1000"])
def test_who_a_container_is_by_its_own_words_is_left_to_it(
    line: str, at: Callable[[Path], Host], tmp_path: Path
) -> None:
    host = at(STUDIO)
    for path in host.manifest["requires"]["files"]:
        host.at(path).chmod(0o600)
    assert len(host.unmet()) == len(host.manifest["requires"]["files"])
    rewritten(host, tmp_path, saying(line))
    assert host.unmet() == []


def test_a_file_that_a_user_of_systemds_own_may_not_read(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    file = host.manifest["requires"]["files"][0]
    unit = next(each["unit"] for each in host.manifest["services"])
    host.at(file).chmod(0o600)
    (sentence,) = host.unmet()
    assert sentence == f"{unit} runs as llm-{unit.partition('.')[0]}, who may not read {file}; chmod a+r {file}"


def test_a_program_that_a_user_of_systemds_own_may_not_run(at: Callable[[Path], Host]) -> None:
    host = at(NATIVE)
    program = host.manifest["requires"]["programs"][0]
    host.at(program).chmod(0o700)
    (sentence,) = host.unmet()
    assert sentence.endswith(f", who may not run {program}; chmod a+x {program}")
    host.at(program).chmod(0o755)
    host.at(program).parent.chmod(0o700)
    (sentence,) = host.unmet()
    assert sentence.endswith(f", which holds {program}; chmod a+x {program.rpartition('/')[0]}")


def test_a_user_of_the_fleets_reads_what_is_its_groups(at: Callable[[Path], Host], tmp_path: Path) -> None:
    host = at(NATIVE)
    file = host.manifest["requires"]["files"][0]
    host.at(file).chmod(0o640)
    host.put("/etc/passwd", f"{host.at('/etc/passwd').read_text()}llm:x:4500:4500::/:/bin/false\n")
    rewritten(host, tmp_path, lambda text: text.replace("DynamicUser=yes\n", "").replace("User=llm-", "User=llm\n#"))
    render = host.at("/etc/group").read_text()
    assert host.unmet() == []  # the group of the file here is called render, and the unit has it
    host.put("/etc/group", render.replace("render:x:", "render:x:1"))
    (sentence,) = host.unmet()
    assert sentence.endswith(f" runs as llm, who may not read {file}; chmod a+r {file}")
    host.put("/etc/passwd", "root:x:0:0::/root:/bin/sh\n")
    assert host.unmet() == []  # who it is cannot be said


@NOT_MINE
def test_root_without_capabilities_may_not_read_anothers_file(at: Callable[[Path], Host], tmp_path: Path) -> None:
    host = at(CLAW)
    host.at(MODEL).chmod(0o600)
    assert host.unmet() == [f"llama-server.service runs as {ROOTED}, who may not read {MODEL}; chmod a+r {MODEL}"]
    rewritten(host, tmp_path, saying("AddCapability=DAC_OVERRIDE"))
    assert host.unmet() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_container_s_root_may_read_its_own_and_what_is_open(at: Callable[[Path], Host], tmp_path: Path) -> None:
    host = at(CLAW)
    host.at(MODEL).chmod(0o600)
    assert host.unmet() == []
    os.chown(host.at(MODEL), 4242, 4242)
    os.chown(host.at("/srv"), 4242, 4242)
    host.at("/srv").chmod(0o700)  # above what is mounted
    assert host.unmet() == [f"llama-server.service runs as {ROOTED}, who may not read {MODEL}; chmod a+r {MODEL}"]
    was = host.tree
    for line in ("AddCapability=DAC_OVERRIDE", "User=4242", "UserNS=keep-id", "PodmanArgs=--user=4242"):
        host.tree = was
        rewritten(host, tmp_path, saying(line))
        assert host.unmet() == []
    host.tree = was
    host.manifest["services"][0]["image"] = "registry.example/llama:1"  # whose user is anybody's guess
    assert host.unmet() == []


@pytest.mark.parametrize("target", ["blobs/1", "./blobs/../blobs/1", "/models/blobs/1"])
def test_a_link_within_what_a_container_has(target: str, at: Callable[[Path], Host]) -> None:
    host = at(CLAW)
    host.put("/srv/models/blobs/1")
    host.at(MODEL).unlink()
    host.at(MODEL).symlink_to(target)
    dangling = target.startswith("/")  # right inside, and nothing here
    assert len(host.unmet()) == (1 if dangling else 0)


@pytest.mark.parametrize(("target", "asked"), [("../blobs/1", CLAW), ("/srv/blobs/1", CLAW), ("../blobs/1", HALO)])
def test_a_link_out_of_what_a_container_has(target: str, asked: Path, at: Callable[[Path], Host]) -> None:
    host = at(asked)
    file = host.manifest["requires"]["files"][0]
    unit = next(each["unit"] for each in host.manifest["services"])
    host.put("/srv/blobs/1")
    (host.root.parent / "srv").symlink_to(host.at("/srv"))
    host.at(file).unlink()
    host.at(file).symlink_to(target if target[0] != "/" else host.at(target))
    written = host.at(file).readlink()
    sentence = f"{unit} is given {file}, {SEEN} {written}; put the file itself there, or a hard link"
    assert host.unmet() == [sentence]


def test_a_link_into_another_mount_of_the_container(at: Callable[[Path], Host], tmp_path: Path) -> None:
    host = at(CLAW)
    host.at(MODEL).unlink()
    blobs = host.put("/srv/blobs/1").parent
    host.at(MODEL).symlink_to(blobs / "1")
    rewritten(host, tmp_path, lambda text: text.replace("\nPublish", f"\nVolume=/srv/blobs:{blobs}:ro\nPublish"))
    assert host.unmet() == []


def test_a_native_service_follows_links(at: Callable[[Path], Host]) -> None:
    host = at(NOOK)
    file = host.manifest["requires"]["files"][0]
    host.put("/home/ada/blobs/1")
    host.at(file).unlink()
    host.at(file).symlink_to("../blobs/1")
    assert host.unmet() == []
