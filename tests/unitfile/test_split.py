"""The splitters read values as the two programs do, and refuse what those lose, drop or disagree on."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quadgen import unitfile
from quadgen.unitfile import Malformed, Spec, Word, unpercent, unspecify
from systemd_words import NotLoaded, command


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", ()),
        ("a b", ("a", "b")),
        ("  a\t b ", ("a", "b")),
        ("a\N{NO-BREAK SPACE}b c", ("a\N{NO-BREAK SPACE}b", "c")),
        ('a"b c"d', ("ab cd",)),
        ("'a \"b' c", ('a "b', "c")),
        ('{"a":1}', ("{a:1}",)),
        (r'"{\"a\": false}"', ('{"a": false}',)),
        (r"a\x20b \u00e9 \U0001f999 \101", ("a b", "é", "🦙", "A")),
        (r"'a\nb' \s", ("a\nb", " ")),
        (r"\xe9 \351", ("é", "é")),
        (r"a\"b", ('a"b',)),
        ("; a;b", (";", "a;b")),
    ],
)
def test_podmans_words(value: str, words: tuple[str, ...]) -> None:
    assert unitfile.split_exec(value) == words
    assert unitfile.split_args(value) == words


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ('a "" b', "an empty argument cuts off all later ones"),
        ("a '' b", "an empty argument cuts off all later ones"),
        ('a "b', "a quote is not closed"),
        ("it's", "a quote is not closed"),
        ("a\\", "a quote is not closed, or a backslash stands at the end"),
        (r"\d+", r"\d is no escape"),
        (r'"\.x"', r"\. is no escape"),
        (r"\x4", r"\x is no escape"),
        (r'\x4"1"', r"\x is no escape"),
        (r"\x00", "an escaped NUL is refused"),
        (r"\777", r"\777 is no character"),
        (r"\ud800", r"\ud800 is no character"),
        (r"\U00110000", r"\U00110000 is no character"),
        (r"\;", r"\; is no escape"),
    ],
)
def test_what_podman_would_lose_is_refused(value: str, reason: str) -> None:
    with pytest.raises(Malformed) as refused:
        unitfile.split_exec(value)
    assert refused.value.reason.startswith(reason)
    assert refused.value.line is None


def test_an_assignment_without_a_value_is_refused() -> None:
    assert unitfile.split_keyval('A=b "C=d e" F==g') == (("A", "b"), ("C", "d e"), ("F", "=g"))
    with pytest.raises(Malformed, match="a word without ="):
        unitfile.split_keyval("HF_TOKEN")


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("/dev/dri /dev/kfd", ("/dev/dri", "/dev/kfd")),
        (r"a\b", (r"a\b",)),
        ('"a b" \'c"\'', ("a b", 'c"')),
        (r'"a\"', (r"a" + "\\",)),
    ],
)
def test_a_list_keeps_its_backslashes(value: str, items: tuple[str, ...]) -> None:
    assert unitfile.split_strv(value) == items


@pytest.mark.parametrize("value", ['"a', 'a "" b', r'"a\"b"'])
def test_a_list_that_podman_would_cut_is_refused(value: str) -> None:
    with pytest.raises(Malformed):
        unitfile.split_strv(value)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [("a b ", "a b"), ('"a"', "a"), ('say "x" now', 'say "x" now'), ('["a"]', '["a"]')],
)
def test_a_single_value_loses_its_outer_quotes(value: str, meaning: str) -> None:
    assert unitfile.lookup_last(value) == meaning


@pytest.mark.parametrize("value", ['sh -c "curl x"', '""a""', '"', '"a'])
def test_a_single_value_that_versions_of_podman_read_differently_is_refused(value: str) -> None:
    with pytest.raises(Malformed, match="versions of Podman"):
        unitfile.lookup_last(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ('/x "" a', ("/x", "", "a")),
        (r'/x \; ";" a;b', ("/x", ";", ";", "a;b")),
        (r"/x \xc3\xa9", ("/x", "é")),
        (r"/x \u00e9 é", ("/x", "é", "é")),
    ],
)
def test_systemds_words(value: str, words: tuple[str, ...]) -> None:
    assert unitfile.service_split(value) == words


def test_an_escaped_semicolon_is_one_only_in_a_command_line() -> None:
    with pytest.raises(Malformed):
        unitfile.environment_split(r"A=b \;")


@pytest.mark.parametrize("value", ["/x ; /y", "/x ;", '";" /x', r"/x \xe9", r"/x \d", '/x "a', "/x a\\"])
def test_a_command_line_that_systemd_refuses_or_cuts_in_two_is_refused(value: str) -> None:
    with pytest.raises(Malformed):
        unitfile.service_split(value)


written = st.lists(
    st.sampled_from([*"ab \t\"'\\;=1xé", r"\\", r"\"", r"\x41", r"\xc3\xa9", r"\n", " ;", " x"]), max_size=12
).map("".join)


@given(written)
def test_systemds_words_are_those_of_its_sources_written_a_second_time(value: str) -> None:
    value = "/x " + value
    try:
        words = unitfile.service_split(value)
    except Malformed:
        return
    assert list(words) == command(value)


@given(written)
def test_whatever_systemds_sources_refuse_is_refused(value: str) -> None:
    value = "/x " + value
    try:
        command(value)
    except NotLoaded:
        with pytest.raises(Malformed):
            unitfile.service_split(value)


@pytest.mark.parametrize(
    ("word", "meaning"),
    [
        ("100%%", "100%"),
        ("a$b", "a$b"),
        ("$$HOME", "$HOME"),
        ("$${X}", "${X}"),
        ("a$$", "a$"),
        ("%d/key", Spec("%d/key")),
        ("%%d$$", "%d$"),
        ("%h$$x%%", Spec("%h$x%%")),
    ],
)
def test_a_word_means_what_systemd_passes_on(word: str, meaning: Word) -> None:
    assert unspecify(word) == meaning


@pytest.mark.parametrize("word", ["$HOME", "$", "${X}", "a${X}b", "$$${X}", "%z", "50% of", "%", "%%%"])
def test_a_word_in_which_systemd_would_put_something_is_refused(word: str) -> None:
    with pytest.raises(Malformed):
        unspecify(word)


@pytest.mark.parametrize("text", ["$HOME", "${X}", "a$b"])
def test_a_dollar_is_literal_where_no_command_line_is(text: str) -> None:
    assert unpercent(text) == text


@pytest.mark.parametrize("split", [unitfile.split_exec, unitfile.split_strv, unitfile.service_split])
@given(value=st.text(max_size=60))
def test_any_text_splits_or_is_refused_and_nothing_else(split: Callable[[str], tuple[str, ...]], value: str) -> None:
    try:
        words = split(value)
    except Malformed as refused:
        words = (refused.reason,)
    assert all(isinstance(word, str) for word in words)
    assert "\0" in value or "\0" not in "".join(words)
