"""libyaml's complaints in the words of someone who edits a fleet.

libyaml names grammar rules; the table names what was probably typed. Its keys are libyaml's own sentences
(https://github.com/yaml/libyaml, src/scanner.c and src/parser.c); one that is not in it is passed on.
"""

import re
from dataclasses import dataclass

from yaml.error import MarkedYAMLError

from quadgen.document.spans import at, rest_of_line, show
from quadgen.problems import Problem

_TABS = (
    "found a tab character that violates indentation",
    "found a tab character where an indentation space is expected",
)
_UNCLOSED = {
    "did not find expected ',' or ']'": "[",
    "did not find expected ',' or '}'": "{{",
}
_HIGH_ESCAPE = re.compile(r"%[89A-Fa-f][0-9A-Fa-f]")
_QUOTE_IT = "put the value in quotes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sentence:
    """`{line}` is where the enclosing thing begins; `{char}`, `{escape}` and `{text}` stand at the place."""

    message: str
    hint: str | None = None
    at_start: bool = False
    """Whether the enclosing thing's start is the better place than where libyaml noticed."""


_SENTENCES = {
    "found character that cannot start any token": _Sentence(message="{char} cannot begin a value", hint=_QUOTE_IT),
    "mapping values are not allowed in this context": _Sentence(
        message="this `:` begins a mapping where none can begin",
        hint="line up the keys of a mapping, put a space after each `:`, and quote a value that holds `: `",
    ),
    "could not find expected ':'": _Sentence(
        message="{text} is no key: no `: ` follows it",
        hint="a key is followed by a colon and a space, a list item follows a dash and a space",
        at_start=True,
    ),
    "did not find expected key": _Sentence(
        message="this does not belong to the mapping that begins on line {line}",
        hint="line up the mapping's keys; nothing can follow a closing quote or bracket",
    ),
    "did not find expected '-' indicator": _Sentence(
        message="this does not belong to the list that begins on line {line}",
        hint="line up the dashes of the list",
    ),
    "did not find expected ',' or ']'": _Sentence(
        message="a `,` or `]` is missing before this; the list opens on line {line}"
    ),
    "did not find expected ',' or '}'": _Sentence(
        message="a `,` or `}}` is missing before this; the mapping opens on line {line}"
    ),
    "found unexpected end of stream": _Sentence(message="this quote is never closed", at_start=True),
    "found unexpected document indicator": _Sentence(
        message="{text} ends the document inside the quotes that open on line {line}",
        hint="close the quotes, or indent the line",
    ),
    "found unknown escape character": _Sentence(
        message="{escape} is no escape of double-quoted text",
        hint="write `\\\\` for a backslash, or use single quotes",
    ),
    "did not find expected hexdecimal number": _Sentence(
        message="this escape lacks hexadecimal digits",
        hint="write `\\\\` for a backslash, or use single quotes",
    ),
    "found invalid Unicode character escape code": _Sentence(
        message="this escape is the code of no character",
        hint="write `\\\\` for a backslash, or use single quotes",
    ),
    "block sequence entries are not allowed in this context": _Sentence(
        message="a list cannot begin here", hint="put each `- ` on its own line below the key"
    ),
    "mapping keys are not allowed in this context": _Sentence(message="`? ` cannot begin a key here", hint=_QUOTE_IT),
    "did not find expected alphabetic or numeric character": _Sentence(
        message="{char} begins an anchor or an alias, and no name follows it", hint=_QUOTE_IT, at_start=True
    ),
    "did not find expected node content": _Sentence(message="a value is missing before {char}"),
    "did not find expected <document start>": _Sentence(
        message="the document has ended before this", hint="begin all top-level keys in the same column"
    ),
    "did not find expected comment or line break": _Sentence(message="nothing but a comment can follow on this line"),
    "found an indentation indicator equal to 0": _Sentence(message="a block is indented by 1 to 9 spaces, not by 0"),
    "found undefined tag handle": _Sentence(message="{text} begins with a tag that is not known", hint=_QUOTE_IT),
    "found unexpected ':'": _Sentence(message="this `:` cannot stand here", hint=_QUOTE_IT),
    "found unknown directive name": _Sentence(
        message="a `%` at the start of a line begins a directive", hint=_QUOTE_IT, at_start=True
    ),
    "found incompatible YAML document": _Sentence(message="only YAML 1.1 and 1.2 are read"),
}


def explain(error: MarkedYAMLError, file: str, text: str) -> Problem:
    """Return libyaml's complaint about a text as a `yaml-syntax` problem with its place."""
    complaint = error.problem or ""
    end = max(0, len(text.rstrip()) - 1)
    noticed = error.problem_mark.index if error.problem_mark else end
    start, line = (error.context_mark.index, error.context_mark.line) if error.context_mark else (noticed, 0)
    if complaint in _TABS or text[noticed : noticed + 1] == "\t":
        sentence = _Sentence(message="a tab cannot indent YAML", hint="use spaces")
    elif "nesting" in complaint:  # the wording differs from release to release
        sentence = _Sentence(message="this is nested too deep")
    elif noticed > end and complaint in _UNCLOSED:
        sentence = _Sentence(message=f"this `{_UNCLOSED[complaint]}` is never closed", at_start=True)
    elif noticed > end and complaint == "did not find expected node content":
        sentence = _Sentence(message="the file ends where a value should stand")
    else:
        sentence = _SENTENCES.get(complaint, _Sentence(message="this is no YAML: {complaint}"))
    offset = min(start if sentence.at_start else noticed, end)
    message = sentence.message.format(
        char=show(text[offset : offset + 1]),
        escape=show(text[offset : offset + 2]),
        text=show(rest_of_line(text, offset)),
        line=line + 1,
        complaint=complaint,
    )
    return Problem(code="yaml-syntax", message=message, hint=sentence.hint, file=file, place=at(file, text, offset))


def explain_tag(file: str, text: str) -> Problem:
    """Return the problem of a tag whose `%` escapes are not UTF-8, which libyaml lets pass."""
    found = _HIGH_ESCAPE.search(text)
    return Problem(
        code="yaml-syntax",
        message="the `%` escapes of this tag are not UTF-8",
        hint=_QUOTE_IT,
        file=file,
        place=at(file, text, found.start() if found else 0),
    )
