"""Why a server gave no answer, or not the one that was asked for, and what to do about it.

Wordings of llama-server: tools/server/server-http.cpp, server-context.cpp and server-models.cpp of b11434
(https://github.com/ggml-org/llama.cpp).
"""

import json
import re
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx

from quadgen.problems import Unavailable
from quadgen.remote.failures import chain_of, failure, status_words

KEY: Final = "--api-key-file FILE, or the variable LLAMA_API_KEY"
_LONGEST: Final = 200
"""Characters of a server's own words that are quoted."""
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]+")
"""Controls, and what turns or hides text: a terminal obeys them."""
_STREAK: Final = re.compile(r"\s+")


class NoAnswer(Unavailable):
    """A server did not answer, or refused. `str` says what was asked, why it failed and what to do."""

    def __init__(self, asked: str, reason: str, status: int | None = None) -> None:
        super().__init__(f"cannot ask {asked}: {reason}")
        self.status = status
        """Its HTTP status; None where it sent none."""
        self.reason = reason
        """The same without what was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a failure is an answer to."""

    base: str
    """The server's address without anything secret."""
    netloc: str
    """Its host and port."""
    path: str
    """`/metrics`."""
    key: bool = False
    """Whether an API key was sent."""
    user: bool = False
    """Whether a user and a password were."""
    model: str | None = None

    def failed(self, reason: str, status: int | None = None) -> NoAnswer:
        """The exception for it."""
        return NoAnswer(f"{self.base}{self.path}", reason, status)


def quoted(text: str) -> str:
    """Words of a server as they may be shown: one line of bounded length, without controls."""
    plain = _STREAK.sub(" ", _UNSEEN.sub(" ", text[: 4 * _LONGEST])).strip()
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST].rstrip()}…"


def unreachable(error: Exception, asked: Asked) -> NoAnswer:
    """Say why there was no answer at all. Takes what httpx raises, and `OSError`."""
    where = asked.netloc
    for cause in chain_of(error):
        match cause:
            case ConnectionRefusedError():
                why = f"nothing listens at {where}: is the server running, and is this its port?"
                return asked.failed(why)
            case ssl.SSLCertVerificationError():
                pass
            case ssl.SSLError() if asked.base.startswith("https:"):
                why = f"no secure connection to {where}: {cause.reason or 'it broke off'}"
                return asked.failed(f"{why}; does it speak http:// there?")
            case _:
                pass
    reason = str(failure(error, where))
    if isinstance(error, httpx.ConnectTimeout):
        reason = f"{where} cannot be reached: no connection in time"
    elif isinstance(error, httpx.TimeoutException):
        reason += ": it may be busy, or asleep and loading its model"
    elif isinstance(error, httpx.RemoteProtocolError) and asked.base.startswith("http:"):
        reason += "; is https:// meant?"
    return asked.failed(reason)


def message(body: str) -> str | None:
    """The words of an error as llama-server and OpenAI's API send them, fit to be shown; None where there are none."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return said(answer)


def said(answer: object) -> str | None:
    """The same of a decoded body."""
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    words = error.get("message", error.get("detail")) if isinstance(error, dict) else error
    return quoted(words) or None if isinstance(words, str) else None


def is_page(body: str) -> bool:
    """Whether it is a page for people rather than an answer for programs."""
    return body.lstrip("\ufeff \t\r\n")[:9].lower().startswith(("<!doctype", "<html", "<head", "<?xml"))


def refused(status: int, body: str, asked: Asked) -> NoAnswer:
    """Say what a status other than 200 means."""
    return asked.failed(_refusal(status, message(body), is_page(body), asked), status)


def _refusal(status: int, words: str | None, page: bool, asked: Asked) -> str:  # noqa: FBT001 - it is the table's row
    own = f": {words}" if words else ""
    match status:
        case 401 | 403:
            return _locked(status, own, asked)
        case 400 if words and "model" in words:
            return _of_router(words, asked)
        case 404:
            prefix = "or stands behind a prefix (--api-prefix), which belongs into the address"
            return f"there is no {asked.path} at this address (404): it is no llama-server, an older one, {prefix}"
        case 501:
            return _switched_off(asked.path, own)
        case 502 | 503 | 504:
            return _not_now(status, words, page, own)
        case 429:
            return f"it limits how often it is asked (429){own}: ask again later"
        case _ if 300 <= status < 400:  # noqa: PLR2004 - the redirects
            return f"it redirects elsewhere ({status}): give the address where it is"
    return f"it answers {status_words(status)}{own}"


def _locked(status: int, own: str, asked: Asked) -> str:
    if asked.key and asked.user:
        proxy = (
            "a proxy that takes user and password must not hand them on (Authorization), or llama-server sees no key"
        )
        return f"it does not accept this API key, or this user ({status}): {proxy}"
    if asked.key:
        return f"it does not accept this API key ({status})"
    if status == HTTPStatus.UNAUTHORIZED:
        return f"it wants an API key (401): give it by {KEY}"
    return f"it refuses access (403){own}; if it wants an API key, give it by {KEY}"


def _not_now(status: int, words: str | None, page: bool, own: str) -> str:  # noqa: FBT001 - as above
    if words and "loading" in words.lower():
        return "it is still loading its model (503): ask again in a while"
    if page or words is None:
        return f"what stands before the server answers {status_words(status)}: is the server itself running?"
    return f"it answers {status_words(status)}{own}"


def _of_router(words: str, asked: Asked) -> str:
    """A router runs a server for each model. router_validate_model has these three wordings."""
    if asked.model is None and "missing" in words:
        return "it is a router of several models (400): say which with --model NAME; /v1/models lists them"
    if "not loaded" in words:
        return "the router has not loaded this model (400), and asking does not load it: send it a request first"
    return f"it answers 400 Bad Request: {words}"


def _switched_off(path: str, own: str) -> str:
    switches = {"/metrics": "with --metrics", "/slots": "without --no-slots", "/props": "with --props"}
    if path in switches:
        return f"{path} is switched off (501): start the server {switches[path]}"
    return f"it does not support {path} (501){own}"
