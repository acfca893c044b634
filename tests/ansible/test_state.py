"""What the collection remembers of a host: whole or absent after any end of a run, and never of two runs at once."""

import json
import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.module_utils import state
from plugins.module_utils.managers import Trouble
from plugins.module_utils.state import NEW, Owned, State

FULL = State(
    host="claw",
    files={"etc/a": "1"},
    pending={"etc/b": "2"},
    made=("etc",),
    services={"chat.service": Owned(user="llm", restart="r", after=("mnt-nas.mount",), stop_timeout=30)},
    running={"chat.service": "r"},
    images=(("ghcr.io/x:1", None), ("ghcr.io/x:1", "llm")),
    stale=(None, "llm"),
    refused="f" * 64,
    reason="chat.service did not become healthy",
)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert state.read(str(tmp_path)) == NEW
    state.write(str(tmp_path), FULL)
    assert state.read(str(tmp_path)) == FULL
    assert FULL.owned == {"etc/a", "etc/b"}
    state.write(str(tmp_path), NEW)
    assert state.read(str(tmp_path)) == NEW


def modes(place: Path) -> dict[str, int]:
    """The modes of a directory and of what is in it, by name."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (place, *place.iterdir())}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_anybody_can_read_a_state_but_not_hold_its_lock_or_read_the_journals_words(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with state.locked(str(tmp_path / "var/quadgen")):
            state.write(str(tmp_path / "var/quadgen"), FULL)
    finally:
        os.umask(before)
    place = tmp_path / "var/quadgen"
    assert modes(place) == {"quadgen": 0o711, "state.json": 0o644, "refused.json": 0o600}
    assert str(FULL.reason) not in (place / "state.json").read_text()
    assert stat.S_IMODE(place.parent.stat().st_mode) == 0o755
    state.write(str(place), replace(FULL, refused=None, reason=None))
    assert modes(place).keys() == {"quadgen", "state.json"}


def test_a_directory_that_somebody_closed_since_stays_closed(tmp_path: Path) -> None:
    place = tmp_path / "state"
    with state.locked(str(place)):
        state.write(str(place), FULL)
        place.chmod(0o700)
        state.write(str(place), FULL)
    assert modes(place) == {"state": 0o700, "state.json": 0o644, "refused.json": 0o600}


@pytest.mark.parametrize(
    "text", ["", "[]", '{"refused": "another", "reason": "x"}', f'{{"refused": "{FULL.refused}", "reason": 1}}']
)
def test_a_reason_that_is_not_of_the_refused_tree_is_none(tmp_path: Path, text: str) -> None:
    state.write(str(tmp_path), FULL)
    (tmp_path / "refused.json").write_text(text)
    assert state.read(str(tmp_path)) == replace(FULL, reason="nobody kept why")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", '{"version": 2}', '{"version": 1, "files": {"../x": "1"}}'),
        *('{"version": 1, "stale": [1]}', '{"version": 1, "stale": [0]}', '{"version": 1, "stale": null}'),
        *('{"version": 1, "images": [1]}', '{"version": 1, "images": [["x", []]]}'),
        *('{"version": 1, "files": []}', '{"version": 1, "pending": {"x": null}}', '{"version": 1, "running": null}'),
        *('{"version": 1, "made": [null]}', '{"version": 1, "made": ["../x"]}'),
        '{"version": 1, "services": {"x.service": {"user": null, "restart": "1", "stop_timeout": "1"}}}',
        '{"version": 1, "services": {"x.service": {"user": [], "restart": "1"}}}',
        '{"version": 1, "services": {"x.service": {"user": null, "restart": "1", "after": [{}]}}}',
    ],
)
def test_a_state_that_nobody_here_wrote_is_refused_by_name(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    with pytest.raises(Trouble) as trouble:
        state.read(str(tmp_path))
    assert str(trouble.value) == (
        f"{tmp_path}/state.json is no state that this collection wrote: restore it, or remove it: "
        "then what is there and as rendered becomes quadgen's again"
    )


def test_a_state_that_cannot_be_written_leaves_the_one_before(tmp_path: Path) -> None:
    state.write(str(tmp_path), FULL)
    (tmp_path / ".state.json.new").mkdir()
    with pytest.raises(Trouble) as trouble:
        state.write(str(tmp_path), NEW)
    assert str(trouble.value) == f"cannot write {tmp_path}/state.json: Is a directory"
    assert state.read(str(tmp_path)) == FULL
    with state.locked(str(tmp_path)), pytest.raises(Trouble):
        state.write(str(tmp_path), NEW)


def test_keys_of_a_later_version_are_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text(json.dumps({"version": 1, "host": "claw", "later": []}))
    assert state.read(str(tmp_path)) == State(host="claw")


@pytest.mark.home
def test_a_state_lies_below_the_root() -> None:
    default = state.directory(None, "/")
    assert default == ("/var/lib/quadgen" if os.geteuid() == 0 else f"{Path.home()}/.local/state/quadgen")
    assert state.directory(None, "/x") == f"/x{default}"
    assert state.directory("/srv/q", "/x") == "/x/srv/q"
    assert state.directory("/srv/q", "/") == "/srv/q"


HOLDER = """
import sys, time
from plugins.module_utils import state
from dataclasses import replace
place, times = sys.argv[1:]
for _ in range(int(times)):
    with state.locked(place):
        found = state.read(place)
        count = int(found.reason or 0)
        time.sleep(0.001)
        state.write(place, replace(found, reason=str(count + 1)))
"""


def test_two_runs_at_once_wait_for_each_other(tmp_path: Path) -> None:
    place = str(tmp_path / "state")
    path = {**os.environ, "PYTHONPATH": str(Path(state.__file__).parents[2])}
    runs = [subprocess.Popen([sys.executable, "-c", HOLDER, place, "30"], env=path) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert state.read(place).reason == "90"


def test_reading_makes_nothing(tmp_path: Path) -> None:
    with state.locked(str(tmp_path / "state"), reading=True):
        assert state.read(str(tmp_path / "state")) == NEW
    assert list(tmp_path.iterdir()) == []


def test_a_state_that_is_removed_leaves_nothing(tmp_path: Path) -> None:
    place = tmp_path / "state"
    with state.locked(str(place)):
        state.write(str(place), replace(FULL, stale=()))
        (place / "trees/one").mkdir(parents=True)
        (place / "good").symlink_to("trees/one")
        assert state.good(str(place)) == f"{place}/good"
        state.remove(str(place))
    assert not place.exists()
    assert state.good(str(place)) is None
