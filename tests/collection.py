"""The Ansible collection of this repository, where a test needs it.

Tests of its Python import it as `plugins.module_utils.state`, ...: `ansible/` is on the path of pytest and mypy,
and everything in it imports its neighbours relatively. Ansible itself wants it below `ansible_collections/`.
"""

from pathlib import Path

from source import ROOT

COLLECTION = ROOT / "ansible"
"""The root of the collection."""


def link(place: Path) -> Path:
    """Make the collection findable below `place`, which is then a value of `ANSIBLE_COLLECTIONS_PATH`."""
    fleet = place / "ansible_collections" / "quadgen" / "fleet"
    fleet.parent.mkdir(parents=True)
    fleet.symlink_to(COLLECTION, target_is_directory=True)
    return place
