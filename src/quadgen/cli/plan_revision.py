"""A fleet as it stands in a revision: what a render reads, from git."""

import os
import posixpath
from collections.abc import Mapping
from functools import cached_property

from quadgen import disk
from quadgen.ownership import shown
from quadgen.problems import Place, Problem, Rejected, Unavailable
from quadgen.review.listing import Listing
from quadgen.revisions import Repository, pointer
from quadgen.tree import Template


class Snapshot:
    """The files around a fleet file in a commit; see `quadgen.pipeline.Files`.

    What lies outside of the repository has no revisions, and is read as it is now.
    """

    def __init__(self, repository: Repository, commit: str, fleet: str, path: str) -> None:
        """`fleet` is the file's name as the user wrote it, `path` the same from the top of the repository."""
        self.repository = repository
        self.commit = commit
        self.fleet = fleet
        self.path = path
        self.base = posixpath.dirname(path)

    @cached_property
    def listing(self) -> Listing:
        """All files of the commit."""
        entries = self.repository.listing(self.commit)
        return Listing(entries, self.repository.targets(entries))

    def exists(self) -> bool:
        """Whether the commit has the fleet file."""
        return self.listing.find(self.path) is not None

    def read(self, name: str) -> bytes:
        """Read a file named in the fleet, or the fleet file itself."""
        path = self.path if name == self.fleet else self._inside(name)
        if path is None:
            return disk.read_file(self._outside(name))
        entry = self.listing.find(path)
        if entry is None:
            raise Unavailable(f"cannot read {shown(name)}: {self.commit[:12]} has no such file")
        data = self.repository.blobs([entry.id])[entry.id]
        if pointer(data):
            raise Unavailable(f"cannot read {shown(name)} of {self.commit[:12]}: Git LFS keeps it outside of git")
        return data

    def matching(self, pattern: str) -> list[str]:
        """Names that match a pattern, relative to the fleet file as the pattern is; sorted."""
        inside = self._inside(pattern)
        if inside is None:
            above = "" if self.repository.top is None else posixpath.join(self.repository.top, self.base)
            return disk.matching(above, pattern) if above or posixpath.isabs(pattern) else []
        if not posixpath.isabs(pattern):
            return self.listing.matching(self.base, pattern)
        above = pattern[: len(pattern) - len(inside)]
        return [f"{above}{name}" for name in self.listing.matching("", inside)]

    def templates(self) -> Mapping[str, Template]:
        """The shipped templates, and the fleet's own in `templates/` beside it in the commit."""
        found = disk.templates(os.devnull)  # which has nothing beside it
        for path in self.listing.matching(self.base, "templates/*.j2"):
            name = posixpath.basename(path)
            text = self._text(path)
            if name not in found or found[name].text != text:
                found[name] = Template(text, posixpath.join(posixpath.dirname(self.fleet), path), own=True)
        return found

    def _text(self, path: str) -> str:
        data = self.read(path)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            place = Place(file=path, line=data.count(b"\n", 0, error.start) + 1, column=1)
            message = f"byte 0x{data[error.start]:02X} of a template is not UTF-8"
            raise Rejected([Problem(code="unit-changed-by-template", message=message, place=place)]) from error

    def _inside(self, name: str) -> str | None:
        """A name of the fleet from the top of the repository; None where it lies outside."""
        if not posixpath.isabs(name):
            path = posixpath.join(self.base, name)
            return None if posixpath.normpath(path).split("/", 1)[0] == ".." else path
        top = self.repository.top
        inside = posixpath.normpath(name).removeprefix(f"{top}/") if top is not None else name
        return None if posixpath.isabs(inside) else inside

    def _outside(self, name: str) -> str:
        """Where a file lies that is not in the repository. Raises `Unavailable` where there is no telling."""
        if posixpath.isabs(name):
            return name
        if self.repository.top is None:
            raise Unavailable(f"cannot read {shown(name)}: it lies outside of the repository")
        return posixpath.join(self.repository.top, self.base, name)
