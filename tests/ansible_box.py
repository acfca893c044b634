"""The host that a run of Ansible changes: its files, what its stand-ins know, and whether it is whole."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

OURS: Final = (".container", ".service", ".quadgen-new")
"""How the names of files end that quadgen writes on a host."""
READING: Final = frozenset({"show", "is-active", "--version", "exists", "inspect", "ls", "journalctl", "show-user"})
"""Words that only ask."""


@dataclass(frozen=True, kw_only=True)
class Box:
    """A root file system, and the directory in which the stand-ins keep what systemd and Podman know."""

    root: Path
    machine: Path
    kept: str = "var/lib/quadgen"
    """The directory of quadgen's state."""

    def rules(self, **how: str) -> None:
        """Say how the starts of services go from now on, by text of their units; `_` stands for a space."""
        rules = [{"match": match.replace("_", " "), "how": word} for match, word in how.items()]
        self.tell("rules", rules)

    def tell(self, name: str, value: Any) -> None:
        """Write one of the files by which a test speaks to the stand-ins."""
        (self.machine / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")

    def calls(self) -> list[str]:
        """What the stand-ins were told to do since this was last asked, without options, and without mere questions."""
        path = self.machine / "calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        calls = [json.loads(line) for line in lines]
        told = [[call["program"], *call["words"]] for call in calls]
        return [
            " ".join(word for word in words if not word.startswith("-")) for words in told if not READING & set(words)
        ]

    def runs(self, user: str = "") -> dict[str, str]:
        """The text that each active unit of a manager was started with."""
        return {unit: each["ran"] for unit, each in self._units(user).items() if each["active"] == "active"}

    def states(self, user: str = "") -> dict[str, str]:
        """How each unit of a manager is."""
        return {unit: each["active"] for unit, each in self._units(user).items()}

    def _units(self, user: str) -> dict[str, Any]:
        path = self.machine / "units.json"
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return dict(sorted(known.get(user, {}).items()))

    def images(self, user: str = "") -> list[str]:
        """The images of a user, or of the system."""
        path = self.machine / "images.json"
        found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return found.get(user, [])

    def remembers(self) -> dict[str, Any]:
        """state.json of the host."""
        found: dict[str, Any] = json.loads((self.root / self.kept / "state.json").read_text(encoding="utf-8"))
        return found

    def units(self) -> dict[str, bytes]:
        """The files of units on the host, by path."""
        paths = sorted(path for path in self.root.rglob("*") if path.is_file() and path.name.endswith(OURS))
        kept = self.root / self.kept
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths if kept not in path.parents}

    def faults(self, tree: Path, *, user: str = "") -> list[str]:
        """What is not as it must be after a pull of this tree that went well; nothing where the host is whole."""
        return list(self._faults(tree, user))

    def _faults(self, tree: Path, user: str) -> Iterator[str]:
        manifest = json.loads((tree / "manifest.json").read_bytes())
        if self.units() != {file["path"]: (tree / file["path"]).read_bytes() for file in manifest["files"]}:
            yield f"the files are {sorted(self.units())}"
        texts = {file["unit"]: (tree / file["path"]).read_text(encoding="utf-8") for file in manifest["files"]}
        meant = {each["unit"]: without_comments(texts[each["unit"]]) for each in manifest["services"]}
        running = {unit: without_comments(text) for unit, text in self.runs(user).items()}
        if running != meant:
            yield f"what runs is {sorted(running)}, and {[u for u in running if running[u] != meant.get(u)]} is old"
        known = self.remembers()
        digests = {file["path"]: file["sha256"] for file in manifest["files"]}
        if (known["files"], known["pending"], known["stale"]) != (digests, {}, []):
            yield f"of files it remembers {known['files']}, {known['pending']}, {known['stale']}"
        restarts = {file["unit"]: file["restart"] for file in manifest["files"]}
        if known["running"] != restarts or set(known["services"]) != set(restarts):
            yield f"of services it remembers {known['running']} and {sorted(known['services'])}"
        good = self.root / self.kept / "good"
        if (good / "manifest.json").read_bytes() != (tree / "manifest.json").read_bytes():
            yield "another tree is the one to go back to"
        lost = [file["path"] for file in manifest["files"] if not (good / file["path"]).is_file()]
        if lost:
            yield f"the tree to go back to lacks {lost}"


def without_comments(text: str) -> str:
    """The words of a unit."""
    return "\n".join(line for line in text.splitlines() if line and not line.startswith("#"))
