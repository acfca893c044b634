"""Profiles decided by a fleet's own rows, through the whole compiler: which row counts, and what a policy asks."""

import pytest

from fleets import accepted, marked, one, problems, refusal, unit, values
from quadgen.problems import Problem, Severity
from quadgen.resolution import Resolution

ROW = {
    "engine": "llama.cpp",
    "build": "b10715",
    "backend": "cpu",
    "device": "RX 7900",
    "model": "plain",
    "workload": "copy",
    "setting": "{spec_types: [ngram-mod]}",
    "against": "none",
    "ratio": "1.5",
    "samples": "5",
    "source": "a test",
}
MINE = "{spec_types: [ngram-mod], workload: copy, against: none}"
DATES = "date: 2026-01-01", "date: 2026-02-01"


def row(name: str = "a", said: str = "") -> str:
    """A winning row, with these fields in the place of its own; an empty one is left out."""
    own = dict(field.split(": ", 1) for field in said.split("; ") if field)
    fields = {key: value for key, value in (ROW | own).items() if value != "-"}
    return f"- {{id: {name}, {', '.join(f'{key}: {value}' for key, value in fields.items())}}}\n"


def rows(*found: str) -> dict[str, str]:
    return {"rows.yml": f"version: 1\nmeasurements:\n{''.join(found)}"}


def fleet(*, profile: str = MINE, policy: str = "", host: str = "", more: str = "") -> str:
    above = f"policy: {{{policy}}}\nmeasurements: [rows.yml]\nprofiles: {{mine: {profile}, {more}}}\n"
    fields = f"{{model: plain, backend: cpu, engine: cpu, context: 4096, profile: mine, {host}}}"
    return one(fields, above=above)


def decided(text: str, *found: str) -> Resolution:
    ((resolution,),) = accepted(text, rows(*found)).resolved.hosts.values()
    return resolution


def warnings(text: str, *found: str) -> list[Problem]:
    return [each for each in problems(text, rows(*found)) if each.severity is Severity.WARNING]


@pytest.mark.parametrize(
    ("found", "deciding"),
    [
        ([row("a"), row("b", "ratio: 0.5")], None),  # equals that disagree: the loss wins
        ([row("a", "ratio: 0.5"), row("b")], None),
        ([row("a", DATES[0]), row("b", f"{DATES[1]}; ratio: 0.5")], None),
        ([row("a", DATES[1]), row("b", f"{DATES[0]}; ratio: 0.5")], "a"),
        ([row("a", DATES[0]), row("b", "ratio: 0.5")], "a"),  # one without a date is the older one
        ([row("a", f"build: b1; {DATES[1]}"), row("b", f"ratio: 0.5; {DATES[0]}")], None),  # the build before the date
        ([row("a"), row("b")], "b"),
        ([row("a"), row("b", "workload: prose; ratio: 0.5")], "a"),
        ([row("a"), row("b", "backend: vulkan; ratio: 0.5")], "a"),
        ([row("a"), row("b", "model: other; ratio: 0.5")], "a"),
        ([row("a"), row("b", "setting: {spec_types: [ngram-cache]}; ratio: 0.5")], "a"),
        ([row("a"), row("b", "accepted: 0; drafted: 9; ratio: 0.5")], "a"),
        ([row("a", "ratio: -; rate: 30; against_rate: 20")], "a"),
        ([row("a", "ratio: -; rate: 20; against_rate: 30")], None),
        ([row("a", "ratio: 1.0")], None),
        ([row("a", "ratio: 1.0001")], "a"),
    ],
)
def test_one_row_decides(found: list[str], deciding: str | None) -> None:
    if deciding is None:
        assert refusal(fleet(), rows(*found)).code == "measured-loss"
    else:
        assert [each.id for each in decided(fleet(), *found).decision.rows] == [deciding]


@pytest.mark.parametrize(
    "said",
    [
        "backend: vulkan",
        "model: other",
        "workload: prose",
        "engine: another",
        "against: default; setting: {spec_types: [ngram-cache]}",
        "against: {spec_types: [draft-mtp]}",
        "setting: {spec_types: [ngram-mod], flags: {spec-ngram-mod-n-max: 32}}",
        "setting: {spec_types: [ngram-mod, ngram-cache]}",
        "accepted: 0; drafted: 9",
        "drafted: 0; accepted: 0",
        "acceptance: 0",
        "acceptance: 0.001",
    ],
)
def test_a_row_of_something_else_is_no_measurement_of_this(said: str) -> None:
    assert refusal(fleet(), rows(row(said=said))).code == "unmeasured-combination"


@pytest.mark.parametrize(("gain", "allowed"), [("1.0", True), ("1.49", True), ("1.5", False), ("2", False)])
def test_a_gain_is_to_be_exceeded(gain: str, allowed: bool) -> None:  # noqa: FBT001 - parametrised
    text = fleet(policy=f"min_gain: {gain}")
    if allowed:
        decided(text, row())
    else:
        assert refusal(text, rows(row())).code == "measured-loss"


@pytest.mark.parametrize(("policy", "said"), [("build", "build: b1"), ("device", "device: Arc A770")])
def test_another_build_or_card_is_ignored_told_or_refused(policy: str, said: str) -> None:
    code = {"build": "stale-build", "device": "other-device"}[policy]
    host = "backend: vulkan, engine: vulkan, gpus: [{name: RX 7900}]"
    text = {degree: fleet(policy=f"{policy}: {degree}").replace("backend: cpu, engine: cpu", host) for degree in
            ("ignore", "warn", "refuse")}  # fmt: skip
    found = row(said=f"{said}; backend: vulkan")
    assert warnings(text["ignore"], found) == []
    assert [(each.code, each.notes) for each in warnings(text["warn"], found)] == [(code, ("row a",))]
    assert refusal(text["refuse"], rows(found)).code == code
    assert refusal(text["refuse"], rows(found, row("b", "backend: vulkan; ratio: 0.5"))).code == "measured-loss"
    assert problems(text["refuse"], rows(found, row("b", "backend: vulkan"))) == []


def test_without_the_names_of_cards_no_difference_is_claimed() -> None:
    assert warnings(fleet(policy="device: refuse"), row()) == []


def test_another_model_counts_only_where_the_policy_says_so_and_its_own_rows_come_first() -> None:
    other = row("a", "model: other")
    assert refusal(fleet(), rows(other)).notes == ("wins on cpu for other: 1.50x on copy [a]",)
    assert decided(fleet(policy="evidence: backend"), other).decision.types == ("ngram-mod",)
    assert refusal(fleet(policy="evidence: backend"), rows(other, row("b", "ratio: 0.5"))).code == "measured-loss"


@pytest.mark.parametrize(
    ("against", "measured", "model", "host", "counts"),
    [
        # what `default` becomes: MTP with a head, nothing without one, nothing beside a projector
        ("default", "{spec_types: [draft-mtp]}", "headed", "", True),
        ("default", "{spec_types: [draft-mtp], draft_n_max: 3}", "headed", "", True),
        ("default", "{spec_types: [draft-mtp], draft_n_max: 5}", "headed", "", False),
        ("default", "default", "headed", "", True),
        ("default", "none", "headed", "", False),
        ("default", "none", "plain", "", True),
        ("default", "default", "plain", "", True),
        ("default", "{spec_types: [draft-mtp]}", "plain", "", False),
        ("default", "none", "headed", "mmproj: p.gguf", True),
        ("none", "none", "headed", "", True),
        ("none", "{spec_types: []}", "headed", "", True),
        ("none", "default", "headed", "", False),
        ("none", "default", "plain", "", True),
        ("other", "{spec_types: [ngram-cache]}", "plain", "", True),
        ("other", "none", "plain", "", False),
        ("copy", "{spec_types: [ngram-cache, draft-mtp], draft_n_max: 7}", "headed", "", True),
        ("copy", "{spec_types: [draft-mtp, ngram-cache]}", "headed", "", False),
    ],
)
def test_a_profile_beats_what_it_says_that_it_beats(
    against: str,
    measured: str,
    model: str,
    host: str,
    counts: bool,  # noqa: FBT001 - parametrised
) -> None:
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: {against}}}"
    other = "other: {spec_types: [ngram-cache], workload: prose, against: none}"
    text = fleet(profile=profile, more=other, host=host).replace("{model: plain", f"{{model: {model}")
    id_ = {"headed": "qwen3.8-27b"}.get(model, model)
    found = [each.code for each in problems(text, rows(row(said=f"against: {measured}; model: {id_}")))]
    assert found == ([] if counts else ["unmeasured-combination"])


DRAFTED = "{spec_types: [draft-simple], workload: copy, against: none, draft_model: small}"
SMALL = "models:\n  small: {file: small.gguf, mtp: false, id: a-small-one}"


@pytest.mark.parametrize(
    ("setting", "counts"),
    [
        ("{spec_types: [draft-simple], draft_model: a-small-one}", True),
        ("{spec_types: [draft-simple], draft_model: small}", False),
        ("{spec_types: [draft-simple], draft_model: another}", False),
        ("{spec_types: [draft-simple]}", False),
    ],
)
@pytest.mark.parametrize("by_service", [False, True])
def test_a_draft_model_is_measured_by_its_id(setting: str, counts: bool, by_service: bool) -> None:  # noqa: FBT001 - parametrised
    profile = DRAFTED.replace(", draft_model: small", "") if by_service else DRAFTED
    text = fleet(profile=profile, host="draft_model: small" if by_service else "").replace("models:", SMALL, 1)
    found = row(said=f"setting: {setting}")
    if counts:
        assert "--spec-draft-model /models/small.gguf" in values(unit(text, rows(found)), "Container", "Exec")[0]
    else:
        assert refusal(text, rows(found)).code == "unmeasured-combination"


@pytest.mark.parametrize("needs", ["", ", needs_mtp: true", ", needs_mtp: false"])
def test_a_head_that_is_not_there_is_not_drafted_with_whatever_was_measured(needs: str) -> None:
    profile = f"{{spec_types: [draft-mtp, ngram-mod], workload: copy, against: none{needs}}}"
    found = row(said="setting: {spec_types: [draft-mtp, ngram-mod]}")
    assert refusal(fleet(profile=profile), rows(found)).code == "head-missing"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("{spec-ngram-mod-n-max: 48}", "--spec-ngram-mod-n-max 48"),
        ("{spec-ngram-mod-n-max: [48]}", "--spec-ngram-mod-n-max 48"),
    ],
)
def test_a_profile_s_flags_reach_the_server_in_its_own_spelling(flags: str, words: str) -> None:
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: none, flags: {flags}}}"
    found = row(said=f"setting: {{spec_types: [ngram-mod], flags: {flags}}}")
    assert values(unit(fleet(profile=profile), rows(found)), "Container", "Exec")[0].endswith(words)


def test_a_switch_of_a_profile_is_turned_off_by_its_negation() -> None:
    profile = "{spec_types: [draft-mtp], draft_n_max: 5, workload: copy, flags: {spec-draft-backend-sampling: false}}"
    measured = profile.replace(" workload: copy,", "")
    text = fleet(profile=profile).replace("{model: plain", "{model: headed")
    found = row(said=f"setting: {measured}; against: default; model: qwen3.8-27b")
    assert values(unit(text, rows(found)), "Container", "Exec")[0].endswith("--no-spec-draft-backend-sampling")


@pytest.mark.parametrize(
    ("flags", "code", "at"),
    [
        ("{spec-no-such: 1}", "unknown-flag", "spec-no-such"),
        ("{spec-ngram-mod-n-max: 48x}", "bad-flag-value", "48x"),
        ("{spec-ngram-mod-n-max: true}", "bad-flag-value", "true"),
        ("{spec-ngram-size-n: 4}", "removed-flag", "spec-ngram-size-n"),
    ],
)
def test_a_profile_s_flag_that_the_build_does_not_take_is_refused_where_the_profile_says_it(
    flags: str, code: str, at: str
) -> None:
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: none, flags: {flags}}}"
    found = refusal(fleet(profile=profile), rows(row(said=f"setting: {{spec_types: [ngram-mod], flags: {flags}}}")))
    assert (found.code, marked(found)) == (code, at)


PROFILE_FLAGS = {
    "spec-default: true": "write what it stands for: `spec_types: [ngram-mod]`, whose own numbers are the same",
    "no-spec-draft-backend-sampling: true": "write `spec-draft-backend-sampling: false`",
    "no_spec_draft_backend_sampling: true": "write `spec-draft-backend-sampling: false`",
    "spec_type: ngram-mod": "use `spec_types`",
    "spec_draft_n_max: 5": "use `draft_n_max`",
    "'--spec-ngram-mod-n-max': 5": "write spec-ngram-mod-n-max",
    "temp: 1": "only --spec-* flags belong to a profile",
}


@pytest.mark.parametrize("flags", PROFILE_FLAGS)
def test_what_cannot_stand_in_a_profile_is_answered_with_what_can(flags: str) -> None:
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: none, flags: {{{flags}}}}}"
    found = refusal(fleet(profile=profile), rows(row()))
    assert (found.code, found.hint) == ("unexpected-value", PROFILE_FLAGS[flags])


def test_a_profile_s_flag_is_found_whatever_joins_its_words() -> None:
    flags = "{spec_ngram_mod_n_max: 48}"
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: none, flags: {flags}}}"
    text = unit(fleet(profile=profile), rows(row(said=f"setting: {{spec_types: [ngram-mod], flags: {flags}}}")))
    assert "--spec-ngram-mod-n-max 48" in text


def test_a_slip_in_a_profile_s_flag_is_answered_with_the_nearest() -> None:
    flags = "{spec-ngram-mod-nmax: 48}"
    profile = f"{{spec_types: [ngram-mod], workload: copy, against: none, flags: {flags}}}"
    found = refusal(fleet(profile=profile), rows(row(said=f"setting: {{spec_types: [ngram-mod], flags: {flags}}}")))
    assert (found.code, found.hint) == ("unknown-flag", "did you mean --spec-ngram-mod-n-max?")


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        (
            "b: {spec_types: [ngram-mod], workload: copy, against: c}, c: {spec_types: [x], workload: copy}",
            ["unexpected-value"],
        ),
        ("b: {spec_types: [ngram-mod], workload: copy, against: zz}", ["unknown-profile"]),
        ("b: {spec_types: [ngram-mod], workload: copy, against: c}, c: {workload: copy}", ["missing-key"]),
        ("b: {spec_types: [ngram-mod], workload: 1.5, against: none}", ["unexpected-value"]),
    ],
)
def test_what_a_broken_profile_is_compared_with_is_told_of_alone(more: str, codes: list[str]) -> None:
    text = fleet(profile="{spec_types: [ngram-mod], workload: copy, against: b}", more=more)
    assert [each.code for each in problems(text, rows(row()))] == codes


def test_a_profile_that_is_wrong_in_one_field_is_not_called_unmeasured_as_well() -> None:
    found = refusal(fleet(profile="{spec_types: [ngram-mod], workload: Copy, against: none}"), rows(row()))
    assert (found.code, marked(found)) == ("unexpected-value", "Copy")


def test_a_profile_without_drafters_is_no_speculation_and_needs_no_row() -> None:
    assert decided(fleet(profile="{spec_types: []}"), row()).decision.types == ()
