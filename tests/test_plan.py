"""Plans and diffs are made from values alone; no test here touches a disk but the one that asks git."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts import CHAT, EMBED, manifest, tree
from quadgen import ownership
from quadgen.diff import diff
from quadgen.plan import HostPlan, Kind, Plan, Seen, Standing, ancestors, decide, departed, fresh
from quadgen.problems import Collector
from quadgen.tree import HostTree


def standing(
    files: dict[str, bytes | None], listed: list[str], *, mode: int = 0o644, note: str = "", absent: str = ""
) -> Standing:
    return Standing(
        host="claw",
        place="rendered/claw",
        manifest=Seen(data=manifest("claw", listed, note), mode=0o644) if listed else None,
        listed=frozenset(listed),
        files={path: None if data is None else Seen(data=data, mode=mode) for path, data in files.items()},
        absent=frozenset(absent.split()),
    )


def planned(new: HostTree, old: Standing) -> HostPlan | None:
    problems = Collector()
    plan = decide(new, old, texts=True, problems=problems)
    problems.check()
    return plan


def summary(plan: HostPlan | None) -> list[tuple[str, str]]:
    assert plan is not None
    return [(change.kind.value, change.path) for change in plan.changes]


def test_a_new_host_gets_its_directories_outermost_first_and_its_manifest_before_its_files() -> None:
    plan = fresh(tree({CHAT: b"a", EMBED: b"b"}))
    assert plan.directories == (
        "claw",
        *(f"claw/{above}" for above in ("etc", "etc/containers", "etc/containers/systemd")),
        *(f"claw/{above}" for above in ancestors(EMBED)),
    )
    assert plan.opening == manifest("claw", [CHAT, EMBED])
    assert plan.closing is None
    assert [change.kind for change in plan.changes] == [Kind.CREATE] * 3


def test_a_host_that_is_as_rendered_needs_nothing() -> None:
    assert planned(tree({CHAT: b"a"}), standing({CHAT: b"a"}, [CHAT])) is None


def test_an_edited_file_that_the_manifest_lists_is_put_right_without_touching_the_manifest() -> None:
    plan = planned(tree({CHAT: b"a"}), standing({CHAT: b"edited"}, [CHAT]))
    assert summary(plan) == [("update", f"claw/{CHAT}")]
    assert plan is not None
    assert (plan.opening, plan.closing, plan.manifest, plan.files[0].old) == (None, None, None, b"edited")


def test_a_survey_that_keeps_no_texts_leaves_the_old_bytes_out() -> None:
    plan = decide(tree({CHAT: b"a"}), standing({CHAT: b"edited"}, [CHAT]), texts=False, problems=Collector())
    assert plan is not None
    assert (plan.files[0].old, plan.files[0].new) == (None, b"a")


def test_a_wrong_mode_alone_is_a_change_of_its_own_kind() -> None:
    plan = planned(tree({CHAT: b"a"}), standing({CHAT: b"a"}, [CHAT], mode=0o600))
    assert summary(plan) == [("mode", f"claw/{CHAT}")]


def test_a_file_that_leaves_is_listed_until_it_is_gone() -> None:
    plan = planned(tree({CHAT: b"a"}, note="new"), standing({CHAT: b"a", EMBED: b"b"}, [CHAT, EMBED]))
    assert summary(plan) == [("remove", f"claw/{EMBED}"), ("update", "claw/manifest.json")]
    assert plan is not None
    assert plan.opening is not None
    opening = json.loads(plan.opening)["files"]
    assert [(entry["path"], entry["sha256"]) for entry in opening] == [(CHAT, "new"), (EMBED, "")]
    assert plan.closing == manifest("claw", [CHAT], "new")
    assert plan.gone == (f"claw/{EMBED}",)


def test_a_run_after_a_kill_finds_the_union_and_writes_only_the_final_manifest() -> None:
    new = tree({CHAT: b"a"}, note="new")
    union = ownership.union(manifest("claw", [CHAT, EMBED]), new.manifest)
    left = Standing(
        host="claw",
        place="rendered/claw",
        manifest=Seen(data=union, mode=0o644),
        listed=frozenset({CHAT, EMBED}),
        files={CHAT: Seen(data=b"a", mode=0o644), EMBED: None},
        absent=frozenset(),
    )
    plan = planned(new, left)
    assert plan is not None
    assert (plan.opening, plan.closing, plan.files) == (None, new.manifest, ())


def test_only_the_directories_that_files_need_and_that_do_not_exist_are_made() -> None:
    absent = " ".join(f"claw/{above}" for above in (*ancestors(EMBED)[1:], "gone"))
    old = standing({CHAT: b"a", EMBED: None, "gone/x.container": None}, [CHAT, "gone/x.container"], absent=absent)
    plan = planned(tree({CHAT: b"a", EMBED: b"b"}, note="new"), old)
    assert plan is not None
    assert plan.directories == tuple(f"claw/{above}" for above in ancestors(EMBED)[1:])


def test_every_file_that_nobody_lists_is_refused_in_one_run_unless_its_bytes_are_the_rendered_ones() -> None:
    problems = Collector()
    new = tree({CHAT: b"a", EMBED: b"b", "etc/same.service": b"c"})
    old = standing({CHAT: b"mine", EMBED: b"mine too", "etc/same.service": b"c"}, [])
    decide(new, old, texts=False, problems=problems)
    assert [problem.message for problem in problems.problems] == [
        f"rendered/claw/{path} is in the way: no manifest of quadgen lists it, and it is not what would be written"
        for path in (CHAT, EMBED)
    ]
    assert {problem.code for problem in problems.problems} == {"not-ours"}
    assert {problem.host for problem in problems.problems} == {"claw"}
    assert all(problem.hint and problem.place for problem in problems.problems)


def test_a_host_that_left_loses_what_its_manifest_lists_and_then_the_manifest() -> None:
    plan = departed(standing({CHAT: b"a", EMBED: None}, [CHAT, EMBED]), texts=True)
    assert summary(plan) == [("remove", f"claw/{CHAT}"), ("remove", "claw/manifest.json")]
    assert plan.gone == tuple(f"claw/{path}" for path in (CHAT, EMBED, "manifest.json"))
    assert (plan.opening, plan.closing, plan.directories) == (None, None, ())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is not JSON"),
        (b"<<<<<<< HEAD\n{}", "it is not JSON"),
        (b'{"host": "\xe9"}', "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it is not `version: 1` with a list of `files`"),
        (b'{"version": 2, "host": "claw", "files": []}', "it is not `version: 1` with a list of `files`"),
        (b'{"version": 1, "host": "claw"}', "it is not `version: 1` with a list of `files`"),
        (b'{"version": 1, "host": "forge", "files": []}', "it names another host"),
    ],
)
def test_a_manifest_that_quadgen_did_not_write_for_this_host_is_refused(data: bytes, why: str) -> None:
    problems = Collector()
    assert ownership.listed(data, host="claw", file="rendered/claw/manifest.json", problems=problems) is None
    assert [problem.message for problem in problems.problems] == [
        f"rendered/claw/manifest.json is no manifest that quadgen wrote for claw: {why}"
    ]


def test_a_merge_conflict_in_a_manifest_is_shown_where_it_is() -> None:
    problems = Collector()
    ownership.listed(b'{\n "version": 1,\n<<<<<<< HEAD\n', host="claw", file="m.json", problems=problems)
    place = problems.problems[0].place
    assert place is not None
    assert (place.file, place.line, place.column) == ("m.json", 3, 1)


@pytest.mark.parametrize(
    "path",
    [
        *("", "/etc/x", "..", "../x", "a/../x", "a/..", ".", "a/./x", "a//x", "a/", "a\\x", "a\0x", "a\nx"),
        *("\ud800", "manifest.json", 1, None, ["a"]),
    ],
    ids=repr,
)
def test_a_manifest_with_a_path_that_could_leave_its_directory_is_refused_whole(path: object) -> None:
    data = json.dumps({"version": 1, "host": "claw", "files": [{"path": CHAT}, {"path": path}]}).encode()
    problems = Collector()
    assert ownership.listed(data, host="claw", file="m.json", problems=problems) is None
    assert "plain and relative" in problems.problems[0].message


def test_a_manifest_that_lists_a_path_twice_is_refused() -> None:
    problems = Collector()
    assert ownership.listed(manifest("claw", [CHAT, CHAT]), host="claw", file="m", problems=problems) is None


def test_dots_within_a_name_are_plain() -> None:
    paths = ["a..b", "..a", "a/.config/x", "...", "a/b.."]
    found = ownership.listed(manifest("claw", paths), host="claw", file="m", problems=Collector())
    assert found == frozenset(paths)


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_are_a_manifest_or_one_problem(data: bytes) -> None:
    problems = Collector()
    paths = ownership.listed(data, host="claw", file="m.json", problems=problems)
    assert (paths is None) == (len(problems.problems) == 1)


@given(st.lists(st.sampled_from([CHAT, EMBED, "a", "\u00e9/b"]), min_size=1), st.data())
def test_a_journal_reads_back_whole_and_says_nothing_when_it_was_cut_short(
    paths: list[str], data: st.DataObject
) -> None:
    written = ownership.journal(paths)
    assert ownership.journalled(written) == tuple(paths)
    assert ownership.journalled(written[: data.draw(st.integers(0, len(written) - 3))]) == ()


@pytest.mark.parametrize("data", [b"{}", b'["../x"]', b"[1]", b"\xff", b"[" * 100_000])
def test_a_journal_that_is_none_names_nothing(data: bytes) -> None:
    assert ownership.journalled(data) == ()


def test_a_temporary_file_stands_beside_its_target_under_a_suffix_that_nothing_reads() -> None:
    assert ownership.temporary(f"claw/{CHAT}") == "claw/etc/containers/systemd/.chat.container.quadgen-new"
    assert ownership.temporary("x") == ".x.quadgen-new"


def test_a_name_that_is_not_text_is_shown_in_escapes() -> None:
    assert ownership.shown("caf\udce9") == "caf\\xe9"


def lines(new: HostTree, old: Standing) -> list[str]:
    plan = planned(new, old)
    assert plan is not None
    return list(diff(Plan(hosts=(plan,), interrupted=False)))


def test_a_diff_shows_what_changes_in_gits_words() -> None:
    assert lines(tree({"a.service": b"x\ny\n"}), standing({"a.service": b"x\n\x0cz"}, ["a.service"])) == [
        "diff --git a/claw/a.service b/claw/a.service\n",
        "--- a/claw/a.service\n",
        "+++ b/claw/a.service\n",
        "@@ -1,2 +1,2 @@\n",
        " x\n",
        "-\x0cz\n",
        "\\ No newline at end of file\n",
        "+y\n",
    ]


def test_a_diff_shows_a_mode_and_bytes_that_are_no_text() -> None:
    assert lines(tree({"a": b"x"}), standing({"a": b"x"}, ["a"], mode=0o600)) == [
        "diff --git a/claw/a b/claw/a\n",
        "old mode 100600\n",
        "new mode 100644\n",
    ]
    assert "-\\xff\n" in lines(tree({"a": b"x\n"}), standing({"a": b"\xff\n"}, ["a"]))


def test_git_applies_a_diff_to_the_old_tree_and_gets_the_new_one(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    old = {CHAT: b"a\nb\nc\nd\ne\nf\ng\nh\n", EMBED: b"gone\n", "etc/empty": b""}
    new = {CHAT: b"a\nB\nc\nd\ne\nf\ng\nh", "etc/new.service": b"new"}
    claw = tmp_path / "claw"
    for path, data in {**old, "manifest.json": manifest("claw", old)}.items():
        (claw / path).parent.mkdir(parents=True, exist_ok=True)
        (claw / path).write_bytes(data)
    text = "".join(lines(tree(new), standing({**old, "etc/new.service": None}, list(old))))
    run = subprocess.run([git, "apply", "-"], input=text.encode(), cwd=tmp_path, check=False, capture_output=True)
    assert (run.returncode, run.stderr) == (0, b"")
    found = {path.relative_to(claw).as_posix(): path.read_bytes() for path in claw.rglob("*") if path.is_file()}
    assert found == {**new, "manifest.json": manifest("claw", new)}
