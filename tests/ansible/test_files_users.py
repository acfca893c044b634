"""Files in somebody's home are that user's, and root follows nothing there; whoever is not root changes its own."""

import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from collection_modules import call
from host_trees import CHAT, rendered, service
from hosts import snapshot
from plugins.module_utils import placing, state

ADA = 54321
"""Nobody's id on this machine; her name is in the root's own passwd."""
UNIT = "home/ada/.config/containers/systemd/chat.container"
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root acts for other users")


@dataclass
class Host:
    """A root with the home of a user, and the module called on it."""

    place: Path
    capsys: pytest.CaptureFixture[str]

    @property
    def root(self) -> Path:
        return self.place / "root"

    def tree(self, *paths: str, user: str | None = "ada") -> str:
        files = dict.fromkeys(paths, b"chat")
        return rendered(self.place / "rendered", files, services=[service(path, user=user) for path in files])

    def files(self, tree: str | None, **options: Any) -> dict[str, Any]:
        return call(self.capsys, "files", tree=tree, root=str(self.root), state_dir="q", **options)

    def refused(self, tree: str | None) -> str:
        said = self.files(tree)
        assert said["failed"]
        return str(said["msg"]).replace(f"{self.root}/", "/")


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that everybody can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="quadgen-home-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def host(place: Path, capsys: pytest.CaptureFixture[str]) -> Host:
    made = Host(place, capsys)
    for directory in ("etc", "home/ada"):
        (made.root / directory).mkdir(parents=True)
    os.chown(made.root / "home/ada", ADA, ADA)
    (made.root / "etc/passwd").write_text(f"ada:x:{ADA}:{ADA}::/home/ada:/bin/sh\n")
    return made


@as_root
def test_a_users_files_and_the_directories_on_the_way_are_that_users(host: Host) -> None:
    tree = host.tree(UNIT)
    before = snapshot(host.root)
    assert host.files(tree)["create"] == [f"/{UNIT}"]
    for path in (Path(UNIT), *Path(UNIT).parents[:3]):
        status = (host.root / path).lstat()
        assert (status.st_uid, status.st_gid) == (ADA, ADA), path
    assert not host.files(tree)["changed"]
    assert host.files(None)["remove"] == [f"/{UNIT}"]
    assert {path: what for path, what in snapshot(host.root).items() if not path.startswith("q")} == before


@as_root
def test_a_file_that_is_not_its_users_becomes_it(host: Host) -> None:
    tree = host.tree(UNIT)
    host.files(tree)
    os.chown(host.root / UNIT, 0, 0)
    assert host.files(tree)["update"] == [f"/{UNIT}"]
    assert (host.root / UNIT).lstat().st_uid == ADA


@as_root
@pytest.mark.parametrize("above", ["home/ada/.config", "home/ada/.config/containers/systemd"])
def test_a_link_that_a_user_set_leads_root_nowhere(host: Host, above: str) -> None:
    secret = host.root / "secret"
    secret.mkdir(mode=0o700)
    (secret / "chat.container").write_text("key")
    link = host.root / above
    for directory in reversed(Path(above).parents[:-3]):
        (host.root / directory).mkdir()
        os.chown(host.root / directory, ADA, ADA)
    link.symlink_to(secret)
    os.lchown(link, ADA, ADA)
    before = snapshot(host.root / "secret", times=True)
    said = host.files(host.tree(UNIT), diff=True)
    assert "Permission denied" in said["msg"]
    assert "key" not in str(said)
    assert snapshot(host.root / "secret", times=True) == before


@as_root
def test_a_file_of_the_systems_is_not_put_where_a_user_could_change_it(host: Host) -> None:
    (host.root / "etc/containers").symlink_to(host.root / "home/ada")
    assert (
        host.refused(host.tree(CHAT, user=None))
        == f"/{CHAT} is to be the system's, but lies in a directory of user 54321"
    )
    assert list((host.root / "home/ada").iterdir()) == []


@as_root
def test_a_link_to_a_home_that_is_elsewhere_is_followed_as_its_user(host: Host) -> None:
    (host.root / "data").mkdir()
    (host.root / "home/ada").rename(host.root / "data/ada")
    (host.root / "home/ada").symlink_to("../data/ada")
    assert host.files(host.tree(UNIT))["create"] == [f"/{UNIT}"]
    assert (host.root / "data/ada" / Path(UNIT).relative_to("home/ada")).lstat().st_uid == ADA


@as_root
def test_a_home_is_not_made_by_root(host: Host) -> None:
    (host.root / "home/ada").rmdir()
    assert (
        host.refused(host.tree(UNIT)) == "there is no /home/ada, which is to be ada's: make the home directory of ada"
    )
    assert not (host.root / "home/ada").exists()


@as_root
def test_a_home_of_another_user_is_refused(host: Host) -> None:
    os.chown(host.root / "home/ada", ADA + 1, ADA + 1)
    assert host.refused(host.tree(UNIT)) == f"/{UNIT} is to be ada's, but lies in a directory of user 54322"


@as_root
def test_a_user_whom_nobody_knows_is_named(host: Host) -> None:
    assert host.refused(host.tree(UNIT, user="bob")) == "there is no user bob on this host"


@as_root
def test_files_of_a_user_who_is_gone_are_no_reason_to_fail(host: Host) -> None:
    host.files(host.tree(UNIT))
    (host.root / "home/ada").rename(host.root / "home/old")
    (host.root / "etc/passwd").write_text("")
    assert host.files(None)["remove"] == []
    assert state.read(str(host.root / "q")).owned == frozenset()


AS_SOMEBODY = """
import os, pwd, sys
from plugins.module_utils import placing, state
from plugins.module_utils.managers import Trouble
tree, home = sys.argv[1:]
os.setgroups([]); os.setgid(65534); os.setuid(65534)  # only now: nobody need not be able to run this Python
me = pwd.getpwuid(65534)
pwd.getpwuid = lambda _: type(me)((*me[:5], home, me[6]))
place = state.directory(None, "/")
with state.locked(place):
    known = state.read(place)
    planned = placing.plan(tree, "/", known)
    print(*planned.problems, sep="\\n")
    if not planned.problems:
        placing.carry_out(planned, "/", place, known)
        print(*planned.paths("create"), state.read(place).host)
"""


@pytest.fixture
def home(place: Path) -> Path:
    """The home of nobody."""
    (place / "nobody").mkdir()
    os.chown(place / "nobody", 65534, 65534)
    return place / "nobody"


def by_nobody(tree: str, home: Path) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", AS_SOMEBODY, tree, str(home)],
        env={"PYTHONPATH": str(Path(placing.__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()


@as_root
def test_without_root_a_user_installs_its_own_units(home: Path) -> None:
    path = f"{home}/.config/systemd/user/chat.service".lstrip("/")
    tree = rendered(home.parent, {path: b"chat"}, services=[service(path, user=pwd.getpwuid(65534).pw_name)])
    assert by_nobody(tree, home) == [f"/{path} claw"]
    assert (Path("/") / path).read_bytes() == b"chat"
    assert (home / ".local/state/quadgen/state.json").is_file()


@as_root
def test_without_root_the_files_of_others_are_refused_one_by_one(home: Path) -> None:
    me = pwd.getpwuid(65534).pw_name
    bob = "home/bob/.config/systemd/user/embed.service"
    lost = "srv/units/lost.service"
    services = [service(CHAT), service(bob, user="bob"), service(lost, user=me)]
    tree = rendered(home.parent, dict.fromkeys((CHAT, bob, lost), b"x"), services=services)
    assert by_nobody(tree, home) == [
        f"/{CHAT} is the system's, and this runs as {me}: let Ansible become root",
        f"/{bob} is bob's, and this runs as {me}: let Ansible become root",
        f"/{lost} is not below {home}, the home of {me}: let Ansible become root",
    ]


@as_root
def test_both_managers_owe_a_reload_where_a_service_moves_from_one_to_the_other(host: Host) -> None:
    kept = str(host.root / "q")
    host.files(host.tree(UNIT))
    state.write(kept, replace(state.read(kept), stale=()))
    moved = host.tree(CHAT, user=None)
    host.files(moved)
    known = state.read(kept)
    assert (known.stale, known.services["chat.service"].user) == ((None, "ada"), None)


@as_root
@pytest.mark.parametrize("link", [True, False])
def test_a_directory_where_a_user_may_not_write_is_named_before_anything_is_done(host: Host, *, link: bool) -> None:
    if link:
        (host.root / "home/ada/.config").symlink_to("../../etc")
        os.lchown(host.root / "home/ada/.config", ADA, ADA)
    else:
        (host.root / "home/ada/.config").mkdir()
    leads = f"it leads to {host.root}/etc, and " if link else ""
    before = snapshot(host.root)
    said = host.files(host.tree(UNIT))
    assert said["msg"] == (f"{host.root}/home/ada/.config is in the way: {leads}user {ADA} may not write there")
    assert {path: what for path, what in snapshot(host.root).items() if not path.startswith("q")} == before
