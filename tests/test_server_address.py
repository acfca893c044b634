"""Which words are a server's address, and what is kept of one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen.problems import Unavailable
from quadgen.server.address import address, looks_like_an_address


@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("http://claw:8080", "http://claw:8080"),
        ("claw:8080", "http://claw:8080"),
        ("127.0.0.1:8080/", "http://127.0.0.1:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("HTTPS://Claw.example", "https://claw.example"),
        ("http://claw/llm/", "http://claw/llm"),
        ("http://claw:8080/v1", "http://claw:8080"),
        ("http://claw:8080/v1/chat/completions", "http://claw:8080"),
        ("http://claw:8080/metrics", "http://claw:8080"),
        ("http://claw:8080/llm/slots/", "http://claw:8080/llm"),
        ("http://claw:8080//props?x=1#y", "http://claw:8080"),
        ("http://claw:8080/model-slots", "http://claw:8080/model-slots"),
    ],
)
def test_an_address_is_that_of_the_server_whatever_of_it_was_pasted(written: str, base: str) -> None:
    assert address(written).base == base


def test_user_and_password_go_along_and_are_never_shown() -> None:
    found = address("http://anna:p%40ss@claw:8080/v1")
    assert found.user == ("anna", "p@ss")
    assert found.base == "http://claw:8080"
    assert "anna" not in repr(found)
    assert "p@" not in repr(found)


def test_the_model_of_a_pasted_address_is_taken() -> None:
    assert address("http://claw:8080/metrics?model=org%2Fm&autoload=false").model == "org/m"
    assert address("http://claw:8080/metrics").model is None


@pytest.mark.parametrize(
    "written",
    [
        "",
        "http://",
        "http://:8080",
        "ftp://claw",
        "claw:0",
        "claw:99999",
        "http://[::1",
        "http://cl aw",
        "claw\n:80",
        "http://klaue.übel",
    ],
)
def test_what_is_no_address_is_refused_without_a_word_of_it(written: str) -> None:
    with pytest.raises(Unavailable, match=r"^that is no address of a server: write http://HOST:PORT$"):
        address(written)


@pytest.mark.parametrize(
    ("name", "loopback"),
    [
        ("localhost:1", True), ("LOCALHOST.:1", True), ("a.localhost:1", True), ("127.9.9.9:1", True),
        ("[::1]:1", True),
        ("0.0.0.0:1", True), ("[::]:1", True), ("claw:1", False), ("10.0.0.1:1", False), ("localhost.example:1", False),
    ],
)  # fmt: skip
def test_this_machine_is_known_by_every_name(name: str, loopback: bool) -> None:  # noqa: FBT001 - a table's column
    assert address(name).is_loopback is loopback


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("http://claw", True), ("HTTPS://claw/x", True), ("claw:8080", True), ("claw.example:80/v1", True),
        ("[::1]:8080", True), ("server.log", False), ("-", False), ("logs/server.log", False), ("C:/x.log", False),
        ("claw", False), ("2026-11-30T10:00:00.log", False),
    ],
)  # fmt: skip
def test_a_server_is_told_from_a_file(word: str, is_one: bool) -> None:  # noqa: FBT001 - as above
    assert looks_like_an_address(word) is is_one


@given(st.text(max_size=60))
def test_no_word_is_worse_than_no_address(word: str) -> None:
    try:
        found = address(word)
    except Unavailable:
        return
    assert found.base.startswith(("http://", "https://"))
    assert address(found.base).base == found.base
