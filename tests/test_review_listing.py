"""Names among the files of a revision, looked up as a file system would."""

import glob
import os
from pathlib import Path

import pytest

from quadgen.review.listing import Entry, Listing

FILES = (
    "a.yml",
    "b.yml",
    ".hidden.yml",
    "m/c.yml",
    "m/d.json",
    "m/deep/e.yml",
    "m/.secret/f.yml",
    "n/[x].yml",
    "n/o/p.yml",
)
LINKS = {"l.yml": "m/c.yml", "linked": "m", "m/up.yml": "../a.yml", "dangling.yml": "nowhere", "round.yml": "round.yml"}
PATTERNS = (
    "*.yml", "m/*.yml", "**/*.yml", "m/**", "**", "m/**/e.yml", "./m/*.yml", "m/../*.yml", "*/*.yml", "linked/*.yml",
    "l.yml", "none.yml", "n/[[]x].yml", "[ab].yml", "m/.secret/*.yml", ".*", "m", "dangling.yml", "*/*/*.yml",
    "n/?/p.yml",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("listing")
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    for name, target in LINKS.items():
        (root / name).symlink_to(target)
    return root


def listing() -> Listing:
    entries = {name: Entry(0o100644, name) for name in FILES} | {name: Entry(0o120000, name) for name in LINKS}
    return Listing(entries | {"module": Entry(0o160000, "module")}, LINKS)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_finds_what_it_would_find_on_disk(root: Path, pattern: str) -> None:
    on_disk = [name for name in glob.glob(pattern, root_dir=root, recursive=True) if (root / name).is_file()]  # noqa: PTH207 - what is stood in for
    found = listing().matching("", pattern)
    assert [os.path.normpath(name) for name in found] == sorted({os.path.normpath(name) for name in on_disk})


def test_a_circle_of_links_is_gone_through_once() -> None:
    entries = {"m/a.yml": Entry(0o100644, "a"), "m/back": Entry(0o120000, "b")}
    assert Listing(entries, {"b": ".."}).matching("", "**/*.yml") == ["m/a.yml", "m/back/m/a.yml"]


@pytest.mark.parametrize("name", [*FILES, *LINKS, "m/../a.yml", "linked/deep/e.yml", "linked/up.yml", "./m//c.yml"])
def test_a_name_leads_to_the_file_to_which_it_leads_on_disk(root: Path, name: str) -> None:
    found = listing().find(name)
    path = root / name
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError):  # a circle is a RuntimeError before Python 3.13
        assert found is None
        return
    assert (found.id if found else None) == (real.relative_to(root.resolve()).as_posix() if real.is_file() else None)


@pytest.mark.parametrize("name", ["../x.yml", "m/../../x.yml", "module", "m", "a.yml/b", ""])
def test_what_is_no_file_of_the_revision_is_not_found(name: str) -> None:
    assert listing().find(name) is None


def test_a_link_out_of_the_repository_leads_nowhere() -> None:
    entries = {"out": Entry(0o120000, "1"), "up": Entry(0o120000, "2")}
    found = Listing(entries, {"1": "/etc/passwd", "2": "../../etc/passwd"})
    assert (found.find("out"), found.find("up")) == (None, None)
