"""The documents as data: what is fenced in them, the fleets that they build up, their links.

A fence begins with its language and what it is. `yaml fleet` is a whole fleet.yml, and `yaml more` is laid over the
one above it as `defaults` is under a host; both name the codes that they are reported with, and none where they are
fine. `yaml fixed` is laid over it too, but nothing after it is laid over that. `yaml ledger` is measurements/own.yml
beside the fleet, `yaml lock` is models.lock.yml there up to the end of its section, `yaml row` a part of a ledger,
`yaml play` is Ansible's, `yaml gitops FILE` is like that file of examples/gitops. `sh CODE` is run, and reports that
code. `text NAME.log` is a file of that name beside it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from fleets import problems
from quadgen.document import Real, Whole, load
from quadgen.evidence import read_ledger
from quadgen.problems import Collector, Problem, Rejected
from source import ROOT

LEDGER = "measurements/own.yml"
LOCK = "models.lock.yml"
MADE = re.compile(r"(?P<head><!-- made: (?P<order>[^\n]+) -->\n)(?P<shown>.*?)(?P<foot><!-- end -->)", re.DOTALL)
"""A block that a program writes; see blocks.py."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]\n]+\]\((?P<target>[^)\s]+)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What a page has built up to some point of it."""

    text: str | None = None
    """The fleet file as it stands in the page, so that places in it are true; None after a `yaml more`."""
    data: Any = None
    ledger: str | None = None
    lock: str | None = None
    texts: tuple[tuple[str, str], ...] = ()
    """Other files, by name."""

    @property
    def has_fleet(self) -> bool:
        """Whether there is a fleet file at all."""
        return bool(self.text or self.data)

    @property
    def fleet(self) -> str:
        """The fleet file that it comes to."""
        return self.text or written(self.data)

    @property
    def files(self) -> dict[str, str]:
        """What stands beside it."""
        beside = {LEDGER: self.ledger, LOCK: self.lock}
        return {name: text for name, text in beside.items() if text} | dict(self.texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """One fenced block, and what stands above it in its page."""

    page: str
    line: int
    language: str
    words: tuple[str, ...]
    text: str
    above: Stand

    @property
    def place(self) -> str:
        """Where it is, as an editor can follow it."""
        return f"{self.page}:{self.line}"

    @property
    def is_file(self) -> bool:
        """Whether it is a text that stands beside the fleet."""
        return self.language == "text" and len(self.words) == 1 and "." in self.words[0]

    @property
    def stand(self) -> Stand:
        """What stands with it; of a fleet that is refused, only to look at it."""
        if self.is_file:
            return replace(self.above, texts=(*self.above.texts, (self.words[0], self.text)))
        kind = self.words[0] if self.language == "yaml" and self.words else None
        if kind == "ledger":
            named = {"measurements": [LEDGER]}
            return Stand(data=self.above.data and lay(self.above.data, named), ledger=self.text)
        if kind == "fleet":
            return replace(self.above, text=self.text, data=_data(self.text))
        if kind == "lock":
            return replace(self.above, lock=self.text)
        if kind in {"more", "fixed"}:
            return replace(self.above, text=None, data=lay(self.above.data, _data(self.text)))
        return self.above


def pages() -> list[str]:
    """The documents of the repository, relative to its root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def read(page: str) -> str:
    """The text of a document."""
    return (ROOT / page).read_text(encoding="utf-8")


def fences(page: str) -> Iterator[Fence]:
    """Every fence of a page, in order. What a fleet that is not fine says does not stand for those below it."""
    stand = Stand()
    text = read(page)
    end = 0
    for found in _FENCE.finditer(text):
        if "\n## " in text[end : found.start()]:
            stand = replace(stand, lock=None)
        end = found.end()
        language, *words = found["info"].split() or [""]
        line = text.count("\n", 0, found.start()) + 1
        fence = Fence(page=page, line=line, language=language, words=tuple(words), text=found["text"], above=stand)
        yield fence
        if fence.is_file or words in (["fleet"], ["more"], ["ledger"], ["lock"]):
            stand = fence.stand


def written(data: Any) -> str:
    """A fleet as JSON, which is YAML. Raises `ValueError` where a number would lose its spelling by that."""
    return json.dumps(_plain(data), ensure_ascii=False)


def lay(below: Any, above: Any) -> Any:
    """What a file holds with other data laid over it, key by key."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    return below | {key: lay(below.get(key), value) for key, value in above.items()}


def _data(text: str) -> Any:
    """What a file holds; None where it is no YAML."""
    try:
        return load("a fence", text.encode()).data
    except Rejected:
        return None


def _plain(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    if isinstance(data, Real | Whole) and json.dumps(data) != data.text:
        raise ValueError(f"quote {data.text}: a fragment is laid over a fleet as JSON")
    return data


def said(stand: Stand) -> list[Problem]:
    """Everything that is reported of a fleet with its ledger beside it, or of a ledger without a fleet."""
    if stand.data or stand.text:
        return problems(stand.fleet, stand.files)
    collector = Collector()
    read_ledger(LEDGER, _data(stand.ledger or ""), shipped=False, collector=collector)
    return collector.problems


def stand_at(page: str, line: int) -> Stand:
    """What the last fleet above a line says, fine or not."""
    before = [fence for fence in fences(page) if (fence.language == "yaml" or fence.is_file) and fence.line < line]
    return before[-1].stand if before else Stand()


def prose(page: str) -> str:
    """A page without its fences and made blocks."""
    return _FENCE.sub("", MADE.sub("", read(page)))


def links(page: str) -> Iterator[str]:
    """The targets of a page's links."""
    for found in _LINK.finditer(prose(page)):
        yield found["target"]
