"""What a server's log says when something goes wrong, in the words of every build that is known.

`events` recognises the lines, `cause` finds the one that says why a server ended or does not speculate. A new wording
is one entry in the table it belongs to: `arguments`, `speculating`, `models`, `machine` or `ending`.
"""

from quadgen.server_log.reading import Event, cause, events
from quadgen.server_log.wording import Severity

__all__ = ["Event", "Severity", "cause", "events"]
