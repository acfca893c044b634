"""The files of a revision by path, and names looked up among them as a file system would: links, `..`, patterns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import translate
from functools import lru_cache
from typing import Final, NamedTuple

_LINK: Final = 0o120000
_TYPE: Final = 0o170000
_REGULAR: Final = 0o100000
_MOST_LINKS: Final = 40
"""Links on the way to one file, as Linux counts them (path_resolution(7))."""
_MAGIC: Final = frozenset("*?[")


class Entry(NamedTuple):
    """One path of a tree: its mode as git has it, and the id of its blob (of a commit, where it is a submodule)."""

    mode: int
    id: str

    @property
    def regular(self) -> bool:
        """Whether it is a file with bytes of its own."""
        return self.mode & _TYPE == _REGULAR

    @property
    def link(self) -> bool:
        """Whether it is a symbolic link; its blob is the target."""
        return self.mode & _TYPE == _LINK


@dataclass(slots=True)
class _Folder:
    """A directory: what stands in it, by name."""

    inner: dict[str, "_Folder | Entry"] = field(default_factory=dict)


class Listing:
    """All files of a revision. Paths are relative to the top of the repository, with `/`."""

    def __init__(self, entries: Mapping[str, Entry], targets: Mapping[str, str]) -> None:
        """`targets` has the target of each link, by the id of its blob."""
        self._targets = targets
        self._top = _Folder()
        for path, entry in entries.items():
            *above, name = path.split("/")
            folder = self._top
            for part in above:
                inner = folder.inner.setdefault(part, _Folder())
                if not isinstance(inner, _Folder):
                    break  # git itself refuses a tree with a file and a directory of one name
                folder = inner
            else:
                folder.inner[name] = entry

    def find(self, path: str) -> Entry | None:
        """The file at a path, links followed; None where there is none, or it leads out of the repository."""
        way = self._walk(path)
        found = None if way is None else self._at(way)
        return found if isinstance(found, Entry) and found.regular else None

    def matching(self, base: str, pattern: str) -> list[str]:
        """The files below the directory `base` that match a glob pattern, named as the pattern begins; sorted.

        `**` reaches any depth, and a name that begins with a dot is matched by one that says so: `glob.glob`.
        """
        found = set(self._matches(f"{base}/", "", [part for part in pattern.split("/") if part], frozenset()))
        return sorted(name for name in found if self.find(f"{base}/{name}") is not None)

    def _matches(self, base: str, so_far: str, parts: list[str], links: frozenset[str]) -> Iterator[str]:
        """`so_far` is empty or ends in a slash; `links` are those that `**` has followed, each once."""
        if not parts:
            yield so_far.removesuffix("/")
            return
        part, *others = parts
        if _MAGIC.isdisjoint(part):
            yield from self._matches(base, f"{so_far}{part}/", others, links)
            return
        if part == "**":
            yield from self._matches(base, so_far, others, links)
        for name, inner in self._inside(f"{base}{so_far}"):
            if name[0] == "." and part[0] != ".":
                continue
            if part == "**":
                followed = {inner.id} if isinstance(inner, Entry) else frozenset()
                if not others:
                    yield f"{so_far}{name}"
                if links.isdisjoint(followed):
                    yield from self._matches(base, f"{so_far}{name}/", parts, links | followed)
            elif _pattern(part).match(name):
                yield from self._matches(base, f"{so_far}{name}/", others, links)

    def _inside(self, path: str) -> list[tuple[str, "_Folder | Entry"]]:
        way = self._walk(path)
        found = None if way is None else self._at(way)
        return list(found.inner.items()) if isinstance(found, _Folder) else []

    def _at(self, way: list[str]) -> "_Folder | Entry | None":
        found: _Folder | Entry | None = self._top
        for part in way:
            found = found.inner.get(part) if isinstance(found, _Folder) else None
        return found

    def _walk(self, path: str) -> list[str] | None:
        """The names on the way to a path once every link on it is followed; None where it leads out or in a circle."""
        todo = path.split("/")[::-1]
        way: list[str] = []
        links = 0
        while todo:
            part = todo.pop()
            if part == "..":
                if not way:
                    return None
                way.pop()
            elif part not in ("", "."):
                here = self._at([*way, part])
                if isinstance(here, Entry) and here.link:
                    links += 1
                    target = self._targets.get(here.id, "/")
                    if links > _MOST_LINKS or target.startswith("/"):
                        return None
                    todo += target.split("/")[::-1]
                else:
                    way.append(part)
        return way


@lru_cache(maxsize=64)
def _pattern(part: str) -> re.Pattern[str]:
    return re.compile(translate(part))
