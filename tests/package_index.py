"""One file from the Python package index: from the one that pip is set up to use, with the standard library.

pip itself would run the build of a source package only to learn its name. The page is that of PEP 503; the proxies
of the environment are used, and its certificates and pip's beside the system's.
"""

import ast
import base64
import hashlib
import ssl
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urldefrag, urljoin, urlsplit
from urllib.request import HTTPSHandler, OpenerDirector, Request, build_opener

from fetching import CannotFetch, run

STALL = 60
"""Seconds without a byte after which a connection is given up."""
LONGEST = 900
"""Seconds for one file; a mirror that needs longer is as good as none."""
PAUSES = (0, 2, 8)
"""Seconds before each try."""
PASSING = frozenset({408, 425, 429})
"""HTTP statuses below 500 that another try may change."""
AUTHORITIES = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
WHY = "pip knows where the package index is (PIP_INDEX_URL says it too)"
DEFAULT = "from pip._internal.models.index import PyPI; print(PyPI.simple_url)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """A package index: its address without the user's name and password, and how it is asked."""

    url: str
    opener: OpenerDirector
    authorization: str | None = None

    def file(self, project: str, name: str, sha256: str) -> bytes:
        """Download the file `name` of `project`. Raises `CannotFetch`, also where its digest is another."""
        page = f"{self.url.rstrip('/')}/{project}/"
        links = _links(self._read(page).decode(errors="replace"), page)
        url, fragment = next(
            (urldefrag(link) for link in links if unquote(urlsplit(link).path).rpartition("/")[2] == name), ("", "")
        )
        if not url:
            raise CannotFetch(f"the package index has no {name}")
        offered = fragment.removeprefix("sha256=").lower()
        if fragment.startswith("sha256=") and offered != sha256:
            raise CannotFetch(f"the package index offers another {name}, of SHA-256 {offered}")
        return self._read(url, sha256)

    def _read(self, url: str, sha256: str | None = None) -> bytes:
        reason = ""
        for pause in PAUSES:
            time.sleep(pause)
            try:
                data = self._bytes(url)
            except HTTPError as error:
                error.close()
                reason = f"{_shown(url)} answers {error.code} {error.reason}"
                if error.code < 500 and error.code not in PASSING:
                    break
            except (OSError, HTTPException) as error:
                told = error.reason if isinstance(error, URLError) else error
                reason = f"{_shown(url)} cannot be read: {told or type(error).__name__}"
            else:
                if sha256 is None or hashlib.sha256(data).hexdigest() == sha256:
                    return data
                reason = f"{_shown(url)} arrives damaged"
        raise CannotFetch(" ".join(reason.split()))

    def _bytes(self, url: str) -> bytes:
        if urlsplit(url).scheme not in ("http", "https"):
            raise CannotFetch(f"{_shown(url)} is neither http nor https")
        request = Request(url, headers={"Accept": "text/html"})  # noqa: S310 - the scheme is looked at above
        if self.authorization is not None and urlsplit(url).netloc == urlsplit(self.url).netloc:
            request.add_unredirected_header("Authorization", self.authorization)
        end = time.monotonic() + LONGEST
        chunks: list[bytes] = []
        with self.opener.open(request, timeout=STALL) as answer:
            while chunk := answer.read(1 << 20):
                chunks.append(chunk)
                if time.monotonic() > end:
                    raise TimeoutError(f"not complete within {LONGEST} seconds")
        return b"".join(chunks)


def configured(environment: Mapping[str, str]) -> Index:
    """The index that pip would use: $PIP_INDEX_URL, its settings, else its own default. Raises `CannotFetch`."""
    named = environment.get("PIP_INDEX_URL")
    settings = _settings() if find_spec("pip") else {}
    if not named and not find_spec("pip"):
        raise CannotFetch(f"{sys.executable} has no pip, and {WHY}")
    url = (named or settings.get("index-url") or _default()).strip()
    parts = urlsplit(url)
    authorization = None
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode('ascii')}"
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    opener = build_opener(HTTPSHandler(context=_trust([*map(environment.get, AUTHORITIES), settings.get("cert")])))
    return Index(url=bare, opener=opener, authorization=authorization)


def _default() -> str:
    """Pip's own index, which it tells nobody but itself."""
    try:
        return run([sys.executable, "-c", DEFAULT], Path.cwd(), why=WHY)
    except CannotFetch:
        raise CannotFetch("this pip does not say where its package index is: set PIP_INDEX_URL to it") from None


def _settings() -> dict[str, str]:
    """Pip's settings for a download by name; what is nearer to the user wins."""
    lines = run([sys.executable, "-m", "pip", "config", "list"], Path.cwd(), why=WHY).splitlines()
    found: dict[str, str] = {}
    for section in ("global.", "download.", ":env:."):
        for line in lines:
            key, _, value = line.partition("=")
            if key.startswith(section):
                found[key.removeprefix(section)] = str(ast.literal_eval(value))
    return found


def _trust(files: Iterable[str | None]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    for file in filter(None, files):
        path = Path(file).expanduser()
        try:
            context.load_verify_locations(**({"capath": str(path)} if path.is_dir() else {"cafile": str(path)}))
        except OSError as error:
            raise CannotFetch(f"the certificates in {file} cannot be read: {error.strerror or error}") from None
    return context


class _Page(HTMLParser):
    """Collects the links of a page."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self.base = address
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if target and tag == "base":
            self.base = urljoin(self.base, target)
        elif target and tag == "a":
            self.found.append(target)


def _links(text: str, address: str) -> list[str]:
    page = _Page(address)
    page.feed(text)
    return [urljoin(page.base, target) for target in page.found]


def _shown(url: str) -> str:
    """An address as it may be printed: without a name, a password or a query."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
