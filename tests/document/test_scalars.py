import copy
import math
import pickle

import pytest

from quadgen.document import Real, Whole, load, text_of
from quadgen.problems import Rejected


def value(written: str) -> object:
    return load("f.yml", f"key: {written}\n".encode()).data["key"]


@pytest.mark.parametrize("written", ["", "~", "null", "Null", "NULL"])
def test_null_is_the_absence_of_a_value(written: str) -> None:
    assert value(written) is None


@pytest.mark.parametrize("written", ["true", "True", "TRUE"])
def test_true_is_a_truth_value_in_three_spellings(written: str) -> None:
    assert value(written) is True


@pytest.mark.parametrize("written", ["false", "False", "FALSE"])
def test_false_is_a_truth_value_in_three_spellings(written: str) -> None:
    assert value(written) is False


OTHER_VERSIONS = """
on On ON off yes No y n nULL tRUE 010 08080 0755 -007 +00 22:22 12:30:00 1_000 1_0.5 2024-01-01 = + . ..
-. +.e1 e5 .e5 1e 1e+ 0x 0o 0x1G 0o8 0b101 -0x1 +0o7 1.2.3 b10715 .Nan .INf inf nan Infinity ² ١٢ 5s 2.4GiB
"""


@pytest.mark.parametrize("written", OTHER_VERSIONS.split())
def test_words_that_other_yaml_versions_convert_are_text(written: str) -> None:
    assert value(written) == written


@pytest.mark.parametrize("written", ["0", "5", "-5", "8080", "9" * 256])
def test_a_decimal_number_is_a_plain_int(written: str) -> None:
    number = value(written)
    assert type(number) is int
    assert str(number) == written


@pytest.mark.parametrize(
    ("written", "number"),
    [("+5", 5), ("0x10", 16), ("0xfF", 255), ("0o17", 15), ("-0", 0), ("+0", 0), ("0x0", 0), ("0o0", 0)],
)
def test_a_whole_number_in_another_spelling_remembers_it(written: str, number: int) -> None:
    found = value(written)
    assert isinstance(found, Whole)
    assert found == number
    assert text_of(found) == written


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("11.0", 11.0),
        ("1.10", 1.1),
        ("5.10", 5.1),
        ("1e5", 1e5),
        ("-1.5E-3", -0.0015),
        ("+.5", 0.5),
        ("1.", 1.0),
        ("010.5", 10.5),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("+.Inf", math.inf),
        ("1e999", math.inf),
    ],
)
def test_a_real_number_remembers_how_it_was_written(written: str, number: float) -> None:
    found = value(written)
    assert isinstance(found, Real)
    assert found == number
    assert text_of(found) == written


@pytest.mark.parametrize("written", [".nan", ".NaN", ".NAN"])
def test_not_a_number_is_a_number_of_yaml(written: str) -> None:
    found = value(written)
    assert isinstance(found, Real)
    assert math.isnan(found)
    assert text_of(found) == written


@pytest.mark.parametrize("written", ["9" * 257, "-1" + "0" * 5000, "0x" + "f" * 257, "0o" + "7" * 9999])
def test_a_number_longer_than_any_setting_stays_text(written: str) -> None:
    assert value(written) == written


@pytest.mark.parametrize("written", ["'5'", '"5"', "!!str 5", "|-\n  5", ">-\n  5"])
def test_quotes_a_block_and_a_tag_make_text(written: str) -> None:
    assert value(written) == "5"


@pytest.mark.parametrize("word", ["off", '"off"', "'off'"])
def test_off_is_the_same_text_with_and_without_quotes(word: str) -> None:
    assert value(f"{{flash-attn: {word}}}") == {"flash-attn": "off"}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('!!int "5"', 5),
        ("!!int 0x10", 16),
        ("!!float 5", 5.0),
        ("!!float -5", -5.0),
        ("!!float '1.10'", 1.1),
        ("!!bool 'true'", True),
        ("!!null ''", None),
        ("!!null", None),
        ("!!str", ""),
        ("!!str null", "null"),
        ("!!map {a: 1}", {"a": 1}),
        ("!!seq [1]", [1]),
    ],
)
def test_a_standard_tag_says_what_a_value_is(written: str, expected: object) -> None:
    found = value(written)
    assert found == expected
    assert isinstance(found, type(expected))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("!!int abc", "`!!int` does not fit `abc`"),
        ("!!int 1.5", "`!!int` does not fit `1.5`"),
        ("!!int true", "`!!int` does not fit `true`"),
        ("!!int 010", "`!!int` does not fit `010`"),
        ("!!int", "`!!int` does not fit ``"),
        ("!!float 0x10", "`!!float` does not fit `0x10`"),
        ("!!float 0o17", "`!!float` does not fit `0o17`"),
        ("!!float x", "`!!float` does not fit `x`"),
        ("!!bool yes", "`!!bool` does not fit `yes`"),
        ("!!bool 1", "`!!bool` does not fit `1`"),
        ("!!null x", "`!!null` does not fit `x`"),
        ("!!map x", "`!!map` does not fit a scalar"),
        ("!!map [x]", "`!!map` does not fit a list"),
        ("!!seq {x: 1}", "`!!seq` does not fit a mapping"),
        ("!!str [x]", "`!!str` does not fit a list"),
        ("!!set {x}", "the tag `!!set` is not known"),
        ("!!binary aGk=", "the tag `!!binary` is not known"),
        ("!!python/none x", "the tag `!!python/none` is not known"),
        ("!secret x", "the tag `!secret` is not known"),
        ("!int 5", "the tag `!int` is not known"),
        ("!<int> 5", "the tag `int` is not known"),
        ('! "5"', "the tag `!` is not known"),
        ("! {a: 1}", "the tag `!` is not known"),
        ("!<%ED%A0%80> x", "the `%` escapes of this tag are not UTF-8"),
    ],
)
def test_any_other_use_of_a_tag_is_refused(written: str, message: str) -> None:
    with pytest.raises(Rejected) as refusal:
        value(written)
    (problem,) = refusal.value.problems
    assert (problem.code, problem.message) == ("yaml-syntax", message)
    assert problem.place is not None
    assert problem.place.line == 1
    assert problem.place.column in {6, 8}


@pytest.mark.parametrize("number", [Real("1.10"), Real(".inf"), Whole("0x10"), Whole("+5")])
def test_a_number_keeps_its_spelling_in_copies(number: Real | Whole) -> None:
    for again in (copy.deepcopy(number), pickle.loads(pickle.dumps(number))):  # noqa: S301 - our own bytes
        assert type(again) is type(number)
        assert again == number
        assert text_of(again) == number.text


@pytest.mark.parametrize(
    ("given", "text"),
    [("a b", "a b"), (5, "5"), (-7, "-7"), (1.5, "1.5"), (True, "true"), (False, "false")],
)
def test_the_text_of_other_values_is_their_ordinary_spelling(given: str | float, text: str) -> None:
    assert text_of(given) == text
