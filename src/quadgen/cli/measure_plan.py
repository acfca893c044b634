"""`quadgen measure --plan`: what a fleet needs measured."""

from quadgen.cli import console
from quadgen.cli.exits import Exit
from quadgen.cli.work import Folder
from quadgen.measuring.plan import plan
from quadgen.measuring.plan_text import as_json, as_text
from quadgen.measuring.script import as_shell
from quadgen.pipeline import compile_fleet
from quadgen.problems import Severity


def shown(fleet: str, hosts: list[str] | None, format: str) -> tuple[str, int]:  # noqa: A002 - the option's name
    """The plan as `text`, `json` or `shell`, and the exit status.

    What is wrong with the fleet beside its evidence is printed, and refuses with a plan of all that can be planned.
    """
    only = frozenset(hosts) if hosts else None
    compiled = compile_fleet(fleet, Folder(fleet), only=only, advisory=True)
    wrong = [problem for problem in compiled.problems if problem.severity is Severity.ERROR]
    console.show(wrong)
    if not (only or frozenset()) <= compiled.fleet.data["hosts"].keys():
        return "", Exit.REFUSED
    write = {"json": lambda found: as_json(found) + "\n", "shell": as_shell}.get(format, as_text)
    return write(plan(compiled, only)), Exit.REFUSED if wrong else Exit.DONE
