"""What a write refuses, what it cannot do, and how it waits: on a real directory, with real faults."""

import errno
import fcntl
import os
import resource
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hosts import CHAT, EMBED, manifest, snapshot, tree
from quadgen.disk import apply, survey
from quadgen.problems import Problem, Rejected, Unavailable
from quadgen.tree import HostTree

CLAW = tree({CHAT: b"chat\n", EMBED: b"embed\n"})
NEW = tree({CHAT: b"chat 2\n", EMBED: b"embed 2\n"}, "new")
FORGE = tree({CHAT: b"forge\n"}, host="forge")


def write(root: Path | str, *trees: HostTree, notify: Callable[[str], object] = pytest.fail) -> None:
    apply(str(root), trees, only=None, texts=False, notify=lambda text: (notify(text), None)[1])


def empty(root: Path | str, *trees: HostTree) -> bool:
    return survey(str(root), trees, only=None, texts=False).empty


def refused(root: Path, *trees: HostTree) -> list[Problem]:
    """A survey and a write must refuse for the same reasons and touch nothing."""
    before = snapshot(root, times=True)
    with pytest.raises(Rejected) as surveyed:
        empty(root, *trees)
    with pytest.raises(Rejected) as written:
        write(root, *trees)
    assert snapshot(root, times=True) == before
    assert surveyed.value.problems == written.value.problems
    assert {problem.code for problem in written.value.problems} == {"not-ours"}
    return list(written.value.problems)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "rendered"


@pytest.fixture
def unprivileged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The name of a directory in which the test has no more rights than the modes say."""
    monkeypatch.chdir(tmp_path)
    if os.geteuid() != 0:
        yield Path("rendered")
        return
    os.chown(tmp_path, 65534, 65534)
    os.seteuid(65534)
    try:
        yield Path("rendered")
    finally:
        os.seteuid(0)


def test_every_foreign_file_of_every_host_is_refused_in_one_run(root: Path) -> None:
    write(root, FORGE)
    for host in ("claw", "desk"):
        (root / host / CHAT).parent.mkdir(parents=True)
        (root / host / CHAT).write_text("mine")
    desk = tree({CHAT: b"desk\n"}, host="desk")
    problems = refused(root, CLAW, tree({CHAT: b"forge 2\n"}, host="forge"), desk)
    assert [problem.host for problem in problems] == ["claw", "desk"]


def test_a_slash_after_the_output_directory_does_not_show_in_messages(root: Path) -> None:
    (root / "claw/etc").mkdir(parents=True)
    (root / "claw/etc/x").write_text("mine")
    with pytest.raises(Rejected, match=f"not-ours: {root}/claw/etc/x is in the way"):
        write(f"{root}/", tree({"etc/x": b"x"}))
    with pytest.raises(Rejected, match=f"not-ours: {root}/claw/etc/x is in the way"):
        empty(f"{root}/", tree({"etc/x": b"x"}))


def link(path: Path) -> None:
    path.symlink_to(Path("moved").absolute())


def dangle(path: Path) -> None:
    path.symlink_to("nowhere")


def listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(os.path.relpath(path))


LINK = "a symbolic link"
OTHER = "neither a file nor a directory"


@pytest.mark.parametrize(
    ("where", "make", "what"),
    [
        (where, make, what)
        for where in ("claw", "claw/etc", f"claw/{CHAT}", "claw/manifest.json")
        for make, what in (
            (link, LINK),
            (dangle, LINK),
            (os.mkfifo, OTHER),
            (listen, OTHER),
            (Path.mkdir, "a directory"),
        )
        if make is not Path.mkdir or Path(where).suffix
    ],
)
def test_what_stands_in_the_way_is_named_and_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, make: Callable[[Path], None], what: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    root = Path("rendered")
    write(root, CLAW)
    (root / where).rename("moved")
    make(root / where)
    assert [problem.message for problem in refused(root, CLAW)] == [
        f"rendered/{where} is in the way: it is {what}, which quadgen neither writes through nor replaces"
    ]
    refused(root, NEW)


def test_a_file_where_a_directory_must_be_is_refused(root: Path) -> None:
    write(root, FORGE)
    (root / "claw").mkdir()
    (root / "claw/etc").write_text("mine")
    (problem,) = refused(root, CLAW, FORGE)
    assert f"{root}/claw/etc is in the way: it is a file" in problem.message


def test_a_link_on_the_way_to_a_file_that_must_go_is_refused(root: Path) -> None:
    write(root, CLAW, FORGE)
    (root / "claw/home").rename(root / "claw/moved")
    (root / "claw/home").symlink_to("moved")
    (problem,) = refused(root, FORGE)
    assert problem.place is not None
    assert problem.place.file == f"{root}/claw/home"


@pytest.mark.parametrize("trees", [(CLAW, FORGE), (FORGE,)], ids=["in the fleet", "departed"])
def test_a_manifest_that_is_not_ours_is_refused(root: Path, trees: tuple[HostTree, ...]) -> None:
    write(root, CLAW, FORGE)
    (root / "claw/manifest.json").write_bytes(manifest("other", [CHAT]))
    (problem,) = refused(root, *trees)
    assert problem.message == (
        f"{root}/claw/manifest.json is no manifest that quadgen wrote for claw: it names another host"
    )


def test_an_output_directory_that_is_a_file_is_said_to_be_none(root: Path) -> None:
    root.write_text("mine")
    with pytest.raises(Unavailable, match=f"cannot read {root}: Not a directory"):
        empty(root, CLAW)
    with pytest.raises(Unavailable, match=f"cannot write {root}: Not a directory"):
        write(root, CLAW)


def test_a_working_directory_that_is_gone_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(Unavailable, match="cannot write rendered: No such file or directory"):
        write("rendered", CLAW)


def test_a_tree_that_nobody_may_write_can_be_surveyed_and_says_why_it_cannot_be_written(
    unprivileged: Path,
) -> None:
    write(unprivileged, CLAW)
    files = [path for path in unprivileged.rglob("*") if path.is_file()]
    for path in [unprivileged, *(path for path in unprivileged.rglob("*") if path.is_dir())]:
        path.chmod(0o555)
    before = snapshot(unprivileged, times=True)
    assert empty(unprivileged, CLAW)
    write(unprivileged, CLAW)
    with pytest.raises(Unavailable, match=r"cannot write rendered/\.quadgen-writing: Permission denied"):
        write(unprivileged, NEW)
    assert snapshot(unprivileged, times=True) == before
    files[0].chmod(0o000)
    with pytest.raises(Unavailable, match=f"cannot read {files[0]}: Permission denied"):
        empty(unprivileged, CLAW)


def test_a_denied_directory_leaves_no_half_done_file(unprivileged: Path) -> None:
    write(unprivileged, CLAW)
    (unprivileged / "claw" / EMBED).parent.chmod(0o555)
    with pytest.raises(Unavailable, match=f"cannot write rendered/claw/{EMBED}: Permission denied"):
        write(unprivileged, NEW)
    assert (unprivileged / "claw" / CHAT).read_bytes() == b"chat 2\n"
    assert not list(unprivileged.rglob("*quadgen*"))
    (unprivileged / "claw" / EMBED).parent.chmod(0o755)
    write(unprivileged, NEW)
    assert empty(unprivileged, NEW)


def test_a_full_disk_leaves_each_file_old_or_new_and_the_next_run_finishes(root: Path) -> None:
    write(root, CLAW)
    big = tree({CHAT: b"x" * 9000, EMBED: b"embed 2\n", "etc/new/a.container": b"a\n"}, "new")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, hard))
    try:
        with pytest.raises(Unavailable) as full:
            write(root, big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(full.value) == f"cannot write {root}/claw/{CHAT}: File too large"
    assert (root / "claw" / CHAT).read_bytes() == b"chat\n"
    assert not list(root.rglob("*quadgen*"))
    assert not (root / "claw/etc/new").exists()
    write(root, CLAW)
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == sorted(
        ["chat.container", "embed.container", "manifest.json"]
    )
    write(root, big)
    assert empty(root, big)


def test_a_directory_that_cannot_be_locked_is_written_with_a_warning(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(_handle: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    said: list[str] = []
    write(root, CLAW, notify=said.append)
    assert said == [f"{root} cannot be locked (No locks available): let no other render write there meanwhile"]
    assert empty(root, CLAW)


def test_a_directory_that_was_replaced_during_the_wait_is_locked_anew(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.mkdir()
    real, calls = fcntl.flock, []

    def flock(handle: int, operation: int) -> None:
        calls.append(operation)
        if len(calls) == 1:
            root.rename(root.with_name("old"))
        real(handle, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    write(root, CLAW)
    assert len(calls) == 2
    assert empty(root, CLAW)
    assert not list(root.with_name("old").iterdir())
