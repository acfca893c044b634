"""Why a server gave nothing: httpx's exceptions and HTTP's statuses, in the words of someone who wants a file.

Nothing of what a server or an exception says is passed on but numbers and the names of errors: the rest can hold what
was sent.
"""

import email.utils
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

import httpx

from quadgen.remote.names import InHub

_PASSING: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that the same request may not meet a moment later."""
_RESET: Final = re.compile(r"\bt=(\d+)", re.ASCII)


class Failed(Exception):  # noqa: N818 - a step of this package that may be tried again, no fault of the program
    """One try failed. `str` of it completes "cannot read NAME: "."""

    def __init__(self, reason: str, *, passing: bool, wait: float | None = None) -> None:
        super().__init__(reason)
        self.passing = passing
        """Whether another try may succeed."""
        self.wait = wait
        """Seconds after which the server says that it may; None where it says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a status is an answer to."""

    host: str
    """With its port, where that is not the usual one."""
    hub: str | None
    """The hub's address, where the first request went to it."""
    file: InHub | None
    """What was asked of the hub, as far as the address says it."""
    token: bool
    """Whether there is a token for the hub."""
    credentials: bool
    """Whether the address had a user name."""


def failure(error: Exception, host: str) -> Failed:
    """Say why a request had no answer, or an answer no end. Takes what httpx raises, and `OSError`."""
    chain = tuple(chain_of(error))
    for cause in chain:
        match cause:
            case ssl.SSLCertVerificationError():
                why = f"the certificate of {host} is not trusted: {cause.verify_message}"
                return Failed(f"{why}; SSL_CERT_FILE names other authorities", passing=False)
            case ssl.SSLError():
                return Failed(f"no secure connection to {host}: {cause.reason or 'it broke off'}", passing=False)
            case socket.gaierror():
                return Failed(f"there is no address for {host}: {cause.strerror}", passing=False)
            case _:
                pass
    if isinstance(error, httpx.ProxyError):
        status = re.match(r"\d{3}", str(error))
        return Failed(f"the proxy connects to no {host}{f': {status[0]}' if status else ''}", passing=False)
    if isinstance(error, httpx.TimeoutException):
        return Failed(f"{host} does not answer in time", passing=True)
    said = next((cause.strerror for cause in chain if isinstance(cause, OSError) and cause.strerror), None)
    why = f": {said}" if said else ""
    if isinstance(error, httpx.ConnectError):
        return Failed(f"cannot connect to {host}{why}", passing=False)
    if isinstance(error, httpx.RemoteProtocolError):
        return Failed(f"{host} ends its answer too early, or does not speak HTTP", passing=True)
    return Failed(f"the connection to {host} broke{why}", passing=isinstance(error, httpx.NetworkError))


def chain_of(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what led to it; bounded, since chains can be circular."""
    for _ in range(20):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def refused(status: int, headers: Mapping[str, str], asked: Asked) -> Failed:
    """Say what a status other than 2xx, 3xx and 416 means."""
    wait = _wait(headers)
    if asked.hub is None:
        reason = _plain(status, wait, asked)
    else:
        reason = _hub(status, headers.get("x-error-code"), wait, asked, asked.hub)
    return Failed(reason, passing=status in _PASSING, wait=wait)


def _plain(status: int, wait: float | None, asked: Asked) -> str:
    match status:
        case 401 if asked.credentials:
            return f"{asked.host} does not accept the user and password of the address (401)"
        case 401:
            return f"{asked.host} wants to know who asks (401)"
        case 403:
            return f"{asked.host} refuses access (403)"
        case 404 | 410:
            return f"{asked.host} has no such file ({status})"
        case 407:
            return "the proxy wants a user and a password (407)"
        case 429:
            return f"{asked.host} limits how often it is asked (429): {_later(wait)}"
    return f"{asked.host} answers {status_words(status)}"


def _hub(status: int, code: str | None, wait: float | None, asked: Asked, hub: str) -> str:
    """Its codes are those that huggingface_hub tells apart (utils/_http.py, hf_raise_for_status)."""
    repo, token = (asked.file.repo if asked.file else "the repository"), asked.token
    page = f"{hub}/{repo}" if asked.file else "the page of the model"
    match status, code:
        case ((401 | 403), "GatedRepo"):
            then = "" if token else ", and set HF_TOKEN"
            return f"access to {repo} is not granted ({status}): accept its terms at {page}{then}"
        case 401, _ if token:
            return f"{asked.host} does not accept the token in HF_TOKEN (401)"
        case 401, _:
            return f"{repo} is private or does not exist (401): set HF_TOKEN to a token that may read it"
        case 403, _ if token:
            return f"access to {repo} is not granted to the token in HF_TOKEN (403): ask for it at {page}"
        case 403, _:
            return f"access to {repo} is not granted (403): ask for it at {page}, and set HF_TOKEN"
        case 404, _:
            return _absent(code, asked)
        case 429, _:
            more = "" if token else ", or set HF_TOKEN, which raises the limit"
            return f"{asked.host} limits how often it is asked (429): {_later(wait)}{more}"
    return _plain(status, wait, asked)


def _absent(code: str | None, asked: Asked) -> str:
    file = asked.file
    if file is None:
        return f"{asked.host} has no such file (404)"
    match code:
        case "EntryNotFound" if file.path:
            return f"{file.repo} has no {file.path} at {file.revision} (404)"
        case "RevisionNotFound":
            return f"{file.repo} has no revision {file.revision} (404)"
        case "RepoNotFound":
            hidden = "the token in HF_TOKEN may not see it" if asked.token else "it is private"
            return f"there is no {file.repo}, or {hidden} (404)"
    return f"there is no such repository, revision or file on {asked.host} (404)"


def status_words(status: int) -> str:
    """A status with its phrase, where it has one."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _later(wait: float | None) -> str:
    return "try again later" if wait is None else f"try again in {wait:.0f} seconds"


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds until the server wants to be asked again: Retry-After in both forms, or the hub's RateLimit."""
    said = headers.get("retry-after", "").strip()
    if said.isascii() and said.isdecimal() and len(said) < 10:  # noqa: PLR2004 - 30 years are long enough
        return float(said)
    if said:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
        except (ValueError, OverflowError):
            return None
    found = _RESET.search(headers.get("ratelimit", ""))
    return float(found[1][:9]) if found else None
