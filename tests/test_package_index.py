"""The door to the package index: which index, what is believed of it, and what a user is told when it fails."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

import pytest

import package_index
from fetching import CannotFetch
from package_index import Index, configured

pytestmark = pytest.mark.loopback

DATA = b"a source package"
DIGEST = hashlib.sha256(DATA).hexdigest()
NAME = "some_thing-1.0.tar.gz"
PAGE = "/simple/some-thing/"


@pytest.fixture(autouse=True)
def _no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a test does not say otherwise, there is none, and nothing waits for it."""
    monkeypatch.setattr(package_index, "find_spec", lambda _: None)


def answering(monkeypatch: pytest.MonkeyPatch, *settings: str) -> None:
    """Let there be a pip with these settings."""

    def run(command: list[str], *_: object, why: str) -> str:
        assert why
        return "\n".join(settings) if "config" in command else "https://default.invalid/simple\n"

    monkeypatch.setattr(package_index, "find_spec", lambda _: True)
    monkeypatch.setattr(package_index, "run", run)


@dataclass
class Site:
    """What a web server of the test says, by path, and what it was asked."""

    url: str = ""
    pages: dict[str, bytes | list[int | bytes]] = field(default_factory=dict)
    """A list is what it says the first time, the second time, and so on; a number is an HTTP status."""
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    found = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, dict(self.headers)))
            page = found.pages.get(self.path, 404)
            page = page.pop(0) if isinstance(page, list) else page
            self.send_response(page if isinstance(page, int) else 200)
            self.end_headers()
            self.wfile.write(b"" if isinstance(page, int) else page)

        def log_message(self, *_: object) -> None:
            pass

    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(package_index, "PAUSES", (0, 0, 0))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    found.url = f"http://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    thread.join()
    server.server_close()


def index(site: Site, user: str = "") -> Index:
    return configured({"PIP_INDEX_URL": f"{site.url.replace('//', f'//{user}')}/simple/"})


def link(target: str) -> bytes:
    return f'<html><body><A data-x="&gt;" HREF="{target}">{NAME}</A></body></html>'.encode()


@pytest.mark.parametrize(
    ("page", "path"),
    [
        (link(f"../../files/{NAME}#sha256={DIGEST}"), f"/files/{NAME}"),
        (link(f"/some%5Fthing-1.0.tar.gz?a=1&amp;b#sha256={DIGEST.upper()}"), "/some%5Fthing-1.0.tar.gz?a=1&b"),
        (b'<base href="/else/">' + link(NAME), f"/else/{NAME}"),
        (b"<a>no link</a>" + link(f"{NAME}.metadata") + link(NAME), f"{PAGE}{NAME}"),
    ],
    ids=["a relative link", "escapes, a query and large digits", "a base, no digest", "others beside it"],
)
def test_a_file_is_found_on_its_projects_page(site: Site, page: bytes, path: str) -> None:
    site.pages |= {PAGE: page, path: DATA}
    assert index(site).file("some-thing", NAME, DIGEST) == DATA
    assert [asked for asked, _ in site.asked] == [PAGE, path]


def test_a_page_without_the_file_is_told_by_the_files_name(site: Site) -> None:
    site.pages[PAGE] = link("some_thing-1.0.1.tar.gz")
    with pytest.raises(CannotFetch, match=r"^the package index has no some_thing-1\.0\.tar\.gz$"):
        index(site).file("some-thing", NAME, DIGEST)


def test_a_file_that_the_index_itself_calls_another_is_not_downloaded(site: Site) -> None:
    site.pages |= {PAGE: link(f"/{NAME}#sha256=ab"), f"/{NAME}": DATA}
    with pytest.raises(CannotFetch, match=r"^the package index offers another .*gz, of SHA-256 ab$"):
        index(site).file("some-thing", NAME, DIGEST)
    assert [asked for asked, _ in site.asked] == [PAGE]


def test_what_arrives_damaged_is_asked_for_again_and_then_given_up(site: Site) -> None:
    site.pages |= {PAGE: link(f"/{NAME}"), f"/{NAME}": [DATA[:-1], DATA]}
    assert index(site).file("some-thing", NAME, DIGEST) == DATA
    site.pages[f"/{NAME}"] = [b"1", b"2", b"3"]
    with pytest.raises(CannotFetch, match=rf"^{site.url}/{NAME} arrives damaged$"):
        index(site).file("some-thing", NAME, DIGEST)


@pytest.mark.parametrize(("status", "tries"), [(503, 3), (429, 3), (404, 1), (403, 1)])
def test_a_status_that_may_pass_is_tried_again_and_one_that_will_not_is_told_at_once(
    site: Site, status: int, tries: int
) -> None:
    site.pages[PAGE] = [status] * 3
    with pytest.raises(CannotFetch, match=rf"^{site.url}{PAGE} answers {status} "):
        index(site).file("some-thing", NAME, DIGEST)
    assert len(site.asked) == tries


def test_a_name_and_a_password_go_to_the_index_alone_and_into_no_message(site: Site) -> None:
    site.pages |= {PAGE: link(f"{site.url.replace('127.0.0.1', 'localhost')}/{NAME}"), f"/{NAME}": [404]}
    with pytest.raises(CannotFetch) as caught:
        index(site, "me:p%40ss@").file("some-thing", NAME, DIGEST)
    assert "p%40ss" not in str(caught.value)
    assert "p@ss" not in str(caught.value)
    sent = [headers.get("Authorization") for _, headers in site.asked]
    assert sent == ["Basic bWU6cEBzcw==", None]


def test_an_index_that_cannot_be_reached_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "PAUSES", (0,))
    with pytest.raises(CannotFetch, match=r"^http://127\.0\.0\.1:1/simple/x/ cannot be read: .*refused"):
        configured({"PIP_INDEX_URL": "http://127.0.0.1:1/simple"}).file("x", NAME, DIGEST)


def test_an_address_of_another_kind_is_refused() -> None:
    with pytest.raises(CannotFetch, match=r"^ftp://index\.invalid/x/ is neither http nor https$"):
        configured({"PIP_INDEX_URL": "ftp://me:you@index.invalid"}).file("x", NAME, DIGEST)


SETTINGS = """\
:env:.index-url='https://env.invalid/simple'
download.index-url='https://download.invalid/simple'
global.index-url='https://global.invalid/simple'
install.index-url='https://install.invalid/simple'
"""


@pytest.mark.parametrize(
    ("dropped", "url"),
    [
        ((), "https://env.invalid/simple"),
        ((":env:",), "https://download.invalid/simple"),
        ((":env:", "download"), "https://global.invalid/simple"),
        ((":env:", "download", "global"), "https://default.invalid/simple"),
    ],
)
def test_pips_settings_count_as_pip_counts_them(
    monkeypatch: pytest.MonkeyPatch, dropped: tuple[str, ...], url: str
) -> None:
    answering(monkeypatch, *(line for line in SETTINGS.splitlines() if not line.startswith(dropped or "-")))
    assert configured({}).url == url
    assert configured({"PIP_INDEX_URL": "https://mine.invalid"}).url == "https://mine.invalid"


def test_without_pip_and_without_an_address_the_way_out_is_named() -> None:
    with pytest.raises(CannotFetch, match=r"has no pip, and pip knows where the package index is \(PIP_INDEX_URL says"):
        configured({})
    assert configured({"PIP_INDEX_URL": "https://mine.invalid"}).url == "https://mine.invalid"


def test_a_pip_that_keeps_its_own_index_elsewhere_leads_to_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], *_: object, why: str) -> str:
        assert why
        if "config" in command:
            return ""
        raise CannotFetch("ModuleNotFoundError: No module named 'pip._internal.models'")

    monkeypatch.setattr(package_index, "find_spec", lambda _: True)
    monkeypatch.setattr(package_index, "run", run)
    with pytest.raises(CannotFetch, match=r"^this pip does not say where its .*: set PIP_INDEX_URL to it$"):
        configured({})


def test_pips_certificates_are_trusted_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    answering(monkeypatch, f"global.cert={str(tmp_path / 'ca.pem')!r}")
    with pytest.raises(CannotFetch, match=r"^the certificates in .*ca\.pem cannot be read: No such file"):
        configured({"PIP_INDEX_URL": "https://mine.invalid"})


def test_certificates_that_cannot_be_read_are_told_by_their_file(tmp_path: Path) -> None:
    for name, text in (("none.pem", None), ("empty.pem", "no certificate\n")):
        if text is not None:
            (tmp_path / name).write_text(text, encoding="ascii")
        with pytest.raises(CannotFetch, match=rf"^the certificates in .*{name} cannot be read: "):
            configured({"PIP_INDEX_URL": "https://mine.invalid", "PIP_CERT": str(tmp_path / name)})


def test_the_pip_that_is_here_names_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_index, "find_spec", find_spec)
    assert configured({}).url.startswith(("https://", "http://"))
