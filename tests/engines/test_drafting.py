"""What a speculation setting comes to: each rule with what it refuses, and what it lets pass beside that."""

import re
from typing import Any

import pytest

from quadgen.engines.draft_settings import bounds, width
from quadgen.engines.drafters import DEFAULTS, DRAFTERS, UNREAD, readers
from quadgen.engines.drafting import Finding, beside, compose, fits
from quadgen.engines.flags import shipped_tables
from quadgen.engines.registry import ENGINES
from quadgen.evidence.setting import ALIASES
from quadgen.problems import Severity

TABLES = tuple(shipped_tables().values())
FIELDS = {"spec-type", "spec-draft-model", "spec-draft-hf", "spec-default"}
"""Options of speculation that a profile says by fields of its own, or not at all."""


def found(*types: str, n_max: int | None = None, **flags: Any) -> list[Finding]:
    return list(compose(types, n_max, {name.replace("_", "-"): value for name, value in flags.items()}))


def only(findings: list[Finding]) -> Finding:
    (one,) = findings
    return one


def test_the_engine_has_these_drafters_and_no_others() -> None:
    assert set(DRAFTERS) == set(ENGINES["llama.cpp"].drafters)
    for table in TABLES:
        option = table.find("--spec-type")
        assert option is not None
        assert {*option.values} - {"none"} == set(DRAFTERS)


def test_each_option_of_speculation_belongs_to_a_type_or_is_read_by_nothing() -> None:
    known = {option for drafter in DRAFTERS.values() for option in (drafter.bounded_by, *drafter.options)} - {None}
    assert not known & set(UNREAD)
    assert set(DEFAULTS) <= known
    for table in TABLES:
        offered = {
            option.canonical.removeprefix("--")
            for option in table.options
            if option.canonical.startswith("--spec-") and option.removed is None
        }
        offered = {name for name in offered if not name.startswith("spec-synth-")} - FIELDS
        assert offered <= known | set(UNREAD), "a new option: say which types read it"
    assert known | set(UNREAD) <= {
        name.removeprefix("--") for table in TABLES for option in table.options for name in option.names
    }


def test_every_other_spec_name_of_an_option_is_known() -> None:
    others = {
        name.removeprefix("--"): option.canonical.removeprefix("--")
        for table in TABLES
        for option in table.options
        for name in option.names
        if name.startswith("--spec-") and name != option.canonical and not option.canonical.endswith("draft-hf")
    }
    assert dict(ALIASES) == others


def test_the_defaults_are_those_of_the_help() -> None:
    said = {**DEFAULTS, **{each.bounded_by: each.width for each in DRAFTERS.values() if each.bounded_by}}
    for table in TABLES:
        for name, value in said.items():
            option = table.find(f"--{name}")
            assert option is not None
            assert option.default == str(value)


def test_a_source_is_a_place_in_the_engine_s_code() -> None:
    assert all(re.fullmatch(r"((spec|[a-z/-]+\.cpp):\d+(-\d+)?(, )?)+", each.source) for each in DRAFTERS.values())


@pytest.mark.parametrize(
    "types",
    [
        [],
        ["ngram-mod"],
        ["ngram-cache", "ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod"],
        ["draft-mtp", "ngram-cache"],
        ["draft-simple"],
        ["something-new"],
    ],
)
def test_n_gram_types_go_with_each_other_and_with_one_draft_type(types: list[str]) -> None:
    assert found(*types) == []


def test_two_draft_types_are_refused_with_both_names() -> None:
    one = only(found("draft-mtp", "ngram-mod", "draft-dflash", n_max=3))
    assert (one.code, one.keys, one.severity) == ("does-not-compose", ("spec_types",), Severity.ERROR)
    assert one.message == "draft-mtp and draft-dflash cannot run together: the engine has one draft context"


@pytest.mark.parametrize(
    ("types", "hint"),
    [
        (["ngram-mod"], "bound an n-gram drafter by its own flag, such as spec-ngram-mod-n-max"),
        (["ngram-cache", "ngram-map-k"], "bound an n-gram drafter by its own flag, such as spec-ngram-map-k-size-m"),
        (["ngram-cache"], "leave it out: nothing bounds ngram-cache"),
        ([], "bound an n-gram drafter by its own flag, such as spec-ngram-mod-n-max"),
    ],
)
def test_a_width_without_a_draft_type_is_refused_with_what_bounds(types: list[str], hint: str) -> None:
    one = only(found(*types, n_max=7))
    assert (one.code, one.keys, one.hint) == ("unexpected-value", ("draft_n_max",), hint)


@pytest.mark.parametrize(
    ("types", "flags", "message"),
    [
        (["ngram-mod"], {"spec-draft-p-min": 0.5}, "`spec-draft-p-min` belongs to draft-* types, and this profile has"),
        (["ngram-mod"], {"spec-draft-type-k": "q8_0"}, "`spec-draft-type-k` belongs to draft-* types"),
        (
            ["draft-mtp", "ngram-cache"],
            {"spec-ngram-mod-n-max": 8},
            "`spec-ngram-mod-n-max` belongs to ngram-mod, and this profile does not draft with that",
        ),
        (["ngram-map-k"], {"spec-ngram-map-k4v-size-m": 8}, "`spec-ngram-map-k4v-size-m` belongs to ngram-map-k4v,"),
        (["draft-eagle3"], {"spec-draft-sampling": "greedy"}, "`spec-draft-sampling` belongs to draft-simple and"),
        (["draft-simple"], {"spec-draft-ncmoe": 2}, None),
        (["ngram-cache"], {"spec-draft-ncmoe": 2}, "`spec-draft-n-cpu-moe` belongs to draft-* types"),
        (["draft-simple"], {"spec-draft-p-split": 0.5}, "`spec-draft-p-split` is without effect"),
        (["ngram-simple"], {"spec-ngram-simple-min-hits": 2}, "`spec-ngram-simple-min-hits` is without effect"),
        (["ngram-map-k"], {"spec-ngram-map-k-min-hits": 2}, "`spec-ngram-map-k-min-hits` is without effect"),
        (["ngram-map-k4v"], {"spec-ngram-map-k4v-min-hits": 2}, None),
        (["draft-simple"], {"spec-draft-poll-batch": 1}, "`spec-draft-poll-batch` is without effect"),
        (["draft-simple"], {"spec-draft-threads": 4}, None),
        (["ngram-cache"], {"spec-not-known-yet": 4}, None),
    ],
)  # fmt: skip
def test_an_option_that_nothing_would_read_is_refused(
    types: list[str], flags: dict[str, Any], message: str | None
) -> None:
    findings = list(compose(types, None, flags))
    if message is None:
        assert findings == []
        return
    one = only(findings)
    assert (one.code, one.keys, one.at_key) == ("unexpected-value", ("flags", *flags), True)
    assert one.message.startswith(message)
    assert one.notes
    assert one.hint


def test_an_option_under_two_names_is_refused_and_under_one_it_is_not() -> None:
    one = only(list(compose(["draft-simple"], None, {"spec-draft-n-cpu-moe": 1, "spec-draft-ncmoe": 2})))
    assert (one.code, one.keys, one.at_key) == ("duplicate-flag", ("flags", "spec-draft-ncmoe"), True)
    assert one.message == "`spec-draft-ncmoe` and `spec-draft-n-cpu-moe` are one option"
    assert list(compose(["draft-simple"], None, {"spec-draft-ncmoe": 2})) == []


@pytest.mark.parametrize(
    ("n_max", "least", "refused"),
    [
        (None, 3, False),
        (None, 4, True),
        (7, 7, False),
        (7, 8, True),
        (2, 0, False),
        (None, -1, True),
        (None, "x", False),
    ],
)
def test_a_draft_that_is_always_too_short_is_refused(n_max: int | None, least: object, *, refused: bool) -> None:
    findings = found("draft-simple", "ngram-mod", n_max=n_max, spec_draft_n_min=least)
    assert [one.code for one in findings] == ["does-not-compose"] * refused


@pytest.mark.parametrize(
    ("value", "refused"),
    [(0, False), ("0.75", False), (0.99, False), (1.01, True), (-0.1, True), ("nan", False)],
)
def test_a_probability_is_from_0_to_1(value: object, *, refused: bool) -> None:
    assert [one.code for one in found("draft-mtp", spec_draft_p_min=value)] == ["bad-flag-value"] * refused


def test_a_probability_that_next_to_no_token_has_is_warned_of() -> None:
    (one,) = found("draft-mtp", spec_draft_p_min="1.0")
    assert (one.code, one.severity) == ("unexpected-value", Severity.WARNING)


@pytest.mark.parametrize(
    ("types", "n_max", "flags", "slots", "least"),
    [
        (["ngram-cache"], None, {}, 1, 9),
        (["draft-mtp", "ngram-mod"], 5, {"spec-ngram-mod-n-max": 9}, 1, 10),
        (["draft-mtp"], None, {}, 4, 16),
        (["ngram-mod"], None, {}, 32, 2080),
    ],
)
def test_a_batch_holds_the_last_token_and_the_draft_of_every_slot(
    types: list[str], n_max: int | None, flags: dict[str, object], slots: int, least: int
) -> None:
    (one,) = fits(types, n_max, flags, batch=least - 1, slots=slots)
    assert (one.code, one.hint) == ("does-not-compose", f"a `batch-size` of at least {least}, or a smaller draft")
    assert list(fits(types, n_max, flags, batch=least, slots=slots)) == []


def test_without_a_draft_any_batch_will_do() -> None:
    assert list(fits([], None, {}, batch=1, slots=4)) == []


@pytest.mark.parametrize(
    ("flags", "at"),
    [
        ({"spec_ngram_simple_size_m": 12}, None),
        ({"spec_ngram_simple_size_m": 11}, "spec-ngram-simple-size-m"),
        ({"spec_ngram_simple_size_n": 49}, "spec-ngram-simple-size-n"),
        ({"spec_ngram_simple_size_n": 5, "spec_ngram_simple_size_m": 5}, None),
        ({"spec_ngram_simple_size_n": 6, "spec_ngram_simple_size_m": 5}, "spec-ngram-simple-size-m"),
    ],
)
def test_ngram_simple_drafts_nothing_shorter_than_its_match(flags: dict[str, int], at: str | None) -> None:
    assert [one.keys for one in found("ngram-simple", **flags)] == ([] if at is None else [("flags", at)])


@pytest.mark.parametrize(
    ("flags", "message", "severity"),
    [
        ({"spec_ngram_mod_n_max": 32}, None, None),
        ({"spec_ngram_mod_n_max": 0}, "ngram-mod drafts nothing with `spec-ngram-mod-n-max` at 0", Severity.ERROR),
        (
            {"spec_ngram_mod_n_min": 65},
            "`spec-ngram-mod-n-min` is above `spec-ngram-mod-n-max`, and is taken for 64",
            Severity.WARNING,
        ),
        ({"spec_ngram_mod_n_min": 8, "spec_ngram_mod_n_max": 8}, None, None),
        ({"spec_ngram_mod_n_match": 16}, None, None),
        (
            {"spec_ngram_mod_n_match": 15},
            "ngram-mod matches 15 tokens, and fewer than 16 draft poorly",
            Severity.WARNING,
        ),
    ],
)
def test_the_three_numbers_of_ngram_mod(flags: dict[str, int], message: str | None, severity: Severity | None) -> None:
    said = [(one.message, one.severity) for one in found("ngram-mod", **flags)]
    assert said == ([] if message is None else [(message, severity)])


@pytest.mark.parametrize(
    ("types", "flags", "service", "code", "severity"),
    [
        ("draft-mtp", {"spec-draft-type-v": "q8_0"}, {"flash_attn": "off"}, "does-not-compose", Severity.ERROR),
        ("draft-mtp", {"spec-draft-type-v": "q8_0"}, {"flash_attn": False}, "does-not-compose", Severity.ERROR),
        ("draft-mtp", {"spec-draft-type-v": "q8_0"}, {"flash_attn": "auto"}, None, None),
        ("draft-mtp", {"spec-draft-type-v": "q8_0"}, {}, None, None),
        ("draft-mtp", {"spec-draft-type-v": "bf16"}, {"flash_attn": "off"}, None, None),
        ("draft-mtp", {"spec-draft-type-k": "q8_0"}, {"flash_attn": "off"}, None, None),
        (
            "draft-mtp", {"spec-draft-backend-sampling": True}, {"split_mode": "tensor"}, "does-not-compose",
            Severity.WARNING,
        ),
        ("draft-mtp", {"spec-draft-backend-sampling": False}, {"split_mode": "tensor"}, None, None),
        ("draft-mtp", {"spec-draft-backend-sampling": True}, {"split_mode": "row"}, None, None),
        ("draft-simple", {}, {"mmproj": True}, "does-not-compose", Severity.WARNING),
        ("draft-eagle3", {}, {"mmproj": True}, "does-not-compose", Severity.WARNING),
        ("draft-dflash", {}, {"mmproj": True}, None, None),
        ("ngram-mod", {}, {"mmproj": True, "draft_device": True, "head_in_file": True}, None, None),
        ("draft-mtp", {}, {"draft_device": True, "head_in_file": True}, "unexpected-value", Severity.WARNING),
        ("draft-mtp", {}, {"draft_device": True}, None, None),
        ("draft-simple", {}, {"draft_device": True, "head_in_file": True}, None, None),
        ("draft-mtp", {"spec-draft-ngl": 9}, {"head_in_file": True}, "unexpected-value", Severity.WARNING),
        ("draft-mtp", {"spec-draft-ngl": 9}, {}, None, None),
    ],
)  # fmt: skip
def test_what_the_rest_of_a_service_makes_of_a_setting(
    types: str, flags: dict[str, Any], service: dict[str, Any], code: str | None, severity: Severity | None
) -> None:
    said = [(one.code, one.severity) for one in beside(types.split(","), flags, **service)]
    assert said == ([] if code is None else [(code, severity)])


@pytest.mark.parametrize(
    ("types", "n_max", "flags", "sentences"),
    [
        (
            ["draft-mtp", "ngram-cache"], 7, {},
            ("draft-mtp drafts up to 7 tokens a round, and no more than its heads where a model has several",
             "ngram-cache drafts up to 8 tokens a round, which draft_n_max does not bound"),
        ),
        (["ngram-cache"], None, {}, ("ngram-cache drafts up to 8 tokens a round, which nothing bounds",)),
        (["ngram-mod"], None, {"spec-ngram-mod-n-max": 32}, ("ngram-mod drafts up to 32 tokens a round",)),
        (
            ["draft-simple", "ngram-map-k"], 2, {},
            ("draft-simple drafts up to 2 tokens a round",
             "ngram-map-k drafts up to 48 tokens a round, which spec-ngram-map-k-size-m bounds and draft_n_max not"),
        ),
        (
            ["draft-dflash"], None, {},
            ("draft-dflash drafts up to 3 tokens a round, and no more than its trained block",),
        ),
        (["something-new"], None, {}, ()),
    ],
)  # fmt: skip
def test_what_bounds_a_round_is_said(
    types: list[str], n_max: int | None, flags: dict[str, Any], sentences: tuple[str, ...]
) -> None:
    assert bounds(types, n_max, flags) == sentences


@pytest.mark.parametrize("value", ["x", None, [1], True, float("inf"), float("nan"), "1e999"])
def test_a_width_that_is_no_number_is_the_engine_s_own(value: object) -> None:
    assert width("ngram-mod", None, {"spec-ngram-mod-n-max": value}) == 64
    assert [one.severity for one in found("ngram-mod", "ngram-simple", spec_ngram_mod_n_max=value)] == []


def test_only_its_own_option_bounds_a_type() -> None:
    assert [width(kind, 5) for kind in DRAFTERS] == [48, 48, 48, 64, 8, 5, 5, 5, 5, 5]
    assert readers("spec-draft-n-max") == tuple(kind for kind in DRAFTERS if kind.startswith("draft-"))
    assert readers("spec-ngram-mod-n-max") == ("ngram-mod",)
    assert readers("spec-draft-p-split") == ()
