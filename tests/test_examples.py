"""What is committed is what is rendered, and `render --check` sees every way in which it is not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from command import Done, quadgen
from hosts import snapshot
from source import ROOT

EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/fleet.yml"))
each_fleet = pytest.mark.parametrize("directory", [ROOT, *EXAMPLES], ids=lambda path: str(path.relative_to(ROOT)))
BESIDE = {
    "gitops": {
        ".forgejo", ".gitattributes", ".github", ".gitignore", ".gitlab-ci.yml", ".pre-commit-config.yaml",
        "ansible.cfg", "bootstrap", "bootstrap.yml", "inventory", "measurements", "models.lock.yml", "push.yml",
        "renovate.json", "requirements.yml", "site.yml",
    },
    "two-backends": {"refused.txt", "refused.yml"},
}  # fmt: skip
"""What lies beside the fleet of an example."""
CHAT = "studio/home/ada/.config/containers/systemd/chat.container"
CODER = CHAT.replace("chat", "coder")
STRAY = CHAT.replace("chat", "old")
NOOK = "nook/home/ada/.config/systemd/user/llama-server.service"
BOOK = "book/home/ada/.config/containers/systemd/llama-server.container"


def files(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def requires(directory: Path, host: str) -> dict[str, object]:
    manifest = json.loads((directory / "rendered" / host / "manifest.json").read_text(encoding="utf-8"))
    needed: dict[str, object] = manifest["requires"]
    return needed


@each_fleet
def test_a_fleet_renders_to_exactly_the_committed_bytes(directory: Path, tmp_path: Path) -> None:
    done = quadgen("render", "fleet.yml", "-o", tmp_path / "out", cwd=directory)
    assert done.status == 0, done.err
    out, committed = files(tmp_path / "out"), files(directory / "rendered")
    again = f"quadgen render fleet.yml, in {directory.relative_to(ROOT)}/, and look at what changes"
    assert out.keys() == committed.keys(), again
    for path, data in out.items():
        assert data.decode() == committed[path].decode(), again


@each_fleet
def test_a_fleet_that_is_committed_is_compiled_without_a_complaint(directory: Path) -> None:
    done = quadgen("check", "fleet.yml", "--format", "json", cwd=directory)
    assert (done.status, done.out) == (0, "[]\n")


@each_fleet
def test_a_second_run_touches_nothing_and_the_check_agrees(directory: Path, tmp_path: Path) -> None:
    words = ("fleet.yml", "-o", tmp_path / "out")
    quadgen("render", *words, cwd=directory)
    before = snapshot(tmp_path, times=True)
    for more in ((), ("--check",), ("--diff",), ("--check", "--diff")):
        done = quadgen("render", *words, *more, cwd=directory)
        assert (done.status, done.out) == (0, "")
        assert "nothing to change" in done.err
        assert snapshot(tmp_path, times=True) == before


def test_every_example_is_explained_and_nothing_else_lies_in_the_directory() -> None:
    assert len(EXAMPLES) >= 3
    assert sorted(path for path in ROOT.glob("examples/*") if path.is_dir()) == EXAMPLES
    for directory in EXAMPLES:
        readme = (directory / "README.md").read_text(encoding="utf-8")
        assert "quadgen render fleet.yml" in readme
        more = BESIDE.get(directory.name, set())
        assert {path.name for path in directory.iterdir()} == {"README.md", "fleet.yml", "rendered"} | more


def test_the_refused_fleet_prints_what_its_file_says_and_writes_nothing(tmp_path: Path) -> None:
    directory = ROOT / "examples/two-backends"
    done = quadgen("render", "refused.yml", "-o", tmp_path / "out", cwd=directory)
    expected = (directory / "refused.txt").read_text(encoding="utf-8")
    assert done == Done(status=1, out="", err=expected)
    assert not any(tmp_path.iterdir())


def test_the_refused_fleet_asks_for_one_word_more_than_the_one_that_renders() -> None:
    directory = ROOT / "examples/two-backends"
    one, other = (
        [line for line in (directory / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        for name in ("fleet.yml", "refused.yml")
    )
    assert [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]] == [
        ("  claw: {backend: vulkan, profile: default}", "  claw: {backend: vulkan, profile: copy}")
    ]


def test_where_copy_wins_the_unit_quotes_the_measurement_and_where_it_loses_there_is_none() -> None:
    rendered = ROOT / "examples/two-backends/rendered"
    unit = "etc/containers/systemd/llama-server.container"
    forge, claw = ((rendered / host / unit).read_text(encoding="utf-8") for host in ("forge", "claw"))
    assert "[rtx3090-cuda-27b-copy-copy]" in forge
    assert "--spec-type draft-mtp,ngram-cache --spec-draft-n-max 7\n" in forge
    assert claw.endswith("WantedBy=multi-user.target\n")
    assert "--spec-type draft-mtp\n" in claw


def test_the_rootless_example_says_what_its_user_must_have() -> None:
    studio = requires(ROOT / "examples/rootless", "studio")
    assert {key: value for key, value in studio.items() if key in {"linger", "secrets", "networks", "users"}} == {
        "linger": ["ada"], "secrets": ["llama-key"], "networks": ["llm.network"], "users": ["ada"],
    }  # fmt: skip
    nook = requires(ROOT / "examples/rootless", "nook")
    assert (nook["linger"], nook["podman"]) == (["ada"], None)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The rootless example, copied and rendered: two hosts, both runtimes, four units."""
    shutil.copy(ROOT / "examples/rootless/fleet.yml", tmp_path)
    done = quadgen("render", "fleet.yml", cwd=tmp_path)
    assert done.status == 0, done.err
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def without(path: Path, start: str, end: str) -> None:
    """Cut the text from `start` on and before `end`."""
    text = path.read_text(encoding="utf-8")
    first = text.index(start)
    path.write_text(text[:first] + text[text.index(end, first) if end else len(text) :], encoding="utf-8")


def list_a_stray(at: Path) -> None:
    """Put a unit beside the others, and its name into the manifest."""
    shutil.copy(at / "rendered" / CHAT, at / "rendered" / STRAY)
    listed = f' "files": [\n  {{"path": "{STRAY.removeprefix("studio/")}"}},\n'
    edit(at / "rendered/studio/manifest.json", ' "files": [\n', listed)


EDITS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    # what is done to the directory, and what a render would do about it
    "another value in the fleet": (
        lambda at: edit(at / "fleet.yml", "context: 32768", "context: 16384"),
        [f"update rendered/{path}" for path in (CHAT, CODER, "studio/manifest.json")],
    ),
    "a service that left the fleet": (
        lambda at: without(at / "fleet.yml", "      coder:", "      embed:"),
        [f"remove rendered/{CODER}", "update rendered/studio/manifest.json"],
    ),
    "a host that left the fleet": (
        lambda at: without(at / "fleet.yml", "  nook:", ""),
        [f"remove rendered/{NOOK}", "remove rendered/nook/manifest.json"],
    ),
    "a host that is new": (
        lambda at: edit(at / "fleet.yml", "  nook:\n", "  book: {backend: cpu, model: bge-m3}\n  nook:\n"),
        [f"create rendered/{BOOK}", "create rendered/book/manifest.json"],
    ),
    "a word in a unit": (
        lambda at: edit(at / "rendered" / CHAT, "--metrics", "--no-ui"),
        [f"update rendered/{CHAT}"],
    ),
    "a line less in a unit": (
        lambda at: edit(at / "rendered" / CHAT, "ReadOnly=true\n", ""),
        [f"update rendered/{CHAT}"],
    ),
    "a unit that is gone": (
        lambda at: (at / "rendered" / CHAT).unlink(),
        [f"create rendered/{CHAT}"],
    ),
    "a unit that can be executed": (
        lambda at: (at / "rendered" / CHAT).chmod(0o755),
        [f"mode rendered/{CHAT}"],
    ),
    "a manifest with a blank more": (
        lambda at: edit(at / "rendered/nook/manifest.json", '"host": "nook"', '"host":  "nook"'),
        ["update rendered/nook/manifest.json"],
    ),
    "a manifest that is gone": (
        lambda at: (at / "rendered/nook/manifest.json").unlink(),
        ["create rendered/nook/manifest.json"],
    ),
    "a file that the manifest lists and nobody wants": (
        list_a_stray,
        [f"remove rendered/{STRAY}", "update rendered/studio/manifest.json"],
    ),
}


@pytest.mark.parametrize("what", EDITS)
def test_the_check_sees_writes_nothing_and_exits_3(what: str, place: Path) -> None:
    change, expected = EDITS[what]
    change(place)
    before = snapshot(place, times=True)
    done = quadgen("render", "fleet.yml", "--check", cwd=place)
    *changes, total = done.err.splitlines()
    assert (done.status, done.out, sorted(changes)) == (3, "", sorted(f"quadgen: {change}" for change in expected))
    assert total.startswith("quadgen: rendered: ")
    assert snapshot(place, times=True) == before
    assert quadgen("render", "fleet.yml", cwd=place).status == 0
    assert quadgen("render", "fleet.yml", "--check", cwd=place).status == 0


def test_a_stray_file_that_no_manifest_lists_is_neither_a_difference_nor_removed(place: Path) -> None:
    mine = place / "rendered" / CHAT.replace("chat.container", "llm.network")
    mine.write_text("[Network]\n", encoding="utf-8")
    for more in (("--check",), ()):
        assert quadgen("render", "fleet.yml", *more, cwd=place).status == 0
    assert mine.read_text(encoding="utf-8") == "[Network]\n"


def test_a_hand_written_unit_of_a_service_s_name_is_not_overwritten(place: Path) -> None:
    mine = place / "rendered" / CHAT.replace("chat", "night")
    mine.write_text("[Container]\n", encoding="utf-8")
    night = "      night: {model: bge-m3, backend: cpu, port: 8082}\n"
    edit(place / "fleet.yml", "      embed: #", f"{night}      embed: #")
    before = snapshot(place, times=True)
    for more, status in ((("--check",), 3), ((), 1)):
        done = quadgen("render", "fleet.yml", *more, cwd=place)
        assert done.status == status
        assert "error[not-ours]" in done.err
    assert snapshot(place, times=True) == before


def test_the_diff_is_what_patch_would_apply_and_only_to_stdout(place: Path) -> None:
    edit(place / "fleet.yml", "backend: cpu\n    model: gemma-3-270m", "backend: cpu\n    model: bge-m3")
    done = quadgen("render", "fleet.yml", "--check", "--diff", cwd=place)
    lines = done.out.splitlines()
    assert done.status == 3
    assert any(line.startswith("+++ ") and NOOK in line for line in lines), done.out
    assert "+Description=llama-server: bge-m3 on cpu" in lines
    assert "-Description=llama-server: gemma-3-270m on cpu" in lines


def test_the_check_passes_over_what_git_does_not_keep_of_a_mode_and_a_render_repairs_it(place: Path) -> None:
    unit = place / "rendered" / CHAT
    unit.chmod(0o600)
    assert quadgen("render", "fleet.yml", "--check", cwd=place).status == 0
    assert quadgen("render", "fleet.yml", cwd=place).status == 0
    assert unit.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("edited", ['"version": 1', '"host": "nook"'])
def test_the_check_exits_3_after_any_edit_of_a_manifest(edited: str, place: Path) -> None:
    edit(place / "rendered/nook/manifest.json", edited, edited.replace("1", "7").replace("nook", "book"))
    assert quadgen("render", "fleet.yml", "--check", cwd=place).status == 3
    assert quadgen("render", "fleet.yml", cwd=place).status == 1


def test_a_missing_generator_is_never_a_success(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Native units beside the Quadlets must not make a CI green that forgot to install Podman."""
    monkeypatch.setattr("quadgen.verify.find_generators", lambda _: ())
    done = quadgen("verify", "rendered", cwd=place)
    assert done.status == 4
    assert "not verified" in done.err
