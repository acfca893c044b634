"""What several commands do first: open the fleet, compile it, run the real programs over it."""

import os
import tempfile
from collections.abc import Mapping

from quadgen import disk
from quadgen.cli.progress import progress
from quadgen.pipeline import Compiled, compile_fleet
from quadgen.problems import Problem
from quadgen.tree import Template


class Folder:
    """The files around a fleet file; see `quadgen.pipeline.Files`."""

    def __init__(self, fleet: str) -> None:
        self.fleet = fleet
        self.base = os.path.dirname(fleet)  # noqa: PTH120 - names stay as the user wrote them

    def read(self, name: str) -> bytes:
        """Read a file named in the fleet, or the fleet file itself."""
        return disk.read_file(name if name == self.fleet else os.path.join(self.base, name))  # noqa: PTH118 - as above

    def matching(self, pattern: str) -> list[str]:
        """Names that match a pattern, relative to the fleet file as the pattern is; sorted."""
        return disk.matching(self.base, pattern)

    def templates(self) -> Mapping[str, Template]:
        """The shipped templates, and the fleet's own in `templates/` beside it."""
        return disk.templates(self.base)


def compiled(fleet: str, hosts: list[str] | None, *, about: str | None = None) -> Compiled:
    """Compile a fleet file; see `compile_fleet`."""
    return compile_fleet(fleet, Folder(fleet), only=frozenset(hosts) if hosts else None, about=about)


def verify(directory: str, hosts: frozenset[str] | None) -> tuple[list[Problem], str]:
    """Run the real programs over a tree on disk; the problems, and which programs were asked."""
    from quadgen.verify import find_generators, find_systemd_analyze, verify_tree  # noqa: PLC0415 - only this needs subprocesses

    generators = find_generators(os.environ)
    analyze = find_systemd_analyze(os.environ)
    found = verify_tree(directory, generators=generators, systemd_analyze=analyze, hosts=hosts, progress=progress)
    programs = [f"Quadlet {generator.version}" for generator in generators] + (["systemd-analyze"] if analyze else [])
    return found, " and ".join(programs)


def verified(done: Compiled) -> list[Problem]:
    """Run the real programs over what would be written."""
    with tempfile.TemporaryDirectory(prefix="quadgen-") as directory:
        disk.apply(directory, done.trees, only=None, texts=False, notify=lambda _: None)
        return verify(directory, None)[0]
