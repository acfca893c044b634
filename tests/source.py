"""The repository's files as data, and the package's modules: what each imports and calls."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "quadgen"
LEFT_BEHIND = frozenset({".git", ".venv", ".cache", ".hypothesis", "dist", "__pycache__"})
"""Directories that a checkout may hold and a repository does not."""


@cache
def tracked() -> tuple[Path, ...]:
    """The files of the repository, or of an unpacked source distribution, relative to its root."""
    git = shutil.which("git")
    if git and (ROOT / ".git").exists():
        command = [git, "-c", f"safe.directory={ROOT}", "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
        names = [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return tuple(sorted(name for name in names if not _left_behind(name)))


def _left_behind(name: Path) -> bool:
    return any(part in LEFT_BEHIND or part.endswith(("_cache", ".egg-info")) for part in name.parts[:-1])


@cache
def texts() -> dict[Path, str]:
    """Every tracked file that is text."""
    data = {name: (ROOT / name).read_bytes() for name in tracked()}
    return {name: held.decode(errors="replace") for name, held in data.items() if b"\0" not in held[:4096]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file of the package; `name` is dotted, below `quadgen`, and empty for the package's own."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def top(self) -> str:
        """The module or package directly below `quadgen` that this file belongs to."""
        return self.name.partition(".")[0]

    def at(self, node: ast.AST) -> str:
        """Where a node stands, as an editor can follow it."""
        return f"{self.path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


@cache
def modules() -> tuple[Module, ...]:
    """Every module of the package, in the order of their names."""
    return tuple(_parse(path) for path in sorted(PACKAGE.rglob("*.py")))


def _parse(path: Path) -> Module:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    text = path.read_text(encoding="utf-8")
    return Module(name=name, path=path, text=text, tree=ast.parse(text, filename=str(path)))


def imports(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    """Every import, also inside functions, as the full dotted names that it may bind."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = _base(module, node)
            for alias in node.names:
                yield node, f"{base}.{alias.name}"


def _base(module: Module, node: ast.ImportFrom) -> str:
    """The absolute name that a `from … import` reads from."""
    if not node.level:
        return node.module or ""
    package = ["quadgen", *module.name.split(".")] if module.name else ["quadgen"]
    if module.path.name != "__init__.py":
        package.pop()
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, node.module] if node.module else package)


def own_imports(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    """The modules of the package that `module` imports, by their dotted names below `quadgen`."""
    known = {other.name for other in modules()}
    for node, name in imports(module):
        if name == "quadgen" or name.startswith("quadgen."):
            target = name.removeprefix("quadgen").removeprefix(".")
            while target and target not in known:
                target = target.rpartition(".")[0]
            yield node, target


def libraries(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    """The distributions' packages that `module` imports: neither its own nor the standard library's."""
    for node, name in imports(module):
        top = name.partition(".")[0]
        if top != "quadgen" and top not in sys.stdlib_module_names:
            yield node, top


def calls(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Every name that is read and every attribute, dotted as it is written (`sys.exit`, `print`, `os.environ`)."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store)):
            yield node, ast.unparse(node)
