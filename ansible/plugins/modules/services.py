"""Stop the services that leave a host, and bring the others to what is installed."""

from __future__ import annotations

DOCUMENTATION = r"""
module: services
short_description: Stop, start and wait for the services of a host
version_added: 0.1.0
description:
  - With O(state=stopped) services that the tree does not have any more are stopped, before their files are removed.
  - With O(state=started) every systemd whose files changed reads them anew, what changed is stopped and started, and
    what should run and does not is started. Each is waited for until it is healthy, in the order in which they follow
    each other.
  - A service that is not to start with the host is left as it is found, running or not; one that ran before its file
    changed runs afterwards.
  - Of services that conflict with one another, one that does not run is not started while another runs.
  - Fails as soon as a service is known not to become healthy, with what systemd and the journal say of it.
options:
  state:
    description: Whether the services that leave are stopped, or those of the tree are started.
    type: str
    choices: [started, stopped]
    required: true
  tree:
    description:
      - The directory of this host that C(quadgen render) wrote. Without one the host shall have no service at all.
    type: path
  tries:
    description: How often a service may be started anew by systemd before it is given up.
    type: int
    default: 2
  units:
    description: Units that are stopped although the tree has them, with O(state=stopped).
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - quadgen.fleet.host
  - quadgen.fleet.host.digest
attributes:
  check_mode:
    support: full
    description: Says what would be stopped and started, and touches nothing.
  diff_mode:
    support: none
    description: Services have no text to compare.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Stop what leaves this host
  quadgen.fleet.services:
    state: stopped
    tree: /srv/fleet/rendered/claw

- name: Start what changed
  quadgen.fleet.services:
    state: started
    tree: /srv/fleet/rendered/claw
"""

RETURN = r"""
stopped:
  description: Units that were stopped for good.
  returned: always
  type: list
  elements: str
restarted:
  description: Units that were stopped and started, because what they ran was not what is installed.
  returned: always
  type: list
  elements: str
started:
  description: Units that did not run and were started.
  returned: always
  type: list
  elements: str
enabled:
  description: Native units that were enabled or disabled, so that they start with the host, or do not.
  returned: always
  type: list
  elements: str
reloaded:
  description: Whether a systemd had to read its units anew.
  returned: always
  type: bool
failed_units:
  description: Units that did not become healthy.
  returned: always
  type: list
  elements: dict
  contains:
    unit:
      description: The unit.
      type: str
    user:
      description: The user in whose systemd it is; none is the system's.
      type: str
    why:
      description: What became of it.
      type: str
    host:
      description: Whether that is a matter of this host, such as a full disk, and not of what was rendered for it.
      type: bool
    journal:
      description: What the journal has of it last.
      type: list
      elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import managers, state, states, tree
from ..module_utils.managers import Trouble
from ..module_utils.starting import Failed, Starter, planned
from ..module_utils.state import State
from ..module_utils.stopping import Stopper
from ..module_utils.tree import Manifest

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["started", "stopped"], "required": True},
    "tree": {"type": "path"},
    "digest": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state_dir": {"type": "path"},
    "tries": {"type": "int", "default": 2},
    "units": {"type": "list", "elements": "str", "default": []},
}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    result: dict[str, Any] = {
        "changed": False,
        "stopped": [],
        "restarted": [],
        "started": [],
        "enabled": [],
        "failed_units": [],
        "reloaded": False,
    }
    try:
        place = state.directory(given["state_dir"], given["root"])
        manifest = tree.read(given["tree"], given["digest"])
        with state.locked(place, reading=module.check_mode):
            known = state.read(place)
            if given["state"] == "stopped":
                _stop(manifest, known, place, given["units"], result, check=module.check_mode)
            else:
                _start(manifest, known, place, given["tries"], result, check=module.check_mode)
    except Failed as failed:
        result["failed_units"] = [
            {"unit": each.unit, "user": each.user, "why": each.why, "journal": list(each.journal), "host": each.host}
            for each in failed.failures
        ]
        module.fail_json(msg=str(failed), **result)
    except Trouble as trouble:
        module.fail_json(msg=str(trouble), **result)
    module.exit_json(**result)


def _stop(
    manifest: Manifest, known: State, place: str, units: list[str], result: dict[str, Any], *, check: bool
) -> None:
    stopper = Stopper(manifest, known, lambda found: state.write(place, found), run=managers.run)
    due = stopper.due(units)
    seen = stopper.seen(stopper.reachable(due))
    result["stopped"] = [unit for unit in seen if not seen[unit].down]
    result["changed"] = bool(result["stopped"]) or any(states.switch(each, autostart=False) for each in seen.values())
    if due and not check:
        stopper.end(due, seen)


def _start(manifest: Manifest, known: State, place: str, tries: int, result: dict[str, Any], *, check: bool) -> None:
    starter = Starter(manifest, known, lambda found: state.write(place, found), tries, run=managers.run)
    if not check:
        result["reloaded"] = starter.reload()
    seen = starter.seen()
    plan = planned(manifest, starter.state, seen)
    result["restarted"], result["started"] = list(plan.restart), list(plan.start)
    result["changed"] = plan.changes or result["reloaded"]
    if not check:
        result["enabled"] = starter.enable(seen)
        result["changed"] = result["changed"] or bool(result["enabled"])
        starter.bring(plan, seen)


if __name__ == "__main__":
    main()
