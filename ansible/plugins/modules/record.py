"""Remember how a pull ended."""

from __future__ import annotations

DOCUMENTATION = r"""
module: record
short_description: Remember which tree of a host is healthy, and which is not
version_added: 0.1.0
description:
  - With O(outcome=good) a copy of the tree is kept as the one to go back to.
  - With O(outcome=refused) the tree is not tried again until another one was rendered, or somebody asks for it.
  - With O(outcome=retired) everything that was remembered of this host is forgotten, once its files are gone.
options:
  outcome:
    description: How the pull ended.
    type: str
    choices: [good, refused, retired]
    required: true
  tree:
    description: The directory of this host that C(quadgen render) wrote.
    type: path
  digest:
    description:
      - What M(quadgen.fleet.survey) returned as such. A tree that is another one by now is not called good, and what is
        refused is the one with this digest, whatever O(tree) is by now.
    type: str
  reason:
    description: Why the tree was rolled back, as one sentence.
    type: str
extends_documentation_fragment:
  - quadgen.fleet.host
attributes:
  check_mode:
    support: full
    description: Says whether that would be news, and remembers nothing.
  diff_mode:
    support: none
    description: There is no text to compare.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Remember that all services are healthy
  quadgen.fleet.record:
    outcome: good
    tree: /srv/fleet/rendered/claw

- name: Remember not to try this tree again
  quadgen.fleet.record:
    outcome: refused
    tree: /srv/fleet/rendered/claw
    reason: chat.service did not become healthy
"""

RETURN = r"""
good:
  description: The copy of the last tree whose services were all healthy; none where there never was one.
  returned: success
  type: str
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import recording, state, tree
from ..module_utils.managers import Trouble

ARGUMENTS = {
    "outcome": {"type": "str", "choices": ["good", "refused", "retired"], "required": True},
    "tree": {"type": "path"},
    "digest": {"type": "str"},
    "reason": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state_dir": {"type": "path"},
}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(
        argument_spec=ARGUMENTS,
        supports_check_mode=True,
        required_if=[("outcome", "good", ["tree"]), ("outcome", "refused", ["tree", "reason"])],
    )
    given = module.params
    check = module.check_mode
    try:
        place = state.directory(given["state_dir"], given["root"])
        nothing = given["outcome"] == "retired" and not os.path.isdir(place)
        with state.locked(place, reading=check or nothing):
            changed = _record(given, place, check=check)
            good = state.good(place)
    except Trouble as trouble:
        module.fail_json(msg=str(trouble))
    module.exit_json(changed=changed, good=good)


def _record(given: dict[str, Any], place: str, *, check: bool) -> bool:
    known = state.read(place)
    if given["outcome"] != "retired" and not given["tree"]:
        raise Trouble(f"there is no tree that is {given['outcome']}")  # `tree: null` passes required_if
    if given["outcome"] == "good":
        return recording.good(given["tree"], place, known, check=check, digest=given["digest"])
    if given["outcome"] == "refused":
        digest = given["digest"] or tree.read(given["tree"]).sha256
        return recording.refused(digest, place, known, given["reason"], check=check)
    return recording.retired(place, known, check=check)


if __name__ == "__main__":
    main()
