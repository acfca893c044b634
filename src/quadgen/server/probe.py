"""Asking a live halogen for a drafter: a name that it does not have is refused in its own words, never replaced.

Ground: `"drafter"` of a request in docs/FLAGS.md, and /health as the account of what a build supports in README.md, of
https://github.com/peonist-ai/halogen-flash-server. A llama-server passes over fields that it does not know, so that a
request which it takes proves nothing; it is not sent one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final

from quadgen.server.client import Server
from quadgen.server.failures import NoAnswer, quoted

_ASKED: Final = "/v1/chat/completions"
_PATIENCE: Final = 60.0
"""Seconds for one token: a server that is busy answers only then."""
_LONGEST: Final = 12
"""Names of a list that are shown."""


class Reply(StrEnum):
    """What came of it."""

    REFUSED = "refused"
    """The server does not have this drafter."""
    TAKEN = "taken"
    """It has one of this name of its own."""
    NO_PROOF = "no-proof"
    """It is no halogen, or does not say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """The answer of one server."""

    drafter: str
    reply: Reply
    sentence: str
    """Without its end."""
    words: str | None = None
    """The server's own, where it refused."""
    available: tuple[str, ...] | None = None
    """The drafters that it has, by its /health; None where it does not say."""
    default: str | None = None
    """Which of them a request gets that names none."""
    version: str | None = None
    """Of its engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Halogen:
    available: tuple[str, ...]
    default: str | None
    version: str | None

    @property
    def called(self) -> str:
        return f"halogen {self.version}" if self.version else "halogen"

    @property
    def has(self) -> str:
        return f"it has {' and '.join(self.available) or 'none'}"


def probe(server: Server, drafter: str) -> Probed:
    """Ask for one token by this drafter. Raises `NoAnswer` where that cannot be asked, such as for want of a key."""
    halogen = _halogen(server.get("/health"))
    if halogen is None:
        return Probed(drafter=drafter, reply=Reply.NO_PROOF, sentence=f"{_other(server)}, so it was not asked")
    body = {
        "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "temperature": 0, "stream": False,
        "drafter": drafter,
    }  # fmt: skip
    try:
        server.post(_ASKED, body, timeout=max(server.timeout, _PATIENCE))
    except NoAnswer as failure:
        words = failure.reason.partition(": ")[2]
        if failure.status != HTTPStatus.BAD_REQUEST or "drafter" not in words.lower():
            raise
        sentence = f"{halogen.called} refuses {quoted(drafter)}: {words}; {halogen.has}, and nothing can be attached"
        reply = Reply.REFUSED
    else:
        sentence = f"{halogen.called} drafts with {quoted(drafter)} of its own; nothing else can be attached to it"
        if drafter.lower() not in halogen.available:
            sentence += f", and by its /health {halogen.has} alone"
        reply, words = Reply.TAKEN, ""
    return Probed(
        drafter=drafter, reply=reply, sentence=sentence, words=words or None, available=halogen.available,
        default=halogen.default, version=halogen.version,
    )  # fmt: skip


def _halogen(health: Any) -> _Halogen | None:  # noqa: ANN401 - what a server answers
    """What /health says, where it is halogen's: only that lists the drafters that a request can name."""
    names = health.get("drafters_available") if isinstance(health, Mapping) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    default, version = health.get("drafter_default"), health.get("version")
    engine = version.get("engine") if isinstance(version, Mapping) else None
    return _Halogen(
        available=tuple(quoted(name) for name in names[:_LONGEST]),
        default=quoted(default) if isinstance(default, str) else None,
        version=quoted(engine) if isinstance(engine, str) else None,
    )


def _other(server: Server) -> str:
    """What it is instead."""
    status, answer = server.ask("/props")
    build = answer.get("build_info") if status == HTTPStatus.OK and isinstance(answer, Mapping) else None
    if isinstance(build, str):
        return f"{server.url} is a llama-server ({quoted(build)}), which takes any name and proves nothing by it"
    return f"{server.url} is no halogen: its /health lists no drafters"
