"""A callback of the tests: writes down what each task did, and kills its own run at a task that a test names."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: steps
type: notification
short_description: what each task of a run did, one JSON object a line
description: Appends to the file QUADGEN_TEST_STEPS.
"""

LOG = "QUADGEN_TEST_STEPS"
KILL = "QUADGEN_TEST_KILL"
"""`start 3` or `end 3`: the moment at which everything from the started program down to this one is killed."""
TOP = "QUADGEN_TEST_TOP"
"""Id of the process that the test started."""
OUTCOMES = ("ok", "failed", "skipped", "unreachable")


def ancestors(process: int, top: int) -> list[int]:
    """A process and those that it descends from, as far as `top`, which comes first."""
    found = [process]
    while found[0] not in (top, 1):
        status = Path(f"/proc/{found[0]}/stat").read_text(encoding="utf-8", errors="replace")
        found.insert(0, int(status.rpartition(")")[2].split()[1]))
    return found


def kill_run() -> None:
    """Kill the run from the top, as a machine that loses power would end it; nothing of it can react."""
    top = int(os.environ[TOP])
    for process in ancestors(os.getpid(), top):
        os.kill(process, signal.SIGKILL)


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Notified by ansible-playbook in its main process, where no worker runs between two tasks of one host."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "notification"
    CALLBACK_NAME = "steps"

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        for outcome in OUTCOMES:
            setattr(self, f"v2_runner_on_{outcome}", self._ended(outcome))

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:  # noqa: ARG002, FBT001 - theirs
        """A task begins; `include_tasks` is one as well."""
        self._number += 1
        self._at("start")

    def v2_playbook_on_stats(self, stats: Any) -> None:
        """The run is over."""
        self._write({"totals": {host: stats.summarize(host) for host in sorted(stats.processed)}})

    def _ended(self, outcome: str) -> Any:
        def ended(result: Any, ignore_errors: bool = False) -> None:  # noqa: ARG001, FBT001, FBT002 - theirs
            step = {"task": result.task.get_name(), "action": result.task.action, "outcome": outcome}
            self._write({**step, "result": result.result})
            self._at("end")

        return ended

    def _write(self, what: dict[str, Any]) -> None:
        with Path(os.environ[LOG]).open("a", encoding="utf-8") as log:
            log.write(json.dumps(what, default=str) + "\n")

    def _at(self, moment: str) -> None:
        if os.environ.get(KILL) == f"{moment} {self._number}":
            kill_run()
