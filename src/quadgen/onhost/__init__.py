"""What systemd and Podman of this host say, and what its files are: the eyes of `quadgen.installed`.

Nothing here changes anything. What cannot be looked at is a warning (`not-verified`), and the rest is looked at.
"""

from quadgen.onhost.looking import look
from quadgen.onhost.tree import declared_host

__all__ = ["declared_host", "look"]
