"""A server serves when its /health says 200, whoever else would like to answer for it."""

import pytest

import file_server
from ansible_fleets import free_ports
from plugins.module_utils import health

pytestmark = [pytest.mark.loopback]


def test_two_hundred_is_well_and_anything_else_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    answers = {
        "/health": file_server.status(200),
        "/loading": file_server.status(503),
        "/moved": file_server.redirect("/health"),
    }
    with file_server.started(answers) as server:
        assert health.unwell(server.url("/health")) is None
        assert health.unwell(server.url("/loading")) == f"{server.url('/loading')} answers 503"
        assert health.unwell(server.url("/moved")) == f"{server.url('/moved')} answers 302"


def test_nobody_there_is_not_well() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}/health"
    assert health.unwell(url) == f"{url} does not answer: Connection refused"


@pytest.mark.parametrize(
    "url",
    [
        "gopher://127.0.0.1/health",
        "http:///health",
        "http://127.0.0.1:port/health",
        "http://[::1/health",
        "http://127.0.0.1:1/h\u00e9alth",
    ],
)
def test_an_address_that_is_none_is_said_to_be_none(url: str) -> None:
    assert health.unwell(url) == f"{url} is no address of HTTP"
