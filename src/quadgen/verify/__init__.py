"""The judges of a rendered tree: the real Quadlet generator and `systemd-analyze verify`.

What quadgen's own parser reads back is what quadgen believes; this asks the programs that load the units.
Both get copies in a directory of their own, and nothing of the machine decides what they say.
"""

from quadgen.verify.programs import Generator, find_generators, find_systemd_analyze
from quadgen.verify.tree import Progress, verify_tree

__all__ = ["Generator", "Progress", "find_generators", "find_systemd_analyze", "verify_tree"]
