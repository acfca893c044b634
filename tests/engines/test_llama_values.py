"""Values as llama-server's own parser would read them, or a refusal: numbers, lists of numbers, JSON, empty words."""

import pytest

from fleets import CPU, flow, marked, native_words, one, refusal, unit

NATIVE = CPU + ", runtime: systemd"


def said(flag: str, value: str) -> str:
    return one(f"{NATIVE}, flags: {{{flag}: {value}}}}}")


def given(*words: str) -> str:
    return one(f"{NATIVE}, extra_args: {flow(list(words))}}}")


NUMBERS = [
    ("1e5", "write 100000; the server would read 1"),
    ("8192.0", "write 8192"),
    ("' 8192'", "write 8192"),
    ("0x10", "write 16; the server would read 0"),
    ("+5", "write 5"),
    ("1_000", "write 1000; the server would read 1"),
    ("8k", "the server would read 8"),
    ("''", "the server would end at once"),
    ("eight", "the server would end at once"),
    ("99999999999", "the server would end at once"),
    ("'٣'", "the server would end at once"),
    ("1.5", "the server would read 1"),
]


@pytest.mark.parametrize(("value", "hint"), NUMBERS)
def test_a_whole_number_is_plain_digits_and_the_hint_says_what_else_would_become_of_it(value: str, hint: str) -> None:
    problem = refusal(said("keep", value))
    plain = value.strip("'")
    assert problem.message == f"--keep takes a whole number of 32 bits, and {plain!r} is none"
    assert (problem.code, problem.hint, marked(problem)) == ("bad-flag-value", hint, value)
    assert refusal(given("--keep", plain)).hint == hint


@pytest.mark.parametrize("value", ["0", "-1", "8", "2147483647", "-2147483648", "'16'", "'007'"])
def test_plain_digits_go_through_as_they_are(value: str) -> None:
    assert native_words(unit(said("keep", value)))[-1] == value.strip("'")


BOUNDS = [
    ("prio", "4", "--prio takes a whole number of -1 to 3, and '4' is none"),
    ("prio-batch", "-1", "--prio-batch takes a whole number of 0 to 3, and '-1' is none"),
    ("n-cpu-moe", "-1", "--n-cpu-moe takes a whole number of 0 to 1024, and '-1' is none"),
    ("n-cpu-ffn", "4096", "--n-cpu-ffn takes a whole number of 0 to 1024, and '4096' is none"),
    ("mirostat", "3", "--mirostat takes a whole number of 0 to 2, and '3' is none"),
    ("batch-size", "1", "--batch-size takes a whole number of 2 or more, and '1' is none"),
    ("ubatch-size", "0", "--ubatch-size takes a whole number of 1 or more, and '0' is none"),
    ("threads", "513", "--threads takes a whole number of -1 to 512, and '513' is none"),
    ("repeat-penalty", "0.0", "--repeat-penalty takes a number above 0, and '0.0' is not"),
    ("samplers", "top_k;typo", "--samplers names 'typo', which is no sampler"),
    ("sampling-seq", "kzz", "--sampling-seq names 'z', which is no sampler"),
    ("repeat-last-n", "-1", "--repeat-last-n takes a whole number of 0 or more, and '-1' is none"),
    (
        "sleep-idle-seconds",
        "0",
        "--sleep-idle-seconds takes a whole number of -1 or more other than 0, and '0' is none",
    ),
    ("reasoning-budget", "-2", "--reasoning-budget takes a whole number of -1 or more, and '-2' is none"),
    ("n-gpu-layers", "most", "--n-gpu-layers takes a whole number of 32 bits, or auto, or all, and 'most' is none"),
    ("seed", "4294967296", "--seed takes a whole number of -2147483648 to 4294967295, and '4294967296' is none"),
]


@pytest.mark.parametrize(("flag", "value", "message"), BOUNDS)
def test_a_number_beyond_what_its_option_takes_is_refused_with_the_bounds(flag: str, value: str, message: str) -> None:
    problem = refusal(said(flag, value))
    assert (problem.code, problem.message, marked(problem)) == ("bad-flag-value", message, value)


@pytest.mark.parametrize(
    ("flag", "value"),
    [("prio", "-1"), ("n-cpu-moe", "0"), ("n-cpu-moe", "999"), ("mirostat", "2"), ("batch-size", "2"),
     ("samplers", "penalties;min-p;TopK"), ("sampling-seq", "edskypmxtia"),
     ("sleep-idle-seconds", "-1"), ("reasoning-budget", "-1"), ("seed", "-1")],
)  # fmt: skip
def test_a_number_at_its_bound_goes_through(flag: str, value: str) -> None:
    assert native_words(unit(said(flag, value)))[-2:] == [f"--{flag}", value]


def test_no_slots_at_all_are_refused() -> None:
    problem = refusal(given("-np", "0"))
    assert problem.message == "-np takes a whole number of 32 bits other than 0, and '0' is none"
    assert marked(problem) == '"0"'


LISTS = [
    ("tensor-split", "[3, half]", "numbers with commas between", "3,half"),
    ("tensor-split", "'3,,1'", "numbers with commas between", "3,,1"),
    ("tensor-split", "''", "numbers with commas between", ""),
    ("fit-target", "-1", "whole numbers of MiB with commas between", "-1"),
    ("cpu-mask", "zz", "a mask of hexadecimal digits, such as 0xff", "zz"),
    ("cpu-range", "3", "a range of CPUs up to 511, such as 0-7", "3"),
    ("logit-bias", "15043", "a token and its bias, such as 15043-1 or 15043-inf", "15043"),
    ("control-vector-layer-range", "[1, b]", "two whole numbers", "b"),
    (
        "override-tensor",
        flow(r"blk\.[0-9]{1,2}\.x=CPU"),
        "PATTERN=BUFFER, where no pattern holds a comma",
        r"blk\.[0-9]{1,2}\.x=CPU",
    ),
    ("override-kv", "a.b=false", "KEY=TYPE:VALUE, where TYPE is int, float, bool or str", "a.b=false"),
]


@pytest.mark.parametrize(("flag", "value", "takes", "word"), LISTS)
def test_a_value_with_parts_is_refused_where_one_of_them_is_none(flag: str, value: str, takes: str, word: str) -> None:
    problem = refusal(said(flag, value))
    message = f"--{flag} takes {takes}, and {word!r} is not that"
    assert (problem.code, problem.message) == ("bad-flag-value", message)


@pytest.mark.parametrize(
    ("flag", "value", "word"),
    [
        ("tensor-split", "[3, 1]", "3,1"),
        ("tensor-split", "3/1.5", "3/1.5"),
        ("tensor-split", "1", "1"),
        ("fit-target", "[512, 1024]", "512,1024"),
        ("cpu-mask", "'0xFF'", "0xFF"),
        ("cpu-range", "0-7", "0-7"),
        ("logit-bias", "15043-inf", "15043-inf"),
        ("override-tensor", flow(r"\.ffn_(up|down|gate)_exps\.=CPU"), r"\.ffn_(up|down|gate)_exps\.=CPU"),
        ("override-kv", "['a=bool:false', 'b=str:x=y']", "a=bool:false,b=str:x=y"),
        ("temp", "1e5", "1e5"),
        ("temp", ".5", ".5"),
        ("temp", "3.4e38", "3.4e38"),
        ("temp", "0.0", "0.0"),
        ("chat-template", "''", ""),
        ("reverse-prompt", "'-x'", "-x"),
    ],
)
def test_a_value_that_the_parser_reads_as_it_is_meant_goes_through(flag: str, value: str, word: str) -> None:
    assert native_words(unit(said(flag, value)))[-1] == word


@pytest.mark.parametrize("value", ["nan", ".inf", "1e39", "1e-39", "'0x1'", "''", "1e", "'1,5'", "'1 '"])
def test_a_number_with_a_fraction_is_one(value: str) -> None:
    problem = refusal(said("top-p", value))
    assert problem.message == f"--top-p takes a number, and {value.strip(chr(39))!r} is none"


JSON = [
    ("'[1]'", "--chat-template-kwargs takes a JSON object, and its value is none"),
    ("'\"x\"'", "--chat-template-kwargs takes a JSON object, and its value is none"),
    ("'{\"a\": NaN}'", "--chat-template-kwargs takes JSON, and its value is none"),
    ("''", "--chat-template-kwargs takes JSON, and its value is none"),
]


@pytest.mark.parametrize(("value", "message"), JSON)
def test_json_is_an_object_and_what_only_python_reads_is_none(value: str, message: str) -> None:
    problem = refusal(said("chat-template-kwargs", value))
    hint = "write a YAML mapping; quadgen writes the JSON"
    assert (problem.code, problem.message, problem.hint) == ("bad-flag-value", message, hint)


def test_a_list_for_an_option_that_takes_one_value_is_refused_and_one_of_one_item_is_not() -> None:
    problem = refusal(said("threads", "[4, 8]"))
    assert (problem.message, problem.hint) == ("--threads takes one value", "write it without the list")
    assert native_words(unit(said("threads", "[4]")))[-2:] == ["--threads", "4"]


@pytest.mark.parametrize("flag", ["--log-file", "--alias", "--reverse-prompt"])
def test_an_argument_that_is_a_flag_is_no_value_and_any_other_dash_is(flag: str) -> None:
    problem = refusal(given(flag, "--jinja"))
    assert (problem.code, problem.message) == ("bad-flag-value", f"{flag} lacks its value")
    assert native_words(unit(given("--reverse-prompt", "-x", "--jinja")))[-3:] == ["--reverse-prompt", "-x", "--jinja"]


def test_each_wrong_value_of_one_option_is_told() -> None:
    problem = refusal(given("--control-vector-layer-range", "1", "b"))
    assert marked(problem) == '"b"'
    assert native_words(unit(given("--control-vector-layer-range", "1", "2")))[-2:] == ["1", "2"]


@pytest.mark.parametrize(
    ("flag", "said_of_it", "hint"),
    [
        ("threads", "--threads takes a value, not true", "a whole number"),
        ("top-p", "--top-p takes a value, not true", "a number"),
        ("n-gpu-layers", "--n-gpu-layers takes a value, not true", "a whole number, or one of auto, all"),
        ("numa", "--numa takes a value, not true", "one of distribute, isolate, numactl"),
        ("log-file", "--log-file takes a value, not true", None),
    ],
)
def test_true_is_no_value_of_an_option_that_is_not_turned_on(flag: str, said_of_it: str, hint: str | None) -> None:
    problem = refusal(said(flag, "true"))
    assert (problem.code, problem.message, problem.hint) == ("bad-flag-value", said_of_it, hint)


def test_a_prefix_with_a_slash_at_its_end_is_refused_with_the_one_that_was_meant() -> None:
    for value, hint in (("/v1/", "write /v1"), ("v1", "write /v1"), ("/", None), ("/a b", None)):
        found = refusal(said("api-prefix", f'"{value}"'))
        assert found.code == "bad-flag-value"
        assert found.hint == (hint or "letters, digits and ._~/- after a slash")
    assert refusal(said("api-prefix", "true")).message == "--api-prefix takes a value, not true"
