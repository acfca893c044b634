"""The options that several modules take, documented once."""

from __future__ import annotations


class ModuleDocFragment:
    """Ansible looks for a class of this name; a fragment is `quadgen.fleet.host`, or with the name of an attribute."""

    DOCUMENTATION = r"""
options:
  root:
    description: The root of the host's file system, below which its files and its state are.
    type: path
    default: /
  state_dir:
    description:
      - The directory in which quadgen remembers what it did on this host, below O(root).
      - The default is C(/var/lib/quadgen), or C(~/.local/state/quadgen) where it is not root who runs this.
    type: path
"""

    DIGEST = r"""
options:
  digest:
    description:
      - What M(quadgen.fleet.survey) returned as such. Where O(tree) is another one by now, the task fails.
    type: str
"""
