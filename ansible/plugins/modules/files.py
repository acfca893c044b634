"""Install, replace and remove the files of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: files
short_description: Make the files of a host those that were rendered for it
version_added: 0.1.0
description:
  - Writes each file of a rendered directory beside its target and renames it, and removes what an earlier run
    installed and the tree does not have any more. A run that is killed leaves each file old or new, and the next one
    finishes the work.
  - Touches only what the tree lists or an earlier run installed. A file of somebody else in the way is a failure, and
    then nothing is changed; one that is already as rendered becomes quadgen's.
  - Directories that quadgen made go when they are empty. Modes do not depend on the umask.
  - What lies in the home of a user is written with the ids of that user, and belongs to it.
options:
  tree:
    description:
      - The directory of this host that C(quadgen render) wrote. Without one everything that was installed goes.
    type: path
extends_documentation_fragment:
  - quadgen.fleet.host
  - quadgen.fleet.host.digest
attributes:
  check_mode:
    support: full
    description: Says what would change, and touches nothing.
  diff_mode:
    support: full
    description: One comparison for each file.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Install what was rendered for claw
  quadgen.fleet.files:
    tree: /srv/fleet/rendered/claw

- name: Go back to what ran before
  quadgen.fleet.files:
    tree: /var/lib/quadgen/good
"""

RETURN = r"""
create:
  description: Files that were not there.
  returned: success
  type: list
  elements: str
update:
  description: Files that were not as they were rendered.
  returned: success
  type: list
  elements: str
remove:
  description: Files that an earlier run installed and that went.
  returned: success
  type: list
  elements: str
edited:
  description: Those of them that somebody had changed or removed by hand.
  returned: success
  type: list
  elements: str
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import placing, state
from ..module_utils.managers import Trouble
from ..module_utils.placing import Change

ARGUMENTS = {
    "tree": {"type": "path"},
    "digest": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state_dir": {"type": "path"},
}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    root = module.params["root"]
    try:
        place = state.directory(module.params["state_dir"], root)
        with state.locked(place, reading=module.check_mode):
            known = state.read(place)
            planned = placing.plan(module.params["tree"], root, known, module.params["digest"])
            after = placing.expected(planned, known)
            if planned.problems:
                raise Trouble("; ".join(planned.problems))  # noqa: TRY301 - all of them are one failure
            if not module.check_mode:
                after = placing.carry_out(planned, root, place, known)
    except Trouble as trouble:
        module.fail_json(msg=str(trouble))
    result: dict[str, Any] = {kind: planned.paths(kind) for kind in ("create", "update", "remove")}
    result["edited"] = [f"/{change.spot.path}" for change in planned.changes if change.edited]
    if module._diff:  # noqa: SLF001 - the only way that Ansible tells it
        result["diff"] = [_difference(change) for change in planned.changes]
    module.exit_json(changed=bool(planned.changes) or after != known, **result)


def _difference(change: Change) -> dict[str, str]:
    """What Ansible shows of one file; modes stand with its name."""
    path = f"/{change.spot.path}"
    before = None if change.before is None else change.before.data
    headers = [path, path]
    if change.before is not None and change.file is not None and change.before.mode != change.file.mode:
        headers = [f"{path} (mode {mode:04o})" for mode in (change.before.mode, change.file.mode)]
    return {
        "before": (before or b"").decode("utf-8", "backslashreplace"),
        "after": (change.after or b"").decode("utf-8", "backslashreplace"),
        "before_header": headers[0],
        "after_header": headers[1],
    }


if __name__ == "__main__":
    main()
