"""Let the generators of a host judge what was rendered for it, before anything is replaced."""

from __future__ import annotations

DOCUMENTATION = r"""
module: validate
short_description: Let Podman and systemd of a host judge its new units
version_added: 0.1.0
description:
  - Runs the host's own Quadlet generator over copies of the containers' units, and C(systemd-analyze verify) over
    those of native ones. Nothing on the host changes, also not without check mode.
  - Fails with everything that they object to. A unit that Podman's generator refuses would be gone with the next
    daemon-reload, and nothing would say so.
options:
  tree:
    description: The directory of this host that C(quadgen render) wrote. Without one there is nothing to judge.
    type: path
extends_documentation_fragment:
  - quadgen.fleet.host.digest
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: It changes nothing.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Let the generators of this host judge the new units
  quadgen.fleet.validate:
    tree: /srv/fleet/rendered/claw
"""

RETURN = r"""
faults:
  description: What Podman and systemd object to, a sentence each.
  returned: always
  type: list
  elements: str
unchecked:
  description: Checks that could not be made, because this host lacks the program; a sentence each.
  returned: always
  type: list
  elements: str
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import tree
from ..module_utils.managers import Trouble
from ..module_utils.validating import judged

ARGUMENTS = {"tree": {"type": "path"}, "digest": {"type": "str"}}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    directory = module.params["tree"]
    if directory is None:
        module.exit_json(changed=False, faults=[], unchecked=[])
    try:
        verdict = judged(directory, tree.read(directory, module.params["digest"]), environ=os.environ)
    except Trouble as trouble:
        module.fail_json(msg=str(trouble), faults=[], unchecked=[])
    for sentence in verdict.unchecked:
        module.warn(sentence)
    said = {"faults": list(verdict.faults), "unchecked": list(verdict.unchecked)}
    if verdict.faults:
        module.fail_json(msg=f"this host does not take its new units: {'; '.join(verdict.faults)}", **said)
    module.exit_json(changed=False, **said)


if __name__ == "__main__":
    main()
