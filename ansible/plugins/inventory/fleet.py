"""The inventory plugin: asks quadgen, where Ansible runs, for the hosts of a fleet."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet
short_description: Hosts and groups of a quadgen fleet
description:
  - Runs C(quadgen inventory FLEET --list) and takes its hosts, groups and variables.
  - "Every host of the fleet is in the group V(quadgen), and in groups by backend, engine, model, profile, group and
    runtime, such as V(backend_cuda) and V(model_qwen3_8_27b)."
  - Values of the fleet are never run as templates.
  - A fleet whose shape is wrong is refused with all that quadgen has to say of it.
version_added: 0.1.0
author:
  - The quadgen contributors (@quadgen)
requirements:
  - quadgen, where Ansible runs
extends_documentation_fragment:
  - constructed
options:
  plugin:
    description: Says that the file is for this plugin. It is called C(quadgen.yml), or ends in C(.quadgen.yml).
    type: str
    required: true
    choices: [quadgen.fleet.fleet]
  fleet:
    description: The fleet file. A relative name is looked for beside the inventory file.
    type: str
    default: fleet.yml
  program:
    description:
      - How quadgen is run. A name is looked for in E(PATH), a relative path beside the inventory file.
    type: str
    default: quadgen
"""

EXAMPLES = r"""
# quadgen.yml beside fleet.yml: all hosts of the fleet
plugin: quadgen.fleet.fleet

---
# edge.quadgen.yml: the fleet and the program are elsewhere, with groups and variables of one's own
plugin: quadgen.fleet.fleet
fleet: ../fleets/edge.yml
program: ~/.local/bin/quadgen
strict: true
compose:
  ansible_host: quadgen_host ~ '.example.org'
groups:
  several_services: quadgen_services | length > 1
keyed_groups:
  - prefix: port
    key: quadgen_services | map(attribute='port')
"""

import json
import os
import subprocess
from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

try:
    from ansible.utils.unsafe_proxy import wrap_var
except ImportError:  # what nobody trusted is no template there

    def wrap_var(v: Any) -> Any:  # noqa: ANN401 - any JSON value
        """The value itself."""
        return v


_NAMES = ("quadgen.yml", "quadgen.yaml")


class InventoryModule(BaseInventoryPlugin, Constructable):  # type: ignore[misc]  # ansible-core has no types
    """Ansible looks for a class of this name."""

    NAME = "quadgen.fleet.fleet"

    def verify_file(self, path: str) -> bool:
        """Whether a file is called as those of this plugin are."""
        name = os.path.basename(path)
        return bool(super().verify_file(path)) and (
            name in _NAMES or name.endswith(tuple(f".{each}" for each in _NAMES))
        )

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:  # noqa: ANN401, FBT001, FBT002 - Ansible's
        """Add the hosts of the fleet that the file at `path` names; raises `AnsibleParserError`."""
        super().parse(inventory, loader, path, cache)
        unknown = sorted(map(str, set(self._read_config_data(path)) - set(self.option_definitions)))
        if unknown:  # Ansible passes over them, and the fleet would be another than the file means
            raise AnsibleParserError(f"{path} has keys that are no options of this plugin: {', '.join(unknown)}")
        listing = self._listing(os.path.dirname(os.path.abspath(path)))
        hosts = listing.pop("_meta")["hostvars"]
        # Ansible looks for a name among the groups first, and would give them the variables of the host
        clashes = sorted(set(hosts) & {*inventory.groups, *listing})
        if clashes:
            raise AnsibleParserError(
                f"hosts of the fleet are called like groups of the inventory: {', '.join(clashes)}"
            )
        for name, group in listing.items():
            inventory.add_group(name)
            for host in group.get("hosts", ()):
                inventory.add_host(host, name)
        for host, variables in hosts.items():
            inventory.add_host(host)
            for name, value in variables.items():
                inventory.set_variable(host, name, value)
            self._construct(host, variables)

    def _construct(self, host: str, variables: dict[str, Any]) -> None:
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), variables, host, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), variables, host, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), variables, host, strict=strict)

    def _listing(self, directory: str) -> dict[str, Any]:
        """What quadgen lists; no value of it is a template."""
        program = os.path.expanduser(self.get_option("program"))
        if os.sep in program:
            program = os.path.join(directory, program)
        fleet = os.path.join(directory, os.path.expanduser(self.get_option("fleet")))
        words = [program, "inventory", "--list", "--", fleet]
        try:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603 - the user's own program
        except OSError as error:
            hint = "install quadgen where Ansible runs, or say `program`"
            raise AnsibleParserError(f"{program} cannot be run: {error.strerror}; {hint}") from error
        except ValueError as error:
            raise AnsibleParserError(f"{program!r} and {fleet!r} cannot be names of files: {error}") from error
        said = done.stderr.decode(errors="replace").strip()
        if done.returncode != 0:
            raise AnsibleParserError(f"quadgen lists no hosts of {fleet}, and ends with {done.returncode}:\n{said}")
        if said:
            self.display.warning(said)
        try:
            found = json.loads(done.stdout.decode(), object_hook=_unmarked)
        except (ValueError, RecursionError) as error:
            raise AnsibleParserError(f"{program} prints no inventory: {error}") from error
        if not _is_listing(found):
            raise AnsibleParserError(f"{program} prints no inventory: it is not what `quadgen inventory --list` prints")
        return dict(found)


def _is_listing(found: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Whether it is an object of groups with lists of hosts, and of `_meta` with the variables of each host."""
    if not isinstance(found, dict) or not isinstance(found.get("_meta"), dict):
        return False
    hosts = found["_meta"].get("hostvars")
    groups = [each for name, each in found.items() if name != "_meta"]
    return (
        isinstance(hosts, dict)
        and all(isinstance(each, dict) for each in [*hosts.values(), *groups])
        and all(isinstance(each.get("hosts", []), list) for each in groups)
        and all(isinstance(host, str) for each in groups for host in each.get("hosts", []))
    )


def _unmarked(value: dict[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON object, or the text that it marks as no template, for Ansible itself to keep from being run.

    The names of hosts and groups are never marked: before 2.19 Ansible would print them as objects.
    """
    return wrap_var(value["__ansible_unsafe"]) if value.keys() == {"__ansible_unsafe"} else value
