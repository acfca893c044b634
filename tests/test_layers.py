"""The shape of the code: arrows point one way, each library has one door, effects stay at the edge."""

import ast
import subprocess
import sys
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import pytest

from source import PACKAGE, ROOT, Module, calls, imports, libraries, modules, own_imports

LAYERS: tuple[tuple[str, frozenset[str]], ...] = (
    ("words", frozenset({"breakeven", "log_lines", "problems", "tree", "unitfile", "quadlet_keys", "systemd_keys"})),
    (
        "what people write",
        frozenset(
            {"document", "evidence", "facts", "fleet", "gguf", "locating", "observed", "server_log"}
            | {"speculation", "validation"}
        ),
    ),
    ("deciding", frozenset({"agreeing", "engines", "locking", "resolution", "resolve", "triage"})),
    (
        "writing",
        frozenset(
            {"units", "carry", "overlay", "render", "readback", "manifest", "ownership", "plan", "diff", "pipeline"}
            | {"attachment", "drift", "installed", "inventory", "measuring", "review", "upgrade"}
        ),
    ),
    (
        "effects",
        frozenset(
            {"disk", "onhost", "projecting", "remote", "revisions", "sampling", "server", "verify", "server_help"}
        ),
    ),
    ("command line", frozenset({"cli", "__main__"})),
)
"""Lowest first. A module may import its own layer and those below; the package's `__init__` is below all."""

DOORS: Mapping[str, frozenset[str]] = {
    "yaml": frozenset({"document"}),
    "pydantic": frozenset({"fleet", "evidence", "validation"}),
    "pydantic_core": frozenset({"fleet", "evidence", "validation"}),
    "typing_extensions": frozenset({"fleet", "evidence"}),
    "jinja2": frozenset({"render"}),
    "httpx": frozenset({"remote", "server"}),
    "typer": frozenset({"cli"}),
    "click": frozenset({"cli"}),
    "rich": frozenset({"cli"}),
}
"""The only modules that may import each library; one that is not named here has no door yet."""

EDGE = frozenset(
    {"disk", "onhost", "projecting", "remote", "revisions", "sampling", "server", "verify", "server_help", "cli"}
    | {"__main__"}
)
SPEAKERS = frozenset({"cli", "__main__"})
SPEECH = frozenset({"print", "input", "exit", "quit", "SystemExit", "sys.exit", "os._exit", "sys.stdout", "sys.stderr"})
EFFECTS = frozenset({"subprocess", "tempfile", "shutil", "urllib", "http", "ssl", "signal", "fcntl", "glob"})
CHANCE = frozenset({"random", "secrets", "uuid", "time", "locale", "getpass", "platform"})
MACHINE = frozenset(
    {"os.environ", "os.getenv", "os.environb", "os.getcwd", "os.uname", "os.stat", "os.listdir", "os.scandir"}
    | {"os.open", "open", "Path.cwd", "Path.home", "date.today", "datetime.now", "datetime.today"}
    | {"socket.socket", "socket.create_connection", "socket.getaddrinfo", "socket.gethostname"}
)
LOOKS = frozenset(
    {"exists", "is_file", "is_dir", "is_symlink", "iterdir", "glob", "rglob", "write_text", "write_bytes"}
)
"""Methods of a path that ask or change a file system."""
LONGEST = 300

EVERY = pytest.mark.parametrize("module", modules(), ids=lambda module: module.name or "quadgen")


def rank(top: str) -> int:
    return next((height for height, (_, members) in enumerate(LAYERS, 1) if top in members), 0)


def upward(module: Module) -> list[str]:
    return [
        f"{module.at(node)}: imports {target}"
        for node, target in own_imports(module)
        if rank(target.partition(".")[0]) > rank(module.top)
    ]


def strays(module: Module) -> list[str]:
    return [
        f"{module.at(node)}: imports {library}, whose door is {sorted(DOORS.get(library, ())) or 'not here'}"
        for node, library in libraries(module)
        if module.top not in DOORS.get(library, ())
    ]


def spoken(module: Module) -> list[str]:
    if module.top in SPEAKERS:
        return []
    return [f"{module.at(node)}: {name}" for node, name in calls(module) if name in SPEECH]


def looked(module: Module) -> list[str]:
    if module.top in EDGE:
        return []
    taken = [(node, name) for node, name in imports(module) if name.partition(".")[0] in EFFECTS | CHANCE]
    asked = [
        (node, name)
        for node, name in calls(module)
        if name in MACHINE or (isinstance(node, ast.Attribute) and node.attr in LOOKS)
    ]
    return [f"{module.at(node)}: {name}" for node, name in (*taken, *asked)]


def test_every_module_has_its_layer() -> None:
    known = {"", *(name for _, members in LAYERS for name in members)}
    homeless = sorted({module.top for module in modules()} - known)
    assert not homeless, f"say in LAYERS where these belong: {homeless}"


def test_the_guide_for_contributors_names_every_module() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    tops = {module.top for module in modules()} - {"", "__main__"}
    unnamed = sorted(top for top in tops if f"`{top}.py`" not in guide and f"`{top}/`" not in guide)
    assert not unnamed, f"say in CONTRIBUTING.md what these are for: {unnamed}"


@EVERY
def test_a_module_imports_only_its_own_layer_and_those_below(module: Module) -> None:
    assert upward(module) == []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = {one.name: {target for _, target in own_imports(one)} - {one.name} for one in modules()}
    packages = {module.name for module in modules() if module.path.name == "__init__.py"}
    inner = {name: targets - packages for name, targets in graph.items() if name not in packages}
    try:
        TopologicalSorter(inner).prepare()
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def test_every_module_can_be_the_first_to_be_imported() -> None:
    names = [f"quadgen.{module.name}".rstrip(".") for module in modules() if module.name != "__main__"]
    program = f"""
import importlib, sys
for name in {names}:
    for loaded in [other for other in sys.modules if other.partition(".")[0] == "quadgen"]:
        del sys.modules[loaded]
    try:
        importlib.import_module(name)
    except Exception as error:
        print(f"{{name}}: {{error}}")
"""
    assert python(program) == (0, "", "")


@EVERY
def test_a_library_is_imported_at_its_door_only(module: Module) -> None:
    assert strays(module) == []


@EVERY
def test_only_the_command_line_prints_and_exits(module: Module) -> None:
    assert spoken(module) == []


@EVERY
def test_only_the_edge_looks_at_the_machine(module: Module) -> None:
    assert looked(module) == []


@EVERY
def test_a_module_is_short_enough_to_be_read_at_once(module: Module) -> None:
    assert len(module.text.splitlines()) <= LONGEST


@EVERY
def test_a_module_says_what_it_owns(module: Module) -> None:
    assert ast.get_docstring(module.tree)


def test_the_rules_see_what_they_forbid() -> None:
    text = """
from quadgen.disk import survey
def late():
    import yaml, requests
    from quadgen import verify
    import subprocess
    print(os.environ["HOME"], datetime.now(), path.parent.exists())
    sys.exit(1)
"""
    module = Module(name="resolve.x", path=PACKAGE / "resolve" / "x.py", text=text, tree=ast.parse(text))
    at = "src/quadgen/resolve/x.py"
    assert upward(module) == [f"{at}:2: imports disk", f"{at}:5: imports verify"]
    assert strays(module) == [
        f"{at}:4: imports yaml, whose door is ['document']",
        f"{at}:4: imports requests, whose door is not here",
    ]
    assert sorted(spoken(module)) == [f"{at}:7: print", f"{at}:8: sys.exit"]
    assert sorted(looked(module)) == [
        f"{at}:6: subprocess",
        f"{at}:7: datetime.now",
        f"{at}:7: os.environ",
        f"{at}:7: path.parent.exists",
    ]


@pytest.mark.parametrize(
    ("arguments", "heavy"),
    [
        (["--version"], {"yaml", "jinja2", "pydantic", "typer", "rich", "httpx"}),
        (["--help"], {"yaml", "jinja2", "pydantic", "httpx"}),
        # typer itself may use pydantic
        (["render", "--help"], {"yaml", "jinja2", "httpx", "quadgen.fleet", "quadgen.render"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_no_heavy_library_is_imported_before_a_command_needs_it(arguments: list[str], heavy: set[str]) -> None:
    program = f"""
import runpy, sys
sys.argv = ["quadgen", *{arguments}]
try:
    runpy.run_module("quadgen", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write(" ".join({heavy} & set(sys.modules)))
"""
    status, out, err = python(program)
    assert (status, err) == (0, "")
    assert out


def test_the_profiles_of_the_reference_need_no_heavy_library_to_be_imported() -> None:
    program = f"""
import sys, quadgen.speculation, quadgen.problems
print(*sorted({set(DOORS)} & set(sys.modules)), end="")
"""
    assert python(program) == (0, "", "")


def python(program: str) -> tuple[int, str, str]:
    """Status and both outputs of a program in an interpreter of its own."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr
