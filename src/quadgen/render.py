"""Units to text, and the text read back: the only user of Jinja2.

Templates own the shape of a unit, the encoders own its words. Escaping cannot be forgotten, since the
environment's `finalize` accepts only what an encoder made; and whatever a template does, the text must read
back as exactly the words that were decided.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from jinja2 import (
    BytecodeCache,
    Environment,
    FunctionLoader,
    StrictUndefined,
    TemplateError,
    TemplateNotFound,
    TemplateSyntaxError,
    Undefined,
)
from jinja2.bccache import Bucket

from quadgen import quadlet_keys, systemd_keys, unitfile
from quadgen.overlay import overlay
from quadgen.problems import Place, Problem, Rejected
from quadgen.readback import Difference, UnreadKey, differences
from quadgen.tree import Template
from quadgen.unitfile import Malformed, UnitText, Unsafe
from quadgen.units import Unit


class Unescaped(TypeError):  # noqa: N818 - it is a verdict on the template
    """A template printed something that no encoder made."""


_FAILURES: Final = (
    TemplateError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
)  # fmt: skip
"""What evaluating an expression of a template may raise."""


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
            "path_words", "percent", "raw", "seconds", "service_words", "specifier", "strv", "unit_names",
        )
    },
    "key_value": lambda pair: unitfile.key_value(*pair),
    "service_environment": lambda pair: unitfile.service_environment(*pair),
    "path_word": lambda path: unitfile.path_words((path,)),
}  # fmt: skip
"""What templates may use, one for each way in which Podman or systemd reads a value."""


class _Translated(BytecodeCache):
    """The code that Jinja2 makes of the shipped templates: most of the work for a small fleet, done once a process."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, str], Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._held.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._held[bucket.key, bucket.checksum] = bucket.code


_TRANSLATED: Final = _Translated()


@dataclass(slots=True)
class Renderer:
    """Turns units into text. Equal units are rendered once."""

    templates: Mapping[str, Template]
    """By name."""
    _environment: Environment = field(init=False)
    _done: Callable[[Unit], str] = field(init=False)

    def __post_init__(self) -> None:
        kind = self._kind()
        self._environment = kind(
            loader=FunctionLoader(self._source), undefined=StrictUndefined, finalize=_guard, autoescape=False,
            trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, auto_reload=False,
            bytecode_cache=None if kind.sandboxed else _TRANSLATED,
        )  # fmt: skip
        self._environment.filters = dict(FILTERS)
        self._environment.globals = {}
        self._done = cache(self._render)  # it hashes a unit once, a dictionary twice

    def _kind(self) -> type[Environment]:
        """Jinja2's own environment, or its sandbox: rendering a stranger's branch must not run a stranger's code."""
        if not any(template.own for template in self.templates.values()):
            return Environment
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415 - few fleets have templates

        return ImmutableSandboxedEnvironment

    def _source(self, name: str) -> tuple[str, str, None] | None:
        """A template under its own name, which Jinja2 then puts into tracebacks."""
        return (self.templates[name].text, name, None) if name in self.templates else None

    def render(self, unit: Unit) -> str:
        """The text of one unit, ending in one newline.

        Raises `Unsafe` where a decided word cannot be carried by its key, `Rejected` where a template does not
        carry the decided words.
        """
        return self._done(unit)

    def _render(self, unit: Unit) -> str:
        try:
            text = self._environment.get_template(unit.template).render(unit=unit)
        except Unsafe:
            raise
        except _FAILURES as error:
            message = f"the template fails: {_said(error)}"
            place = self._place(*self._failed(error, unit.template))
            raise Rejected([Problem(code="unit-changed-by-template", message=message, place=place)]) from error
        text = text.strip("\n") + "\n"
        if unit.overrides:
            text = overlay(text, unit.overrides)
        try:
            found = differences(text, unit)
        except Malformed as error:
            message = f"{unit.file} is not what Podman and systemd read alike: {error}"
            place = self._place(unit.template, 1)
            raise Rejected([Problem(code="unit-changed-by-template", message=message, place=place)]) from error
        if found:
            raise Rejected([self._problem(one, unit) for one in found])
        return text

    def _problem(self, change: Difference | UnreadKey, unit: Unit) -> Problem:
        if isinstance(change, UnreadKey):
            return self._unread(change, unit)
        return Problem(
            code="unit-changed-by-template",
            message=f"{unit.file}: {change.key}= does not read back as what was decided",
            place=self._line_of(change.key, unit),
            notes=(f"decided: {change.decided}", f"reads back: {change.read}"),
        )

    def _unread(self, change: UnreadKey, unit: Unit) -> Problem:
        section, key = change.section, change.key
        near = quadlet_keys.nearest(section, key) or systemd_keys.nearest(section, key)
        return Problem(
            code="unsupported-key",
            message=f"{unit.file}: nobody reads {key}= in [{section}]",
            place=self._line_of(key, unit),
            hint=f"did you mean {near}=?" if near else None,
        )

    def _line_of(self, key: str, unit: Unit) -> Place:
        """The template's first line for a key, or its first line of all."""
        lines = self.templates[unit.template].text.splitlines()
        named = (number for number, line in enumerate(lines, 1) if line.partition("=")[0].strip() == key)
        return self._place(unit.template, next(named, 1))

    def _failed(self, error: Exception, template: str) -> tuple[str, int]:
        """The template and the line that failed, which may be one that `template` includes."""
        if isinstance(error, TemplateSyntaxError):
            return error.name or template, error.lineno
        found = (template, 1)
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename in self.templates:
                found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
                if isinstance(error, RecursionError):
                    break  # where it went in, not where it ran out
            trace = trace.tb_next
        return found

    def _place(self, template: str, line: int) -> Place:
        lines = self.templates[template].text.splitlines()
        shown = lines[line - 1] if line <= len(lines) else ""
        return Place(file=self.templates[template].place, line=line, column=1, length=max(1, len(shown)), text=shown)


def _said(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no template {error}"
    return str(error) or type(error).__name__
