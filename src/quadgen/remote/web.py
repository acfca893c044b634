"""Requests: who may see which credentials, redirects, second tries, and how much is read at most."""

import base64
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Self
from urllib.parse import unquote

import httpx

from quadgen import __version__
from quadgen.problems import Unavailable
from quadgen.remote.failures import Asked, Failed, failure, refused
from quadgen.remote.names import HUB, asked_of_hub, endpoint, shown

MOST: Final = 64 * 2**20
"""Bytes that are read in all: of the headers that are known, the largest has a quarter."""
TRIES: Final = 3
PATIENCE: Final = 5.0
"""Seconds that a server may ask to be left alone before another try."""
FIRST_PAUSE: Final = 0.5
TIMES: Final = httpx.Timeout(30.0, connect=10.0)
"""Seconds without a byte, and until there is a connection."""
_HOPS: Final = 10
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_SMALL: Final = 2**16
"""Bytes of a redirect's body that are read so that the connection can be used again."""
_TOKEN: Final = re.compile(r"[!-~]+")
_GONE: Final = frozenset({401, 403, 404, 410})
"""What the target of a redirect answers when it was for a limited time."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Spot:
    """Where a file is, and what may be sent there. Has no repr, since each of the three can be secret."""

    url: httpx.URL
    """Without user and password."""
    basic: str | None
    """Those, as the header has them."""
    hub: bool
    """Whether it is the hub's, and only the hub led to it."""
    origin: "Spot | None" = None
    """What was asked first, where a redirect led here."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answer:
    """An answer whose body is still to be read: 200, 206, another 2xx, or 416."""

    response: httpx.Response
    spot: Spot
    """Where it came from in the end."""


@dataclass(slots=True, repr=False)
class Web:
    """A client for the time of one file with all its shards. Close it, or use it in a `with`."""

    environ: Mapping[str, str]
    left: int = MOST
    """Bytes that may still be read."""
    hub: str = field(init=False)
    _home: tuple[tuple[str, str, int | None], ...] = field(init=False)
    _token: str | None = field(init=False)
    _client: httpx.Client = field(init=False)

    def __post_init__(self) -> None:
        self.hub = endpoint(self.environ)
        base = _parsed(self.hub)
        if base is None or base.userinfo or base.query:
            raise Unavailable("MODEL_ENDPOINT or HF_ENDPOINT is no http or https address of a hub")
        self._home = (_origin(base), _origin(httpx.URL(HUB)))
        self._token = self.environ.get("HF_TOKEN", "").strip() or None
        if self._token is not None and not _TOKEN.fullmatch(self._token):
            raise Unavailable("HF_TOKEN holds characters that no token has")
        headers = {"User-Agent": f"quadgen/{__version__}", "Accept-Encoding": "identity", "Accept": "*/*"}
        wrong = None
        try:
            self._client = httpx.Client(headers=headers, timeout=TIMES, follow_redirects=False)
        except (ValueError, ImportError, httpx.InvalidURL):
            wrong = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names a proxy that quadgen cannot use"
        except OSError:
            wrong = "the file of certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used"
        if wrong is not None:  # outside of the handler, whose exception would go along with what the variables hold
            raise Unavailable(wrong)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def spot(self, name: str) -> Spot:
        """Read an address. Raises `Unavailable` where it is none."""
        url = _parsed(name)
        if url is None:
            raise Unavailable(f"{shown(name)} is no address of a file")
        user, _, password = url.userinfo.decode("ascii", "replace").partition(":")
        pair = f"{unquote(user)}:{unquote(password)}".encode()
        basic = f"Basic {base64.b64encode(pair).decode()}" if user or password else None
        return Spot(url=url.copy_with(userinfo=b"", fragment=None), basic=basic, hub=self.is_hub(url))

    def is_hub(self, url: httpx.URL) -> bool:
        """Whether an address is on the hub's own host, which may see the token."""
        return _origin(url) in self._home

    def path(self, url: httpx.URL) -> str:
        """Return the path of an address of the hub, below where the hub begins; escapes as they were written."""
        whole = url.raw_path.decode("ascii").partition("?")[0]
        return whole.removeprefix(httpx.URL(self.base(url)).raw_path.decode("ascii").rstrip("/"))

    def base(self, url: httpx.URL) -> str:
        """Return the address of the hub that an address belongs to."""
        return self.hub if _origin(url) == self._home[0] else HUB

    def ask(self, spot: Spot, name: str, headers: Mapping[str, str] = MappingProxyType({})) -> Answer:
        """Send one GET, follow where it leads, try again what may pass. Raises `Unavailable`."""
        stumbles = 0
        while True:
            try:
                answer = self._once(spot, headers)
            except Failed as failed:
                stumbles += 1
                self.pause(failed, stumbles, name)
                continue
            if answer is not None:
                return answer
            spot = spot.origin or spot

    def pause(self, failed: Failed, stumbles: int, name: str) -> None:
        """Wait before the next try. Raises `Unavailable` where another would be in vain, or one too many."""
        wait = FIRST_PAUSE * 2 ** (stumbles - 1) if failed.wait is None else failed.wait
        if not failed.passing or stumbles >= TRIES or wait > PATIENCE:
            raise Unavailable(f"cannot read {name}: {failed}") from None
        time.sleep(wait)

    def _once(self, spot: Spot, headers: Mapping[str, str]) -> Answer | None:
        """One try. None where an address that a redirect once gave is no good any more: ask the first again."""
        first = spot.origin or spot
        here = spot
        for _ in range(_HOPS + 1):
            response = self._sent(here, headers)
            status = response.status_code
            if status in _REDIRECTS and "location" in response.headers:
                try:
                    target = _target(here, response.headers["location"])
                finally:
                    _finish(response)
                same = _origin(target) == _origin(here.url)
                here = Spot(
                    url=target, basic=here.basic if same else None, hub=here.hub and self.is_hub(target), origin=first
                )
                continue
            if response.is_success or status == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return Answer(response=response, spot=here)
            response.close()
            if here is spot and spot.origin is not None and status in _GONE:
                return None
            raise refused(status, response.headers, self._asked(first, here))
        raise Failed(f"{_host(first.url)} redirects more than {_HOPS} times", passing=False)

    def _asked(self, first: Spot, here: Spot) -> Asked:
        inside = first.hub and here.hub
        return Asked(
            host=_host(here.url),
            hub=self.base(first.url) if inside else None,
            file=asked_of_hub(self.path(first.url)) if inside else None,
            token=self._token is not None,
            credentials=here.basic is not None,
        )

    def _sent(self, spot: Spot, headers: Mapping[str, str]) -> httpx.Response:
        sent = dict(headers)
        if spot.basic is not None:
            sent["Authorization"] = spot.basic
        elif spot.hub and self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        failed: Failed
        try:
            return self._client.send(self._client.build_request("GET", spot.url, headers=sent), stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            failed = failure(error, _host(spot.url))
        raise failed  # outside of the handler: what httpx raises holds the request, and so the token


def _parsed(name: str) -> httpx.URL | None:
    try:
        url = httpx.URL(name)
    except (httpx.InvalidURL, UnicodeError):
        return None
    return url if _is_on_the_web(url) else None


def _is_on_the_web(url: httpx.URL) -> bool:
    host = url.host  # httpx makes %20 of a blank in it; an IPv6 address can have a zone
    named = bool(host) and ("%" not in host or ":" in host)
    return url.scheme in {"http", "https"} and named and (url.port or 0) < 2**16


def _target(here: Spot, location: str) -> httpx.URL:
    host = _host(here.url)
    try:
        target = here.url.join(location)
    except (httpx.InvalidURL, UnicodeError):
        target = httpx.URL()
    if not _is_on_the_web(target):
        raise Failed(f"{host} redirects to something that is no address on the web", passing=False)
    if here.url.scheme == "https" and target.scheme == "http":
        raise Failed(f"{host} redirects to {_host(target)} without encryption (http)", passing=False)
    return target.copy_with(userinfo=b"", fragment=None)


def _finish(response: httpx.Response) -> None:
    """Let the connection be used again, where that costs little."""
    length = response.headers.get("content-length", "")
    try:
        if length.isdecimal() and int(length) <= _SMALL:
            for _ in response.iter_raw():
                pass
    except (httpx.HTTPError, OSError):
        return
    finally:
        response.close()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host.lower(), url.port  # httpx drops the port that is the scheme's own


def _host(url: httpx.URL) -> str:
    return url.netloc.decode("ascii")
