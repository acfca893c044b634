"""Units to text, and the text read back: the only user of Jinja2.

Templates own the shape of a unit, the encoders own its words. Escaping cannot be forgotten, since the
environment's `finalize` accepts only what an encoder made; and whatever a template does, the text must read
back as exactly the words that were decided.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jinja2 import DictLoader, Environment, StrictUndefined, TemplateError, Undefined

from quadgen import unitfile
from quadgen.overlay import overlay
from quadgen.problems import Place, Problem, Rejected
from quadgen.readback import Difference, differences
from quadgen.unitfile import UnitText, Unsafe
from quadgen.units import Unit


class Unescaped(TypeError):  # noqa: N818 - it is a verdict on the template
    """A template printed something that no encoder made."""


def _guard(value: Any) -> UnitText:  # noqa: ANN401 - a template may print anything
    if type(value) is UnitText:
        return value
    if isinstance(value, Undefined):
        str(value)  # raises with the name
    raise Unescaped(f"{type(value).__name__} is printed without a filter that escapes it")


FILTERS: Final = {
    **{
        name: getattr(unitfile, name)
        for name in (
            "arg", "boolean", "comment", "exec_words", "json_words", "last", "line", "number", "path_line",
            "path_words", "raw", "seconds", "service_words", "specifier", "strv", "unit_names",
        )
    },
    "key_value": lambda pair: unitfile.key_value(*pair),
    "service_environment": lambda pair: unitfile.service_environment(*pair),
    "path_word": lambda path: unitfile.path_words((path,)),
}  # fmt: skip
"""What templates may use, one for each way in which Podman or systemd reads a value."""


@dataclass(slots=True)
class Renderer:
    """Turns units into text. Equal units are rendered once."""

    sources: Mapping[str, str]
    """Template texts by name."""
    names: Mapping[str, str]
    """Where a template came from, as problems name it."""
    _environment: Environment = field(init=False)
    _done: dict[Unit, str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._environment = Environment(
            loader=DictLoader(dict(self.sources)), undefined=StrictUndefined, finalize=_guard, autoescape=False,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, auto_reload=False,
        )  # fmt: skip
        self._environment.filters = dict(FILTERS)
        self._environment.globals = {}

    def render(self, unit: Unit) -> str:
        """The text of one unit, ending in one newline.

        Raises `Unsafe` where a decided word cannot be carried by its key, `Rejected` where a template does not
        carry the decided words.
        """
        found = self._done.get(unit)
        if found is None:
            found = self._done[unit] = self._render(unit)
        return found

    def _render(self, unit: Unit) -> str:
        try:
            text = self._environment.get_template(unit.template).render(unit=unit)
        except Unsafe:
            raise
        except (TemplateError, Unescaped, TypeError) as error:
            line = _template_line(error, unit.template)
            message = f"the template fails: {error}"
            raise Rejected([self._problem("unit-changed-by-template", message, unit, line)]) from error
        text = text.strip("\n") + "\n"
        if unit.overrides:
            text = overlay(text, unit.overrides)
        changed = differences(text, unit)
        if changed:
            raise Rejected([self._changed(change, unit) for change in changed])
        return text

    def _changed(self, change: Difference, unit: Unit) -> Problem:
        return self._problem(
            "unit-changed-by-template", f"{unit.file}: {change.key}= does not read back as what was decided", unit,
            notes=(f"decided: {change.decided}", f"reads back: {change.read}"),
        )  # fmt: skip

    def _problem(self, code: str, message: str, unit: Unit, line: int = 1, notes: tuple[str, ...] = ()) -> Problem:
        lines = self.sources.get(unit.template, "").splitlines()
        shown = lines[line - 1] if line <= len(lines) else ""
        place = Place(
            file=self.names.get(unit.template, unit.template),
            line=line,
            column=1,
            length=max(1, len(shown)),
            text=shown,
        )
        return Problem(code=code, message=message, place=place, notes=notes)


def _template_line(error: BaseException, template: str) -> int:
    """The line of the template that failed: Jinja2 compiles line numbers into its tracebacks."""
    line: int | None = getattr(error, "lineno", None)
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in (template, "<template>"):
            line = trace.tb_lineno
        trace = trace.tb_next
    return line or 1
