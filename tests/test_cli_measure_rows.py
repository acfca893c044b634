"""What the rows of `quadgen measure` say of the command that made them."""

import pytest

from quadgen.cli.measuring_rows import _command


@pytest.mark.parametrize(
    ("words", "recorded"),
    [
        (["--fleet", "my fleet.yml", "claw", "--resume"], "--fleet 'my fleet.yml' claw"),
        (["--url", "http://u:pw@a:8080/x", "--against-url", "b:1"], "--url http://a:8080/x --against-url b:1"),
        (["--against-url=u:pw@b:1", "--url=http://a:1?model=m"], "--against-url=http://b:1 '--url=http://a:1?model=m'"),
        (["--url", "https://u@[::1]:8080", "-o", "u:pw@a"], "--url 'https://[::1]:8080' -o u:pw@a"),
    ],
)
def test_the_command_of_a_row_is_what_was_typed_but_for_passwords(words: list[str], recorded: str) -> None:
    assert _command(["measure", *words]) == f"quadgen measure {recorded}"
