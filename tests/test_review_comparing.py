"""Two states of one host, compared as values: what a manifest and a unit's text say otherwise."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fleets import CPU, accepted, one
from quadgen.ownership import MANIFEST
from quadgen.review.change import HostChange, Kind, Target
from quadgen.review.comparing import Contents, compare
from quadgen.review.grouping import some
from quadgen.review.listed import read

NOBODY: frozenset[str] = frozenset()


def state(fields: str) -> dict[str, bytes]:
    """Everything of the host that a fleet has."""
    (tree,) = accepted(one(fields)).trees
    return {MANIFEST: tree.manifest} | {file.path: file.data for file in tree.files}


def compared(old: Contents | None, new: Contents | None) -> HostChange:
    """What is compared, without the files that are the same on both sides."""
    same = {path for path in (old or {}) if path != MANIFEST and new is not None and (old or {})[path] == new.get(path)}
    sides = [None if side is None else {path: side[path] for path in side if path not in same} for side in (old, new)]
    found = compare("claw", sides[0], sides[1], held=NOBODY)
    assert found is not None
    return found


def test_the_same_state_has_nothing_to_tell() -> None:
    found = compared(state(CPU + "}"), state(CPU + "}"))
    assert (found.kind, found.services, found.needs, found.spares) == (Kind.CHANGED, (), (), ())


def test_what_comes_on_one_way_goes_on_the_other() -> None:
    old, new = state(CPU + "}"), state(CPU + ", env: {A: b}, flags: {log-verbosity: 1}, volumes: [/a:/b]}")
    (there,), (back,) = compared(old, new).services, compared(new, old).services
    assert [(each.name, each.old, each.new) for each in there.detail.environment] == [("A", (), ("b",))]
    assert [(each.name, each.old, each.new) for each in back.detail.environment] == [("A", ("b",), ())]
    assert [(each.name, each.new) for each in there.detail.arguments] == [("--log-verbosity", ("1",))]
    assert (there.detail.mounts or ("", (), ()))[2] == ("/a:/b",) == (back.detail.mounts or ("", (), ()))[1]


def test_an_order_of_arguments_alone_is_told_as_such() -> None:
    old = state(CPU + "}")
    path = next(path for path in old if path != MANIFEST)
    new = old | {path: old[path].replace(b"--parallel 1 --metrics", b"--metrics --parallel 1")}
    assert new != old
    (change,) = compared(old, new).services
    assert [each.name for each in change.detail.arguments] == ["order of the arguments"]


def test_words_that_are_split_otherwise_are_told_so_that_the_split_is_seen() -> None:
    old = state(CPU + ", extra_args: [--api-prefix, /a]}")
    path = next(path for path in old if path != MANIFEST)
    new = old | {path: old[path].replace(b"--parallel 1", b"--parallel 1 2")}
    again = old | {path: old[path].replace(b"--parallel 1", b'--parallel "1 2"')}
    (change,) = compared(new, again).services
    ((name, (was,), (now,)),) = change.detail.arguments
    assert name == "words of the arguments"
    assert was.replace("--parallel 1 2", "--parallel '1 2'") == now


def test_what_runs_is_told_apart_from_other_comments() -> None:
    old = state(CPU + "}")
    path = next(path for path in old if path != MANIFEST)
    about = next(line for line in old[path].split(b"\n")[1:] if line.startswith(b"# "))
    new = old | {path: old[path].replace(about, b"# another on cpu", 1)}
    (change,) = compared(old, new).services
    assert change.detail.about == ("about", (about[2:].decode(),), ("another on cpu",))
    assert change.detail.notes is None


def test_of_a_service_that_moves_into_a_container_who_can_reach_it_is_told() -> None:
    old, new = state(CPU + ", runtime: systemd}"), state(CPU + ", bind: 192.0.2.1, api_key: false}")
    (change,) = compared(old, new).services
    assert change.moved is not None
    assert change.detail.keys == (("[Container] PublishPort", (), ("192.0.2.1:8080:8080",)),)
    assert change.detail.mounts is not None


def test_a_digest_that_differs_restarts_a_service_whose_file_is_the_same() -> None:
    old = state(CPU + "}")
    manifest = json.loads(old[MANIFEST])
    manifest["files"][0]["restart"] = "0" * 64
    (change,) = compared(old, old | {MANIFEST: json.dumps(manifest).encode()}).services
    assert (change.kind, change.restart, change.detail.arguments) == (Kind.CHANGED, True, ())


def test_an_older_manifest_without_services_and_checkpoints_is_read() -> None:
    data = json.loads(state(CPU + "}")[MANIFEST])
    del data["services"], data["requires"]["checkpoints"]
    found = read(json.dumps(data).encode(), "claw")
    assert found is not None
    assert [(each.unit, each.autostart) for each in found.services.values()] == [("llama-server.service", True)]


def test_a_checkpoint_is_needed_by_its_files_and_its_size() -> None:
    data = json.loads(state(CPU + "}")[MANIFEST])
    data["requires"]["checkpoints"] = [{"files": ["/srv/a.gguf"], "size": 7}]
    found = read(json.dumps(data).encode(), "claw")
    assert found is not None
    assert ("checkpoints", "/srv/a.gguf (7 bytes)") in found.requires


def test_a_manifest_that_is_not_quadgens_is_not_compared() -> None:
    for data in (b"", b"{}", b"[]", b"\xff", state(CPU + "}")[MANIFEST].replace(b'"claw"', b'"other"')):
        assert compare("claw", {MANIFEST: data}, state(CPU + "}"), held=NOBODY) is None


def test_nothing_is_said_of_a_service_that_is_refused() -> None:
    old = state(CPU + "}")
    found = compare(
        "claw",
        old,
        {MANIFEST: old[MANIFEST].replace(b"llama-server", b"other")},
        held=frozenset({"llama-server", "other"}),
    )
    assert found is not None
    assert (found.services, found.spares) == ((), ())


@given(st.lists(st.text(max_size=3), max_size=12))
def test_those_that_are_named_and_those_that_are_counted_are_all(names: list[str]) -> None:
    shown, more = some(names)
    assert len(shown) + more == len(set(names))
    assert more != 1  # its name is no longer than the words for it
    assert all(Target(name, None).host in names for name in shown)
