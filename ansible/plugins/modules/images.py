"""Pull the images of a host's services, and remove those that nothing needs any more."""

from __future__ import annotations

DOCUMENTATION = r"""
module: images
short_description: Pull and remove the images of the services of a host
version_added: 0.1.0
description:
  - With O(state=present) every image of the tree that is not there is pulled, for the system or for the rootless user
    of its service. Fails when one cannot be had, and where one is missing whose services are told never to pull.
  - With O(state=absent) images that quadgen pulled and that neither the tree nor the last healthy one needs are
    removed. Nothing is forced, so one that a container uses stays for the next run, and an image that quadgen did not
    pull is never touched.
options:
  state:
    description: Whether images are pulled or removed.
    type: str
    choices: [present, absent]
    required: true
  tree:
    description:
      - The directory of this host that C(quadgen render) wrote. Without one the host needs no image.
    type: path
extends_documentation_fragment:
  - quadgen.fleet.host
  - quadgen.fleet.host.digest
attributes:
  check_mode:
    support: full
    description: Says what would be pulled or removed, and touches nothing.
  diff_mode:
    support: none
    description: Images have no text to compare.
author: The quadgen contributors (@quadgen)
"""

EXAMPLES = r"""
- name: Pull new images while the old services run
  quadgen.fleet.images:
    state: present
    tree: /srv/fleet/rendered/claw

- name: Remove images that nothing needs any more
  quadgen.fleet.images:
    state: absent
    tree: /srv/fleet/rendered/claw
"""

RETURN = r"""
pulled:
  description: Images that were pulled.
  returned: success
  type: list
  elements: dict
  contains: &image
    image:
      description: Its reference.
      type: str
    user:
      description: The user in whose storage it is; none is the system's.
      type: str
removed:
  description: Images that were removed.
  returned: success
  type: list
  elements: dict
  contains: *image
kept:
  description: Images that nothing of quadgen's needs and that were left because something else uses them.
  returned: success
  type: list
  elements: dict
  contains: *image
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils import managers, state, tree
from ..module_utils.imaging import Image, Images
from ..module_utils.managers import Trouble

ARGUMENTS: dict[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "required": True},
    "tree": {"type": "path"},
    "digest": {"type": "str"},
    "root": {"type": "path", "default": "/"},
    "state_dir": {"type": "path"},
}


def main() -> None:
    """Do what the task asks."""
    module = AnsibleModule(argument_spec=ARGUMENTS, supports_check_mode=True)
    given = module.params
    check = module.check_mode
    pulled: list[Image] = []
    removed: list[Image] = []
    kept: list[Image] = []
    try:
        place = state.directory(given["state_dir"], given["root"])
        manifest = tree.read(given["tree"], given["digest"])
        with state.locked(place, reading=check):
            images = Images(state.read(place), lambda found: state.write(place, found), run=managers.run)
            if given["state"] == "present":
                pulled = images.missing(manifest)
                if not check:
                    images.pull(pulled)
            else:
                # without a tree nothing is gone back to either
                trees = [manifest, tree.read(None if given["tree"] is None else state.good(place))]
                removed = images.unneeded(trees)
                if not check:
                    removed, kept = images.remove(removed, frozenset().union(*(each.images for each in trees)))
    except Trouble as trouble:
        module.fail_json(msg=str(trouble))
    module.exit_json(changed=bool(pulled or removed), pulled=_said(pulled), removed=_said(removed), kept=_said(kept))


def _said(images: list[Image]) -> list[dict[str, Any]]:
    return [{"image": name, "user": user} for name, user in images]


if __name__ == "__main__":
    main()
