"""The collection as Ansible takes it: whole, of quadgen's version, and documented as it is."""

import ast
import importlib
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

import quadgen
from collection import COLLECTION, link
from plugins.doc_fragments.host import ModuleDocFragment

BIN = Path(sys.executable).parent
NAMES = sorted(path.stem for path in (COLLECTION / "plugins/modules").glob("*.py"))
MODULES = {name: importlib.import_module(f"plugins.modules.{name}") for name in NAMES}
"""Imported before any test: Ansible looks up an address when it is."""
SOURCES = sorted(COLLECTION.glob("plugins/*/*.py"))
FRAGMENTS = {"quadgen.fleet.host": "DOCUMENTATION", "quadgen.fleet.host.digest": "DIGEST"}
"""Where Ansible finds what a module says to extend: ansible/utils/plugin_docs.py, `add_fragments`."""
OLDEST = (3, 9)
"""Python of the hosts."""


def test_the_collection_has_the_version_of_quadgen() -> None:
    galaxy = yaml.safe_load((COLLECTION / "galaxy.yml").read_text(encoding="utf-8"))
    assert galaxy["version"] == quadgen.__version__
    assert galaxy["dependencies"] == {}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_takes_the_options_that_it_documents(name: str) -> None:
    module = MODULES[name]
    documented = yaml.safe_load(module.DOCUMENTATION)
    assert documented["module"] == name
    options: dict[str, dict[str, Any]] = documented["options"]
    for fragment in documented["extends_documentation_fragment"]:
        shared = yaml.safe_load(getattr(ModuleDocFragment, FRAGMENTS[fragment]))["options"]
        assert not set(shared) & set(options), "the module's own words would hide the shared ones"
        options |= shared
    told = {
        option: {key: value for key, value in each.items() if key != "description"} for option, each in options.items()
    }
    assert told == module.ARGUMENTS


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_tasks_of_it(name: str) -> None:
    module = MODULES[name]
    for task in yaml.safe_load(module.EXAMPLES):
        given = task[f"quadgen.fleet.{name}"]
        needed = {option for option, each in module.ARGUMENTS.items() if each.get("required")}
        assert needed <= set(given) <= set(module.ARGUMENTS)


@pytest.mark.usefixtures("own_home")
def test_ansible_doc_shows_every_option_of_every_module_of_a_collection_that_was_not_installed(tmp_path: Path) -> None:
    words = [str(BIN / "ansible-doc"), "--json", *[f"quadgen.fleet.{name}" for name in MODULES]]
    environ = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(link(tmp_path))}
    done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    shown = {name: entry["doc"]["options"] for name, entry in json.loads(done.stdout).items()}
    assert {name: set(options) for name, options in shown.items()} == {
        f"quadgen.fleet.{name}": set(module.ARGUMENTS) for name, module in MODULES.items()
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_runs_on_a_host_is_in_the_words_of_its_python(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=OLDEST)
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 0]
    named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    tops = {str(name).partition(".")[0] for name in named}
    assert tops <= sys.stdlib_module_names | {"ansible"}


@pytest.mark.usefixtures("own_home")
def test_the_collection_can_be_built_and_installed_by_ansible(tmp_path: Path) -> None:
    words = [str(BIN / "ansible-galaxy"), "collection", "build", str(COLLECTION), "--output-path", str(tmp_path)]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with tarfile.open(tmp_path / f"quadgen-fleet-{quadgen.__version__}.tar.gz") as built:
        names = set(built.getnames())
    assert {f"plugins/modules/{name}.py" for name in MODULES} <= names
    assert {"meta/runtime.yml", "README.md", "roles/host/tasks/main.yml"} <= names
    assert not any("__pycache__" in name for name in names)
