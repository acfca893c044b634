"""The files of a git revision: the only place that runs git, and it only ever reads objects.

No shell, hook, pager, filter or diff driver has a part in that. Variables such as GIT_DIR, which git gives its hooks,
are git's own business and are handed on.
"""

import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quadgen.ownership import shown
from quadgen.problems import Unavailable
from quadgen.review.listing import Entry

_SETTINGS: Final = ("--no-pager", "--no-replace-objects", "--literal-pathspecs")
_QUIET: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
"""Git's words in English, and no question for a password where a partial clone fetches what it lacks."""
_REMEDY: Final = re.compile(r"^\s+(git config --global --add safe\.directory .+)$", re.MULTILINE)
"""What git proposes for a repository of another user: ensure_valid_ownership in git's setup.c."""
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
"""How the text begins that stands in a repository for a file that Git LFS keeps elsewhere (Git LFS, docs/spec.md)."""
_POINTER_MOST: Final = 1024
"""Bytes that such a text has at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A git repository, and where its work tree is."""

    where: str
    """The directory in which git is run."""
    top: str | None
    """The top of the work tree, absolute and without links; None where there is none."""
    shallow: bool
    """Whether its history is cut off."""

    def path(self, name: str) -> str | None:
        """A file's name, as the user wrote it, from the top of the repository; None where it lies outside.

        The links of its directory are followed and its own is not. Without a work tree names begin at the top.
        """
        if self.top is None:
            path = os.path.normpath(name)
            return None if path.startswith(("/", "..")) else path
        directory, last = os.path.split(os.path.abspath(name))  # noqa: PTH100 - resolve() would follow the last link
        real = os.path.join(os.path.realpath(directory), last)  # noqa: PTH118 - names are text here
        inside = os.path.relpath(real, self.top)
        return None if inside == ".." or inside.startswith("../") else inside

    def commit(self, revision: str) -> str | None:
        """The id of the commit that a revision names; None where it names none."""
        if revision.startswith("-") or not revision or "\0" in revision:
            return None
        asked = f"{revision}^{{commit}}"
        done = _git(self.where, "rev-parse", "--verify", "--quiet", "--end-of-options", asked, allowed=(0, 1, 128))
        found = done.stdout.decode("ascii", "replace").strip()
        return found if done.returncode == 0 and found.isalnum() else None

    def listing(self, commit: str, under: str = "") -> dict[str, Entry]:
        """What a commit has below a directory, by path from the top of the repository. `under` "" is all of it."""
        where = () if under in ("", ".") else ("--", f"{under}/")
        out = _git(self.where, "ls-tree", "-r", "-z", "--full-tree", commit, *where).stdout
        found = {}
        for record in out.split(b"\0")[:-1]:
            facts, _, path = record.partition(b"\t")
            mode, _, blob = facts.split(b" ")
            found[os.fsdecode(path)] = Entry(int(mode, 8), blob.decode("ascii"))
        return found

    def blobs(self, ids: Iterable[str]) -> dict[str, bytes]:
        """The bytes of blobs, by id, all read by one process. Raises `Unavailable` where one cannot be had."""
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        out = _git(self.where, "cat-file", "--batch", given="".join(f"{each}\n" for each in wanted).encode()).stdout
        found, start = {}, 0
        for each in wanted:
            end = out.index(b"\n", start)
            said = out[start:end].split(b" ")
            if said[1] != b"blob":
                raise Unavailable(f"the repository lacks the object {each}: git fetch, or clone it anew")
            size = int(said[2])
            found[each] = out[end + 1 : end + 1 + size]
            start = end + size + 2
        return found

    def targets(self, entries: Mapping[str, Entry]) -> dict[str, str]:
        """Where the symbolic links among these lead, by the ids of their blobs."""
        texts = self.blobs(entry.id for entry in entries.values() if entry.link)
        return {each: os.fsdecode(data) for each, data in texts.items()}


def repository(beside: str) -> Repository:
    """Find the repository that a file or directory is in, or the one that GIT_DIR names.

    Raises `Unavailable` where there is none, where git does not trust it, and where there is no git.
    """
    where = "." if "GIT_DIR" in os.environ else _nearest(beside)
    done = _git(where, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", allowed=(0, 128))
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip()
        why = words.split("\n")[0].removeprefix("fatal: ")
        remedy = _REMEDY.search(words)
        more = f"; `{remedy[1]}` trusts it" if remedy else ""  # the user of a CI job's container is seldom the owner
        raise Unavailable(f"{shown(beside)} is in no git repository that can be read: {why}{more}")
    work_tree, shallow = done.stdout.decode("ascii").split()
    top = None
    if work_tree == "true":
        said = _git(where, "rev-parse", "--show-toplevel").stdout
        top = os.path.realpath(os.fsdecode(said.removesuffix(b"\n")))
    return Repository(where=where, top=top, shallow=shallow == "true")


def pointer(data: bytes) -> bool:
    """Whether bytes of a blob are what Git LFS puts in place of a file."""
    return data.startswith(_POINTER) and len(data) <= _POINTER_MOST


def _nearest(path: str) -> str:
    """The directory of a path, or the nearest one above that is there."""
    directory = Path(os.path.abspath(path)).parent  # noqa: PTH100 - as above
    return str(next(each for each in (directory, *directory.parents) if each.is_dir()))


def _git(
    where: str, *words: str, given: bytes = b"", allowed: tuple[int, ...] = (0,)
) -> subprocess.CompletedProcess[bytes]:
    try:
        done = subprocess.run(  # noqa: S603 - a list, no shell; what a user names stands behind a word that ends options
            ["git", *_SETTINGS, *words],  # noqa: S607 - the git of whoever calls
            cwd=where, env={**os.environ, **_QUIET}, input=given, capture_output=True, check=False,
        )  # fmt: skip
    except OSError as error:
        raise Unavailable(f"cannot run git: {error.strerror}") from error
    if done.returncode not in allowed:
        why = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1].removeprefix("fatal: ")
        raise Unavailable(f"git {words[0]} failed: {why}")
    return done
