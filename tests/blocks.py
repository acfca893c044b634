"""The blocks of the documents that a program writes: help texts, refusals, units, rows, tables.

    python tests/blocks.py          make every block anew

A block stands where a document says `<!-- made: ORDER -->` … `<!-- end -->`. The orders are `run ARGUMENTS` (what
quadgen prints for the fleet that stands above), `unit HOST/PATH` (that file of it), `files` (all its files), `row ID`
(a row of the shipped ledgers), `devices` and `synonyms` (tables of the program's own).
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import quadgen
from fleets import compile_text, units
from pages import MADE, Stand, pages, read, stand_at
from quadgen.engines.drafters import DRAFT_WIDTH, DRAFTERS, IN_A_FILE, UNREAD, readers
from quadgen.engines.registry import ENGINES
from quadgen.evidence import shipped_rows
from quadgen.fleet.kinds import BACKENDS
from quadgen.fleet.schema import SYNONYMS
from source import ROOT

WIDTH = 100
"""Columns of the terminal that the documents show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One block: what it is to show, what it shows, and what it should."""

    order: str
    shown: str
    fresh: str


def blocks(page: str) -> list[Block]:
    """The blocks of a page, made anew."""
    text = read(page)
    return [
        Block(
            order=found["order"],
            shown=found["shown"],
            fresh=_block(found["order"], stand_at(page, text.count("\n", 0, found.start()) + 1)),
        )
        for found in MADE.finditer(text)
    ]


def made(page: str) -> str:
    """The text of a page with every block made anew."""
    fresh = iter(blocks(page))
    return MADE.sub(lambda found: f"{found['head']}{next(fresh).fresh}{found['foot']}", read(page))


def _block(order: str, stand: Stand) -> str:
    """One block, fence included."""
    what, _, rest = order.partition(" ")
    if what == "run":
        return f"```console\n$ quadgen {rest}\n{printed(rest, stand)}```\n"
    if what == "row":
        return f"```yaml row\n{_row(rest)}```\n"
    if what in _TABLES:
        return "".join(f"{line}\n" for line in _TABLES[what]())
    found = units(compile_text(stand.fleet, stand.files))
    if what == "files":
        return "```text\n" + "".join(f"rendered/{name}\n" for name in _with_manifests(found)) + "```\n"
    return f"```ini\n{found[rest]}```\n"


def _with_manifests(found: Mapping[str, str]) -> list[str]:
    hosts = dict.fromkeys(name.partition("/")[0] for name in found)
    return sorted([*found, *(f"{host}/manifest.json" for host in hosts)])


def _devices() -> Iterator[str]:
    """How each backend's devices are named, passed and hidden, from the engine itself."""
    yield "| backend | container | native unit | device names | variable that hides the others |"
    yield "|---|---|---|---|---|"
    engine = ENGINES["llama.cpp"]
    for backend in BACKENDS:
        rules = engine.devices(backend)
        if rules is None:
            yield f"| {backend} | nothing | `PrivateDevices=yes` | none | none |"
            continue
        passed = ["CDI"] if rules.cdi else [f"`{node}`" for node in (*rules.always, *rules.nodes)]
        classes = ", ".join(f"`{node}`" for node in rules.unit_nodes)
        yield f"| {backend} | {', '.join(passed)} | {classes} | `{rules.prefix}0` | `{rules.variable}` |"


def _synonyms() -> Iterator[str]:
    """What people write for a key, by the key."""
    meant: dict[str, list[str]] = {}
    for word, key in SYNONYMS.items():
        if " " not in key or "_" not in word:  # a flag goes by its dashes here
            meant.setdefault(key, []).append(word)
    yield "| written elsewhere | here |"
    yield "|---|---|"
    for key in sorted(meant):
        yield f"| {', '.join(f'`{word}`' for word in sorted(meant[key]))} | {key if ' ' in key else f'`{key}`'} |"


def _drafters() -> Iterator[str]:
    """What each drafter type needs and what bounds it."""
    yield "| type | needs | without it | tokens a round | bounded by |"
    yield "|---|---|---|---|---|"
    for each in DRAFTERS.values():
        bound = f"`{each.bounded_by}`" if each.bounded_by else "nothing"
        yield f"| `{each.name}` | {each.needs} | {each.missing} | {each.width} | {bound} |"


def _options() -> Iterator[str]:
    """Which types read each option of a profile."""
    yield "| option | read for |"
    yield "|---|---|"
    names = {option for each in DRAFTERS.values() for option in each.options} | set(UNREAD)
    for name in sorted(names):
        users = readers(name)
        shown = "every `draft-*`" if users == readers(DRAFT_WIDTH) else ", ".join(f"`{kind}`" for kind in users)
        note = " with a file of its own" if name in IN_A_FILE else ""
        yield f"| `{name}` | {shown + note if users else f'nothing: {UNREAD[name]}'} |"


_TABLES = {"devices": _devices, "synonyms": _synonyms, "drafters": _drafters, "options": _options}


def _row(name: str) -> str:
    """A row as its ledger writes it."""
    row = next(row for row in shipped_rows() if row.id == name)
    ledger = (Path(quadgen.__file__).parents[1] / row.file).read_text(encoding="utf-8")
    rows = re.split(r"(?m)^(?=- )", ledger)[1:]
    return rows[row.index].rstrip("\n") + "\n"


@cache
def _printed(arguments: str, files: tuple[tuple[str, str], ...]) -> str:
    program = "import sys; sys.argv[0] = 'quadgen'; from quadgen.cli import main; main()"
    with tempfile.TemporaryDirectory(prefix="quadgen-pages-") as directory:
        for name, text in files:
            path = Path(directory, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments.split()],
            cwd=directory,
            env={
                "PATH": os.defpath,
                "PYTHONPATH": str(Path(quadgen.__file__).parents[1]),
                "COLUMNS": str(WIDTH),
                "LC_ALL": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
    if "Traceback (most recent call last)" in done.stderr:
        raise RuntimeError(done.stderr)  # no document shows a bug
    lines = (done.stderr + done.stdout).strip("\n").split("\n")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def printed(arguments: str, stand: Stand | None = None) -> str:
    """What quadgen prints, in a directory with this fleet: what goes to standard error first."""
    files = {} if stand is None else ({"fleet.yml": stand.fleet} if stand.has_fleet else {}) | stand.files
    return _printed(arguments, tuple(files.items()))


if __name__ == "__main__":
    for name in pages():
        fresh = made(name)
        if fresh != read(name):
            (ROOT / name).write_text(fresh, encoding="utf-8")
            sys.stdout.write(f"{name}\n")
