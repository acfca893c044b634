"""Settings in their canonical form: what counts as the same setting, and how one is named."""

import pytest

from measured import COPYING, MTP
from quadgen.evidence import NO_SPECULATION, Setting


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Setting.of(["draft-mtp", "ngram-cache"]), Setting.of(["ngram-cache", "draft-mtp"])),
        (Setting.of(["draft-mtp"], draft_n_max=3), MTP),
        (Setting.of(["ngram-mod"], draft_n_max=7), Setting.of(["ngram-mod"])),
        (Setting.of(["none"]), NO_SPECULATION),
        (Setting.of([]), NO_SPECULATION),
        (
            Setting.of(["ngram-mod"], flags={"--spec_ngram_mod_n_max": 48}),
            Setting.of(["ngram-mod"], flags={"spec-ngram-mod-n-max": "48"}),
        ),
        (
            Setting.of(["draft-mtp"], flags={"spec-draft-p-min": "0.50"}),
            Setting.of(["draft-mtp"], flags={"spec-draft-p-min": 0.5}),
        ),
        (
            Setting.of(["draft-mtp"], flags={"spec-synth-rates": [0.5, "0.25"]}),
            Setting.of(["draft-mtp"], flags={"spec-synth-rates": "0.5,0.25"}),
        ),
    ],
)
def test_settings_that_mean_the_same_are_equal(one: Setting, other: Setting) -> None:
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    "other",
    [
        Setting.of(["draft-mtp", "ngram-cache"]),
        Setting.of(["draft-mtp"], draft_n_max=7),
        Setting.of(["draft-mtp", "ngram-cache"], draft_n_max=7, flags={"spec-draft-p-min": 0.5}),
        Setting.of(["draft-mtp", "ngram-cache"], draft_n_max=7, draft_model="head"),
    ],
)
def test_settings_that_differ_in_one_thing_are_unequal(other: Setting) -> None:
    assert other != COPYING


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (NO_SPECULATION, "none"),
        (MTP, "draft-mtp"),
        (Setting.of(["ngram-mod", "ngram-cache", "draft-mtp"]), "draft-mtp,ngram-cache,ngram-mod"),
        (COPYING, "draft-mtp,ngram-cache at width 7"),
        (Setting.of(["ngram-mod"], flags={"b": True, "a": 48}), "ngram-mod with a 48, b true"),
        (
            Setting.of(["draft-dflash"], draft_n_max=7, draft_model="d"),
            "draft-dflash at width 7 with draft model d",
        ),
    ],
)
def test_a_setting_describes_itself_in_a_fixed_order(setting: Setting, words: str) -> None:
    assert setting.describe() == words


def test_an_option_is_the_same_under_each_of_its_names() -> None:
    one, other = (
        Setting.of(["draft-simple"], flags={name: 4}) for name in ("spec-draft-ncmoe", "--spec_draft_n_cpu_moe")
    )
    assert one == other
    assert one.describe() == "draft-simple with spec-draft-n-cpu-moe 4"
