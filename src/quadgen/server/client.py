"""Asking a running server: JSON and text, within bounds of time and size.

What a GET asks of a router loads no model (`autoload=false`, tools/server/server-models.cpp of llama.cpp b11434); a
POST loads what it names, as for any client. Redirects are not followed: a key would go along.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from quadgen import __version__
from quadgen.problems import Unavailable
from quadgen.server.address import Address, address
from quadgen.server.coming import Coming
from quadgen.server.failures import Asked, NoAnswer, is_page, quoted, refused, said, unreachable
from quadgen.server.patience import Patience

CONNECT: Final = 10.0
"""Seconds until there is a connection, at most."""
_KEY: Final = re.compile(r"[!-~]+")
_HALF: Final = re.compile(r"[\ud800-\udfff]")
"""Half a character: what is no UTF-8 on a command line."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Server:
    """A server that is asked. Has no repr: the client's headers can hold a key."""

    address: Address
    model: str | None
    timeout: float
    """Seconds until an answer is there, whole."""
    _client: httpx.Client
    _headers: Mapping[str, str] = field(default_factory=dict)
    _key: bool = False

    @property
    def url(self) -> str:
        """Its address, without anything secret."""
        return self.address.base

    def text(self, path: str) -> str:
        """GET. Raises `NoAnswer` unless the status is 200."""
        return self.told(path)[0]

    def told(self, path: str) -> tuple[str, Mapping[str, str]]:
        """GET, with the headers of the answer, whose names may be asked for in any case. Raises as `text` does."""
        asked = self._asked(path)
        with self._sent("GET", path, None, self.timeout) as coming:
            body = coming.text()
            if coming.status != httpx.codes.OK:
                raise refused(coming.status, body, asked)
            return body, coming.headers

    def get(self, path: str) -> Any:  # noqa: ANN401 - what JSON holds
        """GET, as JSON. Raises `NoAnswer` unless the status is 200 and the body is that."""
        return _decoded(self.text(path), self._asked(path))

    def post(self, path: str, body: Mapping[str, Any], *, timeout: float | None = None) -> Any:  # noqa: ANN401 - as above
        """POST JSON, and return JSON. Raises `NoAnswer` as `get` does."""
        asked = self._asked(path)
        status, text = self._whole("POST", path, body, timeout or self.timeout)
        if status != httpx.codes.OK:
            raise refused(status, text, asked)
        return _decoded(text, asked)

    def ask(self, path: str, body: Mapping[str, Any] | None = None) -> tuple[int, Any]:
        """Return status and body whatever they are: JSON, or text where it is none. Raises `NoAnswer` without any."""
        status, text = self._whole("GET" if body is None else "POST", path, body, self.timeout)
        with suppress(ValueError, RecursionError):
            return status, json.loads(text)
        return status, text

    def stream(
        self, path: str, body: Mapping[str, Any], *, timeout: float | None = None
    ) -> Iterator[tuple[float, dict[str, Any]]]:
        """POST JSON and yield each event's data with the `time.monotonic()` of its arrival, in seconds.

        `timeout` is the longest silence. Ends at `[DONE]` or where the answer does. Raises `NoAnswer`, also for an
        event that is an error.
        """
        asked = self._asked(path)
        with self._sent("POST", path, body, timeout or self.timeout) as coming:
            if coming.status != httpx.codes.OK:
                raise refused(coming.status, coming.text(), asked)
            for arrived, line in coming.lines():
                name, _, data = line.partition(b":")
                if name not in {b"data", b"error"} or not data.strip():
                    continue
                if data.strip() == b"[DONE]":
                    return
                event = _decoded(data.decode("utf-8", "replace"), asked)
                if not isinstance(event, dict):
                    raise asked.failed("one event of its answer is no object")
                if name == b"error" or "error" in event:
                    raise asked.failed(f"it broke its answer off: {said(event) or 'it does not say why'}")
                coming.patience.renew()
                yield arrived, event

    def _asked(self, path: str) -> Asked:
        return Asked(
            base=self.url, netloc=self.address.netloc, path=path.partition("?")[0], key=self._key,
            user=self.address.user is not None, model=self.model,
        )  # fmt: skip

    def _whole(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> tuple[int, str]:
        with self._sent(method, path, body, timeout) as coming:
            return coming.status, coming.text()

    @contextmanager
    def _sent(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> Iterator[Coming]:
        asked = self._asked(path)
        with Patience(timeout) as patience:
            request = self._request(method, path, body, timeout)
            request.extensions["trace"] = patience.trace
            failed: NoAnswer | None = None
            response = None
            try:
                response = self._client.send(request, stream=True)
            except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
                late = patience.over and not isinstance(error, httpx.TimeoutException)
                failed = unreachable(httpx.ReadTimeout("") if late else error, asked)
            if response is None or failed is not None:
                raise failed or asked.failed("no answer")  # outside: what httpx raises holds the key
            try:
                yield Coming(response=response, asked=asked, patience=patience)
            finally:
                response.close()

    def _request(self, method: str, path: str, body: Mapping[str, Any] | None, timeout: float) -> httpx.Request:
        times = httpx.Timeout(timeout, connect=min(timeout, CONNECT))
        query: dict[str, str] = {}
        if self.model is not None and method == "GET":
            query = {"model": self.model, "autoload": "false"}
        elif self.model is not None and body is not None:
            body = {"model": self.model, **body}
        url = httpx.URL(f"{self.url}{path}")
        return self._client.build_request(
            method,
            url.copy_merge_params(query) if query else url,
            content=None if body is None else json.dumps(body).encode(),  # in ASCII: a name can hold half a character
            headers={**self._headers, **({} if body is None else {"Content-Type": "application/json"})},
            timeout=times,
        )


@contextmanager
def connected(
    url: str,
    *,
    environ: Mapping[str, str],
    api_key: str | None = None,
    timeout: float = 10.0,
    model: str | None = None,
) -> Iterator[Server]:
    """Make ready to ask the server at an address, as `server.address` reads it; nothing is sent yet.

    Without `api_key` it is the first of LLAMA_API_KEY of `environ`, a list as for llama-server itself. No proxy stands
    between this machine and itself, whatever the environment says. Raises `Unavailable` where the address is none.
    """
    where = address(url)
    key = api_key if api_key is not None else _first(environ.get("LLAMA_API_KEY", ""))
    if model is not None and _HALF.search(model):
        raise Unavailable("the name of the model is no text")
    if key is not None and not _KEY.fullmatch(key):
        raise Unavailable("the API key holds characters that no key has")
    with _client(where) as client:
        yield Server(
            address=where,
            model=model if model is not None else where.model,
            timeout=timeout,
            _client=client,
            _headers=_credentials(where, key),
            _key=key is not None,
        )


def _first(keys: str) -> str | None:
    """The first of keys divided by commas, quoted or not (parse_csv_row, common/arg.cpp of llama.cpp b11434)."""
    return next((key for part in keys.split(",") if (key := part.strip(' \t\r\n"'))), None)


def _client(where: Address) -> httpx.Client:
    plain = where.is_loopback and where.scheme == "http"  # no proxy, and so no TLS anywhere
    wrong = None
    try:
        return httpx.Client(
            headers={"User-Agent": f"quadgen/{__version__}", "Accept-Encoding": "identity", "Accept": "*/*"},
            follow_redirects=False,
            limits=httpx.Limits(max_keepalive_connections=0),  # a server closes idle ones just as they are used again
            trust_env=not plain,
            verify=not plain,  # to read all authorities takes longer than to ask
            mounts={f"all://{where.netloc}": None} if where.is_loopback else None,
        )
    except (ValueError, ImportError, httpx.InvalidURL):
        wrong = "HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names a proxy that quadgen cannot use"
    except OSError:
        wrong = "the file of certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be used"
    raise Unavailable(wrong)  # outside of the handler, whose exception would go along with what the variables hold


def _credentials(where: Address, key: str | None) -> dict[str, str]:
    """llama-server takes a key from the second header where the first is empty: a proxy has to keep that to itself."""
    if where.user is not None:
        pair = base64.b64encode(":".join(where.user).encode()).decode()
        return {"Authorization": f"Basic {pair}"} | ({"X-Api-Key": key} if key else {})
    return {"Authorization": f"Bearer {key}"} if key else {}


def _decoded(text: str, asked: Asked) -> Any:  # noqa: ANN401 - what JSON holds
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if is_page(text):
        raise asked.failed("it answers with a page for people: is this the address of the server's API?", 200)
    start = quoted(text[:60])
    raise asked.failed(f"its answer is {f'no JSON, it begins: {start}' if start else 'empty'}", 200)
