"""What both models are asked: the prompts that come with quadgen, or a file of one's own."""

import json
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from quadgen.problems import Place, Problem, Rejected

SHIPPED: Final = (
    "prose-letter", "prose-garden", "prose-summary", "code-rename", "code-bug", "code-tests", "code-shell",
    "answer-tides", "answer-sourdough", "answer-network", "extract-invoice", "extract-log", "extract-people",
    "translate-notice",
)  # fmt: skip
"""Names of `data/prompts`, in the order in which they are asked."""
_BETWEEN: Final = re.compile(r"^---[ \t]*$", re.MULTILINE)
_ENOUGH: Final = 20
"""Problems after which nobody asks what else there is."""
_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half a character, which JSON can write alone and nothing can send."""
_HINT: Final = "texts with a line --- between them, or a JSON object with `prompt` on each line"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """One of them."""

    name: str
    text: str


def shipped() -> tuple[Prompt, ...]:
    """Prose, code, answers and extraction, some of each."""
    return tuple(
        Prompt(name=name, text=(pkgutil.get_data("quadgen", f"data/prompts/{name}.txt") or b"").decode().strip())
        for name in SHIPPED
    )


def prompts(name: str, data: bytes) -> tuple[Prompt, ...]:
    """Read a file of prompts: texts between lines `---`, or JSON lines where its name ends with .jsonl.

    Each is called by its number, or by `name` or `id` of its object. Raises `Rejected` with the code
    `unreadable-prompts` for the lines that are wrong, and for a file without any.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Rejected([_wrong(name, line, "it is no UTF-8 text")]) from None
    text = text.replace("\r\n", "\n")
    found = tuple(_lines(name, text) if name.lower().endswith((".jsonl", ".ndjson")) else _texts(text))
    if not found:
        raise Rejected([_wrong(name, 1, "it holds no prompt")])
    return found


def _texts(text: str) -> Iterator[Prompt]:
    parts = filter(None, map(str.strip, _BETWEEN.split(text)))
    return (Prompt(name=str(number), text=part) for number, part in enumerate(parts, 1))


def _lines(name: str, text: str) -> list[Prompt]:
    found: list[Prompt] = []
    wrong: list[Problem] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            wrong.append(_wrong(name, number, "the line is no JSON", line))
            continue
        asked = told.get("prompt") if isinstance(told, dict) else None
        if not isinstance(asked, str) or not asked.strip() or _HALF.search(asked):
            wrong.append(_wrong(name, number, "the line is no object with a text `prompt`", line))
            continue
        called = told.get("name", told.get("id", number))
        found.append(Prompt(name=str(called) if isinstance(called, str | int) else str(number), text=asked))
    if wrong:
        more = len(wrong) - _ENOUGH
        rest = [Problem(code="unreadable-prompts", message=f"{more} more lines like these")] if more > 0 else []
        raise Rejected([*wrong[:_ENOUGH], *rest])
    return found


def _wrong(name: str, line: int, why: str, text: str = "") -> Problem:
    return Problem(
        code="unreadable-prompts",
        message=f"{name} is no file of prompts: {why}",
        place=Place(file=name, line=line, column=1, text=text[:200]),
        hint=_HINT,
    )
