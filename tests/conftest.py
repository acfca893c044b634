"""Cuts the suite off from the machine it runs on, and sets how hard hypothesis tries.

A test meets no network, an empty home and no setting of the developer's. Marks let them back in: `loopback`
(sockets between addresses of this machine, for a server that the test starts) and `home` (the real home and
the environment as it is).
"""

import fcntl
import os
import shutil
import signal
import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from parts import MISSING
from walls import OUTWARD, guarded, guarded_look_up

SUITE_SETTINGS = {"QUADGEN_PARTS", "QUADGEN_PARTS_REQUIRED", "QUADGEN_LLAMA_SERVER", "QUADGEN_GEMMA"}
"""Read by the suite itself (parts.py), not by quadgen."""
FOREIGN = ("QUADGEN_", "XDG_", "LLAMA_ARG_", "SYSTEMD_", "QUADLET_")
COLOUR = {
    "FORCE_COLOR",
    "NO_COLOR",
    "PY_COLORS",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "GITHUB_ACTIONS",
    "TTY_COMPATIBLE",
}
"""Typer and rich change their text when they see one of these, and tests compare text."""

settings.register_profile("default", max_examples=40, deadline=None)
settings.register_profile(
    "ci",
    max_examples=200,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],  # a shared runner stalls; that says nothing of the strategy
)
settings.load_profile("ci" if os.environ.get("CI") == "true" else "default")


def pytest_configure(config: pytest.Config) -> None:
    # a shell ignores Ctrl-C for what it runs in the background, and so would every program that a test starts
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "loopback: may open sockets between addresses of this machine")
    config.addinivalue_line("markers", "home: sees the real home directory and environment")


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One empty directory for the whole run; a test that writes below its home takes `own_home`."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def _away_from_home(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, empty_home: Path
) -> Generator[None]:
    if request.node.get_closest_marker("home"):
        yield
        return
    for name in list(os.environ):
        if name in COLOUR or (name.startswith(FOREIGN) and name not in SUITE_SETTINGS):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(empty_home))
    monkeypatch.setenv("COLUMNS", "100")
    yield
    # said of the test that wrote, and cleared: else whichever test comes next would be blamed
    left = [path.name for path in empty_home.iterdir()]
    if left:
        shutil.rmtree(empty_home)
        empty_home.mkdir()
    assert not left, f"the test wrote below its home: {', '.join(left)}"


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test alone, for programs that keep something in it."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture(autouse=True)
def _no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    loopback = request.node.get_closest_marker("loopback") is not None
    for name in OUTWARD:
        monkeypatch.setattr(socket.socket, name, guarded(getattr(socket.socket, name), loopback=loopback))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up(socket.getaddrinfo, loopback=loopback))


@pytest.fixture
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let httpx in this process reach a server of the test, and no proxy of the developer's."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            monkeypatch.delenv(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a real part that is missing be one line of the summary, however many tests skip for it.

    pytest counts skips by place and reason, and takes a test's own place where a fixture skips it.
    """
    report = yield
    if report.skipped and isinstance(report.longrepr, tuple) and MISSING in report.longrepr[2]:
        report.longrepr = ("tests/parts.py", 1, report.longrepr[2])
    return report


@pytest.fixture
def no_other_timed(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """Let tests whose figures depend on processor time wait for one another, in whatever process of a run they are."""
    whole = tmp_path_factory.getbasetemp()
    shared = whole.parent if "PYTEST_XDIST_WORKER" in os.environ else whole
    with (shared / "timed.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
