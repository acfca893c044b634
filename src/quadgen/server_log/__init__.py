"""What a server's log says when something goes wrong, in the words of every build that is known.

`event` recognises a line, `events` those of a log, `cause` finds the one that says why a server ended or does not
speculate. A new wording is one entry in the table it belongs to: `arguments`, `speculating`, `models`, `machine` or
`ending`.
"""

from quadgen.server_log.reading import Event, cause, event, events
from quadgen.server_log.wording import Severity

__all__ = ["Event", "Severity", "cause", "event", "events"]
