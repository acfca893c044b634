"""Writing the picture of `quadgen triage`."""

from collections.abc import Callable

from quadgen import disk
from quadgen.cli.triage_values import bad
from quadgen.triage import Verdict
from quadgen.triage.curve import html, svg

Drawer = Callable[[Verdict], None]
_FORMS = {".svg": svg, ".html": html}


def drawer(option: str, file: str) -> Drawer:
    """What writes a verdict into this file, by its ending. Raises `typer.BadParameter` for another one."""
    form = next((made for ending, made in _FORMS.items() if file.lower().endswith(ending)), None)
    if form is None:
        raise bad(option, f"{file!r} ends with neither of {' and '.join(_FORMS)}")
    return lambda verdict: disk.write_file(file, form(verdict).encode())
