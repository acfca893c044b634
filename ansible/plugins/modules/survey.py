"""Say what a pull has to do on this host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: survey
short_description: Compare a host with what was rendered for it
version_added: 0.1.0
description:
  - Looks at the files of this host, at what systemd says of their services, and at what earlier runs left.
  - Changes nothing. It says C(changed) where another module of this collection has something to do, so that a pull
    that finds nothing to do is this one task.
  - Fails for a host that the tree does not have and that is not retired, for a tree that was rolled back before, and
    where the state is that of another host.
options:
  tree_root:
    description:
      - The directory that C(quadgen render) wrote, with one directory for each host.
    type: path
    required: true
  host:
    description:
      - The name of this host in the fleet.
      - The default is the node name of this machine or, where the tree does not have that, its first label.
    type: str
  retired:
    description: The host left the fleet, and everything that quadgen installed on it is to go.
    type: bool
    default: false
  retry:
    description: Try a tree again that was rolled back before.
    type: bool
    default: false
extends_documentation_fragment:
  - quadgen.fleet.host
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: M(quadgen.fleet.files) has the texts.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Compare this host with what was rendered for it
  quadgen.fleet.survey:
    tree_root: "{{ playbook_dir }}/rendered"
  register: survey
"""

RETURN = r"""
host:
  description: The name of this host in the fleet.
  returned: success
  type: str
tree:
  description: The directory that was rendered for this host; none where it is retired.
  returned: success
  type: str
digest:
  description: That of its manifest, which stands for the whole tree; the other modules take it.
  returned: success
  type: str
root:
  description: The root of the file system that was looked at.
  returned: success
  type: str
state_dir:
  description: Where the state of this host is.
  returned: success
  type: str
good:
  description: The copy of the last tree whose services were all healthy; none where there never was one.
  returned: success
  type: str
fallback:
  description: What to go back to where this tree does not become healthy; none where RV(good) is this tree, or
    where the host is retired.
  returned: success
  type: str
interrupted:
  description: Whether an earlier run was ended while it changed something.
  returned: success
  type: bool
create:
  description: Files that are to be installed.
  returned: success
  type: list
  elements: str
update:
  description: Files that are not as they were rendered.
  returned: success
  type: list
  elements: str
remove:
  description: Files that quadgen installed and that are not rendered any more.
  returned: success
  type: list
  elements: str
stop:
  description: Units that run and are not rendered any more.
  returned: success
  type: list
  elements: str
restart:
  description: Units that run something else than is to be installed; each list after all of those before it.
  returned: success
  type: list
  elements: list
start:
  description: Units that should run and do not.
  returned: success
  type: list
  elements: str
enable:
  description: Native units that start with the host and should not, or the other way round.
  returned: success
  type: list
  elements: str
reload:
  description: Whether a systemd has not read what is installed.
  returned: success
  type: bool
pull:
  description: Images that this host did not have before. Podman was not asked.
  returned: success
  type: list
  elements: dict
  contains: &image
    image:
      description: The reference of the image.
      type: str
    user:
      description: The user in whose storage it belongs; none is the system's.
      type: str
drop:
  description: Images that were pulled for services that are not rendered any more.
  returned: success
  type: list
  elements: dict
  contains: *image
unmet:
  description: Sentences, one for each thing that stands in the way or that the host lacks. Looked for where something
    is to be done.
  returned: success
  type: list
  elements: str
warnings:
  description: Drop-ins of others that change a service.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import managers, state, surveying

ARGUMENTS = {
    "tree_root": {"type": "path", "required": True},
    "host": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state_dir": {"type": "path"},
    "retired": {"type": "bool", "default": False},
    "retry": {"type": "bool", "default": False},
}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    try:
        found = surveying.survey(
            given["tree_root"],
            given["host"],
            given["root"],
            state.directory(given["state_dir"], given["root"]),
            retired=given["retired"],
            retry=given["retry"],
            run=managers.run,
        )
    except managers.Trouble as trouble:
        module.fail_json(msg=str(trouble))
    result = found.result()
    for warning in result.pop("warnings"):  # Ansible hands them back itself
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
