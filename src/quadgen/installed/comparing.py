"""Everything in which a host differs from its declared tree."""

from quadgen.installed.declared import Declared
from quadgen.installed.files import files, left_over
from quadgen.installed.loaded import loading, standing
from quadgen.installed.others import drop_ins, shadows
from quadgen.installed.running import running
from quadgen.installed.seen import Seen
from quadgen.problems import Problem


def differences(declared: Declared, seen: Seen) -> list[Problem]:
    """Compare them: first what could not be looked at, then the rest in the order of files, each thing said once."""
    found = [
        *files(declared, seen),
        *left_over(declared, seen),
        *drop_ins(declared, seen),
        *shadows(declared, seen),
    ]
    found += loading(declared, seen, found)
    found += standing(declared, seen)
    found += running(declared, seen)
    return [*seen.problems, *sorted(found, key=_by_place)]


def _by_place(problem: Problem) -> tuple[str, str]:
    return problem.service or "", problem.place.file if problem.place else ""
