"""The real ansible-inventory on a fleet: by a script, as the documents write it, and by the collection's plugin."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from collection import link
from fleets import ENGINES
from pages import fences
from source import ROOT

BIN = Path(sys.executable).parent
FLEET = f"""\
{ENGINES}  "{{{{ 7 * 7 }}}}": {{file: odd.gguf, mtp: false}}
groups: {{desk: {{context: 4096}}}}
hosts:
  claw: {{model: "{{{{ 7 * 7 }}}}", backend: cpu, engine: cpu, groups: [desk], address: "ada@10.0.0.7:2222"}}
  forge:
    backend: cuda
    runtime: systemd
    services:
      chat: {{model: headed, profile: copy, port: 8081}}
      embed: {{model: plain, profile: none, port: 8082}}
"""
CONFIG = """\
plugin: quadgen.fleet.fleet
strict: true
compose:
  ansible_host: quadgen_host ~ '.example.org'
  models: quadgen_services | map(attribute='model')
groups: {several: quadgen_services | length > 1}
keyed_groups:
  - {prefix: port, key: quadgen_services | map(attribute='port')}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A directory with a fleet, where Ansible finds the collection and quadgen."""

    path: Path

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        file = self.path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
        file.chmod(mode)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a program of Ansible's, or a shell, with the settings of the documents."""
        environment = {
            "PATH": os.pathsep.join([str(self.path / "bin"), str(BIN), os.environ["PATH"]]),
            "HOME": str(self.path / "home"),
            "LANG": "C.UTF-8",
            "ANSIBLE_NOCOLOR": "true",
            "COLUMNS": "10000",
        }
        return subprocess.run(
            words, cwd=self.path, env=environment, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
            check=False, timeout=120,
        )  # fmt: skip

    def listed(self, source: str) -> dict[str, Any]:
        """What ansible-inventory makes of a source, without a word to say of it."""
        done = self.run("ansible-inventory", "-i", source, "--list")
        assert (done.returncode, done.stderr) == (0, "")
        return dict(json.loads(done.stdout))

    def refused(self, source: str, *others: str) -> str:
        """What is said of a source that must not be half read."""
        done = self.run("ansible-inventory", *others, "-i", source, "--list")
        assert done.returncode != 0, done.stdout
        assert "Traceback" not in done.stderr
        return done.stderr

    def shown(self, source: str) -> str:
        """What a task makes of the model of claw's service."""
        done = self.run("ansible", "claw", "-i", source, "-m", "debug", "-a", "msg={{ quadgen_services[0].model }}")
        assert done.returncode == 0, done.stderr
        return str(json.loads(done.stdout.partition("=>")[2])["msg"])


@pytest.fixture
def place(tmp_path: Path) -> Place:
    link(tmp_path / "collections")
    made = Place(path=tmp_path)
    program = f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m quadgen "$@"\n'
    made.write("bin/quadgen", program, 0o755)
    (settings,) = [fence.text for fence in fences("docs/commands.md") if "any_unparsed_is_failed" in fence.text]
    made.write("ansible.cfg", settings)
    made.write("fleet.yml", FLEET)
    made.write("quadgen.yml", CONFIG)
    return made


def plain(value: Any) -> Any:
    """A JSON value without the marks that ansible-inventory, too, puts on what is no template."""
    if isinstance(value, dict):
        own = value.get("__ansible_unsafe")
        return own if own is not None else {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def documented(file: str) -> str:
    """The shell lines of docs/commands.md that write this file."""
    (found,) = [fence.text for fence in fences("docs/commands.md") if fence.text.startswith(f"cat > {file} ")]
    return found


def test_the_script_of_the_documents_is_an_inventory(place: Place) -> None:
    done = place.run("sh", "-e", "-c", documented("inventory.sh"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "  |--@backend_cuda:\n  |  |--forge\n" in done.stdout
    found = place.listed("inventory.sh")
    assert found["quadgen"] == {"hosts": ["claw", "forge"]}
    assert found["group_desk"] == {"hosts": ["claw"]}
    assert "ungrouped" not in found  # it is left out where it is empty
    one = place.run("ansible-inventory", "-i", "inventory.sh", "--host", "claw")
    assert (one.returncode, one.stderr) == (0, "")
    variables = json.loads(one.stdout)
    assert (variables["ansible_host"], variables["ansible_port"], variables["ansible_user"]) == (
        "10.0.0.7",
        2222,
        "ada",
    )
    assert place.shown("inventory.sh") == "{{ 7 * 7 }}"


def test_a_value_without_its_mark_would_be_run(place: Place) -> None:
    listing = json.loads(place.run("quadgen", "inventory", "fleet.yml", "--list").stdout)
    assert plain(listing) != listing
    place.write("unmarked.json", json.dumps(plain(listing)))
    place.write("unmarked.sh", "#!/bin/sh\ncat unmarked.json\n", 0o755)
    assert place.shown("unmarked.sh") == "49"


def test_the_plugin_lists_the_fleet_with_groups_and_variables_of_ones_own(place: Place) -> None:
    found = place.listed("quadgen.yml")
    assert found["quadgen"] == {"hosts": ["claw", "forge"]}
    assert found["port_8082"] == found["several"] == {"hosts": ["forge"]}
    variables = plain(found["_meta"]["hostvars"]["claw"])
    assert (variables["ansible_host"], variables["models"]) == ("claw.example.org", ["{{ 7 * 7 }}"])
    assert variables["quadgen_services"][0]["unit"] == "llama-server.service"
    one = place.run("ansible-inventory", "-i", "quadgen.yml", "--host", "claw")
    assert plain(json.loads(one.stdout)) == variables
    assert place.shown("quadgen.yml") == "{{ 7 * 7 }}"


def test_the_file_of_the_documents_is_one_of_the_plugins(place: Place) -> None:
    done = place.run("sh", "-e", "-c", documented("quadgen.yml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "  |--@port_8081:\n  |  |--forge\n" in done.stdout


def test_the_fleet_and_the_program_are_looked_for_beside_the_file(place: Place) -> None:
    place.write("sub/edge.quadgen.yml", "plugin: quadgen.fleet.fleet\nfleet: ../fleet.yml\nprogram: ../bin/quadgen\n")
    assert place.listed("sub/edge.quadgen.yml")["quadgen"] == {"hosts": ["claw", "forge"]}


def test_a_fleet_that_is_refused_is_no_inventory_and_the_plugin_says_why(place: Place) -> None:
    place.write("fleet.yml", FLEET.replace("backend: cuda\n", "backend: cuda\n    ports: 80\n"))
    said = place.refused("quadgen.yml")
    assert "error[unknown-key]: `ports` is not a key of a host" in said
    assert "fleet.yml:" in said


def test_a_program_that_is_not_there_is_said_to_be_missing(place: Place) -> None:
    place.write("quadgen.yml", "plugin: quadgen.fleet.fleet\nprogram: quadgen-of-nobody\n")
    said = place.refused("quadgen.yml")
    assert "quadgen-of-nobody cannot be run: No such file or directory; install quadgen where Ansible runs" in said


META = '{"_meta": {"hostvars": %s}%s}'
ODD = {
    "": "Expecting value: line 1 column 1 (char 0)",
    "[" * 5000: "maximum recursion depth exceeded",
    **dict.fromkeys(
        (
            *("null", "[]", "{}", '{"_meta": []}', META % ("[]", ""), META % ('{"claw": null}', "")),
            *(META % ("{}", f', "quadgen": {group}') for group in ("[]", '{"hosts": "claw"}', '{"hosts": [1]}')),
        ),
        "it is not what `quadgen inventory --list` prints",
    ),
}
"""What a program may print instead of an inventory, and what is said of it."""


def test_what_a_program_prints_that_is_no_inventory_is_said_to_be_none(place: Place) -> None:
    settings = (place.path / "ansible.cfg").read_text(encoding="utf-8")
    # by default each source that is refused is a warning, and all of them are tried
    place.write("ansible.cfg", settings.replace("any_unparsed_is_failed = true", ""))
    sources = []
    for number, printed in enumerate(ODD):
        place.write(f"printed/{number}", printed)
        place.write(f"bin/odd{number}", f"#!/bin/sh\ncat printed/{number}\n", 0o755)
        place.write(f"{number}.quadgen.yml", f"plugin: quadgen.fleet.fleet\nprogram: bin/odd{number}\n")
        sources += ["-i", f"{number}.quadgen.yml"]
    done = place.run("ansible-inventory", *sources, "--list")
    assert done.returncode == 0, done.stderr
    said = [f"{place.path}/bin/odd{number} prints no inventory: {why}" for number, why in enumerate(ODD.values())]
    assert [sentence for sentence in said if sentence not in done.stderr] == []
    assert "quadgen" not in json.loads(done.stdout)


def test_a_misspelt_option_would_list_another_fleet_and_is_refused(place: Place) -> None:
    place.write("quadgen.yml", "plugin: quadgen.fleet.fleet\nflete: other.yml\n")
    said = place.refused("quadgen.yml")
    assert f"{place.path}/quadgen.yml has keys that are no options of this plugin: flete" in said


@pytest.mark.parametrize("option", ["fleet", "program"])
def test_a_name_that_no_file_has_is_refused_in_words(place: Place, option: str) -> None:
    place.write("quadgen.yml", f'plugin: quadgen.fleet.fleet\n{option}: "a\\0b"\n')
    assert "cannot be names of files: embedded null byte" in place.refused("quadgen.yml")


def test_a_host_that_is_called_like_a_group_of_another_inventory_is_refused(place: Place) -> None:
    place.write("others.ini", "[claw]\nattic\n")
    said = place.refused("quadgen.yml", "-i", "others.ini")
    assert "hosts of the fleet are called like groups of the inventory: claw" in said


def test_a_file_of_another_name_is_none_of_the_plugins(place: Place) -> None:
    place.write("myquadgen.yml", CONFIG)
    assert "could not be verified by inventory plugin 'quadgen.fleet.fleet'" in place.refused("myquadgen.yml")


def test_ansible_doc_shows_every_option_of_the_plugin(place: Place) -> None:
    done = place.run("ansible-doc", "-t", "inventory", "--json", "quadgen.fleet.fleet")
    assert (done.returncode, done.stderr) == (0, "")
    shown = json.loads(done.stdout)["quadgen.fleet.fleet"]
    assert {"plugin", "fleet", "program", "compose", "groups", "keyed_groups", "strict"} <= shown["doc"][
        "options"
    ].keys()
    assert "plugin: quadgen.fleet.fleet" in shown["examples"]
